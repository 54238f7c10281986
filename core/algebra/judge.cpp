// A person's repair (docs/algebra.md). First the search: arrays of growing length over few values, folded in single precision's range with
// the repair as it is written. What no array refutes is derived if the rules lead from the repair found to the one written, else undecided.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "algebra/judge_functions.hpp"
#include "algebra/judge_written.hpp"
#include "algebra/own_repair.hpp"

namespace fathom::algebra {

using math::Statement;

namespace {

constexpr double minus_inf = -std::numeric_limits<double>::infinity();
constexpr std::int64_t longest = 4;
constexpr std::uint64_t most_arrays[] = {0, 0, 1500, 700, 300};  // by length
constexpr double tolerance = 1e-6;                               // of the largest magnitude: far above the error of doubles

/// What `acc` means: the carried value, with the rest applied at the end, or the value of the text itself.
enum class Meaning : std::uint8_t { carried, value };

struct Counterexample {
  Inputs inputs;
  std::vector<std::int64_t> point;  ///< of the consumer
  std::vector<std::int64_t> tiles;  ///< lengths
  double found = 0;
  double wanted = 0;
};

/// Values that a cell may take, simplest first.
const std::vector<double>& values_of(const math::Parameter& parameter, bool decides_reference) {
  static const std::vector<double> references = {0, 1, minus_inf, 2, -1, 0.5, 100, -200, 3};
  static const std::vector<double> others = {1, 0, -1, 2};
  static const std::vector<double> scalars = {1, 2, 0.5, -1, 0.125};
  static const std::vector<double> booleans = {1, 0};
  static const std::vector<double> integers = {0, 1, 2, 3, 4};
  if (parameter.dtype == DType::boolean) return booleans;
  if (is_integer(parameter.dtype)) return integers;
  if (parameter.extents.empty()) return scalars;
  return decides_reference ? references : others;
}

class Search {
 public:
  Search(const ProgramView& view, const Statement& consumer, const std::vector<Fusion>& fusions, const Fusion& fusion,
         const Written& written, Meaning meaning)
      : view_(view),
        consumer_(consumer),
        running_(running_with(fusions, fusion)),
        written_(written),
        meaning_(meaning),
        parameters_(parameters_of(view.program(), consumer)) {
    if (meaning == Meaning::carried) {
      form_ = *form_of(fusion);
      own_ = form_;
      form_.carried.front().move = substitute(written.expression, {{symbol(accumulator), symbol(form_.carried.front().name)}});
    }
    for (Symbol producer : fusion.producers)
      if (const Statement* statement = view.reduction(producer))
        for (const math::Parameter* parameter : parameters_of(view.program(), *statement)) deciding_.insert(parameter->name);
  }

