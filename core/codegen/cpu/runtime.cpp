// Launches: what the arguments must satisfy is checked here, so that compiled code never has to.
#include "codegen/cpu/runtime.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>
#include <set>

#include "codegen/cpu/host_values.hpp"
#include "codegen/cpu/pool.hpp"
#include "lang/lang.hpp"

namespace fathom::cpu {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::int64_t largest_workspace = std::int64_t{1} << 40;
constexpr std::int64_t most_kept = std::int64_t{256} << 20;  ///< bytes that a program keeps between launches
constexpr int most_threads = 1024;

Memory allocate(std::int64_t bytes) {
  const auto size = (static_cast<std::size_t>(bytes) + 2 * alignment - 1) / alignment * alignment;
  return Memory(std::aligned_alloc(alignment, size));
}

struct Arguments {
  std::vector<void*> data;
  std::vector<std::int64_t> extents, strides, dims;
  HostValues values;
  std::vector<Block> workspaces;  ///< one each; what an earlier launch left, where that is large enough
};

double scalar_value(const void* data, DType dtype) {
  const auto as = [data](auto zero) {
    std::memcpy(&zero, data, sizeof zero);
    return static_cast<double>(zero);
  };
  switch (dtype) {
    case DType::f64:
      return as(double{});
    case DType::i64:
      return as(std::int64_t{});
    case DType::i32:
      return as(std::int32_t{});
    case DType::i8:
    case DType::boolean:
      return as(std::int8_t{});
    default:
      return as(float{});
  }
}

bool known_scalar(DType dtype) { return dtype != DType::f16 && dtype != DType::bf16 && dtype != DType::f8e4m3 && dtype != DType::f8e5m2; }

/// Run-time dimensions: given, or read off the arguments.
Result<void> bind_dims(const LaunchLayout& layout, std::span<const fathom_tensor> arguments, std::span<const std::int64_t> dims,
                       Arguments& launch) {
  for (const auto& [name, value] : layout.fixed_dims) launch.values[name] = static_cast<double>(value);
  if (!dims.empty() && dims.size() != layout.runtime_dims.size())
    return refuse(std::to_string(layout.runtime_dims.size()) + " run-time dimensions are needed but " + std::to_string(dims.size()) +
                  " were given.");
  for (std::size_t i = 0; i < layout.runtime_dims.size(); ++i) {
    const Symbol name = layout.runtime_dims[i];
    std::optional<std::int64_t> value;
    if (!dims.empty()) value = dims[i];
    for (std::size_t a = 0; a < arguments.size() && !value; ++a)
      for (std::size_t d = 0; d < layout.tensors[a].extents.size(); ++d)
        if (layout.tensors[a].extents[d] == dim(name)) value = arguments[a].extents[d];
    if (!value) return refuse("The run-time dimension '" + name.text() + "' has no value.", {name.text()}, "Give it at launch.");
    if (*value < 0) return refuse("The dimension '" + name.text() + "' is negative.", {name.text()});
    launch.dims.push_back(*value);
    launch.values[name] = static_cast<double>(*value);
  }
  return {};
}

Result<void> bind_tensor(const LaunchTensor& expected, const fathom_tensor& given, Arguments& launch) {
  const std::string name = "'" + expected.name.text() + "'";
  std::uintptr_t address = reinterpret_cast<std::uintptr_t>(given.data);
  bool empty = false;
  for (std::size_t d = 0; d < expected.extents.size(); ++d) {
    const auto extent = evaluate_whole(expected.extents[d], launch.values);
    if (!extent) return refuse("The extent " + print(expected.extents[d]) + " of " + name + " has no value at launch.");
    if (given.extents[d] != *extent)
      return refuse("Axis " + std::to_string(d) + " of " + name + " has " + std::to_string(given.extents[d]) +
                    " elements; the kernel expects " + print(expected.extents[d]) + " = " + std::to_string(*extent) + ".");
    if (static_cast<int>(d) == expected.contiguous && *extent > 1 && given.strides[d] != 1)
      return refuse(
          "Axis " + std::to_string(d) + " of " + name + " must be contiguous, but its stride is " + std::to_string(given.strides[d]) + ".",
          {}, "Declare the parameter 'strided', or pass a contiguous copy.");
    empty = empty || *extent == 0;
    launch.extents.push_back(*extent);
    launch.strides.push_back(given.strides[d]);
    if (*extent > 1 && given.strides[d] != 1) address |= static_cast<std::uintptr_t>(given.strides[d] * size_in_bytes(expected.dtype));
  }
  if (given.data == nullptr && !empty) return refuse("The argument " + name + " has no data.");
  launch.data.push_back(given.data);
  if (expected.extents.empty() && known_scalar(expected.dtype)) launch.values[expected.name] = scalar_value(given.data, expected.dtype);
  // A condition such as `q % 16 == 0` is about the base and all strides in bytes: they share the bits of their union.
  if (!expected.extents.empty()) launch.values[expected.name] = static_cast<double>(address & 0xfff);
  return {};
}

Result<void> bind_workspace(const LaunchTensor& tensor, bool zero, Block& block, Arguments& launch) {
  std::int64_t count = 1;
  std::vector<std::int64_t> extents;
  for (Expr e : tensor.extents) {
    const auto extent = evaluate_whole(e, launch.values);
    if (!extent || *extent < 0)
      return refuse("The extent " + print(e) + " of the workspace '" + tensor.name.text() + "' has no value at launch.");
    if (*extent > 0 && count > largest_workspace / *extent) return refuse("The workspace '" + tensor.name.text() + "' is too large.");
    count *= *extent;
    extents.push_back(*extent);
  }
  std::int64_t stride = 1;
  std::vector<std::int64_t> strides(extents.size());
  for (std::size_t d = extents.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= extents[d];
  }
  launch.extents.insert(launch.extents.end(), extents.begin(), extents.end());
  launch.strides.insert(launch.strides.end(), strides.begin(), strides.end());
  const std::int64_t bytes = count * size_in_bytes(tensor.dtype);
  if (block.memory == nullptr || block.bytes < bytes) {
    block = Block{};  // the old one goes before the new one comes
    block = Block{bytes, allocate(bytes)};
  }
  if (block.memory == nullptr) return refuse("There is no memory for the workspace '" + tensor.name.text() + "'.");
  if (zero) std::memset(block.memory.get(), 0, static_cast<std::size_t>(bytes));
  launch.data.push_back(block.memory.get());
  return {};
}

/// " (n = 68, m = 3)": the scalars and dimensions of the condition, each once.
std::string values_in(Expr condition, const LaunchLayout& layout, const HostValues& values) {
  std::string text;
  std::set<Symbol> seen;  // of a tensor the address would be shown
  for (const LaunchTensor& tensor : layout.tensors)
    if (!tensor.extents.empty()) seen.insert(tensor.name);
  visit(condition, [&](Expr e) {
    if (!e.is(Op::symbol) && !e.is(Op::dim) && !e.is(Op::read)) return;
    const auto value = evaluate(e, values);
    if (!value || !seen.insert(e.name()).second) return;
    const std::string number = evaluate_whole(e, values) ? std::to_string(*evaluate_whole(e, values)) : std::to_string(*value);
    text += (text.empty() ? " (" : ", ") + print(e) + " = " + number;
  });
  return text.empty() ? text : text + ")";
}

/// What to do where the condition does not hold: no plan has the name `unsupported`, the operator itself asks for the condition.
std::string cure_of(const kernel::Require& require) {
  if (require.otherwise == "unsupported"_sym)
    return "The operator is declared for such arguments only: pass others, or change the condition after its `where`.";
  return "The plan '" + require.otherwise.text() + "' serves such arguments.";
}

Result<Arguments> bind(const Program& program, std::span<const fathom_tensor> arguments, std::span<const std::int64_t> dims) {
  const LaunchLayout& layout = program.layout;
  if (arguments.size() != layout.arguments)
    return refuse("The module takes " + std::to_string(layout.arguments) + " tensors, parameters then results, but " +
                  std::to_string(arguments.size()) + " were given.");
  for (std::size_t a = 0; a < arguments.size(); ++a)
    if (arguments[a].rank != static_cast<std::int32_t>(layout.tensors[a].extents.size()))
      return refuse("'" + layout.tensors[a].name.text() + "' has " + std::to_string(layout.tensors[a].extents.size()) + " axes, but " +
                    std::to_string(arguments[a].rank) + " were given.");
  Arguments launch;
  if (auto bound = bind_dims(layout, arguments, dims, launch); !bound) return tl::unexpected(bound.error());
  for (std::size_t a = 0; a < arguments.size(); ++a)  // scalars first: extents may use them
    if (arguments[a].rank == 0 && arguments[a].data != nullptr && known_scalar(layout.tensors[a].dtype))
      launch.values[layout.tensors[a].name] = scalar_value(arguments[a].data, layout.tensors[a].dtype);
  for (std::size_t a = 0; a < arguments.size(); ++a)
    if (auto bound = bind_tensor(layout.tensors[a], arguments[a], launch); !bound) return tl::unexpected(bound.error());
  for (const kernel::Let& let : program.module.lets)
    if (const auto value = evaluate(let.value, launch.values)) launch.values[let.name] = *value;
  for (const kernel::Require& require : program.module.requires_) {
    const auto holds = evaluate(require.condition, launch.values);
    if (!holds || *holds == 0)
      return refuse("The launch contract fails: " + print(require.condition) + (holds ? " does not hold" : " has no value at launch") +
                        values_in(require.condition, layout, launch.values) + ".",
                    {require.otherwise.text()}, cure_of(require));
  }
  launch.workspaces = program.spares->take();
  launch.workspaces.resize(program.module.workspaces.size());
  for (std::size_t w = 0; w < program.module.workspaces.size(); ++w)
    if (auto bound = bind_workspace(layout.tensors[layout.arguments + w], program.module.workspaces[w].zero, launch.workspaces[w], launch);
        !bound)
      return tl::unexpected(bound.error());
  return launch;
}

/// Increments with wrap: n draws bring the counter back to where it was.
std::int64_t draw(std::int32_t& cell, std::int64_t last) {
  std::atomic_ref<std::int32_t> counter(cell);
  std::int32_t seen = counter.load(std::memory_order_relaxed);
  while (!counter.compare_exchange_weak(seen, seen >= last ? 0 : seen + 1, std::memory_order_relaxed)) {
  }
  return seen;
}

std::int32_t* counter_of(const Program& program, Symbol name, const Arguments& launch) {
  const std::vector<kernel::Workspace>& workspaces = program.module.workspaces;
  for (std::size_t w = 0; w < workspaces.size(); ++w) {
    const kernel::Workspace& workspace = workspaces[w];
    const bool fits =
        workspace.zero && workspace.dtype == DType::i32 && workspace.box.size() == 1 && constant_integer(workspace.box[0]) == 1;
    if (workspace.name == name && fits) return static_cast<std::int32_t*>(launch.data[program.layout.arguments + w]);
  }
  return nullptr;
}

Result<void> run_kernel(const Program& program, std::size_t which, Arguments& launch, int threads) {
  const kernel::Kernel& k = program.module.kernels[which];
  if (k.when) {
    const auto runs = evaluate(k.when, launch.values);
    if (!runs) return refuse("The condition " + print(k.when) + " of kernel '" + k.name.text() + "' has no value at launch.");
    if (*runs == 0) return {};
  }
  HostValues values = launch.values;
  for (const kernel::Let& let : k.lets)
    if (const auto value = evaluate(let.value, values)) values[let.name] = *value;
  const auto lo = evaluate_whole(k.work.lo, values), hi = evaluate_whole(k.work.hi, values);
  if (!lo || !hi)
    return refuse("The work " + print(k.work.lo) + ":" + print(k.work.hi) + " of kernel '" + k.name.text() + "' has no value at launch.");
  const std::int64_t count = *hi - *lo;
  if (count <= 0) return {};
  const int workers = static_cast<int>(std::min<std::int64_t>(threads, count));
  const std::int64_t arena = (program.code.arena_bytes() + 4095) / 4096 * 4096 + 4096;
  const Memory arenas = allocate(arena * workers);
  if (arenas == nullptr) return refuse("There is no memory for the tile values of kernel '" + k.name.text() + "'.");
  const bool dynamic = k.work.source == kernel::WorkSource::dynamic;
  std::int32_t* counter = dynamic ? counter_of(program, k.work.counter, launch) : nullptr;
  if (dynamic && counter == nullptr)
    return refuse("The counter '" + k.work.counter.text() + "' of kernel '" + k.name.text() + "' is not a workspace i32[1] zero.");
  std::atomic<std::int64_t> next{workers}, draws{0};
  const auto draw_next = [&]() -> std::int64_t {
    if (!dynamic) return next.fetch_add(1);
    return draws.fetch_add(1) < count ? workers + draw(*counter, count - 1) : count;  // whatever the cell holds, draws end
  };
  const Launch view{launch.data.data(), launch.extents.data(), launch.strides.data(), launch.dims.data()};
  const WorkFunction function = program.code.kernel(which);
  run_workers(workers, [&](int worker) {
    char* mine = static_cast<char*>(arenas.get()) + arena * worker;
    // The first item is the worker's own number; each later one is drawn.
    for (std::int64_t item = worker; item < count; item = draw_next()) function(&view, *lo + item, mine);
  });
  return {};
}

}  // namespace

