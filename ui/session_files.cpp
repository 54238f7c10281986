#include "session_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "lesson.hpp"
#include "session/json_integer.hpp"

namespace fathom::ui {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array tab_names = std::to_array<std::pair<Tab, std::string_view>>({{Tab::program, "program"},
                                                                                  {Tab::ir, "ir"},
                                                                                  {Tab::graph, "graph"},
                                                                                  {Tab::code, "code"},
                                                                                  {Tab::stage, "stage"},
                                                                                  {Tab::layout, "layout"},
                                                                                  {Tab::roles, "roles"}});

constexpr std::array workspace_names = std::to_array<std::pair<Workspace, std::string_view>>(
    {{Workspace::learn, "learn"}, {Workspace::explore, "explore"}, {Workspace::tune, "tune"}});

template <class T>
void take(const Json& from, const char* key, T& into) {
  const auto found = from.find(key);
  if (found == from.end()) return;
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    into = session::integer_in<T>(*found).value_or(into);
    return;
  }
  try {
    into = found->get<T>();
  } catch (const Json::exception&) {
    return;  // of another type: what is there stays
  }
}

template <class Names, class Value>
std::string_view name_in(const Names& names, Value value) {
  return std::find_if(names.begin(), names.end(), [&](const auto& each) { return each.first == value; })->second;
}

template <class Names, class Value>
void take_named(const Json& from, const char* key, const Names& names, Value& into) {
  std::string name;
  take(from, key, name);
  for (const auto& [value, known] : names)
    if (known == name) into = value;
}

/// Of a file that may be anybody's; null where it is no JSON that could be ours.
Json parsed(const std::string& text) {
  if (session::is_nested_deeply(text)) return nullptr;
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

Json lesson_json(const LessonProgress& lesson) {
  Json pages = Json::array();
  for (const auto& [number, page] : lesson.pages)
    pages.push_back({{"page", number},
                     {"given", page.given},
                     {"tries", page.tries},
                     {"hints", page.hints},
                     {"answered", page.answered},
                     {"done", page.done},
                     {"was_shown", page.was_shown}});
  return {{"name", lesson.name}, {"page", lesson.page}, {"pages", pages}};
}

/// Of a lesson that is not here, nothing: its program is there all the same.
LessonProgress lesson_from(const Json& view) {
  LessonProgress lesson;
  const auto found = view.find("lesson");
  if (found == view.end() || !found->is_object()) return lesson;
  take(*found, "name", lesson.name);
  const session::Lesson* known = session::lesson_named(lesson.name);
  if (known == nullptr) return {};
  take(*found, "page", lesson.page);
  lesson.page = std::min(lesson.page, known->pages.size() - 1);
  const auto pages = found->find("pages");
  if (pages == found->end() || !pages->is_array()) return lesson;
  for (const Json& each : *pages) {
    if (!each.is_object()) continue;
    std::size_t number = known->pages.size();
    take(each, "page", number);
    if (number >= known->pages.size()) continue;
    PageProgress& page = lesson.pages[number];
    take(each, "given", page.given);
    take(each, "tries", page.tries);
    take(each, "hints", page.hints);
    page.hints = std::clamp(page.hints, 0, static_cast<int>(known->pages[number].hints.size()));
    page.tries = std::max(page.tries, 0);
    take(each, "answered", page.answered);
    take(each, "done", page.done);
    take(each, "was_shown", page.was_shown);
  }
  return lesson;
}

constexpr std::array filter_names = std::to_array<std::pair<TrialFilter, std::string_view>>(
    {{TrialFilter::all, "all"}, {TrialFilter::ok, "ok"}, {TrialFilter::failed, "failed"}});
constexpr std::array column_names = std::to_array<std::pair<TrialColumn, std::string_view>>({{TrialColumn::number, "number"},
                                                                                             {TrialColumn::plan, "plan"},
                                                                                             {TrialColumn::predicted, "predicted"},
                                                                                             {TrialColumn::measured, "measured"},
                                                                                             {TrialColumn::error, "error"},
                                                                                             {TrialColumn::state, "state"}});
constexpr std::array plot_names = std::to_array<std::pair<TunePlot, std::string_view>>(
    {{TunePlot::times, "times"}, {TunePlot::roofline, "roofline"}, {TunePlot::traffic, "traffic"}});

Json json_of(const TuneView& view) {
  return {{"selected", view.selected},
          {"picked", view.picked},
          {"filter", name_in(filter_names, view.filter)},
          {"sort", name_in(column_names, view.sort)},
          {"descending", view.descending},
          {"plot", name_in(plot_names, view.plot)},
          {"left", view.left},
          {"right", view.right},
          {"top", view.top}};
}

/// A part of the place; 0 stays: as is usual.
float part_of(float value, float least, float most) { return value > 0 ? std::clamp(value, least, most) : 0; }

void take_tune(const Json& from, TuneView& view) {
  take(from, "selected", view.selected);
  view.picked.clear();
  if (const auto picked = from.find("picked"); picked != from.end() && picked->is_array())
    for (const Json& each : *picked)
      if (const auto number = session::integer_in<int>(each); number && view.picked.size() < 2) view.picked.push_back(*number);
  take_named(from, "filter", filter_names, view.filter);
  take_named(from, "sort", column_names, view.sort);
  take(from, "descending", view.descending);
  take_named(from, "plot", plot_names, view.plot);
  take(from, "left", view.left);
  take(from, "right", view.right);
  take(from, "top", view.top);
  view.left = part_of(view.left, 0.15F, 0.35F);
  view.right = part_of(view.right, 0.20F, 0.45F);
  view.top = std::clamp(view.top, 0.2F, 0.75F);
}

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

constexpr std::string_view session_ending = ".session.json";
constexpr std::string_view utf8_mark = "\xEF\xBB\xBF";

/// What there is to keep where nothing has compiled yet.
Json unfinished(const App& app) {
  return {{"fathom-unfinished", 1}, {"file", app.document.inputs().file_name}, {"target", app.document.inputs().target}};
}

}  // namespace