  std::optional<Counterexample> run() {
    for (std::int64_t length = 2; length <= longest; ++length) {
      const auto dims = small_dims(view_.program(), consumer_, length);
      if (!dims) continue;
      if (!lay_out(*dims)) return std::nullopt;
      const std::uint64_t cap = most_arrays[length];
      const std::uint64_t all = combinations(cap);
      for (const std::uint64_t k : all <= cap ? simplest_first(all) : sequence(cap)) {
        assign(k, all <= cap);
        if (auto counter = refuted()) return shrunk(std::move(*counter));
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] int tried() const { return tried_; }

  [[nodiscard]] std::string text(const Counterexample& counter) const {
    std::string tiles;
    for (const std::int64_t tile : counter.tiles) tiles += (tiles.empty() ? "" : " + ") + std::to_string(tile);
    const std::string arrays = text_of(counter.inputs, parameters_);
    return fmt::format("For {} in tiles of {} elements {} becomes {}, but it is {}.", arrays, tiles, consumer_.name.text(),
                       number_text(counter.found), number_text(counter.wanted));
  }

  [[nodiscard]] Refutation refutation(const Counterexample& counter) {
    Refutation out;
    for (const math::Parameter* parameter : parameters_)
      if (const auto found = counter.inputs.tables.find(parameter->name); found != counter.inputs.tables.end())
        out.arrays.push_back({parameter->name.text(), found->second.shape, found->second.data});
    out.tiles = counter.tiles;
    out.found = counter.found;
    out.wanted = counter.wanted;
    Trial trial = trial_of(counter.inputs);
    trial.stand_at(counter.point);
    Segment before{trial.whole().begin, trial.whole().begin};
    for (const std::int64_t tile : counter.tiles) {
      const Segment now{before.begin, before.end + tile};
      if (before.begin != before.end) try_laws(trial, before, now, out);
      before = now;
    }
    return out;
  }

 private:
  struct Cell {
    const std::vector<double>* values;
    double* at;
    std::size_t choice = 0;
  };

  bool lay_out(const DimValues& dims) {
    inputs_ = {dims, {}};
    cells_.clear();
    for (const math::Parameter* parameter : parameters_) {
      const auto shape = shape_of(*parameter, dims);
      if (!shape) return false;
      std::size_t size = 1;
      for (const std::int64_t extent : *shape) size *= static_cast<std::size_t>(extent);
      inputs_.tables[parameter->name] = {parameter->dtype, *shape, std::vector<double>(size, 0)};
    }
    for (const math::Parameter* parameter : parameters_)
      for (double& cell : inputs_.tables[parameter->name].data)
        cells_.push_back({&values_of(*parameter, deciding_.count(parameter->name) != 0), &cell});
    return cells_.size() <= 256;
  }

  [[nodiscard]] std::uint64_t combinations(std::uint64_t cap) const {
    std::uint64_t all = 1;
    for (const Cell& cell : cells_) {
      all *= cell.values->size();
      if (all > cap) return all;
    }
    return all;
  }

  static std::vector<std::uint64_t> sequence(std::uint64_t count) {
    std::vector<std::uint64_t> numbers(static_cast<std::size_t>(count));
    std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
    return numbers;
  }

  /// Numbers of all assignments, those with the simplest values first.
  [[nodiscard]] std::vector<std::uint64_t> simplest_first(std::uint64_t count) const {
    std::vector<std::uint64_t> order = sequence(count);
    const auto weight = [&](std::uint64_t k) {
      std::uint64_t sum = 0;
      for (const Cell& cell : cells_) {
        sum += k % cell.values->size();
        k /= cell.values->size();
      }
      return sum;
    };
    std::stable_sort(order.begin(), order.end(), [&](std::uint64_t a, std::uint64_t b) { return weight(a) < weight(b); });
    return order;
  }

  /// Every assignment in turn where there are few, else one that its number hashes to, simple values first.
  void assign(std::uint64_t k, bool in_turn) {
    std::uint64_t rest = k;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      Cell& cell = cells_[i];
      const std::uint64_t range = cell.values->size();
      if (!in_turn) rest = hash_combine(hash_combine(k, 0x1f3d), i) >> 8U;
      choose(cell, static_cast<std::size_t>(rest % range));
      if (in_turn) rest /= range;
    }
  }

  static void choose(Cell& cell, std::size_t choice) {
    cell.choice = choice;
    *cell.at = (*cell.values)[choice];
  }

  std::optional<Counterexample> refuted() {
    if (!is_admitted(view_, consumer_, inputs_)) return std::nullopt;
    Trial trial = trial_of(inputs_);
    for (const bool last : {false, true}) {
      std::vector<std::int64_t> point;
      for (const math::Axis& axis : consumer_.axes) {
        const auto hi = evaluate_integer(axis.hi, inputs_.dims);
        point.push_back(last && hi ? std::max<std::int64_t>(0, *hi - 1) : 0);
      }
      if (last && std::all_of(point.begin(), point.end(), [](std::int64_t at) { return at == 0; })) break;
      trial.stand_at(std::move(point));
      if (auto counter = refuted_at(trial)) return counter;
    }
    return std::nullopt;
  }

  Trial trial_of(const Inputs& inputs) const {
    Trial trial(view_, consumer_, running_, inputs, Arithmetic::single_range);
    for (const RunningName& running : written_.running) trial.name_producer(running.name, running.read);
    return trial;
  }

  std::optional<Counterexample> refuted_at(Trial& trial) {
    const Segment whole = trial.whole();
    const std::int64_t length = whole.end - whole.begin;
    if (length < 2 || length > 2 * longest) return std::nullopt;
    const double wanted = trial.text(whole);
    const double identity = trial.value(consumer_.reduction()->reducer->state.front().identity, whole, {});
    if (!std::isfinite(wanted) && wanted != identity) return std::nullopt;
    ++tried_;
    for (std::int64_t first = length - 1; first > 0; --first)
      for (const bool single : {false, true}) {
        std::vector<std::int64_t> tiles = {first};
        if (single && length - first < 2) continue;
        if (single)
          tiles.resize(static_cast<std::size_t>(1 + length - first), 1);
        else
          tiles.push_back(length - first);
        if (meaning_ == Meaning::carried && !is_close(fold(trial, own_, whole, tiles), wanted)) continue;  // the text's own range
        const double found = meaning_ == Meaning::carried ? fold(trial, form_, whole, tiles) : fold_value(trial, whole, tiles, identity);
        if (trial.gave_up()) return std::nullopt;
        if (!is_close(found, wanted)) return Counterexample{inputs_, trial.point(), tiles, found, wanted};
      }
    return std::nullopt;
  }

  double fold(Trial& trial, const Form& form, Segment whole, const std::vector<std::int64_t>& tiles) {
    Riding riding = trial.nothing(form, whole.begin);
    magnitude_ = 0;
    for (const std::int64_t tile : tiles) {
      riding = trial.grown(form, riding, {riding.covered.end, riding.covered.end + tile});
      note(riding.carried.front());
    }
    return trial.projected(form, riding);
  }

  /// The consumer's own value is what is kept. Where the text has no value yet (NaN), nothing is set.
  double fold_value(Trial& trial, Segment whole, const std::vector<std::int64_t>& tiles, double identity) {
    const Op operation = *monoid_operation(*consumer_.reduction()->reducer);
    double value = identity;
    Segment before{whole.begin, whole.begin};
    magnitude_ = 0;
    for (const std::int64_t tile : tiles) {
      const Segment now{whole.begin, before.end + tile};
      if (std::isnan(trial.text(now))) {
        value = identity;
      } else {
        const double moved = value == identity ? identity : moved_value(trial, value, before, now);
        const double both[2] = {moved, trial.text_of({before.end, now.end}, now)};
        value = in_single_range(value_of(operation, both));
      }
      note(value);
      before = now;
    }
    return value;
  }

  double moved_value(Trial& trial, double value, Segment before, Segment now) {
    Symbols symbols = {{accumulator, value}};
    for (const RunningName& running : written_.running) {
      if (written_.used.count(running.name) == 0) continue;
      symbols.emplace_back(running.name, trial.value(running.read, before, {}));
      symbols.emplace_back(primed(running.name), trial.value(running.read, now, {}));
    }
    return trial.value(written_.expression, now, symbols);
  }

  // ---- the two laws, at one move of the array ----
  /// What the element contributes about the references where `covered` leaves them.
  double contributed(Trial& trial, std::int64_t element, Segment covered) {
    const Segment one{element, element + 1};
    return meaning_ == Meaning::carried ? trial.contribution(own_, trial.standing(own_, covered), one) : trial.text_of(one, covered);
  }

  double moved(Trial& trial, double value, Segment before, Segment now) {
    if (meaning_ == Meaning::value) return in_single_range(moved_value(trial, value, before, now));
    Riding from = trial.standing(form_, before);
    from.carried = {value};
    return in_single_range(trial.moved(form_, from, trial.standing(form_, now)).front());
  }

  void try_law(Trial& trial, LawTrial& law, const std::vector<double>& given, double found, double wanted, Segment before, Segment now) {
    if (std::isnan(wanted)) return;
    ++law.tried;
    magnitude_ = 0;
    if (!law.holds || is_close(found, wanted)) return;
    law.holds = false;
    law.moved = given;
    law.found = found;
    law.wanted = wanted;
    for (const RunningName& running : written_.running)
      if (written_.used.count(running.name) != 0 || is_reference(running.name))
        law.names.push_back({running.name.text(), trial.value(running.read, before, {}), trial.value(running.read, now, {})});
  }

  [[nodiscard]] bool is_reference(Symbol name) const {
    return std::any_of(own_.gauges.begin(), own_.gauges.end(),
                       [&](const math::Gauge& gauge) { return tensors_read(gauge.reference).count(name) != 0; });
  }

  void try_laws(Trial& trial, Segment before, Segment now, Refutation& out) {
    const Op operation = *monoid_operation(*consumer_.reduction()->reducer);
    const auto together = [&](double a, double b) {
      const double both[2] = {a, b};
      return value_of(operation, both);
    };
    std::vector<double> parts = {1, 2};
    for (std::int64_t element = before.begin; element < before.end; ++element) {
      const double part = contributed(trial, element, before);
      if (!std::isfinite(part) || part == 0) continue;
      parts.push_back(part);
      try_law(trial, out.element, {part}, moved(trial, part, before, now), contributed(trial, element, now), before, now);
    }
    for (const double a : parts)
      for (const double b : parts)
        try_law(trial, out.sum, {a, b}, moved(trial, together(a, b), before, now),
                together(moved(trial, a, before, now), moved(trial, b, before, now)), before, now);
  }

  void note(double x) {
    if (std::isfinite(x)) magnitude_ = std::max(magnitude_, std::fabs(x));
  }

  [[nodiscard]] bool is_close(double found, double wanted) const {
    if (found == wanted) return true;
    return std::fabs(found - wanted) <= tolerance * std::max(std::fabs(wanted), magnitude_);
  }

  /// Simpler values wherever the repair still fails.
  Counterexample shrunk(Counterexample counter) {
    bool smaller = true;
    for (int rounds = 0; smaller && rounds < 20; ++rounds) {
      smaller = false;
      for (Cell& cell : cells_)
        for (std::size_t choice = 0, was = cell.choice; choice < was; ++choice) {
          choose(cell, choice);
          if (auto other = refuted()) {
            counter = std::move(*other);
            smaller = true;
            break;
          }
          choose(cell, was);
        }
    }
    return counter;
  }

  const ProgramView& view_;
  const Statement& consumer_;
  std::set<Symbol> running_;
  const Written& written_;
  Meaning meaning_;
  std::vector<const math::Parameter*> parameters_;
  Form form_, own_;
  std::set<Symbol> deciding_;
  Inputs inputs_;
  std::vector<Cell> cells_;
  int tried_ = 0;
  double magnitude_ = 0;
};

Judgement undecided(std::string says) { return {Verdict::undecided, std::move(says), {}, {}}; }

/// The meanings under which the expression can be read, the likelier first: who names more than the references means the value itself.
std::vector<Meaning> meanings_of(const Statement& consumer, const Fusion& fusion, const Written& written) {
  const auto form = form_of(fusion);
  const bool has_carried = form && form->carried.size() == 1;
  std::set<Symbol> references;
  if (form)
    for (const math::Gauge& gauge : form->gauges)
      for (Symbol name : tensors_read(gauge.reference)) references.insert(name);
  const bool names_more = std::any_of(written.used.begin(), written.used.end(), [&](Symbol name) { return references.count(name) == 0; });
  std::vector<Meaning> meanings;
  if (has_carried) meanings.push_back(Meaning::carried);
  const auto& reduction = *consumer.reduction();
  const bool is_carried_whole = has_carried && form->project == symbol(form->carried.front().name);
  if (monoid_operation(*reduction.reducer) && reduction.values.size() == 1 && !is_carried_whole) meanings.push_back(Meaning::value);
  if (names_more) std::reverse(meanings.begin(), meanings.end());
  return meanings;
}

std::string says_derived(const std::string& text, const std::string& found, Meaning meaning) {
  const std::string whole = meaning == Meaning::value ? ", with what stands behind the reduction applied at once" : "";
  if (text == found) return text + " is the repair that is derived" + whole + ".";
  return text + " is the repair that is derived, " + found + ", in other words" + whole + ".";
}

JudgedRepair judge(const ProgramView& view, const std::vector<Fusion>& fusions, const Statement& consumer, const Fusion& fusion,
                   const Written& written) {
  const std::string text = print(written.expression);
  const std::vector<Meaning> meanings = meanings_of(consumer, fusion, written);
  if (meanings.empty())
    return {undecided(consumer.name.text() + " keeps more than one value: one expression over acc is no repair of it."), {}};
  std::string counterexample;
  std::optional<Refutation> refutation;
  bool is_open = false;
  int tried = 0;
  for (const Meaning meaning : meanings) {
    Search search(view, consumer, fusions, fusion, written, meaning);
    if (const auto counter = search.run()) {
      if (!refutation) counterexample = search.text(*counter), refutation = search.refutation(*counter);
      continue;
    }
    is_open = true;
    tried = std::max(tried, search.tried());
    const Expr found = meaning == Meaning::carried ? found_of_carried(fusion) : found_of_value(view, fusion);
    if (!found || search.tried() == 0) continue;
    if (auto lines = derive_written(view, written, found))
      return {{Verdict::derived, says_derived(text, print(found), meaning), std::move(*lines), {}}, {}};
  }
  if (!is_open)
    return {{Verdict::refuted, text + " does not repair " + consumer.name.text() + ".", {}, std::move(counterexample)}, refutation};
  return {undecided(fmt::format("{} small arrays do not refute {}, but no rule leads to it.", tried, text)), {}};
}

}  // namespace

JudgedRepair judge_repair_with_numbers(const math::Program& opened, const Analysis& analysis, Symbol name, Expr expression) {
  const ProgramView view(opened);
  const Statement* consumer = view.reduction(name);
  const Fusion* fusion = analysis.find(name);
  if (consumer == nullptr || fusion == nullptr) return {undecided("There is no reduction " + name.text() + " to repair."), {}};
  if (!expression || expression.node().depth > deepest) return {undecided("The expression is nested too deeply to be judged."), {}};
  const Result<Written> written = read_written(view, *consumer, *fusion, expression);
  if (!written) return {undecided(written.error().reason), {}};
  return judge(view, analysis.fusions, *consumer, *fusion, *written);
}

Judgement judge_repair(const math::Program& opened, const Analysis& analysis, Symbol consumer, Expr written) {
  return judge_repair_with_numbers(opened, analysis, consumer, written).judgement;
}

std::vector<Symbol> names_in_repair(const math::Program& opened, const Analysis& analysis, Symbol name) {
  const ProgramView view(opened);
  const Statement* consumer = view.reduction(name);
  const Fusion* fusion = analysis.find(name);
  if (consumer == nullptr || fusion == nullptr) return {};
  std::vector<Symbol> names;
  if (const auto read = read_written(view, *consumer, *fusion, symbol(accumulator)))
    for (const RunningName& running : read->running) names.push_back(running.name);
  return names;
}

}  // namespace fathom::algebra
