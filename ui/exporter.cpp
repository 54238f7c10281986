#include "exporter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "session_files.hpp"
#include "words.hpp"

namespace fathom::ui {
namespace {

/// The document's state with the checks that the explorer made.
session::Compilation checked(const Document& document) {
  session::Compilation compilation = document.shown()->compilation();
  for (std::size_t i = 0; i < compilation.record.steps.size(); ++i) compilation.record.steps[i].check = document.check(i);
  return compilation;
}

const Step* first_failed(const Document& document) {
  const auto& steps = document.shown()->steps();
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (document.check(i).status == CheckStatus::failed) return &steps[i];
  return nullptr;
}

bool all_checked(const Document& document) {
  for (std::size_t i = 0; i < document.shown()->steps().size(); ++i)
    if (document.check(i).status == CheckStatus::pending) return false;
  return true;
}

std::size_t without_answer(const session::Compilation& compilation) {
  const auto& steps = compilation.record.steps;
  return static_cast<std::size_t>(
      std::count_if(steps.begin(), steps.end(), [](const Step& step) { return step.check.status != CheckStatus::passed; }));
}

/// The file, or the folder's files one after the other; what went wrong.
std::optional<std::string> write(const session::ExportKind& kind, const session::Compilation& compilation, const std::string& path) {
  if (kind.files == nullptr) return write_whole(path, kind.text(compilation));
  const auto files = kind.files(compilation);
  if (!files) return fmt::format("{} {} Nothing was written.", files.error().reason, files.error().hint);
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return fmt::format("The folder {} cannot be made ({}). Choose another place.", path, error.message());
  for (const session::ExportFile& file : *files)
    if (auto problem = write_whole((std::filesystem::path(path) / file.name).string(), file.text)) return problem;
  return std::nullopt;
}

}  // namespace

const std::string* Exporter::preview(const Document& document) {
  if (document.shown() == nullptr) return nullptr;
  const bool is_same = preview_ && preview_->version == document.version() && preview_->kind == kind;
  if (!is_same) {
    preview_ = Preview{document.version(), kind, std::nullopt};
    lane_.start("preview", [this, version = document.version(), which = kind, compilation = document.shown()->compilation()](
                               const Cancel&, const auto& deliver) {
      const session::ExportKind& what = session::export_kinds()[which];
      std::string made = what.text(compilation);
      if (what.summary != nullptr) made = what.summary(compilation, made);
      deliver([this, version, which, text = std::move(made)] {
        if (preview_ && preview_->version == version && preview_->kind == which) preview_->text = text;
      });
    });
  }
  return preview_->text ? &*preview_->text : nullptr;
}

void Exporter::begin(const Document& document, const std::string& path) {
  if (document.shown() != nullptr) waiting_ = Waiting{document.version(), kind, full_path(path), false};
}

void Exporter::advance(Document& document) {
  lane_.collect();
  if (!waiting_ || waiting_->is_writing) return;
  if (document.shown() == nullptr || document.version() != waiting_->version) {
    document.say(fmt::format("The program changed before its checks were done: {} was not written.", waiting_->path));
    waiting_.reset();
    return;
  }
  if (const Step* failed = first_failed(document)) {
    document.say(
        fmt::format("“{}” failed its check: {} was not written. The step's card in Explore says where.", failed->title, waiting_->path));
    waiting_.reset();
    return;
  }
  if (!all_checked(document)) return;
  waiting_->is_writing = true;
  lane_.start({}, [this, &document, path = waiting_->path, which = waiting_->kind, compilation = checked(document)](const Cancel&,
                                                                                                                    const auto& deliver) {
    const auto error = write(session::export_kinds()[which], compilation, path);
    const std::size_t open = without_answer(compilation);
    const std::string checks = open == 0
                                   ? "all steps passed their checks"
                                   : fmt::format("no check failed, {} of {} steps have no answer", open, compilation.record.steps.size());
    deliver([this, &document, has_failed = error.has_value(), said = error ? *error : fmt::format("Exported: {} ({}).", path, checks)] {
      document.say(said, has_failed ? Said::failed : Said::done);
      waiting_.reset();
    });
  });
}

}  // namespace fathom::ui
