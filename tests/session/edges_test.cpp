// The edges of attention on the interpreter and on the CPU: masks that swallow tiles and rows, scores and sums at the ends of the range,
// lengths of 0, 1 and what no tile divides; rolling, split-k and unfused; every buffer poisoned, NaN around every argument.
#include <cmath>
#include <limits>
#include <optional>
#include <sstream>

#include "device.hpp"
#include "session_test.hpp"

namespace fathom::session_tests {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A plan of the text with the smallest tiles that the target takes, so that short rows need several trips.
Choices small_tiles(const session::Compilation& c) {
  Choices choices;
  for (const Decision& decision : c.record.decisions) {
    if (decision.kind != "tile") continue;
    std::int64_t smallest = 0;
    for (const Alternative& each : decision.alternatives) {
      const std::int64_t size = std::strtoll(each.choice.c_str(), nullptr, 10);
      if (!each.refused && (smallest == 0 || size < smallest)) smallest = size;
    }
    if (smallest > 0) choices.emplace_back(decision.site, std::to_string(smallest));
  }
  return choices;
}

enum class Shape { rolling, split_k, unfused };
const std::map<Shape, std::string> shape_names = {{Shape::rolling, "rolling"}, {Shape::split_k, "split-k"}, {Shape::unfused, "unfused"}};

Compiled plan_of(const std::string& text, const Dims& dims, Shape shape) {
  const Compiled usual = compiled(text, dims);
  if (!usual) return nullptr;
  Choices choices = small_tiles(*usual);
  const auto more = [&](const Choices& list) { choices.insert(choices.end(), list.begin(), list.end()); };
  if (shape == Shape::unfused) more(all_of(*usual, "fuse", "no"));
  if (shape == Shape::split_k) {
    const Compiled tiled = compiled(text, dims, choices);
    if (tiled) more(all_of(*tiled, "fold", "split-k"));
  }
  return compiled(text, dims, choices);
}

bool cpu_is_there() {
  static const bool there = cpu::load_plugin().has_value();
  return there;
}

/// The plan's Kernel module compiled for this machine's CPU, once for all inputs.
class OnCpu {
 public:
  explicit OnCpu(const session::Compilation& c) : compilation_(&c) {
    if (!cpu_is_there()) return;
    auto compiled = cli::CpuProgram::compile(c.final_ir().module());
    if (compiled) {
      program_.emplace(std::move(*compiled));
    } else {
      ADD_FAILURE() << compiled.error().reason << "\n" << print(c.final_ir());
    }
  }

  /// Against the reference.
  void expect_right(const interp::Arrays& inputs, const DimValues& dims, const std::string& what) const;

 private:
  const session::Compilation* compilation_;
  std::optional<cli::CpuProgram> program_;
};

void OnCpu::expect_right(const interp::Arrays& inputs, const DimValues& dims, const std::string& what) const {
  if (!program_) return;
  const session::Compilation& c = *compilation_;
  interp::BoundOptions bounds;
  bounds.structured_data = true;
  bounds.moves = 40;
  const auto expected = interp::reference(c.program, inputs, dims, bounds);
  ASSERT_TRUE(expected) << expected.error().reason;
  for (const int threads : {1, 3}) {
    cli::LaunchArguments arguments;
    arguments.threads = threads;
    for (const math::Parameter& parameter : c.program.params) {
      arguments.arrays.emplace_back(parameter.dtype, inputs.at(parameter.name).shape);
      arguments.arrays.back().write(inputs.at(parameter.name).data);
    }
    for (const math::Parameter& result : c.program.results) arguments.arrays.emplace_back(result.dtype, expected->at(result.name).shape);
    for (const math::Dimension& dimension : c.program.dims)
      if (dimension.runtime) arguments.dims.push_back(dims.at(dimension.name));
    const auto done = program_->launch(arguments);
    ASSERT_TRUE(done) << what << ": " << done.error().reason;
    for (const cli::DeviceArray& array : arguments.arrays) EXPECT_TRUE(array.guards_intact()) << what;
    for (std::size_t i = 0; i < c.program.results.size(); ++i) {
      const math::Parameter& result = c.program.results[i];
      const CheckCase one =
          interp::compare(arguments.arrays[c.program.params.size() + i].read(), expected->at(result.name), result.dtype, -1);
      EXPECT_NE(one.status, CheckStatus::failed) << what << " on the CPU, " << threads << " threads: " << one.detail << ", error "
                                                 << one.max_error << ", bound " << one.bound << "\n"
                                                 << print(c.final_ir());
    }
  }
}

using Value = std::function<double(std::int64_t i, std::int64_t j)>;

interp::Array matrix(DType dtype, std::int64_t rows, std::int64_t columns, const Value& value) {
  interp::Array array{dtype, {rows, columns}, {}};
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) array.data.push_back(static_cast<double>(static_cast<float>(value(i, j))));
  return array;
}

