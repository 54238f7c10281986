// The pool: threads sleep on a condition variable between jobs and end with the process; the plug-in is never unloaded.
#include "codegen/cpu/pool.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace fathom::cpu {
namespace {

class Pool {
 public:
  void run(int workers, const std::function<void(int)>& job) {
    const std::lock_guard one_job(caller_);
    {
      const std::lock_guard lock(mutex_);
      while (static_cast<int>(threads_.size()) + 1 < workers) {
        const int worker = static_cast<int>(threads_.size()) + 1;
        threads_.emplace_back([this, worker, seen = generation_] { serve(worker, seen); });
      }
      job_ = &job;
      workers_ = workers;
      waiting_ = workers - 1;
      ++generation_;
    }
    wake_.notify_all();
    job(0);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return waiting_ == 0; });
    job_ = nullptr;
  }

 private:
  void serve(int worker, unsigned long seen) {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return generation_ != seen; });
      seen = generation_;
      if (worker >= workers_) continue;
      const std::function<void(int)>* job = job_;
      lock.unlock();
      (*job)(worker);
      lock.lock();
      if (--waiting_ == 0) done_.notify_one();
    }
  }

  std::mutex caller_, mutex_;
  std::condition_variable wake_, done_;
  std::vector<std::thread> threads_;
  const std::function<void(int)>* job_ = nullptr;
  int workers_ = 0, waiting_ = 0;
  unsigned long generation_ = 0;
};

}  // namespace

int default_threads() {
  const unsigned cores = std::thread::hardware_concurrency();
  return cores == 0 ? 1 : static_cast<int>(cores);
}

void run_workers(int workers, const std::function<void(int)>& job) {
  static Pool& pool = *new Pool;  // never destroyed: its threads sleep until the process ends
  if (workers <= 1)
    job(0);
  else
    pool.run(workers, job);
}

}  // namespace fathom::cpu
