// One line to type into and what it finds below: all commands by name, samples, states of the history, files.
#include <fmt/format.h>
#include <imgui_internal.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <utility>

#include "command.hpp"
#include "compare.hpp"
#include "glossary.hpp"
#include "keys.hpp"
#include "lesson.hpp"
#include "match.hpp"
#include "mirror.hpp"
#include "notation.hpp"
#include "panel_export.hpp"
#include "panels/panels.hpp"
#include "scale.hpp"
#include "session_files.hpp"
#include "start.hpp"

namespace fathom::ui::panels {
namespace {

/// A line of the list.
struct Entry {
  std::string id, title, right;
  std::string disabled;  ///< why; empty: it can be taken
  std::function<void(App&)> take;
  std::string whole = {};  ///< shown below the list while the entry is picked; may be empty
  std::string words = {};  ///< that it is looked for by, too
};

/// Those that answer what is typed, the best first, and of equal ones what can be done before what cannot.
std::vector<Entry> found_in(std::vector<Entry> entries, std::string_view query) {
  if (query.empty()) return entries;
  std::vector<std::pair<int, Entry>> ranked;
  bool all_scattered = true;
  for (Entry& entry : entries)
    if (const auto match = match_of(entry.title, entry.words, query)) {
      all_scattered = all_scattered && *match == Match::scattered;
      const int rank = 2 * static_cast<int>(*match) + (entry.disabled.empty() ? 0 : 1);
      ranked.emplace_back(rank, std::move(entry));
    }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& one, const auto& other) { return one.first < other.first; });
  std::vector<Entry> found;
  for (auto& [rank, entry] : ranked)
    if (all_scattered || rank < 2 * static_cast<int>(Match::scattered)) found.push_back(std::move(entry));
  return found;
}

std::vector<Entry> command_entries(App& app) {
  std::vector<Entry> entries;
  for (const Command& command : commands()) {
    std::string why = command.disabled(app);
    entries.push_back({std::string(command.id),
                       std::string(command.title),
                       why.empty() ? shortcut_of(app, command) : why,
                       why,
                       [run = command.run](App& at) { run(at); },
                       {},
                       std::string(command.words)});
  }
  return entries;
}

std::vector<Entry> sample_entries(App&) {
  std::vector<Entry> entries;
  for (const session::Sample& sample : session::samples())
    entries.push_back({"sample." + sample.name,
                       sample.name,
                       what_it_is(sample),
                       {},
                       [sample](App& at) { leave(at, [sample](App& then) { open_sample(then, sample); }); },
                       {},
                       what_it_is(sample)});
  return entries;
}

std::vector<Entry> lesson_entries(App& app) {
  std::vector<Entry> entries;
  for (const session::Lesson& lesson : session::lessons())
    entries.push_back(
        {"lesson." + lesson.name,
         lesson.title,
         lesson.name == app.view.lesson.name ? "open" : fmt::format("{} pages", lesson.pages.size()),
         {},
         [name = lesson.name](App& at) { leave(at, [name](App& then) { start_lesson(then, *session::lesson_named(name)); }); }});
  return entries;
}

/// Newest first.
std::vector<Entry> state_entries(App& app) {
  std::vector<Entry> entries;
  if (app.document.shown() == nullptr) return entries;
  const session::Session& session = app.document.shown()->session;
  const std::vector<std::string> lines = session.history();
  for (std::size_t i = lines.size(); i-- > 0;)
    entries.push_back({fmt::format("state.{}", i),
                       fmt::format("{}  {}", i + 1, lines[i]),
                       i == session.place_in_history() ? "now" : "",
                       {},
                       [i](App& at) { at.document.go_to_state(i); }});
  return entries;
}

bool is_ours(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return path.extension() == ".fathom" || (name.size() > 13 && name.substr(name.size() - 13) == ".session.json");
}

/// What was typed where it is a file, then files and folders that begin so.
std::vector<std::string> files_like(const std::string& typed) {
  constexpr std::size_t most_files = 200;
  std::error_code error;
  const std::filesystem::path given(typed.empty() ? "./" : whole_path(typed));
  const std::filesystem::path folder = given.has_parent_path() ? given.parent_path() : std::filesystem::path(".");
  const std::string begin = given.filename().string();
  std::vector<std::string> found;
  for (auto at = std::filesystem::directory_iterator(folder, error); !error && at != std::filesystem::directory_iterator();
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    const bool is_folder = at->is_directory(error);
    if ((is_folder || is_ours(at->path())) && name.compare(0, begin.size(), begin) == 0 && (name[0] != '.' || begin.substr(0, 1) == "."))
      found.push_back((given.has_parent_path() ? (folder / name).string() : name) + (is_folder ? "/" : ""));
    if (found.size() > most_files) break;
  }
  found.erase(std::remove(found.begin(), found.end(), given.string()), found.end());
  std::sort(found.begin(), found.end());
  if (!typed.empty() && std::filesystem::is_regular_file(given, error)) found.insert(found.begin(), given.string());
  return found;
}

