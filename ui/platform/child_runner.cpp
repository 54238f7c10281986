#include "platform/child_runner.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "session_files.hpp"

extern char** environ;

namespace fathom::ui {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_output = std::size_t{4} << 20U;  ///< bytes of each stream; what comes after is read and dropped
constexpr int look_every_ms = 30;

/// Both ends of a pipe; what is open when it goes is closed.
struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() {
    std::array<int, 2> ends{-1, -1};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
    read_end = ends[0];
    write_end = ends[1];
    fcntl(read_end, F_SETFL, O_NONBLOCK);
  }
  ~Pipe() {
    close_end(read_end);
    close_end(write_end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  static void close_end(int& end) {
    if (end >= 0) close(end);
    end = -1;
  }
};

/// Takes what is there; false at its end.
bool drain(int from, std::string& into) {
  std::array<char, 65536> block{};
  while (true) {
    const ssize_t count = ::read(from, block.data(), block.size());
    if (count == 0) return false;
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    if (into.size() < most_output) into.append(block.data(), static_cast<std::size_t>(count));
  }
}

/// A process in a group of its own, with an empty standard input; 0 and the reason where it did not start.
pid_t spawn(const std::vector<std::string>& words, const Pipe& out, const Pipe& err, std::string& why) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write_end, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.write_end, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigfillset(&defaults);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawn(&child, words.front().c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return child;
  why = fmt::format("{} ({}).", words.front(), std::strerror(error));
  return 0;
}

/// Asks without reaping it.
bool has_ended(pid_t child) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

std::string signal_words(int signal) {
  const char* words = sigdescr_np(signal);
  std::string text = words == nullptr ? fmt::format("signal {}", signal) : std::string(words);
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return signal == SIGKILL ? text + ", perhaps because the machine had no memory left" : text;
}

class ChildRunner : public Runner {
 public:
  ChildRunner(std::string program, std::string folder) : program_(std::move(program)), folder_(std::move(folder)) {}
  ~ChildRunner() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  std::vector<std::string> command(const RunOrder& order) override {
    const session::Inputs& inputs = order.inputs;
    std::string file = text_path(inputs);
    if (!inputs.operator_name.empty()) file += ":" + inputs.operator_name;
    std::vector<std::string> words{program_,  order.against ? "time" : "run", file, "--target", inputs.target,
                                   "--trace", trace_path(inputs.trace)};
    if (order.against) words.insert(words.end(), {"--against", trace_path(*order.against)});
    for (const auto& [name, size] : inputs.dims) words.insert(words.end(), {"--dim", fmt::format("{}={}", name, size)});
    words.insert(words.end(), {"--precision", std::string(passes::name(inputs.options.precision))});
    if (inputs.options.deterministic_batch) words.insert(words.end(), {"--deterministic", "batch"});
    if (inputs.options.unsound) words.emplace_back("--unsound");
    words.emplace_back("--json");
    return words;
  }

  RunAnswer run(const RunOrder& order, const Cancel& cancel) override {
    if (const auto problem = write_files(order)) return {RunEnd::not_started, 0, *problem, {}, {}};
    Pipe out, err;
    if (out.read_end < 0 || err.read_end < 0) return {RunEnd::not_started, 0, "the system gives no more pipes.", {}, {}};
    std::string why;
    const pid_t child = spawn(command(order), out, err, why);
    if (child == 0) return {RunEnd::not_started, 0, why, {}, {}};
    Pipe::close_end(out.write_end);
    Pipe::close_end(err.write_end);
    return watch(child, out, err, std::chrono::steady_clock::now() + order.at_most, cancel);
  }

 private:
  [[nodiscard]] std::string text_path(const session::Inputs& inputs) const {
    return fmt::format("{}/{}.fathom", folder_, session::fingerprint(inputs));
  }
  [[nodiscard]] std::string trace_path(const Trace& trace) const {
    session::Inputs named;
    named.source = session::print(trace);
    return fmt::format("{}/{}.trace", folder_, session::fingerprint(named));
  }

  [[nodiscard]] std::optional<std::string> write_files(const RunOrder& order) const {
    if (auto problem = write_whole(text_path(order.inputs), order.inputs.source)) return problem;
    if (auto problem = write_whole(trace_path(order.inputs.trace), session::print(order.inputs.trace))) return problem;
    return order.against ? write_whole(trace_path(*order.against), session::print(*order.against)) : std::nullopt;
  }

  /// Until it ends by itself, is cancelled or its time is over; whatever it started ends with it.
  static RunAnswer watch(pid_t child, const Pipe& out, const Pipe& err, std::chrono::steady_clock::time_point until, const Cancel& cancel) {
    RunAnswer answer;
    bool is_stopped = false;
    while (!has_ended(child)) {
      std::array<pollfd, 2> streams{{{out.read_end, POLLIN, 0}, {err.read_end, POLLIN, 0}}};
      poll(streams.data(), streams.size(), look_every_ms);
      const bool out_is_open = drain(out.read_end, answer.out), err_is_open = drain(err.read_end, answer.err);
      if (!out_is_open && !err_is_open) usleep(look_every_ms * 1000);  // both are closed: poll would return at once
      if (is_stopped) continue;
      const bool is_late = std::chrono::steady_clock::now() > until;
      if (!cancel.requested() && !is_late) continue;
      answer.end = cancel.requested() ? RunEnd::cancelled : RunEnd::timed_out;
      kill(-child, SIGKILL);
      is_stopped = true;
    }
    kill(-child, SIGKILL);  // what it left running; before it is reaped its number is nobody else's
    int status = 0;
    waitpid(child, &status, 0);
    (void)drain(out.read_end, answer.out);
    (void)drain(err.read_end, answer.err);
    if (is_stopped) return answer;
    if (WIFSIGNALED(status)) {
      answer.end = RunEnd::crashed;
      answer.why = signal_words(WTERMSIG(status));
    } else {
      answer.status = WEXITSTATUS(status);
    }
    return answer;
  }

  std::string program_, folder_;
};

}  // namespace

std::string sibling_program(const std::string& name) {
  std::error_code unknown;
  const fs::path program = fs::read_symlink("/proc/self/exe", unknown).parent_path() / name;
  return !unknown && access(program.c_str(), X_OK) == 0 ? program.string() : std::string();
}

std::shared_ptr<Runner> make_child_runner(const std::string& program) {
  std::error_code unknown;
  std::string folder = (fs::temp_directory_path(unknown) / "fathom-runs-XXXXXX").string();
  if (program.empty() || unknown || mkdtemp(folder.data()) == nullptr) return nullptr;
  return std::make_shared<ChildRunner>(program, folder);
}

}  // namespace fathom::ui
