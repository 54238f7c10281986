// How long the whole pipeline takes for each sample, program as written to Kernel. Goal for attention: 10 ms.
#include <benchmark/benchmark.h>

#include <fstream>
#include <sstream>

#include "lang/lang.hpp"
#include "passes/pass.hpp"

namespace {

std::string read_sample(const std::string& name) {
  std::ifstream stream(std::string(FATHOM_SOURCE_DIR) + "/samples/" + name + ".fathom");
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

void replay_sample(benchmark::State& state, const std::string& name, const std::string& target_name) {
  const auto file = fathom::lang::parse_file(read_sample(name));
  const auto target = fathom::target_named(target_name);
  if (!file || !target) {
    state.SkipWithError("the sample does not parse");
    return;
  }
  for (auto _ : state) {
    auto record = fathom::passes::replay(file->operators.front(), *target, {});
    benchmark::DoNotOptimize(record);
  }
}

void parse_sample(benchmark::State& state, const std::string& name) {
  const std::string source = read_sample(name);
  for (auto _ : state) {
    auto file = fathom::lang::parse_file(source);
    benchmark::DoNotOptimize(file);
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (const char* name : {"attention", "attention_nomask", "attention_dynamic", "softmax", "logsumexp", "rmsnorm", "layernorm",
                           "matmul_bias_gelu", "cross_entropy"}) {
    benchmark::RegisterBenchmark((std::string("parse/") + name).c_str(), [name](benchmark::State& state) {
      parse_sample(state, name);
    })->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark((std::string("replay/") + name).c_str(), [name](benchmark::State& state) {
      replay_sample(state, name, "x86-64-v4");
    })->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
