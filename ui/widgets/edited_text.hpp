// A text under edit: lines, caret, selection, and what was done to them. No drawing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "widgets/text_view.hpp"

namespace fathom::ui::widgets {

/// Line and column of a byte of the text.
[[nodiscard]] Place place_of(std::string_view text, std::size_t offset);

class EditedText {
 public:
  Place caret, anchor;  ///< the selection lies between; anyone may move them within the text

  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }
  [[nodiscard]] std::string text() const;
  /// Another number after every change.
  [[nodiscard]] std::size_t revision() const { return revision_; }
  [[nodiscard]] bool has_selection() const { return caret != anchor; }
  [[nodiscard]] std::string selected() const;

  /// In place of the selection. What is typed in one go, up to the next word, is undone at once.
  void type(std::string_view);
  /// In place of the selection, undone by itself: what is pasted.
  void insert(std::string_view);
  /// The new line begins as deep as this one.
  void break_line();
  /// The selection; without one the character or word before or after the caret.
  void erase_before(bool word);
  void erase_after(bool word);
  /// Two spaces at the caret, or before all lines of the selection.
  void indent();
  void outdent();
  /// The line of the caret, below itself.
  void duplicate_line();
  /// The selection, or the whole line where there is none.
  std::string cut();
  [[nodiscard]] std::string copied() const;
  void replace(Place begin, Place end, std::string_view with);
  /// Everything, as one edit; a caret outside of what differs keeps its place.
  void replace_text(std::string_view);
  /// Everything, and forgets what was done before.
  void reset(std::string_view);

  /// In bytes of text().
  [[nodiscard]] std::size_t offset_of(Place) const;

  [[nodiscard]] bool can_undo() const { return !done_.empty(); }
  [[nodiscard]] bool can_redo() const { return !undone_.empty(); }
  void undo();
  void redo();

 private:
  enum class Kind : unsigned char { typed, erased, other };
  struct Edit {
    Place begin;
    std::string removed, inserted;
    Place caret, anchor, caret_after, anchor_after;
    Kind kind = Kind::other;
  };
  /// Makes the change and keeps it, with the one before it where both are one run; false where nothing changes.
  bool edit(Place begin, Place end, std::string_view with, Kind);
  [[nodiscard]] bool joins(const Edit&) const;
  void write(Place begin, std::string_view removed, std::string_view inserted);
  /// Where the edit just made leaves anchor and caret, now and when it is done again.
  void select_after(Place from, Place to);

  std::vector<std::string> lines_{std::string()};
  std::vector<Edit> done_, undone_;
  std::size_t revision_ = 0;
};

}  // namespace fathom::ui::widgets
