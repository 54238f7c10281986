// Inputs for checks (docs/checks.md). A family is a pattern along the axis of one tensor that reductions stream over (the keys of
// attention); other tensors get random numbers, and what is contracted with the pattern is set so that the pattern arrives at the scores.
// Deterministic on every platform: Philox, and sums of uniforms for the bell shape instead of a logarithm.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "interp/infinity.hpp"
#include "interp/philox.hpp"
#include "interp/single.hpp"
#include "interp/statements.hpp"

namespace fathom::interp {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

enum class Pattern : std::uint8_t {
  gaussian,
  one_hot,
  ascending,
  descending,
  all_equal,
  infinite_prefix,
  large,
  small_integers,
  tiny,
  masked_tile,
  infinite_peak,
  not_a_number
};

/// How the partner of a contraction passes the pattern on: each of its rows picks one lane, or adds all of them.
enum class Partner : std::uint8_t { random, picks, adds };

struct Family {
  std::string_view name;
  Pattern pattern;
  bool structured;
  Partner partner;
};
constexpr auto families = std::to_array<Family>({
    {"gaussian", Pattern::gaussian, false, Partner::random},
    {"one-hot", Pattern::one_hot, true, Partner::picks},
    {"ascending", Pattern::ascending, true, Partner::picks},
    {"descending", Pattern::descending, true, Partner::picks},
    {"all-equal", Pattern::all_equal, true, Partner::adds},
    {"infinite-prefix", Pattern::infinite_prefix, true, Partner::adds},
    {"large", Pattern::large, false, Partner::picks},
    {"small-integers", Pattern::small_integers, false, Partner::random},
    {"tiny", Pattern::tiny, false, Partner::adds},
    {"masked-tile", Pattern::masked_tile, true, Partner::adds},
    {"infinite-peak", Pattern::infinite_peak, true, Partner::adds},
    {"not-a-number", Pattern::not_a_number, true, Partner::adds},
});

bool masks(const Family& family) { return family.pattern == Pattern::infinite_prefix || family.pattern == Pattern::masked_tile; }

bool is_special(const Family& family) { return family.pattern == Pattern::infinite_peak || family.pattern == Pattern::not_a_number; }

std::string_view base_name(std::string_view family) { return family.substr(0, family.find('@')); }

const Family& family_named(std::string_view name) {
  for (const Family& family : families)
    if (family.name == base_name(name)) return family;
  return families.front();
}

/// What the program does with a parameter, as far as data must know.
struct Use {
  std::vector<bool> streamed;    ///< axis is read at an index over which a reduction of computed values runs
  std::vector<bool> contracted;  ///< axis is read at an index that is reduced together with parameters only
  bool positive = false;         ///< operand of log, sqrt or rsqrt
  std::int64_t largest = 7;      ///< integer parameters: the largest value in range
};

/// Random numbers of one tensor: a pure function of seed, tensor and element.
class Stream {
 public:
  Stream(std::uint64_t seed, Symbol tensor)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(hash_bytes(tensor.text(), seed))} {}
  [[nodiscard]] double uniform_at(std::int64_t element) const { return uniform(words(element, 0)[0]); }
  [[nodiscard]] std::int64_t integer_at(std::int64_t element, std::int64_t count) const {
    return std::min(count - 1, static_cast<std::int64_t>(uniform_at(element) * static_cast<double>(count)));
  }
  /// Mean 0, variance 1: the sum of twelve uniforms less 6.
  [[nodiscard]] double bell_at(std::int64_t element) const {
    double sum = -6;
    for (std::uint32_t block = 0; block < 3; ++block)
      for (const std::uint32_t word : words(element, block)) sum += uniform(word);
    return sum;
  }

 private:
  [[nodiscard]] PhiloxCounter words(std::int64_t element, std::uint32_t block) const {
    const auto at = static_cast<std::uint64_t>(element);
    return philox({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at >> 32U), block, 0x6461U}, key_);
  }
  PhiloxKey key_;
};

/// Reads what a program does with its parameters.
class Reading {
 public:
  Reading(const math::Program& program, const DimValues& dims) : program_(program), dims_(dims) {
    for (const math::Parameter& param : program.params) {
      Use& use = uses_[param.name];
      use.streamed.assign(param.extents.size(), false);
      use.contracted.assign(param.extents.size(), false);
    }
    const Result<std::vector<Prepared>> statements = prepare(program);
    if (!statements) return;
    for (const Prepared& statement : *statements) {
      for (const math::Axis& axis : statement.axes) ranges_[axis.index] = {axis.lo, axis.hi};
      for (const Bound& bound : statement.over) ranges_[bound.index] = {bound.lo, bound.hi};
      for (const Expr root : roots(statement)) collect(root);
    }
    for (std::size_t k = statements->size(); k-- > 0;) mark((*statements)[k]);
  }

