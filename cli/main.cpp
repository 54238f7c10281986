// fathom: the command line (docs/command-line.md). One table makes the parser, the help and the completion.
#include <fcntl.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>

#include "commands.hpp"
#include "text.hpp"

namespace fathom::cli {

std::span<const Command> commands() {
  static constexpr auto table = std::to_array<Command>({
      {"compile", "FILE[:OPERATOR]", "print the program at a level",
       "--emit math|loop|tile|kernel|code|asm chooses the level (kernel by default); -o writes a file. For GPUs nvcc makes the assembly: "
       "SASS "
       "where cuobjdump or nvdisasm is there, else PTX; --emit ptx and --emit sass choose. With --json it tells what ptxas says of each "
       "kernel.",
       compile},
      {"steps", "FILE[:OPERATOR]", "the lowering, step by step, each with its check",
       "Every step is checked against the reference; --quick leaves the checks out. `=` beside a number: the step changed nothing. Exits 1 "
       "if a check failed.",
       steps},
      {"show", "FILE[:OPERATOR] STEP", "the program after one step",
       "STEP is a number or an id from `fathom steps`. --diff shows what the step changed and where every tensor lives.", show},
      {"explain", "FILE[:OPERATOR]", "why reductions fuse, with the derived repair, or why not",
       "One entry a reduction: kind, repair, guard, derivation; refusals name the factor that mixes.", explain},
      {"decisions", "FILE[:OPERATOR]", "every choice, its alternatives and what was refused",
       "Override one with --set site=choice, or keep several in a file for --trace. ⊘: refused. Times are predicted for the target.",
       decisions},
      {"check", "FILE[:OPERATOR]", "check every step on many shapes and data families",
       "Exits 1 if a case failed, or if there was none. `inconclusive` is neither passed nor failed; how many is printed.", check},
      {"run", "FILE[:OPERATOR]", "compile for this machine, run, check the result, time it shortly",
       "--threads N limits the threads (default: one a core). It makes its inputs itself: random numbers of mean 0 and variance 1, "
       "integers in range (docs/command-line.md). Plans for another --target do not run here: fathom check runs them in the interpreter.",
       run},
      {"time", "FILE[:OPERATOR]", "check the result, then time it thoroughly",
       "Cold and warm times with percentiles and conditions. --against B.trace checks a second plan of the same program, that of the trace "
       "alone, times both in turn and says which is the faster one, with an interval of 95 %.",
       time},
      {"export", "FILE[:OPERATOR]", "take the result away",
       "--as html: one self-contained page that shows the whole lowering. --as trace: every decision, to replay. --as cuda -o FOLDER: the "
       "kernel as CUDA C++ with its contract, its plan, and scripts that test and time it (--target sm_80 and the like). --quick leaves "
       "the "
       "checks out.",
       export_to},
      {"samples", "[NAME]", "the sample programs", "With NAME: prints it.", list_samples},
      {"targets", "", "the machines that can be compiled for", "", list_targets},
      {"doctor", "", "what works on this machine, and what would have to be installed", "", doctor},
      {"demo", "", "compile, check, run and report the sample attention kernel",
       "Writes fathom-demo.html (another place: -o). --dim changes the size.", demo},
      {"open", "[FILE]", "the explorer: every step on the screen, every choice to change",
       "FILE is a program, a session, or the name of a sample; --lesson NAME opens a lesson instead. Needs a display.", open_explorer},
      {"diff", "FILE [FILE2]", "which steps another choice, or another program, changes",
       "With one file: the default plan against the one of --set and --trace.", diff},
      {"completion", "", "bash completion: source <(fathom completion)", "", completion},
  });
  return table;
}

namespace {

std::string overview() {
  std::vector<std::vector<std::string>> rows;
  for (const Command& command : commands()) rows.push_back({"  ", command.name, command.arguments, command.summary});
  return "fathom: from an operator written as mathematics to a checked, tuned kernel, step by step\n\nusage: fathom COMMAND "
         "[FILE[:OPERATOR]] [options]\n\n" +
         table(rows) +
         R"(
FILE is a program in Fathom's notation, or the name of a sample. Options of every command that takes a file:
  --dim NAME=SIZE        give a dimension another size (repeatable)
  --target TARGET        compile for another machine (fathom targets)
  --set SITE=CHOICE      override a decision (repeatable; fathom decisions FILE lists them)
  --trace FILE           a file of such overrides: lines SITE = CHOICE, `lock` in front keeps one (docs/choices.md)
  --against FILE         of `fathom time`: a trace whose plan is timed in turn with the first
  --precision P          exact | matrix (default) | fast
  --deterministic batch  the same bits for a row whatever the batch
  --unsound              run a repair that was refuted; the result is watermarked
  --json                 one JSON document on standard output
  -o OUT                 write to a file
Exit status: 0 done; 1 the program or the result is wrong; 2 wrong usage or a missing tool.
`fathom help COMMAND` tells more. Start with: fathom demo
)";
}

int help(const std::string& name) {
  for (const Command& command : commands()) {
    if (command.name != name) continue;
    return print_output(fmt::format("usage: fathom {} {} [options]\n\n{}.\n{}\n\n`fathom help` lists the options.\n", command.name,
                                    command.arguments, command.summary, command.details));
  }
  if (!name.empty() && name != "help") return fail(misuse, fmt::format("fathom: there is no command `{}`; fathom help lists them.", name));
  return print_output(overview());
}

constexpr int most_threads = 1024;

std::size_t words_in(std::string_view text) {
  return text.empty() ? 0 : 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), ' '));
}

