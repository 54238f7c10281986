// Compares a result with the reference, element by element: nothing that is not a number, not finite, or of another shape passes by
// accident.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "interp/interp.hpp"
#include "interp/statements.hpp"

namespace fathom::interp {
namespace {

constexpr std::size_t rms_elements = 64;  // a mean square of fewer elements says little
constexpr double infinite = std::numeric_limits<double>::infinity();

struct Verdict {
  bool wrong = false;
  double error = 0;
  double bound = 0;
};

/// One element. An infinite bound accepts any outcome.
Verdict judge(double actual, double expected, double bound) {
  if (bound == infinite) return {};
  if (std::isnan(actual) != std::isnan(expected)) return {true, infinite, bound};
  if (std::isnan(expected)) return {};
  if (std::isinf(actual) || std::isinf(expected)) return {actual != expected, actual == expected ? 0 : infinite, bound};
  const double error = std::abs(actual - expected);
  const double allowed = bound == 0 ? 0 : bound + std::abs(expected) * 0x1p-52;  // `expected` itself was rounded to double
  return {error > allowed, error, bound};
}

/// The sign of a NaN says nothing.
std::string text_of(double value) { return std::isnan(value) ? "nan" : fmt::format("{}", value); }

}  // namespace

double share_of_bound(double error, double bound) {
  if (error == 0) return 0;
  return bound > 0 ? error / bound : infinite;
}

bool Worst::add(double candidate, double allowed) {
  if (any && !(share_of_bound(candidate, allowed) > share_of_bound(error, bound))) return false;
  error = candidate;
  bound = allowed;
  return any = true;
}

bool says_too_little(std::int64_t open, std::int64_t elements) { return open * 50 > elements; }
bool case_says_too_little(std::int64_t open, std::int64_t elements) {
  constexpr std::int64_t always_open = 2;
  return open > always_open && says_too_little(open, elements);
}

double rms_error(const Array& actual, const Bounded& expected) {
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < std::min(actual.data.size(), expected.value.size()); ++i) {
    const double error = actual.data[i] - expected.value[i];
    if (expected.undetermined[i] || !std::isfinite(error)) continue;
    sum += error * error;
    ++count;
  }
  return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count));
}

CheckCase compare(const Array& actual, const Bounded& expected, DType dtype, double rms_unfused) {
  CheckCase result;
  result.dtype = dtype;
  result.status = CheckStatus::passed;
  result.elements = actual.size();
  const auto failed = [&](std::string detail) {
    result.status = CheckStatus::failed;
    result.detail = std::move(detail);
    return result;
  };
  if (actual.dtype != dtype) return failed(fmt::format("the result is {}, not {}", name(actual.dtype), name(dtype)));
  if (actual.shape != expected.shape || actual.data.size() != expected.value.size())
    return failed(fmt::format("the result has shape [{}], not [{}]", fmt::join(actual.shape, ","), fmt::join(expected.shape, ",")));

  std::size_t open = 0, undefined = 0, determined = 0, wrong = 0, worst_at = 0;
  double square = 0;
  Worst worst;
  for (std::size_t i = 0; i < actual.data.size(); ++i) {
    const Verdict verdict = judge(actual.data[i], expected.value[i], expected.bound[i]);
    if (verdict.wrong) ++wrong;
    if (expected.undetermined[i]) {
      ++(std::isnan(expected.value[i]) ? undefined : open);
    } else if (std::isfinite(expected.value[i])) {
      ++determined;
      square += expected.value[i] * expected.value[i];
    }
    if (expected.bound[i] != infinite && worst.add(verdict.error, verdict.bound)) worst_at = i;
  }
  result.max_error = worst.error;
  result.bound = worst.bound;
  result.undetermined = static_cast<std::int64_t>(open);
  result.elements -= static_cast<std::int64_t>(undefined);
  if (wrong != 0)
    return failed(fmt::format("{} of {} elements are outside the bound; the worst is {}: {} instead of {}", wrong, actual.data.size(),
                              place_text(actual.shape, worst_at), text_of(actual.data[worst_at]), text_of(expected.value[worst_at])));
  if (rms_unfused >= 0 && determined >= rms_elements && dtype != DType::f64) {  // the reference has no more digits than f64
    const double quarter_ulp =
        is_float(dtype) ? std::sqrt(square / static_cast<double>(determined)) * float_range(dtype).unit_roundoff / 2 : 0;
    const double rms = rms_error(actual, expected);
    if (rms > 1.25 * rms_unfused + quarter_ulp)
      return failed(fmt::format("the root mean square error is {:.3g}; {:.3g} in the unfused program", rms, rms_unfused));
  }
  if (case_says_too_little(result.undetermined, result.elements)) {
    result.status = CheckStatus::inconclusive;
    result.detail = fmt::format("{} of {} elements are undetermined", open, result.elements);
  } else if (undefined != 0 && result.elements == 0) {
    result.status = CheckStatus::inconclusive;
    result.detail = "the text gives no element a value (inf - inf, 0 * inf, 0 / 0)";
  }
  return result;
}

}  // namespace fathom::interp
