#include "stage_view.hpp"

#include <imgui.h>

#include <algorithm>
#include <utility>

namespace fathom::ui {

namespace stage = session::stage;

struct StageView::Small {
  std::uint64_t version = 0;
  std::optional<Result<stage::Compiled>> compiled;
};

void StageView::request(const Shown& shown, std::uint64_t version, std::size_t step) {
  const Wanted wanted{version, shown.steps()[step].id, family_, broken_};
  if (asked_ == wanted) return;
  if (asked_ && (asked_->step != wanted.step || asked_->version != wanted.version) && !broken_.empty()) {
    heal();  // another step has other breaks
    return request(shown, version, step);
  }
  asked_ = wanted;
  if (small_ == nullptr) small_ = std::make_shared<Small>();
  lane_.start("stage", [this, session = shown.session, wanted, step, small = small_](const Cancel& cancel, const auto& deliver) {
    const session::Compilation& document = session.now();
    if (!small->compiled || small->version != wanted.version) {
      small->compiled = stage::on_blackboard(document);
      small->version = wanted.version;
    }
    const Result<stage::Compiled>& compiled = *small->compiled;
    if (!compiled) {
      deliver([this, why = compiled.error()] {
        refused_ = why;
        stage_.reset();
        breaks_.clear();
      });
      return;
    }
    const std::size_t at = stage::step_on_blackboard(document, step, **compiled);
    auto made = stage::make(*compiled, at, {wanted.family, 1, wanted.breaks});
    std::optional<Refusal> why;
    std::shared_ptr<const stage::Stage> ready;
    if (made)
      ready = std::make_shared<const stage::Stage>(*std::move(made));
    else
      why = made.error();
    deliver([this, ready, why, id = (*compiled)->record.steps[at].id, families = interp::data_families((*compiled)->program)] {
      families_ = families;
      refused_ = why;
      if (ready != nullptr) return show(ready, id);
      stage_.reset();
      breaks_.clear();
    });
    if (cancel.requested() || !wanted.breaks.empty()) return;
    deliver([this, breaks = stage::breaks_of(**compiled, at)] { breaks_ = breaks; });
  });
}

void StageView::show(std::shared_ptr<const stage::Stage> made, std::string step) {
  const bool same_program = stage_ != nullptr && step_shown_ == step && stage_->frames.size() == made->frames.size();
  if (step_shown_ != step) breaks_.clear();
  stage_ = std::move(made);
  step_shown_ = std::move(step);
  ++version_;
  if (same_program) return go_to(frame_);
  is_row_chosen_ = false;
  std::size_t first = 0;  // the first frame in which something happens on the plane
  while (first < stage_->frames.size() && !(stage_->frames[first].rows && stage_->frames[first].columns)) ++first;
  go_to(first < stage_->frames.size() ? first : 0);
}

bool StageView::is_broken(const std::string& id) const { return std::find(broken_.begin(), broken_.end(), id) != broken_.end(); }

void StageView::toggle_break(const std::string& id) {
  if (is_broken(id)) {
    std::erase(broken_, id);
    if (broken_.empty()) heal();
    return;
  }
  broken_.push_back(id);
  for (const stage::Break& each : breaks_) {
    if (each.id != id || each.family.empty() || each.family == family_) continue;
    if (!usual_family_) usual_family_ = family_;
    family_ = each.family;
  }
}

void StageView::heal() {
  broken_.clear();
  if (usual_family_) family_ = *std::exchange(usual_family_, std::nullopt);
}

void StageView::go_to(std::size_t frame) {
  if (stage_ == nullptr) return;
  frame = std::min(frame, stage_->frames.size() - 1);
  if (frame != frame_) just_moved_ = true;
  frame_ = frame;
  const auto& rows = stage_->frames[frame].rows;
  const bool is_outside = rows && (row_ < rows->lo || row_ >= rows->hi);
  if (rows && rows->hi > rows->lo && (is_outside || !is_row_chosen_)) row_ = rows->hi - 1;  // masks leave most to the last row
}

void StageView::play(double now) {
  if (just_moved_) {
    just_moved_ = false;
    moved_at_ = now;
  }
  if (!playing || stage_ == nullptr || now < play_next) return;
  constexpr double seconds_a_trip = 0.6;
  play_next = now + seconds_a_trip / speed;
  if (frame_ + 1 >= frames()) {
    playing = false;
    return;
  }
  go_to(frame_ + 1);
  just_moved_ = false;
  moved_at_ = now;
}

float StageView::arrived(double now, bool reduced_motion) const {
  constexpr double seconds = 0.15;
  if (reduced_motion || !moved_at_) return 1;
  const double part = std::clamp((now - *moved_at_) / seconds, 0.0, 1.0);
  return static_cast<float>(1 - (1 - part) * (1 - part) * (1 - part));
}

}  // namespace fathom::ui