std::string session_file(const App& app) {
  Json json = app.document.shown() == nullptr ? unfinished(app) : Json::parse(app.document.shown()->session.to_json());
  const View& view = app.view;
  json["typed"] = app.document.text();
  json["form"] = {{"crlf", app.form.crlf}, {"mark", app.form.mark}};
  json["view"] = {{"workspace", name_in(workspace_names, view.workspace)},
                  {"step", view.step},
                  {"tab", name_in(tab_names, view.tab)},
                  {"only_changed", view.only_changed},
                  {"filter", view.filter},
                  {"compare_with", view.compare_with},
                  {"whole_text", view.whole_text},
                  {"left", view.left},
                  {"right", view.right},
                  {"program", view.program},
                  {"selected", app.selected.name},
                  {"selected_step", app.selected.step},
                  {"repairs", view.repairs},
                  {"why", view.why}};
  if (!view.lesson.name.empty()) json["view"]["lesson"] = lesson_json(view.lesson);
  json["view"]["tune"] = json_of(view.tune);
  json["trials"] = app.trials.to_json();
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void restore_trials(App& app, const std::string& text) {
  const Json json = parsed(text);
  if (!json.is_object() || !json.contains("trials")) return;
  if (const auto problem = app.trials.take_json(json.at("trials"))) app.document.say(*problem);
}

void restore_view(App& app, const std::string& text) {
  const Json json = parsed(text);
  if (!json.is_object() || !json.contains("view") || !json.at("view").is_object()) return;
  app.form = {};
  if (const auto form = json.find("form"); form != json.end() && form->is_object()) {
    take(*form, "crlf", app.form.crlf);
    take(*form, "mark", app.form.mark);
  }
  const Json& from = json.at("view");
  View& view = app.view;
  take_named(from, "workspace", workspace_names, view.workspace);
  take(from, "step", view.step);
  take_named(from, "tab", tab_names, view.tab);
  take(from, "only_changed", view.only_changed);
  take(from, "filter", view.filter);
  take(from, "compare_with", view.compare_with);
  take(from, "whole_text", view.whole_text);
  take(from, "left", view.left);
  take(from, "right", view.right);
  take(from, "program", view.program);
  view.left = part_of(view.left, 0.12F, 0.40F);
  view.right = part_of(view.right, 0.18F, 0.45F);
  view.program = std::clamp(view.program, 0.25F, 0.75F);
  take(from, "repairs", view.repairs);
  take(from, "why", view.why);
  view.lesson = lesson_from(from);
  take(from, "selected", app.selected.name);
  take(from, "selected_step", app.selected.step);
  if (from.contains("tune") && from.at("tune").is_object()) take_tune(from.at("tune"), view.tune);
}

std::optional<Unfinished> unfinished_text(const std::string& text) {
  const Json json = parsed(text);
  if (!json.is_object() || !json.contains("fathom-unfinished")) return std::nullopt;
  Unfinished found;
  take(json, "file", found.file_name);
  take(json, "target", found.target);
  take(json, "typed", found.text);
  return found;
}

std::string typed_text(const std::string& text) {
  const Json json = parsed(text);
  std::string typed;
  if (json.is_object()) take(json, "typed", typed);
  return typed;
}

std::string path_beside(const App& app, const std::string& ending) {
  std::string file = app.document.opened_from().empty() ? app.document.inputs().file_name : app.document.opened_from();
  for (const std::string_view known : {session_ending, std::string_view(".fathom")})
    if (ends_with(file, known)) file.resize(file.size() - known.size());
  return (file.empty() ? "session" : file) + ending;
}

std::string session_path(const App& app) { return path_beside(app, std::string(session_ending)); }

bool save_session(App& app, const std::string& path) {
  const std::string whole = whole_path(path);
  const auto error = write_whole(whole, session_file(app));
  say_saved(app, whole, error);
  if (error) return false;
  app.document.saved_to(whole);
  app.trials.saved();
  return true;
}

bool save_program(App& app, const std::string& path) {
  const auto error = write_whole(whole_path(path), in_form(app.document.text(), app.form));
  say_saved(app, path, error);
  const session::Inputs& inputs = app.document.inputs();
  const bool is_all = inputs.trace.entries.empty() && inputs.dims.empty();  // else choices and sizes are in no file
  if (!error && is_all) app.document.text_saved();
  return !error;
}

void say_saved(App& app, const std::string& path, const std::optional<std::string>& error) {
  app.document.say(error ? *error : fmt::format("Saved: {}", full_path(path)), error ? Said::failed : Said::done);
}

std::string plain_text(std::string text, FileForm& form) {
  form = {};
  form.mark = text.compare(0, utf8_mark.size(), utf8_mark) == 0;
  if (form.mark) text.erase(0, utf8_mark.size());
  form.crlf = text.find("\r\n") != std::string::npos;
  if (!form.crlf) return text;
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') plain += text[i];
  return plain;
}

std::string in_form(const std::string& text, FileForm form) {
  std::string out(form.mark ? utf8_mark : std::string_view());
  for (const char c : text) {
    if (c == '\n' && form.crlf) out += '\r';
    out += c;
  }
  return out;
}

std::string whole_path(const std::string& typed) {
  const char* home = std::getenv("HOME");
  const bool is_short = !typed.empty() && typed[0] == '~' && (typed.size() == 1 || typed[1] == '/');
  return is_short && home != nullptr ? home + typed.substr(1) : typed;
}

std::string full_path(const std::string& typed) {
  std::error_code error;
  const std::filesystem::path full = std::filesystem::absolute(whole_path(typed), error);
  return error ? typed : full.lexically_normal().string();
}

std::string folder_of(const std::string& typed) { return std::filesystem::path(full_path(typed)).parent_path().string(); }

std::optional<std::string> write_whole(const std::string& path, const std::string& text) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  const fs::path target = fs::is_symlink(path, unknown) ? fs::weakly_canonical(path, unknown) : fs::path(path);
  const std::string part = target.string() + ".fathom-part";
  errno = 0;
  std::ofstream file(part, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  int reason = errno;
  if (file) {
    if (const fs::file_status there = fs::status(target, unknown); fs::exists(there)) fs::permissions(part, there.permissions(), unknown);
    if (std::rename(part.c_str(), target.c_str()) == 0) return std::nullopt;
    reason = errno;
  }
  std::remove(part.c_str());
  return fmt::format("{} cannot be written ({}). Nothing was changed there; choose another place.", path, std::strerror(reason));
}

std::optional<std::string> read_whole(const std::string& path) {
  std::error_code unknown;
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, unknown)) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace fathom::ui
