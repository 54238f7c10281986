// Roles over time: what each group of each role of a kernel does, seen by the watcher of one run of the interpreter at small sizes. The
// clock counts rounds, in each of which every group makes one operation or waits. So the order is the program's own, and what waits for
// what; lengths are no times.
//
// Worked example, attention on sm_90a: the producer acquires a slot of q, k and v, issues a copy, publishes; consumers wait in front of
// their first receive until the copy has been published. From then on the producer waits for slots, two trips ahead.
#pragma once

#include <string>
#include <vector>

#include "interp/interp.hpp"
#include "session/session.hpp"

namespace fathom::session {

struct RoleTimeline {
  enum class Kind : std::uint8_t { value, product, copy, wait, handover, turn };
  struct Lane {
    std::string role;
    int group = 0;
    std::string title;  ///< "consumer 1"
  };
  /// Rounds from … to - 1 of a lane. Waits that follow each other are one bar.
  struct Bar {
    std::size_t lane = 0;
    std::int64_t from = 0, to = 0;
    Kind kind = Kind::value;
    std::string statement;  ///< its text; of a wait, what it stands in front of
    std::string name;       ///< of what it gives or hands over
  };
  /// A copy or a product, from its issue until somebody has waited for it.
  struct Flight {
    std::size_t lane = 0;
    std::int64_t from = 0, to = 0;
    Kind kind = Kind::copy;
    std::string statement, name;
  };
  /// From the publish of an item to its receive, or from the last release of a slot to the acquire that fills it again. Places in `bars`.
  struct Tie {
    std::size_t from = 0, to = 0;
    std::size_t ring = 0;
    std::int64_t item = 0;
    bool frees = false;
  };
  /// After each round.
  struct Level {
    std::int64_t filling = 0;  ///< acquired, not yet published
    std::int64_t full = 0;     ///< published, not yet released by all
  };
  struct Ring {
    std::string channel;
    std::string title;  ///< "q.t.ring[1]"
    std::int64_t depth = 1;
    std::vector<Level> levels;
  };
  std::string kernel;
  std::string sizes;  ///< at which it ran: "B = 1, S = 384"; empty: those that were given
  std::int64_t rounds = 0;
  bool is_cut = false;  ///< there would be more of them
  std::vector<Lane> lanes;
  std::vector<Bar> bars;  ///< in the order in which they happened
  std::vector<Flight> flights;
  std::vector<Tie> ties;
  std::vector<Ring> rings;
};
constexpr std::int64_t most_rounds = 600;

/// Several roles or groups, a channel or a turn: there is something to see.
[[nodiscard]] bool has_roles(const kernel::Module&);
/// The first workgroup of the first kernel that has roles. Refused where the interpreter refuses.
[[nodiscard]] Result<RoleTimeline> role_timeline(const kernel::Module&, const interp::Arrays& inputs, const DimValues& dims);
/// The step's program, compiled again with the dimensions as small as its kernels stay the same, on random data.
[[nodiscard]] Result<RoleTimeline> role_timeline(const Compilation&, std::size_t step);

}  // namespace fathom::session
