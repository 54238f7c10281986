// Attention on the CPU: the kernel that the passes make by default, and one written by hand, against an unfused OpenBLAS sgemm + softmax
// (same vector exp) + sgemm, and against the FMA peak, all in one run. Prints every cell, in wall time and in the CPU time of the calling
// thread (one thread only), which other processes on the machine disturb less.
//   bench_cpu_attention [S] [T] [H] [repeats] [kernel file]
#include <cblas.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <vector>

#include "codegen/cpu/pool.hpp"
#include "codegen/cpu/runtime.hpp"
#include "lang/lang.hpp"
#include "passes/pass.hpp"

extern "C" void openblas_set_num_threads(int);
extern "C" char* openblas_get_corename(void);

namespace {

constexpr std::int64_t depth = 64;
using Clock = std::chrono::steady_clock;

struct Times {
  double wall = 1e30, cpu = 1e30;
};

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Times best_of(int repeats, const std::function<void()>& body) {
  Times best;
  for (int i = 0; i < repeats; ++i) {
    const auto start = Clock::now();
    const double cpu = cpu_seconds();
    body();
    best.cpu = std::min(best.cpu, cpu_seconds() - cpu);
    best.wall = std::min(best.wall, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

void softmax_row(float* row, std::int64_t n, fathom::cpu::ArrayFunction exp) {
  constexpr int lanes = 16;
  float most[lanes], sum[lanes] = {};
  std::fill_n(most, lanes, -HUGE_VALF);
  for (std::int64_t j = 0; j + lanes <= n; j += lanes)
    for (int l = 0; l < lanes; ++l) most[l] = std::max(most[l], row[j + l]);
  float m = *std::max_element(most, most + lanes);
  for (std::int64_t j = n / lanes * lanes; j < n; ++j) m = std::max(m, row[j]);
  for (std::int64_t j = 0; j < n; ++j) row[j] -= m;
  exp(row, row, n);
  for (std::int64_t j = 0; j + lanes <= n; j += lanes)
    for (int l = 0; l < lanes; ++l) sum[l] += row[j + l];
  float total = 0;
  for (float part : sum) total += part;
  for (std::int64_t j = n / lanes * lanes; j < n; ++j) total += row[j];
  const float scale = 1 / total;
  for (std::int64_t j = 0; j < n; ++j) row[j] *= scale;
}

struct Problem {
  std::int64_t s, t, h;
  std::vector<float> q, k, v, o, scores;
};

void unfused(Problem& p, fathom::cpu::ArrayFunction exp) {
  const auto s = static_cast<int>(p.s), t = static_cast<int>(p.t), d = static_cast<int>(depth);
  for (std::int64_t h = 0; h < p.h; ++h) {
    const float *q = &p.q[static_cast<std::size_t>(h * p.s * depth)], *k = &p.k[static_cast<std::size_t>(h * p.t * depth)],
                *v = &p.v[static_cast<std::size_t>(h * p.t * depth)];
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, s, t, d, 0.125F, q, d, k, d, 0, p.scores.data(), t);
    for (std::int64_t i = 0; i < p.s; ++i) softmax_row(&p.scores[static_cast<std::size_t>(i * p.t)], p.t, exp);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, s, d, t, 1, p.scores.data(), t, v, d, 0,
                &p.o[static_cast<std::size_t>(h * p.s * depth)], d);
  }
}

/// OpenBLAS falls back to its oldest kernels on a processor it does not know. It reads its choice when it is loaded, so this process starts
/// again with the kernels of the host's vector width: the baseline must be the best that the library can do.
void use_best_kernels(char** argv) {
  if (std::getenv("OPENBLAS_CORETYPE") != nullptr || std::string(openblas_get_corename()) != "Prescott") return;
  const int lanes = fathom::cpu::host_lanes();
  if (lanes < 8) return;
  setenv("OPENBLAS_CORETYPE", lanes == 16 ? "SKYLAKEX" : "HASWELL", 1);
  execv("/proc/self/exe", argv);
}

/// Kernels that are compared: the text that the passes make of the sample by default, and one written by hand.
struct Kernel {
  std::string name;
  std::unique_ptr<fathom::cpu::Program> program;
  Times best;
  float difference = 0;
};

std::string file_text(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string hand_text(const std::string& path, std::int64_t heads) {
  std::string source = file_text(path);
  if (const auto at = source.find("H = 8"); at != std::string::npos) source.replace(at, 5, "H = " + std::to_string(heads));
  return source;
}

std::string generated_text(const Problem& p) {
  using namespace fathom;
  auto file = lang::parse_file(file_text(FATHOM_SOURCE_DIR "/samples/attention_nomask.fathom"));
  const auto target = target_named("x86-64");
  if (!file || !target) return {};
  math::Program program = file->operators.front();
  const std::map<std::string, std::int64_t> sizes{{"B", 1}, {"H", p.h}, {"S", p.s}, {"T", p.t}, {"D", depth}};
  for (math::Dimension& each : program.dims)
    if (const auto size = sizes.find(each.name.text()); size != sizes.end()) each.value = size->second;
  const auto record = passes::replay(program, *target, {});
  if (!record) return {};
  for (const Decision& each : record->decisions)
    if (each.kind == "tile" || each.kind == "atom") std::printf("  %s = %s\n", each.site.c_str(), each.choice.c_str());
  const Ir& last = record->steps.back().after;
  return last.level == Level::kernel ? print(last.module()) : std::string();
}

/// The best of three compilations; the first is cold.
bool compile(Kernel& kernel, const std::string& source) {
  for (int i = 0; i < 3; ++i) {
    const double start = cpu_seconds();
    const auto wall = Clock::now();
    auto made = fathom::cpu::compile_text(source);
    if (!made) {
      std::fprintf(stderr, "%s: %s\n", kernel.name.c_str(), made.error().reason.c_str());
      return false;
    }
    const auto& times = (*made)->code.times();
    std::printf("compile %s%s: %.0f ms of CPU time, %.0f ms wall (IR %.0f, optimise %.0f, code and link %.0f)\n", kernel.name.c_str(),
                i == 0 ? ", first" : "", 1e3 * (cpu_seconds() - start), 1e3 * std::chrono::duration<double>(Clock::now() - wall).count(),
                times.emit_ms, times.optimise_ms, times.link_ms);
    kernel.program = std::move(*made);
  }
  return true;
}

void fill(Problem& p) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (auto* tensor : {&p.q, &p.k, &p.v}) {
    tensor->resize(static_cast<std::size_t>(p.h * (tensor == &p.q ? p.s : p.t) * depth));
    for (float& x : *tensor) x = normal(random);
  }
  p.o.resize(p.q.size());
  p.scores.resize(static_cast<std::size_t>(p.s * p.t));
}

/// How good the baseline's own products are here.
void report_baseline() {
  constexpr int n = 1024;
  std::vector<float> a(n * n, 1), b(n * n, 2), c(n * n);
  openblas_set_num_threads(1);
  const Times square =
      best_of(5, [&] { cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a.data(), n, b.data(), n, 0, c.data(), n); });
  std::printf("OpenBLAS %s: sgemm of 1024^3 on one thread %.1f GF/s (CPU time)\n", openblas_get_corename(),
              2.0 * n * n * n / square.cpu / 1e9);
}

void take(Times& best, const Times& now) { best = {std::min(best.wall, now.wall), std::min(best.cpu, now.cpu)}; }

void run_kernel(Kernel& kernel, Problem& p, std::vector<float>& out, int threads) {
  const std::int64_t rows[] = {1, p.h, p.s, depth}, keys[] = {1, p.h, p.t, depth};
  const std::int64_t row_strides[] = {p.h * p.s * depth, p.s * depth, depth, 1}, key_strides[] = {p.h * p.t * depth, p.t * depth, depth, 1};
  const fathom_tensor arguments[] = {{p.q.data(), rows, row_strides, 4},
                                     {p.k.data(), keys, key_strides, 4},
                                     {p.v.data(), keys, key_strides, 4},
                                     {out.data(), rows, row_strides, 4}};
  if (const auto done = fathom::cpu::run(*kernel.program, arguments, {}, threads); !done)
    std::fprintf(stderr, "%s: %s\n", kernel.name.c_str(), done.error().reason.c_str());
}

void print_cells(const char* clock, const std::vector<Kernel>& kernels, double Times::* time, double peak, const Times& blas,
                 double flops) {
  std::printf("  %s: FMA peak %.1f GF/s, unfused OpenBLAS %.1f ms %.1f GF/s\n", clock, peak, 1e3 * blas.*time, flops / (blas.*time) / 1e9);
  for (const Kernel& each : kernels)
    std::printf("    %-9s %8.1f ms %6.1f GF/s = %3.0f %% of peak, %.2fx\n", each.name.c_str(), 1e3 * each.best.*time,
                flops / (each.best.*time) / 1e9, 100 * flops / (each.best.*time) / 1e9 / peak, blas.*time / (each.best.*time));
}

}  // namespace

