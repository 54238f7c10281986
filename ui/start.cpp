#include "start.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "ir/embedded_text.hpp"
#include "session_files.hpp"

extern const EmbeddedText samples[];
extern const unsigned samples_count;

namespace fathom::ui {
namespace {

constexpr const char* usage =
    "usage: fathom-explorer [FILE|SAMPLE] [--target NAME] [--size WIDTHxHEIGHT] [--theme light|dark] [--scale 0.75..3]\n"
    "Opens a program (.fathom), a session (.session.json) or a sample by its name.";

session::Inputs inputs_of(const std::string& file, std::string source, std::string target) {
  session::Inputs inputs;
  inputs.file_name = file;
  inputs.source = std::move(source);
  inputs.target = std::move(target);
  return inputs;
}

void open_text(App& app, const std::string& name, std::string text, const std::string& target, bool is_recovered = false) {
  const auto clear_view = [&app] {
    app.view.step.clear();
    app.view.compare_with.clear();
    app.selected = {};
  };
  const bool is_json = text.find_first_not_of(" \t\r\n") == text.find('{') && text.find('{') != std::string::npos;
  if (is_json && text.find("\"fathom-session\"") != std::string::npos) {
    std::string typed = typed_text(text);
    auto then = [&app, clear_view, text] {
      clear_view();
      restore_view(app, text);
    };
    return app.document.open_session(std::move(text), is_recovered ? std::string() : name, std::move(typed), std::move(then));
  }
  clear_view();
  app.document.open(inputs_of(name, std::move(text), target));
}

std::string title_of(const std::string& name, std::string_view text) {
  std::string_view line = text.substr(0, text.find('\n'));
  if (line.substr(0, 1) != "#") return {};
  line.remove_prefix(std::min(line.find_first_not_of("# "), line.size()));
  const std::string file = name + ".fathom: ";
  if (line.substr(0, file.size()) == file) line.remove_prefix(file.size());
  return std::string(line);
}

bool parse_size(const std::string& text, Start& start) {
  char between = 0;
  std::istringstream in(text);
  return static_cast<bool>(in >> start.width >> between >> start.height) && between == 'x' && start.width >= 320 && start.height >= 240 &&
         start.width <= 16384 && start.height <= 16384;
}

}  // namespace

tl::expected<Start, std::string> parse_start(const std::vector<std::string>& arguments) {
  Start start;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& option = arguments[i];
    if (option.substr(0, 2) != "--") {
      start.file = option;
      continue;
    }
    if (option == "--help") return tl::unexpected<std::string>(usage);
    if (i + 1 == arguments.size()) return tl::unexpected<std::string>(fmt::format("fathom-explorer: {} wants a value.\n{}", option, usage));
    const std::string& value = arguments[++i];
    bool good = true;
    if (option == "--target") {
      start.target = value;
      good = target_named(value).has_value();
    } else if (option == "--size") {
      good = parse_size(value, start);
    } else if (option == "--theme") {
      start.has_look = true;
      start.settings.theme = value == "light" ? Theme::light : Theme::dark;
      good = value == "light" || value == "dark";
    } else if (option == "--scale") {
      start.has_look = true;
      start.settings.scale = std::strtof(value.c_str(), nullptr);
      good = start.settings.scale >= least_scale && start.settings.scale <= most_scale;
    } else if (option == "--mirror") {
      start.mirror_file = value;
    } else {
      return tl::unexpected<std::string>(fmt::format("fathom-explorer: there is no option {}.\n{}", option, usage));
    }
    if (!good) return tl::unexpected<std::string>(fmt::format("fathom-explorer: {} cannot be {}.\n{}", option, value, usage));
  }
  return start;
}

std::vector<Sample> all_samples() {
  std::vector<Sample> all;
  for (unsigned i = 0; i < samples_count; ++i)
    all.push_back({samples[i].name, samples[i].text, title_of(samples[i].name, samples[i].text)});
  return all;
}

void open_sample(App& app, const Sample& sample) {
  const std::string target = app.document.inputs().target.empty() ? "x86-64" : app.document.inputs().target;
  open_text(app, sample.name + ".fathom", sample.text, target);
}

void open_recovered(App& app, const std::string& path) {
  auto text = read_whole(path);
  if (!text) return app.document.say(fmt::format("{} cannot be read.", path));
  open_text(app, path, *std::move(text), app.document.inputs().target, /*is_recovered=*/true);
}

void open_file(App& app, const std::string& path) {
  const std::string target = app.document.inputs().target.empty() ? "x86-64" : app.document.inputs().target;
  auto text = read_whole(path);
  if (!text) return app.document.say(fmt::format("{} cannot be read.", path));
  open_text(app, path, *std::move(text), target);
}

void open_start(App& app, const Start& start) {
  const std::vector<Sample> all = all_samples();
  const auto named = std::find_if(all.begin(), all.end(), [&](const Sample& each) { return each.name == start.file; });
  if (start.file.empty() || named != all.end()) {
    const Sample& sample = named != all.end() ? *named : all.front();
    return open_text(app, sample.name + ".fathom", sample.text, start.target);
  }
  auto text = read_whole(start.file);
  if (text) return open_text(app, start.file, *std::move(text), start.target);
  open_text(app, all.front().name + ".fathom", all.front().text, start.target);
  app.document.say(fmt::format("{} cannot be read and is no sample; the first sample is open instead.", start.file));
}

}  // namespace fathom::ui
