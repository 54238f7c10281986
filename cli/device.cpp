#include "device.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>

#include "ir/element_bits.hpp"

namespace fathom::cli {
namespace {

constexpr std::size_t guard_bytes = 256;
constexpr unsigned char guard_value = 0xFF;  // NaN in every float type: a read outside is seen, too
constexpr std::size_t cache_line = 64;

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// The text that the plug-in handed over, freed.
std::string take(const fathom_cpu_api* api, char* text) {
  std::string copy = text == nullptr ? "" : text;
  if (text != nullptr) api->free_text(text);
  return copy;
}

}  // namespace

DeviceArray::DeviceArray(DType dtype, std::vector<std::int64_t> shape, std::vector<std::size_t> order)
    : dtype_(dtype), shape_(std::move(shape)), strides_(shape_.size(), 1) {
  is_row_major_ = std::is_sorted(order.begin(), order.end());
  for (std::size_t i = shape_.size(); i-- > 0;) {
    const std::size_t axis = is_row_major_ ? i : order[i];
    strides_[axis] = size_;
    size_ *= shape_[axis];
  }
  storage_.assign(static_cast<std::size_t>(size_) * static_cast<std::size_t>(size_in_bytes(dtype_)) + 2 * guard_bytes + cache_line,
                  guard_value);
  begin_ = guard_bytes + (cache_line - (reinterpret_cast<std::uintptr_t>(storage_.data()) + guard_bytes) % cache_line) % cache_line;
  for (std::int64_t i = 0; i < size_; ++i)
    put(i, is_float(dtype_) ? std::numeric_limits<double>::quiet_NaN() : -std::numeric_limits<double>::infinity());
}

fathom_tensor DeviceArray::argument() {
  return {storage_.data() + begin_, shape_.data(), strides_.data(), static_cast<std::int32_t>(shape_.size())};
}

std::size_t DeviceArray::byte_of(std::int64_t element) const {
  std::int64_t offset = is_row_major_ ? element : 0;
  for (std::size_t axis = shape_.size(); !is_row_major_ && axis-- > 0; element /= shape_[axis])
    offset += element % shape_[axis] * strides_[axis];
  return begin_ + static_cast<std::size_t>(offset) * static_cast<std::size_t>(size_in_bytes(dtype_));
}

void DeviceArray::put(std::int64_t element, double value) {
  const std::uint64_t bits = to_bits(dtype_, value);
  std::memcpy(storage_.data() + byte_of(element), &bits, static_cast<std::size_t>(size_in_bytes(dtype_)));
}

double DeviceArray::at(std::int64_t element) const {
  std::uint64_t bits = 0;
  std::memcpy(&bits, storage_.data() + byte_of(element), static_cast<std::size_t>(size_in_bytes(dtype_)));
  return from_bits(dtype_, bits);
}

void DeviceArray::write(const std::vector<double>& values) {
  for (std::int64_t i = 0; i < std::min(size_, static_cast<std::int64_t>(values.size())); ++i) put(i, values[static_cast<std::size_t>(i)]);
}

interp::Array DeviceArray::read() const {
  interp::Array array{dtype_, shape_, std::vector<double>(static_cast<std::size_t>(size_))};
  for (std::int64_t i = 0; i < size_; ++i) array.data[static_cast<std::size_t>(i)] = at(i);
  return array;
}

bool DeviceArray::guards_intact() const {
  const std::size_t end = begin_ + static_cast<std::size_t>(size_) * static_cast<std::size_t>(size_in_bytes(dtype_));
  const auto untouched = [](unsigned char byte) { return byte == guard_value; };
  return std::all_of(storage_.begin(), storage_.begin() + static_cast<std::ptrdiff_t>(begin_), untouched) &&
         std::all_of(storage_.begin() + static_cast<std::ptrdiff_t>(end), storage_.end(), untouched);
}

Result<CpuProgram> CpuProgram::compile(const kernel::Module& module) {
  auto api = cpu::load_plugin();
  if (!api) return refuse(api.error().reason, {"missing"}, api.error().hint);  // status 2: a tool is not there
  CpuProgram program;
  program.api_ = *api;
  const auto start = std::chrono::steady_clock::now();
  char* error = nullptr;
  fathom_cpu_module* compiled = (*api)->compile(print(module).c_str(), &error);
  const std::string message = take(*api, error);
  if (compiled == nullptr) return refuse("The CPU back end could not compile the module: " + message);
  program.compile_ms_ = milliseconds_since(start);
  program.module_ = std::shared_ptr<fathom_cpu_module>(compiled, (*api)->free_module);
  return program;
}

Result<void> CpuProgram::launch(LaunchArguments& arguments) const {
  std::vector<fathom_tensor> tensors;
  for (DeviceArray& array : arguments.arrays) tensors.push_back(array.argument());
  char* error = nullptr;
  const std::int32_t status = api_->run(module_.get(), tensors.data(), static_cast<std::int32_t>(tensors.size()), arguments.dims.data(),
                                        static_cast<std::int32_t>(arguments.dims.size()), arguments.threads, &error);
  const std::string message = take(api_, error);
  if (status != 0) return refuse(message);
  return {};
}

Timing summary_of(std::vector<double> warm, double cold_ms) {
  Timing timing;
  timing.cold_ms = cold_ms;
  std::sort(warm.begin(), warm.end());
  const auto percentile = [&](std::size_t percent) { return warm[std::min(warm.size() - 1, warm.size() * percent / 100)]; };
  timing.n = static_cast<int>(warm.size());
  timing.warm_ms = percentile(50);
  timing.p20 = percentile(20);
  timing.p80 = percentile(80);
  return timing;
}

Result<Timing> CpuProgram::time(LaunchArguments& arguments, double seconds, int most) const {
  constexpr int least = 3;
  double cold_ms = 0;
  std::vector<double> warm;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i <= most; ++i) {
    const auto start = std::chrono::steady_clock::now();
    if (auto launched = launch(arguments); !launched) return tl::unexpected<Refusal>(launched.error());
    if (i == 0) {
      cold_ms = milliseconds_since(start);
    } else {
      warm.push_back(milliseconds_since(start));
    }
    if (static_cast<int>(warm.size()) >= least && milliseconds_since(begin) > seconds * 1e3) break;
  }
  return summary_of(std::move(warm), cold_ms);
}

std::string CpuProgram::llvm_ir() const { return take(api_, api_->llvm_ir(module_.get())); }
std::string CpuProgram::assembly() const { return take(api_, api_->assembly(module_.get())); }

}  // namespace fathom::cli
