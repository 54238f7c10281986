// Files of the project and texts that several suites read.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace fathom::test {

/// `path` from the project's root: "samples/attention.fathom".
inline std::filesystem::path in_project(const std::string& path) { return std::filesystem::path(FATHOM_SOURCE_DIR) / path; }

/// The file's bytes; fails the test where it cannot be read.
inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline std::string read_sample(const std::string& name) { return read_file(in_project("samples/" + name + ".fathom")); }

/// The folder's files that end so, sorted.
inline std::vector<std::filesystem::path> files_with(const std::string& folder, const std::string& extension) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(in_project(folder))) {
    if (entry.path().extension() == extension) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// `text` with every `from` replaced; fails the test where there is none.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " is not in\n" << text;
  for (; at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}

}  // namespace fathom::test
