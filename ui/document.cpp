#include "document.hpp"

#include <chrono>
#include <utility>

#include "ir/result.hpp"

namespace fathom::ui {
namespace {

constexpr std::chrono::seconds typing_pause{2};

std::string sentence_of(const Diagnostics& diagnostics) {
  if (diagnostics.empty()) return "The change was refused.";
  const Diagnostic& first = diagnostics.front();
  return first.cure.empty() ? first.message : first.message + " " + first.cure;
}

tl::unexpected<Diagnostics> nothing_open() {
  return tl::unexpected<Diagnostics>({Diagnostic{Severity::error, {0, 0, 0}, "No program is open that compiles.", {}, {}}});
}

}  // namespace

void Document::open(session::Inputs inputs, bool is_kept) {
  compiling_->cancel();
  if (compiling_->is_busy()) {  // a large program: the new one does not wait for it
    left_compiling_.push_back(std::move(compiling_));
    compiling_ = std::make_unique<Lane>(wake_);
  }
  openings_ = 0;
  checking_.cancel();
  end_preview();
  head_ = std::make_shared<Head>();
  shown_.reset();
  checks_.clear();
  diagnostics_.clear();
  message_.clear();
  opened_from_.clear();
  is_new_ = true;
  inputs_ = inputs;
  dropped_.reset();
  text_ = inputs.source;
  saved_version_ = version_;
  saved_text_ = is_kept ? text_ : std::string();
  start(Kind::text, {}, [inputs = std::move(inputs)](const Head&) { return session::Session::open(inputs); });
}

void Document::open_session(std::string json, std::string path, std::string typed, std::function<void()> then) {
  start(
      Kind::state, {}, [json = std::move(json)](const Head&) { return session::Session::from_json(json); },
      Opening{std::move(path), std::move(typed), std::move(then)});
}

void Document::go_to_state(std::size_t place) {
  start(Kind::state, {}, [place](const Head& head) -> Checked<session::Session> {
    if (!head.session) return nothing_open();
    session::Session next = *head.session;
    next.go_to(place);
    return next;
  });
}

void Document::change(Edit edit) {
  start(Kind::choice, {}, [edit = std::move(edit)](const Head& head) -> Checked<session::Session> {
    if (!head.session) return nothing_open();
    session::Session next = *head.session;
    if (auto done = edit(next); !done) return tl::unexpected<Diagnostics>(done.error());
    return next;
  });
}

void Document::preview(const std::string& site, const std::string& choice) {
  if (shown_ == nullptr || (preview_ && preview_->site == site && preview_->choice == choice)) return;
  preview_ = Preview{site, choice, nullptr, {}};
  previewing_.cancel();
  previewing_.start({}, [this, shown = shown_, site, choice](const Cancel&, const auto& deliver) {
    session::Session next = shown->session;
    const Checked<void> done = next.override_choice(site, choice);
    auto made = done ? std::make_shared<const Shown>(std::move(next)) : nullptr;
    deliver([this, made = std::move(made), refused = done ? std::string() : sentence_of(done.error())] {
      preview_->shown = made;
      preview_->refused = refused;
    });
  });
}

void Document::end_preview() {
  if (!preview_) return;
  previewing_.cancel();
  preview_.reset();
}

void Document::type(std::string text) {
  if (is_opening()) return;  // the editor takes its text back from here
  text_ = std::move(text);
  session::Inputs inputs = inputs_;
  inputs.source = text_;
  start(Kind::text, "type", [inputs = std::move(inputs)](const Head& head) -> Checked<session::Session> {
    if (!head.session) return session::Session::open(inputs);
    session::Session next = *head.session;
    if (next.now().inputs.source == inputs.source) return next;
    const bool goes_on = head.typed && std::chrono::steady_clock::now() - head.when < typing_pause;
    if (goes_on && next.can_undo()) next.undo();
    if (auto done = next.edit_source(inputs.source); !done) return tl::unexpected<Diagnostics>(done.error());
    return next;
  });
}

bool Document::can_undo() const {
  return shown_ != nullptr && (shown_->session.can_undo() || text_ != shown_->compilation().inputs.source);
}
bool Document::has_dropped_text() const {
  return dropped_ && shown_ != nullptr && dropped_->place == shown_->session.place_in_history() &&
         text_ == shown_->compilation().inputs.source;
}
bool Document::can_redo() const { return shown_ != nullptr && (has_dropped_text() || shown_->session.can_redo()); }

void Document::undo() {
  const bool only_text = shown_ != nullptr && text_ != shown_->compilation().inputs.source;
  if (only_text) dropped_ = Dropped{text_, shown_->session.place_in_history()};
  start(Kind::state, {}, [only_text](const Head& head) -> Checked<session::Session> {
    if (!head.session) return nothing_open();
    session::Session next = *head.session;
    if (!only_text) next.undo();
    return next;
  });
}

void Document::redo() {
  if (has_dropped_text()) {
    type(std::exchange(dropped_, std::nullopt)->text);
    return;
  }
  start(Kind::state, {}, [](const Head& head) -> Checked<session::Session> {
    if (!head.session) return nothing_open();
    session::Session next = *head.session;
    next.redo();
    return next;
  });
}

bool Document::collect() {
  std::erase_if(left_compiling_, [](const auto& lane) {
    lane->collect();  // what it still hands back was cancelled
    return !lane->is_busy();
  });
  const bool compiled = compiling_->collect(), previewed = previewing_.collect();
  return checking_.collect() || compiled || previewed;
}

const Check& Document::check(std::size_t step) const {
  static const Check pending;
  return step < checks_.size() ? checks_[step] : pending;
}

void Document::start(Kind kind, std::string key, Make make, std::optional<Opening> opening) {
  if (is_opening() && !opening) return;
  openings_ += opening ? 1 : 0;
  compiling_->start(std::move(key),
                    [this, kind, head = head_, make = std::move(make), opening = std::move(opening)](const Cancel&, const auto& deliver) {
                      const auto begin = std::chrono::steady_clock::now();
                      Checked<session::Session> made = make(*head);
                      const auto end = std::chrono::steady_clock::now();
                      if (made) {
                        const bool is_other = !head->session || head->session->now().inputs.source != made->now().inputs.source;
                        *head = {*made, kind == Kind::text && is_other, end};
                      }
                      const double ms = std::chrono::duration<double, std::milli>(end - begin).count();
                      deliver([this, kind, ms, opening, made = std::move(made)] {
                        openings_ -= opening ? 1 : 0;
                        if (made) {
                          compile_ms_ = ms;
                          settle(kind, *made, opening);
                        } else if (kind == Kind::text) {
                          diagnostics_ = made.error();
                        } else {
                          say(sentence_of(made.error()));
                        }
                      });
                    });
}

void Document::settle(Kind kind, const session::Session& made, const std::optional<Opening>& opened) {
  if (kind != Kind::choice) diagnostics_.clear();
  if (kind != Kind::text) message_.clear();
  if (kind == Kind::state) text_ = made.now().inputs.source;
  const bool is_as_opened = is_new_ && made.now().inputs.source == saved_text_;  // a program that had to be mended first is changed
  publish(made);
  if (opened && opened->path.empty())  // recovered, in no file yet: it counts as changed
    opened_from_.clear();
  else if (opened || is_as_opened)
    saved_to(opened ? opened->path : std::string());
  is_new_ = false;
  if (kind != Kind::state || opened) dropped_.reset();
  if (!opened) return;
  if (opened->then) opened->then();
  if (!opened->typed.empty() && opened->typed != text_) type(opened->typed);
}

void Document::publish(session::Session session) {
  inputs_ = session.now().inputs;
  end_preview();
  shown_ = std::make_shared<const Shown>(std::move(session));
  ++version_;
  check_again();
}

/// Steps are checked in order; each arrives by itself.
void Document::check_again() {
  checking_.cancel();
  checks_.assign(shown_->steps().size(), Check{});
  checking_.start({}, [this, shown = shown_, memory = known_checks_](const Cancel& cancel, const auto& deliver) {
    const auto& steps = shown->steps();
    KnownChecks::OfPlan& known = memory->of(shown->compilation());
    std::optional<session::Cases> miniature, true_tiles;  // all levels above Kernel are judged by the same cases
    for (std::size_t i = 0; i < steps.size() && !cancel.requested(); ++i) {
      std::optional<session::Cases>& cases = steps[i].level == Level::kernel ? true_tiles : miniature;
      if (!known[i] && i > 0 && !steps[i].changed) known[i] = known[i - 1];
      if (!known[i] && !cases) cases.emplace(shown->compilation(), steps[i].level);
      if (!known[i]) known[i] = cases->check(steps[i]);
      deliver([this, i, check = *known[i]] { checks_.at(i) = check; });
    }
  });
}

}  // namespace fathom::ui
