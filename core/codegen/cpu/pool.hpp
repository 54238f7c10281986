// A few threads that share out work items. One job at a time; the caller takes part and returns when all are done.
#pragma once

#include <functional>

namespace fathom::cpu {

/// Runs job(worker) for worker = 0 … workers-1, each on a thread of its own; worker 0 is the caller. Threads are kept for the next call.
void run_workers(int workers, const std::function<void(int)>& job);
/// Threads that `0` stands for: one a core.
[[nodiscard]] int default_threads();

}  // namespace fathom::cpu
