// Walks over expressions: each distinct node once, with a stack of their own, so that depth costs memory and never the call stack.
#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include "ir/node_map.hpp"

namespace fathom {
namespace {

/// A stack whose first elements lie in the object: walks are as deep as expressions are, and those are rarely deep.
template <class T>
class Stack {
 public:
  [[nodiscard]] bool empty() const { return count_ == 0; }
  T& top() { return count_ <= most_in_line ? few_[count_ - 1] : many_.back(); }
  void push(T value) {
    if (count_++ < most_in_line) {
      few_[count_ - 1] = value;
    } else {
      many_.push_back(value);
    }
  }
  void pop() {
    if (count_-- > most_in_line) many_.pop_back();
  }

 private:
  static constexpr std::size_t most_in_line = 24;
  std::array<T, most_in_line> few_;
  std::vector<T> many_;
  std::size_t count_ = 0;
};

struct Met {};
using Nodes = NodeMap<Met>;

Symbol fresh(Symbol name, const std::set<Symbol>& taken) {
  std::string text = name.text();
  do text += '\'';
  while (taken.count(Symbol(text)) != 0);
  return Symbol(text);
}

/// One substitution in force under some binders. Nested scopes recurse: their number is that of binders on a path, which parsers bound.
class Substituter {
 public:
  explicit Substituter(Substitution replacements) : replacements_(std::move(replacements)) {}

  Expr operator()(Expr root) {
    if (replacements_.empty()) return root;
    std::vector<Expr> stack = {root};
    while (!stack.empty()) {
      const Expr expr = stack.back();
      if (done_.find(&expr.node()) != nullptr) {
        stack.pop_back();
      } else if (const auto found = replacements_.find(expr); found != replacements_.end()) {
        finish(stack, found->second);
      } else if (expr.is(Op::reduce)) {
        finish(stack, in_reduce(expr));
      } else if (expr.is(Op::call) && !expr.node().bound.empty()) {
        finish(stack, in_call(expr));
      } else if (push_operands(expr, stack)) {
        continue;
      } else {
        finish(stack, rebuilt(expr));
      }
    }
    return done_.at(&root.node());
  }

 private:
  void finish(std::vector<Expr>& stack, Expr result) {
    done_.insert(&stack.back().node(), result);
    stack.pop_back();
  }

  bool push_operands(Expr expr, std::vector<Expr>& stack) const {
    bool pushed = false;
    for (const Expr arg : expr.args())
      if (arg && done_.find(&arg.node()) == nullptr) {
        stack.push_back(arg);
        pushed = true;
      }
    return pushed;
  }

  Expr rebuilt(Expr expr) const {
    std::vector<Expr> args;
    for (const Expr arg : expr.args()) args.push_back(arg ? done_.at(&arg.node()) : arg);
    return with_args(expr, std::move(args));
  }

  static void hide(Substitution& replacements, Symbol bound) {
    for (auto it = replacements.begin(); it != replacements.end();)
      it = free_indices(it->first).count(bound) != 0 ? replacements.erase(it) : std::next(it);
  }

  static bool captures(const Substitution& replacements, Symbol bound) {
    return std::any_of(replacements.begin(), replacements.end(),
                       [&](const auto& entry) { return free_indices(entry.second).count(bound) != 0; });
  }

  /// Bounds from the left: a range sees the indices bound before it; the values see all of them.
  static Expr in_reduce_under(Substitution inner, Expr expr) {
    std::set<Symbol> taken = free_indices(expr);
    for (const auto& [from, to] : inner) {
      taken.merge(free_indices(from));
      taken.merge(free_indices(to));
    }
    taken.insert(expr.node().bound.begin(), expr.node().bound.end());
    std::vector<Bound> bounds = bounds_of(expr);
    for (Bound& bound : bounds) {
      if (bound.lo) bound.lo = substitute(bound.lo, inner);
      if (bound.hi) bound.hi = substitute(bound.hi, inner);
      hide(inner, bound.index);
      if (!captures(inner, bound.index)) continue;
      const Symbol renamed = fresh(bound.index, taken);
      taken.insert(renamed);
      inner[index(bound.index)] = index(renamed);
      bound.index = renamed;
    }
    std::vector<Expr> values = values_of(expr);
    for (Expr& value : values) value = substitute(value, inner);
    return reduce(expr.name(), expr.node().result, bounds, values);
  }
  Expr in_reduce(Expr expr) const { return in_reduce_under(replacements_, expr); }

