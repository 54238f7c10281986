// Work beside the frames: lanes of one thread each. What a piece of work hands back runs in the frame that collects it, so that only the
// frame's thread touches the document.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace fathom::ui {

/// Asked by work that takes long, between its parts.
class Cancel {
 public:
  [[nodiscard]] bool requested() const { return *flag_; }
  void request() const { *flag_ = true; }

 private:
  std::shared_ptr<std::atomic<bool>> flag_ = std::make_shared<std::atomic<bool>>(false);
};

class Lane {
 public:
  using Deliver = std::function<void()>;
  /// Runs on the lane's thread. May hand over several results: `deliver` is called from there, each runs in a frame.
  using Work = std::function<void(const Cancel&, const std::function<void(Deliver)>& deliver)>;

  /// `wake` is called from the lane's thread when something has arrived; `begin` once, before any work.
  explicit Lane(std::function<void()> wake, std::function<void()> begin = {});
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  /// In order; waiting work with the same non-empty key is replaced.
  void start(std::string key, Work);
  /// Drops what waits and asks what runs to stop; nothing of it is delivered any more.
  void cancel();
  /// Runs what has arrived; true where there was something.
  bool collect();
  [[nodiscard]] bool is_busy() const;

 private:
  struct Piece {
    std::string key;
    Work work;
    Cancel cancel;
  };
  void loop(const std::function<void()>& begin);

  std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> waiting_;
  std::vector<std::pair<Cancel, Deliver>> arrived_;
  Cancel running_;
  bool is_running_ = false, stop_ = false;
  std::thread thread_;  ///< last: starts when all else is there
};

}  // namespace fathom::ui
