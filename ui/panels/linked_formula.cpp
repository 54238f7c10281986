#include "panels/linked_formula.hpp"

#include "session/provenance.hpp"
#include "widgets/basic.hpp"

namespace fathom::ui::panels {
namespace {

/// Empty where it is no tensor.
std::string tensor_in(Expr e) {
  if (!e || (!e.is(Op::symbol) && !e.is(Op::read))) return {};
  return session::bare_name(e.name().text());
}

std::optional<ImU32> entity_ink(Expr node, void* context) {
  const App& app = *static_cast<App*>(context);
  const std::string name = tensor_in(node);
  const auto number = name.empty() ? std::nullopt : app.colour_of(app.step(), name);
  return number ? std::optional(entity_colour(*number)) : std::nullopt;
}

bool is_chosen(Expr node, void* context) {
  const App& app = *static_cast<App*>(context);
  const std::string name = tensor_in(node);
  return !name.empty() && app.is_selected(app.step(), name);
}

std::optional<ImU32> emphasis_ground(Expr node, void* context) {
  const App& app = *static_cast<App*>(context);
  const std::string name = tensor_in(node);
  constexpr float lit = 0.28F;
  if (name.empty() || !(app.is_selected(app.step(), name) || app.is_hovered(app.step(), name))) return std::nullopt;
  return faded(Role::accent, lit);
}

}  // namespace

void linked_formula(App& app, const std::string& id, const widgets::MathsBox& box) {
  const float width = ImGui::GetContentRegionAvail().x, air = gap(1);
  const bool scrolls = box.width > width;
  const ImVec2 size{width, box.ascent + box.descent + 2 * air + (scrolls ? ImGui::GetStyle().ScrollbarSize : 0)};
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  ImGui::BeginChild(id.c_str(), size, ImGuiChildFlags_None,
                    scrolls ? ImGuiWindowFlags_HorizontalScrollbar : ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
  ImGui::PopStyleVar();
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() + air);
  const Expr under = widgets::maths(id, box, {entity_ink, emphasis_ground, &app, is_chosen});
  if (const std::string name = tensor_in(under); !name.empty()) {
    app.hovering = {name, app.step()};
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) app.selected = app.hovering;
  }
  ImGui::EndChild();
}

}  // namespace fathom::ui::panels
