// Philox 4x32-10 on vectors, bit for bit what the reference draws: the generator is a pure function of key and counter, so that neither
// lanes nor the order of tiles can be seen in its numbers. Words of 32 bits stand in lanes of 64, where their products fit.
#include <array>

#include "codegen/cpu/ops.hpp"

namespace fathom::cpu {
namespace {

constexpr std::uint64_t word_bits = 32, low_word = 0xFFFFFFFFU;
constexpr std::uint64_t multipliers[] = {0xD2511F53U, 0xCD9E8D57U};
constexpr std::uint64_t key_steps[] = {0x9E3779B9U, 0xBB67AE85U};
constexpr int philox_rounds = 10;

}  // namespace

Val Ops::random(const std::vector<Val>& arguments) {
  int lanes = 1;
  for (const Val& one : arguments) lanes = std::max(lanes, one.lanes);
  llvm::Type* wide = type(Kind::integer, lanes);
  const auto constant = [&](std::uint64_t x) { return llvm::ConstantInt::get(wide, x); };
  const auto low = [&](llvm::Value* x) { return b.CreateAnd(x, constant(low_word)); };
  const auto high = [&](llvm::Value* x) { return b.CreateLShr(x, constant(word_bits)); };
  const auto argument = [&](std::size_t i) -> llvm::Value* {
    return i < arguments.size() ? splat(convert(arguments[i], Kind::integer), lanes).v : constant(0);
  };
  std::array<llvm::Value*, 2> key{low(argument(0)), high(argument(0))};
  std::array<llvm::Value*, 4> words{};
  for (std::size_t next = 1; next == 1 || next < arguments.size(); next += 2) {  // two counters of 64 bits at a time
    words = {low(argument(next)), high(argument(next)), low(argument(next + 1)), high(argument(next + 1))};
    std::array<llvm::Value*, 2> round_key = key;
    for (int round = 0; round < philox_rounds; ++round) {
      llvm::Value* first = b.CreateMul(words[0], constant(multipliers[0]));
      llvm::Value* second = b.CreateMul(words[2], constant(multipliers[1]));
      words = {b.CreateXor(b.CreateXor(high(second), words[1]), round_key[0]), low(second),
               b.CreateXor(b.CreateXor(high(first), words[3]), round_key[1]), low(first)};
      for (std::size_t k = 0; k < 2; ++k) round_key[k] = low(b.CreateAdd(round_key[k], constant(key_steps[k])));
    }
    key = {words[0], words[1]};
  }
  constexpr std::uint64_t spare_bits = 8;  // 24 are exact in f32
  llvm::Value* bits = b.CreateTrunc(b.CreateLShr(words[0], constant(spare_bits)), word_type(lanes));
  llvm::Type* real = type(Kind::f32, lanes);
  return {b.CreateFMul(b.CreateSIToFP(bits, real), llvm::ConstantFP::get(real, 0x1p-24)), Kind::f32, lanes};
}

}  // namespace fathom::cpu
