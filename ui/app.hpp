// The explorer: what is open, what of it the screen shows, what is selected. Panels draw this and run commands; `frame` draws everything.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "document.hpp"
#include "exporter.hpp"
#include "lesson_state.hpp"
#include "machine_code.hpp"
#include "overlay.hpp"
#include "own_repairs.hpp"
#include "panel_states.hpp"
#include "role_view.hpp"
#include "selection.hpp"
#include "stage_view.hpp"
#include "theme.hpp"
#include "trials.hpp"
#include "tune_state.hpp"
#include "tune_view.hpp"

namespace fathom::ui {

enum class Workspace : unsigned char { learn, explore, tune };
enum class Tab : unsigned char { program, ir, graph, code, stage, layout, roles };

/// What of the document the screen shows: kept in session files.
struct View {
  Workspace workspace = Workspace::explore;
  std::string step;  ///< id of the step that is looked at; empty: the first
  Tab tab = Tab::ir;
  bool only_changed = false;
  std::string filter;                     ///< of the list of steps
  std::string compare_with;               ///< id of the step whose program the difference is taken from; empty: the step before
  bool whole_text = false;                ///< the program without its difference
  float left = 0, right = 0;              ///< parts of the width; 0: as is usual
  float program = 0.45F;                  ///< part of the middle that the program's text has where it stands beside
  std::string alone;                      ///< id of the panel that has all the place; empty: none
  std::optional<std::size_t> other_plan;  ///< place in the history of the plan that this one is compared with
  LessonProgress lesson;
  std::map<std::string, std::string> repairs;  ///< as they are typed, by consumer
  std::string why;                             ///< consumer that the why column shows; empty: that of the step
  TuneView tune;
  friend bool operator==(const View&, const View&) = default;
};

constexpr float least_scale = 0.75F, most_scale = 3;
struct Settings {
  Theme theme = Theme::dark;   ///< that is shown
  bool follows_system = true;  ///< the platform sets `theme` to the desktop's
  float scale = 1;             ///< least_scale … most_scale
  bool reduced_motion = false;
  std::map<std::string, std::string, std::less<>> keys;  ///< command → combination that was bound in place of the table's
  friend bool operator==(const Settings&, const Settings&) = default;
};
/// How the program's file writes what the document has as plain lines; a saved program is written the same way.
struct FileForm {
  bool crlf = false;  ///< lines end as on Windows
  bool mark = false;  ///< it begins with the mark of UTF-8
};
/// A part of the screen that shall become a file: the platform has the pixels.
struct PictureRequest {
  std::string path;
  ImVec2 min, max;
  int frames_to_wait = 3;  ///< until what asked for it is off the screen
};
/// A size that goes back by itself: nobody is left with a screen that cannot be read.
struct ScaleTrial {
  float before = 1;
  double until = 0;  ///< seconds of Dear ImGui's clock
};

/// What the palette asks for.
enum class Ask : unsigned char {
  command,
  sample,
  lesson,
  state,
  open,
  save_session,
  save_program,
  scale,
  glossary,
  panel_text,
  panel_picture,
  compare_step,
  compare_plan,
  notation,
  unsaved,
  export_to
};

struct Palette {
  bool is_open = false, just_opened = false;
  Ask ask = Ask::command;
  std::string query;
  int at = 0;
  std::optional<std::string> files_of;  ///< the query that `files` were listed for
  std::vector<std::string> files;
};

struct OtherPlan;  ///< of compare.cpp

/// A session file that a program left which did not end properly.
struct LeftBehind {
  std::string path, when;  ///< when: in words, "2026-11-30 14:05"
};

class App {
 public:
  /// `wake` asks for a frame; it is called from other threads. `give_way` is called on threads whose work may wait for frames and keys.
  explicit App(const std::function<void()>& wake, const std::function<void()>& give_way = {})
      : document(wake, give_way), machine_code(wake, give_way), stage(wake), own_repairs(wake), roles(wake), trials(wake), exporter(wake) {}

  Document document;
  MachineCode machine_code;
  StageView stage;
  mutable OwnRepairs own_repairs;  ///< asking changes nothing that is seen
  RoleView roles;
  Trials trials;
  Exporter exporter;
  View view;
  Selection selected, hovered;
  Selection hovering;  ///< what panels of this frame find under the mouse; `hovered` in the next
  Settings settings;
  FileForm form;
  std::optional<ScaleTrial> scale_trial;
  std::string panel;            ///< that "this panel" is said of (panel_export.hpp)
  bool panel_is_taken = false;  ///< by a click or by keyboard: the mouse alone does not change it
  std::optional<PictureRequest> picture;
  bool takes_pictures = false;  ///< does the platform?
  Palette palette;
  OverlayState overlay;
  TourPlace tour;
  ProgramState program;
  IrState ir;
  CodeState code;
  GraphState graph;
  LayoutState layout;
  RolesState roles_state;
  CardState card;
  LessonState lesson;
  WhyState why;
  TuneState tune;
  mutable std::shared_ptr<OtherPlan> other_plan_made;  ///< of View::other_plan; made when it is asked for
  std::string revealed_step;                           ///< that the list of steps was scrolled to
  std::function<void(std::string)> copy;               ///< to the clipboard
  bool wants_to_quit = false;
  std::function<void(App&)> leaving;    ///< what waits for an answer about unsaved changes
  std::vector<LeftBehind> left_behind;  ///< by programs that did not end properly; the newest first
  bool playing = false;
  double play_next = 0;  ///< seconds of Dear ImGui's clock

  /// Place of the step that is looked at; 0 where nothing is shown.
  [[nodiscard]] std::size_t step() const;
  void go_to(std::size_t step);
  /// Draws one frame between NewFrame and Render.
  void frame();
  /// Does something move by itself, so that another frame must follow?
  [[nodiscard]] bool is_animating() const;
  /// Does something count seconds? A frame a second will do: more would be measured with what is timed.
  [[nodiscard]] bool is_counting() const { return trials.is_running(); }
  /// Is anything there that no file has?
  [[nodiscard]] bool is_changed() const { return document.is_changed() || trials.is_changed(); }

  /// Is the name, in the program after `step`, the selected or hovered thing, or a part of it?
  [[nodiscard]] bool is_selected(std::size_t step, const std::string& name) const;
  [[nodiscard]] bool is_hovered(std::size_t step, const std::string& name) const;
  /// Number of the entity colour of a name.
  [[nodiscard]] std::optional<std::size_t> colour_of(std::size_t step, const std::string& name) const;

 private:
  bool was_broken_ = false;  ///< nothing compiles, and the text was shown for it
};

/// The target of what is shown has lanes that hold elements of tiles: layouts can be looked at.
[[nodiscard]] bool shows_lanes(const App&);
/// The step that a program text is compared with: View::compare_with, else the one before.
[[nodiscard]] std::optional<std::size_t> compared_step(const App&);

}  // namespace fathom::ui
