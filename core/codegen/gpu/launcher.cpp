// The launcher: checks the launch contract, takes workspaces, starts the kernels in order on the caller's stream.
#include "codegen/gpu/launcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "codegen/gpu/print_expression.hpp"

namespace fathom::gpu {
namespace {

/// The driver's encoder of tensor maps, asked for at run time: no library is linked for it. Numbers are those of the driver's interface.
constexpr std::string_view encoder = R"(#ifndef FATHOM_TENSOR_MAP
#define FATHOM_TENSOR_MAP
enum { fathom_map_f16 = 6, fathom_map_f32 = 7, fathom_map_bf16 = 9 };
// A map of a contiguous tensor with boxes of rows of 128 bytes. Extents count elements, strides bytes, fastest first.
static bool fathom_encode(tensor_map* map, int type, unsigned rank, unsigned long long address, const long long* extents,
                          const long long* strides, const unsigned* box) {
  typedef int (*encode_function)(void*, int, unsigned, void*, const long long*, const long long*, const unsigned*, const unsigned*, int, int, int, int);
  static void* found = nullptr;
  cudaDriverEntryPointQueryResult how;
  if (found == nullptr && cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &how) != cudaSuccess) return false;
  if (found == nullptr) return false;
  const unsigned one_by_one[] = {1, 1, 1, 1, 1};
  const int as_they_come = 0, rows_of_128_bytes = 3, fetch_256_bytes = 3, zeros = 0;
  return reinterpret_cast<encode_function>(found)(map, type, rank, reinterpret_cast<void*>(address), extents, strides, box, one_by_one, as_they_come,
                                                  rows_of_128_bytes, fetch_256_bytes, zeros) == 0;
}
#endif
)";

/// A tensor against what the module says of it.
constexpr std::string_view fitness =
    R"(// 0: contiguous, of these extents. Else what is wrong: 1 the rank, 2 an extent, 3 a stride, 4 there is no data.
static int fathom_unfit(const fathom_tensor& tensor, int rank, const long long* extents) {
  if (tensor.rank != rank) return 1;
  long long stride = 1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    if (tensor.extents[axis] != extents[axis]) return 2;
    if (tensor.extents[axis] > 1 && tensor.strides[axis] != stride) return 3;
    stride *= extents[axis];
  }
  return tensor.data == nullptr && stride > 0 ? 4 : 0;
}
)";

class Launcher {
 public:
  Launcher(const ThreadModule& made, const kernel::Module& module, SharedMemory shared) : made_(made), module_(module), shared_(shared) {
    for (const ThreadKernel& k : made.kernels)
      for (const ThreadParameter& p : k.parameters) names_[p.original] = p.variable.name;
  }

  std::string text() {
    line("#ifndef __CUDACC_RTC__");
    line("// ---- the host's side ----");
    line("#ifndef FATHOM_TENSOR");
    line("#define FATHOM_TENSOR");
    line("// Extents and strides count elements, one an axis. A scalar has rank 0, and `data` points to it on the host.");
    line("struct fathom_tensor {");
    line("  void* data;");
    line("  const long long* extents;");
    line("  const long long* strides;");
    line("  int rank;");
    line("};");
    line("static int fathom_refused(const char** error, const char* why) {");
    line("  if (error != nullptr) *error = why;");
    line("  return 1;");
    line("}");
    text_ += std::string(fitness);
    line("#endif");
    const bool maps = std::any_of(made_.kernels.begin(), made_.kernels.end(), [](const ThreadKernel& k) { return !k.maps.empty(); });
    if (maps) text_ += std::string(encoder);
    line("");
    const std::string name = module_.name.text();
    line("// Tensors in this order: " + order() +
         ". Returns 0; else 1, and `error` says what does not hold. Does not wait for the kernels.");
    line("extern \"C\" int " + name +
         "_launch(const fathom_tensor* arguments, int count, const long long* dims, int dim_count, void* stream, const char** error) {");
    const std::size_t tensors = module_.params.size() + module_.results.size();
    check(fmt::format("count != {}", tensors), fmt::format("{} takes {} tensors", name, tensors));
    std::vector<const math::Dimension*> runtime;
    for (const math::Dimension& d : module_.dims)
      if (d.runtime) runtime.push_back(&d);
    check(fmt::format("dim_count != {}", runtime.size()), fmt::format("{} takes {} dimensions", name, runtime.size()));
    for (std::size_t i = 0; i < runtime.size(); ++i) {
      check(fmt::format("dims[{0}] < 0 || dims[{0}] > 2147483647LL", i),
            fmt::format("dimension {} is not between 0 and 2147483647", runtime[i]->name.text()));
      line(fmt::format("  const long long {} = dims[{}];", own(runtime[i]->name), i));
    }
    std::size_t at = 0;
    for (const auto* list : {&module_.params, &module_.results})
      for (const math::Parameter& p : *list) tensor(p, at++);
    contract();
    line("  cudaStream_t on = static_cast<cudaStream_t>(stream);");
    for (const kernel::Workspace& w : module_.workspaces) {
      std::string size = std::to_string(size_in_bytes(w.dtype)) + "LL";
      for (const Expr extent : w.box) size += " * (" + host(extent) + ")";
      line(fmt::format("  void* {} = nullptr;", own(w.name)));
      check(fmt::format("cudaMallocAsync(&{}, {}, on) != cudaSuccess", own(w.name), size),
            "there is no memory for workspace " + w.name.text(), taken_);
      taken_.push_back(fmt::format("cudaFreeAsync({}, on);", own(w.name)));
      if (w.zero) line(fmt::format("  cudaMemsetAsync({}, 0, {}, on);", own(w.name), size));
    }
    for (std::size_t k = 0; k < made_.kernels.size(); ++k) start(made_.kernels[k], module_.kernels[k]);
    for (const std::string& free : taken_) line("  " + free);
    line("  const cudaError_t failed = cudaGetLastError();");
    line("  return failed == cudaSuccess ? 0 : fathom_refused(error, cudaGetErrorString(failed));");
    line("}");
    line("#endif");
    return text_;
  }

