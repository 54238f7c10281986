// No pattern matching by spelling: what people may write for one operator gives one plan, down to the Kernel text; what only looks alike
// is not fused wrongly.
#include <algorithm>

#include "session_test.hpp"

namespace fathom::session_tests {
namespace {

const std::string scores = "s[i,j] = sum[d](q[i,d] * k[j,d]) / sqrt(D)\n";
const std::string by_hand =
    "m[i] = max[j](s[i,j])\n l[i] = sum[j](exp(s[i,j] - m[i]))\n o[i,d] = sum[j](exp(s[i,j] - m[i]) / l[i] * v[j,d])";

struct Spelling {
  std::string what, text;
  std::set<std::string> unused;  ///< consumers that only this text has; "all": it derives less itself, only the plans are one
};

/// The same `explain`, Loop text and Kernel text; on x86-64 and on blackboard, where every loop takes several trips.
void expect_one_plan(const std::string& text, const std::vector<Spelling>& others) {
  for (const std::string target : {"x86-64", "blackboard"}) {
    const Compiled first = compiled(text, {}, {}, target);
    ASSERT_TRUE(first);
    for (const Spelling& other : others) {
      SCOPED_TRACE(other.what + " on " + target);
      const Compiled second = compiled(other.text, {}, {}, target);
      ASSERT_TRUE(second);
      if (other.unused.count("all") == 0) {
        EXPECT_EQ(explained(*second, other.unused), explained(*first));
      }
      EXPECT_EQ(loop_plan(*second), loop_plan(*first));
      EXPECT_EQ(kernel_plan(*second), kernel_plan(*first));
    }
  }
}

TEST(Spellings, of_attention_give_one_plan) {
  expect_one_plan(
      attention_of(scores + by_hand),
      {{"other names and other indices",
        attention_of("score[a,b] = sum[c](q[a,c] * k[b,c]) / sqrt(D)\n top[a] = max[b](score[a,b])\n den[e] = sum[g](exp(score[e,g] - "
                     "top[e]))\n o[x,y] = sum[f](exp(score[x,f] - top[x]) / den[x] * v[f,y])"),
        {}},
       {"factors the other way round",
        attention_of("s[i,j] = sum[d](k[j,d] * q[i,d]) / sqrt(D)\n m[i] = max[j](s[i,j])\n l[i] = sum[j](exp(-m[i] + s[i,j]))\n o[i,d] = "
                     "sum[j](v[j,d] * exp(s[i,j] - m[i]) / l[i])"),
        {}},
       {"by the inverse",
        attention_of(scores + "m[i] = max[j](s[i,j])\n l[i] = sum[j](exp(s[i,j] - m[i]))\n r[i] = 1 / l[i]\n o[i,d] = sum[j](v[j,d] * "
                              "(exp(s[i,j] - m[i]) * r[i]))"),
        {}},
       {"a quotient of exponentials",
        attention_of(scores + "m[i] = max[j](s[i,j])\n l[i] = sum[j](exp(s[i,j]) / exp(m[i]))\n o[i,d] = sum[j](exp(s[i,j]) / exp(m[i]) / "
                              "l[i] * v[j,d])"),
        {}},
       {"base two",
        attention_of(scores + "m[i] = max[j](s[i,j])\n e[i,j] = exp2((s[i,j] - m[i]) * log2(exp(1)))\n l[i] = sum[j](e[i,j])\n o[i,d] = "
                              "sum[j](e[i,j] / l[i] * v[j,d])"),
        {}},
       {"scale on q", attention_of("z[i,d] = q[i,d] / sqrt(D)\n s[i,j] = sum[d](z[i,d] * k[j,d])\n" + by_hand), {}},
       {"scale on k", attention_of("s[i,j] = sum[d](q[i,d] * (k[j,d] * (1 / sqrt(D))))\n" + by_hand), {}},
       {"scale by a power", attention_of("s[i,j] = sum[d](q[i,d] * k[j,d]) * D ^ -0.5\n" + by_hand), {}},
       {"divided at the end",
        attention_of(scores + "m[i] = max[j](s[i,j])\n l[i] = sum[j](exp(s[i,j] - m[i]))\n a[i,d] = sum[j](exp(s[i,j] - m[i]) * v[j,d])\n "
                              "o[i,d] = a[i,d] / l[i]"),
        {"all"}},
       {"unused statements",
        attention_of("junk[j] = sum[d](v[j,d] * k[j,d])\n" + scores + "more[i] = sum[j](exp(-s[i,j]))\n" + by_hand +
                     "\n last[i] = more[i] + 1"),
        {"junk", "more"}}});
}

TEST(Spellings, of_statements_in_another_order_give_one_plan) {
  const auto two = [](bool swapped) {
    const std::string row = "a[i] = sum[d](q[i,d] ^ 2)\n", column = "b[j] = sum[d](k[j,d] ^ 2)\n";
    return attention_of((swapped ? column + row : row + column) + "s[i,j] = sum[d](q[i,d] * k[j,d]) - a[i] - b[j]\n" + by_hand);
  };
  for (const std::string target : {"x86-64", "blackboard"}) {
    const Compiled first = compiled(two(false), {}, {}, target), second = compiled(two(true), {}, {}, target);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(loop_plan(*second), loop_plan(*first));
    EXPECT_EQ(kernel_plan(*second), kernel_plan(*first));
  }
}

TEST(Spellings, of_parameters_do_not_matter) {
  const std::map<std::string, std::string> names = {{"q", "zz"}, {"k", "aa"}, {"v", "kk"}};
  const std::string text = attention_of(scores + by_hand);
  for (const std::string target : {"x86-64", "blackboard"}) {
    const Compiled first = compiled(text, {}, {}, target), second = compiled(renamed(text, names), {}, {}, target);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(explained(*second), explained(*first));
    EXPECT_EQ(loop_plan(*second), renamed(loop_plan(*first), names));
    EXPECT_EQ(kernel_plan(*second), renamed(kernel_plan(*first), names));
  }
}

TEST(Spellings, of_the_scale_before_or_after_the_mask_give_one_plan) {
  const auto masked = [](const std::string& text) {
    return attention_of(
        text + "\n m[i] = max[j](c[i,j])\n l[i] = sum[j](exp(c[i,j] - m[i]))\n o[i,d] = sum[j](exp(c[i,j] - m[i]) / l[i] * v[j,d])");
  };
  expect_one_plan(masked("s[i,j] = sum[d](q[i,d] * k[j,d]) / 4\n c[i,j] = where(keep[i,j], s[i,j], -inf)"),
                  {{"after", masked("s[i,j] = sum[d](q[i,d] * k[j,d])\n c[i,j] = 0.25 * where(keep[i,j], s[i,j], -inf)"), {}},
                   {"added", masked("s[i,j] = sum[d](q[i,d] * k[j,d]) * 0.25\n c[i,j] = s[i,j] + where(keep[i,j], 0, -inf)"), {}},
                   {"on q, the mask turned round",
                    masked("z[i,d] = q[i,d] * 0.25\n s[i,j] = sum[d](z[i,d] * k[j,d])\n c[i,j] = where(not keep[i,j], -inf, s[i,j])"),
                    {}}});
}

/// Lines that one text has and the other has not, both ways.
std::pair<std::vector<std::string>, std::vector<std::string>> differences(const std::string& a, const std::string& b) {
  const auto lines = [](const std::string& text) {
    std::multiset<std::string> all;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      all.insert(text.substr(at, end - at));
      at = end + 1;
    }
    return all;
  };
  const std::multiset<std::string> of_a = lines(a), of_b = lines(b);
  std::pair<std::vector<std::string>, std::vector<std::string>> out;
  std::set_difference(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), std::back_inserter(out.first));
  std::set_difference(of_b.begin(), of_b.end(), of_a.begin(), of_a.end(), std::back_inserter(out.second));
  return out;
}

