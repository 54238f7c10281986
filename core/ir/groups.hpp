// What differs from group to group of a role. What does not, all groups compute alike; where it is stored, one of them does it.
#pragma once

#include <set>

#include "ir/kernel.hpp"

namespace fathom::kernel {

class Varying {
 public:
  Varying(const Module&, const Kernel&, const Role&);
  [[nodiscard]] bool operator()(Expr) const;
  [[nodiscard]] bool operator()(const Access&) const;
  [[nodiscard]] bool operator()(Symbol name) const { return names_.count(name) > 0; }

 private:
  bool note(const Block& block, bool conditional);
  bool add(Symbol name, bool differs) { return differs && names_.insert(name).second; }
  const Kernel& k_;
  std::set<Symbol> places_, names_;
};

}  // namespace fathom::kernel
