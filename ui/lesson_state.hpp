// How far a person is in a lesson: kept in session files, so that the lesson goes on where it was left.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace fathom::ui {

struct PageProgress {
  std::string given;  ///< the last answer to the question
  int tries = 0;      ///< answers and repairs that were wrong
  int hints = 0;      ///< that were asked for
  bool answered = false, done = false, was_shown = false;
  friend bool operator==(const PageProgress&, const PageProgress&) = default;
};

struct LessonProgress {
  std::string name;  ///< of the lesson; empty: none is open
  std::size_t page = 0;
  std::map<std::size_t, PageProgress> pages;
  friend bool operator==(const LessonProgress&, const LessonProgress&) = default;
};

}  // namespace fathom::ui