/// The prelude's names as the text by hand has them.
std::string in_names_by_hand(std::string text) {
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{{"p.sum", "l"}, {"p.m", "m"}, {"p.e", "l.term"}})
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
  return text;
}

std::string trimmed(std::string text) {
  text.erase(0, text.find_first_not_of(' '));
  return text;
}

/// `guarded` is `plain` but for one select around the value of one line: where(…, 0, value).
void expect_one_select(const std::string& guarded, const std::string& plain) {
  const auto [more, less] = differences(guarded, plain);
  ASSERT_EQ(more.size(), 1U) << guarded << plain;
  ASSERT_EQ(less.size(), 1U) << guarded << plain;
  const std::string with = trimmed(more[0]), without = trimmed(less[0]);
  const std::size_t equals = without.find(" = ");
  ASSERT_NE(equals, std::string::npos);
  const std::string start = without.substr(0, equals) + " = where(", end = ", 0, " + without.substr(equals + 3) + ")";
  EXPECT_EQ(with.substr(0, start.size()), start);
  EXPECT_EQ(with.substr(with.size() - end.size()), end);
}

TEST(Spellings, of_a_guard_differ_by_one_select_in_the_epilogue) {
  const std::string prelude = attention_of(scores + "p[i,j] = softmax[j](s[i,j])\n o[i,d] = sum[j](p[i,j] * v[j,d])");
  for (const std::string target : {"x86-64", "blackboard"}) {
    const Compiled guarded = compiled(prelude, {}, {}, target), plain = compiled(attention_of(scores + by_hand), {}, {}, target);
    ASSERT_TRUE(guarded && plain);
    expect_one_select(in_names_by_hand(print(*last(*guarded, Level::loop))), print(*last(*plain, Level::loop)));
    expect_one_select(in_names_by_hand(print(guarded->final_ir())), print(plain->final_ir()));
  }
  expect_one_plan(prelude, {{"the guard by hand",
                             attention_of(scores + "m[i] = max[j](s[i,j])\n e[i,j] = exp(s[i,j] - m[i])\n l[i] = sum[j](e[i,j])\n o[i,d] = "
                                                   "sum[j](where(m[i] == -inf, 0, e[i,j] / l[i]) * v[j,d])"),
                             {}}});
}

