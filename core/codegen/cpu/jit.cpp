// LLVM: host description, optimisation, object code, linking. The only file that includes the pass builder and ORC (20 s to compile).
#include "codegen/cpu/jit.hpp"

#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/AssemblyAnnotationWriter.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/FormattedStream.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "codegen/cpu/emitter.hpp"

namespace fathom::cpu {
namespace {

using Clock = std::chrono::steady_clock;
double milliseconds_since(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

void initialise_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

std::string text_of(llvm::Error error) { return llvm::toString(std::move(error)); }

llvm::Expected<std::unique_ptr<llvm::TargetMachine>> host_machine() {
  initialise_once();
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder) return builder.takeError();
  builder->setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  return builder->createTargetMachine();
}

/// The vectors and the unrolled blocks are ours, so LLVM's vectorisers and unroller have little to add; leaving them out saves more than
/// half of the time.
void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  tuning.LoopInterleaving = false;
  tuning.LoopUnrolling = false;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(calls);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, calls, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

void set_target(llvm::Module& module, const llvm::TargetMachine& machine) {
  module.setTargetTriple(machine.getTargetTriple().str());
  module.setDataLayout(machine.createDataLayout());
}

void set_attributes(llvm::Module& module, const llvm::TargetMachine& machine) {
  const std::string width = std::to_string(host_lanes() * 32);
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    function.addFnAttr("prefer-vector-width", width);
    function.addFnAttr("min-legal-vector-width", width);
  }
}

llvm::SmallVector<char, 0> emit_file(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type)) return bytes;
  passes.run(module);
  return bytes;
}

// ---- lines ----

/// A function of the listing for each kernel. The lines are told to the assembler only (no sections for a debugger).
std::vector<llvm::DISubprogram*> make_scopes(llvm::Module& module, std::size_t count) {
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  llvm::DIBuilder builder(module);
  llvm::DIFile* file = builder.createFile(module.getName().str() + ".kernel", ".");
  builder.createCompileUnit(llvm::dwarf::DW_LANG_C, file, "Fathom", /*isOptimized=*/true, "", 0, "",
                            llvm::DICompileUnit::DebugDirectivesOnly);
  llvm::DISubroutineType* type = builder.createSubroutineType(builder.getOrCreateTypeArray({}));
  std::vector<llvm::DISubprogram*> scopes;
  for (std::size_t i = 0; i < count; ++i)
    scopes.push_back(builder.createFunction(file, "kernel" + std::to_string(i), "", file, 0, type, 0, llvm::DINode::FlagZero,
                                            llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized));
  builder.finalize();
  return scopes;
}

/// Assembly without what only a debugger reads; its line directives become the listing's lines.
CodeListing listing_of(std::string_view assembly) {
  CodeListing listing;
  int line = 0;
  while (!assembly.empty()) {
    const std::size_t end = std::min(assembly.find('\n'), assembly.size());
    const std::string_view one = assembly.substr(0, end);
    assembly.remove_prefix(std::min(end + 1, assembly.size()));
    const std::size_t first = std::min(one.find_first_not_of(" \t"), one.size());
    const std::string_view word = one.substr(first, one.find_first_of(" \t", first) - first);
    if (word == ".loc") {  // .loc FILE LINE COLUMN …
      if (std::sscanf(std::string(one).c_str(), " .loc %*d %d", &line) != 1) line = 0;
      continue;
    }
    if (word == ".cfi_endproc") line = 0;
    if (word == ".file" || word.starts_with(".cfi_") || one.starts_with(".Ltmp") || one.starts_with(".Lfunc_begin")) continue;
    const bool is_instruction = first > 0 && !word.starts_with(".") && !word.starts_with("#");
    listing.lines.push_back(is_instruction ? line : 0);
    listing.text.append(one).push_back('\n');
  }
  return listing;
}

/// Notes the line of the text on which each instruction is printed.
class LineWriter : public llvm::AssemblyAnnotationWriter {
 public:
  explicit LineWriter(const std::map<const llvm::Instruction*, int>& lines) : lines_(lines) {}
  void emitInstructionAnnot(const llvm::Instruction* instruction, llvm::formatted_raw_ostream& out) override {
    const auto line = lines_.find(instruction);
    if (line == lines_.end()) return;
    found.resize(std::max<std::size_t>(found.size(), out.getLine() + 1));
    found[out.getLine()] = line->second;
  }
  std::vector<int> found;

 private:
  const std::map<const llvm::Instruction*, int>& lines_;
};

