// From inputs to an immutable compilation, and how two compilations relate step by step.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "lang/lang.hpp"
#include "session/session.hpp"
#include "session/text_diff.hpp"

namespace fathom::session {
namespace {

tl::unexpected<Diagnostics> fail(std::string message, std::string cure = {}) {
  return tl::unexpected<Diagnostics>({Diagnostic{Severity::error, {0, 0, 0}, std::move(message), std::move(cure), {}}});
}

std::string names_of(const lang::File& file) {
  std::string names;
  for (const math::Program& each : file.operators) names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name.text());
  return names;
}

Checked<math::Program> choose_operator(const lang::File& file, const Inputs& inputs) {
  if (file.operators.empty()) return fail("The file declares no operator.", "Declare one: operator NAME(inputs) -> (results) { … }.");
  if (!inputs.operator_name.empty()) {
    const math::Program* found = file.find(inputs.operator_name);
    if (found == nullptr)
      return fail(fmt::format("The file has no operator `{}`.", inputs.operator_name), fmt::format("It has: {}.", names_of(file)));
    return *found;
  }
  if (file.operators.size() > 1)
    return fail(fmt::format("The file has {} operators.", file.operators.size()),
                fmt::format("Name one, as FILE:OPERATOR. It has: {}.", names_of(file)));
  return file.operators.front();
}

/// "INDEX in LO:HI by TILE [ranges] {" of a loop's line; where the line is none, nothing.
std::optional<std::string_view> loop_header(std::string_view line) {
  if (line.empty() || line.back() != '{' || line.find(" by ") == std::string_view::npos) return std::nullopt;
  const auto mark = line.find_first_not_of(' ');
  return line.substr(line.find(' ', mark) + 1);
}

std::set<std::string> loop_headers(std::string_view text) {
  std::set<std::string> all;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    if (const auto header = loop_header(text.substr(at, end - at))) all.insert(std::string(*header));
    at = end + 1;
  }
  return all;
}

/// The text without the sizes of the given loops: a step that only moves them about does not depend on them.
std::string without_sizes(std::string_view text, const std::set<std::string>& loops) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (const auto header = loop_header(line); header && loops.count(std::string(*header)) != 0) line = line.substr(0, line.find(" by "));
    out += std::string(line) + "\n";
    at = end + 1;
  }
  return out;
}

/// What a step took away and brought, in order.
std::vector<std::string> changed_lines(const Step& step) {
  std::string before = print(step.before), after = print(step.after);
  if (step.before.level == Level::loop && step.after.level == Level::loop) {
    const std::set<std::string> earlier = loop_headers(before), later = loop_headers(after);
    std::set<std::string> kept;
    std::set_intersection(earlier.begin(), earlier.end(), later.begin(), later.end(), std::inserter(kept, kept.end()));
    before = without_sizes(before, kept);
    after = without_sizes(after, kept);
  }
  std::vector<std::string> lines;
  for (const DiffLine& line : diff_lines(before, after))
    if (line.mark != ' ') lines.push_back(line.mark + std::string(line.text));
  return lines;
}

/// Two steps of one name are equal if they say and choose the same and change the same lines: what other steps did to the rest, and the
/// sizes that earlier steps gave to the loops, do not count.
bool same_step(const Step& a, const Step& b) {
  const auto choice = [](const Step& step) { return step.decision ? step.decision->choice : std::string(); };
  if (a.says != b.says || choice(a) != choice(b) || a.before.level != b.before.level || a.after.level != b.after.level) return false;
  return changed_lines(a) == changed_lines(b);
}

Checked<math::Program> program_of(const Inputs& inputs) {
  auto file = lang::parse_file(inputs.source, inputs.dims);
  if (!file) return tl::unexpected<Diagnostics>(file.error());
  return choose_operator(*file, inputs);
}

