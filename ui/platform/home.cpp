#include "platform/home.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "files.hpp"

namespace fathom::ui {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kept_prefix = "left-by-", kept_ending = ".session.json";

/// The user's folder of a kind, ours in it; empty where there is no home.
std::string our_folder(const char* variable, const char* below_home) {
  const char* given = std::getenv(variable);
  const char* home = std::getenv("HOME");
  if (given != nullptr && *given != '\0') return std::string(given) + "/fathom";
  return home == nullptr ? std::string() : fmt::format("{}/{}/fathom", home, below_home);
}

bool make_folder(const std::string& folder) {
  std::error_code error;
  return !folder.empty() && (fs::create_directories(folder, error) || fs::is_directory(folder, error));
}

/// The process that a kept file's name tells.
std::optional<pid_t> owner_of(const std::string& name) {
  if (name.size() <= kept_prefix.size() + kept_ending.size() || name.compare(0, kept_prefix.size(), kept_prefix) != 0) return std::nullopt;
  pid_t owner = 0;
  const char* begin = name.data() + kept_prefix.size();
  const auto [end, error] = std::from_chars(begin, name.data() + name.size(), owner);
  return error == std::errc() && std::string_view(end) == kept_ending ? std::optional(owner) : std::nullopt;
}

bool is_running(pid_t process) { return kill(process, 0) == 0 || errno == EPERM; }

}  // namespace

Settings read_settings() {
  Settings settings;
  const auto text = read_whole(our_folder("XDG_CONFIG_HOME", ".config") + "/explorer.json");
  const auto json = nlohmann::json::parse(text.value_or(""), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return settings;
  settings.theme = json.value("theme", "dark") == "light" ? Theme::light : Theme::dark;
  const auto scale = json.find("scale");
  if (scale != json.end() && scale->is_number()) settings.scale = std::clamp(scale->get<float>(), least_scale, most_scale);
  return settings;
}

void write_settings(const Settings& settings) {
  const std::string folder = our_folder("XDG_CONFIG_HOME", ".config");
  if (!make_folder(folder)) return;
  const nlohmann::ordered_json json{{"theme", settings.theme == Theme::light ? "light" : "dark"}, {"scale", settings.scale}};
  (void)write_whole(folder + "/explorer.json", json.dump(2) + "\n");
}

Recovery::Recovery() : folder_(our_folder("XDG_STATE_HOME", ".local/state")) {
  if (!make_folder(folder_)) return;
  file_ = fmt::format("{}/{}{}{}", folder_, kept_prefix, getpid(), kept_ending);
}

Recovery::~Recovery() {
  std::error_code nothing_there;
  if (!file_.empty()) fs::remove(file_, nothing_there);
}

std::optional<std::string> Recovery::left_behind() const {
  std::error_code error;
  std::vector<std::string> left;
  for (auto at = fs::directory_iterator(folder_, error); !error && at != fs::directory_iterator(); at.increment(error)) {
    const auto owner = owner_of(at->path().filename().string());
    if (owner && !is_running(*owner)) left.push_back(at->path().string());
  }
  if (left.empty()) return std::nullopt;
  // Out of the way of the next start, never away: the user may want it later.
  const std::string offered = folder_ + "/recovered.session.json";
  fs::rename(*std::max_element(left.begin(), left.end()), offered, error);
  return error ? std::nullopt : std::optional(offered);
}

void Recovery::keep(const App& app) {
  if (file_.empty() || app.document.shown() == nullptr || !app.document.is_changed()) return;
  std::string now = session_file(app);
  if (now == kept_) return;
  if (!write_whole(file_, now)) kept_ = std::move(now);
}

}  // namespace fathom::ui
