// What is known of the nodes that a walk over an expression met.
#pragma once

#include <array>
#include <cstddef>
#include <unordered_map>
#include <utility>

#include "ir/expr.hpp"

namespace fathom {

/// Values by node. Most expressions have a handful of nodes: those lie in the object and are searched in line; only what is beyond them is
/// hashed. Never iterated: the order of addresses is not seen.
template <class T>
class NodeMap {
 public:
  [[nodiscard]] const T* find(const ExprNode* node) const {
    for (std::size_t i = 0; i < count_; ++i)
      if (few_[i].first == node) return &few_[i].second;
    if (many_.empty()) return nullptr;
    const auto found = many_.find(node);
    return found == many_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] const T& at(const ExprNode* node) const { return *find(node); }
  /// False: it was there.
  bool insert(const ExprNode* node, T value) {
    if (find(node) != nullptr) return false;
    if (count_ < most_in_line) {
      few_[count_++] = {node, value};
      return true;
    }
    return many_.emplace(node, value).second;
  }

 private:
  static constexpr std::size_t most_in_line = 24;
  std::array<std::pair<const ExprNode*, T>, most_in_line> few_;
  std::size_t count_ = 0;
  std::unordered_map<const ExprNode*, T> many_;
};

}  // namespace fathom
