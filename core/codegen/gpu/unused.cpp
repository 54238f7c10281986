#include "codegen/gpu/unused.hpp"

#include <map>

#include "ir/overloaded.hpp"

namespace fathom::gpu {
namespace {

using Counts = std::map<Symbol, int>;

void count(Expr e, Counts& uses) {
  visit(e, [&](Expr part) {
    if (part.is(Op::symbol) || part.is(Op::read)) ++uses[part.name()];
  });
}

void count(const ThreadBlock& block, Counts& uses) {
  for (const ThreadStatement& s : block) {
    std::visit(Overloaded{
                   [&](const Declare& d) {
                     if (d.initial) count(d.initial, uses);
                   },
                   [&](const Assign& a) {
                     // Counting on needs no one who asks for the count.
                     const bool own_only = a.place.is(Op::symbol) && a.value.is(Op::add) && a.value.arg(0) == a.place;
                     if (!own_only) count(a.place, uses);
                     count(own_only ? a.value.arg(1) : a.value, uses);
                   },
                   [&](const Loop& l) {
                     count(l.lo, uses);
                     count(l.hi, uses);
                     count(l.body, uses);
                   },
                   [&](const While& w) {
                     count(w.condition, uses);
                     count(w.body, uses);
                   },
                   [&](const Branch& b) {
                     count(b.condition, uses);
                     count(b.then, uses);
                     count(b.otherwise, uses);
                   },
                   [&](const Do& d) { count(d.call, uses); },
                   [](const Comment&) {},
               },
               s.op);
  }
}

/// Reading it changes nothing: no call but those that say where the thread is.
bool pure(Expr e) {
  static const std::set<std::string> places = {"&",         "lane_number", "warp_number", "same_in_warp", "workgroup_number",
                                               "floor_div", "floor_mod"};
  bool only = true;
  visit(e, [&](Expr part) { only = only && (!part.is(Op::call) || places.count(part.name().text()) > 0); });
  return only;
}

bool remove(ThreadBlock& block, const Counts& uses) {
  const std::size_t before = block.size();
  const auto unused = [&](Symbol name) { return uses.count(name) == 0; };
  std::erase_if(block, [&](const ThreadStatement& s) {
    if (const auto* d = std::get_if<Declare>(&s.op)) return unused(d->variable.name) && (!d->initial || pure(d->initial));
    if (const auto* b = std::get_if<Branch>(&s.op)) return b->condition.is(Op::boolean) && !b->condition.node().truth;
    if (const auto* a = std::get_if<Assign>(&s.op)) return a->place.is(Op::symbol) && unused(a->place.name()) && pure(a->value);
    return false;
  });
  bool changed = block.size() != before;
  for (ThreadStatement& s : block) {
    if (auto* l = std::get_if<Loop>(&s.op)) changed = remove(l->body, uses) || changed;
    if (auto* w = std::get_if<While>(&s.op)) changed = remove(w->body, uses) || changed;
    if (auto* b = std::get_if<Branch>(&s.op)) {
      changed = remove(b->then, uses) || changed;
      changed = remove(b->otherwise, uses) || changed;
    }
  }
  return changed;
}

}  // namespace

void remove_unused(ThreadBlock& body) {
  bool changed = true;
  while (changed) {  // each round takes something away
    Counts uses;
    count(body, uses);
    changed = remove(body, uses);
  }
}

}  // namespace fathom::gpu