int main(int argc, char** argv) {
  using namespace fathom;
  use_best_kernels(argv);
  const auto number = [&](int i, std::int64_t otherwise) { return argc > i ? std::strtoll(argv[i], nullptr, 10) : otherwise; };
  Problem p{number(1, 4096), number(2, 4096), number(3, 8), {}, {}, {}, {}, {}};
  const int repeats = static_cast<int>(number(4, 3));
  std::vector<Kernel> kernels(2);
  kernels[0].name = "generated";
  kernels[1].name = "by hand";
  const std::string texts[] = {generated_text(p),
                               hand_text(argc > 5 ? argv[5] : FATHOM_SOURCE_DIR "/tests/codegen/attention_f32.kernel", p.h)};
  for (std::size_t i = 0; i < kernels.size(); ++i)
    if (!compile(kernels[i], texts[i])) return 1;
  report_baseline();
  fill(p);
  std::vector<float> out(p.q.size());
  const double flops = 4.0 * static_cast<double>(p.s * p.t * depth * p.h);
  const auto exp = cpu::array_function("exp");
  const auto [probe, per_trip] = cpu::fma_probe();
  constexpr std::int64_t trips = 1'000'000;
  for (int threads : {1, cpu::default_threads()}) {
    openblas_set_num_threads(threads);
    Times peak, blas;
    double wall_peak = 0;
    for (Kernel& each : kernels) each.best = {};
    for (int round = 0; round < repeats; ++round) {  // interleaved, so that a busy moment hits all alike
      wall_peak = std::max(wall_peak, cpu::peak_gflops(threads));
      take(peak, best_of(3, [&] {
             volatile float sink = probe(trips);
             (void)sink;
           }));
      take(blas, best_of(1, [&] { unfused(p, exp); }));
      for (Kernel& each : kernels) {
        std::fill(out.begin(), out.end(), -1.0F);
        take(each.best, best_of(1, [&] { run_kernel(each, p, out, threads); }));
        for (std::size_t i = 0; i < out.size(); ++i) each.difference = std::max(each.difference, std::fabs(out[i] - p.o[i]));
      }
    }
    std::printf("S %lld T %lld H %lld D %lld, %d thread%s; largest difference from OpenBLAS %.2g, %.2g\n", static_cast<long long>(p.s),
                static_cast<long long>(p.t), static_cast<long long>(p.h), static_cast<long long>(depth), threads, threads == 1 ? "" : "s",
                static_cast<double>(kernels[0].difference), static_cast<double>(kernels[1].difference));
    print_cells("wall", kernels, &Times::wall, wall_peak, blas, flops);
    if (threads == 1) print_cells("CPU time", kernels, &Times::cpu, per_trip * static_cast<double>(trips) / peak.cpu / 1e9, blas, flops);
    if (cpu::default_threads() == 1) break;
  }
  return 0;
}
