// What has one right answer: integers, f64, random numbers, names. On this machine's CPU and on the last Kernel module's interpreter, in
// the usual plan, in small tiles, unfused and in parts, against loops that are written here.
#include <cmath>
#include <functional>
#include <limits>

#include "device.hpp"
#include "interp/philox.hpp"
#include "session_test.hpp"

namespace fathom::session_tests {
namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();

interp::Array array(DType dtype, std::vector<std::int64_t> shape, const std::function<double(std::int64_t)>& value) {
  interp::Array out{dtype, std::move(shape), {}};
  std::int64_t size = 1;
  for (const std::int64_t extent : out.shape) size *= extent;
  for (std::int64_t i = 0; i < size; ++i) out.data.push_back(value(i));
  return out;
}

/// Between 0 and bound - 1, without a pattern along rows.
std::int64_t scattered(std::int64_t i, std::int64_t bound) { return (i * 7919 + i * i % 1009 * 31) % bound; }
std::int64_t near_1e9(std::int64_t i) { return 1000000000 + scattered(i, 999); }

struct ExactCase {
  std::string text;
  interp::Arrays inputs;
  std::map<std::string, std::function<double(std::int64_t)>> expected;  ///< element of a result, row major
  double relative = 0;                                                  ///< 0: to the bit
};

void expect_values(const ExactCase& p, const std::string& name, const interp::Array& got, const std::string& what) {
  for (std::size_t i = 0; i < got.data.size(); ++i) {
    const double want = p.expected.at(name)(static_cast<std::int64_t>(i));
    if (got.data[i] == want) continue;
    ASSERT_LE(std::fabs(got.data[i] - want), p.relative * std::fabs(want)) << what << ": " << name << " at " << i << " is " << got.data[i];
  }
}

void expect_on_cpu(const ExactCase& p, const session::Compilation& c, const std::string& what) {
  const auto program = cli::CpuProgram::compile(c.final_ir().module());
  ASSERT_TRUE(program) << what << ": " << program.error().reason << "\n" << print(c.final_ir());
  const DimValues dims = math::default_dims(c.program);
  cli::LaunchArguments arguments;
  for (const math::Parameter& parameter : c.program.params) {
    arguments.arrays.emplace_back(parameter.dtype, p.inputs.at(parameter.name).shape);
    arguments.arrays.back().write(p.inputs.at(parameter.name).data);
  }
  for (const math::Parameter& result : c.program.results) {
    std::vector<std::int64_t> shape;
    for (const Expr extent : result.extents) shape.push_back(evaluate_integer(extent, dims).value_or(0));
    arguments.arrays.emplace_back(result.dtype, shape);
  }
  for (const math::Dimension& dimension : c.program.dims)
    if (dimension.runtime) arguments.dims.push_back(dims.at(dimension.name));
  const auto done = program->launch(arguments);
  ASSERT_TRUE(done) << what << ": " << done.error().reason;
  for (std::size_t i = 0; i < c.program.results.size(); ++i)
    expect_values(p, c.program.results[i].name.text(), arguments.arrays[c.program.params.size() + i].read(), "on the CPU, " + what);
}

void expect_exact(const ExactCase& p) {
  const Compiled usual = compiled(p.text);
  ASSERT_TRUE(usual) << p.text;
  const Choices small = tiles_of(*usual, "16");
  const Compiled tiled = compiled(p.text, {}, small);
  ASSERT_TRUE(tiled) << p.text;
  std::map<std::string, Choices> plans = {{"usual", {}}, {"small tiles", small}, {"unfused", all_of(*usual, "fuse", "no")}};
  plans["parts"] = all_of(*usual, "fold", "split-k");
  plans["parts of small tiles"] = small;
  for (const auto& one : all_of(*tiled, "fold", "split-k")) plans["parts of small tiles"].push_back(one);
  for (const auto& [name, choices] : plans) {
    const Compiled c = compiled(p.text, {}, choices);
    ASSERT_TRUE(c) << name << "\n" << p.text;
    const std::string what = name + "\n" + p.text + print(c->final_ir());
    if (cpu::load_plugin()) expect_on_cpu(p, *c, what);
    interp::RunOptions options;
    options.dims = math::default_dims(c->program);
    const auto run = interp::run(c->final_ir(), p.inputs, options);
    ASSERT_TRUE(run) << what << run.error().reason;
    for (const math::Parameter& result : c->program.results) expect_values(p, result.name.text(), run->at(result.name), what);
  }
}

using Whole = std::function<std::int64_t(std::int64_t)>;

double folded(std::int64_t n, std::int64_t start, const std::function<std::int64_t(std::int64_t, std::int64_t)>& step) {
  std::int64_t value = start;
  for (std::int64_t j = 0; j < n; ++j) value = step(value, j);
  return static_cast<double>(value);
}
double largest(std::int64_t n, const Whole& value) {
  return folded(n, value(0), [&](std::int64_t most, std::int64_t j) { return std::max(most, value(j)); });
}
double total(std::int64_t n, const Whole& value) {
  return folded(n, 0, [&](std::int64_t sum, std::int64_t j) { return sum + value(j); });
}

TEST(Integers, extremes_and_what_is_made_of_them_are_exact) {
  const auto row = [](std::int64_t i) { return [i](std::int64_t j) { return near_1e9(i * 70 + j); }; };
  ExactCase p;
  p.text =
      "dim R = 5, C = 70\noperator f(n: i32[R,C]) -> (y: i32[R,C], s: i64[R], lo: i32[R])\n{\n m[i] = max[j](n[i,j])\n"
      " y[i,j] = n[i,j] - m[i]\n s[i] = sum[j](n[i,j] - m[i] + 7)\n lo[i] = min[j](n[i,j] + 1)\n}\n";
  p.inputs[Symbol("n")] = array(DType::i32, {5, 70}, [](auto i) { return static_cast<double>(near_1e9(i)); });
  p.expected["y"] = [&](std::int64_t at) { return static_cast<double>(near_1e9(at)) - largest(70, row(at / 70)); };
  p.expected["s"] = [&](std::int64_t i) {
    const auto most = static_cast<std::int64_t>(largest(70, row(i)));
    return total(70, [&](std::int64_t j) { return row(i)(j) - most + 7; });
  };
  p.expected["lo"] = [&](std::int64_t i) { return 1 - largest(70, [&](std::int64_t j) { return -row(i)(j); }); };
  expect_exact(p);
}

TEST(Integers, reducers_with_whole_states_are_exact_and_ties_have_the_lowest_place) {
  const auto value = [](std::int64_t i) { return 1000000000 + i * i % 11; };
  ExactCase p;
  p.text =
      "dim R = 3, C = 70\nreducer most(x) { state v: i32 = -2147483648\n lift (x)\n combine (max(v, v'))\n result v = v }\n"
      "operator f(n: i32[R,C]) -> (y: i32[R], at: i32[R])\n{\n y[i] = most[j](n[i,j])\n at[i] = argmax[j](n[i,j])\n}\n";
  p.inputs[Symbol("n")] = array(DType::i32, {3, 70}, [&](auto i) { return static_cast<double>(value(i)); });
  const auto row = [&](std::int64_t i) { return [=](std::int64_t j) { return value(i * 70 + j); }; };
  p.expected["y"] = [&](std::int64_t i) { return largest(70, row(i)); };
  p.expected["at"] = [&](std::int64_t i) {
    std::int64_t place = 0;
    while (static_cast<double>(row(i)(place)) != largest(70, row(i))) ++place;
    return static_cast<double>(place);
  };
  expect_exact(p);
}

TEST(Integers, products_are_exact_and_on_no_atom_for_f32) {
  for (const auto& [dtype, low, factor] : {std::tuple{"i8", 100, 1}, std::tuple{"i32", 4000, 13}}) {
    const std::int64_t depth = 700, base = low, by = factor;
    const auto a = [base](std::int64_t at) { return base + scattered(at, 27); };
    ExactCase p;
    const std::string type(dtype);
    p.text = "dim M = 9, N = 8, K = 700\noperator f(a: " + type + "[M,K], b: " + type + "[K,N]) -> (y: i64[M,N])\n{\n y[i,j] = sum[k](" +
             (by == 1 ? "i32(a[i,k]) * i32(b[k,j])" : "a[i,k] * b[k,j] * 13") + ")\n}\n";
    p.inputs[Symbol("a")] = array(*dtype_named(type), {9, depth}, [&](auto i) { return static_cast<double>(a(i)); });
    p.inputs[Symbol("b")] = array(*dtype_named(type), {depth, 8}, [&](auto i) { return static_cast<double>(a(i + 5)); });
    p.expected["y"] = [&](std::int64_t at) {
      return total(depth, [&](std::int64_t k) { return a(at / 8 * depth + k) * a(k * 8 + at % 8 + 5) * by; });
    };
    expect_exact(p);
    EXPECT_EQ(print(compiled(p.text)->final_ir()).find("f32"), std::string::npos);
  }
}

TEST(Integers, sums_of_long_rows_are_exact_in_parts_too) {
  ExactCase p;
  p.text = "dim R = 2, C = 5000\noperator f(x: i64[R,C]) -> (y: i64[R])\n{\n y[i] = sum[j](x[i,j] * i64(100000007))\n}\n";
  p.inputs[Symbol("x")] = array(DType::i64, {2, 5000}, [](auto i) { return static_cast<double>(scattered(i, 19) - 6); });
  p.expected["y"] = [](std::int64_t i) {
    return total(5000, [&](std::int64_t j) { return (scattered(i * 5000 + j, 19) - 6) * 100000007; });
  };
  expect_exact(p);
}

TEST(Integers, differences_in_an_exponent_keep_all_their_digits) {
  ExactCase p;
  p.text = "dim R = 3, C = 70\noperator f(n: i32[R,C]) -> (y: f32[R,C])\n{\n y[i,j] = softmax[j](n[i,j])\n}\n";
  const auto value = [](std::int64_t i) { return 1000000000 + scattered(i, 9); };
  p.inputs[Symbol("n")] = array(DType::i32, {3, 70}, [&](auto i) { return static_cast<double>(value(i)); });
  p.expected["y"] = [&](std::int64_t at) {
    double sum = 0;
    for (std::int64_t j = 0; j < 70; ++j) sum += std::exp(static_cast<double>(value(at / 70 * 70 + j) - 1000000000));
    return std::exp(static_cast<double>(value(at) - 1000000000)) / sum;
  };
  p.relative = 1e-5;
  expect_exact(p);
}

TEST(Integers, the_extremum_of_none_is_infinite_among_reals_and_the_end_of_its_type_else) {
  ExactCase p;
  p.text =
      "dim R = 4, C = 40\noperator f(n: i32[R,C], len: i32[R]) -> (x: f32[R], w: i32[R], z: f32[R])\n{\n"
      " m[i] = max[j in 0:len[i]](n[i,j])\n x[i] = m[i] + 0.5\n w[i] = m[i]\n z[i] = where(m[i] == -inf, 1, 0)\n}\n";
  p.inputs[Symbol("n")] = array(DType::i32, {4, 40}, [](auto i) { return static_cast<double>(i % 17 - 20); });
  p.inputs[Symbol("len")] = array(DType::i32, {4}, [](auto i) { return static_cast<double>(i * 13); });
  const auto most = [](std::int64_t i) {
    double value = -unbounded;
    for (std::int64_t j = 0; j < i * 13; ++j) value = std::max(value, static_cast<double>((i * 40 + j) % 17 - 20));
    return value;
  };
  p.expected["x"] = [&](std::int64_t i) { return most(i) + 0.5; };
  p.expected["w"] = [&](std::int64_t i) { return std::max(most(i), -2147483648.0); };
  p.expected["z"] = [&](std::int64_t i) { return most(i) == -unbounded ? 1 : 0; };
  expect_exact(p);
}

TEST(Doubles, products_and_softmax_have_the_precision_of_f64) {
  const auto value = [](std::int64_t i) { return std::sin(static_cast<double>(i) + 0.3) * 3; };
  ExactCase product;
  product.text =
      "dim R = 5, C = 67, K = 20\noperator f(a: f64[R,K], b: f64[K,C]) -> (y: f64[R,C])\n{\n y[i,j] = sum[k](a[i,k] * b[k,j])\n}\n";
  product.inputs[Symbol("a")] = array(DType::f64, {5, 20}, value);
  product.inputs[Symbol("b")] = array(DType::f64, {20, 67}, [&](auto i) { return 20 + value(i); });
  product.expected["y"] = [&](std::int64_t at) {
    long double sum = 0;
    for (std::int64_t k = 0; k < 20; ++k) sum += static_cast<long double>(value(at / 67 * 20 + k)) * (20 + value(k * 67 + at % 67));
    return static_cast<double>(sum);
  };
  product.relative = 1e-12;
  expect_exact(product);
  EXPECT_EQ(print(compiled(product.text)->final_ir()).find("f32"), std::string::npos);
  ExactCase lines;
  lines.text =
      "dim R = 3, C = 67\noperator f(x: f64[R,C]) -> (y: f64[R,C], l: f64[R])\n{\n y[i,j] = softmax[j](x[i,j])\n"
      " l[i] = logsumexp[j](x[i,j])\n}\n";
  lines.inputs[Symbol("x")] = array(DType::f64, {3, 67}, [&](auto i) { return 100 + 40 * value(i); });
  const auto sum = [&](std::int64_t i) {
    double all = 0;
    for (std::int64_t j = 0; j < 67; ++j) all += std::exp(40 * value(i * 67 + j));
    return all;
  };
  lines.expected["y"] = [&](std::int64_t at) { return std::exp(40 * value(at)) / sum(at / 67); };
  lines.expected["l"] = [&](std::int64_t i) { return 100 + std::log(sum(i)); };
  lines.relative = 1e-12;
  expect_exact(lines);
  EXPECT_EQ(print(compiled(lines.text)->final_ir()).find("f32"), std::string::npos);
}

/// A declared type rounds the values of statements of every kind, also f32 those of integers and of f64.
TEST(Doubles, and_integers_are_rounded_where_the_text_declares_a_smaller_type) {
  ExactCase p;
  p.text =
      "dim R = 3, C = 40\noperator f(n: i32[R,C], x: f64[R,C]) -> (y: i32[R,C], z: i32[R], u: f64[R,C], v: f64[R], h: f64[R])\n{\n"
      " p[i,j]: f32 = n[i,j]\n y[i,j] = i32(p[i,j])\n q[i]: f32 = max[j](n[i,j])\n z[i] = i32(q[i])\n r[i,j]: f32 = x[i,j]\n"
      " u[i,j] = r[i,j]\n t[i]: f32 = sum[j](x[i,j])\n v[i] = t[i]\n k[i]: f16 = sum[j](x[i,j])\n h[i] = k[i]\n}\n";
  const auto x = [](std::int64_t i) { return static_cast<double>(scattered(i, 4096)) / 4096 + 0x1p-30; };  // sums are exact in f64
  p.inputs[Symbol("n")] = array(DType::i32, {3, 40}, [](auto i) { return static_cast<double>(near_1e9(i)); });
  p.inputs[Symbol("x")] = array(DType::f64, {3, 40}, x);
  const auto sum = [x](std::int64_t i) {
    double all = 0;
    for (std::int64_t j = 0; j < 40; ++j) all += x(i * 40 + j);
    return all;
  };
  p.expected["y"] = [](std::int64_t at) { return round_to(DType::f32, static_cast<double>(near_1e9(at))); };
  p.expected["z"] = [](std::int64_t i) { return round_to(DType::f32, largest(40, [i](std::int64_t j) { return near_1e9(i * 40 + j); })); };
  p.expected["u"] = [&](std::int64_t at) { return round_to(DType::f32, x(at)); };
  p.expected["v"] = [&](std::int64_t i) { return round_to(DType::f32, sum(i)); };
  p.expected["h"] = [&](std::int64_t i) { return round_to(DType::f16, sum(i)); };
  expect_exact(p);
}

/// Where one loop reads a tile of integers as integers and as an operand among reals, no panel for f32 holds it.
TEST(Integers, that_a_product_of_reals_reads_too_stay_exact) {
  ExactCase p;
  p.text =
      "dim R = 6, C = 64, D = 32\noperator f(n: i32[R,C], w: f32[C,D]) -> (y: f32[R,D])\n{\n m[i] = max[j](n[i,j])\n"
      " y[i,d] = sum[j](n[i,j] * w[j,d]) - m[i] * 2\n}\n";
  const auto n = [](std::int64_t i) { return near_1e9(i); };
  p.inputs[Symbol("n")] = array(DType::i32, {6, 64}, [&](auto i) { return static_cast<double>(n(i)); });
  p.inputs[Symbol("w")] = array(DType::f32, {64, 32}, [](auto i) { return i % 5 == 0 ? 0.5 : 0.25; });
  p.expected["y"] = [&](std::int64_t at) {
    double sum = 0;
    for (std::int64_t j = 0; j < 64; ++j) sum += static_cast<double>(n(at / 32 * 64 + j)) * ((j * 32 + at % 32) % 5 == 0 ? 0.5 : 0.25);
    return sum - 2 * largest(64, [&](std::int64_t j) { return n(at / 32 * 64 + j); });
  };
  p.relative = 1e-5;
  expect_exact(p);
}

TEST(Random, numbers_are_those_of_the_generator_to_the_bit) {
  ExactCase p;
  p.text =
      "dim R = 5, C = 70\noperator f(seed: i64) -> (a: f32[R,C], b: f32[R,C], c: f32[R,C], d: f32[R])\n{\n"
      " a[i,j] = random(seed, i * C + j)\n b[i,j] = random(seed + i, i - 3, j)\n c[i,j] = random(7, i, j, seed)\n"
      " d[i] = sum[j in 0:C](where(random(seed, i * C + j) < 0.7, 1, 0))\n}\n";
  const std::int64_t seed = -123456789012345;
  p.inputs[Symbol("seed")] = array(DType::i64, {}, [&](auto) { return static_cast<double>(seed); });
  const auto drawn = [](std::int64_t key, const std::vector<std::int64_t>& counter) {
    return interp::uniform(interp::philox_of(key, counter)[0]);
  };
  p.expected["a"] = [&](std::int64_t at) { return drawn(seed, {at}); };
  p.expected["b"] = [&](std::int64_t at) { return drawn(seed + at / 70, {at / 70 - 3, at % 70}); };
  p.expected["c"] = [&](std::int64_t at) { return drawn(7, {at / 70, at % 70, seed}); };
  p.expected["d"] = [&](std::int64_t i) {
    double count = 0;
    for (std::int64_t j = 0; j < 70; ++j) count += drawn(seed, {i * 70 + j}) < 0.7 ? 1 : 0;
    return count;
  };
  expect_exact(p);
}

TEST(Names, of_the_text_may_be_any_that_the_levels_use_themselves) {
  for (const char* name : {"g", "done", "z", "t", "f", "next", "all", "fma", "mixed", "open"}) {
    const std::string n(name);
    ExactCase p;
    p.text = "dim S = 40\noperator op(x: f32[S], " + n + ": f32) -> (y: f32[S])\n{\n y[i] = " + n + " * x[i]\n}\n";
    p.inputs[Symbol("x")] = array(DType::f32, {40}, [](auto i) { return static_cast<double>(i); });
    p.inputs[Symbol(n)] = array(DType::f32, {}, [](auto) { return 3.0; });
    p.expected["y"] = [](std::int64_t i) { return 3.0 * static_cast<double>(i); };
    expect_exact(p);
    p.text = "dim S = 40\noperator op(x: f32[S]) -> (y: f32[S])\n{\n " + n + " = max[j](x[j])\n y[i] = " + n + " - x[i]\n}\n";
    p.inputs.erase(Symbol(n));
    p.expected["y"] = [](std::int64_t i) { return 39.0 - static_cast<double>(i); };
    expect_exact(p);
  }
}

TEST(Names, of_indices_may_be_primed) {
  ExactCase p;
  p.text =
      "dim R = 3, C = 70\noperator f(x: f32[R,C]) -> (y: f32[R], c: f32[R,C], s: f32[R])\n{\n y[i] = sum[j'](x[i,j'])\n"
      " c[i,j in 0:C] = sum[k' in 0:j+1](x[i,k'])\n s[i] = sum[j''](c[i,j''])\n}\n";
  const auto value = [](std::int64_t i) { return static_cast<double>(i % 5); };
  const auto until = [value](std::int64_t i, std::int64_t n) {
    double sum = 0;
    for (std::int64_t j = 0; j < n; ++j) sum += value(i * 70 + j);
    return sum;
  };
  p.inputs[Symbol("x")] = array(DType::f32, {3, 70}, value);
  p.expected["y"] = [&](std::int64_t i) { return until(i, 70); };
  p.expected["c"] = [&](std::int64_t at) { return until(at / 70, at % 70 + 1); };
  p.expected["s"] = [&](std::int64_t i) {
    double sum = 0;
    for (std::int64_t j = 0; j < 70; ++j) sum += until(i, j + 1);
    return sum;
  };
  expect_exact(p);
}

/// One gauge stands still while the other moves.
TEST(Gauges, one_of_two_may_be_complete_before_the_loop) {
  const std::string text =
      "dim R = 5, C = 67\noperator f(x: f32[R,C], z: f32[R,C]) -> (y: f32[R])\n{\n a[i] = max[j](x[i,j])\n b[i] = max[j](z[i,j])\n"
      " y[i] = sum[j](exp(x[i,j] - a[i]) * exp(z[i,j] - b[i]))\n}\n";
  const auto x = [](std::int64_t i) { return static_cast<double>(scattered(i, 40)) / 8; };
  const auto z = [](std::int64_t i) { return static_cast<double>(scattered(i + 3, 50)) / 16; };
  ExactCase p;
  p.text = text;
  p.inputs[Symbol("x")] = array(DType::f32, {5, 67}, x);
  p.inputs[Symbol("z")] = array(DType::f32, {5, 67}, z);
  p.expected["y"] = [&](std::int64_t i) {
    double a = -unbounded, b = -unbounded, sum = 0;
    for (std::int64_t j = 0; j < 67; ++j) a = std::max(a, x(i * 67 + j)), b = std::max(b, z(i * 67 + j));
    for (std::int64_t j = 0; j < 67; ++j) sum += std::exp(x(i * 67 + j) - a) * std::exp(z(i * 67 + j) - b);
    return sum;
  };
  p.relative = 1e-5;
  expect_exact(p);
  for (const char* site : {"a/j/fuse", "b/j/fuse", "y/j/fuse"}) {
    for (const char* tile : {"16", "80"}) {
      const Compiled usual = compiled(text);
      ASSERT_TRUE(usual);
      bool offered = false;
      for (const Decision& d : usual->record.decisions) offered = offered || d.site == site;
      if (!offered) continue;
      const Compiled c = compiled(text, {}, {{site, "no"}, {"y/j/tile", tile}});
      ASSERT_TRUE(c) << site;
      if (cpu::load_plugin()) expect_on_cpu(p, *c, site);
    }
  }
}

}  // namespace
}  // namespace fathom::session_tests
