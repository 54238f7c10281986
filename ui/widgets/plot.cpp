#include "widgets/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "mirror.hpp"
#include "widgets/basic.hpp"

namespace fathom::ui::widgets {
namespace {

constexpr double decades_with_halves = 3;  ///< up to so many, a logarithmic axis has ticks at 2 and 5, too

struct Span {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  void take(double value, bool is_log) {
    if (!std::isfinite(value) || (is_log && value <= 0)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

/// Both ends a little farther out than the data; a line of one value has room on both sides.
Span widened(Span span, const PlotAxis& axis) {
  if (!(span.low <= span.high)) span = {axis.is_log ? 1.0 : 0.0, axis.is_log ? 10.0 : 1.0};
  constexpr double part = 0.06, beside_a_thing = 0.4;
  if (axis.is_whole && !axis.is_log) return {span.low - beside_a_thing, span.high + beside_a_thing};
  if (axis.is_log) {
    const double factor = std::max(std::pow(span.high / span.low, part), 1.3);
    return {span.low / factor, span.high * factor};
  }
  const double room = span.high > span.low ? (span.high - span.low) * part : std::max(std::abs(span.high) * part, 1e-9);
  return {span.low - room, span.high + room};
}

/// From values to the screen.
struct Frame {
  Box box;
  Span x, y;
  bool x_log = false, y_log = false;
  [[nodiscard]] static double part(double value, const Span& span, bool is_log) {
    if (!is_log) return (value - span.low) / (span.high - span.low);
    return std::log(std::max(value, std::numeric_limits<double>::min()) / span.low) / std::log(span.high / span.low);
  }
  [[nodiscard]] ImVec2 at(double px, double py) const {
    constexpr double far = 8;  // beyond the clip, within what a float carries
    const double u = std::clamp(part(px, x, x_log), -far, far), v = std::clamp(part(py, y, y_log), -far, far);
    return {box.min.x + static_cast<float>(u) * box.width(), box.max.y - static_cast<float>(v) * box.height()};
  }
};

Frame frame_for(const PlotContent& content) {
  Frame frame;
  frame.x_log = content.x.is_log;
  frame.y_log = content.y.is_log;
  for (const PlotLine& line : content.lines)
    for (const auto& [x, y] : line.points) {
      frame.x.take(x, frame.x_log);
      frame.y.take(y, frame.y_log);
    }
  for (const PlotPoint& point : content.points) {
    frame.x.take(point.x, frame.x_log);
    for (const double y : {point.y, point.low.value_or(point.y), point.high.value_or(point.y)}) frame.y.take(y, frame.y_log);
  }
  const bool from_zero = !content.y.is_log;
  frame.x = widened(frame.x, content.x);
  frame.y = widened(frame.y, content.y);
  if (from_zero) frame.y.low = 0;  // heights are compared by eye
  if (!(frame.y.high > frame.y.low)) frame.y.high = frame.y.low + 1;
  return frame;
}

void draw_mark(ImDrawList& list, ImVec2 at, PlotMark mark, ImU32 ink, float radius) {
  const float line = std::max(hairline(), radius / 2.5F);
  switch (mark) {
    case PlotMark::disc:
      list.AddCircleFilled(at, radius, ink);
      break;
    case PlotMark::ring:
      list.AddCircle(at, radius, ink, 0, line);
      break;
    case PlotMark::square:
      list.AddRectFilled({at.x - radius, at.y - radius}, {at.x + radius, at.y + radius}, ink);
      break;
    case PlotMark::diamond:
      list.AddQuadFilled({at.x, at.y - radius}, {at.x + radius, at.y}, {at.x, at.y + radius}, {at.x - radius, at.y}, ink);
      break;
    case PlotMark::cross:
      list.AddLine({at.x - radius, at.y - radius}, {at.x + radius, at.y + radius}, ink, line);
      list.AddLine({at.x - radius, at.y + radius}, {at.x + radius, at.y - radius}, ink, line);
      break;
  }
}

void draw_segment(ImDrawList& list, ImVec2 from, ImVec2 to, ImU32 ink, bool is_dashed) {
  const float width = hairline() * 1.5F;
  if (!is_dashed) return list.AddLine(from, to, ink, width);
  const float dash = gap(1.5F), dx = to.x - from.x, dy = to.y - from.y, length = std::sqrt(dx * dx + dy * dy);
  for (float at = 0; at < length; at += 2 * dash) {
    const float end = std::min(at + dash, length);
    list.AddLine({from.x + dx * at / length, from.y + dy * at / length}, {from.x + dx * end / length, from.y + dy * end / length}, ink,
                 width);
  }
}

void draw_line(ImDrawList& list, const Frame& frame, const PlotLine& line) {
  const ImU32 ink = colour(line.role);
  for (std::size_t i = 0; i + 1 < line.points.size(); ++i) {
    const ImVec2 from = frame.at(line.points[i].first, line.points[i].second);
    const ImVec2 to = frame.at(line.points[i + 1].first, line.points[i + 1].second);
    if (line.is_filled)
      list.AddRectFilled({from.x, from.y}, {std::max(to.x - hairline(), from.x + hairline()), frame.box.max.y}, faded(line.role, 0.28F));
    if (line.is_stepped) {
      draw_segment(list, from, {to.x, from.y}, ink, line.is_dashed);
      draw_segment(list, {to.x, from.y}, to, ink, line.is_dashed);
    } else {
      draw_segment(list, from, to, ink, line.is_dashed);
    }
  }
}

/// The name of a line of the diagram: where it stands above it.
struct LineName {
  std::size_t line = 0;  ///< number in PlotContent
  std::string words;
  float left = 0;
  std::size_t row = 0;
};

constexpr float sample_length = 5, after_sample = 1, between_names = 3;  // gaps

/// From the right: beside the axis' title in the first row, then in rows of their own.
std::vector<LineName> place_names(const std::vector<PlotLine>& lines, float title_end, float begin, float end) {
  std::vector<LineName> names;
  const float sample = gap(sample_length + after_sample);
  float right = end;
  std::size_t row = 0;
  for (std::size_t i = lines.size(); i-- > 0;) {
    if (lines[i].words.empty()) continue;
    const float width = measure(lines[i].words, Font::caption).x;
    const auto has_room = [&] { return right - width - sample >= (row == 0 ? title_end : begin); };
    if (!has_room() && (right < end || row == 0)) right = end, ++row;
    names.push_back({i, has_room() ? lines[i].words : cut_to(lines[i].words, end - begin - sample, Font::caption), 0, row});
    names.back().left = right - measure(names.back().words, Font::caption).x;
    right = names.back().left - sample - gap(between_names);
  }
  return names;
}

float height_of_rows(const std::vector<LineName>& names) {
  const float row = font(Font::caption)->FontSize + gap(1);
  return names.empty() ? row : row * static_cast<float>(names.back().row + 1);
}

void draw_names(ImDrawList& list, float top, const std::vector<LineName>& names, const std::vector<PlotLine>& lines) {
  for (const LineName& each : names) {
    const PlotLine& line = lines[each.line];
    const ImVec2 extent = measure(each.words, Font::caption);
    const float above = top + static_cast<float>(each.row) * (font(Font::caption)->FontSize + gap(1)), y = above + extent.y / 2;
    mirror().add("text", fmt::format("line.{}", each.line), line.words, {each.left, above}, {each.left + extent.x, above + extent.y});
    draw_text(list, {each.left, above}, each.words, colour(line.role), Font::caption);
    draw_segment(list, {each.left - gap(sample_length + after_sample), y}, {each.left - gap(after_sample), y}, colour(line.role),
                 line.is_dashed);
  }
}

/// More room at the ends of an axis of `length` pixels, so that marks at the ends of the data are whole.
void make_room(Span& span, bool is_log, float length, bool at_low) {
  constexpr float mark = 3, most = 0.3F;  // gaps; of the length
  const double part = std::min(gap(mark) / std::max(1.0F, length), most);
  const double low = is_log ? std::log(span.low) : span.low, high = is_log ? std::log(span.high) : span.high;
  const double room = (high - low) * part / (1 - part * (at_low ? 2 : 1));
  const double above = high + room, below = at_low ? low - room : low;
  span.high = is_log ? std::exp(above) : above;
  if (at_low) span.low = is_log ? std::exp(below) : below;
}

/// Powers of ten of a logarithmic axis are wanted most.
int rank_of(double value, const PlotAxis& axis) {
  constexpr double close = 1e-6;
  const double power = std::log10(std::max(value, std::numeric_limits<double>::min()));
  return axis.is_log && std::abs(power - std::round(power)) > close ? 1 : 0;
}

/// Ticks with their texts, where they do not touch others.
void draw_axes(ImDrawList& list, const Frame& frame, const PlotContent& content) {
  const float text_height = font(Font::caption)->FontSize;
  const int most_x = std::max(2, static_cast<int>(frame.box.width() / gap(16))),
            most_y = std::max(2, static_cast<int>(frame.box.height() / gap(9)));
  const std::vector<double> along = ticks_between(frame.x.low, frame.x.high, content.x, most_x),
                            up = ticks_between(frame.y.low, frame.y.high, content.y, most_y);
  std::vector<TickLabel> places;
  for (const double value : along) {
    const float x = frame.at(value, frame.y.low).x, width = measure(content.x.text(value), Font::caption).x;
    const float left = std::clamp(x - width / 2, frame.box.min.x, std::max(frame.box.min.x, frame.box.max.x - width));
    places.push_back({left, left + width, rank_of(value, content.x)});
  }
  std::vector<bool> has_room = labels_with_room(places, gap(2));
  for (std::size_t i = 0; i < along.size(); ++i) {
    const float x = frame.at(along[i], frame.y.low).x;
    list.AddLine({x, frame.box.min.y}, {x, frame.box.max.y}, faded(Role::line, 0.6F), hairline());
    if (!has_room[i]) continue;
    draw_text(list, {places[i].begin, frame.box.max.y + gap(0.5F)}, content.x.text(along[i]), colour(Role::muted), Font::caption);
  }
  places.clear();
  for (const double value : up) {
    const float y = frame.at(frame.x.low, value).y;
    places.push_back({y - text_height / 2, y + text_height / 2, rank_of(value, content.y)});
  }
  has_room = labels_with_room(places, gap(0.5F));
  for (std::size_t i = 0; i < up.size(); ++i) {
    const float y = frame.at(frame.x.low, up[i]).y;
    list.AddLine({frame.box.min.x, y}, {frame.box.max.x, y}, faded(Role::line, 0.6F), hairline());
    if (!has_room[i]) continue;
    const std::string text = content.y.text(up[i]);
    draw_text(list, {frame.box.min.x - gap(1.5F) - measure(text, Font::caption).x, places[i].begin}, text, colour(Role::muted),
              Font::caption);
  }
  list.AddLine({frame.box.min.x, frame.box.max.y}, frame.box.max, colour(Role::muted), hairline());
  list.AddLine(frame.box.min, {frame.box.min.x, frame.box.max.y}, colour(Role::muted), hairline());
}

float widest_tick(const Frame& frame, const PlotAxis& axis, float height) {
  float widest = 0;
  for (const double value : ticks_between(frame.y.low, frame.y.high, axis, std::max(2, static_cast<int>(height / gap(9)))))
    widest = std::max(widest, measure(axis.text(value), Font::caption).x);
  return widest;
}

std::optional<std::size_t> point_near(const Frame& frame, const std::vector<PlotPoint>& points, ImVec2 mouse) {
  constexpr float reach = 3;  // gaps
  float nearest = gap(reach) * gap(reach);
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const ImVec2 at = frame.at(points[i].x, points[i].y);
    const float dx = at.x - mouse.x, dy = at.y - mouse.y, distance = dx * dx + dy * dy;
    if (distance <= nearest) nearest = distance, found = i;
  }
  return found;
}

/// The next point that can be chosen, in that direction from the selected one.
std::optional<std::size_t> neighbour(const std::vector<PlotPoint>& points, int direction) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i].answers) order.push_back(i);
  if (order.empty()) return std::nullopt;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return points[a].x < points[b].x; });
  const auto here = std::find_if(order.begin(), order.end(), [&](std::size_t i) { return points[i].selected; });
  if (here == order.end()) return direction > 0 ? order.front() : order.back();
  const auto next = (here - order.begin()) + direction;
  return order[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(next, 0, static_cast<std::ptrdiff_t>(order.size()) - 1))];
}

