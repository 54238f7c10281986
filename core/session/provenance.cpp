#include "session/provenance.hpp"

#include <algorithm>

namespace fathom::session {
namespace {

bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool in_name(char c) { return starts_name(c) || is_digit(c) || c == '_' || c == '.' || c == '~' || c == '\''; }

const std::set<std::string, std::less<>>& keywords() {
  static const std::set<std::string, std::less<>> words{
      "dim",     "operator", "where", "in",    "for",     "parallel", "fold",    "by",      "module",  "kernel", "work",
      "axis",    "let",      "role",  "carry", "else",    "when",     "if",      "repair",  "gauge",   "move",   "project",
      "channel", "buffer",   "atom",  "mma",   "await",   "acquire",  "publish", "receive", "release", "warps",  "grid",
      "dynamic", "and",      "or",    "not",   "inf",     "reducer",  "state",   "lift",    "combine", "result", "workspace",
      "require", "from",     "to",    "depth", "runtime", "with",     "fn",      "const"};
  return words;
}

/// `p.m` is a part of `p`, and `p` of itself.
bool is_part_of(std::string_view name, std::string_view whole) {
  return name.substr(0, whole.size()) == whole && (name.size() == whole.size() || name[whole.size()] == '.');
}

std::size_t end_of(std::string_view line, std::size_t at, bool (*inside)(char)) {
  while (at < line.size() && inside(line[at])) ++at;
  return at;
}

}  // namespace

Provenance::Provenance(const Compilation& compilation) : compilation_(&compilation) {
  std::size_t next = 0;
  const auto add = [&](Symbol name) { colour_.emplace(name.text(), next++ % entity_colours); };
  for (const math::Statement& statement : compilation.program.statements) add(statement.name);
  for (const math::Parameter& parameter : compilation.program.params)
    if (!parameter.extents.empty()) add(parameter.name);
}

std::string bare_name(std::string_view name) {
  while (!name.empty() && (name.back() == '\'' || name.back() == '~' || name.back() == '.')) name.remove_suffix(1);
  return std::string(name);
}

/// `p.m` belongs to `p`, `k.t` to `k`; empty where no tensor of the source does.
std::string Provenance::source_name(std::string name) const {
  while (colour_.count(name) == 0) {
    const auto dot = name.rfind('.');
    if (dot == std::string::npos) return {};
    name.resize(dot);
  }
  return name;
}

Names Provenance::origin(std::size_t step, const std::string& name) const {
  Names written, found;
  collect(static_cast<int>(step), bare_name(name), 0, written);
  for (const std::string& each : written)
    if (std::string source = source_name(each); !source.empty()) found.insert(std::move(source));
  return found;
}

Names Provenance::ancestors(std::size_t step, const std::string& name, std::size_t at) const {
  Names found;
  collect(static_cast<int>(step), bare_name(name), static_cast<int>(at) + 1, found);
  return found;
}

bool Provenance::are_counterparts(std::size_t step, const std::string& name, std::size_t other_step, const std::string& other) const {
  if (step < other_step) return are_counterparts(other_step, other, step, name);
  const std::string earlier = bare_name(other), later = bare_name(name);
  for (const std::string& each : ancestors(step, later, other_step))
    if (is_part_of(each, earlier) || is_part_of(earlier, each)) return true;
  return (is_of_source(earlier) && origin(step, later).count(earlier) > 0) ||
         (is_of_source(later) && origin(other_step, earlier).count(later) > 0);
}

// By descent alone: a tensor of the source stands for all of its reductions, and only one of them is decided about.
std::vector<const Fusion*> Provenance::fusions_decided(std::size_t step) const {
  std::vector<const Fusion*> found;
  const std::optional<Decision>& decision = compilation_->record.steps[step].decision;
  if (!decision || (decision->kind != "fuse" && decision->kind != "repair")) return found;
  const Names consumers = ancestors(step, decision->site.substr(0, decision->site.find('/')), 0);
  for (const Fusion& fusion : compilation_->record.fusions)
    if (consumers.count(fusion.consumer.text()) > 0) found.push_back(&fusion);
  return found;
}

std::optional<std::size_t> Provenance::colour(const Names& origins) const {
  if (origins.empty()) return std::nullopt;
  const auto at = colour_.find(*origins.begin());
  return at == colour_.end() ? std::nullopt : std::optional(at->second);
}

/// Follows the name back through the steps `until` … `step`.
void Provenance::collect(int step, const std::string& name, int until, Names& found) const {
  for (int k = step; k >= until; --k) {
    const auto& map = compilation_->record.steps[static_cast<std::size_t>(k)].node_map;
    const auto at = map.find(name);
    if (at == map.end() || (at->second.size() == 1 && at->second.front() == name)) continue;
    for (const std::string& before : at->second) collect(k - 1, before, until, found);
    return;
  }
  found.insert(name);
}

std::vector<Word> words_of(std::string_view line) {
  std::vector<Word> words;
  const auto add = [&](std::size_t begin, std::size_t end, WordKind kind) {
    if (kind == WordKind::other && !words.empty() && words.back().kind == kind) {
      words.back().end = end;
    } else {
      words.push_back({begin, end, kind});
    }
  };
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == '#') {
      add(at, line.size(), WordKind::comment);
      break;
    }
    std::size_t end = at + 1;
    WordKind kind = WordKind::other;
    if (starts_name(line[at])) {
      end = end_of(line, at, in_name);
      kind = keywords().count(line.substr(at, end - at)) > 0 ? WordKind::keyword : WordKind::name;
    } else if (is_digit(line[at])) {
      end = end_of(line, at, in_name);
      kind = WordKind::number;
    }
    add(at, end, kind);
    at = end;
  }
  return words;
}

std::vector<std::string> defined_in(std::string_view line) {
  const auto equals = line.find(" = ");
  if (equals == std::string_view::npos) return {};
  std::vector<std::string> names;
  int depth = 0;
  for (const Word& word : words_of(line.substr(0, equals))) {
    const std::string_view text = text_of(line, word);
    if (word.kind == WordKind::other)
      for (const char c : text) depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    else if (depth == 0 && word.kind != WordKind::number && word.kind != WordKind::comment)
      names.emplace_back(text);
  }
  return names;
}

}  // namespace fathom::session
