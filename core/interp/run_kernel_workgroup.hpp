// Internal to the interpreter of kernels: what the roles of one workgroup share. Channels are rings of slots, a turn is the number of the
// group that has it, and where all groups of a role do something together they meet.
#pragma once

#include <deque>
#include <string>

#include "interp/interp.hpp"
#include "interp/run_kernel_step.hpp"

namespace fathom::interp::tiles {

class Process;

/// A copy or an mma in flight. When it reads its sources and when it stores is drawn by lot, between its issue and the last moment that
/// its program allows: a plan that reuses a place too early computes something else under some seed.
struct Token {
  enum class Progress : std::uint8_t { issued, read, landed };
  Process* owner = nullptr;
  const Step* step = nullptr;
  std::int64_t number = 0;  ///< in the order of the issues
  Bindings names;           ///< as they were at its issue
  Progress progress = Progress::issued;
  std::vector<TileRef> values;
  bool sources_awaited = false;  ///< its landing is nobody's to wait for, but the workgroup's end
};
using TokenRef = std::shared_ptr<Token>;

struct Ring {
  explicit Ring(std::size_t receivers) : received(receivers, 0), released(receivers, 0) {}
  std::deque<Memory> slots;
  std::size_t acquired = 0, published = 0;
  std::vector<std::size_t> received, released;  ///< by receiving group
  std::vector<std::vector<TokenRef>> filling;   ///< by slot: copies that land before it is received
  std::vector<std::vector<TokenRef>> reading;   ///< by slot: copies that have read before it is acquired
  [[nodiscard]] std::size_t all_released() const;
};

/// All groups of a role at one statement.
struct Meeting {
  std::vector<std::vector<TileRef>> parts;  ///< of each group, its operands
  std::size_t arrived = 0, left = 0;
  std::vector<TileRef> result;
};

struct Workgroup {
  std::int64_t number = 0;  ///< in the order in which they begin
  std::map<Symbol, Memory> buffers;
  std::map<Symbol, std::vector<Ring>> rings;  ///< one, or one a group
  std::map<Symbol, int> turns;                ///< whose it is
  std::map<const Step*, Meeting> meetings;
  std::vector<std::int64_t> items;  ///< that it has drawn
  bool drained = false;             ///< there are no more
  std::vector<std::unique_ptr<Process>> processes;
  /// Everything that was handed over arrived.
  void check_end() const;
};

}  // namespace fathom::interp::tiles