/// The disk is read once for what is typed, not in every frame.
std::vector<Entry> file_entries(App& app) {
  Palette& palette = app.palette;
  if (palette.files_of != palette.query) palette.files = files_like(palette.query);
  palette.files_of = palette.query;
  std::vector<Entry> entries;
  for (const std::string& path : palette.files) {
    const bool is_folder = path.back() == '/', is_typed = path == whole_path(palette.query);
    entries.push_back({is_typed ? "file" : "file." + path,
                       path,
                       is_folder  ? "folder"
                       : is_typed ? "open"
                                  : "",
                       {},
                       [path, is_folder](App& at) {
                         if (is_folder)
                           ask(at, Ask::open, path);
                         else
                           leave(at, [path](App& then) { open_file(then, path); });
                       }});
  }
  if (entries.empty()) entries.push_back({"none", "There is no such file.", {}, "Type the path of a .fathom or .session.json file.", {}});
  return entries;
}

/// Does what waited for the file, if anything did; the sentence of where the file is stays.
void go_on(App& app, const std::function<void(App&)>& then) {
  if (!then) return;
  const std::string said = app.document.message();
  then(app);
  if (app.document.message().empty()) app.document.say(said, Said::done);
}

using Save = bool (*)(App&, const std::string&);
std::vector<Entry> save_entries(const App& app, Save save) {
  const std::string path = app.palette.query;
  std::error_code error;
  const bool exists = std::filesystem::exists(whole_path(path), error);
  const auto take = [path, save](App& at) {
    const auto then = std::exchange(at.leaving, nullptr);
    if (save(at, path)) go_on(at, then);
  };
  return {{"save", (exists ? "Replace " : "Save ") + path, "Enter", path.empty() ? "Type the path of a file." : "", take,
           path.empty() ? "" : fmt::format("In the folder {}", folder_of(path))}};
}

std::vector<Entry> scale_entries(App& app) {
  std::vector<Entry> entries;
  for (const int percent : offered_percents) {
    const std::string title = fmt::format("{} %", percent);
    entries.push_back(
        {fmt::format("scale.{}", percent), title, percent == percent_of(app.settings.scale) ? "now" : "", {}, [percent](App& at) {
           try_scale(at, static_cast<float>(percent) / 100);
         }});
  }
  return entries;
}

std::vector<Entry> glossary_entries(App&) {
  std::vector<Entry> entries;
  for (const Term& term : glossary()) {
    std::string word(term.word);
    std::replace(word.begin(), word.end(), '_', ' ');
    std::string whole = word + ": " + std::string(term.text);
    entries.push_back({"term." + std::string(term.word),
                       word,
                       std::string(term.text),
                       {},
                       [whole](App& at) { at.document.say(whole, Said::plain); },
                       whole,
                       fmt::format("{} {}", term.forms, term.text)});
  }
  return entries;
}

std::vector<Entry> notation_entries(App&) {
  std::vector<Entry> entries;
  for (const NotationPart& part : notation_parts()) {
    const auto take = [&part](App& at) {
      if (at.copy) at.copy(std::string(part.form));
      at.document.say(fmt::format("“{}” is in the clipboard. {}", part.form, part.text), Said::done);
    };
    entries.push_back({"part." + std::string(part.id),
                       std::string(part.form),
                       std::string(part.text),
                       {},
                       take,
                       fmt::format("{}\n{}", part.form, part.text),
                       fmt::format("{} {}", part.words, part.text)});
  }
  return entries;
}

std::vector<Entry> compared_step_entries(App& app) {
  std::vector<Entry> entries;
  if (app.document.shown() == nullptr) return entries;
  for (const Step& step : app.document.shown()->steps())
    entries.push_back(
        {"step." + step.id, step.title, std::string(name(step.level)), {}, [id = step.id](App& at) { compare_with_step(at, id); }});
  return entries;
}

/// Newest first; the plan itself is no other.
std::vector<Entry> compared_plan_entries(App& app) {
  std::vector<Entry> entries;
  if (app.document.shown() == nullptr) return entries;
  const session::Session& session = app.document.shown()->session;
  const std::vector<std::string> lines = session.history();
  for (std::size_t i = lines.size(); i-- > 0;)
    if (i != session.place_in_history())
      entries.push_back(
          {fmt::format("plan.{}", i), fmt::format("{}  {}", i + 1, lines[i]), "", {}, [i](App& at) { compare_with_plan(at, i); }});
  return entries;
}

