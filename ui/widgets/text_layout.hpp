// What the reading view and the editor share: characters, words and moves of a caret in UTF-8 lines, the scrolled area with its margin,
// how a line is drawn, the line of the search. Only for files of this folder.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "widgets/basic.hpp"
#include "widgets/text_view.hpp"

struct ImGuiWindow;

namespace fathom::ui::widgets {

/// Lines wherever they are kept; a number that is too large is an empty line.
struct Lines {
  std::size_t count = 0;
  std::function<std::string_view(std::size_t)> get;
  std::string_view operator[](std::size_t line) const { return line < count ? get(line) : std::string_view(); }
  [[nodiscard]] Place end() const { return count == 0 ? Place{} : Place{count - 1, get(count - 1).size()}; }
};

// ---- columns: they count bytes and stand before whole characters ----
[[nodiscard]] std::size_t whole_column(std::string_view line, std::size_t column);
[[nodiscard]] std::size_t column_before(std::string_view line, std::size_t column);
[[nodiscard]] std::size_t column_after(std::string_view line, std::size_t column);
[[nodiscard]] bool is_word_character(std::string_view line, std::size_t column);
struct Columns {
  std::size_t begin = 0, end = 0;
};
/// What a double click takes: the word about the column, else the one character.
[[nodiscard]] Columns word_at(std::string_view line, std::size_t column);
/// Where the code face draws the column, from the line's begin, and back: the column whose edge is nearest.
[[nodiscard]] float x_of(std::string_view line, std::size_t column);
[[nodiscard]] std::size_t column_near(std::string_view line, float x);

// ---- places ----
[[nodiscard]] Place clamped(const Lines&, Place);
[[nodiscard]] std::string text_between(const Lines&, Place, Place);
enum class Move : unsigned char { left, right, up, down, word_left, word_right, home, end, page_up, page_down, first, last };
/// `x` is where the caret wants to be when it crosses shorter lines; below 0: where it is.
[[nodiscard]] Place moved(const Lines&, Place, Move, std::size_t page, float& x);
/// Capitals count: s and S are two names here.
[[nodiscard]] std::vector<Place> places_of(const Lines&, std::string_view query);

// ---- the area ----
/// The part of the screen with the lines, open between begin_area and end_area.
struct Area {
  ImGuiID id = 0;
  ImGuiWindow* window = nullptr;
  Box box;  ///< margin and what is seen of the text
  float numbers_right = 0, marks_left = 0;
  float text_left = 0;  ///< where the margin ends
  float x = 0, y = 0;   ///< of the first line's begin: moves with scrolling
  float line_height = 0;
  std::size_t first = 0, last = 0;  ///< lines that are seen: first … last - 1
  bool hovered = false;
  bool focused = false;  ///< has the keys
  bool entered = false;  ///< got them by a key of this frame, which is no input to the text
  std::string path;      ///< of the mirror

  [[nodiscard]] Place place_near(const Lines&, ImVec2) const;
  /// The character under the point; none beside the text.
  [[nodiscard]] std::optional<Place> place_under(const Lines&, ImVec2) const;
  [[nodiscard]] Box box_of(const Lines&, std::size_t line, Columns) const;
  [[nodiscard]] Box row_of(std::size_t line) const;
};
struct Margin {
  int greatest = 0;                       ///< number; 0: no numbers
  std::function<char(std::size_t)> mark;  ///< of a line; may be empty
};
/// Fills what is left of the window, or `height`. The item is named below the scope that is open, its words below the item.
[[nodiscard]] Area begin_area(std::string_view id, const Lines&, const Margin&, float height = 0);
/// `lines` as they are now: what was added can be scrolled to.
void end_area(const Area&, const Lines&);
void focus(Area&);
/// Gives the keys back; Tab goes on from here.
void leave(Area&);
/// Did the mouse go down somewhere else?
[[nodiscard]] bool is_left_by_mouse(const Area&);
/// Keeps the keys from everyone else while the area is focused, shortcuts of the explorer included.
void own_keys(const Area&, std::initializer_list<ImGuiKey>);
/// Was the key pressed (or does it repeat) for this area?
[[nodiscard]] bool is_pressed(const Area&, ImGuiKey);
/// With Ctrl and without Shift or Alt.
[[nodiscard]] bool is_pressed_with_ctrl(const Area&, ImGuiKey);
void scroll_to(const Area&, const Lines&, Place);
/// Scrolls so that the line stands a third below the top, if it is out of view.
void scroll_to_line(const Area&, std::size_t line);

struct CaretEvents {
  bool clicked = false;  ///< the mouse went down in the text
  bool by_keys = false;
};
/// Mouse and keys move the caret and select; keys only while the area is focused.
CaretEvents move_caret(Area&, const Lines&, Place& caret, Place& anchor);

// ---- drawing ----
struct LineLook {
  const std::vector<Stretch>* stretches = nullptr;
  char mark = ' ';
  int number = 0;
};
struct Drawing {
  Place caret, anchor;
  bool is_edited = false;  ///< the caret blinks, its line has a ground
  std::string_view query;  ///< highlighted; may be empty
  std::function<LineLook(std::size_t)> look;
  std::function<Emphasis(std::size_t line, const std::string& name)> emphasis;
};
/// The lines that are seen. Each name is a word of the mirror, named LINE:COLUMN as a Place counts.
void draw_area(const Area&, const Lines&, const Drawing&);
void draw_range(const Area&, const Lines&, Place from, Place to, ImU32 ground);
[[nodiscard]] const Stretch* name_at(const std::vector<Stretch>&, std::size_t column);

// ---- search ----
/// Draws the line of the search while it is open, above the area. True where the selection went to a match.
bool search_line(std::string_view id, const Lines&, std::string& query, bool& is_open, Place& caret, Place& anchor);
/// Where the search, in the window around the area, says that the area gets the keys back.
inline constexpr const char* kept_return = "return";
/// Opens it, with what is selected as the query, and gives it the keys.
void open_search(std::string_view id, const Lines&, std::string& query, bool& is_open, Place caret, Place anchor);

}  // namespace fathom::ui::widgets
