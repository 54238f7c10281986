// Files and texts that several tests of the notation read.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace fathom::test {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline std::vector<std::filesystem::path> files_with(const std::string& folder, const std::string& extension) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(FATHOM_SOURCE_DIR) / folder)) {
    if (entry.path().extension() == extension) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

struct NamedText {
  std::string name, text;
};

/// The samples and the texts of the derivations.
inline std::vector<NamedText> all_texts() {
  std::vector<NamedText> texts;
  for (const auto& path : files_with("samples", ".fathom")) texts.push_back({path.stem().string(), read_file(path)});
  const auto cases = nlohmann::json::parse(read_file(std::filesystem::path(FATHOM_SOURCE_DIR) / "tests/cases/derivations.json"));
  for (const auto& entry : cases.at("entries")) texts.push_back({entry.at("id"), entry.at("text")});
  return texts;
}

}  // namespace fathom::test
