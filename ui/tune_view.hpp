// What of the Tune workspace the screen shows: kept in session files.
#pragma once

#include <vector>

namespace fathom::ui {

enum class TrialFilter : unsigned char { all, ok, failed };
enum class TrialColumn : unsigned char { number, plan, predicted, measured, error, state };
enum class TunePlot : unsigned char { times, roofline, traffic };

struct TuneView {
  int selected = 0;         ///< number of a trial; 0: none
  std::vector<int> picked;  ///< two at most: A and B of a comparison
  TrialFilter filter = TrialFilter::all;
  TrialColumn sort = TrialColumn::number;
  bool descending = true;
  TunePlot plot = TunePlot::times;
  float left = 0, right = 0, top = 0.42F;  ///< parts of the place; 0: as is usual for its width
  friend bool operator==(const TuneView&, const TuneView&) = default;
};

}  // namespace fathom::ui
