// The system asks the program to end (shut down, log out, `kill`, the terminal is closed).
#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace fathom::ui {

/// Takes SIGTERM, SIGINT and SIGHUP away from the process. Make it before any other thread: those inherit what is blocked.
class EndSignals {
 public:
  /// `wake` is called from a thread of its own when the first one has come; a second one ends the program at once.
  explicit EndSignals(std::function<void()> wake);
  ~EndSignals();
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

  [[nodiscard]] bool have_come() const { return have_come_; }

 private:
  std::function<void()> wake_;
  std::atomic<bool> have_come_ = false, stop_ = false;
  std::thread thread_;  ///< last: starts when all else is there
};

}  // namespace fathom::ui
