#include "widgets/maths_boxes.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "theme.hpp"

namespace fathom::ui::widgets::boxes {
namespace {

using Glyphs = MathsBox::Glyphs;

// TeX's parameters (appendix G of The TeXbook) in ems of the style that they are used in; the faces are those they were made for.
constexpr float axis_height = 0.25F;
constexpr float rule = 0.04F;
constexpr float x_height = 0.431F;
constexpr float numerator_display = 0.677F, numerator_text = 0.394F;
constexpr float denominator_display = 0.686F, denominator_text = 0.345F;
constexpr float superscript_display = 0.413F, superscript_text = 0.363F, superscript_drop = 0.386F;
constexpr float subscript_alone = 0.15F, subscript_below = 0.247F, subscript_drop = 0.05F;
constexpr float limit_gap = 0.167F, limit_distance = 0.6F, limit_edge = 0.1F;
constexpr float beside_fraction = 0.12F, behind_scripts = 0.05F;
constexpr float fence_part = 0.901F, fence_shortfall = 0.5F;  // how much of what it holds a fence must cover
constexpr float row_ascent = 0.85F, row_descent = 0.35F, row_gap = 0.24F, column_gap = 1, beside_cases = 0.12F;
constexpr float script_ratio = 0.7F, scriptscript_ratio = 0.5F;
constexpr float thin = 3 / 18.0F, medium = 4 / 18.0F, thick = 5 / 18.0F;

float thickness(Setting setting) { return std::max(hairline(), rule * setting.size()); }

/// Of one glyph, drawn at an em: its advance, and the picture around it.
struct Extent {
  float advance = 0, right = 0, ascent = 0, descent = 0;
};

float baseline_of(const ImFont& face) { return std::floor(face.Ascent + 0.5F); }  // where Dear ImGui puts it in the glyphs' pictures

Extent extent(MathsFace which, ImWchar code, float em) {
  const ImFont& face = *maths_font(which);
  const ImFontGlyph* glyph = face.FindGlyphNoFallback(code);
  if (glyph == nullptr) return {};
  const float k = maths_size(which, em) / face.FontSize, baseline = baseline_of(face);
  return {glyph->AdvanceX * k, glyph->X1 * k, (baseline - glyph->Y0) * k, (glyph->Y1 - baseline) * k};
}

Item leaf(Glyphs glyphs, float width, float ascent, float descent, Class cls = Class::ord) {
  Item item;
  item.left = item.right = cls;
  item.box.width = width;
  item.box.ascent = ascent;
  item.box.descent = descent;
  item.box.glyphs = std::make_shared<const Glyphs>(std::move(glyphs));
  return item;
}

/// Some letters are in one face only: digits and signs in the upright one, small Greek ones in the italic.
std::pair<MathsFace, ImWchar> face_with(MathsFace wanted, ImWchar code) {
  for (const MathsFace face : {wanted, MathsFace::upright, MathsFace::italic, MathsFace::size1})
    if (maths_font(face)->FindGlyphNoFallback(code) != nullptr) return {face, code};
  return {MathsFace::upright, '?'};
}

// Rows and columns in the order of Class; 0 none, 1 thin, 2 medium, 3 thick, negative: none in scripts.
constexpr std::array<std::array<int, 7>, 7> spaces = {{
    //        ord op bin rel open close punct
    /*ord*/ {{0, 1, -2, -3, 0, 0, 0}},
    /*op*/ {{1, 1, 0, -3, 0, 0, 0}},
    /*bin*/ {{-2, -2, 0, 0, -2, 0, 0}},
    /*rel*/ {{-3, -3, 0, 0, -3, 0, 0}},
    /*open*/ {{0, 0, 0, 0, 0, 0, 0}},
    /*close*/ {{0, 1, -2, -3, 0, 0, 0}},
    /*punct*/ {{-1, -1, 0, -1, -1, -1, -1}},
}};

float space_between(Class left, Class right, Setting setting) {
  const int kind = spaces[static_cast<std::size_t>(left)][static_cast<std::size_t>(right)];
  if (kind < 0 && setting.is_script()) return 0;
  constexpr std::array<float, 4> widths = {0, thin, medium, thick};
  return widths[static_cast<std::size_t>(std::abs(kind))] * setting.size();
}

}  // namespace

float Setting::size() const {
  constexpr std::array<float, 4> ratios = {1, 1, script_ratio, scriptscript_ratio};
  return em * ratios[static_cast<std::size_t>(style)];
}
Setting Setting::raised() const { return {em, is_script() ? Style::scriptscript : Style::script}; }
Setting Setting::part_of_fraction() const { return {em, style == Style::display ? Style::text : raised().style}; }

void put(MathsBox& parent, MathsBox part, float x, float y) {
  part.x = x;
  part.y = y;
  parent.parts.push_back(std::move(part));
}

void enclose(MathsBox& box) {
  for (const MathsBox& part : box.parts) {
    box.width = std::max(box.width, part.x + part.width);
    box.ascent = std::max(box.ascent, part.ascent - part.y);
    box.descent = std::max(box.descent, part.descent + part.y);
  }
}

Item letters(std::string_view text, MathsFace wanted, Setting setting, Class cls) {
  Glyphs glyphs;
  float x = 0, ascent = 0, descent = 0, lean = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0U) == 0x80U) continue;  // the rest of a character that is shown as a question mark
    const auto [face, code] = face_with(wanted, c == '-' ? ImWchar(0x2212) : byte < 0x80U ? ImWchar(byte) : ImWchar('?'));
    const Extent size = extent(face, code, setting.size());
    glyphs.letters.push_back({face, code, setting.size(), x, 0, 0});
    x += size.advance;
    lean = std::max(0.0F, size.right - size.advance);
    ascent = std::max(ascent, size.ascent);
    descent = std::max(descent, size.descent);
  }
  Item item = leaf(std::move(glyphs), x, ascent, descent, cls);
  item.is_character = true;
  item.lean = lean;
  return item;
}

