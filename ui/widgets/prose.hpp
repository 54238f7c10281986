// Running text whose terms of the field say what they mean: underlined with dots, a tooltip for mouse and keyboard.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string_view>

#include "widgets/basic.hpp"

namespace fathom::ui::widgets {

/// Terms that a panel has explained in this frame: each is marked where it stands first.
using Explained = std::set<std::size_t>;

/// Broken at words to the width that is left. The term that was pressed in this frame, by its place in the glossary.
std::optional<std::size_t> prose(std::string_view, Explained&, Role = Role::text, Font = Font::body);
/// A label that is a term as a whole, under a name of its own.
bool term(std::string_view word, std::string_view label, Role = Role::text, Font = Font::body);

}  // namespace fathom::ui::widgets
