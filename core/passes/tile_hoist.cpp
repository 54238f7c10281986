// A value that reads nothing which changes in a loop is computed once in front of it. By depth: inner loops first, so that a value may
// leave several.
#include <fmt/format.h>

#include <algorithm>

#include "passes/lowering.hpp"
#include "passes/tile_masks.hpp"
#include "passes/tile_walk.hpp"
#include "passes/words.hpp"

namespace fathom::passes {
namespace {

/// Names that are given a value inside the loop: its variable and tags, carried values, lets, targets, memory that is stored to.
void changing_names(const kernel::Block& block, std::map<Symbol, int>& out) {
  for (const kernel::Statement& s : block) {
    if (const auto* v = std::get_if<kernel::Value>(&s.op)) {
      for (const kernel::Access& t : v->targets) ++out[t.name];
    } else if (const auto* let = std::get_if<kernel::Let>(&s.op)) {
      ++out[let->name];
    } else if (const auto* loop = std::get_if<kernel::For>(&s.op)) {
      out[loop->variable] += 2;
      for (const kernel::TaggedRange& r : loop->ranges) ++out[r.tag];
      for (const kernel::Carry& c : loop->carry) out[c.value.name] += 2;
      changing_names(loop->body, out);
    } else if (const auto* when = std::get_if<kernel::When>(&s.op)) {
      changing_names(when->body, out);
    }
  }
}

bool varies(const kernel::Value& v, const std::map<Symbol, int>& changing) {
  bool found = false;
  const auto look = [&](Expr e) {
    if (!e) return;
    visit(e, [&](Expr node) { found = found || ((node.is(Op::read) || node.is(Op::symbol)) && changing.count(node.name()) > 0); });
  };
  for (const Expr e : v.values) look(e);
  look(v.otherwise);
  return found;
}

class Hoister {
 public:
  explicit Hoister(const Memory& memory) : memory_(memory) {}

  void run(kernel::Block& block) {
    for (std::size_t i = 0; i < block.size(); ++i) {
      auto* loop = std::get_if<kernel::For>(&block[i].op);
      if (loop == nullptr) continue;
      run(loop->body);
      if (loop->ranges.empty()) continue;  // the loop over work items stays whole
      kernel::Block moved = leaving(*loop);
      block.insert(block.begin() + static_cast<std::ptrdiff_t>(i), std::make_move_iterator(moved.begin()),
                   std::make_move_iterator(moved.end()));
      i += moved.size();
    }
  }

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  kernel::Block leaving(kernel::For& loop) {
    kernel::Block out;
    for (bool changed = true; changed;) {
      changed = false;
      std::map<Symbol, int> changing;
      ++changing[loop.variable];
      for (const kernel::TaggedRange& r : loop.ranges) ++changing[r.tag];
      for (const kernel::Carry& c : loop.carry) changing[c.value.name] += 2;
      changing_names(loop.body, changing);
      for (std::size_t i = 0; i < loop.body.size() && !changed; ++i) {
        const auto* v = std::get_if<kernel::Value>(&loop.body[i].op);
        if (v == nullptr || varies(*v, changing) || !once(*v, changing)) continue;
        for (const kernel::Access& t : v->targets) names_.push_back(t.name.text());
        out.push_back(std::move(loop.body[i]));
        loop.body.erase(loop.body.begin() + static_cast<std::ptrdiff_t>(i));
        changed = true;
      }
    }
    return out;
  }

  [[nodiscard]] bool once(const kernel::Value& v, const std::map<Symbol, int>& changing) const {
    return std::all_of(v.targets.begin(), v.targets.end(),
                       [&](const kernel::Access& t) { return memory_.count(t.name) == 0 && changing.at(t.name) == 1; });
  }

  const Memory& memory_;
  std::vector<std::string> names_;
};

}  // namespace

Result<Ir> hoist_invariants(const Ir& ir, StepLog& log) {
  kernel::Module m = ir.module();
  const Memory memory = memory_of(m);
  Hoister hoister(memory);
  for (kernel::Kernel& k : m.kernels) {
    for (kernel::Role& role : k.roles) hoister.run(role.body);
  }
  StepLog::Note note;
  note.id = "hoist";
  note.title = "Hoist what does not vary";
  note.says = hoister.names().empty() ? "Every value in a loop varies with it; the loads were put in front already."
                                      : fmt::format("{} not vary with the loop and stand{} in front of it.",
                                                    listed(hoister.names()) + (hoister.names().size() == 1 ? " does" : " do"),
                                                    hoister.names().size() == 1 ? "s" : "");
  Ir current = hoister.names().empty() ? ir : make_ir(Level::tile, std::move(m));
  log.step(std::move(note), current);
  return current;
}

}  // namespace fathom::passes
