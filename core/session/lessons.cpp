// The lessons that are part of the program.
#include <algorithm>

#include "ir/embedded_text.hpp"
#include "session/lesson.hpp"

extern const EmbeddedText embedded_lessons[];
extern const unsigned embedded_lessons_count;

namespace fathom::session {

const std::vector<Lesson>& lessons() {
  static const std::vector<Lesson> all = [] {
    std::vector<Lesson> list;
    for (unsigned i = 0; i < embedded_lessons_count; ++i)
      if (auto lesson = parse_lesson(embedded_lessons[i].text, embedded_lessons[i].name)) list.push_back(*std::move(lesson));
    return list;
  }();
  return all;
}

/// By the name of its file, with or without its number.
const Lesson* lesson_named(std::string_view name) {
  const auto& all = lessons();
  const auto is_it = [&](const Lesson& each) {
    const std::string_view whole = each.name;
    const auto dash = whole.find('-');
    return whole == name || (dash != std::string_view::npos && whole.substr(dash + 1) == name);
  };
  const auto at = std::find_if(all.begin(), all.end(), is_it);
  return at == all.end() ? nullptr : &*at;
}

}  // namespace fathom::session
