// Formulas: boxes that nest, baselines that agree, glyphs that exist, and what is copied and said of them.
#include "widgets/maths.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <set>
#include <sstream>

#include "fonts.hpp"
#include "mirror.hpp"
#include "panels/derivation.hpp"
#include "session/session.hpp"
#include "theme.hpp"
#include "widgets/maths_boxes.hpp"
#include "widgets/maths_grammar.hpp"

namespace fathom::ui::widgets {
namespace {

constexpr float em = 16;

/// A context with the faces and no renderer.
class Maths : public testing::TestWithParam<float> {
 protected:
  void SetUp() override {
    ImGui::CreateContext();
    ImGui::GetIO().IniFilename = nullptr;
    ImGui::GetIO().DisplaySize = {800, 600};
    build_fonts(*ImGui::GetIO().Fonts, 1);
    apply_theme(Theme::dark, 1);
  }
  void TearDown() override { ImGui::DestroyContext(); }
};

Expr idx(const char* name) { return index(Symbol(name)); }
Expr sym(const char* name) { return symbol(Symbol(name)); }
Expr tensor(const char* name, std::vector<Expr> subscripts) { return read(Symbol(name), std::move(subscripts)); }
Expr over(const char* reducer, const char* bound, Expr value) { return reduce(Symbol(reducer), {}, {{Symbol(bound), {}, {}}}, {value}); }
Expr exp_of(Expr e) { return make(Op::exp, {e}); }
Expr root_of(Expr e) { return make(Op::sqrt, {e}); }

Expr masked_score() {
  const Expr mask = binary(Op::le, idx("j"), idx("i") + (dim("T"_sym) - dim("S"_sym)));
  return where(mask, tensor("s.sum", {idx("b"), idx("i"), idx("j")}) / root_of(dim("D"_sym)), -infinity());
}

std::vector<Expr> fixtures() {
  const Expr x = tensor("x", {idx("i"), idx("j")}), one = number(1);
  Expr continued = sym("a"), product = sym("a");
  for (int i = 0; i < 8; ++i) {
    continued = one + one / continued;
    product = product * tensor("w", {idx("i"), number(i)}) * sym("factor");
  }
  return {
      exp_of(over("sum", "j", x / sym("l"))),
      exp_of(masked_score() - sym("p.m")),
      over("sum", "j", exp_of(masked_score() - tensor("p.m", {idx("i")})) * tensor("v", {idx("j"), idx("d")})),
      where(binary(Op::lt, idx("i"), idx("j")), where(binary(Op::ne, idx("i"), number(0)), continued, x), masked_score()),
      root_of(one + root_of(one + root_of(one + x / sym("n")))),
      make(Op::rsqrt, {over("sum", "j", binary(Op::pow, x, number(2))) / sym("n") + sym("eps")}),
      product,
      make(Op::log, {continued}),
      make(Op::abs, {continued}) + make(Op::floor, {continued}),
      tensor("k", {idx("b"), binary(Op::floordiv, idx("h"), binary(Op::floordiv, dim("H"_sym), dim("Hk"_sym))), idx("j"),
                   tuple({idx("n"), idx("e")})}),
      binary(Op::pow, continued, tensor("p.m~'", {idx("i")})) * exp_of(sym("p.m~") - sym("p.m~'")),
      over("max", "j", make(Op::max, {x, -x})) - over("prod", "k", sym("a") + sym("b_0")),
      unary(Op::logical_not, binary(Op::logical_or, binary(Op::eq, binary(Op::mod, idx("i"), number(8)), number(0)),
                                    binary(Op::logical_and, binary(Op::ge, idx("i"), number(-3)), boolean(true)))),
      call("softmax"_sym, {"j"_sym}, {x}) + cast(DType::f16, x) + make(Op::exp2, {x}) + inexact_number(1e-39),
  };
}

using Visit = std::function<void(const MathsBox&)>;
void walk(const MathsBox& box, const Visit& visit) {
  visit(box);
  for (const MathsBox& part : box.parts) walk(part, visit);
}

void expect_nested(const MathsBox& box, const std::string& formula) {
  constexpr float slack = 0.5F;
  walk(box, [&](const MathsBox& outer) {
    for (const MathsBox& part : outer.parts) {
      EXPECT_GE(part.x, -slack) << formula;
      EXPECT_LE(part.x + part.width, outer.width + slack) << formula;
      EXPECT_LE(part.ascent - part.y, outer.ascent + slack) << formula;
      EXPECT_LE(part.descent + part.y, outer.descent + slack) << formula;
    }
  });
}

TEST_P(Maths, EveryPartLiesInsideItsParent) {
  for (const Expr e : fixtures()) {
    const MathsBox box = lay_out(e, GetParam());
    EXPECT_GT(box.width, 0);
    expect_nested(box, print(e));
  }
}

TEST_P(Maths, WhatIsDrawnLiesInsideItsBox) {
  const float slack = GetParam() / 8;  // pictures are rounded outwards, and italic letters lean
  for (const Expr e : fixtures())
    walk(lay_out(e, GetParam()), [&](const MathsBox& box) {
      if (!box.glyphs) return;
      for (const auto& bar : box.glyphs->bars) {
        EXPECT_GE(bar.x, -slack) << print(e);
        EXPECT_LE(bar.x + bar.width, box.width + slack) << print(e);
        EXPECT_GE(bar.y, -box.ascent - slack) << print(e);
        EXPECT_LE(bar.y + bar.height, box.descent + slack) << print(e);
      }
      for (const auto& stroke : box.glyphs->strokes)
        for (const ImVec2 end : {stroke.from, stroke.to}) {
          EXPECT_GE(end.x, -slack) << print(e);
          EXPECT_GE(end.y, -box.ascent - slack) << print(e);
          EXPECT_LE(end.y, box.descent + slack) << print(e);
        }
      for (const auto& glyph : box.glyphs->letters)
        if (glyph.stretched_to > 0) {
          EXPECT_GE(glyph.y, -box.ascent - slack) << print(e);
          EXPECT_LE(glyph.y + glyph.stretched_to, box.descent + slack) << print(e);
        }
    });
}

TEST_P(Maths, EveryCodePointHasAGlyphInItsFace) {
  int letters = 0;
  for (const Expr e : fixtures())
    walk(lay_out(e, GetParam()), [&](const MathsBox& box) {
      if (!box.glyphs) return;
      for (const auto& glyph : box.glyphs->letters) {
        ++letters;
        EXPECT_NE(maths_font(glyph.face)->FindGlyphNoFallback(glyph.code), nullptr) << std::hex << glyph.code << " in " << print(e);
        EXPECT_NE(glyph.code, '?') << print(e);
      }
    });
  EXPECT_GT(letters, 200);
}

TEST_P(Maths, PartsOfARowShareTheBaseline) {
  // Rows are what an infix, a prefix, a sum and a call are set as: nothing of them is raised or lowered.
  const auto is_row = [](Expr e) {
    const bool is_line = kind(e.op()) == OpKind::infix && grammar::strength(e) < grammar::tight;
    return is_line || e.is(Op::neg) || e.is(Op::logical_not) || e.is(Op::reduce) || e.is(Op::call);
  };
  int rows = 0;
  for (const Expr e : fixtures())
    walk(lay_out(e, GetParam()), [&](const MathsBox& box) {
      if (!box.node || !is_row(box.node)) return;
      ++rows;
      EXPECT_GE(box.parts.size(), 2U) << print(box.node);
      for (const MathsBox& part : box.parts) EXPECT_NEAR(part.y, 0, 1) << print(box.node);
    });
  const auto has_scripts = [](Expr e) { return e.is(Op::pow) || e.is(Op::exp2) || (e.is(Op::read) && !e.args().empty()); };
  for (const Expr e : fixtures())
    walk(lay_out(e, GetParam()), [&](const MathsBox& box) {
      const bool is_seen = box.node && has_scripts(box.node) && !box.parts.empty();
      EXPECT_EQ(is_seen ? box.parts[0].y : 0, 0) << print(e);
    });
  EXPECT_GT(rows, 40);
}

TEST_P(Maths, EveryExpressionThatIsSeenHasABox) {
  for (const Expr e : fixtures()) {
    std::set<Expr> seen;
    walk(lay_out(e, GetParam()), [&](const MathsBox& box) {
      if (box.node) seen.insert(box.node);
    });
    std::function<void(Expr)> expect_seen = [&](Expr part) {
      EXPECT_EQ(seen.count(part), 1U) << print(part) << " in " << print(e);
      if (part.is(Op::reduce)) {
        for (const Expr value : values_of(part)) expect_seen(value);
      } else {
        for (const Expr arg : part.args()) expect_seen(arg);
      }
    };
    expect_seen(e);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Maths, testing::Values(12.0F, em, 24.0F, 40.0F));

TEST_F(Maths, ScriptsAreSmallerByTexsRatios) {
  const MathsBox box = lay_out(exp_of(tensor("s", {idx("i")})), em);
  std::vector<float> sizes;
  walk(box, [&](const MathsBox& each) {
    if (each.glyphs)
      for (const auto& glyph : each.glyphs->letters) sizes.push_back(glyph.em);
  });
  ASSERT_EQ(sizes.size(), 3U);
  EXPECT_FLOAT_EQ(sizes[0], em);
  EXPECT_FLOAT_EQ(sizes[1], 0.7F * em);
  EXPECT_FLOAT_EQ(sizes[2], 0.5F * em);
}

TEST_F(Maths, NamesOfSeveralLettersStandAndOneLetterLeans) {
  const auto faces = [&](Expr e) {
    std::vector<MathsFace> out;
    walk(lay_out(e, em), [&](const MathsBox& box) {
      if (box.glyphs)
        for (const auto& glyph : box.glyphs->letters) out.push_back(glyph.face);
    });
    return out;
  };
  EXPECT_EQ(faces(sym("m")), std::vector{MathsFace::italic});
  EXPECT_EQ(faces(sym("acc")), std::vector(3, MathsFace::upright));
  EXPECT_EQ(faces(sym("p.m")), (std::vector{MathsFace::italic, MathsFace::upright, MathsFace::italic}));
  EXPECT_EQ(faces(number(7)), std::vector{MathsFace::upright});
}

TEST_F(Maths, SpacesFollowTheClasses) {
  const Expr a = sym("a"), b = sym("b");
  const auto gap_before_sign = [&](Expr e) {
    const MathsBox box = lay_out(e, 100);
    return box.parts[1].x - box.parts[0].x - box.parts[0].width;
  };
  EXPECT_NEAR(gap_before_sign(a + b), 100 * 4 / 18.0, 2);
  EXPECT_NEAR(gap_before_sign(binary(Op::lt, a, b)), 100 * 5 / 18.0, 2);
  const MathsBox negative = lay_out(-b, 100);
  EXPECT_NEAR(negative.parts[1].x, negative.parts[0].width, 1);
}

TEST_F(Maths, FencesGrowWithWhatTheyHold) {
  Expr high = sym("a");
  float before = 0;
  for (int i = 0; i < 6; ++i) {
    const MathsBox box = lay_out(make(Op::floor, {high}), em);
    const MathsBox& inner = box.parts[1];
    EXPECT_GE(box.ascent + box.descent, 0.9F * (inner.ascent + inner.descent));
    EXPECT_GE(box.ascent + box.descent, before);
    before = box.ascent + box.descent;
    high = where(binary(Op::lt, idx("i"), number(i)), high, sym("b"));
  }
  EXPECT_GT(before, 6 * em);  // built of pieces by then
}

TEST_F(Maths, TheBarOfAFractionStandsOnTheAxis) {
  const MathsBox box = lay_out(sym("a") / sym("b"), 100);
  ASSERT_EQ(box.glyphs->bars.size(), 1U);
  const auto& bar = box.glyphs->bars[0];
  EXPECT_NEAR(bar.y + bar.height / 2, -25, 0.5);
  EXPECT_LT(box.parts[0].y + box.parts[0].descent, bar.y);
  EXPECT_GT(box.parts[1].y - box.parts[1].ascent, bar.y + bar.height);
}

TEST_F(Maths, ADeepExponentIsWrittenAsAFunction) {
  EXPECT_EQ(latex(exp_of(sym("s") - sym("m"))), "\\mathrm{e}^{s - m}");
  EXPECT_EQ(latex(exp_of(masked_score())).rfind("\\exp\\left(", 0), 0U);
}

TEST_F(Maths, RelationsBreakWhereTheyAreTooWide) {
  const Expr left = over("sum", "j", tensor("x", {idx("j")})), right = sym("a") * exp_of(sym("s") - sym("m"));
  const MathsBox line = lay_out_relation(left, "=", right, em, 1000), broken = lay_out_relation(left, "=", right, em, line.width - 1);
  EXPECT_LT(broken.width, line.width);
  EXPECT_GT(broken.ascent + broken.descent, line.ascent + line.descent);
  expect_nested(line, "line");
  expect_nested(broken, "broken");
  EXPECT_EQ(line.said, "sum over j of x sub j equals a times e to the s minus m");
  const MathsBox further = lay_out_relation({}, "≤", number(1), em, 1000);
  EXPECT_EQ(further.said, "is at most 1");
  ASSERT_EQ(broken.parts.size(), 2U);
  EXPECT_EQ(further.parts[0].x, broken.parts[1].x);
}

TEST_F(Maths, ThePointFindsTheInnermostExpression) {
  const Expr s = tensor("s", {idx("i")}), e = s / sym("l");
  const MathsBox box = lay_out(e, em);
  const MathsBox& above = box.parts[0];
  const MathsBox& subscript = above.parts[1].parts[0];
  const ImVec2 at{above.x + above.parts[1].x + subscript.x + subscript.width / 2,
                  above.y + above.parts[1].y + subscript.y - subscript.ascent / 2};
  ASSERT_NE(box_at(box, at), nullptr);
  EXPECT_EQ(box_at(box, at)->node, idx("i"));
  EXPECT_EQ(box_at(box, {above.x + 2, above.y - 2})->node, s);
  EXPECT_EQ(box_at(box, {box.width / 2, -em / 4})->node, e);
  EXPECT_EQ(box_at(box, {-5, 0}), nullptr);
}

TEST_F(Maths, DrawingMirrorsTheWordsAndFindsTheNodeUnderTheMouse) {
  const Expr e = sym("a") + sym("b");
  const MathsBox box = lay_out(e, em);
  Expr under;
  std::vector<Expr> inked;
  MathsOptions options;
  options.ink = [](Expr node, void* context) -> std::optional<ImU32> {
    static_cast<std::vector<Expr>*>(context)->push_back(node);
    return std::nullopt;
  };
  options.context = &inked;
  for (int frame = 0; frame < 3; ++frame) {
    ImGui::GetIO().AddMousePosEvent(102, 100 + box.ascent - 2);
    ImGui::NewFrame();
    mirror().begin_frame();
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize({400, 400});
    ImGui::Begin("formulas", nullptr, ImGuiWindowFlags_NoDecoration);
    ImGui::SetCursorScreenPos({100, 100});
    under = maths("law", box, options);
    EXPECT_GT(ImGui::GetWindowDrawList()->VtxBuffer.Size, 0);
    ImGui::End();
    mirror().end_frame();
    ImGui::EndFrame();
  }
  const MirrorItem* item = mirror().find("law");
  ASSERT_NE(item, nullptr);
  EXPECT_EQ(item->kind, "formula");
  EXPECT_EQ(item->text, "a plus b");
  EXPECT_GE(item->max.x - item->min.x, box.width);
  EXPECT_EQ(under, sym("a"));
  ASSERT_EQ(inked.size(), 6U);
  EXPECT_EQ(inked[0], sym("a"));
  EXPECT_EQ(inked[1], sym("b"));
}

// ---- text: by hand ----

struct Written {
  Expr e;
  const char* latex;
  const char* spoken;
};

std::vector<Written> written() {
  const Expr a = sym("a"), b = sym("b"), c = sym("c"), i = idx("i"), j = idx("j"), x = tensor("x", {i, j});
  const Expr h = idx("h"), big_h = dim("H"_sym), big_hk = dim("Hk"_sym);
  return {
      {exp_of(sym("s") - sym("m")), "\\mathrm{e}^{s - m}", "e to the s minus m"},
      {exp_of(sym("s") - sym("m")) * sym("v"), "\\mathrm{e}^{s - m} \\cdot v", "e to the s minus m, times v"},
      {over("sum", "j", x * tensor("v", {j})), "\\sum_{j} x_{i, j} \\cdot v_{j}", "sum over j of x sub i j times v sub j"},
      {over("sum", "j", a + x), "\\sum_{j} \\left(a + x_{i, j}\\right)", "sum over j of the quantity a plus x sub i j"},
      {over("sum", "j", x) * a, "\\left(\\sum_{j} x_{i, j}\\right) \\cdot a", "the quantity sum over j of x sub i j, times a"},
      {a * over("sum", "j", x), "a \\cdot \\sum_{j} x_{i, j}", "a times sum over j of x sub i j"},
      {over("prod", "j", x), "\\prod_{j} x_{i, j}", "product over j of x sub i j"},
      {over("max", "j", x), "\\max_{j} x_{i, j}", "max over j of x sub i j"},
      {over("welford", "j", x), "\\operatorname*{welford}_{j} x_{i, j}", "welford over j of x sub i j"},
      {sym("acc") * exp_of(sym("p.m") - sym("p.m'")), "\\mathrm{acc} \\cdot \\mathrm{e}^{p.m - p.m'}",
       "acc times e to the p.m minus p.m prime"},
      {sym("m~"), "\\tilde{m}", "m tilde"},
      {sym("p.m~''"), "\\widetilde{p.m}''", "p.m tilde double prime"},
      {sym("s_max"), "\\mathrm{s\\_max}", "s_max"},
      {-infinity(), "-\\infty", "minus infinity"},
      {number(*Rational::make(1, 3)), "1/3", "1 over 3"},
      {number(-3), "-3", "minus 3"},
      {(a + b) / c, "\\frac{a + b}{c}", "a plus b, all over c"},
      {a / (b + c), "\\frac{a}{b + c}", "a over the quantity b plus c"},
      {a - (b - c), "a - \\left(b - c\\right)", "a minus the quantity b minus c"},
      {(a + b) * c, "\\left(a + b\\right) \\cdot c", "the quantity a plus b, times c"},
      {-(a + b), "-\\left(a + b\\right)", "minus the quantity a plus b"},
      {binary(Op::pow, a + b, number(2)), "\\left(a + b\\right)^{2}", "the quantity a plus b, squared"},
      {binary(Op::pow, number(-2), number(3)), "\\left(-2\\right)^{3}", "the quantity minus 2, cubed"},
      {binary(Op::pow, sym("m'"), c), "{m'}^{c}", "m prime to the c"},
      {binary(Op::pow, binary(Op::pow, a, b), c), "\\left(a^{b}\\right)^{c}", "the quantity a to the b, to the c"},
      {make(Op::rsqrt, {sym("var") + sym("eps")}), "\\frac{1}{\\sqrt{\\mathrm{var} + \\mathrm{eps}}}",
       "1 over the square root of var plus eps"},
      {root_of(a) + b, "\\sqrt{a} + b", "the square root of a plus b"},
      {root_of(a + b) * c, "\\sqrt{a + b} \\cdot c", "the square root of a plus b, times c"},
      {make(Op::max, {a, -b}), "\\max\\left(a, -b\\right)", "the maximum of a and minus b"},
      {make(Op::erf, {a}), "\\operatorname{erf}\\left(a\\right)", "erf of a"},
      {make(Op::abs, {a}), "\\left|a\\right|", "the absolute value of a"},
      {make(Op::exp2, {a}), "2^{a}", "2 to the a"},
      {cast(DType::f16, a), "\\operatorname{f16}\\left(a\\right)", "a as f16"},
      {call("softmax"_sym, {"j"_sym}, {x}), "\\operatorname{softmax}_{j}\\left(x_{i, j}\\right)", "softmax over j of x sub i j"},
      {tensor("k", {idx("b"), binary(Op::floordiv, h, binary(Op::floordiv, big_h, big_hk)), j}),
       "k_{b, \\left\\lfloor\\frac{h}{\\left\\lfloor\\frac{H}{\\mathrm{Hk}}\\right\\rfloor}\\right\\rfloor, j}",
       "k sub b, the floor of h over the floor of H over Hk, j"},
      {where(binary(Op::le, j, i), x, -infinity()),
       "\\begin{cases} x_{i, j} & \\text{if } j \\le i \\\\ -\\infty & \\text{else} \\end{cases}",
       "x sub i j if j is at most i, else minus infinity"},
      {where(binary(Op::le, j, i), a, b) - c,
       "\\left(\\begin{cases} a & \\text{if } j \\le i \\\\ b & \\text{else} \\end{cases}\\right) - c",
       "the quantity a if j is at most i, else b, minus c"},
      {binary(Op::logical_and, binary(Op::logical_or, a, b), unary(Op::logical_not, c)), "\\left(a \\lor b\\right) \\land \\lnot c",
       "the quantity a or b, and not c"},
      {binary(Op::eq, binary(Op::mod, i, number(8)), number(0)), "i \\bmod 8 = 0", "i mod 8 equals 0"},
      {binary(Op::ne, i, j), "i \\ne j", "i is not j"},
  };
}

TEST_F(Maths, LatexIsAsAPersonWritesIt) {
  for (const Written& each : written()) EXPECT_EQ(latex(each.e), each.latex) << print(each.e);
  EXPECT_EQ(latex({}), "");
}

TEST_F(Maths, WordsAreAsAPersonReadsThem) {
  for (const Written& each : written()) EXPECT_EQ(spoken(each.e), each.spoken) << print(each.e);
  EXPECT_EQ(spoken({}), "");
}

TEST_F(Maths, DifferentOrdersOfOperationsLookDifferent) {
  const Expr a = sym("a"), b = sym("b"), c = sym("c"), x = tensor("x", {idx("j")});
  const auto pairs = std::vector<std::pair<Expr, Expr>>{
      {over("sum", "j", x * a), over("sum", "j", x) * a},
      {binary(Op::mod, a, b * c), binary(Op::mod, a, b) * c},
      {binary(Op::mod, a * b, c), a * binary(Op::mod, b, c)},
      {binary(Op::pow, binary(Op::pow, a, b), c), binary(Op::pow, a, binary(Op::pow, b, c))},
      {binary(Op::logical_and, binary(Op::logical_or, a, b), c), binary(Op::logical_or, a, binary(Op::logical_and, b, c))},
      {where(a, b, c - x), where(a, b, c) - x},
      {-over("sum", "j", x) * a, -over("sum", "j", x * a)},
      {binary(Op::pow, a / b, c), a / binary(Op::pow, b, c)},
  };
  for (const auto& [one, other] : pairs) {
    EXPECT_NE(latex(one), latex(other)) << print(one);
    EXPECT_NE(spoken(one), spoken(other)) << print(one);
  }
}

// ---- the panel ----

std::vector<Fusion> fusions_of(const std::string& sample) {
  std::ifstream file(FATHOM_SOURCE_DIR "/samples/" + sample);
  std::stringstream text;
  text << file.rdbuf();
  session::Inputs inputs;
  inputs.file_name = sample;
  inputs.source = text.str();
  inputs.target = "x86-64";
  const auto compiled = session::compile(inputs);
  if (!compiled) return {};
  return (*compiled)->record.fusions;
}

const Fusion& fusion_of(const std::vector<Fusion>& all, const std::string& consumer) {
  for (const Fusion& fusion : all)
    if (fusion.consumer.text() == consumer) return fusion;
  return all.at(0);
}

/// Frames of the panel alone; the mouse moves to the middle of `press` and clicks it in the last ones.
class Panel : public Maths {
 protected:
  void show(const Fusion& fusion, const std::string& press = {}, ImVec2 size = {780, 580}) {
    for (int frame = 0; frame < 6; ++frame) {
      ImGuiIO& io = ImGui::GetIO();
      if (const MirrorItem* item = press.empty() ? nullptr : mirror().find(press)) {
        io.AddMousePosEvent((item->min.x + item->max.x) / 2, (item->min.y + item->max.y) / 2);
        if (frame == 3 || frame == 4) io.AddMouseButtonEvent(ImGuiMouseButton_Left, frame == 3);
      }
      ImGui::NewFrame();
      ImGui::PushFont(font(Font::body));
      mirror().begin_frame();
      ImGui::SetNextWindowPos({0, 0});
      ImGui::SetNextWindowSize(size);
      ImGui::Begin("panel", nullptr, ImGuiWindowFlags_NoDecoration);
      panels::derivation(app_, fusion, state_);
      ImGui::End();
      mirror().end_frame();
      ImGui::PopFont();
      ImGui::EndFrame();
    }
  }
  static std::string text() { return mirror().text_of("derivation"); }

  App app_{[] {}};
  DerivationState state_;
};

TEST_F(Panel, ShowsLawLinesAndNotes) {
  const auto all = fusions_of("attention.fathom");
  const Fusion& fusion = fusion_of(all, "p.sum");
  show(fusion);
  EXPECT_EQ(mirror().find("derivation/law-0")->text, "p.sum becomes p.sum times e to the p.m tilde minus p.m tilde prime");
  for (std::size_t i = 0; i < fusion.derivation.size(); ++i) {
    const MirrorItem* line = mirror().find("derivation/line-" + std::to_string(i));
    ASSERT_NE(line, nullptr);
    EXPECT_NE(line->text.find(spoken(fusion.derivation[i].after)), std::string::npos);
    EXPECT_NE(text().find(fusion.derivation[i].rule), std::string::npos);
  }
  EXPECT_NE(text().find(fusion.guard), std::string::npos);
  EXPECT_NE(text().find(fusion.certificate), std::string::npos);
  ASSERT_FALSE(fusion.not_taken.empty());
  EXPECT_NE(text().find(fusion.not_taken[0].reason), std::string::npos);
}

TEST_F(Panel, OpensAllLinesAndCopiesThem) {
  const auto all = fusions_of("attention.fathom");
  const Fusion& fusion = fusion_of(all, "p.sum");
  ASSERT_GT(fusion.all_lines.size(), fusion.derivation.size());
  show(fusion);
  EXPECT_EQ(mirror().find("derivation/all-lines")->text, "all " + std::to_string(fusion.all_lines.size()) + " ▸");
  show(fusion, "derivation/all-lines");
  EXPECT_TRUE(state_.shows_all);
  EXPECT_NE(mirror().find("derivation/line-" + std::to_string(fusion.all_lines.size() - 1)), nullptr);
  std::string copied;
  app_.copy = [&](std::string formula) { copied = std::move(formula); };
  show(fusion, "derivation/copy-latex");
  EXPECT_EQ(copied, panels::derivation_latex(fusion, true));
  EXPECT_NE(copied.find("p.\\mathrm{sum} &\\leftarrow p.\\mathrm{sum} \\cdot \\mathrm{e}^{\\widetilde{p.m} - \\widetilde{p.m}'}"),
            std::string::npos);
}

TEST_F(Panel, FormulasThatAreTooWideScroll) {
  const auto all = fusions_of("attention.fathom");
  show(fusion_of(all, "o"), {}, {320, 580});
  const MirrorItem* line = mirror().find("derivation/line-1");
  ASSERT_NE(line, nullptr);
  EXPECT_GT(line->max.x - line->min.x, 320);
  EXPECT_LT(mirror().find("derivation/line-0")->max.y, line->min.y);
}

TEST_F(Panel, TheNameUnderTheMouseIsLit) {
  const auto all = fusions_of("attention.fathom");
  const Fusion& fusion = fusion_of(all, "p.sum");
  show(fusion);
  const ImVec2 law = mirror().find("derivation/law-0")->min;
  ImGui::GetIO().AddMousePosEvent(law.x + 4, mirror().find("derivation/law-0")->max.y - 6);
  show(fusion);
  EXPECT_EQ(state_.lit, "p.sum");
  EXPECT_EQ(app_.hovered.name, "p.sum");
  ImGui::GetIO().AddMousePosEvent(-10, -10);
  show(fusion);
  EXPECT_TRUE(state_.lit.empty());
  EXPECT_TRUE(app_.hovered.is_empty());
}

TEST_F(Panel, ARefusalStandsInPlaceOfTheDerivation) {
  const auto all = fusions_of("layernorm.fathom");
  const Fusion& fusion = fusion_of(all, "var.sum");
  ASSERT_TRUE(fusion.refusal);
  show(fusion);
  EXPECT_NE(text().find(fusion.refusal->reason), std::string::npos);
  EXPECT_NE(text().find(fusion.refusal->hint), std::string::npos);
  EXPECT_EQ(mirror().find("derivation/copy-latex"), nullptr);
}

}  // namespace
}  // namespace fathom::ui::widgets
