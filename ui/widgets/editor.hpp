// A text of several lines to edit, drawn as the reading view is: names light up, places with a message are underlined, names are completed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "theme.hpp"
#include "widgets/basic.hpp"
#include "widgets/edited_text.hpp"

namespace fathom::ui::widgets {

struct Completion {
  std::string text;
  std::string detail;  ///< what it is, in a word
};

/// What may stand for the beginning of a name; open from the second letter on, or by Ctrl+Space. As long as none is picked by Up or Down
/// it takes no key but Tab, Esc and Down, so that typing goes on as if it were not there.
struct CompletionList {
  bool is_open = false;
  bool asked = false;  ///< by Ctrl+Space: the first is picked
  std::vector<Completion> items;
  std::optional<std::size_t> picked;
  Place begin, end;  ///< the beginning that is completed
  Box box;           ///< of the last frame
};

/// Of one editor; kept by the caller.
struct EditorState {
  EditedText text;
  std::string search;
  bool search_is_open = false;
  bool asks_search = false;     ///< by a key of somebody else: it opens and gets the keys
  std::optional<Place> reveal;  ///< the caret goes there, and gets the keys
  CompletionList completion;
};

/// A wavy line, and its message where the mouse rests.
struct Underlined {
  Place begin, end;
  std::string message;
  Role ink = Role::bad;
};

struct EditorOptions {
  std::function<std::vector<Stretch>(std::string_view line)> stretches;
  std::function<Emphasis(const std::string& name)> emphasis;
  std::vector<Underlined> underlined;
  /// All that could stand after the line's text before the caret; the editor keeps those that begin as the last name does.
  std::function<std::vector<Completion>(std::string_view before)> completions;
  float height = 0;  ///< 0: what is left of the window
};

struct EditorEvents {
  bool changed = false, caret_moved = false;
  std::optional<Hit> hovered, chosen;  ///< as in the reading view
};
EditorEvents editor(std::string_view id, EditorState&, const EditorOptions&);

}  // namespace fathom::ui::widgets
