// A stop of the tour: a ring around a place of the screen and a sentence beside it. Everything goes on working below.
#include "tour.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mirror.hpp"
#include "panels/panels.hpp"
#include "widgets/line_breaks.hpp"

namespace fathom::ui::panels {
namespace {

/// Below the item, or above it, or beside it: wherever the screen has room; over a large one in its upper part.
ImVec2 place_beside(const Box& item, ImVec2 size) {
  const ImVec2 screen = ImGui::GetIO().DisplaySize;
  const float air = gap(3);
  const auto kept_in = [](float at, float extent, float whole) {
    return std::clamp(at, gap(2), std::max(gap(2), whole - extent - gap(2)));
  };
  const float x = kept_in((item.min.x + item.max.x - size.x) / 2, size.x, screen.x);
  if (item.max.y + air + size.y < screen.y) return {x, item.max.y + air};
  if (item.min.y - air - size.y > 0) return {x, item.min.y - air - size.y};
  const float y = kept_in(item.min.y + metrics().panel_head, size.y, screen.y);
  if (item.max.x + air + size.x < screen.x) return {item.max.x + air, y};
  if (item.min.x - air - size.x > 0) return {item.min.x - air - size.x, y};
  return {x, y};
}

}  // namespace

void tour(App& app) {
  if (!app.tour) return;
  const auto stops = tour_stops();
  const std::size_t number = std::min(*app.tour, stops.size() - 1);
  const MirrorItem* item = mirror().find(stops[number].item);
  const ImVec2 screen = ImGui::GetIO().DisplaySize;
  const Box place = item == nullptr ? Box{{screen.x / 2, screen.y / 3}, {screen.x / 2, screen.y / 3}} : Box{item->min, item->max};
  const float width = std::min(gap(80), screen.x - gap(4)), inner = width - 2 * gap(3);
  const std::string_view words = stops[number].sentence;
  const float text_height = static_cast<float>(widgets::lines_within(words, inner, Font::body).size()) * font(Font::body)->FontSize;
  const ImVec2 size{width, text_height + metrics().row + 2 * gap(2) + gap(3)};
  ImGui::SetNextWindowPos(place_beside(place, size));
  ImGui::SetNextWindowSize(size);
  ImGui::PushStyleColor(ImGuiCol_WindowBg, colour(Role::raised));
  ImGui::PushStyleColor(ImGuiCol_Border, colour(Role::accent));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, metrics().radius);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, hairline());
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {gap(3), gap(2)});
  ImGui::Begin("##tour", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav |
                   ImGuiWindowFlags_NoFocusOnAppearing);
  ImGui::PopStyleVar(3);
  ImGui::PopStyleColor(2);
  if (item != nullptr)
    ImGui::GetForegroundDrawList()->AddRect({place.min.x - gap(0.5F), place.min.y - gap(0.5F)},
                                            {place.max.x + gap(0.5F), place.max.y + gap(0.5F)}, colour(Role::accent), metrics().radius, 0,
                                            metrics().focus_ring);
  const MirrorScope scope("tour");
  widgets::wrapped(words);
  const bool is_last = number + 1 == stops.size();
  widgets::ButtonOptions next;
  next.look = widgets::Look::primary;
  const bool goes_on = widgets::button("next", is_last ? "Done" : "Next", next);
  ImGui::SameLine();
  widgets::ButtonOptions back;
  back.look = widgets::Look::quiet;
  const bool goes_back = number > 0 && widgets::button("back", "Back", back);
  if (number > 0) ImGui::SameLine();
  widgets::ButtonOptions skip;
  skip.look = widgets::Look::quiet;
  skip.shortcut = "Esc";
  const bool ends = !is_last && widgets::button("skip", "Skip", skip);
  ImGui::SameLine();
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() + (metrics().row - font(Font::caption)->FontSize) / 2);
  widgets::text(fmt::format("{} of {}", number + 1, stops.size()), Role::muted, Font::caption);
  ImGui::End();
  if (goes_on) next_stop(app);
  if (goes_back) previous_stop(app);
  if (ends) end_tour(app);
}

}  // namespace fathom::ui::panels