Result<std::unique_ptr<Program>> compile_module(kernel::Module module) {
  LaunchLayout layout = launch_layout(module);
  auto code = compile(module, layout);
  if (!code) return tl::unexpected(code.error());
  return std::make_unique<Program>(Program{std::move(module), std::move(layout), std::move(*code)});
}

Result<std::unique_ptr<Program>> compile_text(std::string_view kernel_text) {
  auto module = lang::parse_kernel(kernel_text);
  if (!module) return refuse(render(module.error(), "kernel", kernel_text));
  if (auto sound = kernel::verify_sequential(*module); !sound) return tl::unexpected(sound.error());
  return compile_module(std::move(*module));
}

Result<void> run(const Program& program, std::span<const fathom_tensor> arguments, std::span<const std::int64_t> dims, int threads) {
  auto launch = bind(program, arguments, dims);
  if (!launch) return tl::unexpected(launch.error());
  const int workers = std::min(threads <= 0 ? default_threads() : threads, most_threads);
  for (std::size_t k = 0; k < program.module.kernels.size(); ++k)
    if (auto done = run_kernel(program, k, *launch, workers); !done) return done;
  const auto add = [](std::int64_t sum, const Block& block) { return sum + block.bytes; };
  if (std::accumulate(launch->workspaces.begin(), launch->workspaces.end(), std::int64_t{0}, add) <= most_kept)
    program.spares->give(std::move(launch->workspaces));
  return {};
}

double peak_gflops(int threads) {
  const auto [probe, operations] = fma_probe();
  if (probe == nullptr) return 0;
  const FmaProbe run_probe = probe;
  const int workers = threads <= 0 ? default_threads() : std::min(threads, most_threads);
  constexpr std::int64_t trips = 2'000'000;
  double best = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    std::atomic<float> sink{0};
    run_workers(workers, [&](int) { sink = run_probe(trips); });
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, operations * static_cast<double>(trips) * workers / seconds / 1e9);
  }
  return best;
}

}  // namespace fathom::cpu
