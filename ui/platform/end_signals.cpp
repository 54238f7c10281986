#include "platform/end_signals.hpp"

#include <pthread.h>

#include <csignal>
#include <cstdlib>
#include <utility>

namespace fathom::ui {
namespace {

sigset_t end_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int each : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, each);
  return set;
}

}  // namespace

EndSignals::EndSignals(std::function<void()> wake) : wake_(std::move(wake)) {
  const sigset_t set = end_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread([this, set] {
    int which = 0;
    while (sigwait(&set, &which) == 0 && !stop_) {
      if (have_come_.exchange(true)) std::_Exit(128 + which);  // who asks twice does not wait for what still compiles
      wake_();
    }
  });
}

EndSignals::~EndSignals() {
  stop_ = true;
  pthread_kill(thread_.native_handle(), SIGTERM);
  thread_.join();
}

}  // namespace fathom::ui
