// Taking the plan away: its text to look at, and a file that is written when every step has passed its check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "document.hpp"
#include "session/exports.hpp"
#include "tasks.hpp"

namespace fathom::ui {

class Exporter {
 public:
  explicit Exporter(std::function<void()> wake) : lane_(std::move(wake)) {}

  std::size_t kind = 0;  ///< number in session::export_kinds()
  [[nodiscard]] const session::ExportKind& chosen() const { return session::export_kinds()[kind]; }

  /// Asks for the text of the document's plan, or for its summary where the kind has one, once a version and kind; null until it is there.
  const std::string* preview(const Document&);

  /// Writes the file when all checks have passed; says in the status line what became of it.
  void begin(const Document&, const std::string& path);
  void cancel() { waiting_.reset(); }
  [[nodiscard]] bool is_waiting() const { return waiting_.has_value(); }
  [[nodiscard]] const std::string& path() const { return waiting_->path; }
  /// Once a frame.
  void advance(Document&);
  [[nodiscard]] bool is_busy() const { return lane_.is_busy(); }

 private:
  struct Waiting {
    std::uint64_t version = 0;
    std::size_t kind = 0;
    std::string path;
    bool is_writing = false;
  };
  struct Preview {
    std::uint64_t version = 0;
    std::size_t kind = 0;
    std::optional<std::string> text;
  };
  std::optional<Waiting> waiting_;
  std::optional<Preview> preview_;
  Lane lane_;
};

}  // namespace fathom::ui
