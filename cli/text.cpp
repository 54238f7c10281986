#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "session/text_diff.hpp"

namespace fathom::cli {
namespace {

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (!lines.back().empty() && width_of(lines.back()) + 1 + width_of(word) > width) lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
    at = end + 1;
  }
  return lines;
}

}  // namespace

std::string error(std::optional<double> value) {
  if (value && std::isnan(*value)) return "nan";  // its sign says nothing
  return value ? fmt::format("{:.1e}", *value) : "-";
}

std::string table(const std::vector<std::vector<std::string>>& rows, std::size_t width) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (widths.size() <= i) widths.push_back(0);
      widths[i] = std::max(widths[i], width_of(row[i]));
    }
  std::size_t indent = 0;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) indent += widths[i] + 2;
  const std::size_t last = width > indent + 30 ? width - indent : 30;
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i + 1 < row.size(); ++i) line += row[i] + std::string(widths[i] + 2 - width_of(row[i]), ' ');
    if (!row.empty()) {
      const bool full = row.size() == widths.size();
      const auto wrapped = full ? wrap(row.back(), last) : std::vector<std::string>{row.back()};
      line += wrapped.front();
      for (std::size_t i = 1; i < wrapped.size(); ++i) line += "\n" + std::string(indent, ' ') + wrapped[i];
    }
    text += line + "\n";
  }
  return text;
}

namespace {

using Json = nlohmann::ordered_json;
std::string document(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace

std::string json_list(const std::string& list, const std::vector<std::vector<std::string>>& rows) {
  Json entries = Json::array();
  for (std::size_t row = 1; row < rows.size(); ++row) {
    Json entry = Json::object();
    for (std::size_t column = 0; column < rows[row].size() && column < rows[0].size(); ++column) {
      std::string key = rows[0][column];
      std::replace(key.begin(), key.end(), ' ', '_');
      entry[key] = rows[row][column];
    }
    entries.push_back(std::move(entry));
  }
  return document({{list, entries}});
}

std::string json_object(const std::vector<std::pair<std::string, std::string>>& members) {
  Json object = Json::object();
  for (const auto& [key, value] : members) object[key] = value;
  return document(object);
}

std::string diff(std::string_view before, std::string_view after, std::size_t context) {
  const auto marked = session::diff_lines(before, after);
  std::string text;
  for (std::size_t i = 0; i < marked.size();) {
    std::size_t end = i;
    while (end < marked.size() && marked[end].mark == ' ') ++end;
    const std::size_t kept = end - i;
    const std::size_t head = i == 0 ? 0 : context, tail = end == marked.size() ? 0 : context;
    for (std::size_t k = i; k < end; ++k) {
      if (kept > head + tail + 1 && k == i + head) {
        text += fmt::format("  … {} unchanged lines\n", kept - head - tail);
        k = end - tail;
        if (k >= end) break;
      }
      text += fmt::format("  {}\n", marked[k].text);
    }
    for (i = end; i < marked.size() && marked[i].mark != ' '; ++i) text += fmt::format("{} {}\n", marked[i].mark, marked[i].text);
  }
  return text;
}

}  // namespace fathom::cli
