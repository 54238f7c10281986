#include "command_button.hpp"

#include <utility>

#include "command.hpp"
#include "keys.hpp"

namespace fathom::ui {

void command_button(App& app, std::string_view id, std::string_view name, std::string_view label, widgets::ButtonOptions options) {
  const Command& command = *command_named(name);
  if (options.tip.empty()) options.tip = command.title;
  options.shortcut = shortcut_of(app, command);
  if (std::string why = command.disabled(app); !why.empty()) options.disabled = std::move(why);
  if (widgets::button(id, label, options)) command.run(app);
}

}  // namespace fathom::ui