double wave(std::int64_t i, std::int64_t j) { return std::sin(static_cast<double>(3 * i + 7 * j + 1)); }

/// q . k is score(i, j) / 4 to the bit for scores that few digits hold: one column of q is 1, the same of k holds what varies with j.
struct Case {
  std::string what;
  Value score;  ///< of (0, j): the same for every row
  Value keep;
};

constexpr std::int64_t rows = 7, width = 16;

interp::Arrays inputs_of_case(const Case& one, std::int64_t keys) {
  interp::Arrays inputs;
  inputs[Symbol("q")] = matrix(DType::f32, rows, width, [](auto, auto d) { return d == 0 ? 1.0 : 0.0; });
  inputs[Symbol("k")] = matrix(DType::f32, keys, width, [&](auto j, auto d) { return d == 0 ? 4 * one.score(0, j) : wave(j, d); });
  inputs[Symbol("v")] = matrix(DType::f32, keys, width, wave);
  inputs[Symbol("keep")] = matrix(DType::boolean, rows, keys, one.keep);
  return inputs;
}

std::string masked_attention(bool at_run_time) {
  return std::string("dim S = 7, T = ") + (at_run_time ? "runtime 40" : "40") +
         ", D = 16\noperator masked(q: f32[S,D], k: f32[T,D], v: f32[T,D], keep: bool[S,T]) -> (o: f32[S,D], lse: f32[S])\n{\n"
         " s[i,j] = sum[d](q[i,d] * k[j,d]) / sqrt(D)\n c[i,j] = where(keep[i,j], s[i,j], -inf)\n p[i,j] = softmax[j](c[i,j])\n"
         " o[i,d] = sum[j](p[i,j] * v[j,d])\n lse[i] = logsumexp[j](c[i,j])\n}\n";
}

const std::vector<Case>& cases() {
  static const auto all = [](auto, auto) { return 1.0; };
  static const std::vector<Case> list = {
      {"a first tile wholly masked, then all scores -200", [](auto, auto) { return -200.0; },
       [](auto, auto j) { return j < 16 ? 0.0 : 1.0; }},
      {"rows masked out entirely", wave, [](auto i, auto j) { return i % 3 == 1 ? 0.0 : (j % 5 == 2 ? 0.0 : 1.0); }},
      {"everything masked", wave, [](auto, auto) { return 0.0; }},
      {"only the last key", wave, [](auto, auto j) { return j % 37 == 36 ? 1.0 : 0.0; }},
      {"scores of 1e5 and -1e5", [](auto, auto j) { return j % 2 == 0 ? 1e5 : -1e5; }, all},
      {"scores from -1e5 upwards", [](auto, auto j) { return -1e5 + 64.0 * static_cast<double>(j); }, all},
      {"scores from 1e5 downwards", [](auto, auto j) { return 1e5 - 64.0 * static_cast<double>(j); }, all},
      {"one peak at the last key", [](auto, auto j) { return j % 40 == 39 ? 300.0 : -300.0; }, all},
      {"scores of -inf behind the mask", [](auto, auto j) { return j < 20 ? -1e38 : 1.0; },
       [](auto, auto j) { return j < 20 ? 0.0 : 1.0; }}};
  return list;
}

class Edges : public testing::TestWithParam<Shape> {};

TEST_P(Edges, of_data_leave_no_trace) {
  for (const bool at_run_time : {false, true}) {
    const Compiled c = plan_of(masked_attention(at_run_time), {}, GetParam());
    ASSERT_TRUE(c);
    EXPECT_EQ(loop_plan(*c).find("combine") != std::string::npos, GetParam() == Shape::split_k);
    EXPECT_EQ(c->final_ir().module().kernels.size() > 1, GetParam() != Shape::rolling);
    const DimValues dims = math::default_dims(c->program);
    const OnCpu cpu(*c);
    for (const Case& one : cases()) {
      const interp::Arrays inputs = inputs_of_case(one, 40);
      const std::string what = one.what + ", " + shape_names.at(GetParam());
      const Outcome outcome = expect_right(*c, inputs, dims, true, what);
      EXPECT_EQ(outcome.undefined, 0) << what;
      cpu.expect_right(inputs, dims, what);
    }
  }
}

