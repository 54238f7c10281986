// Work that does not depend on its order, on all cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace fathom::cli {

/// Calls f(0), …, f(count - 1), on as many threads as there are cores; returns when all are done.
inline void in_parallel(std::size_t count, const std::function<void(std::size_t)>& f) {
  const std::size_t cores = std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) f(i);
  };
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < std::min(cores, count); ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
}

}  // namespace fathom::cli
