// Interning, order and builders of expressions. Every node is made here, once; nodes are never freed.
// Thread-safe: one lock around the table. Hash and order look at names and numbers only, never at addresses.
#include "ir/expr.hpp"

#include <array>
#include <cassert>
#include <cmath>
#include <cstring>
#include <deque>
#include <mutex>
#include <unordered_set>

namespace fathom {
namespace {

struct OpRow {
  std::string_view spelling;
  OpKind kind;
};
constexpr std::array<OpRow, op_count> op_rows = {{
#define FATHOM_OP_ROW(id, text, op_kind) {text, OpKind::op_kind},
    FATHOM_OPS(FATHOM_OP_ROW)
#undef FATHOM_OP_ROW
}};

std::uint64_t bits_of(double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

std::uint64_t hash_of(const ExprNode& node) {
  std::uint64_t hash = static_cast<std::uint64_t>(node.op) * 2654435761ULL;
  hash = hash_combine(hash, static_cast<std::uint64_t>(node.dtype) * 2 + (node.truth ? 1 : 0));
  hash = hash_combine(hash, static_cast<std::uint64_t>(node.number.num()));
  hash = hash_combine(hash, static_cast<std::uint64_t>(node.number.den()));
  hash = hash_combine(hash, bits_of(node.inexact));
  hash = hash_combine(hash, hash_bytes(node.name.text()));
  hash = hash_combine(hash, hash_bytes(node.result.text()));
  for (const Symbol bound : node.bound) hash = hash_combine(hash, hash_bytes(bound.text()));
  for (const Expr arg : node.args) hash = hash_combine(hash, arg ? arg.node().hash : 1);
  return hash;
}

bool same_node(const ExprNode& a, const ExprNode& b) {
  return a.hash == b.hash && a.op == b.op && a.dtype == b.dtype && a.truth == b.truth && a.number == b.number &&
         bits_of(a.inexact) == bits_of(b.inexact) && a.name == b.name && a.result == b.result && a.bound == b.bound && a.args == b.args;
}

struct NodeHash {
  std::size_t operator()(const ExprNode* node) const { return static_cast<std::size_t>(node->hash); }
};
struct NodeEqual {
  bool operator()(const ExprNode* a, const ExprNode* b) const { return same_node(*a, *b); }
};

/// All nodes and all sets of free indices there are.
struct Table {
  std::mutex mutex;
  std::unordered_set<const ExprNode*, NodeHash, NodeEqual> nodes;
  std::deque<ExprNode> storage;  // stable addresses
  std::set<std::set<Symbol>> index_sets;
  const std::set<Symbol>* no_indices = &*index_sets.insert(std::set<Symbol>{}).first;
};

Table& table() {
  static Table* instance = new Table;  // never destroyed: expressions may outlive static destruction order
  return *instance;
}

/// Larger sets are not kept, so that a sum over thousands of names costs no square of their number; free_indices walks then.
constexpr std::size_t most_kept = 32;

/// The indices free in a node whose operands are interned. A bound's range may use the indices bound before it.
std::set<Symbol> free_in_binder(const ExprNode& node) {
  const bool has_ranges = node.op == Op::reduce;
  const std::size_t values = has_ranges ? node.args.size() - 2 * node.bound.size() : node.args.size();
  std::set<Symbol> result;
  for (std::size_t i = 0; i < values; ++i)
    if (node.args[i]) result.insert(node.args[i].node().free->begin(), node.args[i].node().free->end());
  for (std::size_t b = node.bound.size(); b-- > 0;) {
    result.erase(node.bound[b]);
    for (std::size_t i = values + 2 * b; has_ranges && i < values + 2 * b + 2; ++i)
      if (node.args[i]) result.insert(node.args[i].node().free->begin(), node.args[i].node().free->end());
  }
  return result;
}

const std::set<Symbol>* kept(std::set<Symbol> free, Table& names) {
  return free.size() > most_kept ? nullptr : &*names.index_sets.insert(std::move(free)).first;
}

/// Most nodes have the set of one of their operands, found without making one.
const std::set<Symbol>* free_of(const ExprNode& node, Table& names) {
  if (node.op == Op::index) return kept({node.name}, names);
  const std::set<Symbol>* only = names.no_indices;
  bool several = false;
  for (const Expr arg : node.args) {
    if (!arg) continue;
    const std::set<Symbol>* each = arg.node().free;
    if (each == nullptr) return nullptr;
    if (each->empty() || each == only) continue;
    several = several || !only->empty();
    only = each;
  }
  if (!node.bound.empty()) return kept(free_in_binder(node), names);
  if (!several) return only;
  std::set<Symbol> all;
  for (const Expr arg : node.args)
    if (arg) all.insert(arg.node().free->begin(), arg.node().free->end());
  return kept(std::move(all), names);
}

/// Depth and size from the operands'.
void measure(ExprNode& node) {
  constexpr std::uint64_t most = ~std::uint64_t{0};
  node.depth = 1;
  node.size = 1;
  for (const Expr arg : node.args) {
    if (!arg) continue;
    if (arg.node().depth >= node.depth) node.depth = arg.node().depth + 1;
    node.size = arg.node().size > most - node.size ? most : node.size + arg.node().size;
  }
}

Expr intern(ExprNode node) {
  measure(node);
  node.hash = hash_of(node);
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  if (const auto found = all.nodes.find(&node); found != all.nodes.end()) return Expr(*found);
  node.free = free_of(node, all);
  all.storage.push_back(std::move(node));
  all.nodes.insert(&all.storage.back());
  return Expr(&all.storage.back());
}

ExprNode node_of(Op op, Symbol name = {}, std::vector<Expr> args = {}) {
  ExprNode node{};
  node.op = op;
  node.name = name;
  node.args = std::move(args);
  return node;
}

template <class T>
std::strong_ordering order(const T& a, const T& b) {
  return a < b ? std::strong_ordering::less : b < a ? std::strong_ordering::greater : std::strong_ordering::equal;
}

/// Order of everything but the operands themselves.
std::strong_ordering order_of_heads(const ExprNode& a, const ExprNode& b) {
  if (const auto c = order(a.op, b.op); c != 0) return c;
  if (const auto c = a.number <=> b.number; c != 0) return c;
  if (const auto c = order(a.inexact, b.inexact); c != 0) return c;
  if (const auto c = order(a.truth, b.truth); c != 0) return c;
  if (const auto c = order(a.dtype, b.dtype); c != 0) return c;
  if (const auto c = a.name <=> b.name; c != 0) return c;
  if (const auto c = a.result <=> b.result; c != 0) return c;
  if (const auto c = order(a.bound, b.bound); c != 0) return c;
  return order(a.args.size(), b.args.size());
}

}  // namespace

std::string_view spelling(Op op) { return op_rows[static_cast<std::size_t>(op)].spelling; }
int arity(Op op) {
  switch (op) {
    case Op::random:
      return -1;
    case Op::where:
      return 3;
    case Op::min:
    case Op::max:
      return 2;
    case Op::cast:
      return 1;
    default:
      break;
  }
  const OpKind its_kind = kind(op);
  return its_kind == OpKind::infix ? 2 : its_kind == OpKind::prefix || its_kind == OpKind::function ? 1 : -1;
}
OpKind kind(Op op) { return op_rows[static_cast<std::size_t>(op)].kind; }

// Equal expressions are one node, so the order is decided by the first operands that differ: a walk down, no recursion.
std::strong_ordering operator<=>(Expr a, Expr b) {
  while (a.node_ != b.node_) {
    if (!a) return std::strong_ordering::less;
    if (!b) return std::strong_ordering::greater;
    const ExprNode& left = *a.node_;
    const ExprNode& right = *b.node_;
    if (const auto heads = order_of_heads(left, right); heads != 0) return heads;
    std::size_t first = 0;
    while (left.args[first] == right.args[first]) ++first;  // one differs, else they were one node
    a = left.args[first];
    b = right.args[first];
  }
  return std::strong_ordering::equal;
}

Expr number(Rational value) {
  ExprNode node = node_of(Op::number);
  node.number = value;
  return intern(std::move(node));
}

Expr inexact_number(double value) {
  assert(std::isfinite(value));
  int exponent = 0;
  double mantissa = std::frexp(value, &exponent);  // one value, one node: what a Rational holds becomes one
  while (mantissa != std::floor(mantissa)) {
    mantissa *= 2;
    --exponent;
  }
  const auto whole = static_cast<std::int64_t>(mantissa);
  if (exponent >= -62 && exponent <= 62) {
    const std::int64_t scale = std::int64_t{1} << (exponent < 0 ? -exponent : exponent);
    const std::optional<Rational> exact = exponent < 0 ? Rational::make(whole, scale) : multiply(Rational(whole), Rational(scale));
    if (exact) return number(*exact);
  }
  ExprNode node = node_of(Op::number);
  node.inexact = value;
  return intern(std::move(node));
}

Expr infinity() { return intern(node_of(Op::infinity)); }
bool is_minus_infinity(Expr e) { return e.is(Op::neg) && e.arg(0).is(Op::infinity); }
bool is_infinite(Expr e) { return e.is(Op::infinity) || is_minus_infinity(e); }

Expr boolean(bool truth) {
  ExprNode node = node_of(Op::boolean);
  node.truth = truth;
  return intern(std::move(node));
}

Expr index(Symbol name) { return intern(node_of(Op::index, name)); }
Expr dim(Symbol name) { return intern(node_of(Op::dim, name)); }
Expr symbol(Symbol name) { return intern(node_of(Op::symbol, name)); }
Expr read(Symbol tensor, std::vector<Expr> subscripts) { return intern(node_of(Op::read, tensor, std::move(subscripts))); }
Expr tuple(std::vector<Expr> parts) { return intern(node_of(Op::tuple, {}, std::move(parts))); }

Expr cast(DType dtype, Expr value) {
  ExprNode node = node_of(Op::cast, {}, {value});
  node.dtype = dtype;
  return intern(std::move(node));
}

Expr call(Symbol function, std::vector<Symbol> indices, std::vector<Expr> args) {
  ExprNode node = node_of(Op::call, function, std::move(args));
  node.bound = std::move(indices);
  return intern(std::move(node));
}

Expr reduce(Symbol reducer, Symbol result, const std::vector<Bound>& bound, const std::vector<Expr>& values) {
  ExprNode node = node_of(Op::reduce, reducer, values);
  node.result = result;
  for (const Bound& each : bound) {
    node.bound.push_back(each.index);
    node.args.push_back(each.lo);
    node.args.push_back(each.hi);
  }
  return intern(std::move(node));
}

Expr make(Op op, std::vector<Expr> args) {
  assert(kind(op) == OpKind::prefix || kind(op) == OpKind::infix || kind(op) == OpKind::function);
  return intern(node_of(op, {}, std::move(args)));
}
Expr unary(Op op, Expr operand) { return make(op, {operand}); }
Expr binary(Op op, Expr left, Expr right) { return make(op, {left, right}); }
Expr where(Expr condition, Expr then, Expr otherwise) { return make(Op::where, {condition, then, otherwise}); }

std::vector<Bound> bounds_of(Expr reduce) {
  const ExprNode& node = reduce.node();
  const std::size_t values = node.args.size() - 2 * node.bound.size();
  std::vector<Bound> result;
  for (std::size_t i = 0; i < node.bound.size(); ++i)
    result.push_back({node.bound[i], node.args[values + 2 * i], node.args[values + 2 * i + 1]});
  return result;
}

std::vector<Expr> values_of(Expr reduce) {
  const ExprNode& node = reduce.node();
  return {node.args.begin(), node.args.end() - static_cast<std::ptrdiff_t>(2 * node.bound.size())};
}

Expr with_args(Expr expr, std::vector<Expr> args) {
  assert(args.size() == expr.args().size());
  if (args == expr.node().args) return expr;
  ExprNode node = expr.node();
  node.args = std::move(args);
  return intern(std::move(node));
}

}  // namespace fathom