/// LLVM IR without the metadata that holds the lines.
CodeListing listing_of(const llvm::Module& module) {
  llvm::ValueToValueMapTy copies;
  const auto copy = llvm::CloneModule(module, copies);
  std::map<const llvm::Instruction*, int> lines;
  for (const llvm::Function& function : *copy)
    for (const llvm::BasicBlock& block : function)
      for (const llvm::Instruction& instruction : block)
        if (const llvm::DebugLoc& at = instruction.getDebugLoc()) lines[&instruction] = static_cast<int>(at.getLine());
  llvm::StripDebugInfo(*copy);
  CodeListing listing;
  LineWriter writer(lines);
  llvm::raw_string_ostream stream(listing.text);
  copy->print(stream, &writer);
  listing.lines = std::move(writer.found);
  listing.lines.resize(static_cast<std::size_t>(std::count(listing.text.begin(), listing.text.end(), '\n')));
  return listing;
}

/// What compiled code may call: the C library's functions that Ops::libm and LLVM's loop idioms name.
template <class F>
llvm::orc::ExecutorSymbolDef address_of(F* function) {
  return {llvm::orc::ExecutorAddr::fromPtr(function), llvm::JITSymbolFlags::Exported};
}

llvm::Error define_library(llvm::orc::LLJIT& jit) {
  using F1 = float (*)(float);
  using F2 = float (*)(float, float);
  using D1 = double (*)(double);
  using D2 = double (*)(double, double);
  llvm::orc::SymbolMap symbols;
  const auto add = [&](const char* name, auto* function) { symbols[jit.mangleAndIntern(name)] = address_of(function); };
  add("sinf", static_cast<F1>(::sinf));
  add("cosf", static_cast<F1>(::cosf));
  add("powf", static_cast<F2>(::powf));
  add("sin", static_cast<D1>(::sin));
  add("cos", static_cast<D1>(::cos));
  add("pow", static_cast<D2>(::pow));
  add("exp", static_cast<D1>(::exp));
  add("exp2", static_cast<D1>(::exp2));
  add("log", static_cast<D1>(::log));
  add("log2", static_cast<D1>(::log2));
  add("tanh", static_cast<D1>(::tanh));
  add("erf", static_cast<D1>(::erf));
  add("floorf", static_cast<F1>(::floorf));
  add("floor", static_cast<D1>(::floor));
  add("rintf", static_cast<F1>(::rintf));
  add("rint", static_cast<D1>(::rint));
  add("fmaf", static_cast<float (*)(float, float, float)>(::fmaf));
  add("memset", static_cast<void* (*)(void*, int, std::size_t)>(::memset));
  add("memcpy", static_cast<void* (*)(void*, const void*, std::size_t)>(::memcpy));
  add("memmove", static_cast<void* (*)(void*, const void*, std::size_t)>(::memmove));
  return jit.getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols)));
}

llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> link(llvm::Module& module, llvm::TargetMachine& machine) {
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit) return jit.takeError();
  if (auto error = define_library(**jit)) return error;
  auto object =
      std::make_unique<llvm::SmallVectorMemoryBuffer>(emit_file(module, machine, llvm::CodeGenFileType::ObjectFile), "fathom", false);
  if (auto error = (*jit)->addObjectFile(std::move(object))) return error;
  return jit;
}

template <class F>
llvm::Expected<F> symbol_in(llvm::orc::LLJIT& jit, const std::string& name) {
  auto address = jit.lookup(name);
  if (!address) return address.takeError();
  return address->toPtr<F>();
}

}  // namespace

struct CompiledCode::Impl {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::vector<WorkFunction> kernels;
  std::int64_t arena = 0;
  CompileTimes times;
  mutable std::mutex text_mutex;
  mutable CodeListing ir, assembly;
};