/// A session that never compiled has no state to keep: its text is kept as a program.
void save_then_go_on(App& app) {
  auto then = std::exchange(app.leaving, nullptr);
  if (app.document.shown() != nullptr && !app.document.opened_from().empty()) {
    if (save_session(app, app.document.opened_from())) go_on(app, then);
    return;
  }
  const bool is_session = app.document.shown() != nullptr;
  ask(app, is_session ? Ask::save_session : Ask::save_program, is_session ? session_path(app) : app.document.inputs().file_name);
  app.leaving = std::move(then);
}

std::vector<Entry> unsaved_entries(App& app) {
  const std::string& file = app.document.opened_from();
  const std::string where = file.empty() ? "asks for the name of a file first" : "as " + full_path(file);
  return {{"stay", "Stay here", "The session has changes that no file has.", {}, [](App& at) { at.leaving = nullptr; }},
          {"save", "Save, then go on", where, {}, save_then_go_on, file.empty() ? "" : fmt::format("In the folder {}", folder_of(file))},
          {"leave", "Go on without the changes", "they are lost", {}, [](App& at) { std::exchange(at.leaving, nullptr)(at); }}};
}

struct Kind {
  const char* hint;
  std::vector<Entry> (*entries)(App&);
  bool is_searched = false;  ///< what is typed is looked for in the entries
};
Kind kind_of(Ask ask) {
  switch (ask) {
    case Ask::command:
      return {"what do you want to do?", command_entries, true};
    case Ask::sample:
      return {"which sample?", sample_entries, true};
    case Ask::lesson:
      return {"which lesson?", lesson_entries, true};
    case Ask::state:
      return {"which state of the history?", state_entries, true};
    case Ask::unsaved:
      return {"there are unsaved changes", unsaved_entries};
    case Ask::open:
      return {"path of a .fathom or .session.json file", file_entries};
    case Ask::save_session:
      return {"path of the session file", [](App& app) { return save_entries(app, save_session); }};
    case Ask::export_to:
      return {"path of the file to export to", [](App& app) {
                return save_entries(app, [](App& at, const std::string& path) { return at.exporter.begin(at.document, path), true; });
              }};
    case Ask::save_program:
      return {"path of the program's file", [](App& app) { return save_entries(app, save_program); }};
    case Ask::glossary:
      return {"which word?", glossary_entries, true};
    case Ask::notation:
      return {"which part of the notation? Enter copies it", notation_entries, true};
    case Ask::compare_step:
      return {"compare with which step?", compared_step_entries, true};
    case Ask::compare_plan:
      return {"compare with which state of the history?", compared_plan_entries, true};
    case Ask::panel_text:
      return {"path of the text file",
              [](App& app) { return save_entries(app, [](App& at, const std::string& path) { return save_panel_text(at, path), true; }); }};
    case Ask::panel_picture:
      return {"path of the PNG file", [](App& app) {
                return save_entries(app, [](App& at, const std::string& path) { return save_panel_picture(at, path), true; });
              }};
    case Ask::scale:
      return {"how large?", scale_entries, true};
  }
  return {"", command_entries, true};
}

bool row(const Entry& entry, bool here) {
  const float width = ImGui::GetContentRegionAvail().x;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const Box box{at, {at.x + width, at.y + metrics().row}};
  ImGui::PushID(entry.id.c_str());
  const bool pressed = ImGui::InvisibleButton("##entry", {std::max(1.0F, width), metrics().row});
  ImGui::PopID();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  if (here || ImGui::IsItemHovered())
    list.AddRectFilled(box.min, box.max, here ? colour(Role::line) : picked_ground(), metrics().control_radius);
  const float y = box.min.y + (box.height() - font(Font::body)->FontSize) / 2, left = box.min.x + gap(2);
  widgets::draw_text(list, {left, y}, entry.title, colour(entry.disabled.empty() ? Role::text : Role::muted), Font::body);
  const float room = box.max.x - gap(2) - left - widgets::measure(entry.title, Font::body).x - gap(4);
  const std::string right = widgets::cut_to(entry.right, std::max(0.0F, room), Font::caption);
  const ImVec2 extent = widgets::measure(right, Font::caption);
  widgets::draw_text(list, {box.max.x - gap(2) - extent.x, box.min.y + (box.height() - extent.y) / 2}, right,
                     colour(here ? Role::text : Role::muted), Font::caption);
  mirror().add("command", entry.id, entry.title, box.min, box.max, entry.disabled.empty(), here);
  return pressed && entry.disabled.empty();
}