Item sign(ImWchar code, Setting setting, Class cls, MathsFace wanted) {
  const auto [face, found] = face_with(wanted, code);
  const Extent size = extent(face, found, setting.size());
  Glyphs glyphs;
  glyphs.letters.push_back({face, found, setting.size(), 0, 0, 0});
  Item item = leaf(std::move(glyphs), size.advance, size.ascent, size.descent, cls);
  item.is_character = true;
  return item;
}

Item space(float ems, Setting setting) { return leaf({}, ems * setting.size(), 0, 0); }

void Row::add(Item item) {
  float x = out_.box.width;
  if (empty())
    out_.left = item.left;
  else
    x += (out_.right == Class::op ? 0 : out_.lean) + space_between(out_.right, item.left, setting_);
  out_.right = item.right;
  out_.lean = item.lean;
  out_.is_character = item.is_character && empty();
  put(out_.box, std::move(item.box), x, 0);
  enclose(out_.box);
}

Item Row::finish(Expr node) {
  out_.box.node = node;
  return std::move(out_);
}

Item scripts(Item base, std::optional<Item> below, std::optional<Item> above, Setting setting) {
  const float em = setting.size(), small = setting.raised().size();
  float up = base.is_character ? 0 : base.box.ascent - superscript_drop * small;
  float down = base.is_character ? 0 : base.box.descent + subscript_drop * small;
  if (above) {
    const float least = (setting.style == Style::display ? superscript_display : superscript_text) * em;
    up = std::max({up, least, above->box.descent + x_height * em / 4});
  }
  if (below && !above) down = std::max({down, subscript_alone * em, below->box.ascent - 0.8F * x_height * em});
  if (below && above) {
    down = std::max(down, subscript_below * em);
    const float between = up - above->box.descent - (below->box.ascent - down), least = 4 * thickness(setting);
    if (between < least) {
      down += least - between;
      const float high = std::clamp(0.8F * x_height * em - (up - above->box.descent), 0.0F, least - between);
      up += high;
      down -= high;
    }
  }
  Item out;
  out.left = base.left;
  out.right = base.right;
  const float width = base.box.width, lean = base.lean;
  put(out.box, std::move(base.box), 0, 0);
  if (above) put(out.box, std::move(above->box), width + lean, -up);
  if (below) put(out.box, std::move(below->box), width, down);
  enclose(out.box);
  out.box.width += behind_scripts * em;
  return out;
}

Item fraction(Item above, Item below, Setting setting) {
  const float em = setting.size(), bar = thickness(setting), axis = axis_height * em;
  const bool large = setting.style == Style::display;
  const float clear = (large ? 3 : 1) * bar;
  float up = (large ? numerator_display : numerator_text) * em, down = (large ? denominator_display : denominator_text) * em;
  up = std::max(up, axis + bar / 2 + clear + above.box.descent);
  down = std::max(down, below.box.ascent + clear + bar / 2 - axis);
  const float side = beside_fraction * em, inner = std::max(above.box.width + above.lean, below.box.width + below.lean);
  Item out;
  Glyphs glyphs;
  glyphs.bars.push_back({side, -axis - bar / 2, inner, bar});
  out.box.glyphs = std::make_shared<const Glyphs>(std::move(glyphs));
  const float above_width = above.box.width, below_width = below.box.width;
  put(out.box, std::move(above.box), side + (inner - above_width) / 2, -up);
  put(out.box, std::move(below.box), side + (inner - below_width) / 2, down);
  enclose(out.box);
  out.box.width = inner + 2 * side;
  return out;
}