void draw_points(ImDrawList& list, const Frame& frame, const std::vector<PlotPoint>& points, std::optional<std::size_t> hovered) {
  const float radius = gap(1);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const PlotPoint& point = points[i];
    const ImVec2 at = frame.at(point.x, point.y);
    const ImU32 ink = colour(point.role);
    if (point.low && point.high) {
      const float top = frame.at(point.x, *point.high).y, bottom = frame.at(point.x, *point.low).y, half = gap(0.75F);
      list.AddLine({at.x, top}, {at.x, bottom}, ink, hairline() * 1.5F);
      list.AddLine({at.x - half, top}, {at.x + half, top}, ink, hairline());
      list.AddLine({at.x - half, bottom}, {at.x + half, bottom}, ink, hairline());
    }
    draw_mark(list, at, point.mark, ink, radius);
    if (point.selected || hovered == i) list.AddCircle(at, radius + gap(1), colour(Role::accent), 0, metrics().focus_ring);
    mirror().add("point", point.id, point.words, {at.x - radius, at.y - radius}, {at.x + radius, at.y + radius}, point.answers,
                 point.selected);
  }
}

}  // namespace

std::vector<double> ticks_between(double low, double high, const PlotAxis& axis, int most) {
  std::vector<double> ticks;
  if (!(low < high) || !std::isfinite(low) || !std::isfinite(high)) return ticks;
  if (axis.is_log) {
    const bool halves = std::log10(high / low) < decades_with_halves;
    const int first = static_cast<int>(std::floor(std::log10(low))), last = static_cast<int>(std::ceil(std::log10(high)));
    const int stride = std::max(1, (last - first) / std::max(1, most));
    for (int power = first; power <= last; power += stride)
      for (const double factor : {1.0, 2.0, 5.0}) {
        const double value = factor * std::pow(10.0, power);
        if ((factor == 1.0 || halves) && value >= low && value <= high) ticks.push_back(value);
      }
    return ticks;
  }
  if (axis.is_bytes) {
    constexpr double kibi = 1024;
    PlotAxis plain = axis;
    plain.is_bytes = false;
    const double unit = high < kibi ? 1 : std::pow(kibi, std::floor(std::log(high) / std::log(kibi)));
    ticks = ticks_between(low / unit, high / unit, plain, most);
    for (double& tick : ticks) tick *= unit;
    return ticks;
  }
  const double rough = (high - low) / std::max(1, most), power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = power * 10;
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough) {
      step = factor * power;
      break;
    }
  if (axis.is_whole) step = std::max(1.0, std::ceil(step));
  constexpr int most_ticks = 100;
  for (double value = std::ceil(low / step) * step; value <= high && static_cast<int>(ticks.size()) < most_ticks; value += step)
    ticks.push_back(std::abs(value) < step / 2 ? 0 : value);
  return ticks;
}

