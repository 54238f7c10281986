#include "tool.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

namespace fathom::cli {

/// Signals that end this program are kept while another one runs, so that it is ended first and its folder goes.
class KeptSignals {
 public:
  KeptSignals() {
    sigset_t ends;
    sigemptyset(&ends);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, signal);
    pthread_sigmask(SIG_BLOCK, &ends, &before_);
  }
  ~KeptSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  KeptSignals(const KeptSignals&) = delete;
  KeptSignals& operator=(const KeptSignals&) = delete;
  /// One waits.
  [[nodiscard]] static bool has_come() {
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGHUP) == 1;
  }

 private:
  sigset_t before_{};
};

namespace {

namespace fs = std::filesystem;

std::string read_whole(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

bool can_run(const fs::path& path) {
  std::error_code unknown;
  return fs::is_regular_file(path, unknown) && access(path.c_str(), X_OK) == 0;
}

/// In a group of its own, so that all that it starts can be ended; 0 where it did not start, with errno.
pid_t spawn(const std::vector<std::string>& words, const fs::path& out, const fs::path& err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, S_IRUSR | S_IWUSR);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, S_IRUSR | S_IWUSR);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawn(&child, words.front().c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  errno = error;
  return error == 0 ? child : 0;
}

int status_as_shell(int status) {
  constexpr int of_a_signal = 128;
  return WIFEXITED(status) ? WEXITSTATUS(status) : of_a_signal + WTERMSIG(status);
}

}  // namespace

Result<PrivateFolder> PrivateFolder::make() {
  auto signals = std::make_unique<KeptSignals>();
  std::error_code unknown;
  const fs::path place = fs::temp_directory_path(unknown);
  std::string name = (unknown ? fs::path("/tmp") : place) / "fathom-XXXXXX";
  if (mkdtemp(name.data()) == nullptr)
    return refuse(fmt::format("No temporary folder can be made: {}.", std::strerror(errno)), {"missing"},
                  "Set TMPDIR to a folder that can be written.");
  return PrivateFolder(name, std::move(signals));
}

PrivateFolder::PrivateFolder(fs::path path, std::unique_ptr<KeptSignals> signals) : signals_(std::move(signals)), path_(std::move(path)) {}

PrivateFolder::PrivateFolder(PrivateFolder&& other) noexcept : signals_(std::move(other.signals_)), path_(std::move(other.path_)) {
  other.path_.clear();
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

std::optional<std::string> find_tool(const std::string& name, const std::string& neighbour) {
  if (!neighbour.empty())
    if (const fs::path beside = fs::path(neighbour).parent_path() / name; can_run(beside)) return beside.string();
  const char* folders = std::getenv("PATH");
  std::istringstream path(folders == nullptr ? "" : folders);
  for (std::string folder; std::getline(path, folder, ':');) {
    const fs::path at = fs::path(folder.empty() ? "." : folder) / name;
    if (can_run(at)) return fs::absolute(at).string();
  }
  const char* toolkit = std::getenv("CUDA_HOME");
  if (toolkit == nullptr || *toolkit == '\0') return std::nullopt;
  const fs::path at = fs::path(toolkit) / "bin" / name;
  return can_run(at) ? std::optional(at.string()) : std::nullopt;
}

Result<ToolAnswer> run_tool(const std::vector<std::string>& words, const PrivateFolder& folder, std::chrono::seconds at_most) {
  constexpr std::chrono::milliseconds look_every{10};
  const fs::path out = folder.path() / "standard-output", err = folder.path() / "standard-error";
  const pid_t child = spawn(words, out, err);
  if (child == 0) return refuse(fmt::format("{} does not start: {}.", words.front(), std::strerror(errno)), {"missing"});
  const auto latest = std::chrono::steady_clock::now() + at_most;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    const bool is_late = std::chrono::steady_clock::now() > latest;
    if (is_late || KeptSignals::has_come()) {
      kill(-child, SIGKILL);
      waitpid(child, &status, 0);
      return refuse(is_late ? fmt::format("{} took longer than {} s and was ended.", words.front(), at_most.count())
                            : fmt::format("{} was ended.", words.front()));
    }
    std::this_thread::sleep_for(look_every);
  }
  return ToolAnswer{status_as_shell(status), read_whole(out), read_whole(err)};
}

}  // namespace fathom::cli