 private:
  void line(const std::string& s) { text_ += s + "\n"; }
  /// `first`: what is given back before.
  void check(const std::string& wrong, const std::string& says, const std::vector<std::string>& first = {},
             const std::string& indent = "  ") {
    const std::string refuse = "return fathom_refused(error, \"" + says + "\");";
    if (first.empty()) return line(indent + "if (" + wrong + ") " + refuse);
    line(indent + "if (" + wrong + ") {");
    for (const std::string& each : first) line(indent + "  " + each);
    line(indent + "  " + refuse);
    line(indent + "}");
  }
  /// Workspaces go back, and the next launch does not find this one's error.
  [[nodiscard]] std::vector<std::string> with_error_taken() const {
    std::vector<std::string> lines = taken_;
    lines.emplace_back("cudaGetLastError();");
    return lines;
  }
  std::string order() const {
    std::string all;
    for (const auto* list : {&module_.params, &module_.results})
      for (const math::Parameter& p : *list) all += (all.empty() ? "" : ", ") + p.name.text();
    return all;
  }
  /// Names are those of the kernels.
  [[nodiscard]] std::string own(Symbol name) const {
    const auto at = names_.find(name);
    return at == names_.end() ? name.text() : at->second.text();
  }
  /// Over dimensions and scalars of the host; a tensor by itself is its address.
  std::string host(Expr e) {
    std::set<std::string> ignored;
    const Expr plain = transform(e, [&](Expr part) {
      if (part.is(Op::dim)) {
        const auto same = [&](const math::Dimension& d) { return d.name == part.name(); };
        const auto d = std::find_if(module_.dims.begin(), module_.dims.end(), same);
        return d != module_.dims.end() && !d->runtime ? number(d->value) : symbol(Symbol(own(part.name())));
      }
      if (part.is(Op::read) && part.args().empty()) {
        for (const auto* list : {&module_.params, &module_.results})
          for (const math::Parameter& p : *list)
            if (p.name == part.name() && !p.extents.empty()) return symbol(Symbol("address_of_" + part.name().text()));
        return symbol(Symbol(own(part.name())));
      }
      return part;
    });
    return print_expression(plain, ignored);
  }
  void tensor(const math::Parameter& p, std::size_t at) {
    const std::string& name = p.name.text();
    const std::string argument = fmt::format("arguments[{}]", at);
    if (p.extents.empty()) {
      check(argument + ".rank != 0", name + " has another rank than 0");
      check(argument + ".data == nullptr", name + " is null");
      line(fmt::format("  const {0} {1} = *static_cast<const {0}*>({2}.data);", std::string(type_word(host_type(p.dtype))), own(p.name),
                       argument));
      return;
    }
    std::string extents, shape;
    for (const Expr extent : p.extents) {
      extents += (extents.empty() ? "" : ", ") + host(extent);
      shape += (shape.empty() ? "" : " x ") + fathom::print(extent);
    }
    line(fmt::format("  const long long extents_of_{}[] = {{{}}};", name, extents));
    line(fmt::format("  if (const int unfit = fathom_unfit({}, {}, extents_of_{}))", argument, p.extents.size(), name));
    line(
        fmt::format("    return fathom_refused(error, unfit == 1 ? \"{0} has another rank than {1}\" : unfit == 2 ? \"{0} has other "
                    "extents than {2}\" : "
                    "unfit == 3 ? \"{0} is not contiguous\" : \"{0} is null\");",
                    name, p.extents.size(), shape));
    if (asks_for_address(p.name))
      line(fmt::format("  const unsigned long long address_of_{} = reinterpret_cast<unsigned long long>({}.data);", name, argument));
  }
  /// The launch contract, or a map of the copy engine.
  [[nodiscard]] bool asks_for_address(Symbol tensor) const {
    bool found = false;
    for (const kernel::Require& r : module_.requires_)
      visit(r.condition, [&](Expr part) { found = found || (part.is(Op::read) && part.name() == tensor); });
    for (const ThreadKernel& k : made_.kernels)
      for (const TensorMap& map : k.maps) found = found || map.tensor == tensor;
    return found;
  }
  static Type host_type(DType dtype) {
    return dtype == DType::i64       ? Type::i64
           : dtype == DType::i32     ? Type::i32
           : dtype == DType::f64     ? Type::f64
           : dtype == DType::boolean ? Type::boolean
                                     : Type::f32;
  }
  void contract() {
    for (const kernel::Require& r : module_.requires_) {
      visit(r.condition, [&](Expr part) {  // what the host would divide by
        const bool divides = part.is(Op::mod) || part.is(Op::floordiv);
        if (divides && !constant_integer(part.arg(1))) check(host(part.arg(1)) + " == 0", fathom::print(part.arg(1)) + " is 0");
      });
      const std::string otherwise = r.otherwise == Symbol("unsupported") ? "" : "; the plan " + r.otherwise.text() + " serves then";
      check("!(" + host(r.condition) + ")", "the launch contract does not hold: " + fathom::print(r.condition) + otherwise);
    }
  }
  void start(const ThreadKernel& k, const kernel::Kernel& from) {
    const std::string indent = from.when ? "  " : "";
    if (from.when) line("  if (" + host(from.when) + ") {");
    line(indent + "  const long long workgroups_of_" + k.name.text() + " = " + host_of_thread(k.workgroups) + ";");
    line(indent + "  if (workgroups_of_" + k.name.text() + " > 0) {");
    std::int64_t bytes = 0;
    (void)dynamic_offsets(k, bytes);
    if (shared_ == SharedMemory::declared) bytes = 0;
    for (const TensorMap& map : k.maps) encode(map, indent + "    ");
    std::string arguments;
    for (const ThreadParameter& p : k.parameters) {
      arguments += arguments.empty() ? "" : ", ";
      arguments += p.pointer ? pointer(p) : p.variable.name.text();
    }
    for (const TensorMap& map : k.maps) arguments += ", " + map.name.text();
    constexpr std::int64_t without_asking = 49152, alignment = 1024;
    std::int64_t fixed = alignment;  // what the kernel declares by itself counts, too
    for (const Variable& v : k.shared) {
      std::int64_t elements = 1;
      for (const std::int64_t extent : v.extents) elements *= extent;
      fixed += elements * size_in_bytes(v.type);
    }
    const std::string& name = k.name.text();
    if (bytes > 0 && bytes + fixed > without_asking)
      check(fmt::format("cudaFuncSetAttribute({}, cudaFuncAttributeMaxDynamicSharedMemorySize, {}) != cudaSuccess", name, bytes),
            fmt::format("{} needs {} bytes of shared memory, more than this machine has", name, bytes), with_error_taken(),
            indent + "    ");
    if (k.resident_only) {
      line(fmt::format("{}    int device = 0, processors = 0, at_once = 0;  // workgroups that are there together", indent));
      line(fmt::format("{}    cudaGetDevice(&device);", indent));
      line(fmt::format("{}    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);", indent));
      line(fmt::format("{}    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&at_once, {}, {}, {});", indent, name, k.threads, bytes));
      line(fmt::format("{0}    const long long resident = static_cast<long long>(processors) * at_once;", indent));
      line(fmt::format("{0}    const long long workgroups = resident > 0 && resident < workgroups_of_{1} ? resident : workgroups_of_{1};",
                       indent, name));
    }
    const std::string workgroups = k.resident_only ? "workgroups" : "workgroups_of_" + name;
    if (k.early) {
      line(fmt::format("{}    cudaLaunchAttribute early[1];  // its threads wait for the kernel in front by themselves", indent));
      line(fmt::format("{}    early[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;", indent));
      line(fmt::format("{}    early[0].val.programmaticStreamSerializationAllowed = 1;", indent));
      line(fmt::format("{}    cudaLaunchConfig_t launch = {{}};", indent));
      line(fmt::format("{}    launch.gridDim = dim3(static_cast<unsigned>({}));", indent, workgroups));
      line(fmt::format("{}    launch.blockDim = dim3({});", indent, k.threads));
      line(fmt::format("{}    launch.dynamicSmemBytes = {};", indent, bytes));
      line(fmt::format("{}    launch.stream = on;", indent));
      line(fmt::format("{}    launch.attrs = early;", indent));
      line(fmt::format("{}    launch.numAttrs = 1;", indent));
      line(fmt::format("{}    cudaLaunchKernelEx(&launch, {}, {});", indent, name, arguments));
    } else {
      line(fmt::format("{0}    {1}<<<static_cast<unsigned>({5}), {2}, {3}, on>>>({4});", indent, name, k.threads, bytes, arguments,
                       workgroups));
    }
    line(indent + "  }");
    if (from.when) line("  }");
  }
  static std::string host_of_thread(Expr e) {
    std::set<std::string> ignored;
    return print_expression(e, ignored);
  }
  /// Extents and strides fastest first, as the driver takes them.
  void encode(const TensorMap& map, const std::string& indent) {
    std::string extents, strides, box, stride = std::to_string(size_in_bytes(map.type)) + "LL";
    for (std::size_t d = map.extents.size(); d-- > 0;) {
      const std::string extent = host_of_thread(map.extents[d]), separator = extents.empty() ? "" : ", ";
      extents += separator + extent;
      box += separator + std::to_string(map.box[d]);
      if (d + 1 < map.extents.size()) strides += (strides.empty() ? "" : ", ") + stride;
      stride += " * (" + extent + ")";
    }
    const std::string& name = map.name.text();
    const char* type = map.type == Type::bf16 ? "fathom_map_bf16" : map.type == Type::f16 ? "fathom_map_f16" : "fathom_map_f32";
    line(indent + "tensor_map " + name + ";");
    line(fmt::format("{0}const long long extents_of_{1}[] = {{{2}}}, strides_of_{1}[] = {{{3}}};", indent, name, extents,
                     strides.empty() ? "0" : strides));
    line(fmt::format("{}const unsigned box_of_{}[] = {{{}}};", indent, name, box));
    const bool workspace =
        std::any_of(module_.workspaces.begin(), module_.workspaces.end(), [&](const kernel::Workspace& w) { return w.name == map.tensor; });
    const std::string address =
        workspace ? "reinterpret_cast<unsigned long long>(" + own(map.tensor) + ")" : "address_of_" + map.tensor.text();
    check(fmt::format("!fathom_encode(&{0}, {1}, {2}, {3}, extents_of_{0}, strides_of_{0}, box_of_{0})", name, type, map.extents.size(),
                      address),
          "the driver makes no tensor map of " + map.tensor.text(), taken_, indent);
  }
  std::string pointer(const ThreadParameter& p) {
    std::size_t at = 0;
    const std::string type = (p.constant ? "const " : "") + std::string(type_word(p.variable.type)) + "*";
    for (const auto* list : {&module_.params, &module_.results}) {
      for (const math::Parameter& each : *list) {
        if (each.name == p.original) return fmt::format("static_cast<{}>(arguments[{}].data)", type, at);
        ++at;
      }
    }
    return fmt::format("static_cast<{}>({})", type, p.variable.name.text());
  }

  const ThreadModule& made_;
  const kernel::Module& module_;
  const SharedMemory shared_;
  std::map<Symbol, Symbol> names_;
  std::vector<std::string> taken_;  ///< what gives workspaces back
  std::string text_;
};

}  // namespace

std::string print_launcher(const ThreadModule& made, const kernel::Module& module, SharedMemory shared) {
  return Launcher(made, module, shared).text();
}

}  // namespace fathom::gpu