TEST(Spellings, of_base_two_by_a_literal_have_the_same_kind_of_plan_within_the_bound) {
  const Compiled plain = compiled(attention_of(scores + by_hand), {}, {}, "blackboard");
  const Compiled literal =
      compiled(attention_of(scores + "m[i] = max[j](s[i,j])\n l[i] = sum[j](exp2((s[i,j] - m[i]) * 1.4426950408889634))\n o[i,d] = "
                                     "sum[j](exp2((s[i,j] - m[i]) * 1.4426950408889634) / l[i] * v[j,d])"),
               {}, {}, "blackboard");
  ASSERT_TRUE(plain && literal);
  ASSERT_EQ(literal->record.fusions.size(), plain->record.fusions.size());
  for (std::size_t i = 0; i < plain->record.fusions.size(); ++i) {
    const Fusion &a = plain->record.fusions[i], &b = literal->record.fusions[i];
    EXPECT_FALSE(b.refusal);
    EXPECT_EQ(a.kind, b.kind);
    EXPECT_EQ(a.rank, b.rank);
    EXPECT_EQ(a.folds, b.folds);
    EXPECT_EQ(a.pass, b.pass);
  }
  expect_right_on(*literal, {"gaussian", "ascending", "large", "infinite-prefix", "masked-tile"});
}

/// Loops over an index that carry or run a reduction, in the last Loop program: how often its elements are passed.
std::size_t passes_over(const session::Compilation& c, const std::string& index) {
  const std::string text = print(*last(c, Level::loop));
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(" " + index + " in ", at)) != std::string::npos; ++at) ++count;
  return count;
}

bool is_refused(const session::Compilation& c, const std::string& consumer) {
  const Fusion* fusion = fusion_of(c, consumer);
  return fusion != nullptr && fusion->refusal.has_value();
}

const std::vector<std::string> families = {"gaussian", "ascending", "descending", "one-hot", "large"};

TEST(NotFusedWrongly, attention_itself_is_one_loop) {
  const Compiled c = compiled(attention_of(scores + by_hand), {}, {}, "blackboard");
  ASSERT_TRUE(c);
  EXPECT_EQ(passes_over(*c, "j"), 1U);
}

TEST(NotFusedWrongly, a_softmax_over_another_axis) {
  const Compiled c =
      compiled(attention_of(scores + "p[i,j] = softmax[i](s[i,j])\n o[i,d] = sum[j](p[i,j] * v[j,d])"), {}, {}, "blackboard");
  ASSERT_TRUE(c);
  const Fusion* o = fusion_of(*c, "o");
  ASSERT_NE(o, nullptr);
  EXPECT_FALSE(o->repair) << "nothing over j to wait for";
  expect_right_on(*c, families);
}

TEST(NotFusedWrongly, a_consumer_over_half_of_the_range) {
  const Compiled c = compiled(attention_of(scores + "m[i] = max[j](s[i,j])\n o[i,d] = sum[j in 0:T // 2](exp(s[i,j] - m[i]) * v[j,d])"), {},
                              {}, "blackboard");
  ASSERT_TRUE(c);
  expect_right_on(*c, families);
}

TEST(NotFusedWrongly, a_partner_read_from_the_other_end) {
  const Compiled c = compiled(attention_of(scores + "m[i] = max[j](s[i,j])\n o[i,d] = sum[j in 0:T](exp(s[i, T - 1 - j] - m[i]) * v[j,d])"),
                              {}, {}, "blackboard");
  ASSERT_TRUE(c);
  EXPECT_TRUE(is_refused(*c, "o"));
  expect_right_on(*c, families);
}

