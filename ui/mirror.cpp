#include "mirror.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace fathom::ui {

Mirror& mirror() {
  static Mirror only;
  return only;
}

void Mirror::begin_frame() {
  frame_.clear();
  order_.clear();
  scopes_.clear();
}

void Mirror::end_frame() {
  shown_ = std::move(frame_);
  frame_ = {};
  const auto at = std::find(order_.begin(), order_.end(), focused_);
  if (at == order_.end()) focused_.clear();
  if (order_.empty() || ImGui::GetIO().WantTextInput || !ImGui::IsKeyPressed(ImGuiKey_Tab)) return;
  const auto count = static_cast<std::ptrdiff_t>(order_.size());
  const std::ptrdiff_t step = ImGui::GetIO().KeyShift ? -1 : 1;
  const std::ptrdiff_t now = at == order_.end() ? (step > 0 ? -1 : 0) : at - order_.begin();
  focused_ = order_[static_cast<std::size_t>((now + step + count) % count)];
  by_keyboard_ = true;
}

void Mirror::push(std::string_view scope) { scopes_.push_back(path(scope)); }
void Mirror::pop() { scopes_.pop_back(); }
std::string Mirror::path(std::string_view id) const { return scopes_.empty() ? std::string(id) : scopes_.back() + "/" + std::string(id); }

void Mirror::add(std::string kind, std::string_view id, std::string text, ImVec2 min, ImVec2 max, bool enabled, bool selected) {
  std::string name = path(id);
  const bool focused = by_keyboard_ && name == focused_;
  frame_.push_back({std::move(kind), std::move(name), std::move(text), min, max, enabled, selected, focused});
}

bool Mirror::focusable(std::string_view id) {
  order_.push_back(path(id));
  return by_keyboard_ && order_.back() == focused_;
}

const MirrorItem* Mirror::find(std::string_view path) const {
  const auto at = std::find_if(shown_.begin(), shown_.end(), [&](const MirrorItem& item) { return item.id == path; });
  return at == shown_.end() ? nullptr : &*at;
}

std::string Mirror::json() const {
  nlohmann::ordered_json items = nlohmann::ordered_json::array();
  for (const MirrorItem& item : shown_)
    items.push_back({{"kind", item.kind},
                     {"id", item.id},
                     {"text", item.text},
                     {"box", {item.min.x, item.min.y, item.max.x, item.max.y}},
                     {"enabled", item.enabled},
                     {"selected", item.selected},
                     {"focused", item.focused}});
  return items.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string Mirror::text_of(std::string_view panel) const {
  const std::string prefix = std::string(panel) + "/";
  std::string out;
  for (const MirrorItem& item : shown_)
    if (!item.text.empty() && item.kind != "word" && item.kind != "term" &&
        (item.id == panel || item.id.compare(0, prefix.size(), prefix) == 0))
      out += item.text + "\n";
  return out;
}

}  // namespace fathom::ui
