#include "platform/home.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>

#include "session_files.hpp"
#include "settings_file.hpp"
#include "start.hpp"

namespace fathom::ui {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kept_prefix = "left-by-", kept_ending = ".session.json";
constexpr std::size_t most_opened = 10;  ///< of what was recovered and opened, for who regrets what came then

/// The user's folder of a kind, ours in it; empty where there is no home.
std::string our_folder(const char* variable, const char* below_home) {
  const char* given = std::getenv(variable);
  const char* home = std::getenv("HOME");
  if (given != nullptr && *given != '\0') return std::string(given) + "/fathom";
  return home == nullptr ? std::string() : fmt::format("{}/{}/fathom", home, below_home);
}

std::string settings_path() { return our_folder("XDG_CONFIG_HOME", ".config") + "/explorer.json"; }

bool make_folder(const std::string& folder) {
  std::error_code error;
  return !folder.empty() && (fs::create_directories(folder, error) || fs::is_directory(folder, error));
}

bool has_kind(std::string_view name, std::string_view prefix) {
  return name.size() > prefix.size() + kept_ending.size() && name.starts_with(prefix) && name.ends_with(kept_ending);
}

/// The lock that a running process holds beside its kept file; a number of a process may be another's by now. -1: somebody holds it.
int lock_of(const std::string& kept) {
  const int lock = open((kept + ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0) return lock;
  if (lock >= 0) close(lock);
  return -1;
}

/// The folder's files of one kind, the newest first.
std::vector<fs::path> files_of(const std::string& folder, std::string_view prefix) {
  std::vector<std::pair<fs::file_time_type, fs::path>> found;
  std::error_code error;
  for (auto at = fs::directory_iterator(folder, error); !error && at != fs::directory_iterator(); at.increment(error))
    if (has_kind(at->path().filename().string(), prefix)) found.emplace_back(fs::last_write_time(at->path(), error), at->path());
  std::sort(found.begin(), found.end(), std::greater<>());
  std::vector<fs::path> files;
  for (auto& each : found) files.push_back(std::move(each.second));
  return files;
}

std::string when_written(const fs::path& path) {
  std::error_code error;
  const auto when = fs::last_write_time(path, error);
  if (error) return {};
  const auto seconds = std::chrono::system_clock::to_time_t(
      std::chrono::time_point_cast<std::chrono::system_clock::duration>(std::chrono::file_clock::to_sys(when)));
  std::tm local{};
  std::array<char, 32> text{};
  if (localtime_r(&seconds, &local) == nullptr) return {};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M", &local)};
}

/// A name that nobody has, nor will have when it was opened: what was recovered once is never written over.
std::string recovered_name(const std::string& folder) {
  const auto name = [&](std::string_view prefix, int i) { return fmt::format("{}/{}{}{}", folder, prefix, i, kept_ending); };
  std::error_code error;
  int i = 1;
  while (fs::exists(name(recovered_prefix, i), error) || fs::exists(name(opened_prefix, i), error)) ++i;
  return name(recovered_prefix, i);
}

}  // namespace

std::optional<Settings> read_settings() {
  const auto text = read_whole(settings_path());
  return text ? std::optional(settings_of(*text)) : std::nullopt;
}

void write_settings(const Settings& settings) {
  if (make_folder(our_folder("XDG_CONFIG_HOME", ".config"))) (void)write_whole(settings_path(), settings_text(settings));
}

Recovery::Recovery() : folder_(our_folder("XDG_STATE_HOME", ".local/state")) {
  if (!make_folder(folder_)) return;
  take_what_is_left();  // before a file of our own is there, which may have the same name
  file_ = fmt::format("{}/{}{}{}", folder_, kept_prefix, getpid(), kept_ending);
  lock_ = lock_of(file_);
  if (lock_ < 0) file_.clear();
}

Recovery::~Recovery() {
  if (file_.empty()) return;
  std::error_code nothing_there;
  fs::remove(file_, nothing_there);
  fs::remove(file_ + ".lock", nothing_there);
  close(lock_);
}

void Recovery::take_what_is_left() {
  std::error_code error;
  for (const fs::path& path : files_of(folder_, kept_prefix)) {
    const int lock = lock_of(path.string());
    if (lock < 0) continue;
    fs::rename(path, recovered_name(folder_), error);
    fs::remove(path.string() + ".lock", error);
    close(lock);
  }
  for (const fs::path& path : files_of(folder_, recovered_prefix)) left_behind_.push_back({path.string(), when_written(path)});
  const std::vector<fs::path> opened = files_of(folder_, opened_prefix);
  for (std::size_t i = most_opened; i < opened.size(); ++i) fs::remove(opened[i], error);
}

void Recovery::keep(const App& app) {
  if (file_.empty() || !app.is_changed()) return;
  Kept now{app.document.version(), app.trials.version(), app.document.text(), app.view, app.selected};
  if (kept_ == now) return;
  if (!write_whole(file_, session_file(app))) kept_ = std::move(now);
}

void Recovery::leave(const App& app) {
  keep(app);
  if (!kept_) return;  // nothing that no file has
  file_.clear();
  close(lock_);
}

}  // namespace fathom::ui
