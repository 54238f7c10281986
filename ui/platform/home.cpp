#include "platform/home.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "session_files.hpp"
#include "settings_file.hpp"

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

std::string settings_path() { return our_folder("XDG_CONFIG_HOME", ".config") + "/explorer.json"; }

bool make_folder(const std::string& folder) {
  std::error_code error;
  return !folder.empty() && (fs::create_directories(folder, error) || fs::is_directory(folder, error));
}

bool is_kept(const std::string& name) {
  return name.size() > kept_prefix.size() + kept_ending.size() && name.compare(0, kept_prefix.size(), kept_prefix) == 0 &&
         name.compare(name.size() - kept_ending.size(), kept_ending.size(), kept_ending) == 0;
}

/// The lock that a running process holds beside its kept file; a number of a process may be another's by now. -1: somebody holds it.
int lock_of(const std::string& kept) {
  const int lock = open((kept + ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0) return lock;
  if (lock >= 0) close(lock);
  return -1;
}

/// A name that nobody has: what was recovered once is never written over.
std::string recovered_name(const std::string& folder) {
  std::error_code error;
  for (int i = 1;; ++i) {
    std::string name = fmt::format("{}/recovered-{}{}", folder, i, kept_ending);
    if (!fs::exists(name, error)) return name;
  }
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
  std::vector<std::string> left;
  for (auto at = fs::directory_iterator(folder_, error); !error && at != fs::directory_iterator(); at.increment(error))
    if (is_kept(at->path().filename().string())) left.push_back(at->path().string());
  std::sort(left.begin(), left.end());
  for (const std::string& path : left) {
    const int lock = lock_of(path);
    if (lock < 0) continue;
    const std::string name = recovered_name(folder_);
    fs::rename(path, name, error);
    if (!error) left_behind_ = name;
    fs::remove(path + ".lock", error);
    close(lock);
  }
}

void Recovery::keep(const App& app) {
  if (file_.empty() || !app.is_changed()) return;
  Kept now{app.document.version(), app.trials.version(), app.document.text(), app.view, app.selected};
  if (kept_ == now) return;
  if (!write_whole(file_, session_file(app))) kept_ = std::move(now);
}

}  // namespace fathom::ui
