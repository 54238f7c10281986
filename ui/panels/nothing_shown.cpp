#include "panels/nothing_shown.hpp"

#include "widgets/basic.hpp"

namespace fathom::ui::panels {

void show_errors(App& app) {
  app.view.workspace = Workspace::explore;
  app.view.alone.clear();
  app.view.tab = Tab::program;
}

void nothing_shown(App& app, std::string_view promise) {
  const Diagnostics& wrong = app.document.diagnostics();
  if (wrong.empty()) return widgets::wrapped("Compiling…", Role::muted);
  widgets::wrapped(promise, Role::muted);
  widgets::wrapped(wrong.front().message, Role::bad, Font::caption);
  if (widgets::link("errors", "Show what is wrong")) show_errors(app);
}

}  // namespace fathom::ui::panels
