#include "tasks.hpp"

#include <algorithm>
#include <utility>

namespace fathom::ui {

Lane::Lane(std::function<void()> wake, std::function<void()> begin)
    : wake_(std::move(wake)), thread_([this, begin = std::move(begin)] { loop(begin); }) {}

Lane::~Lane() {
  cancel();
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Lane::start(std::string key, Work work) {
  {
    const std::lock_guard lock(mutex_);
    const auto same = [&](const Piece& piece) { return !key.empty() && piece.key == key; };
    const auto found = std::find_if(waiting_.begin(), waiting_.end(), same);
    if (found != waiting_.end()) waiting_.erase(found);
    waiting_.push_back({std::move(key), std::move(work), {}});
  }
  changed_.notify_all();
}

void Lane::cancel() {
  const std::lock_guard lock(mutex_);
  waiting_.clear();
  running_.request();
  arrived_.clear();
}

bool Lane::collect() {
  std::vector<std::pair<Cancel, Deliver>> now;
  {
    const std::lock_guard lock(mutex_);
    now = std::exchange(arrived_, {});
  }
  for (const auto& [cancel, deliver] : now)
    if (!cancel.requested()) deliver();
  return !now.empty();
}

bool Lane::is_busy() const {
  const std::lock_guard lock(mutex_);
  return is_running_ || !waiting_.empty() || !arrived_.empty();
}

void Lane::loop(const std::function<void()>& begin) {
  if (begin) begin();
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
    if (stop_) return;
    const Piece piece = std::move(waiting_.front());
    waiting_.pop_front();
    running_ = piece.cancel;
    is_running_ = true;
    lock.unlock();
    piece.work(piece.cancel, [&](Deliver deliver) {
      {
        const std::lock_guard delivering(mutex_);
        arrived_.emplace_back(piece.cancel, std::move(deliver));
      }
      wake_();
    });
    lock.lock();
    is_running_ = false;
    lock.unlock();
    wake_();  // what shows that work goes on must learn that it ended
    lock.lock();
  }
}

}  // namespace fathom::ui
