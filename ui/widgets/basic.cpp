#include "widgets/basic.hpp"

#include <imgui_internal.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "mirror.hpp"
#include "widgets/line_breaks.hpp"

namespace fathom::ui::widgets {
namespace {

// Dear ImGui takes a null pointer for a text that ends by itself.
const char* begin_of(std::string_view s) { return s.empty() ? "" : s.data(); }
const char* end_of(std::string_view s) { return begin_of(s) + s.size(); }

Box last_item() { return {ImGui::GetItemRectMin(), ImGui::GetItemRectMax()}; }

constexpr float button_padding = 2;  // gaps

void draw_tip(std::string_view s) {
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {gap(2), gap(1.5F)});
  if (ImGui::BeginTooltip()) {
    ImGui::PushFont(font(Font::caption));
    ImGui::TextUnformatted(broken_within(readable(s), gap(90), Font::caption).c_str());
    ImGui::PopFont();
    ImGui::EndTooltip();
  }
  ImGui::PopStyleVar();
}

void shown_text(std::string_view s, Role role, Font which) {
  s = readable(s);
  ImGui::PushFont(font(which));
  ImGui::PushStyleColor(ImGuiCol_Text, colour(role));
  ImGui::TextUnformatted(begin_of(s), end_of(s));
  ImGui::PopStyleColor();
  ImGui::PopFont();
}

std::string tooltip_text(std::string_view label, const ButtonOptions& options) {
  std::string text = options.tip.empty() ? std::string(label) : options.tip;
  if (!options.shortcut.empty()) text += (text.empty() ? "" : "   ") + options.shortcut;
  if (options.disabled) text += (text.empty() ? "" : "\n") + *options.disabled;
  return options.tip.empty() && options.shortcut.empty() && !options.disabled ? std::string() : text;
}

}  // namespace

std::string_view readable(std::string_view s) {
  constexpr std::size_t most_letters = 8000;
  if (s.size() <= most_letters) return s;
  std::size_t size = most_letters;
  while (size > 0 && (static_cast<unsigned char>(s[size]) & 0xC0U) == 0x80U) --size;  // whole characters
  return s.substr(0, size);
}

Pressable pressable(std::string_view id, ImVec2 size, bool enabled) {
  Pressable out;
  out.focused = mirror().focusable(id);
  ImGui::PushID(begin_of(id), end_of(id));
  const bool clicked = ImGui::InvisibleButton("##press", {std::max(1.0F, size.x), size.y});
  ImGui::PopID();
  out.box = last_item();
  out.hovered = ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled);
  if (clicked && enabled) mirror().touch(mirror().path(id));
  out.pressed = enabled && (clicked || activated_by_key(out.focused));
  if (out.hovered && enabled) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  return out;
}

bool activated_by_key(bool focused) {
  if (!focused || ImGui::GetIO().WantTextInput) return false;
  return ImGui::IsKeyPressed(ImGuiKey_Enter, false) || ImGui::IsKeyPressed(ImGuiKey_KeypadEnter, false) ||
         ImGui::IsKeyPressed(ImGuiKey_Space, false);
}

void focus_ring(const Box& box, bool focused) {
  if (!focused) return;
  const float ring = metrics().focus_ring;
  ImGui::GetWindowDrawList()->AddRect({box.min.x - ring, box.min.y - ring}, {box.max.x + ring, box.max.y + ring}, colour(Role::accent),
                                      metrics().control_radius + ring, 0, ring);
}

ImVec2 measure(std::string_view s, Font which) {
  ImFont* face = font(which);
  return face->CalcTextSizeA(face->FontSize, FLT_MAX, 0, begin_of(s), end_of(s));
}

void draw_text(ImDrawList& list, ImVec2 at, std::string_view s, ImU32 ink, Font which) {
  ImFont* face = font(which);
  s = readable(s);
  list.AddText(face, face->FontSize, {ImFloor(at.x), ImFloor(at.y)}, ink, begin_of(s), end_of(s));
}

float button_width(std::string_view label, const char* icon) {
  const float icon_width = icon != nullptr ? measure(icon, Font::body).x : 0, between = icon != nullptr && !label.empty() ? gap(1) : 0;
  return icon_width + between + measure(label, Font::body).x + 2 * gap(button_padding);
}