TEST_P(Edges, of_lengths_are_legal) {
  const Compiled at_run_time = plan_of(masked_attention(true), {}, GetParam());
  ASSERT_TRUE(at_run_time);
  const OnCpu cpu_at_run_time(*at_run_time);
  for (const std::int64_t keys : {0, 1, 5, 17, 33}) {
    const Compiled fixed = plan_of(masked_attention(false), {{"T", keys}}, GetParam());
    ASSERT_TRUE(fixed) << keys;
    const OnCpu cpu_fixed(*fixed);
    for (const Compiled& c : {at_run_time, fixed}) {
      DimValues dims = math::default_dims(c->program);
      dims[Symbol("T")] = keys;
      for (const Case& one : {cases()[1], cases()[2], cases()[6]}) {
        const std::string what =
            one.what + ", T = " + std::to_string(keys) + ", " + shape_names.at(GetParam()) + (c == fixed ? "" : " at run time");
        const interp::Arrays inputs = inputs_of_case(one, keys);
        const Outcome outcome = expect_right(*c, inputs, dims, true, what);
        EXPECT_EQ(outcome.undefined, 0) << what;
        (c == fixed ? cpu_fixed : cpu_at_run_time).expect_right(inputs, dims, what);
      }
    }
  }
}

/// The text's own sums near the smallest normal number: 1 / l would be infinite, and a unit that flushes denormals would divide 0 by 0.
TEST_P(Edges, of_sums_near_the_smallest_number_keep_their_quotient) {
  const std::string text =
      "dim S = 7, T = 40, D = 16\noperator small(s: f32[S,T], v: f32[T,D]) -> (o: f32[S,D], l: f32[S])\n{\n l[i] = sum[j](exp(s[i,j]))\n"
      " o[i,d] = sum[j](exp(s[i,j]) / l[i] * v[j,d])\n}\n";
  const Compiled c = plan_of(text, {}, GetParam());
  ASSERT_TRUE(c);
  const DimValues dims = math::default_dims(c->program);
  const OnCpu cpu(*c);
  for (const double score : {-80.0, -86.0, -89.5, -91.0, -93.5}) {
    interp::Arrays inputs;
    inputs[Symbol("s")] = matrix(DType::f32, 7, 40, [&](auto i, auto j) { return score + 0.25 * static_cast<double>((i + j) % 3); });
    inputs[Symbol("v")] = matrix(DType::f32, 40, 16, wave);
    const std::string what = "scores near " + std::to_string(score) + ", " + shape_names.at(GetParam());
    const Outcome outcome = expect_right(*c, inputs, dims, true, what);
    EXPECT_EQ(outcome.undefined, 0) << what;
    cpu.expect_right(inputs, dims, what);
  }
}

/// Ranges of trips that share a tag, lie inside each other or are the share of a part.
TEST_P(Edges, of_ranges_are_compiled) {
  const std::string texts[] = {
      "dim S = 37, T = 37, W = 23\noperator window(s: f32[S,T], v: f32[T]) -> (o: f32[S])\n{\n"
      " c[i,j] = where(j <= i and j > i - W, s[i,j], -inf)\n p[i,j] = softmax[j](c[i,j])\n o[i] = sum[j](p[i,j] * v[j])\n}\n",
      "dim A = 3, B = 5, C = 41\noperator two(x: f32[A,B,C]) -> (y: f32[A])\n{\n m[a] = max[b,c](x[a,b,c])\n"
      " y[a] = sum[b,c](exp(x[a,b,c] - m[a]))\n}\n",
      "dim S = 3, T = 129\noperator scaled(x: f32[S,T], w: f32[S,T]) -> (o: f32[S], y: f32[S,T])\n{\n lo[i] = min[j](x[i,j])\n"
      " hi[i] = max[j](x[i,j])\n y[i,j] = (x[i,j] - lo[i]) / (hi[i] - lo[i])\n o[i] = sum[j](w[i,j] * y[i,j])\n}\n"};
  for (const std::string& text : texts) {
    const Compiled c = plan_of(text, {}, GetParam());
    ASSERT_TRUE(c) << text;
    EXPECT_EQ(loop_plan(*c).find("combine") != std::string::npos, GetParam() == Shape::split_k) << text;
    const DimValues dims = math::default_dims(c->program);
    const interp::Arrays inputs = interp::make_inputs(c->program, dims, "gaussian", 7);
    expect_right(*c, inputs, dims, false, text + shape_names.at(GetParam()));
    OnCpu(*c).expect_right(inputs, dims, text + shape_names.at(GetParam()));
  }
}

