// From inputs to an immutable compilation, and how two compilations relate step by step.
#include <fmt/format.h>

#include <algorithm>

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

/// What a step took away and brought, in order.
std::vector<std::string> changed_lines(const Step& step) {
  const std::string before = print(step.before), after = print(step.after);
  std::vector<std::string> lines;
  for (const DiffLine& line : diff_lines(before, after))
    if (line.mark != ' ') lines.push_back(line.mark + std::string(line.text));
  return lines;
}

/// Two steps of one name are equal if they say and choose the same and change the same lines: what other steps did to the rest does not
/// count.
bool same_step(const Step& a, const Step& b) {
  const auto choice = [](const Step& step) { return step.decision ? step.decision->choice : std::string(); };
  if (a.says != b.says || choice(a) != choice(b) || a.before.level != b.before.level || a.after.level != b.after.level) return false;
  return changed_lines(a) == changed_lines(b);
}

}  // namespace

Checked<std::shared_ptr<const Compilation>> compile(const Inputs& inputs) {
  auto file = lang::parse_file(inputs.source, inputs.dims);
  if (!file) return tl::unexpected<Diagnostics>(file.error());
  auto program = choose_operator(*file, inputs);
  if (!program) return tl::unexpected<Diagnostics>(program.error());
  for (const auto& [name, value] : inputs.dims)
    if (program->dimension(Symbol(name)) == nullptr)
      return fail(fmt::format("`{}` is not a dimension of the file.", name), "Dimensions are declared by `dim NAME = SIZE`.");
  auto target = target_named(inputs.target);
  if (!target) return fail(target.error().reason, target.error().hint);
  passes::Options options = inputs.options;
  options.parse_expression = [](std::string_view text) -> Result<Expr> {
    auto parsed = lang::parse_expression(text);
    if (!parsed) return refuse(parsed.error().front().message, {std::string(text)}, parsed.error().front().cure);
    return *parsed;
  };
  auto record = passes::replay(*program, *target, inputs.trace, options);
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