Item root(Item inner, Setting setting) {
  const float em = setting.size(), bar = thickness(setting);
  const float clear = bar + (setting.style == Style::display ? x_height * em : bar) / 4;
  constexpr float sign_width = 0.8F, start = 0.08F, knee = 0.2F, foot = 0.4F, hook = 0.5F, thick_stroke = 0.085F;  // of the sign, in ems
  const float top = -(std::max(inner.box.ascent, x_height * em) + clear + bar);
  const float bottom = std::max(inner.box.descent, 0.1F * em);
  const float up = std::min(hook * em, 0.6F * (bottom - top)), left = sign_width * em;
  const float width = inner.box.width + inner.lean;
  const ImVec2 p0{start * em, bottom - 0.85F * up}, p1{knee * em, bottom - up}, p2{foot * em, bottom - bar / 2}, p3{left, top + bar / 2};
  Item out;
  Glyphs glyphs;
  glyphs.strokes = {{p0, p1, bar}, {p1, p2, std::max(bar, thick_stroke * em)}, {p2, p3, bar}};
  glyphs.bars.push_back({left - bar / 2, top, width + bar / 2 + rule * em, bar});
  out.box.glyphs = std::make_shared<const Glyphs>(std::move(glyphs));
  put(out.box, std::move(inner.box), left, 0);
  enclose(out.box);
  out.box.width = left + width + 2 * rule * em;
  out.box.ascent = -top + rule * em;
  out.box.descent = std::max(out.box.descent, bottom);
  return out;
}

Item limits(Item op, Item below, Setting setting) {
  const float em = setting.size();
  const float gap_below = std::max(limit_gap * em, limit_distance * em - below.box.ascent);
  const float width = std::max(op.box.width, below.box.width), op_width = op.box.width, below_width = below.box.width;
  const float y = op.box.descent + gap_below + below.box.ascent;
  Item out;
  out.left = out.right = Class::op;
  put(out.box, std::move(op.box), (width - op_width) / 2, 0);
  put(out.box, std::move(below.box), (width - below_width) / 2, y);
  enclose(out.box);
  out.box.descent += limit_edge * em;
  return out;
}

namespace {

/// Pieces of Size4 that a high fence is built of; 0: the side is straight there.
struct Pieces {
  ImWchar fence, top, middle, bottom, straight;
};
constexpr std::array pieces = std::to_array<Pieces>({
    {'(', 0x239B, 0, 0x239D, 0x239C},
    {')', 0x239E, 0, 0x23A0, 0x239F},
    {'{', 0x23A7, 0x23A8, 0x23A9, 0x23AA},
    {0x230A, 0, 0, 0x23A3, 0x23A2},
    {0x230B, 0, 0, 0x23A6, 0x23A5},
});

/// Pictures of pieces end in a part of a pixel: so much of two that meet is laid over each other, in ems.
constexpr float blurred_end = 0.14F;

Item bar_fence(float height, Setting setting, Class cls) {
  const float em = setting.size(), width = 0.278F * em, bar = thickness(setting), axis = axis_height * em;
  Glyphs glyphs;
  glyphs.bars.push_back({(width - bar) / 2, -axis - height / 2, bar, height});
  return leaf(std::move(glyphs), width, axis + height / 2, height / 2 - axis, cls);
}

Item built_fence(const Pieces& of, float height, Setting setting, Class cls) {
  const float em = setting.size(), axis = axis_height * em;
  const auto size_of = [&](ImWchar code) { return code != 0 ? extent(MathsFace::size4, code, em) : Extent{}; };
  const auto height_of = [](const Extent& e) { return e.ascent + e.descent; };
  const Extent top = size_of(of.top), middle = size_of(of.middle), bottom = size_of(of.bottom);
  const float joints = (of.top != 0 ? 1.0F : 0.0F) + (of.middle != 0 ? 1.0F : 0.0F);
  const float least = height_of(top) + height_of(middle) + height_of(bottom) - joints * blurred_end * em;
  const float total = std::max(height, least), y0 = -axis - total / 2, y1 = y0 + total;
  Glyphs glyphs;
  const auto piece = [&](ImWchar code, float y) {
    if (code != 0) glyphs.letters.push_back({MathsFace::size4, code, em, 0, y, 0});
  };
  const float overlap = blurred_end * em;
  const auto straight = [&](float from, float to) {
    if (to > from) glyphs.letters.push_back({MathsFace::size4, of.straight, em, 0, from - overlap, to - from + 2 * overlap});
  };
  piece(of.top, y0 + top.ascent);
  piece(of.bottom, y1 - bottom.descent);
  if (of.middle != 0) {
    const float middle_top = -axis - height_of(middle) / 2;
    piece(of.middle, middle_top + middle.ascent);
    straight(y0 + height_of(top), middle_top);
    straight(middle_top + height_of(middle), y1 - height_of(bottom));
  } else {
    straight(of.top != 0 ? y0 + height_of(top) : y0 + overlap, y1 - height_of(bottom));
  }
  return leaf(std::move(glyphs), size_of(of.straight).advance, -y0, y1, cls);
}

Item fence(ImWchar code, float height, Setting setting, Class cls) {
  if (code == '|') return bar_fence(std::max(height, setting.size()), setting, cls);
  constexpr std::array<std::pair<MathsFace, float>, 5> sizes = {
      {{MathsFace::upright, 1.0F}, {MathsFace::size1, 1.2F}, {MathsFace::size2, 1.8F}, {MathsFace::size3, 2.4F}, {MathsFace::size4, 3.0F}}};
  for (const auto& [face, ems] : sizes)
    if (ems * setting.size() >= height) return sign(code, setting, cls, face);
  const auto* of = std::find_if(pieces.begin(), pieces.end(), [&](const Pieces& each) { return each.fence == code; });
  return of == pieces.end() ? sign(code, setting, cls, MathsFace::size4) : built_fence(*of, height, setting, cls);
}

}  // namespace

