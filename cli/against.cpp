// time --against: both plans are compiled into this process, checked, then launched in turn on the same arrays, so that what disturbs the
// machine disturbs both.
#include "against.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <nlohmann/json.hpp>

#include "execute.hpp"
#include "memory.hpp"
#include "session/speed_ratio.hpp"
#include "text.hpp"

namespace fathom::cli {
namespace {

using Json = nlohmann::ordered_json;

/// One of the two plans.
struct Contestant {
  std::shared_ptr<const session::Compilation> compilation;
  std::optional<CpuProgram> program;
  Verdict verdict;
  Timing timing;
};

Result<double> launch_ms(const CpuProgram& program, LaunchArguments& arguments) {
  const auto start = std::chrono::steady_clock::now();
  if (auto launched = program.launch(arguments); !launched) return tl::unexpected<Refusal>(launched.error());
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// Launches each plan on poisoned results and checks them; leaves the arguments of the last launch for the timing.
Result<LaunchArguments> check_both(const std::array<Contestant*, 2>& both, const DimValues& dims, int threads) {
  const math::Program& program = both[0]->compilation->program;
  const interp::Arrays inputs = interp::make_inputs(program, dims, data_family, data_seed);
  for (Contestant* each : both) {
    auto arguments = make_arguments(program, inputs, dims, threads);
    if (!arguments) return arguments;
    auto cold = launch_ms(*each->program, *arguments);
    if (!cold) return tl::unexpected<Refusal>(cold.error());
    each->timing.cold_ms = *cold;
    auto verdict = verify(*each->compilation, inputs, dims, *arguments);
    if (!verdict) return tl::unexpected<Refusal>(verdict.error());
    each->verdict = *std::move(verdict);
    if (each == both[1]) return arguments;
  }
  return refuse("Nothing was launched.");
}

/// In turn: each pair's order is drawn by lot.
Result<session::SpeedRatio> contest(Contestant& first, Contestant& second, LaunchArguments& arguments, double seconds, int most_pairs) {
  std::vector<std::pair<double, double>> pairs;
  std::vector<double> of_first, of_second;
  const auto begin = std::chrono::steady_clock::now();
  const auto is_over = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > seconds; };
  while (static_cast<int>(pairs.size()) < most_pairs && (static_cast<int>(pairs.size()) < session::least_pairs || !is_over())) {
    const bool in_order = !session::second_goes_first(static_cast<int>(pairs.size()));
    auto earlier = launch_ms(in_order ? *first.program : *second.program, arguments);
    if (!earlier) return tl::unexpected<Refusal>(earlier.error());
    auto later = launch_ms(in_order ? *second.program : *first.program, arguments);
    if (!later) return tl::unexpected<Refusal>(later.error());
    of_first.push_back(in_order ? *earlier : *later);
    of_second.push_back(in_order ? *later : *earlier);
    pairs.emplace_back(of_first.back(), of_second.back());
  }
  first.timing = summary_of(of_first, first.timing.cold_ms);
  second.timing = summary_of(of_second, second.timing.cold_ms);
  return session::speed_ratio(pairs);
}

Json document_of(const Contestant& contestant) {
  const Verdict& verdict = contestant.verdict;
  const Timing& timing = contestant.timing;
  Json json{{"status", status_word(verdict.status)},
            {"max_error", verdict.worst.error},
            {"bound", verdict.worst.bound},
            {"cold_ms", timing.cold_ms}};
  const bool was_timed = timing.n > 0;
  json["warm_ms"] = was_timed ? Json(timing.warm_ms) : Json(nullptr);
  json["p20"] = was_timed ? Json(timing.p20) : Json(nullptr);
  json["p80"] = was_timed ? Json(timing.p80) : Json(nullptr);
  json["n"] = timing.n;
  if (!verdict.detail.empty()) json["detail"] = verdict.detail;
  if (!unsound_choices(*contestant.compilation).empty()) json["unsound"] = true;
  return json;
}

std::string line_of(const char* name, const Contestant& contestant) {
  const Verdict& verdict = contestant.verdict;
  const Timing& timing = contestant.timing;
  return fmt::format("{}   {}: max error {}, allowed {}{}{}\n", name, status_word(verdict.status), error(verdict.worst.error),
                     error(verdict.worst.bound),
                     timing.n > 0 ? fmt::format("   {} (median of {}; 20th to 80th percentile {} to {})", milliseconds_text(timing.warm_ms),
                                                timing.n, milliseconds_text(timing.p20), milliseconds_text(timing.p80))
                                  : "",
                     verdict.detail.empty() ? "" : "\n    " + verdict.detail);
}

int report(const Arguments& arguments, const Contestant& first, const Contestant& second, const std::optional<session::SpeedRatio>& ratio) {
  const bool first_is_worse = first.verdict.status != CheckStatus::passed;
  const CheckStatus status = first_is_worse ? first.verdict.status : second.verdict.status;
  int written = done;
  if (arguments.json) {
    Json document = document_of(first);
    document["status"] = status_word(status);
    document["device"] = "cpu";
    document["conditions"] = conditions_of(*first.compilation, arguments.threads, first.verdict);
    document["against"] = document_of(second);
    document["ratio"] =
        ratio ? Json{{"median", ratio->ratio}, {"low", ratio->low}, {"high", ratio->high}, {"pairs", ratio->pairs}} : Json();
    written = write_output(arguments, document.dump(2) + "\n");
  } else {
    const std::string end = ratio ? fmt::format("{} {} pairs in turn; in brackets the interval of 95 %.\n",
                                                session::sentence_of(*ratio, "A", "B"), ratio->pairs)
                                  : "A wrong result is not timed.\n";
    written = write_output(arguments, fmt::format("{} on this machine's CPU   {}\n{}{}{}", first.compilation->program.name.text(),
                                                  dims_text(*first.compilation), line_of("A", first), line_of("B", second), end));
  }
  if (written != done) return written;
  return status == CheckStatus::passed ? done : wrong;
}

Result<void> prepare(Contestant& contestant, const DimValues& dims) {
  auto compiled = compile_for_cpu(*contestant.compilation);
  if (!compiled) return tl::unexpected<Refusal>(compiled.error());
  contestant.program = *std::move(compiled);
  return fits_in_memory(contestant.compilation->program, contestant.compilation->final_ir().module(), dims);
}

}  // namespace

int time_against(const Arguments& arguments) {
  constexpr double seconds = 10;
  constexpr int most_pairs = 200;
  Contestant first, second;
  const Compiled own = compile_file(arguments, arguments.positional.front());
  if (!own.compilation) return own.status;
  first.compilation = own.compilation;
  Arguments other = arguments;
  other.trace = arguments.against;
  other.trace_option = "--against";
  other.sets.clear();
  const Compiled others = compile_file(other, arguments.positional.front());
  if (!others.compilation) return others.status;
  second.compilation = others.compilation;
  const DimValues dims = default_dims(first.compilation->program);
  if (auto ready = prepare(first, dims); !ready) return report_refusal(arguments, ready.error());
  // One plan under two names is one piece of code: where it happens to lie in memory is no difference of plans.
  const bool is_same = print(first.compilation->final_ir()) == print(second.compilation->final_ir());
  if (is_same) second.program = first.program;
  if (auto ready = is_same ? Result<void>() : prepare(second, dims); !ready) return report_refusal(arguments, ready.error());
  auto launch = check_both({&first, &second}, dims, arguments.threads);
  if (!launch) return report_refusal(arguments, launch.error());
  std::optional<session::SpeedRatio> ratio;
  if (first.verdict.status == CheckStatus::passed && second.verdict.status == CheckStatus::passed) {
    auto measured = contest(first, second, *launch, seconds, most_pairs);
    if (!measured) return report_refusal(arguments, measured.error());
    ratio = *measured;
  }
  return report(arguments, first, second, ratio);
}

}  // namespace fathom::cli
