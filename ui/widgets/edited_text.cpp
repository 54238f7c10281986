#include "widgets/edited_text.hpp"

#include <algorithm>
#include <utility>

#include "widgets/text_layout.hpp"

namespace fathom::ui::widgets {
namespace {

constexpr std::size_t most_edits = 1000;
constexpr std::string_view indentation = "  ";

Lines lines_of(const std::vector<std::string>& lines) {
  return {lines.size(), [&lines](std::size_t line) -> std::string_view { return lines[line]; }};
}

/// Breaks of other systems become the one that the lines are kept by.
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> lines(1);
  for (const char c : text)
    if (c == '\n')
      lines.emplace_back();
    else if (c != '\r')
      lines.back() += c;
  return lines;
}

std::string joined(const std::vector<std::string>& lines, std::size_t first, std::size_t last) {
  std::string out;
  for (std::size_t line = first; line <= last && line < lines.size(); ++line) (out += line > first ? "\n" : "") += lines[line];
  return out;
}

Place end_of(Place begin, std::string_view text) {
  const auto breaks = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  if (breaks == 0) return {begin.line, begin.column + text.size()};
  return {begin.line + breaks, text.size() - text.rfind('\n') - 1};
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

}  // namespace

Place place_of(std::string_view text, std::size_t offset) { return end_of({}, text.substr(0, std::min(offset, text.size()))); }

std::string EditedText::text() const { return joined(lines_, 0, lines_.size() - 1); }
std::string EditedText::selected() const { return text_between(lines_of(lines_), anchor, caret); }

/// `removed` stands at `begin`.
void EditedText::write(Place begin, std::string_view removed, std::string_view inserted) {
  ++revision_;
  const Place end = end_of(begin, removed);
  std::vector<std::string> fresh = split(inserted);
  fresh.front().insert(0, lines_[begin.line], 0, begin.column);
  fresh.back().append(lines_[end.line], end.column, std::string::npos);
  const auto first = lines_.begin() + static_cast<std::ptrdiff_t>(begin.line);
  const auto rest = lines_.erase(first, first + static_cast<std::ptrdiff_t>(end.line - begin.line + 1));
  lines_.insert(rest, std::make_move_iterator(fresh.begin()), std::make_move_iterator(fresh.end()));
}

/// A run of typing ends with the word, a run of erasing where the caret was moved.
bool EditedText::joins(const Edit& next) const {
  if (done_.empty() || next.kind == Kind::other || done_.back().kind != next.kind || next.caret != next.anchor) return false;
  const Edit& last = done_.back();
  if (last.caret_after != next.caret) return false;
  if (next.kind == Kind::erased) return true;
  return next.removed.empty() && !last.inserted.empty() && !(is_blank(last.inserted.back()) && !is_blank(next.inserted.front()));
}

bool EditedText::edit(Place begin, Place end, std::string_view with, Kind kind) {
  const Lines lines = lines_of(lines_);
  begin = clamped(lines, begin);
  end = clamped(lines, end);
  if (end < begin) std::swap(begin, end);
  Edit next{begin, text_between(lines, begin, end), joined(split(with), 0, with.size()), caret, anchor, {}, {}, kind};
  if (next.removed == next.inserted) return false;
  write(begin, next.removed, next.inserted);
  caret = anchor = next.caret_after = next.anchor_after = end_of(begin, next.inserted);
  undone_.clear();
  if (!joins(next)) {
    done_.push_back(std::move(next));
    if (done_.size() > most_edits) done_.erase(done_.begin());
    return true;
  }
  Edit& last = done_.back();
  if (kind == Kind::erased) last.removed = begin < last.begin ? next.removed + last.removed : last.removed + next.removed;
  last.begin = std::min(last.begin, begin);
  last.inserted += next.inserted;
  last.caret_after = last.anchor_after = caret;
  return true;
}

void EditedText::type(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = column_after(text, at);
    edit(anchor, caret, text.substr(at, next - at), Kind::typed);
    at = next;
  }
}

void EditedText::insert(std::string_view text) { edit(anchor, caret, text, Kind::other); }
void EditedText::replace(Place begin, Place end, std::string_view with) { edit(begin, end, with, Kind::other); }

void EditedText::select_after(Place from, Place to) {
  anchor = done_.back().anchor_after = from;
  caret = done_.back().caret_after = to;
}

void EditedText::break_line() {
  const Place at = std::min(caret, anchor);
  const std::string& line = lines_[at.line];
  const std::size_t depth = std::min({line.find_first_not_of(" \t"), line.size(), at.column});
  edit(anchor, caret, "\n" + line.substr(0, depth), Kind::other);
}

void EditedText::erase_before(bool word) {
  if (has_selection()) return replace(anchor, caret, {});
  float x = -1;
  edit(moved(lines_of(lines_), caret, word ? Move::word_left : Move::left, 1, x), caret, {}, word ? Kind::other : Kind::erased);
}