void add_options(CLI::App& app, Arguments& arguments) {
  app.add_option("positional", arguments.positional);
  app.add_option("--dim", arguments.dims)->expected(1)->take_all()->allow_extra_args(false);  // what follows is FILE
  app.add_option("--set", arguments.sets)->expected(1)->take_all()->allow_extra_args(false);
  app.add_option("--target", arguments.target);
  app.add_option("--trace", arguments.trace);
  app.add_option("--against", arguments.against);
  app.add_option("--precision", arguments.precision);
  app.add_option("--deterministic", arguments.deterministic);
  app.add_option("--agent", arguments.agent);
  app.add_option("-o,--output", arguments.output);
  app.add_option("--lesson", arguments.lesson);
  app.add_option("--emit", arguments.emit);
  app.add_option("--as", arguments.format);
  app.add_option("--threads", arguments.threads)->check(CLI::Range(1, most_threads));
  app.add_flag("--json", arguments.json);
  app.add_flag("--unsound", arguments.unsound);
  app.add_flag("--quick", arguments.quick);
  app.add_flag("--diff", arguments.show_diff);
}

int dispatch(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "help";
  if (name == "--version") {
    return print_output(fmt::format("fathom {}\n", FATHOM_VERSION));
  }
  if (name == "help" || name == "--help" || name == "-h") return help(argc > 2 ? argv[2] : "");
  for (const Command& command : commands()) {
    if (command.name != name) continue;
    Arguments arguments;
    arguments.command = name;
    CLI::App app;
    add_options(app, arguments);
    try {
      app.parse(argc - 1, argv + 1);
    } catch (const CLI::CallForHelp&) {
      return help(name);
    } catch (const CLI::ParseError& error) {
      return fail(misuse, fmt::format("fathom {}: {} (fathom help {})", name, error.what(), name));
    }
    if (command.arguments[0] == 'F' && arguments.positional.empty())
      return fail(misuse, fmt::format("usage: fathom {} {} (a file, or a sample: fathom samples)", name, command.arguments));
    if (const std::size_t taken = words_in(command.arguments); arguments.positional.size() > taken)
      return fail(misuse, fmt::format("fathom {}: `{}` is one argument too many; usage: fathom {} {}", name, arguments.positional[taken],
                                      name, command.arguments));
    if (!arguments.against.empty() && name != "time")
      return fail(misuse, fmt::format("fathom {}: --against is for fathom time, which compares two plans", name));
    return command.run(arguments);
  }
  return help(name);
}

/// Where standard input, output or error came closed, no file that is opened later may take its place: a write to standard output must
/// fail, not land in that file.
void occupy_standard_streams() {
  for (int stream = 0; stream <= 2; ++stream)
    if (fcntl(stream, F_GETFD) == -1 && errno == EBADF) (void)open("/dev/null", stream == 2 ? O_WRONLY : O_RDONLY);
}

}  // namespace
}  // namespace fathom::cli

int main(int argc, char** argv) {
  fathom::cli::occupy_standard_streams();
  try {
    return fathom::cli::dispatch(argc, argv);
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "fathom: this machine has not enough memory for that. Make a dimension smaller: --dim NAME=SIZE.\n");
    return fathom::cli::wrong;
  } catch (const std::exception& error) {
    fmt::print(stderr, "fathom: internal error: {}. Please report it with the command and the file.\n", error.what());
    return fathom::cli::wrong;
  }
}
