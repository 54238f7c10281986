// Running a compiled module on this machine's CPU: arrays in the dtypes of the parameters, launches, timings.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codegen/cpu/loader.hpp"
#include "interp/interp.hpp"

namespace fathom::cli {

/// One argument as it lies in memory, between guard bands. Elements are numbered row major, in whatever order they are stored.
class DeviceArray {
 public:
  /// Poisoned: NaN, or the most negative integer. `order`: the axes as they are stored, the slowest first; empty: as they are declared.
  DeviceArray(DType dtype, std::vector<std::int64_t> shape, std::vector<std::size_t> order = {});
  DeviceArray(DeviceArray&&) = default;  // a copy would not keep the alignment
  DeviceArray& operator=(DeviceArray&&) = default;
  [[nodiscard]] fathom_tensor argument();         ///< valid while this object stays where it is
  void write(const std::vector<double>& values);  ///< rounded to the dtype
  [[nodiscard]] double at(std::int64_t element) const;
  [[nodiscard]] interp::Array read() const;
  [[nodiscard]] bool guards_intact() const;
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] const std::vector<std::int64_t>& shape() const { return shape_; }

 private:
  void put(std::int64_t element, double value);
  [[nodiscard]] std::size_t byte_of(std::int64_t element) const;
  DType dtype_;
  std::vector<std::int64_t> shape_, strides_;
  bool is_row_major_ = true;
  std::int64_t size_ = 1;
  std::vector<unsigned char> storage_;
  std::size_t begin_ = 0;  // of the first element in storage_: aligned to a cache line
};

struct Timing {
  double cold_ms = 0;                    ///< the first launch
  double warm_ms = 0, p20 = 0, p80 = 0;  ///< of n further launches: median and percentiles
  int n = 0;
};

/// Of warm launches, in milliseconds; at least one.
[[nodiscard]] Timing summary_of(std::vector<double> warm, double cold_ms);

/// What a launch needs: parameters (filled), then results, in declared order; run-time dimensions in declared order.
struct LaunchArguments {
  std::vector<DeviceArray> arrays;
  std::vector<std::int64_t> dims;
  int threads = 0;  ///< 0: one a core
};

/// A module compiled for the CPU.
class CpuProgram {
 public:
  [[nodiscard]] static Result<CpuProgram> compile(const kernel::Module&);
  [[nodiscard]] Result<void> launch(LaunchArguments&) const;
  /// One launch as it comes, then launches until `seconds` are over: at least three, at most `most`.
  [[nodiscard]] Result<Timing> time(LaunchArguments&, double seconds, int most) const;
  [[nodiscard]] std::string llvm_ir() const;
  [[nodiscard]] std::string assembly() const;
  [[nodiscard]] double compile_ms() const { return compile_ms_; }

 private:
  const fathom_cpu_api* api_ = nullptr;
  std::shared_ptr<fathom_cpu_module> module_;
  double compile_ms_ = 0;
};

}  // namespace fathom::cli
