// A lesson that is open: its page, what was answered, what may be seen already. No drawing.
#pragma once

#include <optional>
#include <string>

#include "app.hpp"
#include "session/lesson.hpp"

namespace fathom::ui {

/// nullptr: no lesson is open.
[[nodiscard]] const session::Lesson* open_lesson(const App&);
[[nodiscard]] const session::Page* open_page(const App&);
[[nodiscard]] PageProgress& progress(App&);
[[nodiscard]] const PageProgress& progress(const App&);
/// The repair that the page asks for; nullptr: none.
[[nodiscard]] const session::WriteRepair* repair_task(const App&);

/// Opens its program as a sample is opened; what was open is gone.
void start_lesson(App&, const session::Lesson&);
/// The program stays open as it is.
void leave_lesson(App&);
/// Shows its step and what is looked at.
void turn_to_page(App&, std::size_t);

/// Is a question of the page open? What answers it is not shown until then.
[[nodiscard]] bool hides_answer(const App&);
/// The page that has the person write this consumer's repair, or another one that is the same line, and where that is not done yet.
/// Nothing shows the line until then.
[[nodiscard]] std::optional<std::size_t> page_to_write(const App&, const std::string& consumer);
/// Would the derivation of the consumer's repair give an answer away?
[[nodiscard]] bool hides_derivation(const App&, const std::string& consumer);
/// Everything that the page asks for is done.
[[nodiscard]] bool is_page_done(const App&);
/// Answers the question of the page.
void give_answer(App&, const std::string&);
/// Gives the answer, or does what the page asks for.
void show_answer(App&);

/// The reduction that the why column is about: that of the page's repair, what was picked, what the step decides about, the first repaired
/// one; empty: there is none.
[[nodiscard]] std::string why_consumer(const App&);

/// Notes what was done; called in each frame, before anything is drawn.
void follow_lesson(App&);

}  // namespace fathom::ui