CompiledCode::CompiledCode(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CompiledCode::~CompiledCode() = default;
CompiledCode::CompiledCode(CompiledCode&&) noexcept = default;
CompiledCode& CompiledCode::operator=(CompiledCode&&) noexcept = default;

WorkFunction CompiledCode::kernel(std::size_t i) const { return impl_->kernels[i]; }
std::int64_t CompiledCode::arena_bytes() const { return impl_->arena; }
const CompileTimes& CompiledCode::times() const { return impl_->times; }

const CodeListing& CompiledCode::llvm_ir() const {
  const std::lock_guard lock(impl_->text_mutex);
  if (impl_->ir.text.empty()) impl_->ir = listing_of(*impl_->module);
  return impl_->ir;
}

const CodeListing& CompiledCode::assembly() const {
  const std::lock_guard lock(impl_->text_mutex);
  if (impl_->assembly.text.empty()) {  // of a copy: code generation rewrites the module
    const auto copy = llvm::CloneModule(*impl_->module);
    const auto bytes = emit_file(*copy, *impl_->machine, llvm::CodeGenFileType::AssemblyFile);
    impl_->assembly = listing_of(std::string_view(bytes.data(), bytes.size()));
  }
  return impl_->assembly;
}

Result<CompiledCode> compile(const kernel::Module& source, const LaunchLayout& layout) {
  auto impl = std::make_unique<CompiledCode::Impl>();
  auto machine = host_machine();
  if (!machine) return refuse("LLVM does not know this machine: " + text_of(machine.takeError()));
  impl->machine = std::move(*machine);
  auto start = Clock::now();
  impl->module = std::make_unique<llvm::Module>(source.name.text(), impl->context);
  set_target(*impl->module, *impl->machine);
  llvm::IRBuilder<> builder(impl->context);
  Ops ops(builder, *impl->module, host_lanes());
  const kernel::StatementLines lines = kernel::lines_of(source);
  const std::vector<llvm::DISubprogram*> scopes = make_scopes(*impl->module, source.kernels.size());
  for (std::size_t i = 0; i < source.kernels.size(); ++i) {
    KernelEmitter emitter(ops, source, source.kernels[i], layout, lines, scopes[i]);
    impl->arena = std::max(impl->arena, emitter.emit("kernel" + std::to_string(i)));
    if (!emitter.error().empty()) return refuse(emitter.error(), {source.kernels[i].name.text()});
  }
  set_attributes(*impl->module, *impl->machine);
  std::string broken;
  llvm::raw_string_ostream stream(broken);
  if (llvm::verifyModule(*impl->module, &stream)) return refuse("The CPU back end made LLVM IR that LLVM refuses: " + broken);
  impl->times.emit_ms = milliseconds_since(start);
  start = Clock::now();
  optimise(*impl->module, *impl->machine);
  impl->times.optimise_ms = milliseconds_since(start);
  start = Clock::now();
  const auto copy = llvm::CloneModule(*impl->module);  // the optimised IR stays printable
  auto jit = link(*copy, *impl->machine);
  if (!jit) return refuse("Linking failed: " + text_of(jit.takeError()));
  impl->jit = std::move(*jit);
  for (std::size_t i = 0; i < source.kernels.size(); ++i) {
    auto function = symbol_in<WorkFunction>(*impl->jit, "kernel" + std::to_string(i));
    if (!function) return refuse("Linking failed: " + text_of(function.takeError()));
    impl->kernels.push_back(*function);
  }
  impl->times.link_ms = milliseconds_since(start);
  return CompiledCode(std::move(impl));
}

// ---- the host ----

const std::string& host_description() {
  static const std::string text = [] {
    std::string result = llvm::sys::getHostCPUName().str();
    const auto features = llvm::sys::getHostCPUFeatures();
    std::set<std::string> names;
    for (const auto& feature : features)
      if (feature.second) names.insert(feature.first().str());
    for (const std::string& name : names) result += " +" + name;
    return result;
  }();
  return text;
}

int host_lanes() {
  static const int lanes = [] {
    const auto features = llvm::sys::getHostCPUFeatures();
    const int host = features.lookup("avx512f") ? 16 : features.lookup("avx") ? 8 : 4;
    const char* narrower = std::getenv("FATHOM_CPU_LANES");  // to see what a smaller machine would get
    const int wanted = narrower == nullptr ? 0 : std::atoi(narrower);
    return wanted == 1 || wanted == 2 || wanted == 4 || wanted == 8 ? std::min(host, wanted) : host;
  }();
  return lanes;
}

// ---- probes ----

namespace {

struct Probes {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::map<std::string, ArrayFunction> functions;
  FmaProbe fma = nullptr;
};

constexpr int fma_chains = 24;
constexpr Op tested[] = {Op::exp, Op::exp2, Op::log, Op::log2,    Op::sqrt,  Op::rsqrt, Op::sin,
                         Op::cos, Op::tanh, Op::erf, Op::sigmoid, Op::floor, Op::abs};

void emit_array_function(Ops& ops, Op op, const std::string& name) {
  llvm::IRBuilder<>& b = ops.b;
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getPtrTy(), b.getInt64Ty()}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, ops.module());
  llvm::LLVMContext& context = b.getContext();
  llvm::Value* at = ops.i64(0);
  llvm::BasicBlock* before = llvm::BasicBlock::Create(context, "entry", function);
  b.SetInsertPoint(before);
  for (int lanes = ops.host_lanes();; lanes = 1) {  // whole vectors, then single elements
    auto* head = llvm::BasicBlock::Create(context, "head", function);
    auto* body = llvm::BasicBlock::Create(context, "body", function);
    auto* after = llvm::BasicBlock::Create(context, "after", function);
    b.CreateBr(head);
    b.SetInsertPoint(head);
    llvm::PHINode* i = b.CreatePHI(b.getInt64Ty(), 2);
    i->addIncoming(at, before);
    llvm::Value* next = b.CreateAdd(i, ops.i64(lanes));
    b.CreateCondBr(b.CreateICmpSLE(next, function->getArg(2)), body, after);
    b.SetInsertPoint(body);
    llvm::Type* vector = ops.type(Kind::f32, lanes);
    llvm::Value* in = b.CreateGEP(b.getFloatTy(), function->getArg(0), i);
    Val result = ops.unary(op, {b.CreateAlignedLoad(vector, in, llvm::Align(4)), Kind::f32, lanes});
    b.CreateAlignedStore(result.v, b.CreateGEP(b.getFloatTy(), function->getArg(1), i), llvm::Align(4));
    i->addIncoming(next, body);
    b.CreateBr(head);
    b.SetInsertPoint(after);
    before = after;
    at = i;
    if (lanes == 1) break;
  }
  b.CreateRetVoid();
}

