#include "ir/symbol.hpp"

#include <memory>
#include <mutex>
#include <unordered_map>

namespace fathom {

struct SymbolTable {
  std::mutex mutex;
  std::unordered_map<std::string_view, std::unique_ptr<const Symbol::Name>> names;  // keys are the names' own texts

  static SymbolTable& the() {
    static SymbolTable* instance = new SymbolTable;  // never destroyed: symbols may outlive static destruction order
    return *instance;
  }

  const Symbol::Name* find_or_add(std::string_view text) {
    const std::lock_guard lock(mutex);
    if (const auto known = names.find(text); known != names.end()) return known->second.get();
    std::uint64_t start = 0;
    for (std::size_t i = 0; i < 8; ++i) start = start << 8U | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0U);
    auto name = std::make_unique<const Symbol::Name>(Symbol::Name{std::string(text), start});
    const Symbol::Name* result = name.get();
    names.emplace(result->text, std::move(name));
    return result;
  }
};

Symbol::Symbol() {
  static const Symbol empty{std::string_view{}};
  name_ = empty.name_;
}

Symbol::Symbol(std::string_view text) : name_(SymbolTable::the().find_or_add(text)) {}

std::size_t Symbol::hash() const { return static_cast<std::size_t>(hash_bytes(name_->text)); }

std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed) {
  std::uint64_t hash = seed;
  for (const char byte : bytes) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 1099511628211ULL;
  }
  return hash;
}

}  // namespace fathom