/// What reductions of the text run over: indices, and the dimensions of their ranges.
struct Reduced {
  std::set<Symbol> indices, dims;
};
Reduced reduced_in(const math::Program& opened) {
  Reduced reduced;
  for (const math::Statement& statement : opened.statements) {
    const math::Reduction* reduction = statement.reduction();
    if (reduction == nullptr) continue;
    for (const math::Axis& axis : reduction->over) {
      reduced.indices.insert(axis.index);
      for (const Expr edge : {axis.lo, axis.hi}) reduced.dims.merge(dims_in(edge));
    }
  }
  return reduced;
}

/// Decisions that order the sums of a row, as they are taken where every dimension that nothing is reduced over has the size of the file.
/// With them a row has the same bits at every size of those. Atoms and tiles of rows are left to the size: they order no sum.
Result<Trace> order_of_sums(const Inputs& inputs, const Record& at_this_size, const Target& target, const passes::Options& options) {
  const Reduced reduced = reduced_in(at_this_size.steps.front().after.math());
  Inputs usual = inputs;
  std::erase_if(usual.dims, [&](const auto& given) { return reduced.dims.count(Symbol(given.first)) == 0; });
  const auto no_order = [](const std::string& why) {
    return refuse("A row may have other bits at other sizes of the batch: the program has no plan at the file's own sizes: " + why, {},
                  "Give the dimensions sizes in the file that fit together.");
  };
  const auto at_usual_size = program_of(usual);
  if (!at_usual_size) return no_order(at_usual_size.error().front().message + ".");
  const auto record = passes::replay(*at_usual_size, target, inputs.trace, options);
  if (!record) return no_order(record.error().reason);
  Trace order;
  for (const Decision& decision : record->decisions) {
    if (decision.kind == "atom" || decision.kind == "work") continue;
    const auto end = decision.site.rfind('/'), begin = decision.site.rfind('/', end - 1);
    const Symbol index(decision.site.substr(begin + 1, end - begin - 1));
    if (decision.kind == "tile" && reduced.indices.count(index) == 0) continue;
    order.entries.push_back({decision.site, decision.choice, false, Origin::by_default});
  }
  return order;
}

}  // namespace

Checked<std::shared_ptr<const Compilation>> compile(const Inputs& inputs) {
  auto program = program_of(inputs);
  if (!program) return tl::unexpected<Diagnostics>(program.error());
  auto target = target_named(inputs.target);
  if (!target) return fail(target.error().reason, target.error().hint);
  passes::Options options = inputs.options;
  options.parse_expression = [](std::string_view text) -> Result<Expr> {
    auto parsed = lang::parse_expression(text);
    if (!parsed) return refuse(parsed.error().front().message, {std::string(text)}, parsed.error().front().cure);
    return *parsed;
  };
  auto record = passes::replay(*program, *target, inputs.trace, options);
  if (record && options.deterministic_batch) {
    Result<Trace> trace = order_of_sums(inputs, *record, *target, options);
    if (trace) {
      trace->entries.insert(trace->entries.end(), inputs.trace.entries.begin(), inputs.trace.entries.end());
      record = passes::replay(*program, *target, *trace, options);
    } else {
      record->refusals.push_back(std::move(trace.error()));
    }
  }
  if (!record) return fail(record.error().reason, record.error().hint);
  auto compilation = std::make_shared<Compilation>();
  compilation->inputs = inputs;
  compilation->program = *std::move(program);
  compilation->target = *std::move(target);
  compilation->record = *std::move(record);
  return std::shared_ptr<const Compilation>(std::move(compilation));
}

std::vector<StepChange> compare(const Record& before, const Record& after) {
  const auto find = [](const Record& record, const std::string& id) {
    const auto at = std::find_if(record.steps.begin(), record.steps.end(), [&](const Step& step) { return step.id == id; });
    return at == record.steps.end() ? nullptr : &*at;
  };
  std::vector<StepChange> changes;
  for (const Step& step : after.steps) {
    const Step* old = find(before, step.id);
    changes.push_back({step.id, old == nullptr ? Change::added : same_step(*old, step) ? Change::equal : Change::changed});
  }
  for (const Step& step : before.steps)
    if (find(after, step.id) == nullptr) changes.push_back({step.id, Change::removed});
  return changes;
}

}  // namespace fathom::session
