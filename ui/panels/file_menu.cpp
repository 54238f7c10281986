// The menu at the left of the bar: files, history, settings. Titles, keys and reasons come from the table of commands.
#include <array>

#include "command.hpp"
#include "icons.hpp"
#include "keys.hpp"
#include "panels/panels.hpp"
#include "widgets/menu.hpp"

namespace fathom::ui::panels {
namespace {

struct MenuEntry {
  std::string_view command;
  bool begins_group = false;
};
constexpr std::array menu_entries = std::to_array<MenuEntry>({{"file.new"},
                                                              {"file.open"},
                                                              {"file.sample"},
                                                              {"file.save", true},
                                                              {"file.save-as"},
                                                              {"file.save-program"},
                                                              {"export.html", true},
                                                              {"export.trace", false},
                                                              {"panel.save-picture"},
                                                              {"panel.save-text"},
                                                              {"panel.copy-text"},
                                                              {"edit.history", true},
                                                              {"view.settings", true},
                                                              {"view.keys"},
                                                              {"help.glossary"},
                                                              {"help.notation"},
                                                              {"help.tour"},
                                                              {"app.quit", true}});

}  // namespace

void file_menu(App& app, bool has_room) {
  std::vector<widgets::MenuRow> rows;
  for (const MenuEntry& entry : menu_entries) {
    const Command& command = *command_named(entry.command);
    rows.push_back(
        {std::string(command.id), std::string(command.title), shortcut_of(app, command), command.disabled(app), false, entry.begins_group});
  }
  widgets::ButtonOptions options;
  options.look = widgets::Look::quiet;
  options.tip = "Open, save, export, settings";
  if (const auto taken = widgets::menu_button("menu", has_room ? "≡ File" : "≡", options, rows)) run_command(app, rows[*taken].id);
}

}  // namespace fathom::ui::panels