TEST(NotFusedWrongly, a_scale_given_at_run_time) {
  const std::string text = attention_of(
      "s[i,j] = sum[d](q[i,d] * k[j,d])\n m[i] = max[j](s[i,j])\n l[i] = sum[j](exp((s[i,j] - m[i]) * tau))\n o[i,d] = "
      "sum[j](exp((s[i,j] - m[i]) * tau) / l[i] * v[j,d])",
      ", tau: f32");
  const std::string inside = attention_of("s[i,j] = sum[d](q[i,d] * k[j,d]) * tau\n" + by_hand, ", tau: f32");
  const Compiled outer = compiled(text, {}, {}, "blackboard"), inner = compiled(inside, {}, {}, "blackboard");
  ASSERT_TRUE(outer && inner);
  EXPECT_TRUE(is_refused(*outer, "l")) << "for a negative tau the largest exponent is at the smallest score";
  EXPECT_FALSE(is_refused(*inner, "l")) << "the maximum is that of the scaled scores, whatever the sign";
  for (const double tau : {-1.5, 0.0, 0.25}) {
    for (const Compiled& c : {outer, inner}) {
      const DimValues dims = math::default_dims(c->program);
      interp::Arrays inputs = interp::make_inputs(c->program, dims, "gaussian", 3);
      inputs.at(Symbol("tau")).data = {tau};
      expect_right(*c, inputs, dims, false, "tau = " + std::to_string(tau));
    }
  }
  const Compiled positive = compiled(attention_of("s[i,j] = sum[d](q[i,d] * k[j,d])\n m[i] = max[j](s[i,j])\n l[i] = sum[j](exp((s[i,j] - "
                                                  "m[i]) * tau))\n o[i,d] = sum[j](exp((s[i,j] - m[i]) * tau) / l[i] * v[j,d])",
                                                  ", tau: f32", "where tau > 0"),
                                     {}, {}, "blackboard");
  ASSERT_TRUE(positive);
  EXPECT_FALSE(is_refused(*positive, "l")) << "the condition says that tau > 0";
}

TEST(NotFusedWrongly, a_producer_read_elsewhere_in_the_loop) {
  const std::string square = "dim S = 20\noperator a(s: f32[S,S], v: f32[S]) -> (o: f32[S])\n{\n m[i] = max[j](s[i,j])\n";
  for (const std::string body :
       {"o[i] = sum[j](exp(s[i,j] - m[i]) * m[j] * v[j])\n}\n", "o[i] = sum[j](exp(min(s[i,j] - m[j], 0)) * v[j])\n}\n",
        "o[i] = sum[j](exp(min(s[i,j] - m[S - 1 - i], 0)) * v[j])\n}\n"}) {
    SCOPED_TRACE(body);
    const Compiled c = compiled(square + body, {}, {}, "blackboard");
    ASSERT_TRUE(c);
    EXPECT_GT(last(*c, Level::tile)->module().kernels.size(), 1U) << "m of every row must be complete first:\n" << loop_plan(*c);
    expect_right_on(*c, families);
  }
}

TEST(NaiveSoftmax, never_computes_an_exponential_of_a_score_alone) {
  const std::string naive = "e[i,j] = exp(s[i,j])\n l[i] = sum[j](e[i,j])\n";
  const Compiled shifted = compiled(attention_of(scores + by_hand));
  ASSERT_TRUE(shifted);
  for (const Step& step : shifted->record.steps) {
    const std::string text = print(step.after);
    for (const std::string score : {"exp(s[i,j])", "exp2(s[i,j])", "exp(s.sum[i,j] / sqrt(D))"})
      EXPECT_EQ(text.find(score), std::string::npos) << step.id << " takes exp(s - m) apart:\n" << text;
  }
}

TEST(NaiveSoftmax, the_refusal_of_an_unbounded_factor_is_visible) {
  const std::string text = attention_of(scores +
                                        "m[i] = max[j](s[i,j])\n l[i] = sum[j](exp(m[i] - s[i,j]))\n o[i,d] = sum[j](exp(m[i] - s[i,j]) / "
                                        "l[i] * v[j,d])");
  const Compiled c = compiled(text);
  ASSERT_TRUE(c);
  const Json document = Json::parse(session::explain_json(*c));
  bool seen = false;
  for (const Json& refusal : document.at("refusals"))
    seen = seen || (refusal.at("consumer") == "l" && refusal.at("reason").get<std::string>().find("range") != std::string::npos);
  EXPECT_TRUE(seen) << document.dump(1);
}

}  // namespace
}  // namespace fathom::session_tests
