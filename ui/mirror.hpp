// What the screen holds, in words: every item of the frame with its place. Tests click by it, the text dump prints it, screen readers get
// it. Also the order in which Tab moves the keyboard's focus.
#pragma once

#include <imgui.h>

#include <string>
#include <string_view>
#include <vector>

namespace fathom::ui {

struct MirrorItem {
  std::string kind;  ///< button | tab | row | field | text | panel | dot | word …
  std::string id;    ///< path of panels and items: "steps/o/i/tile"
  std::string text;
  ImVec2 min, max;  ///< device pixels
  bool enabled = true, selected = false, focused = false;
};

class Mirror {
 public:
  void begin_frame();
  /// Moves the focus where Tab was pressed; forgets it where its item is gone.
  void end_frame();
  /// Items between are named below the scope: "steps/" + id.
  void push(std::string_view scope);
  void pop();
  [[nodiscard]] std::string path(std::string_view id) const;

  void add(std::string kind, std::string_view id, std::string text, ImVec2 min, ImVec2 max, bool enabled = true, bool selected = false);
  /// An item that the keyboard reaches: does it have the focus, by keyboard? Call it before `add`, once a frame.
  [[nodiscard]] bool focusable(std::string_view id);
  void focus(std::string path) { focused_ = std::move(path); }
  /// As Tab does: the item shows its ring and takes keys.
  void reach(std::string path) { focused_ = std::move(path), by_keyboard_ = true; }
  /// Tab goes on from here; the item was reached by mouse, so that it shows no ring and takes no keys.
  void touch(std::string path) { focused_ = std::move(path), by_keyboard_ = false; }
  [[nodiscard]] const std::string& focused() const { return focused_; }
  [[nodiscard]] bool is_by_keyboard() const { return by_keyboard_; }

  /// Of the last whole frame.
  [[nodiscard]] const std::vector<MirrorItem>& items() const { return shown_; }
  [[nodiscard]] const MirrorItem* find(std::string_view path) const;
  [[nodiscard]] std::string json() const;
  /// Texts of the panel in reading order; words of code, and terms, are in their lines already.
  [[nodiscard]] std::string text_of(std::string_view panel) const;

 private:
  std::vector<MirrorItem> shown_, frame_;
  std::vector<std::string> scopes_, order_;
  std::string focused_;
  bool by_keyboard_ = false;
};

/// The frame's own mirror.
[[nodiscard]] Mirror& mirror();

/// For a block of code: items inside are named below the scope.
class MirrorScope {
 public:
  explicit MirrorScope(std::string_view scope) { mirror().push(scope); }
  ~MirrorScope() { mirror().pop(); }
  MirrorScope(const MirrorScope&) = delete;
  MirrorScope& operator=(const MirrorScope&) = delete;
};

}  // namespace fathom::ui
