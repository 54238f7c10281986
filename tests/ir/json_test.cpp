#include "ir/json.hpp"

#include <gtest/gtest.h>

#include "programs.hpp"
#include "random_expr.hpp"

namespace fathom {
namespace {

using namespace fathom::testing;

TEST(Json, an_expression_comes_back_as_the_same_node) {
  testing::RandomExpr random(31);
  for (int count = 0; count < 2000; ++count) {
    const Expr e = random.any(4);
    const Result<Expr> back = expr_from_json(to_json(e));
    ASSERT_TRUE(back) << back.error().reason;
    ASSERT_EQ(*back, e) << print(e);
  }
}

TEST(Json, has_the_documented_form) {
  const Expr e = cast(DType::f16, at("x", {ix("i")}) / number(*Rational::make(1, 8)));
  EXPECT_EQ(to_json(e),
            R"({"op":"cast","dtype":"f16","args":[{"op":"div","args":[{"op":"read","name":"x","args":[{"op":"index","name":"i"}]},)"
            R"({"op":"number","num":1,"den":8}]}]})");
  const Expr sum = reduce(s("top"), s("at"), {{s("j"), number(0), dim(s("T"))}}, {ix("j")});
  EXPECT_EQ(to_json(sum), R"({"op":"reduce","name":"top","result":"at","over":[{"index":"j","lo":{"op":"number","num":0,"den":1},)"
                          R"("hi":{"op":"dim","name":"T"}}],"args":[{"op":"index","name":"j"}]})");
}

TEST(Json, a_math_program_comes_back_whole) {
  for (const math::Program& program : {softmax_times_v(), fused(), as_written()}) {
    const std::string text = to_json(program);
    const Result<math::Program> back = math_from_json(text);
    ASSERT_TRUE(back) << back.error().reason;
    EXPECT_EQ(to_json(*back), text);
    EXPECT_EQ(print(*back), print(program));
    EXPECT_TRUE(verify(*back)) << verify(*back).error().reason;
    for (std::size_t i = 0; i < program.statements.size(); ++i) {
      EXPECT_EQ(back->statements[i].origins, program.statements[i].origins);
      EXPECT_EQ(back->statements[i].axes, program.statements[i].axes);
      EXPECT_EQ(back->statements[i].dtype, program.statements[i].dtype);
      EXPECT_EQ(back->statements[i].map() != nullptr, program.statements[i].map() != nullptr);
    }
  }
}

TEST(Json, a_reducer_that_the_program_does_not_declare_is_written_in_full) {
  math::Program program = softmax_times_v();
  Reducer own = *builtin_reducer(s("sum"));
  own.state[0].dtype = DType::f64;  // the name of a built-in one, another value
  std::get<math::Reduction>(program.statements[2].value).reducer = std::make_shared<const Reducer>(own);
  const Result<math::Program> back = math_from_json(to_json(program));
  ASSERT_TRUE(back) << back.error().reason;
  EXPECT_EQ(*back->statements[2].reduction()->reducer, own);
}

loop::Program looped() {
  const auto node = [](loop::Node n) { return std::make_shared<const loop::Node>(std::move(n)); };
  const auto leaf = [&](const char* name) { return node(loop::Leaf{s(name)}); };
  loop::Loop inner{s("j"),
                   number(0),
                   dim(s("T")),
                   number(4),
                   loop::Mark::fold,
                   {{s("open"), number(0), number(3)}, {s("mixed"), number(3), number(4)}},
                   node(loop::Sequence{{leaf("p.m"), leaf("p.e"), leaf("y")}})};
  loop::Combine combine{s("j.split"), number(2), {s("p.m"), s("y")}};
  loop::Loop outer{s("i"), number(0), dim(s("R")), number(1), loop::Mark::parallel, {}, node(loop::Sequence{{node(inner), node(combine)}})};
  return {fused(), node(outer)};
}

TEST(Json, a_loop_program_comes_back_whole) {
  const std::string text = to_json(looped());
  const Result<loop::Program> back = loop_from_json(text);
  ASSERT_TRUE(back) << back.error().reason;
  EXPECT_EQ(to_json(*back), text);
  const auto& outer = std::get<loop::Loop>(*back->root);
  EXPECT_EQ(outer.mark, loop::Mark::parallel);
  const auto& items = std::get<loop::Sequence>(*outer.body).items;
  EXPECT_EQ(std::get<loop::Loop>(*items[0]).ranges[1].tag, s("mixed"));
  EXPECT_EQ(std::get<loop::Combine>(*items[1]).statements[1], s("y"));
}

/// Every kind of statement and declaration, every optional field set somewhere and unset somewhere.
kernel::Module everything() {
  using namespace kernel;
  const Access a{s("a"), {ix("r"), tuple({ix("n"), ix("y")})}};
  const Access slot{s("k"), {}};
  const Expr one = number(1);
  Block inner;
  const auto add = [&](auto op) { inner.push_back({std::move(op), std::nullopt, {}}); };
  add(Value{{a}, {one}, number(0), OperandLayout{s("qk"), OperandRole::acc}, {s("cg")}});
  add(Let{s("h"), one});
  add(Copy{s("t"), a, one, Expr(), {}});
  add(Mma{s("t"), s("qk"), a, true, slot, slot});
  add(Await{a, s("t"), false});
  add(Await{std::nullopt, s("t"), true});
  add(Atomic{s("n"), s("add"), a, one, true, false});
  add(Acquire{s("k"), slot});
  add(Receive{s("k"), slot});
  add(Publish{slot, {{s("t"), false}}});
  add(Release{slot, {{s("t"), true}}});
  add(Take{s("turn")});
  add(Pass{s("turn")});
  inner.back().at = At{1, 10};
  inner.back().origins = {{0, 1, 2}};
  Block body = {{For{s("i"), {{s("open"), number(0), number(3)}, {s("mixed"), number(3), number(4)}}, false, {{a, number(0)}}, inner},
                 std::nullopt,
                 {}},
                {For{s("t"), {}, true, {}, {}}, std::nullopt, {}},
                {When{boolean(true), inner}, std::nullopt, {}},
                {If{a, {{a, Expr()}}, inner}, std::nullopt, {}}};
  Kernel kernel;
  kernel.name = s("forward");
  kernel.when = boolean(true);
  kernel.after = s("before");
  kernel.early = true;
  kernel.work = {s("t"), number(0), number(8), WorkSource::persistent, number(4), s("next")};
  kernel.axes = {{s("r"), {{s("b"), number(8)}, {s("a"), number(6)}}}};
  kernel.atoms = {{s("qk"), s("fma_6x32_f32")}};
  kernel.lets = {{s("z"), one}};
  kernel.buffers = {{s("q"), s("all"), DType::bf16, {one}, s("cache"), {s("o")}}};
  kernel.channels = {{s("K"), s("all"), DType::f16, {one, one}, number(2), s("load"), s("all")}};
  kernel.turns = {{s("turn"), s("all")}};
  kernel.roles = {{s("all"), number(2), one, number(232), s("r"), s("sum"), body}};
  Module module;
  module.name = s("m");
  module.dims = softmax_times_v().dims;
  module.params = softmax_times_v().params;
  module.results = softmax_times_v().results;
  module.requires_ = {{boolean(true), s("fallback")}};
  module.lets = {{s("c"), number(2)}};
  module.workspaces = {{s("w"), DType::i32, {one}, true}};
  module.reducers = {top()};
  module.kernels = {kernel};
  return module;
}

TEST(Json, a_module_comes_back_whole) {
  const std::string text = to_json(everything());
  const Result<kernel::Module> back = module_from_json(text);
  ASSERT_TRUE(back) << back.error().reason;
  EXPECT_EQ(to_json(*back), text);
  EXPECT_EQ(kernel::print(*back), kernel::print(everything()));
  for (const char* kind :
       {"value", "let", "copy", "mma", "await", "atomic", "acquire", "receive", "publish", "release", "take", "pass", "for", "when", "if"})
    EXPECT_NE(text.find("\"kind\":\"" + std::string(kind) + "\""), std::string::npos) << kind;
}

TEST(Json, ir_says_its_level) {
  EXPECT_EQ(to_json(make_ir(softmax_times_v())).rfind(R"({"level":"math","ir":{"operator":"weigh")", 0), 0U);
  EXPECT_EQ(to_json(make_ir(Level::tile, everything())).rfind(R"({"level":"tile","ir":{"module":"m")", 0), 0U);
}

TEST(Json, every_fault_is_refused_with_its_place) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "not JSON"},
      {"{", "not JSON"},
      {"[1]", "an expression is an object"},
      {R"({"op":"frobnicate"})", "no operation named frobnicate"},
      {R"({"op":"add","args":[{"op":"infinity"}]})", "add does not take 1 operands"},
      {R"({"op":"add","args":[{"op":"infinity"},null]})", "an operand is missing"},
      {R"({"op":"neg","args":[{"op":"neg","args":[{"op":"x"}]}]})", "args[0].args[0]: there is no operation named x"},
      {R"({"op":"number","num":1,"den":0})", "1/0 is not a number"},
      {R"({"op":"number","num":99999999999999999999,"den":1})", "an integer is wanted"},
      {R"({"op":"number","value":"nan"})", "a finite number is wanted"},
      {R"({"op":"index"})", "the field name is missing"},
      {R"({"op":"cast","dtype":"f33","args":[{"op":"infinity"}]})", "no element type"},
      {R"({"op":"reduce","name":"sum","args":[]})", "a list is wanted"},
  };
  for (const auto& [text, says] : cases) {
    const Result<Expr> read = expr_from_json(text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().reason.find(says), std::string::npos) << read.error().reason;
  }
  EXPECT_FALSE(math_from_json("{}"));
  EXPECT_FALSE(loop_from_json(to_json(softmax_times_v())));
  EXPECT_FALSE(module_from_json("null"));
}

