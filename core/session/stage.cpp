#include "session/stage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "session/check_narrowings.hpp"
#include "session/stage_breaks.hpp"
#include "session/stage_errors.hpp"
#include "session/stage_places.hpp"
#include "session/stage_plane.hpp"
#include "session/stage_repairs.hpp"

namespace fathom::session::stage {
namespace {

/// Values of every element by its place in the whole tensor.
class Held {
 public:
  /// What stood there, elements that nothing wrote as NaN; empty where nothing at all did.
  std::vector<double> put(const Write& write) {
    std::map<std::vector<std::int64_t>, double>& tensor = tensors_[write.tensor];
    std::vector<double> before;
    bool any = false;
    std::vector<std::int64_t> at;
    for (const IndexRange& axis : write.axes) at.push_back(axis.lo);
    for (const double value : write.values) {
      const auto [place, is_new] = tensor.try_emplace(at, std::numeric_limits<double>::quiet_NaN());
      any = any || !is_new;
      before.push_back(place->second);
      place->second = value;
      for (std::size_t k = at.size(); k-- > 0;) {
        if (++at[k] < write.axes[k].hi) break;
        at[k] = write.axes[k].lo;
      }
    }
    return any ? before : std::vector<double>();
  }

 private:
  std::map<std::string, std::map<std::vector<std::int64_t>, double>> tensors_;
};

std::optional<IndexRange> joined(std::optional<IndexRange> a, const IndexRange& b) {
  if (!a) return b;
  return IndexRange{a->index, std::min(a->lo, b.lo), std::max(a->hi, b.hi)};
}

IndexRange clipped(IndexRange range, std::int64_t extent) {
  return {range.index, std::clamp<std::int64_t>(range.lo, 0, extent), std::clamp<std::int64_t>(range.hi, 0, extent)};
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

/// The observer: makes frames of events as they come.
class Recorder {
 public:
  Recorder(Stage& stage, Places& places, Errors& errors, Repairs& repairs, const math::Program& written)
      : stage_(stage), places_(places), errors_(errors), repairs_(repairs), written_(written) {}

  void operator()(const interp::Event& event) {
    if (!stage_.cut.empty() || event.values->empty()) return;
    const auto place = places_.of(event);
    if (!place || place->axes.size() != event.box.size()) return;
    if (stage_.frames.size() >= most_frames || stage_.writes.size() >= most_writes) {
      stage_.cut = fmt::format("Only the first {} trips are kept: the run has more than a person can watch.", stage_.frames.size());
      return;
    }
    Write write;
    write.tensor = event.tensor.text();
    write.statement = place->statement;
    write.axes = place->axes;
    write.lanes = place->lanes;
    write.values = *event.values;
    write.partial = event.partial || place->starts;
    write.starts = place->starts;
    begin_frame(event, *place);
    write.before = held_.put(write);
    errors_.see(write, *place);
    see_plane(*place);
    if (errors_.is_state(write.statement)) add_once(stage_.states, write.tensor);
    if (written_.result(event.tensor) != nullptr) add_once(stage_.results, write.tensor);
    repairs_.see(write, stage_.frames.back());
    stage_.writes.push_back(std::move(write));
    ++stage_.frames.back().writes;
  }

  void finish() {
    if (!stage_.frames.empty()) end_frame();
  }

 private:
  void begin_frame(const interp::Event& event, const Place& place) {
    const bool is_statement = stage_.ir.level == Level::math;
    if (!stage_.frames.empty() && !is_statement && stage_.frames.back().trip == event.trip && nest_ == place.nest) return;
    if (!stage_.frames.empty()) end_frame();
    nest_ = place.nest;
    Frame frame;
    frame.trip = event.trip;
    frame.first_write = stage_.writes.size();
    stage_.frames.push_back(std::move(frame));
  }

  /// Every state and result as the frame leaves it: the last write of each.
  void end_frame() {
    Frame& frame = stage_.frames.back();
    std::set<std::string> done;
    for (std::size_t k = frame.first_write + frame.writes; k-- > frame.first_write;) {
      const Write& write = stage_.writes[k];
      if (!done.insert(write.tensor).second) continue;
      if (auto error = errors_.error_of(write)) frame.errors.push_back(*std::move(error));
    }
    std::reverse(frame.errors.begin(), frame.errors.end());
  }

  void see_plane(const Place& place) {
    if (!stage_.plane) return;
    Frame& frame = stage_.frames.back();
    const Plane& plane = *stage_.plane;
    const auto see = [&](const IndexRange& range) {
      if (plane.row && range.index == *plane.row) frame.rows = joined(frame.rows, clipped(range, plane.rows));
      if (range.index == plane.column) frame.columns = joined(frame.columns, clipped(range, plane.columns));
    };
    bool has_column = false;
    for (std::size_t k = 0; k < place.axes.size(); ++k) {
      if (place.lanes[k]) continue;
      see(place.axes[k]);
      has_column = has_column || place.axes[k].index == plane.column;
    }
    for (const auto& [index, range] : place.scope)
      if (!(index == plane.column) || !has_column) see(range);
    if (!plane.row) frame.rows = IndexRange{Symbol(), 0, 1};
  }

  Stage& stage_;
  Places& places_;
  Errors& errors_;
  Repairs& repairs_;
  const math::Program& written_;
  Held held_;
  const void* nest_ = nullptr;
};

// ---- tiles and passes ----

struct Block {
  std::size_t first = 0, last = 0;  ///< tiles: first … last - 1
};
std::optional<Block> block_of(const std::optional<IndexRange>& range, std::int64_t tile) {
  if (!range || range->hi <= range->lo) return std::nullopt;
  return Block{static_cast<std::size_t>(range->lo / tile), static_cast<std::size_t>((range->hi + tile - 1) / tile)};
}

/// Which tiles the frame is about.
std::vector<std::size_t> tiles_of(const Plane& plane, const Frame& frame) {
  std::vector<std::size_t> tiles;
  const auto rows = block_of(frame.rows, plane.tile_rows), columns = block_of(frame.columns, plane.tile_columns);
  if (!rows || !columns) return tiles;
  for (std::size_t r = rows->first; r < std::min(rows->last, plane.down()); ++r)
    for (std::size_t c = columns->first; c < std::min(columns->last, plane.across()); ++c) tiles.push_back(r * plane.across() + c);
  return tiles;
}

/// A tile that is visited again, and not by the frame that goes on from the one before, is visited in another pass.
void count_passes(Stage& stage) {
  const Plane& plane = *stage.plane;
  std::vector<std::size_t> pass(plane.down(), 0);
  std::vector<std::set<std::size_t>> visited(plane.down());
  std::vector<bool> touched(plane.kinds.size(), false);
  std::vector<std::size_t> before;
  for (Frame& frame : stage.frames) {
    const std::vector<std::size_t> tiles = tiles_of(plane, frame);
    if (tiles.empty()) continue;
    if (tiles != before)
      for (const std::size_t tile : tiles) {
        const std::size_t row = tile / plane.across();
        if (visited[row].count(tile) > 0) {
          ++pass[row];
          visited[row].clear();
        }
      }
    for (const std::size_t tile : tiles) {
      visited[tile / plane.across()].insert(tile);
      touched[tile] = true;
      frame.pass = std::max(frame.pass, pass[tile / plane.across()]);
    }
    before = tiles;
  }
  for (std::size_t tile = 0; tile < touched.size(); ++tile)
    if (!touched[tile]) stage.plane->kinds[tile] = TileKind::skipped;
}

// ---- units ----

using Values = std::map<std::string, std::vector<double>>;

std::optional<Values> values_of_run(const Compilation& compilation, const Ir& ir, const interp::Arrays& inputs) {
  Values values;
  interp::RunOptions options;
  options.dims = math::default_dims(compilation.program);
  options.observer = [&](const interp::Event& event) {
    std::vector<double>& all = values[event.tensor.text()];
    if (all.size() < most_writes) all.insert(all.end(), event.values->begin(), event.values->end());
  };
  if (!interp::run(ir, inputs, options)) return std::nullopt;
  return values;
}

/// What one is of the other throughout; NaN where that is no one number.
double ratio_of(const std::vector<double>& now, const std::vector<double>& before) {
  constexpr double tolerance = 1e-4;
  const double none = std::numeric_limits<double>::quiet_NaN();
  if (now.size() != before.size()) return none;
  std::optional<double> ratio;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (!std::isfinite(now[i]) || !std::isfinite(before[i]) || before[i] == 0) continue;
    const double here = now[i] / before[i];
    if (!ratio) ratio = here;
    if (std::abs(here - *ratio) > tolerance * std::abs(*ratio)) return none;
  }
  return ratio.value_or(1);
}

/// A step that folds a scale into exponents leaves references in another unit. Which, is seen by running the legal program before and after
/// it: one number for all values of a tensor, or no unit.
void find_units(const Compilation& compilation, std::size_t step, const interp::Arrays& inputs, Errors& errors) {
  const auto& steps = compilation.record.steps;
  for (std::size_t k = 1; k <= step && k < steps.size(); ++k) {
    if (steps[k].after.level != Level::tile || steps[k].before.level != Level::tile || !steps[k].changed || !steps[k].decision ||
        steps[k].decision->kind != "rewrite")
      continue;
    const auto before = values_of_run(compilation, steps[k].before, inputs), after = values_of_run(compilation, steps[k].after, inputs);
    if (!before || !after) continue;
    for (const auto& [tensor, values] : *after) {
      const auto old = before->find(tensor);
      if (old != before->end() && errors.is_state(tensor)) errors.set_unit(tensor, errors.unit_of(tensor) * ratio_of(values, old->second));
    }
  }
}

/// The step after this one in which the first refuted repair of the plan comes in; empty: it acts here already, or there is none.
std::string later_unsound(const Compilation& compilation, std::size_t step) {
  constexpr std::string_view of_repair = "repair";
  std::set<std::string> sites;  // of the fusions
  for (const Decision& decision : compilation.record.decisions)
    if (decision.unsound && decision.kind == of_repair)
      sites.insert(decision.site.substr(0, decision.site.size() - of_repair.size()) + "fuse");
  const auto& steps = compilation.record.steps;
  for (std::size_t k = 0; k < steps.size(); ++k)
    if (sites.count(steps[k].id) > 0) return k > step ? steps[k].id : std::string();
  return {};
}

}  // namespace

double Frame::largest_error() const {
  double largest = 0;
  for (const StateError& each : errors) largest = std::max(largest, each.error);
  return largest;
}

bool Frame::exceeds() const {
  return std::any_of(errors.begin(), errors.end(), [](const StateError& each) { return each.exceeds; });
}

std::vector<TileProgress> Stage::progress(std::size_t frame) const {
  if (!plane) return {};
  std::vector<TileProgress> result(plane->kinds.size(), TileProgress::not_yet);
  if (frames.empty()) return result;
  frame = std::min(frame, frames.size() - 1);
  std::vector<std::size_t> pass(plane->down(), 0);
  std::size_t now = 0;
  for (std::size_t k = 0; k <= frame; ++k) {
    const std::vector<std::size_t> tiles = tiles_of(*plane, frames[k]);
    if (tiles.empty()) continue;
    now = frames[k].pass;
    for (const std::size_t tile : tiles) {
      const std::size_t row = tile / plane->across();
      if (frames[k].pass > pass[row]) {
        pass[row] = frames[k].pass;
        for (std::size_t c = 0; c < plane->across(); ++c) result[row * plane->across() + c] = TileProgress::not_yet;
      }
      result[tile] = TileProgress::done;
    }
  }
  for (std::size_t tile = 0; tile < result.size(); ++tile)
    if (pass[tile / plane->across()] < now) result[tile] = TileProgress::not_yet;
  for (const std::size_t tile : tiles_of(*plane, frames[frame])) result[tile] = TileProgress::now;
  return result;
}

Bytes Stage::bytes(std::size_t frame) const {
  std::set<std::string> written, ever;
  for (std::size_t k = 0; k < frames.size(); ++k)
    for (std::size_t w = frames[k].first_write; w < frames[k].first_write + frames[k].writes; ++w) {
      ever.insert(writes[w].tensor);
      if (k <= frame) written.insert(writes[w].tensor);
    }
  Bytes bytes;
  for (const TensorLife& life : compilation->record.steps[step].lives) {
    const std::string& name = life.tensor.text();
    if (ever.count(name) > 0 && written.count(name) == 0) continue;
    if (life.place == "main memory" || life.place == "argument" || life.place == "result") bytes.memory += life.bytes;
    if (life.place == "tile, on chip") bytes.on_chip += life.bytes;
    if (life.place == "registers") bytes.registers += life.bytes;
  }
  return bytes;
}

std::vector<double> Stage::held(std::size_t frame, const std::string& tensor, std::int64_t row) const {
  if (frames.empty()) return {};
  const Frame& last = frames[std::min(frame, frames.size() - 1)];
  std::map<std::vector<std::int64_t>, double> values;
  for (std::size_t w = 0; w < last.first_write + last.writes; ++w) {
    const Write& write = writes[w];
    if (write.tensor != tensor) continue;
    std::vector<std::int64_t> at;
    for (const IndexRange& axis : write.axes) at.push_back(axis.lo);
    const auto own = std::find_if(write.axes.begin(), write.axes.end(),
                                  [&](const IndexRange& axis) { return plane && plane->row && axis.index == *plane->row; });
    const auto row_axis = static_cast<std::size_t>(own - write.axes.begin());
    for (const double value : write.values) {
      if (row_axis == write.axes.size() || at[row_axis] == row) values[at] = value;
      for (std::size_t k = at.size(); k-- > 0;) {
        if (++at[k] < write.axes[k].hi) break;
        at[k] = write.axes[k].lo;
      }
    }
  }
  std::vector<double> result;
  for (const auto& [place, value] : values) result.push_back(value);
  return result;
}

std::vector<std::pair<std::size_t, std::string>> Stage::blocks() const {
  std::vector<std::pair<std::size_t, std::string>> result;
  if (!plane || !plane->row) return result;
  std::optional<IndexRange> before;
  for (std::size_t k = 0; k < frames.size(); ++k) {
    if (!frames[k].rows || frames[k].rows == before) continue;
    before = frames[k].rows;
    const std::string name = before->hi - before->lo > 1 ? fmt::format("{} = {} … {}", plane->row->text(), before->lo, before->hi - 1)
                                                         : fmt::format("{} = {}", plane->row->text(), before->lo);
    const auto again = std::count_if(result.begin(), result.end(),
                                     [&](const auto& each) { return each.second.rfind(name + ",", 0) == 0 || each.second == name; });
    result.emplace_back(k, again == 0 ? name : fmt::format("{}, pass {}", name, again + 1));
  }
  return result;
}

double Stage::largest_error() const {
  double largest = 0;
  for (const Frame& frame : frames) largest = std::max(largest, frame.largest_error());
  return largest;
}

std::optional<std::size_t> Stage::first_wrong() const {
  for (std::size_t k = 0; k < frames.size(); ++k)
    if (frames[k].exceeds()) return k;
  return std::nullopt;
}

Result<Stage> make(const Compiled& blackboard, std::size_t step, const Options& options) {
  step = std::min(step, blackboard->record.steps.size() - 1);
  if (blackboard->record.steps[step].after.level == Level::code) --step;
  auto variant = variant_of(blackboard, step, options.breaks);
  if (!variant) return tl::unexpected<Refusal>(variant.error());
  Stage stage;
  stage.compilation = variant->compilation;
  stage.step = variant->step;
  stage.ir = variant->ir;
  stage.options = options;
  stage.unsound = variant->unsound;
  if (options.breaks.empty()) stage.unsound_from = later_unsound(*variant->compilation, variant->step);
  const Compilation& compilation = *stage.compilation;
  const math::Program& statements = math_at(compilation, stage.step);
  const DimValues dims = math::default_dims(compilation.program);
  // the data of the program as it is written: what is broken gets the same
  std::vector<std::int64_t> edges{0};
  stage.plane = make_plane(compilation, stage.step, {});
  if (stage.plane)
    for (std::int64_t edge = stage.plane->tile_columns; edge < stage.plane->columns; edge += stage.plane->tile_columns)
      edges.push_back(edge);
  const interp::Arrays inputs = interp::make_inputs(blackboard->program, dims, options.family, options.seed, edges);
  stage.plane = make_plane(compilation, stage.step, inputs);

  const auto narrowed = narrowings_after(compilation.record);
  Errors errors(statements, blackboard->program, inputs,
                stage.step < narrowed.size() ? narrowed[stage.step] : std::vector<interp::BoundOptions::Narrowed>());
  const loop::Program* loops = loops_at(compilation, stage.step);
  if (loops != nullptr && stage.ir.level > Level::loop) errors.set_parts(merged_statements(*loops));
  find_units(compilation, stage.step, inputs, errors);
  Repairs repairs(loops, errors, dims, inputs);
  const auto places = places_of(stage.ir, statements, dims);
  Recorder recorder(stage, *places, errors, repairs, blackboard->program);
  interp::RunOptions run;
  run.dims = dims;
  run.observer = [&](const interp::Event& event) { recorder(event); };
  if (const auto done = interp::run(stage.ir, inputs, run); !done) return tl::unexpected<Refusal>(done.error());
  recorder.finish();
  if (stage.frames.empty()) return refuse("Nothing in this step writes a value that could be watched.");
  if (stage.plane) count_passes(stage);
  return stage;
}

}  // namespace fathom::session::stage
