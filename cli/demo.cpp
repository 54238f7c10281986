// demo: the first thing a visitor runs. doctor: what works here.
#include <fmt/format.h>

#include <algorithm>

#include "command.hpp"
#include "execute.hpp"
#include "parallel.hpp"
#include "text.hpp"

namespace fathom::cli {
namespace {

constexpr const char* demo_sample = "attention";

/// The same program with every fusion declined: what a library of single operators would do.
Arguments unfused(const Arguments& arguments, const session::Compilation& compilation) {
  Arguments plain = arguments;
  for (const Decision& decision : compilation.record.decisions)
    if (decision.kind == "fuse") plain.sets.push_back(decision.site + "=no");
  return plain;
}

std::string step_table(const session::Compilation& compilation) {
  std::vector<std::vector<std::string>> rows{{"level", "check", "step", "says"}};
  for (const Step& step : compilation.record.steps) {
    const char* mark = step.check.status == CheckStatus::passed         ? "✓"
                       : step.check.status == CheckStatus::failed       ? "✕"
                       : step.check.status == CheckStatus::inconclusive ? "≈"
                                                                        : "–";
    rows.push_back({std::string(name(step.level)), mark, step.title, step.says});
  }
  return table(rows);
}

}  // namespace

int demo(const Arguments& given) {
  Arguments arguments = given;
  // Sizes that run in well under a second on two cores; --dim overrides.
  std::vector<std::string> dims{"B=1", "H=8", "Hk=8", "S=1024", "T=1024", "D=64"};
  dims.insert(dims.end(), given.dims.begin(), given.dims.end());
  arguments.dims = dims;
  auto [compilation, status] = compile_file(arguments, demo_sample);
  if (!compilation) return status;
  session::Compilation checked = *compilation;
  int written = print_output(fmt::format("Compiling {} for {}: {} steps. Checking every step…\n\n", demo_sample, checked.target.title,
                                         checked.record.steps.size()));
  if (written != done) return written;
  const auto say = [&](const std::string& text) { written = print_output(text); };
  session::check_steps(checked, {.for_each = in_parallel});
  say(step_table(checked) + "\n");
  const auto failed = std::count_if(checked.record.steps.begin(), checked.record.steps.end(),
                                    [](const Step& step) { return step.check.status == CheckStatus::failed; });
  for (const Fusion& fusion : checked.record.fusions)
    if (!fusion.repair_text.empty())
      say(fmt::format("derived: when {} moves, {} becomes {}\n", fusion.producers.front().text(), fusion.consumer.text(),
                      fusion.repair_text));
  const auto fused = execute(checked, given.threads, 1, 20);
  if (!fused) return fail(wrong, fmt::format("fathom: {} {}", fused.error().reason, fused.error().hint));
  say(fmt::format("\nfused    {} (median of {}), result {}: max error {}, allowed {}\n", milliseconds_text(fused->timing.warm_ms),
                  fused->timing.n, fused->verdict.status == CheckStatus::passed ? "correct" : "WRONG", error(fused->verdict.worst.error),
                  error(fused->verdict.worst.bound)));
  auto plain = compile_file(unfused(arguments, checked), demo_sample);
  bool wrong_result = fused->verdict.status != CheckStatus::passed || failed > 0;
  if (plain.compilation) {
    if (const auto slow = execute(*plain.compilation, given.threads, 1, 20)) {
      say(fmt::format("unfused  {} (median of {}), result {}: every reduction its own pass, the same tiles\nspeed-up {:.2f}×\n",
                      milliseconds_text(slow->timing.warm_ms), slow->timing.n,
                      slow->verdict.status == CheckStatus::passed ? "correct" : "WRONG", slow->timing.warm_ms / fused->timing.warm_ms));
      wrong_result = wrong_result || slow->verdict.status != CheckStatus::passed;
    } else {
      say(fmt::format("unfused  did not run: {}\n", slow.error().reason));
      wrong_result = true;
    }
  }
  Arguments output = arguments;
  if (output.output.empty()) output.output = "fathom-demo.html";
  if (written == done) written = write_output(output, session::report_html(checked));
  if (written == done)
    say(fmt::format("\nOpen {} in a browser: every step, why it is legal, where every tensor lives.\nTry next:\n", output.output) +
        table({{fmt::format("  fathom explain {}", demo_sample), "the derivation"},
               {fmt::format("  fathom decisions {}", demo_sample), "what you can change"},
               {fmt::format("  fathom diff {} --set SITE=CHOICE", demo_sample), "what a change changes"},
               {"  fathom samples", "the other operators"}}));
  if (written != done) return written;
  return wrong_result ? wrong : done;
}

int doctor(const Arguments& arguments) {
  std::vector<std::vector<std::string>> rows{{"part", "state", "note"}};
  const auto api = cpu::load_plugin();
  rows.push_back(
      {"CPU back end", api ? "works" : "missing",
       api ? fmt::format("{}, {} f32 lanes", (*api)->host_cpu(), (*api)->vector_lanes()) : api.error().reason + " " + api.error().hint});
  for (const Target& target : targets())
    rows.push_back({fmt::format("target {}", target.name.text()), target.runs_here && api ? "runs here" : "plans only", target.title});
  if (const int written = write_output(arguments, arguments.json ? json_list("parts", rows) : table(rows)); written != done) return written;
  return api ? done : misuse;
}

}  // namespace fathom::cli