  [[nodiscard]] const Use& use(Symbol param) const { return uses_.at(param); }

 private:
  [[nodiscard]] static std::vector<Expr> roots(const Prepared& statement) {
    std::vector<Expr> all = statement.values;
    if (statement.value) all.push_back(statement.value);
    return all;
  }

  void collect(Expr root) {
    visit(root, [&](Expr e) {
      if (e.is(Op::reduce)) {
        for (const Bound& bound : bounds_of(e)) {
          ranges_[bound.index] = {bound.lo, bound.hi};
        }
      }
      const bool wants_positive = e.is(Op::log) || e.is(Op::log2) || e.is(Op::sqrt) || e.is(Op::rsqrt);
      if (wants_positive && e.arg(0).is(Op::read)) {
        if (const auto found = uses_.find(e.arg(0).name()); found != uses_.end()) found->second.positive = true;
      }
      if (e.is(Op::read)) subscripts(e);
      if (e.op() >= Op::eq && e.op() <= Op::ge) comparison(e.arg(0), e.arg(1)), comparison(e.arg(1), e.arg(0));
    });
  }

  [[nodiscard]] std::vector<Symbol> integers_in(Expr expr) const {
    std::vector<Symbol> names;
    if (!expr) return names;
    for (const Symbol name : tensors_read(expr)) {
      const math::Parameter* param = program_.param(name);
      if (param != nullptr && is_integer(param->dtype)) names.push_back(name);
    }
    return names;
  }

  /// Integers that are subscripts, or parts of one, stay inside the tensor.
  void subscripts(Expr read) {
    const auto extents = math::extents_of(program_, read.name());
    for (std::size_t axis = 0; extents && axis < read.args().size() && axis < extents->size(); ++axis) {
      const auto extent = evaluate_integer((*extents)[axis], dims_);
      for (const Symbol name : integers_in(read.arg(axis)))
        if (extent) restrict(name, largest_inside(read.arg(axis), name, *extent));
    }
  }

  /// The largest value of the integer tensor for which the subscript stays inside the tensor, other indices at either end.
  [[nodiscard]] std::int64_t largest_inside(Expr subscript, Symbol name, std::int64_t extent) const {
    return largest([&](std::int64_t value) {
      const Expr closed = transform(subscript, [&](Expr e) { return e.is(Op::read) ? number(e.name() == name ? value : 0) : e; });
      return is_inside(closed, {}, extent);
    });
  }

  /// The largest end of the index's range for which the subscript stays inside the tensor.
  [[nodiscard]] std::int64_t largest_end(Expr subscript, Symbol index, std::int64_t extent) const {
    const Expr closed = transform(subscript, [&](Expr e) { return e.is(Op::read) ? number(0) : e; });
    return largest([&](std::int64_t end) { return end == 0 || is_inside(closed, {{index, end - 1}}, extent); });
  }

  /// The subscript's place with the given values, other indices at either end of their ranges.
  [[nodiscard]] bool is_inside(Expr closed, const DimValues& given, std::int64_t extent) const {
    for (const bool at_end : {false, true}) {
      DimValues values = dims_;
      for (const Symbol each : free_indices(closed)) values[each] = at_end ? last(each) : 0;
      for (const auto& [name, value] : given) values[name] = value;
      const auto place = evaluate_integer(closed, values);
      if (!place || *place < 0 || *place >= extent) return false;
    }
    return true;
  }

