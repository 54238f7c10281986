// Mutants of Tile modules: state and its moves, loads and stores, offsets, the order of statements.
#include <algorithm>

#include "mutants.hpp"

namespace fathom::mutants {
namespace {

Edit value_edit(std::function<void(kernel::Value&)> f) {
  return on_module([f = std::move(f)](kernel::Module& module) { each_carried_value(module, f); });
}
/// Of nodes of values inside of loops that carry.
Edit carried_edit(const Rewrite& f) {
  return value_edit([f](kernel::Value& value) { rewrite(value, f); });
}
Edit for_edit(std::function<void(kernel::For&)> f) {
  return on_module([f = std::move(f)](kernel::Module& module) { each_for(module, f); });
}
/// Of nodes of values that are stored in results.
Edit result_edit(Rewrite f) {
  return on_module([f = std::move(f)](kernel::Module& module) {
    each_value(module, [&](kernel::Value& value) {
      if (is_result(module, value.targets.front().name)) rewrite(value, f);
    });
  });
}
/// Of the subscripts of loads from parameters.
Edit load_edit(std::function<void(std::vector<Expr>&)> f) {
  return on_module([f = std::move(f)](kernel::Module& module) {
    rewrite(module, [&](Expr e) {
      if (!reads_parameter(module, e)) return e;
      std::vector<Expr> subscripts(e.args().begin(), e.args().end());
      f(subscripts);
      return read(e.name(), subscripts);
    });
  });
}
Edit initial_edit(std::function<Expr(Expr)> f) {
  return for_edit([f = std::move(f)](kernel::For& loop) {
    for (kernel::Carry& each : loop.carry) each.initial = f(each.initial);
  });
}

Expr stale(Expr e) { return e.is(Op::read) && has_prime(e.name()) ? read(without_prime(e.name()), {e.args().begin(), e.args().end()}) : e; }

/// Inside of the factor: where(m == -inf, 1, exp2(m~ - m~')).
Edit factor_edit(Rewrite inside) {
  return carried_edit(
      [inside = std::move(inside)](Expr e) { return is_guard(e, 1) ? where(e.arg(0), e.arg(1), transform(e.arg(2), inside)) : e; });
}

bool is_log2e(Expr e) { return e.is(Op::number) && print(e).rfind("1.4426950", 0) == 0; }

/// The offset of a tile along a loop or the work: j0 = jt * 2.
Edit offset_edit(std::function<Expr(Expr)> f, bool in_loops) {
  return on_module([f = std::move(f), in_loops](kernel::Module& module) {
    const auto edit = [&](kernel::Let& let) { let.value = f(let.value); };
    if (!in_loops) {
      for (kernel::Kernel& kernel : module.kernels)
        for (kernel::Let& let : kernel.lets)
          if (let.value.is(Op::mul)) edit(let);
      return;
    }
    each_for(module, [&](kernel::For& loop) {
      for (kernel::Statement& each : loop.body)
        if (auto* let = std::get_if<kernel::Let>(&each.op)) edit(*let);
    });
  });
}

/// The update of the gauge and of the maximum moves to the front of what still wants the old ones.
void update_early(kernel::For& loop) {
  kernel::Block& body = loop.body;
  const auto last = body.size() - 1;
  for (std::size_t i = 0; i < last; ++i) {
    const auto* value = std::get_if<kernel::Value>(&body[i].op);
    if (value == nullptr || !is_guard(value->values.front(), 1)) continue;
    std::rotate(body.begin() + static_cast<std::ptrdiff_t>(i), body.end() - 1, body.end());
    return;
  }
}

/// The load of the last tensor takes the one before it: v[…] becomes k[…], which has the same shape.
void load_the_wrong_tensor(kernel::Module& module) {
  const auto params = module.params;
  each_carried_value(module, [&](kernel::Value& value) {
    rewrite(value, [&](Expr e) {
      if (params.size() < 2 || !e.is(Op::read) || e.name() != params.back().name) return e;
      return read(params[params.size() - 2].name, {e.args().begin(), e.args().end()});
    });
  });
}

void store_shifted(kernel::Module& module) {
  each_value(module, [&](kernel::Value& value) {
    kernel::Access& place = value.targets.front();
    if (!is_result(module, place.name)) return;
    const std::size_t axis = place.subscripts.size() > 1 ? place.subscripts.size() - 2 : 0;
    place.subscripts[axis] = place.subscripts[axis] + number(1);
  });
}

void drop_last_item(kernel::Module& module) {
  for (kernel::Kernel& kernel : module.kernels) kernel.work.hi = kernel.work.hi - number(1);
}

Expr drop_summand(Expr e) { return e.is(Op::add) && e.arg(0).is(Op::log) ? e.arg(0) : e; }

std::vector<Mutant> state_mutants() {
  return {
      {"factor-stale", "the factor compares the old gauge with itself", attention, Level::tile, factor_edit(stale)},
      {"factor-inverted", "the factor is exp2(new - old)", attention, Level::tile,
       factor_edit([](Expr e) { return e.is(Op::sub) ? e.arg(1) - e.arg(0) : e; })},
      {"factor-forgotten", "accumulators are not moved", attention, Level::tile, value_edit([](kernel::Value& value) {
         if (is_rescale(value.values.front())) value.values.front() = value.values.front().arg(0).arg(0) + value.values.front().arg(1);
       })},
      {"factor-twice", "accumulators of more than one axis are moved twice", attention, Level::tile, value_edit([](kernel::Value& value) {
         const Expr e = value.values.front();
         if (is_rescale(e) && value.targets.front().subscripts.size() > 1) value.values.front() = e.arg(0) * e.arg(0).arg(1) + e.arg(1);
       })},
      {"accumulator-and-factor-swapped", "the new terms are scaled instead of the old sum", attention, Level::tile,
       value_edit([](kernel::Value& value) {
         const Expr e = value.values.front();
         if (is_rescale(e)) value.values.front() = e.arg(0).arg(0) + e.arg(1) * e.arg(0).arg(1);
       })},
      {"unset-gauge-moves", "an accumulator is moved although no gauge was set", logsumexp, Level::tile,
       carried_edit([](Expr e) { return is_guard(e, 1) ? e.arg(2) : e; })},
      {"unset-gauge-infinite", "an empty prefix has gauge -inf, not 0", logsumexp, Level::tile,
       carried_edit([](Expr e) { return is_guard(e, 0) ? e.arg(2) : e; })},
      {"gauge-not-updated", "the carried gauge keeps its first value", attention, Level::tile, value_edit([](kernel::Value& value) {
         if (value.values.size() > 1 && has_prime(value.values.back().name())) value.values.back() = stale(value.values.back());
       })},
      {"maximum-of-tile-is-minimum", "the tile's smallest score joins the running maximum", attention, Level::tile,
       carried_edit([](Expr e) { return is_reduce(e, "max") ? reduce(Symbol("min"), Symbol(), bounds_of(e), values_of(e)) : e; })},
      {"running-maximum-forgotten", "the maximum is that of the last tile", attention, Level::tile, value_edit([](kernel::Value& value) {
         if (is_running_maximum(value.values.front())) value.values.front() = value.values.front().arg(1);
       })},
      {"maximum-starts-at-zero", "the identity of max is taken to be 0", logsumexp, Level::tile,
       initial_edit([](Expr e) { return is_minus_infinity(e) ? number(0) : e; })},
      {"sum-starts-at-one", "the identity of sum is taken to be 1", matmul, Level::tile,
       initial_edit([](Expr e) { return is_number(e, 0) ? number(1) : e; })},
      {"log2e-missing", "exp2 of a natural exponent", logsumexp, Level::tile,
       carried_edit([](Expr e) { return e.is(Op::mul) && is_log2e(e.arg(1)) ? e.arg(0) : e; })},
      {"early-update", "the maximum is replaced before the factor reads the old one", attention, Level::tile, for_edit(update_early)},
      {"narrowed-too-far", "weights are rounded to bf16", attention, Level::tile, carried_edit([](Expr e) {
         return e.is(Op::exp2) && e.arg(0).is(Op::sub) && e.arg(0).arg(0).is(Op::mul) ? cast(DType::bf16, e) : e;
       })},
      {"sum-not-in-wide", "the sum of squares starts from its last value in f16", rmsnorm, Level::tile,
       value_edit([](kernel::Value& value) {
         const Expr e = value.values.front();
         if (e.is(Op::add) && is_reduce(e.arg(1), "sum")) value.values.front() = cast(DType::f16, e);
       })},
  };
}

std::vector<Mutant> memory_mutants() {
  return {
      {"wrong-tensor", "v is read from k", attention, Level::tile, on_module(load_the_wrong_tensor)},
      {"wrong-head", "keys and values are those of head 0", half, Level::tile, on_module([](kernel::Module& module) {
         each_carried_value(module, [&](kernel::Value& value) {
           rewrite(value, [&](Expr e) {
             return reads_parameter(module, e) && e.args().size() == 4 ? read(e.name(), {e.arg(0), number(0), e.arg(2), e.arg(3)}) : e;
           });
         });
       })},
      {"transposed-load", "the last two subscripts of a load change places", matmul, Level::tile, load_edit([](std::vector<Expr>& at) {
         if (at.size() > 1) std::swap(at[at.size() - 1], at[at.size() - 2]);
       })},
      {"tile-offset-by-one", "each tile starts one element late", attention, Level::tile,
       offset_edit([](Expr e) { return e + number(1); }, true)},
      {"tiles-overlap", "each tile starts one element before the end of the one before", attention, Level::tile,
       offset_edit([](Expr e) { return e.is(Op::mul) ? e.arg(0) * (e.arg(1) - number(1)) : e; }, true)},
      {"offset-overflows", "offsets wrap like a number of two bits", attention, Level::tile,
       offset_edit([](Expr e) { return binary(Op::mod, e, number(4)); }, true)},
      {"rows-overlap", "a work item starts one row before the end of the one before", attention, Level::tile,
       offset_edit([](Expr e) { return e.arg(0) * (e.arg(1) - number(1)); }, false)},
      {"loop-starts-at-one", "the first trip is left out", attention, Level::tile, for_edit([](kernel::For& loop) {
         loop.ranges.front().lo = binary(Op::min, loop.ranges.front().lo + number(1), loop.ranges.front().hi);
       })},
      {"last-trip-dropped", "the last trip is left out", cross_entropy, Level::tile, for_edit([](kernel::For& loop) {
         loop.ranges.back().hi = binary(Op::max, loop.ranges.back().hi - number(1), loop.ranges.back().lo);
       })},
      {"last-item-dropped", "the last work item is left out", softmax, Level::tile, on_module(drop_last_item)},
      {"tail-not-masked", "elements past the end of a row count as 0", logsumexp, Level::tile, on_module([](kernel::Module& module) {
         each_value(module, [](kernel::Value& value) {
           if (value.otherwise) value.otherwise = number(0);
         });
       })},
      {"fill-forgotten", "loads past the end have no fill", rmsnorm, Level::tile,
       on_module([](kernel::Module& module) { each_value(module, [](kernel::Value& value) { value.otherwise = Expr(); }); })},
      {"fill-is-one", "elements past the end count as 1", rmsnorm, Level::tile, on_module([](kernel::Module& module) {
         each_value(module, [](kernel::Value& value) {
           if (value.otherwise) value.otherwise = number(1);
         });
       })},
      {"store-one-row-off", "results are stored one row late", attention, Level::tile, on_module(store_shifted)},
      {"local-index", "a mask compares the place in the tile, not in the row", cross_entropy, Level::tile,
       carried_edit([](Expr e) { return e.is(Op::eq) && e.arg(0).is(Op::add) ? binary(Op::eq, e.arg(0).arg(0), e.arg(1)) : e; })},
      {"reference-not-added-back", "log l without the maximum", logsumexp, Level::tile, result_edit(drop_summand)},
      {"epsilon-missing", "the mean square stands without eps", rmsnorm, Level::tile,
       result_edit([](Expr e) { return e.is(Op::sqrt) && e.arg(0).is(Op::add) ? unary(Op::sqrt, e.arg(0).arg(1)) : e; })},
      {"wrong-workspace", "the second kernel reads the sum where the maximum should be", softmax, Level::tile,
       on_module([](kernel::Module& module) {
         if (module.workspaces.size() < 2) return;
         rewrite(module, [&](Expr e) {
           return e.is(Op::read) && e.name() == module.workspaces[0].name
                      ? read(module.workspaces[1].name, {e.args().begin(), e.args().end()})
                      : e;
         });
       })},
      {"wrong-row-of-workspace", "the second kernel reads what belongs to the tile's first row", softmax, Level::tile,
       on_module([](kernel::Module& module) {
         rewrite(module, [&](Expr e) {
           const bool of_workspace = e.is(Op::read) && !module.workspaces.empty() &&
                                     (e.name() == module.workspaces[0].name || e.name() == module.workspaces.back().name);
           return of_workspace && e.arg(0).is(Op::add) ? read(e.name(), {e.arg(0).arg(0)}) : e;
         });
       })},
  };
}

}  // namespace

std::vector<Mutant> tile_mutants() {
  std::vector<Mutant> all = state_mutants();
  for (Mutant& each : memory_mutants()) all.push_back(std::move(each));
  return all;
}

}  // namespace fathom::mutants