bool button(std::string_view id, std::string_view label, const ButtonOptions& options) {
  const ImVec2 size{options.width > 0 ? options.width : button_width(label, options.icon), metrics().row};
  const bool enabled = !options.disabled;
  const Pressable state = pressable(id, size, enabled);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const bool primary = options.look == Look::primary && enabled;
  ImU32 ground = primary ? colour(Role::accent) : colour(Role::raised);
  if (options.look == Look::quiet && !options.selected) ground = faded(Role::raised, 0);
  if (options.selected) ground = faded(Role::accent, 0.22F);
  if (enabled && state.hovered) ground = primary ? faded(Role::accent, 0.85F) : colour(Role::line);
  list.AddRectFilled(state.box.min, state.box.max, ground, metrics().control_radius);
  const ImU32 ink = !enabled ? faded(Role::muted, 0.6F) : primary ? colour(Role::canvas) : colour(Role::text);
  const float content = button_width(label, options.icon) - 2 * gap(button_padding);
  float x = state.box.min.x + std::max(gap(button_padding), (state.box.width() - content) / 2);
  const float y = state.box.min.y + (state.box.height() - font(Font::body)->FontSize) / 2;
  list.PushClipRect(state.box.min, state.box.max, true);
  if (options.icon != nullptr) {
    draw_text(list, {x, y}, options.icon, ink, Font::body);
    x += measure(options.icon, Font::body).x + gap(1);
  }
  draw_text(list, {x, y}, label, ink, Font::body);
  list.PopClipRect();
  focus_ring(state.box, state.focused);
  if (state.hovered) tip(tooltip_text(label, options));
  mirror().add("button", id, label.empty() ? options.tip : std::string(label), state.box.min, state.box.max, enabled, options.selected);
  return state.pressed;
}

bool tab(std::string_view id, std::string_view label, bool selected) {
  const Font which = selected ? Font::body_bold : Font::body;
  const ImVec2 size{measure(label, Font::body_bold).x + 2 * gap(2), metrics().panel_head};
  const Pressable state = pressable(id, size, true);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const ImVec2 extent = measure(label, which);
  const ImVec2 at{state.box.min.x + (size.x - extent.x) / 2, state.box.min.y + (size.y - extent.y) / 2};
  draw_text(list, at, label, selected || state.hovered ? colour(Role::text) : colour(Role::muted), which);
  if (selected)
    list.AddRectFilled({state.box.min.x + gap(1), state.box.max.y - metrics().focus_ring}, {state.box.max.x - gap(1), state.box.max.y},
                       colour(Role::accent));
  focus_ring(state.box, state.focused);
  mirror().add("tab", id, std::string(label), state.box.min, state.box.max, true, selected);
  return state.pressed;
}

void text(std::string_view s, Role role, Font which) {
  shown_text(s, role, which);
  mirror().add("text", "label", std::string(s), ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
}

void wrapped(std::string_view s, Role role, Font which) { wrapped(s, ImGui::GetContentRegionAvail().x, role, which); }

void wrapped(std::string_view s, float width, Role role, Font which) {
  shown_text(broken_within(readable(s), width, which), role, which);
  mirror().add("text", "label", std::string(s), ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
}

std::string cut_to(std::string_view s, float width, Font which) {
  constexpr float least_more = 0.01F;  // Dear ImGui stops where a text reaches the width, too
  ImFont* face = font(which);
  const char* stop = begin_of(s);
  const float wide = face->CalcTextSizeA(face->FontSize, std::max(1.0F, width + least_more), 0, begin_of(s), end_of(s), &stop).x;
  if (stop == end_of(s) && wide <= width) return std::string(s);
  const float room = std::max(1.0F, width - measure("…", which).x);
  (void)face->CalcTextSizeA(face->FontSize, room, 0, begin_of(s), end_of(s), &stop);  // measures no further than the room
  return std::string(begin_of(s), stop) + "…";
}

void fitted(std::string_view id, std::string_view s, float width, Role role, Font which) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = font(which)->FontSize;
  ImGui::Dummy({std::max(1.0F, width), height});
  const Box box{at, {at.x + width, at.y + height}};
  const std::string shown = cut_to(s, width, which);
  draw_text(*ImGui::GetWindowDrawList(), at, shown, colour(role), which);
  if (shown != s) tip(s);
  mirror().add("text", id, std::string(s), box.min, box.max);
}

bool link(std::string_view id, std::string_view s, Role role) {
  const Pressable state = pressable(id, measure(s, Font::body), true);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  draw_text(list, state.box.min, s, colour(role), Font::body);
  if (state.hovered) list.AddLine({state.box.min.x, state.box.max.y}, state.box.max, colour(role), hairline());
  focus_ring(state.box, state.focused);
  mirror().add("link", id, std::string(s), state.box.min, state.box.max);
  return state.pressed;
}

namespace {

int grow(ImGuiInputTextCallbackData* data) {
  if (data->EventFlag == ImGuiInputTextFlags_CallbackResize) {
    auto& value = *static_cast<std::string*>(data->UserData);
    value.resize(static_cast<std::size_t>(data->BufTextLen));
    data->Buf = value.data();
  }
  return 0;
}

}  // namespace

bool field(std::string_view id, std::string_view label, std::string& value, std::string_view hint, float width) {
  if (!label.empty()) text(label, Role::muted, Font::caption);
  ImGui::SetNextItemWidth(width > 0 ? width : -FLT_MIN);
  const bool focused = mirror().focusable(id);
  ImGui::PushID(begin_of(id), end_of(id));
  if (focused && ImGui::GetFocusID() == 0 && ImGui::GetActiveID() == 0 && ImGui::IsKeyPressed(ImGuiKey_Enter))
    ImGui::SetKeyboardFocusHere();
  const std::string placeholder(hint);
  ImGui::PushStyleColor(ImGuiCol_Border, colour(Role::muted));
  ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, hairline());
  const bool changed = ImGui::InputTextWithHint("##field", placeholder.c_str(), value.data(), value.capacity() + 1,
                                                ImGuiInputTextFlags_CallbackResize, grow, &value);
  ImGui::PopStyleVar();
  ImGui::PopStyleColor();
  const bool active = ImGui::IsItemActive();
  ImGui::PopID();
  if (active && !focused) mirror().touch(mirror().path(id));
  const Box box = last_item();
  focus_ring(box, focused && !active);
  mirror().add("field", id, value, box.min, box.max);
  return changed;
}