std::vector<bool> labels_with_room(const std::vector<TickLabel>& labels, float between) {
  std::vector<bool> has_room(labels.size(), false);
  std::vector<std::size_t> order(labels.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return labels[a].rank < labels[b].rank; });
  for (const std::size_t i : order) {
    bool is_free = true;
    for (std::size_t k = 0; k < labels.size(); ++k)
      is_free = is_free && (!has_room[k] || labels[i].begin >= labels[k].end + between || labels[i].end + between <= labels[k].begin);
    has_room[i] = is_free;
  }
  return has_room;
}

PlotEvents plot(std::string_view id, const PlotContent& content, ImVec2 size) {
  const Pressable state = pressable(id, size);
  mirror().add("plot", id, content.y.title + " over " + content.x.title, state.box.min, state.box.max);
  const MirrorScope scope(id);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float line = font(Font::caption)->FontSize;
  Frame frame = frame_for(content);
  const float title_end = state.box.min.x + measure(content.y.title, Font::caption).x + gap(between_names);
  const std::vector<LineName> names = place_names(content.lines, title_end, state.box.min.x, state.box.max.x - gap(2));
  const float top = state.box.min.y + height_of_rows(names) + gap(0.5F), bottom = state.box.max.y - 2 * line - gap(2);
  make_room(frame.y, content.y.is_log, bottom - top, content.y.is_log);
  const float left = widest_tick(frame, content.y, bottom - top) + gap(2.5F);
  frame.box = {{state.box.min.x + left, top}, {state.box.max.x - gap(2), bottom}};
  if (!content.x.is_whole) make_room(frame.x, content.x.is_log, frame.box.width(), true);
  if (frame.box.width() < gap(4) || frame.box.height() < gap(4)) return {};
  draw_text(list, {state.box.min.x, state.box.min.y}, content.y.title, colour(Role::muted), Font::caption);
  const float title_width = measure(content.x.title, Font::caption).x;
  draw_text(list, {frame.box.max.x - title_width, state.box.max.y - line}, content.x.title, colour(Role::muted), Font::caption);
  draw_axes(list, frame, content);
  PlotEvents events;
  if (state.hovered) events.hovered = point_near(frame, content.points, ImGui::GetMousePos());
  list.PushClipRect({frame.box.min.x - gap(2), frame.box.min.y - gap(0.5F)}, {frame.box.max.x + gap(2), frame.box.max.y + gap(1)}, true);
  for (const PlotLine& each : content.lines) draw_line(list, frame, each);
  draw_points(list, frame, content.points, events.hovered);
  list.PopClipRect();
  draw_names(list, state.box.min.y, names, content.lines);
  focus_ring(state.box, state.focused);
  if (events.hovered) {
    const ImVec2 at = frame.at(content.points[*events.hovered].x, content.points[*events.hovered].y);
    tip_over({{at.x - gap(4), at.y - gap(4)}, {at.x + gap(4), at.y + gap(4)}}, content.points[*events.hovered].words);
  }
  if (state.pressed && state.hovered && events.hovered && content.points[*events.hovered].answers) events.chosen = events.hovered;
  if (state.focused && !ImGui::GetIO().WantTextInput) {
    if (ImGui::IsKeyPressed(ImGuiKey_DownArrow)) events.chosen = neighbour(content.points, 1);
    if (ImGui::IsKeyPressed(ImGuiKey_UpArrow)) events.chosen = neighbour(content.points, -1);
  }
  return events;
}

}  // namespace fathom::ui::widgets
