// What a rewrite of tile values says in its step's node map when two of them become one.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "ir/symbol.hpp"

namespace fathom::passes {

/// Name after the step -> names before it that it came from; absent: itself.
using CameFrom = std::map<std::string, std::vector<std::string>>;

/// The value `gone` lies where `kept` does and is called by its name from here on.
inline void take_over(CameFrom& map, Symbol kept, Symbol gone) {
  const auto node = map.extract(gone.text());
  const std::vector<std::string> added = node ? node.mapped() : std::vector{gone.text()};
  std::vector<std::string>& names = map.emplace(kept.text(), std::vector{kept.text()}).first->second;
  for (const std::string& name : added)
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

}  // namespace fathom::passes
