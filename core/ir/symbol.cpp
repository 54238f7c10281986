#include "ir/symbol.hpp"

#include <mutex>
#include <unordered_set>

namespace fathom {
namespace {

struct Table {
  std::mutex mutex;
  std::unordered_set<std::string> texts;  // node-based: addresses are stable
};

Table& table() {
  static Table* instance = new Table;  // never destroyed: symbols may outlive static destruction order
  return *instance;
}

}  // namespace

Symbol::Symbol() {
  static const Symbol empty{std::string_view{}};
  text_ = empty.text_;
}

Symbol::Symbol(std::string_view text) {
  Table& names = table();
  const std::lock_guard lock(names.mutex);
  std::string copy(text);
  const auto known = names.texts.find(copy);  // an emplace would make a node first
  text_ = known != names.texts.end() ? &*known : &*names.texts.insert(std::move(copy)).first;
}

std::size_t Symbol::hash() const { return static_cast<std::size_t>(hash_bytes(*text_)); }

std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed) {
  std::uint64_t hash = seed;
  for (const char byte : bytes) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 1099511628211ULL;
  }
  return hash;
}

}  // namespace fathom