void EditedText::erase_after(bool word) {
  if (has_selection()) return replace(anchor, caret, {});
  float x = -1;
  edit(caret, moved(lines_of(lines_), caret, word ? Move::word_right : Move::right, 1, x), {}, word ? Kind::other : Kind::erased);
}

void EditedText::indent() {
  const std::size_t first = std::min(caret, anchor).line, last = std::max(caret, anchor).line;
  if (first == last) return insert(indentation);
  std::string out;
  for (std::size_t line = first; line <= last; ++line) {
    if (line > first) out += '\n';
    if (!lines_[line].empty()) out += indentation;
    out += lines_[line];
  }
  if (edit({first, 0}, {last, lines_[last].size()}, out, Kind::other)) select_after({first, 0}, {last, lines_[last].size()});
}

void EditedText::outdent() {
  const Place begin = std::min(caret, anchor), end = std::max(caret, anchor);
  std::string out;
  std::size_t taken = 0;
  for (std::size_t line = begin.line; line <= end.line; ++line) {
    const std::size_t depth = std::min({lines_[line].find_first_not_of(' '), lines_[line].size(), indentation.size()});
    if (line > begin.line) out += '\n';
    out += lines_[line].substr(depth);
    taken = depth;
  }
  const Place at{caret.line, caret.column - std::min(taken, caret.column)};
  if (!edit({begin.line, 0}, {end.line, lines_[end.line].size()}, out, Kind::other)) return;
  const bool one = begin.line == end.line;
  select_after(one ? at : Place{begin.line, 0}, one ? at : Place{end.line, lines_[end.line].size()});
}

void EditedText::duplicate_line() {
  const Place at = caret;
  const Place end{at.line, lines_[at.line].size()};
  edit(end, end, "\n" + lines_[at.line], Kind::other);
  select_after({at.line + 1, at.column}, {at.line + 1, at.column});
}

std::string EditedText::copied() const { return has_selection() ? selected() : lines_[clamped(lines_of(lines_), caret).line] + "\n"; }

std::string EditedText::cut() {
  std::string out = copied();
  if (has_selection()) {
    edit(anchor, caret, {}, Kind::other);
  } else {
    const std::size_t line = caret.line;
    const bool is_last = line + 1 == lines_.size();
    const Place begin = is_last && line > 0 ? Place{line - 1, lines_[line - 1].size()} : Place{line, 0};
    edit(begin, is_last ? Place{line, lines_[line].size()} : Place{line + 1, 0}, {}, Kind::other);
  }
  return out;
}

/// Only what differs is written, so that a caret outside of it keeps its place.
void EditedText::replace_text(std::string_view text) {
  const std::string old = this->text(), fresh = joined(split(text), 0, text.size());
  if (old == fresh) return;
  const std::size_t least = std::min(old.size(), fresh.size());
  const auto differ = std::mismatch(old.begin(), old.begin() + static_cast<std::ptrdiff_t>(least), fresh.begin());
  std::size_t same = static_cast<std::size_t>(differ.first - old.begin()), below = 0;
  same = std::min(whole_column(old, same), whole_column(fresh, same));
  while (below < least - same && old[old.size() - 1 - below] == fresh[fresh.size() - 1 - below]) ++below;
  while (below > 0 && whole_column(old, old.size() - below) != old.size() - below) --below;
  const std::size_t at = offset_of(caret);
  std::size_t kept = std::min(at, same);
  if (at >= old.size() - below && at > same) kept = fresh.size() - (old.size() - at);
  edit(place_of(old, same), place_of(old, old.size() - below), std::string_view(fresh).substr(same, fresh.size() - same - below),
       Kind::other);
  select_after(place_of(fresh, kept), place_of(fresh, kept));
}

std::size_t EditedText::offset_of(Place at) const {
  at = clamped(lines_of(lines_), at);
  std::size_t offset = at.column;
  for (std::size_t line = 0; line < at.line; ++line) offset += lines_[line].size() + 1;
  return offset;
}

void EditedText::reset(std::string_view text) {
  ++revision_;
  lines_ = split(text);
  done_.clear();
  undone_.clear();
  caret = anchor = {};
}

void EditedText::undo() {
  if (done_.empty()) return;
  Edit last = std::move(done_.back());
  done_.pop_back();
  write(last.begin, last.inserted, last.removed);
  caret = last.caret;
  anchor = last.anchor;
  undone_.push_back(std::move(last));
}

void EditedText::redo() {
  if (undone_.empty()) return;
  Edit next = std::move(undone_.back());
  undone_.pop_back();
  write(next.begin, next.removed, next.inserted);
  caret = next.caret_after;
  anchor = next.anchor_after;
  done_.push_back(std::move(next));
}

}  // namespace fathom::ui::widgets
