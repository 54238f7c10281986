// Programs under other names: nothing may be known by one.
#pragma once

#include <cctype>
#include <map>
#include <string>

namespace fathom::test {

/// `text` with whole names replaced.
inline std::string renamed(const std::string& text, const std::map<std::string, std::string>& names) {
  const auto is_name_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; };
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_name_part(text[end])) ++end;
    if (end == at) {
      out += text[at++];
      continue;
    }
    std::string name = text.substr(at, end - at);
    std::string stop;
    for (; !name.empty() && name.back() == '.'; name.pop_back()) stop += '.';
    const auto found = names.find(name);
    out += (found == names.end() ? name : found->second) + stop;
    at = end;
  }
  return out;
}

}  // namespace fathom::test
