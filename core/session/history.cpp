// The session: source, trace, history. Every change makes a new compilation; undo and redo move between them.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "lang/lang.hpp"
#include "session/json_integer.hpp"
#include "session/session.hpp"

namespace fathom::session {
namespace {

using Json = nlohmann::ordered_json;
constexpr int format_version = 1;

tl::unexpected<Diagnostics> fail(std::string message, std::string cure = {}) {
  return tl::unexpected<Diagnostics>({Diagnostic{Severity::error, {0, 0, 0}, std::move(message), std::move(cure), {}}});
}

Json of(const Trace& trace) {
  Json entries = Json::array();
  for (const TraceEntry& entry : trace.entries)
    entries.push_back({{"site", entry.site}, {"choice", entry.choice}, {"locked", entry.locked}, {"origin", name(entry.origin)}});
  return entries;
}

Json of(const Inputs& inputs) {
  return {{"file", inputs.file_name},
          {"source", inputs.source},
          {"operator", inputs.operator_name},
          {"dims", inputs.dims},
          {"target", inputs.target},
          {"trace", of(inputs.trace)},
          {"precision", passes::name(inputs.options.precision)},
          {"deterministic_batch", inputs.options.deterministic_batch},
          {"unsound", inputs.options.unsound}};
}

Origin origin_named(const std::string& text) {
  for (const Origin origin : {Origin::by_default, Origin::by_scheduler, Origin::by_user, Origin::by_lesson})
    if (name(origin) == text) return origin;
  return Origin::by_user;
}

/// Throws nlohmann exceptions and std::out_of_range on a document of another shape; the caller turns them into a diagnostic.
Inputs inputs_from(const Json& json) {
  Inputs inputs;
  inputs.file_name = json.at("file").get<std::string>();
  inputs.source = json.at("source").get<std::string>();
  inputs.operator_name = json.at("operator").get<std::string>();
  for (const auto& [name, value] : json.at("dims").get_ref<const Json::object_t&>()) {
    const auto size = integer_in<std::int64_t>(value);
    if (!size) throw std::out_of_range("dims");
    inputs.dims[name] = *size;
  }
  inputs.target = json.at("target").get<std::string>();
  for (const Json& entry : json.at("trace"))
    inputs.trace.entries.push_back({entry.at("site").get<std::string>(), entry.at("choice").get<std::string>(),
                                    entry.at("locked").get<bool>(), origin_named(entry.at("origin").get<std::string>())});
  inputs.options.precision = passes::precision_named(json.at("precision").get<std::string>()).value_or(passes::Precision::matrix);
  inputs.options.deterministic_batch = json.at("deterministic_batch").get<bool>();
  inputs.options.unsound = json.at("unsound").get<bool>();
  return inputs;
}

/// What the compilation chose at the site, whoever said so; empty: it has no such site.
std::string choice_at(const Compilation& state, const std::string& site) {
  for (const Decision& decision : state.record.decisions)
    if (decision.site == site) return decision.choice;
  return {};
}

std::string from_to(const std::string& what, const std::string& before, const std::string& after) {
  if (before == after) return fmt::format("{}: {}, now by you", what, after);
  return before.empty() ? fmt::format("{}: {}", what, after) : fmt::format("{}: {} → {}", what, before, after);
}

/// The choice that one trace has and the other has not, or has otherwise.
std::optional<std::string> choice_changed(const Compilation& before, const Compilation& after) {
  for (const TraceEntry& entry : after.inputs.trace.entries) {
    const TraceEntry* old = before.inputs.trace.find(entry.site);
    if (old != nullptr && *old == entry) continue;
    const bool only_lock = old != nullptr ? old->choice == entry.choice : entry.locked;
    if (only_lock) return fmt::format("{} {}", entry.locked ? "locked" : "unlocked", entry.site);
    return from_to(entry.site, old != nullptr ? old->choice : choice_at(before, entry.site), entry.choice);
  }
  for (const TraceEntry& entry : before.inputs.trace.entries)
    if (after.inputs.trace.find(entry.site) == nullptr)
      return fmt::format("{} given back: {} → {}", entry.site, entry.choice, choice_at(after, entry.site));
  return std::nullopt;
}

std::string size_of(const Compilation& state, const std::string& dimension) {
  for (const math::Dimension& each : state.program.dims)
    if (each.name.text() == dimension) return std::to_string(each.value);
  return {};
}

std::string change_between(const Compilation& before, const Compilation& after) {
  if (before.inputs.source != after.inputs.source) return "text edited";
  if (before.inputs.target != after.inputs.target) return from_to("target", before.inputs.target, after.inputs.target);
  if (auto choice = choice_changed(before, after)) return *choice;
  for (const auto& [name, value] : after.inputs.dims) {
    const auto old = before.inputs.dims.find(name);
    if (old == before.inputs.dims.end() || old->second != value) return from_to(name, size_of(before, name), std::to_string(value));
  }
  for (const auto& [name, value] : before.inputs.dims)
    if (after.inputs.dims.count(name) == 0) return fmt::format("{} as in the text: {} → {}", name, value, size_of(after, name));
  return "compiled again";
}

/// What is wrong with a file of another shape; the library's own words are for programmers.
constexpr int not_an_integer = 302;  // the library's own number for a value of another type

std::string damage(int kind) {
  constexpr int missing_key = 403, wrong_type_from = 300, wrong_type_to = 399;
  if (kind == missing_key) return "The session file is damaged: a part that every state has is missing.";
  if (kind >= wrong_type_from && kind <= wrong_type_to)
    return "The session file is damaged: a number, a text or a list stands where something else belongs.";
  return "The session file is damaged.";
}

/// A size goes with its dimension. A text with errors says nothing about that: then all sizes stay.
void drop_sizes_of_no_dimension(Inputs& inputs) {
  const Checked<lang::File> file = lang::parse_file(inputs.source);
  if (!file) return;
  const auto is_declared = [&](const std::string& name) {
    return std::any_of(file->operators.begin(), file->operators.end(), [&](const math::Program& program) {
      return std::any_of(program.dims.begin(), program.dims.end(), [&](const math::Dimension& each) { return each.name.text() == name; });
    });
  };
  std::erase_if(inputs.dims, [&](const auto& size) { return !is_declared(size.first); });
}

}  // namespace

bool is_nested_deeply(std::string_view json) {
  constexpr int deepest = 64;
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (in_string && json[i] == '\\') {
      ++i;
    } else if (json[i] == '"') {
      in_string = !in_string;
    } else if (!in_string) {
      depth += json[i] == '[' || json[i] == '{' ? 1 : json[i] == ']' || json[i] == '}' ? -1 : 0;
      if (depth > deepest) return true;
    }
  }
  return false;
}

