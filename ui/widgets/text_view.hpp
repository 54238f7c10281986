// Lines of code to read: numbers, marks of a difference, names that light up, a caret for mouse and keyboard, selection, copy, search.
// Draws only the lines that are seen.
#pragma once

#include <imgui.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::ui::widgets {

/// Bytes begin … end of a line in an ink of their own; stretches are ascending and do not overlap, what is between is plain text.
struct Stretch {
  std::size_t begin = 0, end = 0;
  ImU32 ink = 0;
  std::string name;  ///< what a click selects; may be empty
};

struct TextLine {
  std::string text;
  std::vector<Stretch> stretches;
  char mark = ' ';      ///< '+' and '-': of a difference; '>': a fold, pressed to open
  int number = 0;       ///< in the margin; 0: none
  std::size_t tag = 0;  ///< the caller's own
};

struct Place {
  std::size_t line = 0, column = 0;  ///< column in bytes
  friend bool operator==(const Place&, const Place&) = default;
  friend auto operator<=>(const Place&, const Place&) = default;
};

/// Of one view; kept by the caller.
struct TextViewState {
  Place caret, anchor;  ///< the selection lies between
  std::string search;
  bool search_is_open = false;
  bool asks_search = false;           ///< by a key of somebody else: it opens and gets the keys
  std::optional<std::size_t> reveal;  ///< line to scroll to, in the next frame, if it is out of view
};

enum class Emphasis : unsigned char { none, hovered, selected };

struct Hit {
  std::size_t line = 0;
  std::string name;
};
struct TextViewEvents {
  std::optional<Hit> hovered;  ///< by the mouse
  std::optional<Hit> chosen;   ///< clicked, or the caret came to it by keys
  std::optional<std::size_t> unfolded;
};

/// Fills what is left of the window. `emphasis` says how a name of a line stands out; `copy` takes what is copied.
TextViewEvents text_view(std::string_view id, const std::vector<TextLine>&, TextViewState&,
                         const std::function<Emphasis(const TextLine&, const std::string& name)>& emphasis,
                         const std::function<void(std::string)>& copy);

}  // namespace fathom::ui::widgets
