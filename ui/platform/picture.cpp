#include "platform/picture.hpp"

#include <GLFW/glfw3.h>
#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "session_files.hpp"

namespace fathom::ui {

std::optional<std::string> take_picture(const PictureRequest& request, int width, int height) {
  // Input and framebuffer have the same pixels on the desktops that GLFW's X11 and Wayland serve; elsewhere Dear ImGui says the factor.
  const ImVec2 factor = ImGui::GetIO().DisplayFramebufferScale;
  const int left = std::clamp(static_cast<int>(std::floor(request.min.x * factor.x)), 0, width);
  const int right = std::clamp(static_cast<int>(std::ceil(request.max.x * factor.x)), left, width);
  const int top = std::clamp(static_cast<int>(std::floor(request.min.y * factor.y)), 0, height);
  const int bottom = std::clamp(static_cast<int>(std::ceil(request.max.y * factor.y)), top, height);
  if (left == right || top == bottom) return "The panel has no place on the screen: there is nothing to take a picture of.";
  constexpr std::size_t channels = 4;
  std::vector<unsigned char> pixels(static_cast<std::size_t>(right - left) * static_cast<std::size_t>(bottom - top) * channels);
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(left, height - bottom, right - left, bottom - top, GL_RGBA, GL_UNSIGNED_BYTE, pixels.data());
  for (std::size_t i = channels - 1; i < pixels.size(); i += channels) pixels[i] = 0xFF;  // what blending left there says nothing
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(right - left);
  image.height = static_cast<png_uint_32>(bottom - top);
  image.format = PNG_FORMAT_RGBA;
  const auto row = -static_cast<png_int_32>(image.width * channels);  // OpenGL's lowest row is the first
  std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t size = bytes.size();
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), row, nullptr) == 0)
    return fmt::format("No picture could be made: {}.", image.message);
  bytes.resize(size);
  return write_whole(request.path, bytes);  // nobody ever sees half a file
}

}  // namespace fathom::ui