/// The list under the line; the entry that was taken.
std::optional<Entry> choose(Palette& palette, const std::vector<Entry>& entries) {
  const int last = static_cast<int>(entries.size()) - 1;
  const int before = palette.at;
  if (ImGui::IsKeyPressed(ImGuiKey_DownArrow)) ++palette.at;
  if (ImGui::IsKeyPressed(ImGuiKey_UpArrow)) --palette.at;
  palette.at = std::clamp(palette.at, 0, std::max(0, last));
  std::optional<Entry> chosen;
  const bool has_whole = !entries.empty() && !entries[static_cast<std::size_t>(palette.at)].whole.empty();
  const float below = has_whole ? 3 * font(Font::body)->FontSize + gap(4) : 0;  // the longest takes three lines
  ImGui::BeginChild("##entries", {0, -below});
  for (int i = 0; i <= last; ++i) {
    const Entry& entry = entries[static_cast<std::size_t>(i)];
    const bool here = i == palette.at;
    if (row(entry, here)) chosen = entry;
    if (here && before != palette.at) ImGui::SetScrollHereY(0.5F);
    // The Enter that opened the palette from a button takes nothing of it.
    const bool takes = !palette.just_opened && ImGui::IsKeyPressed(ImGuiKey_Enter, false);
    if (here && entry.disabled.empty() && takes) chosen = entry;
  }
  if (entries.empty()) widgets::wrapped("Nothing is called so.", Role::muted);
  ImGui::EndChild();
  if (has_whole) widgets::wrapped(entries[static_cast<std::size_t>(palette.at)].whole);
  return chosen;
}

/// What is typed before the field has the keys, which takes it a frame, belongs to it all the same.
void take_early_letters(std::string& query) {
  if (ImGui::GetInputTextState(ImGui::GetActiveID()) != nullptr) return;
  for (const ImWchar letter : ImGui::GetIO().InputQueueCharacters) {
    char utf8[5];
    query += ImTextCharToUtf8(utf8, letter);
    ImGui::GetStateStorage()->SetBool(ImGui::GetID("early"), true);
  }
}

/// A field that gets the keys selects what it holds, so that the next letter would replace the early ones.
void keep_early_letters() {
  if (!ImGui::IsItemActivated() || !ImGui::GetStateStorage()->GetBool(ImGui::GetID("early"))) return;
  ImGui::GetStateStorage()->SetBool(ImGui::GetID("early"), false);
  ImGuiInputTextState* state = ImGui::GetInputTextState(ImGui::GetActiveID());
  if (state == nullptr) return;
  state->Stb.cursor = state->CurLenW;
  state->ClearSelection();
}

void begin_window() {
  const ImVec2 screen = ImGui::GetIO().DisplaySize;
  const float width = std::min(gap(150), screen.x - gap(4));
  ImGui::SetNextWindowPos({(screen.x - width) / 2, metrics().bar + gap(2)});
  ImGui::SetNextWindowSize({width, std::min(gap(120), screen.y - metrics().bar - gap(8))});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, colour(Role::raised));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, metrics().radius);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, hairline());
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {gap(2), gap(2)});
  ImGui::Begin("##palette", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav);
  ImGui::PopStyleVar(3);
  ImGui::PopStyleColor();
}

}  // namespace

void palette(App& app) {
  Palette& palette = app.palette;
  if (!palette.is_open) return;
  const MirrorScope scope("palette");
  begin_window();
  if (palette.just_opened) {
    ImGui::SetWindowFocus();
    ImGui::SetKeyboardFocusHere();
  }
  take_early_letters(palette.query);
  const Kind kind = kind_of(palette.ask);
  if (widgets::field("query", {}, palette.query, kind.hint)) palette.at = 0;
  keep_early_letters();
  std::vector<Entry> entries = kind.entries(app);
  if (kind.is_searched) entries = found_in(std::move(entries), palette.query);
  const std::optional<Entry> chosen = choose(palette, entries);
  const bool left = !palette.just_opened && !ImGui::IsWindowFocused(ImGuiFocusedFlags_RootAndChildWindows);
  ImGui::End();
  palette.just_opened = false;
  if (chosen || left || ImGui::IsKeyPressed(ImGuiKey_Escape, false)) palette.is_open = false;
  if (chosen)
    chosen->take(app);
  else if (!palette.is_open)
    app.leaving = nullptr;  // nobody answered: stay
}

}  // namespace fathom::ui::panels
