// The explorer: what is open, what of it the screen shows, what is selected. Panels draw this and run commands; `frame` draws everything.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "document.hpp"
#include "exporter.hpp"
#include "lesson_state.hpp"
#include "machine_code.hpp"
#include "own_repairs.hpp"
#include "panel_states.hpp"
#include "stage_view.hpp"
#include "theme.hpp"
#include "trials.hpp"
#include "tune_state.hpp"
#include "tune_view.hpp"

namespace fathom::ui {

enum class Workspace : unsigned char { learn, explore, tune };
enum class Tab : unsigned char { program, ir, graph, code, stage };

/// What of the document the screen shows: kept in session files.
struct View {
  Workspace workspace = Workspace::explore;
  std::string step;  ///< id of the step that is looked at; empty: the first
  Tab tab = Tab::ir;
  bool only_changed = false;
  std::string filter;                 ///< of the list of steps
  std::string compare_with;           ///< id of the step whose program the difference is taken from; empty: the step before
  bool whole_text = false;            ///< the program without its difference
  float left = 0.22F, right = 0.29F;  ///< parts of the width
  bool middle_alone = false;          ///< the middle panel has all the place
  LessonProgress lesson;
  std::map<std::string, std::string> repairs;  ///< as they are typed, by consumer
  std::string why;                             ///< consumer that the why column shows; empty: that of the step
  TuneView tune;
  friend bool operator==(const View&, const View&) = default;
};

/// One thing of the program, shared by all panels: a name as it stands in the program after a step.
struct Selection {
  std::string name;
  std::size_t step = 0;
  [[nodiscard]] bool is_empty() const { return name.empty(); }
  friend bool operator==(const Selection&, const Selection&) = default;
};

constexpr float least_scale = 0.75F, most_scale = 3;
struct Settings {
  Theme theme = Theme::dark;
  float scale = 1;  ///< least_scale … most_scale
  bool reduced_motion = false;
};

/// What the palette asks for.
enum class Ask : unsigned char { command, sample, lesson, state, open, save_session, save_program, unsaved, export_to };

struct Palette {
  bool is_open = false, just_opened = false;
  Ask ask = Ask::command;
  std::string query;
  int at = 0;
  std::optional<std::string> files_of;  ///< the query that `files` were listed for
  std::vector<std::string> files;
};

class App {
 public:
  /// `wake` asks for a frame; it is called from other threads.
  explicit App(const std::function<void()>& wake)
      : document(wake), machine_code(wake), stage(wake), own_repairs(wake), trials(wake), exporter(wake) {}

  Document document;
  MachineCode machine_code;
  StageView stage;
  mutable OwnRepairs own_repairs;  ///< asking changes nothing that is seen
  Trials trials;
  Exporter exporter;
  View view;
  Selection selected, hovered;
  Selection hovering;  ///< what panels of this frame find under the mouse; `hovered` in the next
  Settings settings;
  Palette palette;
  ProgramState program;
  IrState ir;
  CodeState code;
  GraphState graph;
  CardState card;
  LessonState lesson;
  WhyState why;
  TuneState tune;
  std::string revealed_step;              ///< that the list of steps was scrolled to
  std::function<void(std::string)> copy;  ///< to the clipboard
  bool wants_to_quit = false;
  std::function<void(App&)> leaving;  ///< what waits for an answer about unsaved changes
  std::string left_behind;            ///< a session file that a crash left; empty: none
  bool playing = false;
  double play_next = 0;  ///< seconds of Dear ImGui's clock

  /// Place of the step that is looked at; 0 where nothing is shown.
  [[nodiscard]] std::size_t step() const;
  void go_to(std::size_t step);
  /// Draws one frame between NewFrame and Render.
  void frame();
  /// Does something move by itself, so that another frame must follow?
  [[nodiscard]] bool is_animating() const;
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

/// The step that a program text is compared with: View::compare_with, else the one before.
[[nodiscard]] std::optional<std::size_t> compared_step(const App&);

}  // namespace fathom::ui
