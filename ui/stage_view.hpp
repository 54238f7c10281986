// The stage as the explorer shows it: the small program of what is open, run beside the frames, and where its playing stands.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "document.hpp"
#include "session/stage.hpp"
#include "tasks.hpp"

namespace fathom::ui {

class StageView {
 public:
  explicit StageView(std::function<void()> wake) : lane_(std::move(wake)) {}

  /// What a run is of; another one is asked for where it is another.
  struct Wanted {
    std::uint64_t version = 0;
    std::string step;
    std::string family = "gaussian";
    std::vector<std::string> breaks;
    friend bool operator==(const Wanted&, const Wanted&) = default;
  };
  /// Asks for the run of the step of what is shown; the same again changes nothing. Call it in each frame that shows the stage.
  void request(const Shown&, std::uint64_t version, std::size_t step);
  /// Takes over what has arrived; true where something did.
  bool collect() { return lane_.collect(); }
  [[nodiscard]] bool is_busy() const { return lane_.is_busy(); }

  /// Of the last run; nullptr: there is none yet, or none can be made.
  [[nodiscard]] const session::stage::Stage* stage() const { return stage_.get(); }
  [[nodiscard]] const std::vector<session::stage::Break>& breaks() const { return breaks_; }
  [[nodiscard]] const std::vector<std::string>& families() const { return families_; }
  /// Why there is no run; empty: there is, or will be.
  [[nodiscard]] const Refusal* refused() const { return refused_ ? &*refused_ : nullptr; }
  /// Step of the document's whose program ran: that at which people stand, or the nearest before it that the small program has.
  [[nodiscard]] const std::string& step_shown() const { return step_shown_; }
  /// Counts runs.
  [[nodiscard]] std::uint64_t version() const { return version_; }

  [[nodiscard]] const std::string& family() const { return family_; }
  void set_family(std::string family) {
    family_ = std::move(family);
    usual_family_.reset();
  }
  /// What is broken brought its own data, for the others may not show it.
  [[nodiscard]] bool has_data_of_break() const { return usual_family_.has_value(); }
  [[nodiscard]] bool is_broken(const std::string& id) const;
  /// Takes the data on which it shows, too; with the last break they go.
  void toggle_break(const std::string& id);
  void heal();
  [[nodiscard]] const std::vector<std::string>& broken() const { return broken_; }

  [[nodiscard]] std::size_t frame() const { return frame_; }
  [[nodiscard]] std::size_t frames() const { return stage_ == nullptr ? 0 : stage_->frames.size(); }
  void go_to(std::size_t frame);
  [[nodiscard]] std::int64_t row() const { return row_; }
  void look_at_row(std::int64_t row) { row_ = row, is_row_chosen_ = true; }

  /// What panels made of a trip; made again where another is looked at.
  struct Lines {
    std::uint64_t version = 0;
    std::size_t frame = 0;
    std::int64_t row = 0;
    std::vector<std::pair<std::string, std::string>> lines;  ///< name, values
  } lines;
  struct Kept {
    std::uint64_t version = 0;
    std::size_t frame = 0;
    session::stage::Bytes now, all;
    std::vector<session::stage::TileProgress> progress;
  } kept;

  bool playing = false;
  double speed = 1;
  double play_next = 0;  ///< seconds of Dear ImGui's clock
  /// Goes on where it plays and it is time to.
  void play(double now);
  /// 0 … 1: how far the change to the present frame has come on the screen.
  [[nodiscard]] float arrived(double now, bool reduced_motion) const;
  [[nodiscard]] bool is_moving(double now, bool reduced_motion) const { return playing || arrived(now, reduced_motion) < 1; }

 private:
  struct Small;  ///< the program on the blackboard, kept by the lane's thread
  void show(std::shared_ptr<const session::stage::Stage>, std::string step);

  std::optional<Wanted> asked_;
  std::shared_ptr<const session::stage::Stage> stage_;
  std::vector<session::stage::Break> breaks_;
  std::vector<std::string> families_, broken_;
  std::optional<Refusal> refused_;
  std::string step_shown_, family_ = "gaussian";
  std::optional<std::string> usual_family_;  ///< before a break brought another one
  std::uint64_t version_ = 0;
  std::size_t frame_ = 0;
  std::int64_t row_ = 0;
  bool is_row_chosen_ = false;
  std::optional<double> moved_at_;  ///< when the frame changed; absent: not drawn yet
  mutable bool just_moved_ = false;
  std::shared_ptr<Small> small_;
  Lane lane_;
};

}  // namespace fathom::ui
