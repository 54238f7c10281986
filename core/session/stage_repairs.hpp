// How much an old state was moved when its reference moved: the plan's own move, evaluated on the references that were observed.
#pragma once

#include <map>
#include <string>

#include "session/stage.hpp"
#include "session/stage_errors.hpp"

namespace fathom::session::stage {

class Repairs {
 public:
  /// `loops` has the repairs; nullptr: there are none yet. All must outlive it.
  Repairs(const loop::Program* loops, const Errors& errors, const DimValues& dims, const interp::Arrays& inputs);
  /// In the order of the run; a repaired state that was written adds its factors to the frame.
  void see(const Write&, Frame&);

 private:
  struct Moved {
    std::vector<IndexRange> axes;
    std::vector<double> before, now;
    bool has_next = false;  ///< the next value is written under a name of its own first: the state only takes it over
  };
  const loop::Program* loops_;
  const Errors& errors_;
  const DimValues& dims_;
  const interp::Arrays& inputs_;
  std::map<std::string, Moved> references_;  ///< by statement: as they moved last
};

}  // namespace fathom::session::stage