  /// The largest number up to 2^31 for which the condition holds; it holds up to there.
  template <class Condition>
  [[nodiscard]] static std::int64_t largest(Condition holds) {
    std::int64_t low = 0, high = std::int64_t{1} << 31U;
    while (low < high) {
      const std::int64_t middle = low + (high - low + 1) / 2;
      if (holds(middle)) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  [[nodiscard]] std::int64_t last(Symbol index) const {
    const auto range = ranges_.find(index);
    const auto hi = range == ranges_.end() ? std::nullopt : evaluate_integer(range->second.second, dims_);
    return hi ? std::max<std::int64_t>(*hi - 1, 0) : 0;
  }

  /// An integer compared with an index: from 0 to the index's end.
  void comparison(Expr a, Expr b) {
    for (const Symbol name : integers_in(a))
      for (const Symbol index : free_indices(b)) restrict(name, last(index) + 1);
  }

  void restrict(Symbol name, std::int64_t largest) {
    Use& use = uses_[name];
    use.largest = restricted_.insert(name).second ? largest : std::min(use.largest, largest);
  }

  /// Reduced indices of one statement. One streams where computed values are reduced over it, or where a later statement reduces over the
  /// axis.
  struct Local {
    std::map<Symbol, bool> streams;
    std::map<Symbol, std::vector<Symbol>> ends;  ///< integer tensors in the bounds of the index
  };

  void note(Local& local, const Bound& bound, const std::vector<Expr>& values) const {
    bool several = false;
    std::size_t params = 0;
    for (const Expr value : values)
      for (const Symbol name : tensors_read(value)) {
        several = several || program_.param(name) == nullptr;
        ++params;
      }
    bool& streams = local.streams[bound.index];
    streams = streams || several || params < 2;
    for (const Expr end : {bound.lo, bound.hi})
      for (const Symbol name : integers_in(end)) local.ends[bound.index].push_back(name);
  }

  /// Statements are visited last to first, so that what later ones do with an axis is known.
  void mark(const Prepared& statement) {
    Local local;
    for (const Bound& bound : statement.over) note(local, bound, statement.values);
    for (const Expr root : roots(statement))
      visit(root, [&](Expr e) {
        if (!e.is(Op::reduce)) return;
        for (const Bound& bound : bounds_of(e)) note(local, bound, values_of(e));
      });
    const std::set<std::size_t>& later = streamed_axes_[statement.name];
    for (std::size_t k = 0; k < statement.axes.size(); ++k)
      if (later.contains(k)) local.streams[statement.axes[k].index] = true;
    for (const Expr root : roots(statement))
      visit(root, [&](Expr e) {
        if (e.is(Op::read)) mark_read(local, e);
      });
  }

  void mark_read(const Local& local, Expr read) {
    const auto extents = math::extents_of(program_, read.name());
    for (std::size_t axis = 0; axis < read.args().size(); ++axis)
      for (const Symbol index : free_indices(read.arg(axis))) {
        const auto reduced = local.streams.find(index);
        if (reduced == local.streams.end()) continue;
        const auto found = uses_.find(read.name());
        if (found == uses_.end()) {
          if (reduced->second) streamed_axes_[read.name()].insert(axis);
        } else if (axis < found->second.streamed.size()) {
          (reduced->second ? found->second.streamed : found->second.contracted)[axis] = true;
        }
        const auto extent = extents && axis < extents->size() ? evaluate_integer((*extents)[axis], dims_) : std::nullopt;
        if (const auto ends = local.ends.find(index); extent && ends != local.ends.end())
          for (const Symbol name : ends->second) restrict(name, largest_end(read.arg(axis), index, *extent));
      }
  }

  const math::Program& program_;
  const DimValues& dims_;
  std::map<Symbol, Use> uses_;
  std::map<Symbol, std::set<std::size_t>> streamed_axes_;
  std::map<Symbol, std::pair<Expr, Expr>> ranges_;
  std::set<Symbol> restricted_;
};

/// Float tensors in the order in which a pattern visits them: those with a streamed axis first.
std::vector<Symbol> targets(const math::Program& program, const Reading& reading) {
  std::vector<Symbol> first, rest;
  for (const math::Parameter& param : program.params) {
    if (!is_float(param.dtype) || param.extents.empty()) continue;
    const std::vector<bool>& streamed = reading.use(param.name).streamed;
    (std::find(streamed.begin(), streamed.end(), true) != streamed.end() ? first : rest).push_back(param.name);
  }
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

/// Only contracted: a partner, whose rows pass the pattern of a target on.
bool contracts(const Use& use) {
  return std::find(use.contracted.begin(), use.contracted.end(), true) != use.contracted.end() &&
         std::find(use.streamed.begin(), use.streamed.end(), true) == use.streamed.end();
}

bool contracts_nothing(const math::Program& program, const Reading& reading, Symbol target) {
  if (program.param(target) == nullptr) return true;
  const Use& use = reading.use(target);
  return std::find(use.contracted.begin(), use.contracted.end(), true) == use.contracted.end();
}

/// Inputs that may take the infinite families: floats whose infinities are masks, else the masks themselves.
std::vector<Symbol> infinite_targets(const math::Program& program, const Reading& reading, const std::vector<Symbol>& order) {
  std::vector<Symbol> found;
  for (const Symbol target : order) {
    std::set<Symbol> ones;
    for (const math::Parameter& param : program.params)
      if (param.name != target && is_float(param.dtype) && !contracts_nothing(program, reading, target) &&
          contracts(reading.use(param.name)))
        ones.insert(param.name);
    if (takes_infinity(program, target, ones)) found.push_back(target);
  }
  for (const math::Parameter& param : program.params)
    if (param.dtype == DType::boolean) found.push_back(param.name);
  return found;
}

/// The infinity, or NaN, of a special family; `mirrored`: masks of the target are +inf.
double special_value(Pattern pattern, bool mirrored) {
  if (pattern == Pattern::not_a_number) return std::numeric_limits<double>::quiet_NaN();
  return mirrored ? -infinite : infinite;
}

/// Inputs that may take the family of special values: the text has one value there, whatever a plan does.
std::vector<Symbol> special_targets(const math::Program& program, const std::vector<Symbol>& order, Pattern pattern) {
  std::vector<Symbol> found;
  for (const Symbol target : order) {
    const double special = special_value(pattern, sign_of_masks(program, target) > 0);
    if (stands_beside_mask(program, target) || !folds_alike(program, target, special)) continue;
    if (pattern == Pattern::infinite_peak && meets_its_infinities(program, target)) continue;
    found.push_back(target);
  }
  return found;
}

std::size_t pattern_axis(const Use& use) {
  for (const auto* axes : {&use.streamed, &use.contracted})
    for (std::size_t k = axes->size(); k-- > 0;)
      if ((*axes)[k]) return k;
  return use.streamed.empty() ? 0 : use.streamed.size() - 1;
}

/// Where the infinite prefix of a row ends: at the edges in turn, the first tile's own end before the others, so that whole tiles and whole
/// parts of a split are masked. The last element is left.
std::int64_t prefix_end(std::int64_t row, const std::vector<std::int64_t>& edges) {
  if (edges.size() < 2) return 0;
  const auto turns = static_cast<std::int64_t>(edges.size()) - 1;
  return edges[static_cast<std::size_t>(1 + ((turns - 1) / 2 + row) % turns)];
}

/// One element of every other lane is special, at the edges in turn; the lanes between show what it must not touch.
bool is_edge_of_odd_lane(std::int64_t j, std::int64_t lane, const std::vector<std::int64_t>& edges) {
  return lane % 2 == 1 && j == edges[static_cast<std::size_t>(lane / 2) % edges.size()];
}

/// The pattern at position j in lane `lane` (the other axes as one number); the axes before the pattern's alone are `row`.
double value_at(Pattern pattern, std::int64_t j, std::int64_t lane, std::int64_t row, const std::vector<std::int64_t>& edges,
                const Stream& noise, std::int64_t element) {
  const double step = static_cast<double>(j);
  const std::int64_t cut = prefix_end(row, edges);
  switch (pattern) {
    case Pattern::one_hot:
      return j == edges[static_cast<std::size_t>(lane) % edges.size()] ? 30 : -30 + noise.uniform_at(element);
    case Pattern::ascending:
      return step * 0.75 + 0.0625 * static_cast<double>(lane % 8);
    case Pattern::descending:
      return -step * 0.75 + 0.0625 * static_cast<double>(lane % 8);
    case Pattern::all_equal:
      return 1.75;
    case Pattern::infinite_prefix:
      return j < cut ? -infinite : noise.bell_at(element);
    case Pattern::large:
      return (noise.uniform_at(element) < 0.5 ? -1e5 : 1e5) + std::floor(4 * noise.bell_at(element));
    case Pattern::small_integers:
      return static_cast<double>(noise.integer_at(element, 7) - 3);
    case Pattern::tiny:
      return (1 + noise.uniform_at(element)) * 1e-39;
    case Pattern::masked_tile:
      return j < cut ? -infinite : -200 + 0.25 * static_cast<double>(noise.integer_at(element, 8));
    case Pattern::infinite_peak:
    case Pattern::not_a_number:
      if (!is_edge_of_odd_lane(j, lane, edges)) break;
      return special_value(pattern, false);
    case Pattern::gaussian:
      break;
  }
  return noise.bell_at(element);
}

/// The nearest value of the type that keeps the pattern: nothing overflows that was finite.
double fitted(DType dtype, double x) {
  if (std::abs(x) < 100) return round_to(dtype, x);  // every type holds such numbers
  const FloatRange range = float_range(dtype);
  const bool has_infinity = std::isinf(round_to(dtype, infinite));
  if (std::isinf(x)) return has_infinity ? x : std::copysign(range.largest, x);
  return round_to(dtype, std::clamp(x, -range.largest, range.largest));
}

class Maker {
 public:
  Maker(const math::Program& program, const DimValues& dims, std::string_view family, std::uint64_t seed, std::vector<std::int64_t> edges)
      : program_(program), dims_(dims), reading_(program, dims), family_(family_named(family)), seed_(seed), edges_(std::move(edges)) {
    const std::vector<Symbol> order = targets(program, reading_);
    const std::size_t at = family.find('@');
    if (at != std::string_view::npos) {
      target_ = Symbol(family.substr(at + 1));
    } else if (!order.empty()) {
      target_ = order[static_cast<std::size_t>(seed % order.size())];
    }
    const bool has_infinities = masks(family_) || family_.pattern == Pattern::infinite_peak;
    is_mirrored_ = has_infinities && sign_of_masks(program, target_) > 0;
  }

  Arrays run() {
    Arrays arrays;
    for (const math::Parameter& param : program_.params) {
      Array array;
      array.dtype = param.dtype;
      std::int64_t size = 1;
      for (const Expr extent : param.extents) {
        array.shape.push_back(std::max<std::int64_t>(evaluate_integer(extent, dims_).value_or(0), 0));
        size *= array.shape.back();
      }
      array.data.resize(static_cast<std::size_t>(size));
      fill(param, array);
      arrays.emplace(param.name, std::move(array));
    }
    meet_conditions(arrays);
    return arrays;
  }

 private:
  void fill(const math::Parameter& param, Array& array) {
    const Use& use = reading_.use(param.name);
    const Stream noise(seed_, param.name);
    if (!is_float(param.dtype)) return fill_discrete(param, use, noise, array);
    if (param.extents.empty()) {
      array.data[0] = fitted(param.dtype, 0.25 + 0.125 * static_cast<double>(noise.integer_at(0, 8)));
      return;
    }
    const bool is_target = param.name == target_;
    const bool all_alike = family_.pattern == Pattern::small_integers || family_.pattern == Pattern::gaussian;
    const bool is_partner = !is_target && contracts(use) && !contracts_nothing(program_, reading_, target_);
    const Pattern pattern = is_target || all_alike ? family_.pattern : Pattern::gaussian;
    const bool passes_on = is_partner && family_.partner != Partner::random;
    if (pattern == Pattern::gaussian && !passes_on && !use.positive) {  // no place matters: large inputs are made of these
      for (std::int64_t e = 0; e < array.size(); ++e) array.data[static_cast<std::size_t>(e)] = fitted(param.dtype, noise.bell_at(e));
      return;
    }
    const std::size_t axis = pattern_axis(use);
    const std::int64_t n = array.shape[axis];
    std::int64_t inner = 1;
    for (std::size_t k = axis + 1; k < array.shape.size(); ++k) inner *= array.shape[k];
    const std::vector<std::int64_t> edges = edges_of(n);
    for (std::int64_t e = 0; e < array.size(); ++e) {
      const std::int64_t j = inner == 0 || n == 0 ? 0 : e / inner % n;
      const std::int64_t row = inner == 0 || n == 0 ? 0 : e / (inner * n);
      const std::int64_t lane = inner == 0 ? 0 : row * inner + e % inner;
      double x = passes_on ? partner_value(array, use, e) : value_at(pattern, j, lane, row, edges, noise, e);
      if (is_mirrored_ && is_target) x = -x;
      if (use.positive) x = std::abs(x) + (pattern == Pattern::gaussian ? 0.125 : 0);
      array.data[static_cast<std::size_t>(e)] = fitted(param.dtype, x);
    }
  }

  /// Queries: each row looks at one lane of the keys, or adds all of them, so that scores follow the keys' pattern.
  [[nodiscard]] double partner_value(const Array& array, const Use& use, std::int64_t element) const {
    const auto axis = static_cast<std::size_t>(std::find(use.contracted.begin(), use.contracted.end(), true) - use.contracted.begin());
    const std::int64_t n = array.shape[axis];
    if (n == 0) return 0;
    if (family_.partner == Partner::adds) return 1;
    std::int64_t inner = 1;
    for (std::size_t k = axis + 1; k < array.shape.size(); ++k) inner *= array.shape[k];
    const std::int64_t d = element / inner % n;
    const std::int64_t row = element / (inner * n) * inner + element % inner;
    return d == row % n ? 1 : 0;
  }

  void fill_discrete(const math::Parameter& param, const Use& use, const Stream& noise, Array& array) {
    const bool prefix = masks(family_);
    const std::int64_t n = array.shape.empty() ? 1 : array.shape.back();
    const std::vector<std::int64_t> edges = edges_of(n);
    for (std::int64_t e = 0; e < array.size(); ++e) {
      double& x = array.data[static_cast<std::size_t>(e)];
      if (param.dtype == DType::boolean) {
        const std::int64_t j = n == 0 ? 0 : e % n;
        const bool keep =
            prefix ? j >= prefix_end(n == 0 ? 0 : e / n, edges) : family_.pattern == Pattern::all_equal || noise.uniform_at(e) < 0.75;
        x = keep ? 1 : 0;
      } else {
        const auto most = static_cast<std::int64_t>(float_range(param.dtype).largest);
        x = static_cast<double>(noise.integer_at(e, std::min(use.largest, most - 1) + 1));
      }
    }
  }

  [[nodiscard]] std::vector<std::int64_t> edges_of(std::int64_t n) const {
    std::vector<std::int64_t> inside = {0};
    for (const std::int64_t edge : edges_)
      if (edge > 0 && edge < n) inside.push_back(edge);
    if (edges_.empty() && n / 2 > 0) inside.push_back(n / 2);
    if (n > 1) inside.push_back(n - 1);
    return inside;
  }

  /// Scalars of conditions such as `tau > 0`: the first of a few values for which all conditions hold.
  void meet_conditions(Arrays& arrays) const {
    constexpr std::array<double, 6> candidates = {0.5, 1, 2, 8, 0, -1};
    if (program_.conditions.empty() || hold(arrays)) return;
    for (const double candidate : candidates) {
      Arrays trial = arrays;
      for (const math::Parameter& param : program_.params)
        if (param.extents.empty()) trial[param.name].data[0] = round_to(param.dtype, candidate);
      if (!hold(trial)) continue;
      arrays = std::move(trial);
      return;
    }
  }
  [[nodiscard]] bool hold(const Arrays& arrays) const {
    const Single domain;
    const auto tensors = load_inputs<Single>(domain, program_, dims_, arrays);
    return tensors && check_conditions<Single>(domain, program_, dims_, *tensors).has_value();
  }

  const math::Program& program_;
  const DimValues& dims_;
  Reading reading_;
  const Family& family_;
  std::uint64_t seed_;
  std::vector<std::int64_t> edges_;
  Symbol target_;
  bool is_mirrored_ = false;  ///< masks of the target are +inf
};

}  // namespace

std::vector<std::string> data_families() {
  std::vector<std::string> names;
  for (const Family& family : families) names.emplace_back(family.name);
  return names;
}

std::vector<std::string> data_families(const math::Program& program) {
  const DimValues dims = default_dims(program);
  const Reading reading(program, dims);
  const std::vector<Symbol> order = targets(program, reading);
  const std::vector<Symbol> infinite_order = infinite_targets(program, reading, order);
  std::vector<std::string> names;
  for (const Family& family : families) {
    const bool alike = family.pattern == Pattern::gaussian || family.pattern == Pattern::small_integers;
    const bool is_infinite = masks(family);
    if (alike || (order.empty() && !is_infinite && !is_special(family))) {
      names.emplace_back(family.name);
      continue;
    }
    for (const Symbol target : is_infinite ? infinite_order : is_special(family) ? special_targets(program, order, family.pattern) : order)
      names.push_back(std::string(family.name) + "@" + target.text());
  }
  return names;
}

bool is_structured(std::string_view family) { return family_named(family).structured; }

bool masks_tiles(std::string_view family) { return masks(family_named(family)); }

bool holds_special_values(std::string_view family) { return is_special(family_named(family)); }

bool has_independent_errors(std::string_view family) {
  const Family& found = family_named(family);
  return !found.structured && found.partner == Partner::random;
}

InputUse use_of(const math::Program& program, const DimValues& dims, Symbol parameter) {
  const Reading reading(program, dims);
  const Use& use = reading.use(parameter);
  return {use.positive, use.largest};
}

Arrays make_inputs(const math::Program& program, const DimValues& given, std::string_view family, std::uint64_t seed,
                   const std::vector<std::int64_t>& edges) {
  DimValues dims = default_dims(program);
  for (const auto& [name, value] : given) dims[name] = value;
  return Maker(program, dims, family, seed, edges).run();
}

}  // namespace fathom::interp
