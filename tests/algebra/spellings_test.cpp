// No pattern matching by spelling: what people may write for one operator has one normal form and one plan; what only looks alike has not.
#include <algorithm>

#include "algebra/view.hpp"
#include "algebra_test.hpp"

namespace fathom::algebra {
namespace {

std::string attention_of(const std::string& body, const std::string& names = "q: f32[S,D], k: f32[T,D], v: f32[T,D], keep: bool[S,T]") {
  return "dim S = 4, T = 8, D = 16\noperator attention(" + names + ") -> (o: f32[S,D])\n{\n" + body + "\n}\n";
}

/// The normal form with tensors renamed in order of appearance and each statement's indices by their place in it.
std::string renamed_normal_form(const std::string& text) {
  const math::Program opened = parse_opened(text);
  const math::Program normal = normalise(opened, analyse(opened)).program;
  std::map<Symbol, Symbol> names;
  const auto rename = [&](Symbol name) { return names.emplace(name, Symbol("n" + std::to_string(names.size()))).first->second; };
  for (const math::Parameter& parameter : normal.params) rename(parameter.name);
  std::string result;
  for (math::Statement statement : normal.statements) {
    std::map<Symbol, Symbol> indices;
    const auto place = [&](Symbol name) { return indices.emplace(name, Symbol("i" + std::to_string(indices.size()))).first->second; };
    const auto renamed = [&](Expr e) {
      return transform(e, [&](Expr part) {
        if (part.is(Op::read)) return read(rename(part.name()), {part.args().begin(), part.args().end()});
        if (part.is(Op::index)) return index(place(part.name()));
        return part;
      });
    };
    for (math::Axis& axis : statement.axes) axis.index = place(axis.index);
    if (math::Reduction* reduction = std::get_if<math::Reduction>(&statement.value)) {
      for (math::Axis& axis : reduction->over) axis.index = place(axis.index);
      for (Expr& value : reduction->values) value = renamed(value);
    } else {
      statement.value = math::Map{renamed(statement.map()->value)};
    }
    statement.name = rename(statement.name);
    result += math::print(statement) + "\n";
  }
  return result;
}

const std::string by_hand =
    "s[i,j] = sum[d](q[i,d] * k[j,d]) / sqrt(D)\n m[i] = max[j](s[i,j])\n l[i] = sum[j](exp(s[i,j] - m[i]))\n o[i,d] = sum[j](exp(s[i,j] - "
    "m[i]) / l[i] * v[j,d])";

TEST(Spellings, of_attention_have_one_normal_form) {
  const std::string expected = renamed_normal_form(attention_of(by_hand));
  EXPECT_NE(expected.find("exp("), std::string::npos);
  const std::vector<std::pair<std::string, std::string>> others = {
      {"by the inverse",
       "s[i,j] = sum[d](q[i,d] * k[j,d]) / sqrt(D)\n m[i] = max[j](s[i,j])\n l[i] = sum[j](exp(s[i,j] - m[i]))\n inv[i] = 1 / l[i]\n "
       "o[i,d] = sum[j](v[j,d] * (exp(s[i,j] - m[i]) * inv[i]))"},
      {"a quotient of exponentials",
       "s[i,j] = sum[d](q[i,d] * k[j,d]) / sqrt(D)\n m[i] = max[j](s[i,j])\n l[i] = sum[j](exp(s[i,j]) / exp(m[i]))\n o[i,d] = "
       "sum[j](exp(s[i,j]) / exp(m[i]) / l[i] * v[j,d])"},
      {"base two",
       "s[i,j] = sum[d](q[i,d] * k[j,d]) / sqrt(D)\n m[i] = max[j](s[i,j])\n e[i,j] = exp2((s[i,j] - m[i]) * log2(exp(1)))\n l[i] = "
       "sum[j](e[i,j])\n o[i,d] = sum[j](e[i,j] / l[i] * v[j,d])"},
      {"scale on q",
       "z[i,d] = q[i,d] / sqrt(D)\n s[i,j] = sum[d](z[i,d] * k[j,d])\n m[i] = max[j](s[i,j])\n l[i] = sum[j](exp(s[i,j] - m[i]))\n o[i,d] "
       "= sum[j](exp(s[i,j] - m[i]) / l[i] * v[j,d])"},
      {"scale on k",
       "s[i,j] = sum[d](q[i,d] * (k[j,d] * (1 / sqrt(D))))\n m[i] = max[j](s[i,j])\n l[i] = sum[j](exp(s[i,j] - m[i]))\n o[i,d] = "
       "sum[j](exp(s[i,j] - m[i]) / l[i] * v[j,d])"},
      {"other names and other indices",
       "score[a,b] = sum[c](q[a,c] * k[b,c]) / sqrt(D)\n top[a] = max[b](score[a,b])\n den[e] = sum[g](exp(score[e,g] - top[e]))\n o[i,d] "
       "= sum[f](exp(score[i,f] - top[i]) / den[i] * v[f,d])"},
      {"unused statements", by_hand + "\n extra[j] = sum[d](k[j,d])\n more[i] = m[i] * 2"},
      {"divided at the end",
       "s[i,j] = sum[d](q[i,d] * k[j,d]) / sqrt(D)\n m[i] = max[j](s[i,j])\n l[i] = sum[j](exp(s[i,j] - m[i]))\n a[i,d] = "
       "sum[j](exp(s[i,j] - m[i]) * v[j,d])\n o[i,d] = a[i,d] / l[i]"},
  };
  for (const auto& [what, body] : others) EXPECT_EQ(renamed_normal_form(attention_of(body)), expected) << what;
}

TEST(Spellings, of_parameters_do_not_matter) {
  std::string renamed = by_hand;
  for (std::size_t at = renamed.find("q["); at != std::string::npos; at = renamed.find("q[")) renamed[at] = 'z';
  EXPECT_EQ(renamed_normal_form(attention_of(renamed, "z: f32[S,D], k: f32[T,D], v: f32[T,D], keep: bool[S,T]")),
            renamed_normal_form(attention_of(by_hand)));
}

TEST(Spellings, of_a_guard_differ_by_one_select_in_the_epilogue) {
  const std::string prelude = renamed_normal_form(
      attention_of("s[i,j] = sum[d](q[i,d] * k[j,d]) / sqrt(D)\n p[i,j] = softmax[j](s[i,j])\n o[i,d] = sum[j](p[i,j] * v[j,d])"));
  const std::string hand = renamed_normal_form(attention_of(by_hand));
  const auto last = [](const std::string& text) { return text.rfind('\n', text.size() - 2); };
  EXPECT_EQ(prelude.substr(0, last(prelude)), hand.substr(0, last(hand)));
  EXPECT_NE(prelude.substr(last(prelude)).find("where("), std::string::npos);
}

TEST(Spellings, of_a_scale_before_or_after_the_mask_have_one_normal_form) {
  const auto masked = [](const std::string& scores) {
    return renamed_normal_form(attention_of(
        scores + "\n m[i] = max[j](c[i,j])\n l[i] = sum[j](exp(c[i,j] - m[i]))\n o[i,d] = sum[j](exp(c[i,j] - m[i]) / l[i] * v[j,d])"));
  };
  const std::string before = masked("s[i,j] = sum[d](q[i,d] * k[j,d]) * 0.25\n c[i,j] = where(keep[i,j], s[i,j], -inf)");
  EXPECT_EQ(masked("s[i,j] = sum[d](q[i,d] * k[j,d])\n c[i,j] = 0.25 * where(keep[i,j], s[i,j], -inf)"), before);
  EXPECT_EQ(masked("s[i,j] = sum[d](q[i,d] * k[j,d]) / 4\n c[i,j] = s[i,j] + where(keep[i,j], 0, -inf)"), before);
}

TEST(Spellings, of_a_mask_on_scores_or_on_weights_have_one_normal_form) {
  const auto form = [](const std::string& weight) {
    return renamed_normal_form(
        attention_of("s[i,j] = sum[d](q[i,d] * k[j,d])\n m[i] = max[j](where(keep[i,j], s[i,j], -inf))\n l[i] = sum[j](" + weight +
                     ")\n o[i,d] = sum[j](" + weight + " / l[i] * v[j,d])"));
  };
  EXPECT_EQ(form("where(keep[i,j], exp(s[i,j] - m[i]), 0)"), form("exp(where(keep[i,j], s[i,j], -inf) - m[i])"));
}

TEST(Spellings, of_base_two_by_a_decimal_literal_have_the_same_kind_of_plan) {
  const Analysis analysis = analyse(program_of("m = max[j](s[j]) o = sum[j](exp2((s[j] - m) * 1.4426950408889634) * v[j])"));
  const Fusion& fusion = *analysis.find(Symbol("o"));
  EXPECT_FALSE(fusion.refusal);
  EXPECT_EQ(fusion.kind, FusionKind::repaired);
  EXPECT_EQ(fusion.rank, 1);
}

TEST(Spellings, attention_has_the_documented_normal_form) {
  const std::string text =
      attention_of("s[i,j] = sum[d](q[i,d] * k[j,d]) / sqrt(D)\n p[i,j] = softmax[j](s[i,j])\n o[i,d] = sum[j](p[i,j] * v[j,d])");
  const math::Program opened = parse_opened(text);
  const NormalForm normal = normalise(opened, analyse(opened));
  std::string printed;
  for (const math::Statement& statement : normal.program.statements) printed += math::print(statement) + "\n";
  EXPECT_EQ(printed,
            "s.sum[i,j] = sum[d](q[i,d] * k[j,d])\n"
            "s[i,j] = s.sum[i,j] / sqrt(D)\n"
            "p.m[i] = max[j](s[i,j])\n"
            "p.e[i,j] = exp(s[i,j] - p.m[i])\n"
            "p.sum[i] = sum[j](p.e[i,j])\n"
            "o.sum[i,d] = sum[j](p.e[i,j] * v[j,d])\n"
            "o[i,d] = where(p.m[i] == -inf, 0, o.sum[i,d] / p.sum[i])\n");
  EXPECT_EQ(normal.node_map.at("o.sum"), std::vector<std::string>{"o"});
  const auto repair = repair_for(normal.program, analyse_normal_form(normal.program, analyse(opened)), Symbol("o.sum"));
  ASSERT_TRUE(repair);
  EXPECT_EQ(print(repair->carried.at(0).move), "o.sum * exp(p.m~ - p.m~')");
  EXPECT_EQ(repair->gauges.at(0).name, Symbol("p.m~"));
}

TEST(Spellings, normal_forms_are_their_own) {
  const math::Program opened = parse_opened(attention_of(by_hand));
  const math::Program once = normalise(opened, analyse(opened)).program;
  EXPECT_EQ(math::print(normalise(once, analyse(once)).program), math::print(once));
}

FusionKind kind_of(const std::string& body, const std::string& consumer, std::optional<Refusal>* refusal = nullptr) {
  const Analysis analysis = analyse(program_of(body));
  const Fusion* fusion = analysis.find(Symbol(consumer));
  EXPECT_NE(fusion, nullptr) << consumer;
  if (fusion == nullptr) return FusionKind::classic;
  if (refusal != nullptr) *refusal = fusion->refusal;
  return fusion->kind;
}

TEST(Conditions, a_scale_of_unknown_sign_outside_the_maximum_is_refused_by_range) {
  std::optional<Refusal> refusal;
  kind_of("m = max[j](s[j]) o = sum[j](exp(eps * (s[j] - m)))", "o", &refusal);
  ASSERT_TRUE(refusal);
  EXPECT_NE(refusal->reason.find("range"), std::string::npos) << refusal->reason;
  kind_of("m = max[j](s[j]) o = sum[j](exp(tau * (s[j] - m)))", "o", &refusal);
  EXPECT_FALSE(refusal);
}

TEST(Conditions, a_negative_scale_outside_the_maximum_is_refused) {
  std::optional<Refusal> refusal;
  kind_of("m = max[j](s[j]) o = sum[j](exp(-2 * (s[j] - m)))", "o", &refusal);
  EXPECT_TRUE(refusal);
}

TEST(Conditions, a_smaller_index_set_is_not_repaired) {
  std::optional<Refusal> refusal;
  kind_of("m = max[j](s[j]) o = sum[j in 0:T // 2](exp(s[j] - m))", "o", &refusal);
  ASSERT_TRUE(refusal);
  EXPECT_NE(refusal->reason.find("index set"), std::string::npos) << refusal->reason;
}

TEST(Conditions, a_partner_elsewhere_is_refused) {
  std::optional<Refusal> refusal;
  kind_of("m = max[j](s[j]) o = sum[j in 0:T](exp(s[T - 1 - j] - m))", "o", &refusal);
  EXPECT_TRUE(refusal);
}

TEST(Conditions, an_exponential_is_never_taken_apart) {
  for (const std::string body : {"m = max[j](s[j]) l = sum[j](exp(s[j] - m)) o = sum[j](exp(s[j] - m) / l * v[j])"}) {
    const Analysis analysis = analyse(program_of(body));
    for (const Fusion& fusion : analysis.fusions) {
      std::vector<Expr> terms;
      for (const math::Carried& carried : fusion.factored) terms.push_back(carried.term);
      if (fusion.repair)
        for (const math::Carried& carried : fusion.repair->carried) terms.push_back(carried.term);
      for (Expr term : terms) EXPECT_FALSE(contains(term, unary(Op::exp, read(Symbol("s"), {index(Symbol("j"))})))) << print(term);
    }
  }
}

TEST(Derivation, of_softmax_is_short_and_readable) {
  const Analysis analysis = analyse(program_of("p[j] = softmax[j](s[j]) o = sum[j](p[j] * v[j])"));
  const Fusion& fusion = *analysis.find(Symbol("o"));
  EXPECT_EQ(fusion.repair_text, "acc * exp(p.m - p.m')");
  EXPECT_EQ(fusion.delayed, "1 / p.sum");
  EXPECT_FALSE(fusion.derivation.empty());
  EXPECT_LE(fusion.derivation.size(), 8U);
  for (const DerivationLine& line : fusion.derivation) {
    EXPECT_NE(line.before, line.after) << line.rule;
    EXPECT_EQ(print(line.before).find('_'), std::string::npos);
    EXPECT_EQ(print(line.after).find("acc."), std::string::npos);
  }
}

TEST(Analysis, is_deterministic) {
  const std::string text = attention_of(by_hand);
  const auto dump = [&] {
    std::string all;
    for (const Fusion& fusion : analyse(parse_opened(text)).fusions) {
      all += fusion.consumer.text() + fusion.repair_text + fusion.delayed + fusion.guard;
      for (const DerivationLine& line : fusion.all_lines) all += line.rule + print(line.before) + print(line.after);
    }
    return all;
  };
  EXPECT_EQ(dump(), dump());
}

TEST(Analysis, of_attention_takes_few_steps) {
  std::size_t lines = 0;
  for (const Fusion& fusion : analyse(parse_opened(attention_of(by_hand))).fusions) lines += fusion.all_lines.size();
  EXPECT_GE(lines, 1U);
  EXPECT_LE(lines, 16U) << "rules applied; a search would apply hundreds";
}

TEST(Analysis, of_a_long_chain_ends) {
  std::string body = "y0[j] = s[j]\n";
  for (int i = 1; i < 600; ++i)
    body += "y" + std::to_string(i) + "[j] = y" + std::to_string(i - 1) + "[j] * y" + std::to_string(i - 1) + "[j] + t[j]\n";
  body += "m = max[j](y599[j])\n o = sum[j](exp(y599[j] - m))";
  const Analysis analysis = analyse(program_of(body));
  EXPECT_EQ(analysis.fusions.size(), 2U);
}

}  // namespace
}  // namespace fathom::algebra