  Expr in_call(Expr expr) const {
    Substitution inner = replacements_;
    std::vector<Symbol> indices = expr.node().bound;
    for (Symbol& each : indices) {
      const auto found = replacements_.find(index(each));
      if (found == replacements_.end()) continue;
      if (found->second.is(Op::index)) {
        each = found->second.name();
      } else {
        hide(inner, each);
      }
    }
    std::vector<Expr> args(expr.args().begin(), expr.args().end());
    for (Expr& arg : args) arg = substitute(arg, inner);
    return call(expr.name(), std::move(indices), std::move(args));
  }

  Substitution replacements_;
  NodeMap<Expr> done_;
};

/// Adds the indices free in `root` that are not in `bound`. Recursion only at binders, whose nesting parsers bound.
void collect_free(Expr root, const std::set<Symbol>& bound, std::set<Symbol>& found) {
  Nodes seen;
  std::vector<Expr> stack = {root};
  while (!stack.empty()) {
    const Expr expr = stack.back();
    stack.pop_back();
    if (!expr || !seen.insert(&expr.node(), {})) continue;
    if (const std::set<Symbol>* free = expr.node().free) {
      std::set_difference(free->begin(), free->end(), bound.begin(), bound.end(), std::inserter(found, found.end()));
    } else if (expr.node().bound.empty()) {
      stack.insert(stack.end(), expr.args().begin(), expr.args().end());
    } else {
      std::set<Symbol> inner = bound;
      const bool has_ranges = expr.is(Op::reduce);
      for (std::size_t b = 0; b < expr.node().bound.size(); ++b) {
        const Bound each = has_ranges ? bounds_of(expr)[b] : Bound{};
        if (each.lo) collect_free(each.lo, inner, found);
        if (each.hi) collect_free(each.hi, inner, found);
        inner.insert(expr.node().bound[b]);
      }
      for (const Expr value : has_ranges ? values_of(expr) : std::vector<Expr>(expr.args().begin(), expr.args().end()))
        collect_free(value, inner, found);
    }
  }
}

template <class Keep>
std::set<Symbol> names_of(Expr root, Keep keep) {
  std::set<Symbol> names;
  visit(root, [&](Expr expr) {
    if (keep(expr)) names.insert(expr.name());
  });
  return names;
}

}  // namespace

void visit(Expr root, const std::function<void(Expr)>& f) {
  if (!root) return;
  if (root.args().empty()) return f(root);
  Nodes seen;
  Stack<std::pair<Expr, std::size_t>> stack;
  stack.push({root, 0});
  seen.insert(&root.node(), {});
  while (!stack.empty()) {
    auto& [expr, next] = stack.top();
    if (next == expr.args().size()) {
      const Expr finished = expr;
      stack.pop();
      f(finished);
      continue;
    }
    const Expr arg = expr.arg(next++);
    if (arg && seen.insert(&arg.node(), {})) stack.push({arg, 0});
  }
}

Expr transform(Expr root, const std::function<Expr(Expr)>& f) {
  if (!root) return root;
  NodeMap<Expr> done;
  visit(root, [&](Expr expr) {
    const auto result_of = [&](Expr arg) { return arg ? done.at(&arg.node()) : arg; };
    const bool same = std::all_of(expr.args().begin(), expr.args().end(), [&](Expr arg) { return result_of(arg) == arg; });
    if (same) return void(done.insert(&expr.node(), f(expr)));
    std::vector<Expr> args;
    for (const Expr arg : expr.args()) args.push_back(result_of(arg));
    done.insert(&expr.node(), f(with_args(expr, std::move(args))));
  });
  return done.at(&root.node());
}

Expr substitute(Expr root, const Substitution& replacements) { return root ? Substituter(replacements)(root) : root; }

bool contains(Expr root, Expr part) {
  bool found = false;
  visit(root, [&](Expr expr) { found = found || expr == part; });
  return found;
}

std::set<Symbol> free_indices(Expr expr) {
  if (!expr) return {};
  if (expr.node().free != nullptr) return *expr.node().free;
  std::set<Symbol> found;
  collect_free(expr, {}, found);
  return found;
}

std::set<Symbol> tensors_read(Expr root) {
  return names_of(root, [](Expr expr) { return expr.is(Op::read); });
}

std::set<Symbol> dims_in(Expr root) {
  return names_of(root, [](Expr expr) { return expr.is(Op::dim); });
}

}  // namespace fathom
