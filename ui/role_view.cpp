#include "role_view.hpp"

#include <algorithm>

namespace fathom::ui {

void RoleView::request(const Shown& shown, std::uint64_t version, std::size_t step) {
  const Asked wanted{version, shown.steps()[step].id};
  if (asked_ == wanted) return;
  asked_ = wanted;
  timeline_.reset();
  refused_.reset();
  playing = false;
  lane_.start("roles", [this, session = shown.session, step, wanted](const Cancel& cancel, const auto& deliver) {
    auto made = session::role_timeline(session.now(), step);
    if (cancel.requested()) return;
    std::shared_ptr<const session::RoleTimeline> ready;
    std::optional<Refusal> why;
    if (made)
      ready = std::make_shared<const session::RoleTimeline>(*std::move(made));
    else
      why = made.error();
    deliver([this, ready, why, wanted] {
      if (!(asked_ == wanted)) return;  // another one was asked for since
      timeline_ = ready;
      refused_ = why;
      go_to(round_);
    });
  });
}

void RoleView::go_to(std::int64_t round) { round_ = std::clamp<std::int64_t>(round, 0, std::max<std::int64_t>(rounds() - 1, 0)); }

void RoleView::play(double now) {
  constexpr double seconds_a_round = 0.25;
  if (!playing || now < play_next) return;
  play_next = now + seconds_a_round;
  if (round_ + 1 >= rounds())
    playing = false;
  else
    go_to(round_ + 1);
}

}  // namespace fathom::ui
