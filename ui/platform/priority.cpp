#include "platform/priority.hpp"

#include <sys/resource.h>

namespace fathom::ui {

void give_way() {
  // A tenth of a core beside a busy thread of usual priority: checks must come to an end on a busy machine, too. On Linux 0 means the
  // calling thread, not its process.
  constexpr int niceness = 10;
  (void)setpriority(PRIO_PROCESS, 0, niceness);
}

}  // namespace fathom::ui
