// The oracle's texts (tests/cases/derivations.json) by their ids.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace fathom::algebra {

inline const nlohmann::ordered_json& oracle_entries() {
  static const nlohmann::ordered_json all = [] {
    std::ifstream file(std::string(FATHOM_SOURCE_DIR) + "/tests/cases/derivations.json");
    return nlohmann::ordered_json::parse(file, nullptr, false).at("entries");
  }();
  return all;
}

inline std::string oracle_text(const std::string& id) {
  for (const auto& entry : oracle_entries())
    if (entry.at("id") == id) return entry.at("text").get<std::string>();
  ADD_FAILURE() << "no entry " << id;
  return {};
}

}  // namespace fathom::algebra
