// Mutants of Loop programs: masks, ranges of loops, repairs, merges.
#include "mutants.hpp"

namespace fathom::mutants {
namespace {

Edit fold_edit(std::function<void(loop::Loop&)> f) {
  return on_loops([f = std::move(f)](loop::Program& program) {
    each_loop(program, [&](loop::Loop& loop) {
      if (loop.mark == loop::Mark::fold) f(loop);
    });
  });
}

Edit map_edit(Rewrite f) {
  return on_loops([f = std::move(f)](loop::Program& program) { each_map(program, f); });
}

Edit repair_edit(std::function<void(math::Repair&)> f) {
  return on_loops([f = std::move(f)](loop::Program& program) { each_repair(program, f); });
}

void invert_move(math::Repair& repair) {
  for (math::Carried& carried : repair.carried)
    for (const math::Gauge& gauge : repair.gauges) {
      const Expr old_one = symbol(gauge.name), new_one = symbol(primed(gauge.name));
      carried.move = substitute(carried.move, {{old_one, new_one}, {new_one, old_one}});
    }
}

Expr without_guard(Expr e) { return is_guard(e, 0) ? e.arg(2) : e; }

}  // namespace

std::vector<Mutant> loop_mutants() {
  return {
      {"mask-strict", "the mask compares with < instead of <=", causal, Level::loop,
       map_edit([](Expr e) { return e.is(Op::le) ? binary(Op::lt, e.arg(0), e.arg(1)) : e; })},
      {"mask-shifted", "the mask lets one key more through", causal, Level::loop,
       map_edit([](Expr e) { return e.is(Op::le) ? binary(Op::le, e.arg(0), e.arg(1) + number(1)) : e; })},
      {"mask-fills-zero", "masked scores are 0, not -inf", causal, Level::loop,
       map_edit([](Expr e) { return e.is(Op::where) && is_minus_infinity(e.arg(2)) ? where(e.arg(0), e.arg(1), number(0)) : e; })},
      {"mixed-tiles-skipped", "tiles on the diagonal are skipped with those above it", causal, Level::loop, fold_edit([](loop::Loop& loop) {
         if (loop.ranges.size() > 1) loop.ranges.pop_back();
       })},
      {"scale-missing", "scores are not divided by sqrt(D)", attention, Level::loop,
       map_edit([](Expr e) { return e.is(Op::div) && e.arg(1).is(Op::sqrt) ? e.arg(0) : e; })},
      {"last-trip-dropped-by-range", "the fold ends with the last full tile", attention, Level::loop,
       fold_edit([](loop::Loop& loop) { loop.hi = loop.lo + binary(Op::floordiv, loop.hi - loop.lo, loop.tile) * loop.tile; })},
      {"first-tile-skipped", "the fold starts at the second tile", attention, Level::loop,
       fold_edit([](loop::Loop& loop) { loop.lo = binary(Op::min, loop.lo + loop.tile, loop.hi); })},
      {"move-forgotten", "carried sums stay when the gauge moves", attention, Level::loop, repair_edit([](math::Repair& repair) {
         for (math::Carried& carried : repair.carried) carried.move = symbol(carried.name);
       })},
      {"move-inverted", "old and new gauge change places in the move", attention, Level::loop, repair_edit(invert_move)},
      {"move-from-zero", "sums are moved as if the gauge stood at 0, their terms are not", attention, Level::loop,
       repair_edit([](math::Repair& repair) {
         for (math::Gauge& gauge : repair.gauges) gauge.reference = number(0);
       })},
      {"projection-unguarded", "rows without any key divide 0 by 0", causal, Level::loop, map_edit(without_guard)},
      {"merge-leaves-one-out", "the merge of split parts forgets one carried sum", split, Level::loop,
       on_loops([](loop::Program& program) { each_combine(program, [](loop::Combine& combine) { combine.statements.pop_back(); }); })},
      {"merge-drops-a-part", "the merge stops before the last part", split, Level::loop, on_loops([](loop::Program& program) {
         each_combine(program, [](loop::Combine& combine) { combine.count = combine.count - number(1); });
       })},
  };
}

}  // namespace fathom::mutants
