// A part of the window as a PNG file.
#pragma once

#include <optional>
#include <string>

#include "app.hpp"

namespace fathom::ui {

/// Reads what was drawn last and is not on the screen yet; `width` and `height` are those of the framebuffer. The error is a sentence.
[[nodiscard]] std::optional<std::string> take_picture(const PictureRequest&, int width, int height);

}  // namespace fathom::ui
