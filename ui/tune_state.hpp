// What the Tune panels keep between frames; nothing here is saved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "theme.hpp"
#include "trials.hpp"
#include "tune_view.hpp"
#include "widgets/text_view.hpp"

namespace fathom::ui {

struct TuneState {
  std::string open_site;  ///< of the decision whose alternatives are shown; empty: none

  /// The rows of the table in their order, as places in Trials::all().
  struct Listed {
    std::uint64_t trials = 0, document = 0;
    TrialFilter filter = TrialFilter::all;
    TrialColumn sort = TrialColumn::number;
    bool descending = false;
    friend bool operator==(const Listed&, const Listed&) = default;
  };
  Listed listed;
  bool is_listed = false;
  std::vector<std::size_t> rows;
  Standing standing;  ///< of the runs that may stand beside the open plan
  int reference = 0;  ///< number of the trial that differences are taken from: the best, else the first; 0: none
  int revealed = 0;   ///< that the table was scrolled to

  /// Lines of the text to export.
  struct Previewed {
    std::uint64_t version = 0;
    std::size_t kind = 0;
    Theme theme = Theme::dark;
    friend bool operator==(const Previewed&, const Previewed&) = default;
  };
  Previewed previewed;
  std::vector<widgets::TextLine> lines;
  std::size_t all_lines = 0;  ///< of the whole text
  widgets::TextViewState text;
};

}  // namespace fathom::ui
