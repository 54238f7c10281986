#include "start.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>

#include "lesson.hpp"
#include "session_files.hpp"

namespace fathom::ui {

namespace fs = std::filesystem;
namespace {

constexpr const char* usage =
    "usage: fathom-explorer [FILE|SAMPLE] [--lesson NAME] [--target NAME] [--size WIDTHxHEIGHT] [--theme light|dark] [--scale 0.75..3]\n"
    "Opens a program (.fathom), a session (.session.json), a sample by its name, or a lesson.";

session::Inputs inputs_of(const std::string& file, std::string source, std::string target) {
  session::Inputs inputs;
  inputs.file_name = file;
  inputs.source = std::move(source);
  inputs.target = std::move(target);
  return inputs;
}

void open_text(App& app, const std::string& name, const std::string& bytes, const std::string& target, bool is_recovered = false) {
  FileForm form;
  std::string text = plain_text(bytes, form);
  const auto clear_view = [&app] {
    app.view.step.clear();
    app.view.compare_with.clear();
    app.view.lesson = {};
    app.view.repairs.clear();
    app.view.why.clear();
    app.selected = {};
    app.tune = {};
    app.view.tune.selected = 0;
    app.view.tune.picked.clear();
    app.trials.reset();
  };
  const bool is_json = text.find_first_not_of(" \t\r\n") == text.find('{') && text.find('{') != std::string::npos;
  if (is_json && text.find("\"fathom-session\"") != std::string::npos) {
    std::string typed = typed_text(text);
    auto then = [&app, clear_view, text] {
      clear_view();
      restore_view(app, text);
      restore_trials(app, text);
    };
    return app.document.open_session(std::move(text), is_recovered ? std::string() : name, std::move(typed), std::move(then));
  }
  if (name.ends_with(".session.json") && (!is_json || text.find("\"fathom-") == std::string::npos))
    return app.document.say(fmt::format("{} is no session file: it is damaged, or was cut off. What is open stays open.", name));
  clear_view();
  app.form = form;
  if (is_json) {
    if (auto kept = unfinished_text(text)) {
      restore_view(app, text);
      app.document.open(inputs_of(kept->file_name, std::move(kept->text), kept->target.empty() ? target : kept->target), /*is_kept=*/false);
      return;
    }
  }
  app.document.open(inputs_of(name, std::move(text), target));
}

std::string lessons_listed() {
  std::string text;
  for (const session::Lesson& each : session::lessons()) text += fmt::format("\n  {}  {}", each.name, each.title);
  return text;
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
    } else if (option == "--lesson") {
      start.lesson = value;
      if (session::lesson_named(value) == nullptr)
        return tl::unexpected<std::string>(
            fmt::format("fathom-explorer: there is no lesson {}. The lessons are:{}\n", value, lessons_listed()));
    } else if (option == "--size") {
      good = parse_size(value, start);
    } else if (option == "--theme") {
      start.has_look = true;
      start.settings.follows_system = false;
      start.settings.theme = value == "light" ? Theme::light : Theme::dark;
      good = value == "light" || value == "dark";
    } else if (option == "--scale") {
      start.has_look = true;
      start.settings.scale = std::strtof(value.c_str(), nullptr);
      good = start.settings.scale >= least_scale && start.settings.scale <= most_scale;
    } else if (option == "--mirror") {
      start.mirror_file = value;
    } else if (option == "--frames") {
      start.frames_file = value;
    } else {
      return tl::unexpected<std::string>(fmt::format("fathom-explorer: there is no option {}.\n{}", option, usage));
    }
    if (!good) return tl::unexpected<std::string>(fmt::format("fathom-explorer: {} cannot be {}.\n{}", option, value, usage));
  }
  return start;
}

std::string what_it_is(const session::Sample& sample) {
  const std::string file = sample.name + ".fathom: ";
  return sample.title.compare(0, file.size(), file) == 0 ? sample.title.substr(file.size()) : sample.title;
}

void open_sample(App& app, const session::Sample& sample) {
  const std::string target = app.document.inputs().target.empty() ? "x86-64" : app.document.inputs().target;
  open_text(app, sample.name + ".fathom", sample.text, target);
}

void open_recovered(App& app, const std::string& path) {
  const auto text = read_whole(path);
  if (!text) return app.document.say(fmt::format("{} cannot be read.", path));
  open_text(app, path, *text, app.document.inputs().target, /*is_recovered=*/true);
}

void open_left_behind(App& app) {
  const fs::path path = app.left_behind.front().path;
  app.left_behind.erase(app.left_behind.begin());
  open_recovered(app, path.string());
  std::string name = path.filename().string();
  if (!name.starts_with(recovered_prefix)) return;
  name.replace(0, recovered_prefix.size(), opened_prefix);
  std::error_code stays_offered;
  fs::rename(path, path.parent_path() / name, stays_offered);
}

void throw_away_left_behind(App& app) {
  std::error_code is_gone;
  fs::remove(app.left_behind.front().path, is_gone);
  app.left_behind.erase(app.left_behind.begin());
}

void open_file(App& app, const std::string& typed) {
  const std::string path = whole_path(typed);
  const std::string target = app.document.inputs().target.empty() ? "x86-64" : app.document.inputs().target;
  const auto text = read_whole(path);
  if (!text) return app.document.say(fmt::format("{} cannot be read.", path));
  open_text(app, path, *text, target);
}

void open_start(App& app, const Start& start) {
  if (const session::Lesson* lesson = session::lesson_named(start.lesson)) return start_lesson(app, *lesson);
  const std::vector<session::Sample>& all = session::samples();
  const auto named = std::find_if(all.begin(), all.end(), [&](const session::Sample& each) { return each.name == start.file; });
  if (start.file.empty() || named != all.end()) {
    const session::Sample& sample = named != all.end() ? *named : all.front();
    return open_text(app, sample.name + ".fathom", sample.text, start.target);
  }
  const auto text = read_whole(start.file);
  if (text) return open_text(app, start.file, *text, start.target);
  open_text(app, all.front().name + ".fathom", all.front().text, start.target);
  app.document.say(fmt::format("{} cannot be read and is no sample; the first sample is open instead.", start.file));
}

}  // namespace fathom::ui
