// A button of a command: what it says, its keys and why it is disabled come from the table.
#pragma once

#include <string_view>

#include "app.hpp"
#include "widgets/basic.hpp"

namespace fathom::ui {

/// Named `id` to the mirror; runs the command where it is pressed. The tooltip is the command's title unless the options have another.
void command_button(App&, std::string_view id, std::string_view command, std::string_view label, widgets::ButtonOptions = {});

}  // namespace fathom::ui
