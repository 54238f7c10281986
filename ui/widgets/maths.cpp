// Formulas on the screen: pixels, colours of names, the mouse.
#include "widgets/maths.hpp"

#include <algorithm>
#include <cmath>

#include "mirror.hpp"
#include "theme.hpp"
#include "widgets/maths_boxes.hpp"

namespace fathom::ui::widgets {
namespace {

/// Pictures are made at whole pixels and twice as fine across: placed so, letters keep their edges.
float to_row(float y) { return std::floor(y + 0.5F); }
float to_half_column(float x) { return std::floor(2 * x + 0.5F) / 2; }

bool is_name(Expr e) { return e.is(Op::index) || e.is(Op::dim) || e.is(Op::symbol) || e.is(Op::read); }

class Pen {
 public:
  Pen(ImDrawList& list, const MathsOptions& options, std::string_view id) : list_(list), options_(options), id_(id) {}

  /// `node`: what the box belongs to.
  void draw(const MathsBox& box, ImVec2 origin, Expr node) const {
    if (box.node) node = box.node;
    if (box.glyphs) draw_glyphs(box, origin, node);
    for (const MathsBox& part : box.parts) draw(part, {origin.x + part.x, origin.y + part.y}, node);
  }

 private:
  void draw_glyphs(const MathsBox& box, ImVec2 origin, Expr node) const {
    const MathsBox::Glyphs& glyphs = *box.glyphs;
    ImU32 ink = colour(Role::text);
    if (glyphs.is_name && node && is_name(node)) {
      if (options_.ground != nullptr) draw_ground(box, origin, options_.ground(node, options_.context));
      if (options_.ink != nullptr) ink = options_.ink(node, options_.context).value_or(ink);
      if (node != name_) name_to_mirror(box, origin, node);
      name_ = node;
    } else {
      name_ = {};
    }
    for (const auto& glyph : glyphs.letters) draw_glyph(glyph, origin, ink);
    for (const auto& bar : glyphs.bars) draw_bar(bar, origin, ink);
    for (const auto& stroke : glyphs.strokes)
      list_.AddLine({origin.x + stroke.from.x, origin.y + stroke.from.y}, {origin.x + stroke.to.x, origin.y + stroke.to.y}, ink,
                    stroke.thickness);
  }

  /// Once, although a name is drawn in pieces: its place is that of the first.
  void name_to_mirror(const MathsBox& box, ImVec2 origin, Expr node) const {
    const bool selected = options_.selected != nullptr && options_.selected(node, options_.context);
    mirror().add("word", id_ + ":" + std::to_string(++names_), node.name().text(), {origin.x, origin.y - box.ascent},
                 {origin.x + box.width, origin.y + box.descent}, true, selected);
  }

  /// As high for all letters, so that the pieces of a name make one band.
  void draw_ground(const MathsBox& box, ImVec2 origin, std::optional<ImU32> ground) const {
    if (!ground || box.glyphs->letters.empty()) return;
    constexpr float above = 0.8F, below = 0.25F;  // ems
    const float em = box.glyphs->letters.front().em, y = to_row(origin.y + box.glyphs->letters.front().y);
    list_.AddRectFilled({origin.x, y - above * em}, {origin.x + box.width, y + below * em}, *ground);
  }

  void draw_glyph(const MathsBox::Glyphs::Glyph& glyph, ImVec2 origin, ImU32 ink) const {
    const ImFont& face = *maths_font(glyph.face);
    const ImFontGlyph* picture = face.FindGlyphNoFallback(glyph.code);
    if (picture == nullptr || picture->Visible == 0) return;
    const float k = maths_size(glyph.face, glyph.em) / face.FontSize, baseline = std::floor(face.Ascent + 0.5F);
    const float x = to_half_column(origin.x + glyph.x);
    float top = to_row(origin.y + glyph.y) + (picture->Y0 - baseline) * k, bottom = top + (picture->Y1 - picture->Y0) * k;
    if (glyph.stretched_to > 0) {
      top = to_row(origin.y + glyph.y);
      bottom = to_row(origin.y + glyph.y + glyph.stretched_to);
    }
    // The middle of a piece that is stretched: its ends fade out.
    const float fade = glyph.stretched_to > 0 ? (picture->V1 - picture->V0) / 3 : 0;
    list_.PrimReserve(6, 4);
    list_.PrimRectUV({x + picture->X0 * k, top}, {x + picture->X1 * k, bottom}, {picture->U0, picture->V0 + fade},
                     {picture->U1, picture->V1 - fade}, ink);
  }

  void draw_bar(const MathsBox::Glyphs::Bar& bar, ImVec2 origin, ImU32 ink) const {
    const float x = to_half_column(origin.x + bar.x), y = to_row(origin.y + bar.y);
    const float width = std::max(1.0F, std::floor(bar.width + 0.5F)), height = std::max(1.0F, std::floor(bar.height + 0.5F));
    list_.AddRectFilled({x, y}, {x + width, y + height}, ink);
  }

  ImDrawList& list_;
  const MathsOptions& options_;
  std::string id_;
  mutable int names_ = 0;  ///< that were drawn: each is an item of its own
  mutable Expr name_;      ///< of which a piece was drawn last
};

}  // namespace

const MathsBox* box_at(const MathsBox& box, ImVec2 point) {
  if (point.x < 0 || point.x >= box.width || point.y < -box.ascent || point.y >= box.descent) return nullptr;
  for (auto part = box.parts.rbegin(); part != box.parts.rend(); ++part)
    if (const MathsBox* found = box_at(*part, {point.x - part->x, point.y - part->y})) return found;
  return box.node ? &box : nullptr;
}

Expr maths(std::string_view id, const MathsBox& box, const MathsOptions& options) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 min{std::floor(at.x), std::floor(at.y)}, size{std::ceil(box.width), std::ceil(box.ascent) + std::ceil(box.descent)};
  ImGui::Dummy(size);
  const ImVec2 max{min.x + size.x, min.y + size.y}, origin{min.x, min.y + std::ceil(box.ascent)};
  mirror().add("formula", id, box.said, min, max);
  if (ImGui::IsRectVisible(min, max)) Pen(*ImGui::GetWindowDrawList(), options, id).draw(box, origin, {});
  if (!ImGui::IsItemHovered()) return {};
  const ImVec2 mouse = ImGui::GetMousePos();
  const MathsBox* hit = box_at(box, {mouse.x - origin.x, mouse.y - origin.y});
  return hit != nullptr ? hit->node : Expr{};
}

}  // namespace fathom::ui::widgets
