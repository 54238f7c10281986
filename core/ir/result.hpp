// How things fail. A Refusal says why a transformation may not be made; a Diagnostic says what is wrong with a text.
// Neither is ever thrown: both are values at every module border.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace fathom {

/// A half-open range of bytes of a source text. `source` 0 is the user's program, 1 the prelude.
struct SourceSpan {
  std::uint32_t source = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  friend bool operator==(const SourceSpan&, const SourceSpan&) = default;
  friend auto operator<=>(const SourceSpan&, const SourceSpan&) = default;
};

/// Of what is not written in the text: a dimension given on the command line.
inline constexpr SourceSpan outside_of_text{0, 0xffffffffU, 0xffffffffU};

/// Where a statement came from: sorted, without duplicates.
using Origins = std::vector<SourceSpan>;
[[nodiscard]] Origins merge(const Origins& a, const Origins& b);

/// Why a transformation, an override or a plan is not made.
struct Refusal {
  std::string reason;              ///< a full sentence
  std::vector<std::string> nodes;  ///< names of the statements, or texts of the expressions, that caused it
  std::string hint;                ///< what would help; may be empty
  friend bool operator==(const Refusal&, const Refusal&) = default;
};

template <class T>
using Result = tl::expected<T, Refusal>;

inline tl::unexpected<Refusal> refuse(std::string reason, std::vector<std::string> nodes = {}, std::string hint = {}) {
  return tl::unexpected<Refusal>(Refusal{std::move(reason), std::move(nodes), std::move(hint)});
}

enum class Severity : std::uint8_t { error, warning, note };

/// What is wrong with a text, where, and what would be right.
struct Diagnostic {
  Severity severity = Severity::error;
  SourceSpan span;
  std::string message;            ///< what is wrong, with names, sizes and types
  std::string cure;               ///< what would be right; may be empty
  std::vector<Diagnostic> notes;  ///< other places that matter ("declared here")
  friend bool operator==(const Diagnostic&, const Diagnostic&) = default;
};

using Diagnostics = std::vector<Diagnostic>;

template <class T>
using Checked = tl::expected<T, Diagnostics>;

/// file:line:column: message, the source line, the span underlined, the cure and the notes.
[[nodiscard]] std::string render(const Diagnostic&, std::string_view file_name, std::string_view source);
[[nodiscard]] std::string render(const Diagnostics&, std::string_view file_name, std::string_view source);

}  // namespace fathom
