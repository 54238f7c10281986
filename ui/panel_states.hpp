// What panels keep between frames. All of it can be made again from the document and the view: nothing here is saved.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assembly.hpp"
#include "graph_layout.hpp"
#include "selection.hpp"
#include "theme.hpp"
#include "widgets/canvas.hpp"
#include "widgets/editor.hpp"
#include "widgets/text_view.hpp"

namespace fathom::ui {

struct ProgramState {
  widgets::EditorState editor;
  std::string file;                               ///< that the history of the editor belongs to
  std::string sent;                               ///< the document's text as the editor last had it
  std::map<std::string, std::string> typed_dims;  ///< as they stand in their fields
  std::string typing;                             ///< the dimension whose field has the keys
  float list_height = 0;                          ///< of all that is wrong, in the last frame
  /// Entity colours of names, of one version of the document.
  std::uint64_t version = 0;
  std::map<std::string, std::optional<std::size_t>, std::less<>> colours;
};

struct IrState {
  /// What the lines were made for.
  struct Made {
    std::uint64_t version = 0;
    std::size_t step = 0, before = 0;
    bool whole = true;
    Theme theme = Theme::dark;
    std::string preview;                    ///< SITE=CHOICE that is previewed; empty: none
    std::optional<std::size_t> other_plan;  ///< place in the history
    std::vector<int> open;                  ///< first lines of folds that were opened
    friend bool operator==(const Made&, const Made&) = default;
  } made;
  std::vector<widgets::TextLine> lines;
  widgets::TextViewState text;
};

struct CodeState {
  struct Made {
    std::uint64_t version = 0;
    bool llvm_ir = false;
    Theme theme = Theme::dark;
    friend bool operator==(const Made&, const Made&) = default;
  } made;
  bool llvm_ir = false;
  std::vector<widgets::TextLine> lines;  ///< their tags: lines of the Kernel program
  std::optional<HotLoop> loop;           ///< of the assembly
  std::optional<std::size_t> over;       ///< the line under the mouse, in the last frame
  widgets::TextViewState text;
};

struct DerivationState {
  bool shows_all = false;  ///< with the pure reorderings
  float em = 4.5F;         ///< of the formulas, in gaps
  std::string lit;         ///< the name under the mouse, as it was in the last frame
  struct Made;             ///< boxes and colours, kept while nothing that they depend on changes
  std::shared_ptr<Made> made;
};

/// A statement or an argument of the graph of the Math level.
struct GraphNode {
  std::string name, type, formula;
  int group = -1;                         ///< statements that share a loop nest have one number
  bool is_new = false, is_other = false;  ///< in a preview: not there before, or with another formula
};

struct GraphState {
  struct Made {
    std::uint64_t version = 0;
    std::size_t step = 0;
    float scale = 0;      ///< of the fonts: sizes of nodes follow it
    std::string preview;  ///< SITE=CHOICE that is previewed; empty: none
    friend bool operator==(const Made&, const Made&) = default;
  } made;
  /// What stands out, by node: kept while selection and mouse stay, for asking about each in every frame takes longer than drawing.
  struct Lit {
    Selection selected, hovered;
    Made made;
    friend bool operator==(const Lit&, const Lit&) = default;
  } lit_for;
  std::vector<char> is_selected, is_hovered;
  std::vector<std::optional<std::size_t>> entities;  ///< numbers of entity colours
  std::vector<GraphNode> nodes;
  std::vector<GraphEdge> edges;
  std::vector<std::string> group_titles;  ///< "loop over j", by a group's number
  std::vector<ImVec2> sizes;
  GroupedLayout layout;
  widgets::CanvasState canvas;
  std::string search;
  bool search_is_open = false;
  bool asks_search = false;  ///< by a key: the field gets the keys in the next frame
};

/// Which lane holds which element of a value.
struct LayoutState {
  enum class ColourBy : unsigned char { lane, reg, warp };
  struct Made;  ///< pictures of one step's values, kept while nothing that they depend on changes
  std::shared_ptr<Made> made;
  ColourBy colour_by = ColourBy::lane;
  std::int64_t row = 0, column = 0;  ///< of the cell that is looked at
  ImVec2 mouse{-1, -1};              ///< as it last was on the picture
  widgets::CanvasState canvas;
};

/// Roles over time.
struct RolesState {
  widgets::CanvasState canvas;
};

struct CardState {
  /// Where the mouse rested when what the card shows changed: what comes to lie under it is not looked at until it moves.
  struct Rest {
    std::uint64_t version = 0;
    std::size_t step = 0;
    ImVec2 mouse;
  } rest;
  std::map<std::string, DerivationState> derivations;  ///< by consumer
  std::string open;                                    ///< consumer whose derivation is shown; empty: none
  struct Laws;                                         ///< boxes of the step's laws, kept while nothing that they depend on changes
  std::shared_ptr<Laws> laws;
};

/// The lesson's column.
struct LessonState {
  std::optional<std::string> looks_at;  ///< what the page selected; none: it has not yet
  struct Followed {
    std::uint64_t version = 0;
    std::size_t page = 0;
    std::string step, selected;
    friend bool operator==(const Followed&, const Followed&) = default;
  } followed;
  std::string typed;  ///< answer under edit
  struct Made;        ///< texts and formulas of the page, kept while nothing that they depend on changes
  std::shared_ptr<Made> made;
  std::size_t shown_page = 0;  ///< of the last frame: another one is read from its beginning
};

/// The column that says why it is legal.
struct WhyState {
  struct Made;
  std::shared_ptr<Made> made;
  bool numbers_are_open = false;
};

}  // namespace fathom::ui