INSTANTIATE_TEST_SUITE_P(, Edges, testing::Values(Shape::rolling, Shape::split_k, Shape::unfused), [](const auto& instance) {
  return instance.param == Shape::rolling ? "rolling" : instance.param == Shape::split_k ? "split_k" : "unfused";
});

double number_of(const std::string& cell) {
  return cell == "NaN" ? std::nan("") : cell == "inf" ? infinity : cell == "-inf" ? -infinity : std::stod(cell);
}

/// The numbers of a table's row on the page: "| `n` | 0 | 2 |".
std::vector<double> row_of_page(const std::string& page, const std::string& head) {
  const std::size_t begin = page.find("\n| `" + head + "` | ");
  if (begin == std::string::npos) return {};
  std::istringstream cells(page.substr(begin + 1, page.find('\n', begin + 1) - begin - 1));
  std::vector<double> numbers;
  std::string bar, cell;
  std::getline(cells, cell, '|'), std::getline(cells, cell, '|');
  while (cells >> cell >> bar) numbers.push_back(number_of(cell));
  return numbers;
}

TEST(Casts, give_what_the_language_page_says_at_every_level_and_on_the_cpu) {
  const std::string page = test::read_file(test::in_project("docs/language.md"));
  const std::size_t begin = page.find("dim N = 64\noperator quantise");
  ASSERT_NE(begin, std::string::npos);
  const std::vector<double> values = row_of_page(page, "x / step");
  const auto count = static_cast<std::int64_t>(values.size());
  ASSERT_GE(count, 13);
  const Compiled c = compiled(page.substr(begin, page.find("```", begin) - begin), {{"N", count}});
  ASSERT_TRUE(c);
  interp::Arrays inputs;
  inputs[Symbol("x")] = interp::Array{DType::f32, {count}, {}};
  for (const double x : values) inputs[Symbol("x")].data.push_back(static_cast<double>(static_cast<float>(x)));
  inputs[Symbol("step")] = interp::Array{DType::f32, {}, {1}};
  const DimValues dims = math::default_dims(c->program);
  const auto expected = interp::reference(c->program, inputs, dims, {});
  ASSERT_TRUE(expected) << expected.error().reason;
  for (const char* result : {"n", "q", "r"}) {
    EXPECT_EQ(expected->at(Symbol(result)).value, row_of_page(page, result)) << result;
    for (const double bound : expected->at(Symbol(result)).bound) EXPECT_EQ(bound, 0) << result;
  }
  expect_right(*c, inputs, dims, true, "casts");
  OnCpu(*c).expect_right(inputs, dims, "casts");
}

TEST(EdgesThemselves, see_a_wrong_result_and_a_wholly_masked_row_is_zero) {
  const Compiled c = plan_of(masked_attention(false), {}, Shape::rolling);
  ASSERT_TRUE(c);
  const DimValues dims = math::default_dims(c->program);
  const auto expected = interp::reference(c->program, inputs_of_case(cases()[2], 40), dims, {});
  ASSERT_TRUE(expected);
  for (const double value : expected->at(Symbol("o")).value) EXPECT_EQ(value, 0);
  for (const double value : expected->at(Symbol("lse")).value) EXPECT_EQ(value, -infinity);
  interp::Array wrong{DType::f32, {rows, width}, std::vector<double>(static_cast<std::size_t>(rows * width), 0.0)};
  wrong.data[3] = 1e-6;
  EXPECT_EQ(interp::compare(wrong, expected->at(Symbol("o")), DType::f32, -1).status, CheckStatus::failed);
}

}  // namespace
}  // namespace fathom::session_tests
