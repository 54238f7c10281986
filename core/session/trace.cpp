// The text of a trace: a header, then one `site = choice` a line, `lock` in front to lock, `# comment`.
#include <fmt/format.h>

#include "session/session.hpp"

namespace fathom::session {
namespace {

constexpr std::string_view header = "fathom-trace 1";
constexpr std::string_view blanks = " \t\r";

std::string_view trim(std::string_view text) {
  const auto begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

Diagnostic wrong(std::string_view text, std::string_view line, std::string message, std::string cure) {
  const auto begin = static_cast<std::uint32_t>(line.data() - text.data());
  return {Severity::error, {0, begin, begin + static_cast<std::uint32_t>(line.size())}, std::move(message), std::move(cure), {}};
}

Checked<TraceEntry> parse_entry(std::string_view text, std::string_view line) {
  TraceEntry entry;
  std::string_view rest = line;
  if (rest.substr(0, 5) == "lock " || rest.substr(0, 5) == "lock\t") {
    entry.locked = true;
    rest = trim(rest.substr(5));
  }
  const auto equals = rest.find('=');
  if (equals == std::string_view::npos)
    return tl::unexpected<Diagnostics>({wrong(text, line, "This line has no '='.", "Write `site = choice`, for example `o/j/tile = 64`.")});
  entry.site = std::string(trim(rest.substr(0, equals)));
  entry.choice = std::string(trim(rest.substr(equals + 1)));
  if (entry.site.empty() || entry.site.find_first_of(blanks) != std::string::npos)
    return tl::unexpected<Diagnostics>(
        {wrong(text, line, "The site left of '=' is not a path of names.", "`fathom decisions FILE` lists the sites.")});
  if (entry.choice.empty())
    return tl::unexpected<Diagnostics>(
        {wrong(text, line, fmt::format("No choice for `{}`.", entry.site), "`fathom decisions FILE` lists the choices of every site.")});
  return entry;
}

}  // namespace

std::string print(const Trace& trace) {
  std::string text = std::string(header) + "\n";
  for (const TraceEntry& entry : trace.entries) text += fmt::format("{}{} = {}\n", entry.locked ? "lock " : "", entry.site, entry.choice);
  return text;
}

Checked<Trace> parse_trace(std::string_view text) {
  Trace trace;
  Diagnostics errors;
  bool header_seen = false;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const std::string_view whole = text.substr(at, end - at);
    at = end + 1;
    const std::string_view line = trim(whole.substr(0, whole.find('#')));
    if (line.empty()) continue;
    if (!header_seen) {
      header_seen = true;
      if (line != header)
        return tl::unexpected<Diagnostics>(
            {wrong(text, line, "This is not a trace of this version.", fmt::format("The first line must be `{}`.", header))});
      continue;
    }
    if (auto entry = parse_entry(text, line)) {
      trace.entries.push_back(*std::move(entry));
    } else {
      errors.insert(errors.end(), entry.error().begin(), entry.error().end());
    }
  }
  if (!header_seen)
    return tl::unexpected<Diagnostics>(
        {Diagnostic{Severity::error, {0, 0, 0}, "The trace is empty.", fmt::format("The first line must be `{}`.", header), {}}});
  if (!errors.empty()) return tl::unexpected<Diagnostics>(std::move(errors));
  return trace;
}

}  // namespace fathom::session
