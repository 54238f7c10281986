// Read counts.
#include "codegen/cpu/kinds.hpp"

#include "ir/overloaded.hpp"

namespace fathom::cpu {
namespace {

using kernel::Block;
using kernel::Statement;

}  // namespace

void count_reads(Expr e, std::map<Symbol, int>& counts) {
  if (!e) return;
  visit(e, [&](Expr node) {
    if (node.is(Op::read) || node.is(Op::symbol) || node.is(Op::index) || node.is(Op::dim)) ++counts[node.name()];
  });
}

void count_reads(const Block& body, std::map<Symbol, int>& counts) {
  const auto access = [&](const kernel::Access& a) {
    ++counts[a.name];
    for (Expr e : a.subscripts) count_reads(e, counts);
  };
  const auto subscripts = [&](const kernel::Access& a) {
    for (Expr e : a.subscripts) count_reads(e, counts);
  };
  for (const Statement& statement : body)
    std::visit(Overloaded{[&](const kernel::Value& s) {
                            for (const kernel::Access& target : s.targets) subscripts(target);
                            for (Expr e : s.values) count_reads(e, counts);
                            count_reads(s.otherwise, counts);
                          },
                          [&](const kernel::Let& s) { count_reads(s.value, counts); },
                          [&](const kernel::Copy& s) {
                            subscripts(s.to);
                            count_reads(s.from, counts);
                            count_reads(s.otherwise, counts);
                          },
                          [&](const kernel::Mma& s) {
                            access(s.a);
                            access(s.b);
                            if (s.accumulate) access(s.acc);
                          },
                          [&](const kernel::For& s) {
                            for (const kernel::TaggedRange& range : s.ranges) {
                              count_reads(range.lo, counts);
                              count_reads(range.hi, counts);
                            }
                            for (const kernel::Carry& c : s.carry) {
                              count_reads(c.initial, counts);
                              ++counts[c.value.name];
                            }
                            count_reads(s.body, counts);
                          },
                          [&](const kernel::When& s) {
                            count_reads(s.condition, counts);
                            count_reads(s.body, counts);
                          },
                          [&](const kernel::If& s) {
                            access(s.condition);
                            for (const kernel::Carry& c : s.carry) ++counts[c.value.name];
                            count_reads(s.body, counts);
                          },
                          [](const auto&) {}},
               statement.op);
}

}  // namespace fathom::cpu