TEST(Json, no_cut_and_no_changed_byte_of_a_program_crashes_the_reader) {
  const std::string text = to_json(as_written());
  for (std::size_t cut = 0; cut < text.size(); cut += 37) EXPECT_FALSE(math_from_json(text.substr(0, cut)));
  testing::RandomExpr random(32);
  for (int count = 0; count < 300; ++count) {
    std::string changed = text;
    changed[static_cast<std::size_t>(random.pick(static_cast<int>(text.size())))] = "\"{}[]0x,:\xFF"[random.pick(10)];
    const Result<math::Program> read = math_from_json(changed);
    if (read) {
      EXPECT_FALSE(print(*read).empty());
      (void)verify(*read);
    }
  }
}

TEST(Json, nesting_is_bounded_in_both_directions) {
  std::string deep;
  for (int level = 0; level < 100000; ++level) deep += R"({"op":"neg","args":[)";
  EXPECT_FALSE(expr_from_json(deep));
  std::string closed = deep + R"({"op":"infinity"})";
  for (int level = 0; level < 100000; ++level) closed += "]}";
  EXPECT_NE(expr_from_json(closed).error().reason.find("nesting"), std::string::npos);
  Expr tall = ix("i");
  for (int level = 0; level < 499; ++level) tall = -tall;
  EXPECT_EQ(*expr_from_json(to_json(tall)), tall);
  EXPECT_EQ(to_json(-tall).rfind(R"({"op":"text")", 0), 0U);
}

}  // namespace
}  // namespace fathom
