#include "session/samples.hpp"

#include <algorithm>

#include "ir/embedded_text.hpp"

extern const EmbeddedText embedded_samples[];
extern const unsigned embedded_samples_count;

namespace fathom::session {
namespace {

std::string first_comment(const std::string& text) {
  const auto begin = text.find('#');
  if (begin == std::string::npos) return {};
  const auto end = std::min(text.find('\n', begin), text.size());
  std::string line = text.substr(begin + 1, end - begin - 1);
  line.erase(0, line.find_first_not_of(' '));
  return line;
}

}  // namespace

const std::vector<Sample>& samples() {
  static const std::vector<Sample> all = [] {
    std::vector<Sample> list;
    for (unsigned i = 0; i < embedded_samples_count; ++i)
      list.push_back({embedded_samples[i].name, embedded_samples[i].text, first_comment(embedded_samples[i].text)});
    return list;
  }();
  return all;
}

}  // namespace fathom::session