bool checkbox(std::string_view id, std::string_view label, bool& value) {
  const float side = metrics().icon;
  const Pressable state = pressable(id, {side + gap(1.5F) + measure(label, Font::body).x, metrics().row}, true);
  if (state.pressed) value = !value;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const ImVec2 at{state.box.min.x, state.box.min.y + (state.box.height() - side) / 2};
  const ImVec2 to{at.x + side, at.y + side};
  list.AddRect(at, to, colour(state.hovered ? Role::text : Role::muted), metrics().control_radius, 0, hairline());
  if (value) {
    const float in = side / 4;
    list.AddRectFilled({at.x + in, at.y + in}, {to.x - in, to.y - in}, colour(Role::accent), metrics().control_radius / 2);
  }
  draw_text(list, {to.x + gap(1.5F), state.box.min.y + (state.box.height() - font(Font::body)->FontSize) / 2}, label, colour(Role::text),
            Font::body);
  focus_ring(state.box, state.focused);
  mirror().add("checkbox", id, std::string(label), state.box.min, state.box.max, true, value);
  return state.pressed;
}

namespace {
std::string head_clicked;  // of one frame
}

void begin_panel(std::string_view id, const Box& box, const PanelOptions& options) {
  const std::string path = mirror().path(id);
  mirror().push(id);
  mirror().add("panel", "panel", options.title, box.min, box.max);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.AddRectFilled(box.min, box.max, colour(Role::panel), metrics().radius);
  float top = box.min.y;
  if (!options.title.empty()) {
    const float y = top + (metrics().panel_head - font(Font::body_bold)->FontSize) / 2;
    draw_text(list, {box.min.x + gap(3), y}, options.title, colour(Role::text), Font::body_bold);
    top += metrics().panel_head;
  }
  const Box head{box.min, {box.max.x, box.min.y + metrics().panel_head}};
  if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left) && head.contains(ImGui::GetMousePos()) && !ImGui::IsAnyItemHovered() &&
      ImGui::IsWindowHovered(ImGuiHoveredFlags_ChildWindows))
    head_clicked = path;
  ImGui::SetCursorScreenPos({box.min.x, top});
  ImGui::PushID(begin_of(id), end_of(id));
  const ImGuiWindowFlags flags =
      options.scrolls ? ImGuiWindowFlags_None : ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse;
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {gap(3), gap(2)});
  ImGui::BeginChild("##panel", {box.width(), box.max.y - top}, ImGuiChildFlags_AlwaysUseWindowPadding, flags);
  ImGui::PopStyleVar();
}

std::string double_clicked_head() { return std::exchange(head_clicked, {}); }

void end_panel() {
  ImGui::EndChild();
  ImGui::PopID();
  mirror().pop();
}

void splitter(std::string_view id, const Box& box, bool vertical, float& fraction, float length, float least, float most) {
  ImGui::SetCursorScreenPos(box.min);
  ImGui::PushID(begin_of(id), end_of(id));
  ImGui::InvisibleButton("##splitter", {box.width(), box.height()});
  ImGui::PopID();
  const bool hot = ImGui::IsItemHovered() || ImGui::IsItemActive();
  if (hot) ImGui::SetMouseCursor(vertical ? ImGuiMouseCursor_ResizeEW : ImGuiMouseCursor_ResizeNS);
  if (ImGui::IsItemActive() && length > 0) {
    const ImVec2 moved = ImGui::GetIO().MouseDelta;
    fraction = std::clamp(fraction + (vertical ? moved.x : moved.y) / length, least, most);
  }
  if (hot) ImGui::GetWindowDrawList()->AddRectFilled(box.min, box.max, faded(Role::accent, 0.5F), metrics().control_radius);
  mirror().add("splitter", id, {}, box.min, box.max);
}

void tip(std::string_view s) {
  if (s.empty() || !ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip | ImGuiHoveredFlags_AllowWhenDisabled)) return;
  tip_over({ImGui::GetItemRectMin(), ImGui::GetItemRectMax()}, s);
}

void tip_over(const Box& box, std::string_view s) {
  if (box.contains(ImGui::GetMousePos())) draw_tip(s);
}

void tip_at(const Box& box, std::string_view s) {
  if (s.empty()) return;
  ImGui::SetNextWindowPos({box.min.x, box.max.y + gap(1)});
  draw_tip(s);
}

}  // namespace fathom::ui::widgets