Item fenced(ImWchar open, Item inner, ImWchar close, Setting setting) {
  const float axis = axis_height * setting.size();
  const float whole = 2 * std::max(inner.box.ascent - axis, inner.box.descent + axis);
  const float height = std::max(fence_part * whole, whole - fence_shortfall * setting.size());
  Item out;
  float x = 0;
  const auto side = [&](ImWchar code, Class cls) {
    if (code == 0) return;
    Item item = fence(code, height, setting, cls);
    const float width = item.box.width;
    put(out.box, std::move(item.box), x, 0);
    x += width;
  };
  side(open, Class::open);
  const float width = inner.box.width + inner.lean;
  put(out.box, std::move(inner.box), x, 0);
  x += width;
  side(close, Class::close);
  enclose(out.box);
  out.left = open != 0 ? Class::open : Class::ord;
  out.right = close != 0 ? Class::close : Class::ord;
  return out;
}

Item cases(std::vector<std::pair<Item, Item>> rows, Setting setting) {
  const float em = setting.size();
  float first = 0, height = 0;
  std::vector<float> baselines;
  for (const auto& [value, condition] : rows) {
    first = std::max(first, value.box.width + value.lean);
    if (!baselines.empty()) height += row_gap * em;
    height += std::max({row_ascent * em, value.box.ascent, condition.box.ascent});
    baselines.push_back(height);
    height += std::max({row_descent * em, value.box.descent, condition.box.descent});
  }
  const float top = -axis_height * em - height / 2;
  Item table;
  const float side = beside_cases * em;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const float lean = rows[i].second.lean;
    put(table.box, std::move(rows[i].first.box), side, top + baselines[i]);
    put(table.box, std::move(rows[i].second.box), side + first + column_gap * em, top + baselines[i]);
    enclose(table.box);
    table.box.width += lean;
  }
  table.box.width += side;
  table.box.ascent = -top;
  table.box.descent = top + height;
  Item out = fenced('{', std::move(table), 0, setting);
  out.left = out.right = Class::ord;
  return out;
}

Item under_tilde(Item base, Setting setting) {
  const float em = setting.size(), width = base.box.width;
  constexpr ImWchar small_tilde = 0x2DC;
  const Setting mark_setting{setting.em, Style::text};  // in scripts too: a smaller one is a dash
  MathsFace face = MathsFace::upright;
  for (const MathsFace wider : {MathsFace::size1, MathsFace::size2, MathsFace::size3})
    if (extent(wider, small_tilde, mark_setting.size()).right <= width) face = wider;
  Item mark = sign(small_tilde, mark_setting, Class::ord, face);
  const float above =
      base.box.ascent + rule * em + mark.box.descent;  // the picture of an accent ends above its baseline: a negative descent
  const float mark_width = mark.box.width;
  Item out;
  out.left = base.left;
  out.right = base.right;
  out.is_character = base.is_character;
  out.lean = base.lean;
  put(out.box, std::move(base.box), std::max(0.0F, (mark_width - width) / 2), 0);
  put(out.box, std::move(mark.box), std::max(0.0F, (width - mark_width) / 2), -above);
  enclose(out.box);
  return out;
}

}  // namespace fathom::ui::widgets::boxes
