// From arguments to a compilation: files, samples, dimension values, traces. All usage errors are found here, each with its cure.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "command.hpp"
#include "session/samples.hpp"

namespace fathom::cli {
namespace {

std::optional<std::string> read_file(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) {
    errno = EISDIR;
    return std::nullopt;
  }
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return std::nullopt;
  std::ostringstream text;
  text << stream.rdbuf();
  if (stream.bad()) return std::nullopt;
  return text.str();
}

/// "a/b.fathom:OP" -> file and operator; a colon inside a path that exists is part of the path.
std::pair<std::string, std::string> split_operator(const std::string& file) {
  const auto colon = file.rfind(':');
  if (colon == std::string::npos || read_file(file)) return {file, {}};
  return {file.substr(0, colon), file.substr(colon + 1)};
}

std::optional<std::string> source_of(const std::string& file) {
  if (auto text = read_file(file)) return text;
  for (const session::Sample& sample : session::samples())
    if (sample.name == file || sample.name + ".fathom" == file) return sample.text;
  return std::nullopt;
}

tl::expected<void, std::string> read_dims(const std::vector<std::string>& texts, std::map<std::string, std::int64_t>& dims) {
  for (const std::string& text : texts) {
    const auto equals = text.find('=');
    const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
    char* end = nullptr;
    errno = 0;
    const long long number = std::strtoll(value.c_str(), &end, 10);
    if (equals == 0 || value.empty() || *end != '\0' || errno != 0 || number < 0)
      return tl::unexpected(fmt::format("--dim {}: write NAME=SIZE with a size of 0 or more, for example --dim S=512", text));
    dims[text.substr(0, equals)] = number;
  }
  return {};
}

tl::expected<void, std::string> read_trace(const Arguments& arguments, Trace& trace) {
  if (!arguments.trace.empty()) {
    const auto text = read_file(arguments.trace);
    if (!text) return tl::unexpected(fmt::format("{} {}: {}", arguments.trace_option, arguments.trace, std::strerror(errno)));
    auto parsed = session::parse_trace(*text);
    if (!parsed) return tl::unexpected(render(parsed.error(), arguments.trace, *text));
    trace = *std::move(parsed);
  }
  for (const std::string& text : arguments.sets) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
      return tl::unexpected(
          fmt::format("--set {}: write site=choice, for example --set o/j/tile=64 (fathom decisions FILE lists both)", text));
    trace.entries.push_back({text.substr(0, equals), text.substr(equals + 1), false, Origin::by_user});
  }
  return {};
}

tl::expected<session::Inputs, std::string> read_inputs(const Arguments& arguments, const std::string& file,
                                                       const std::string& fallback_target) {
  session::Inputs inputs;
  std::tie(inputs.file_name, inputs.operator_name) = split_operator(file);
  const auto source = source_of(inputs.file_name);
  if (!source)
    return tl::unexpected(fmt::format("{}: no such file, and no sample has that name (fathom samples lists them)", inputs.file_name));
  inputs.source = *source;
  inputs.target = arguments.target.empty() ? fallback_target : arguments.target;
  if (auto read = read_dims(arguments.dims, inputs.dims); !read) return tl::unexpected(read.error());
  if (auto read = read_trace(arguments, inputs.trace); !read) return tl::unexpected(read.error());
  if (!arguments.precision.empty()) {
    const auto precision = passes::precision_named(arguments.precision);
    if (!precision) return tl::unexpected(fmt::format("--precision {}: choose exact, matrix or fast", arguments.precision));
    inputs.options.precision = *precision;
  }
  if (!arguments.deterministic.empty() && arguments.deterministic != "batch")
    return tl::unexpected(fmt::format("--deterministic {}: the only choice is batch", arguments.deterministic));
  inputs.options.deterministic_batch = !arguments.deterministic.empty();
  inputs.options.unsound = arguments.unsound;
  if (!arguments.agent.empty()) return tl::unexpected(std::string("--agent: this version runs on this machine only; leave the option out"));
  return inputs;
}

}  // namespace

int fail(int status, const std::string& message) {
  fmt::print(stderr, "{}{}", message, !message.empty() && message.back() == '\n' ? "" : "\n");
  return status;
}

Compiled compile_file(const Arguments& arguments, const std::string& file, const std::string& fallback_target) {
  auto inputs = read_inputs(arguments, file, fallback_target);
  if (!inputs) return {nullptr, fail(misuse, "fathom: " + inputs.error())};
  if (auto target = target_named(inputs->target); !target)
    return {nullptr, fail(misuse, fmt::format("fathom: {} {}", target.error().reason, target.error().hint))};
  auto compilation = session::compile(*inputs);
  if (!compilation) return {nullptr, fail(wrong, render(compilation.error(), inputs->file_name, inputs->source))};
  for (const Refusal& refusal : (*compilation)->record.refusals)
    fmt::print(stderr, "refused: {}{}{}\n", refusal.reason, refusal.hint.empty() ? "" : " ", refusal.hint);
  for (const std::string& choice : unsound_choices(**compilation))
    fmt::print(stderr, "UNSOUND: {}, which is not derived; results may be wrong\n", choice);
  return {*std::move(compilation), done};
}

std::vector<std::string> unsound_choices(const session::Compilation& compilation) {
  std::vector<std::string> choices;
  for (const Decision& decision : compilation.record.decisions)
    if (decision.unsound) choices.push_back(fmt::format("{} = {}", decision.site, decision.choice));
  return choices;
}

int print_output(const std::string& text) {
  if (std::ferror(stdout) != 0) return misuse;  // said already
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return done;
  if (errno == EPIPE) return misuse;  // the reader has what it wanted
  return fail(misuse, fmt::format("fathom: cannot write to standard output: {}", std::strerror(errno)));
}

int write_output(const Arguments& arguments, const std::string& text) {
  if (arguments.output.empty() || arguments.output == "-") return print_output(text);
  std::ofstream stream(arguments.output, std::ios::binary);
  stream << text;
  stream.close();
  if (!stream) return fail(misuse, fmt::format("fathom: cannot write {}: {}", arguments.output, std::strerror(errno)));
  fmt::print(stderr, "wrote {}\n", arguments.output);
  return done;
}

}  // namespace fathom::cli