void emit_fma_probe(Ops& ops) {
  llvm::IRBuilder<>& b = ops.b;
  const int lanes = ops.host_lanes();
  auto* function = llvm::Function::Create(llvm::FunctionType::get(b.getFloatTy(), {b.getInt64Ty()}, false), llvm::Function::ExternalLinkage,
                                          "fma_probe", ops.module());
  auto* entry = llvm::BasicBlock::Create(b.getContext(), "entry", function);
  auto* body = llvm::BasicBlock::Create(b.getContext(), "body", function);
  auto* after = llvm::BasicBlock::Create(b.getContext(), "after", function);
  b.SetInsertPoint(entry);
  b.CreateBr(body);
  b.SetInsertPoint(body);
  llvm::PHINode* i = b.CreatePHI(b.getInt64Ty(), 2);
  i->addIncoming(ops.i64(0), entry);
  std::vector<llvm::PHINode*> chains;
  for (int c = 0; c < fma_chains; ++c) {
    chains.push_back(b.CreatePHI(ops.type(Kind::f32, lanes), 2));
    chains.back()->addIncoming(ops.real(c, Kind::f32, lanes).v, entry);
  }
  const Val factor = ops.real(0.999, Kind::f32, lanes), summand = ops.real(0.5, Kind::f32, lanes);
  llvm::Value* sum = nullptr;
  for (llvm::PHINode* chain : chains) {
    llvm::Value* next = b.CreateIntrinsic(llvm::Intrinsic::fma, {chain->getType()}, {chain, factor.v, summand.v});
    chain->addIncoming(next, body);
  }
  llvm::Value* next = b.CreateAdd(i, ops.i64(1));
  i->addIncoming(next, body);
  b.CreateCondBr(b.CreateICmpSLT(next, function->getArg(0)), body, after);
  b.SetInsertPoint(after);
  for (llvm::PHINode* chain : chains) {
    llvm::Value* last = chain->getIncomingValueForBlock(body);
    sum = sum == nullptr ? last : b.CreateFAdd(sum, last);
  }
  b.CreateRet(lanes == 1 ? sum : b.CreateExtractElement(sum, static_cast<std::uint64_t>(0)));
}

const Probes* probes() {
  static const std::unique_ptr<Probes> made = []() -> std::unique_ptr<Probes> {
    auto result = std::make_unique<Probes>();
    auto machine = host_machine();
    if (!machine) {
      llvm::consumeError(machine.takeError());
      return nullptr;
    }
    llvm::Module module("probes", result->context);
    set_target(module, **machine);
    llvm::IRBuilder<> builder(result->context);
    Ops ops(builder, module, host_lanes());
    for (Op op : tested) emit_array_function(ops, op, "array_" + std::string(spelling(op)));
    emit_fma_probe(ops);
    set_attributes(module, **machine);
    optimise(module, **machine);
    auto jit = link(module, **machine);
    if (!jit) {
      llvm::consumeError(jit.takeError());
      return nullptr;
    }
    result->jit = std::move(*jit);
    for (Op op : tested)
      if (auto function = symbol_in<ArrayFunction>(*result->jit, "array_" + std::string(spelling(op))))
        result->functions[std::string(spelling(op))] = *function;
      else
        llvm::consumeError(function.takeError());
    if (auto function = symbol_in<FmaProbe>(*result->jit, "fma_probe"))
      result->fma = *function;
    else
      llvm::consumeError(function.takeError());
    return result;
  }();
  return made.get();
}

}  // namespace

ArrayFunction array_function(const std::string& name) {
  const Probes* made = probes();
  if (made == nullptr) return nullptr;
  const auto found = made->functions.find(name);
  return found == made->functions.end() ? nullptr : found->second;
}

std::pair<FmaProbe, double> fma_probe() {
  const Probes* made = probes();
  return {made == nullptr ? nullptr : made->fma, 2.0 * fma_chains * host_lanes()};
}

}  // namespace fathom::cpu