Checked<Session> Session::open(const Inputs& inputs) {
  Session session;
  if (auto changed = session.change(inputs); !changed) return tl::unexpected<Diagnostics>(changed.error());
  return session;
}

std::string Session::to_json() const {
  Json states = Json::array();
  for (const auto& state : states_) states.push_back(of(state->inputs));
  return Json{{"fathom-session", format_version}, {"at", at_}, {"states", states}}.dump(2, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

Checked<Session> Session::from_json(std::string_view text) {
  if (is_nested_deeply(text))
    return fail("This is not a session file: it is nested more deeply than any.", "A session file is JSON written by Fathom.");
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object() || !json.contains("fathom-session"))
    return fail("This is not a session file.", "A session file is JSON written by Fathom.");
  if (json.at("fathom-session") != format_version)
    return fail("The session file is from another version of Fathom.", "Open it with the version that wrote it.");
  try {
    Session session;
    for (const Json& state : json.at("states"))
      if (auto changed = session.change(inputs_from(state)); !changed) return tl::unexpected<Diagnostics>(changed.error());
    if (session.states_.empty()) return fail("The session file holds no state.");
    const auto at = integer_in<std::size_t>(json.at("at"));
    if (!at) throw std::out_of_range("at");
    session.at_ = std::min(*at, session.states_.size() - 1);
    return session;
  } catch (const Json::exception& error) {
    return fail(damage(error.id), "Open an older copy of it, or the program's own text.");
  } catch (const std::out_of_range&) {
    return fail(damage(not_an_integer), "Open an older copy of it, or the program's own text.");
  }
}

Checked<void> Session::change(const Inputs& inputs) {
  auto compiled = compile(inputs);
  if (!compiled) return tl::unexpected<Diagnostics>(compiled.error());
  if (!states_.empty()) states_.resize(at_ + 1);
  states_.push_back(*std::move(compiled));
  at_ = states_.size() - 1;
  return {};
}

Checked<void> Session::override_choice(std::string site, std::string choice) {
  Inputs inputs = now().inputs;
  auto& entries = inputs.trace.entries;
  const auto same = [&](const TraceEntry& entry) { return entry.site == site; };
  const bool locked = std::any_of(entries.begin(), entries.end(), [&](const TraceEntry& entry) { return same(entry) && entry.locked; });
  entries.erase(std::remove_if(entries.begin(), entries.end(), same), entries.end());
  entries.push_back({std::move(site), std::move(choice), locked, Origin::by_user});
  return change(inputs);
}

Checked<void> Session::lock(std::string site, bool locked) {
  Inputs inputs = now().inputs;
  for (TraceEntry& entry : inputs.trace.entries) {
    if (entry.site != site) continue;
    entry.locked = locked;
    return change(inputs);
  }
  for (const Decision& decision : now().record.decisions) {
    if (decision.site != site) continue;
    inputs.trace.entries.push_back({std::move(site), decision.choice, locked, decision.origin});
    return change(inputs);
  }
  return fail(fmt::format("There is no decision at `{}`.", site), "`fathom decisions FILE` lists the sites.");
}

Checked<void> Session::reset(std::string site) {
  Inputs inputs = now().inputs;
  auto& entries = inputs.trace.entries;
  entries.erase(std::remove_if(entries.begin(), entries.end(), [&](const TraceEntry& entry) { return entry.site == site; }), entries.end());
  return change(inputs);
}

Checked<void> Session::choose(const std::vector<TraceEntry>& choices, bool unsound) {
  Inputs inputs = now().inputs;
  auto& entries = inputs.trace.entries;
  for (const TraceEntry& choice : choices) {
    std::erase_if(entries, [&](const TraceEntry& entry) { return entry.site == choice.site; });
    entries.push_back(choice);
  }
  inputs.options.unsound = unsound;
  return change(inputs);
}

Checked<void> Session::edit_source(std::string source) {
  Inputs inputs = now().inputs;
  inputs.source = std::move(source);
  if (!inputs.dims.empty()) drop_sizes_of_no_dimension(inputs);
  return change(inputs);
}

Checked<void> Session::set_target(std::string name) {
  Inputs inputs = now().inputs;
  inputs.target = std::move(name);
  return change(inputs);
}

Checked<void> Session::set_dim(std::string name, std::optional<std::int64_t> value) {
  Inputs inputs = now().inputs;
  if (value) {
    inputs.dims[std::move(name)] = *value;
  } else {
    inputs.dims.erase(name);
  }
  return change(inputs);
}

Checked<void> Session::set_plan(const Inputs& plan) {
  Inputs inputs = now().inputs;
  inputs.dims = plan.dims;
  inputs.target = plan.target;
  inputs.trace = plan.trace;
  inputs.options.precision = plan.options.precision;
  inputs.options.deterministic_batch = plan.options.deterministic_batch;
  inputs.options.unsound = plan.options.unsound;
  return change(inputs);
}

void Session::undo() {
  if (can_undo()) --at_;
}
void Session::redo() {
  if (can_redo()) ++at_;
}
void Session::go_to(std::size_t place) { at_ = std::min(place, states_.size() - 1); }

std::vector<std::string> Session::history() const {
  std::vector<std::string> lines{"opened"};
  for (std::size_t i = 1; i < states_.size(); ++i) lines.push_back(change_between(*states_[i - 1], *states_[i]));
  return lines;
}

}  // namespace fathom::session
