// Tensors with guard bands for launches: every element before, after and between the rows of a tensor is NaN, and must stay that NaN.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "codegen/cpu/runtime.hpp"

namespace fathom::cpu::test {

template <class T>
class Tensor {
 public:
  /// `padding`: extra elements at the end of each row (outer strides grow with it).
  explicit Tensor(std::vector<std::int64_t> extents, std::int64_t padding = 3) : extents_(std::move(extents)), strides_(extents_.size()) {
    std::int64_t stride = 1;
    for (std::size_t d = extents_.size(); d-- > 0;) {
      strides_[d] = stride;
      stride *= extents_[d];
      if (d + 1 == extents_.size()) stride += padding;
    }
    memory_.assign(static_cast<std::size_t>(stride + 2 * band), poison());
    before_ = memory_;
  }
  T& operator()(const std::vector<std::int64_t>& at) {
    std::int64_t offset = band;
    for (std::size_t d = 0; d < at.size(); ++d) offset += at[d] * strides_[d];
    return memory_[static_cast<std::size_t>(offset)];
  }
  /// Calls f(position, element) for each element in row-major order.
  template <class F>
  void each(F&& f) {
    std::vector<std::int64_t> at(extents_.size(), 0);
    for (std::int64_t extent : extents_)
      if (extent == 0) return;
    for (;;) {
      f(at, (*this)(at));
      std::size_t d = extents_.size();
      while (d > 0 && ++at[d - 1] == extents_[d - 1]) at[--d] = 0;
      if (d == 0) return;
    }
  }
  void fill_normal(unsigned seed, double scale = 1) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal(0, scale);
    each([&](const auto&, T& x) { x = static_cast<T>(normal(random)); });
    before_ = memory_;
  }
  [[nodiscard]] fathom_tensor view() {
    return {memory_.data() + band, extents_.data(), strides_.data(), static_cast<std::int32_t>(extents_.size())};
  }
  /// Whether everything outside the elements is as it was.
  [[nodiscard]] bool guards_untouched() {
    std::vector<T> now = memory_;
    Tensor copy = *this;
    copy.each([&](const auto& at, T& x) {
      (void)at;
      std::memcpy(&now[static_cast<std::size_t>(&x - copy.memory_.data())], &before_[static_cast<std::size_t>(&x - copy.memory_.data())],
                  sizeof(T));
    });
    return std::memcmp(now.data(), before_.data(), now.size() * sizeof(T)) == 0;
  }
  [[nodiscard]] bool same_bits(const Tensor& other) const {
    return std::memcmp(memory_.data(), other.memory_.data(), memory_.size() * sizeof(T)) == 0;
  }
  [[nodiscard]] const std::vector<std::int64_t>& extents() const { return extents_; }

 private:
  static constexpr std::int64_t band = 64;
  static T poison() {
    if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::quiet_NaN();
    return std::numeric_limits<T>::max();
  }
  std::vector<std::int64_t> extents_, strides_;
  std::vector<T> memory_, before_;
};

inline std::unique_ptr<Program> compiled(const std::string& text, std::string* why = nullptr) {
  auto program = compile_text(text);
  if (program) return std::move(*program);
  if (why != nullptr)
    *why = program.error().reason;
  else
    ADD_FAILURE() << program.error().reason;
  return nullptr;
}

/// Empty when the launch succeeds, else the reason.
inline std::string launch(const Program* program, const std::vector<fathom_tensor>& arguments, int threads = 1,
                          const std::vector<std::int64_t>& dims = {}) {
  if (program == nullptr) return "not compiled";
  const auto done = run(*program, arguments, dims, threads);
  return done ? "" : done.error().reason;
}

}  // namespace fathom::cpu::test
