#include "platform/system_theme.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

namespace fathom::ui {
namespace {

bool says_dark(const std::string& text) { return text.find("dark") != std::string::npos; }

/// The first line that the program prints; empty where there is no such program.
std::string answer_of(const char* command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command, "r"), pclose);
  std::array<char, 128> line{};
  return pipe && std::fgets(line.data(), static_cast<int>(line.size()), pipe.get()) != nullptr ? std::string(line.data()) : std::string();
}

/// GTK's own file, which desktops without a settings service write.
std::optional<Theme> of_settings_file() {
  const char* home = std::getenv("HOME");
  if (home == nullptr) return std::nullopt;
  std::ifstream file(std::string(home) + "/.config/gtk-3.0/settings.ini");
  const std::string key = "gtk-application-prefer-dark-theme";
  for (std::string line; std::getline(file, line);)
    if (line.compare(0, key.size(), key) == 0) {
      const std::size_t equals = line.find('=');
      const std::string value = equals == std::string::npos ? std::string() : line.substr(equals + 1);
      return value.find_first_of("1tT") != std::string::npos ? Theme::dark : Theme::light;
    }
  return std::nullopt;
}

/// In the order in which programs of a desktop ask; dark where nobody says anything.
Theme ask_desktop() {
  if (const char* theme = std::getenv("GTK_THEME"); theme != nullptr && *theme != '\0')
    return says_dark(theme) ? Theme::dark : Theme::light;
  const std::string scheme = answer_of("gsettings get org.gnome.desktop.interface color-scheme 2>/dev/null");
  if (!scheme.empty()) return says_dark(scheme) ? Theme::dark : Theme::light;
  return of_settings_file().value_or(Theme::dark);
}

}  // namespace

Theme SystemTheme::operator()() {
  if (!known_) known_ = ask_desktop();
  return *known_;
}

}  // namespace fathom::ui
