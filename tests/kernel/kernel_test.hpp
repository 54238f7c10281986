// Helpers of the kernel tests: example texts and parsing.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "ir/kernel.hpp"
#include "lang/lang.hpp"

namespace fathom::test {

inline std::string text_of(const std::string& name) {
  std::ifstream file(std::string(FATHOM_SOURCE_DIR) + "/tests/kernel/texts/" + name + ".kernel");
  EXPECT_TRUE(file) << name;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline kernel::Module parsed(const std::string& text) {
  auto m = lang::parse_kernel(text);
  if (m) return std::move(*m);
  ADD_FAILURE() << render(m.error(), "text", text);
  return {};
}

}  // namespace fathom::test
