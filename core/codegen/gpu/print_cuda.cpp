#include "codegen/gpu/print_cuda.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "codegen/gpu/helpers.hpp"
#include "codegen/gpu/launcher.hpp"
#include "codegen/gpu/print_expression.hpp"
#include "codegen/gpu/print_threads.hpp"
#include "ir/kernel_lines.hpp"
#include "ir/overloaded.hpp"

namespace fathom::gpu {
namespace {

class Printer {
 public:
  std::string text;
  std::vector<const kernel::Statement*> made_for;  ///< of each line
  std::set<std::string> used;
  SharedMemory shared = SharedMemory::at_launch;

  void function(const ThreadFunction& f) {
    own_functions_.insert(f.name);
    line("// " + f.comment);
    std::string parameters;
    for (const Variable& v : f.states) parameters += (parameters.empty() ? "" : ", ") + word(v.type) + "& " + v.name.text();
    for (const Variable& v : f.others) parameters += ", " + word(v.type) + " " + v.name.text();
    line("__device__ inline void " + f.name.text() + "(" + parameters + ") {");
    body(f.body);
    line("}");
    line("");
  }

  void kernel(const ThreadKernel& k) {
    find_assigned(k.setup);
    for (const ThreadRole& role : k.roles) find_assigned(role.body);
    std::string parameters;
    for (const ThreadParameter& p : k.parameters) {
      const std::string type = word(p.variable.type);
      parameters += parameters.empty() ? "" : ", ";
      parameters += p.pointer ? (p.constant ? "const " : "") + type + (p.alone ? "* __restrict__ " : "* ") : type + " ";
      parameters += p.variable.name.text();
    }
    for (const TensorMap& map : k.maps) {
      used.insert("tensor_map");
      parameters += (parameters.empty() ? "" : ", ") + std::string("const __grid_constant__ tensor_map ") + map.name.text();
    }
    const std::string bounds = std::to_string(k.threads) + (k.alone_on_processor ? ", 1" : "");  // and may have all registers
    line(fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}({}) {{", bounds, k.name.text(), parameters));
    ++depth_;
    for (const Variable& v : k.shared) line("__shared__ " + declared(v) + ";");
    std::int64_t bytes = 0;
    const std::vector<std::int64_t> offsets = dynamic_offsets(k, bytes);
    std::int64_t alignment = 128;
    for (const ThreadKernel::DynamicShared& d : k.dynamic_shared) alignment = std::max(alignment, d.alignment);
    const bool declared_here = shared == SharedMemory::declared;
    if (bytes > 0)
      line(fmt::format("{}__shared__ __align__({}) unsigned char shared_memory[{}];", declared_here ? "" : "extern ", alignment,
                       declared_here ? std::to_string(bytes) : ""));
    for (std::size_t i = 0; i < k.dynamic_shared.size(); ++i) {
      const std::string type = word(k.dynamic_shared[i].type);
      line(fmt::format("{0}* const {1} = reinterpret_cast<{0}*>(shared_memory + {2});", type, k.dynamic_shared[i].name.text(), offsets[i]));
    }
    --depth_;
    body(k.setup);
    if (k.roles.size() == 1) {
      body(k.roles[0].body);
    } else {
      roles(k);
    }
    line("}");
    line("");
  }

  /// Neighbouring warps; the last role takes what is left.
  void roles(const ThreadKernel& k) {
    ++depth_;
    used.insert("warp_number");
    used.insert("same_in_warp");
    for (std::size_t i = 0; i < k.roles.size(); ++i) {
      const ThreadRole& role = k.roles[i];
      const std::string begins = i == 0 ? "" : "} else ";
      const bool last = i + 1 == k.roles.size();
      const std::string condition = fmt::format("if (same_in_warp(warp_number()) < {}) ", role.first_warp + role.groups * role.warps);
      line(begins + (last ? "" : condition) + "{  // " + role.name.text());
      body(role.body);
    }
    line("}");
    --depth_;
  }

 private:
  void line(const std::string& s) {
    text += s.empty() ? "\n" : std::string(2 * static_cast<std::size_t>(depth_), ' ') + s + "\n";
    made_for.push_back(present_);
  }

  std::string word(Type type) {
    if (type == Type::bf16) used.insert("bf16");
    if (type == Type::f16) used.insert("f16");
    return std::string(type_word(type));
  }
  std::string declared(const Variable& v) {
    std::string s = word(v.type) + " " + v.name.text();
    for (const std::int64_t extent : v.extents) s += "[" + std::to_string(extent) + "]";
    return s;
  }
  std::string expr(Expr e) { return print_expression(e, used); }

  void find_assigned(const ThreadBlock& block) {
    for (const ThreadStatement& s : block) {
      if (const auto* a = std::get_if<gpu::Assign>(&s.op)) assigned_.insert(a->place.name());
      if (const auto* d = std::get_if<Do>(&s.op); d != nullptr && own_functions_.count(d->call.name()) > 0) {  // change their states
        for (const Expr arg : d->call.args())
          if (arg.is(Op::symbol)) assigned_.insert(arg.name());
      }
      if (const auto* l = std::get_if<Loop>(&s.op)) find_assigned(l->body);
      if (const auto* w = std::get_if<While>(&s.op)) find_assigned(w->body);
      if (const auto* b = std::get_if<Branch>(&s.op)) {
        find_assigned(b->then);
        find_assigned(b->otherwise);
      }
    }
  }

  void body(const ThreadBlock& block) {
    ++depth_;
    for (const ThreadStatement& s : block) {
      const kernel::Statement* around = present_;
      if (s.made_for != nullptr) present_ = s.made_for;
      statement(s);
      present_ = around;
    }
    --depth_;
  }

  void statement(const ThreadStatement& s) {
    std::visit(Overloaded{
                   [&](const Declare& d) {
                     const bool constant = d.initial && assigned_.count(d.variable.name) == 0;
                     const std::string initial = d.initial ? " = " + expr(d.initial) : "";
                     if (d.pointer) return line(word(d.variable.type) + "* const " + d.variable.name.text() + initial + ";");
                     line((constant ? "const " : "") + declared(d.variable) + initial + ";");
                   },
                   [&](const gpu::Assign& a) { line(assignment(a)); },
                   [&](const Loop& l) { loop(l); },
                   [&](const While& w) {
                     line("while (" + expr(w.condition) + ") {");
                     body(w.body);
                     line("}");
                   },
                   [&](const Branch& b) {
                     if (b.condition.is(Op::boolean) && b.condition.node().truth) {
                       line("{");
                     } else if (b.condition.is(Op::boolean)) {
                       return;
                     } else if (b.then.size() == 1 && b.otherwise.empty() && is_simple(b.then[0])) {
                       return line("if (" + expr(b.condition) + ") " + text_of(b.then[0]));
                     } else {
                       line("if (" + expr(b.condition) + ") {");
                     }
                     body(b.then);
                     if (!b.otherwise.empty()) {
                       line("} else {");
                       body(b.otherwise);
                     }
                     line("}");
                   },
                   [&](const Do& d) { line(expr(d.call) + ";"); },
                   [&](const Comment& c) { line("// " + c.text); },
               },
               s.op);
  }

  /// A body of one short statement stands on the loop's line.
  void loop(const Loop& l) {
    if (l.unrolled) used.insert("unrolled");
    if (l.rolled) used.insert("rolled");
    const std::string& i = l.variable.text();
    const std::string head = (l.unrolled ? "unrolled for (int "
                              : l.rolled ? "rolled for (int "
                                         : "for (int ") +
                             i + " = " + expr(l.lo) + "; " + i + " < " + expr(l.hi) + "; " + (l.doubling ? i + " *= 2" : "++" + i) + ") ";
    const ThreadStatement* only = l.body.size() == 1 ? &l.body[0] : nullptr;
    if (only == nullptr || !is_simple(*only)) {
      line(head + "{");
      body(l.body);
      return line("}");
    }
    const kernel::Statement* around = present_;
    if (only->made_for != nullptr) present_ = only->made_for;
    line(head + text_of(*only));
    present_ = around;
  }

  static bool is_simple(const ThreadStatement& s) { return std::holds_alternative<gpu::Assign>(s.op) || std::holds_alternative<Do>(s.op); }
  std::string text_of(const ThreadStatement& simple) {
    if (const auto* d = std::get_if<Do>(&simple.op)) return expr(d->call) + ";";
    return assignment(std::get<gpu::Assign>(simple.op));
  }

  /// `x = x + y` is `x += y`.
  std::string assignment(const gpu::Assign& a) {
    const Expr v = a.value;
    const char* op = v.is(Op::add) ? " += " : v.is(Op::sub) ? " -= " : v.is(Op::mul) ? " *= " : nullptr;
    if (op != nullptr && v.arg(0) == a.place) return expr(a.place) + op + expr(v.arg(1)) + ";";
    return expr(a.place) + " = " + expr(v) + ";";
  }

  int depth_ = 0;
  const kernel::Statement* present_ = nullptr;
  std::set<Symbol> assigned_, own_functions_;
};

}  // namespace

PrintedThreads print_threads(const ThreadModule& made, SharedMemory shared) {
  Printer printer;
  printer.shared = shared;
  for (const ThreadFunction& f : made.functions) printer.function(f);
  for (const ThreadKernel& k : made.kernels) printer.kernel(k);
  return {std::move(printer.text), std::move(printer.made_for), std::move(printer.used)};
}

PrintedCode whole_file(const std::string& head, const PrintedThreads& printed, const std::string& launcher, const kernel::Module& module) {
  PrintedCode code;
  code.text = head;
  code.lines.assign(static_cast<std::size_t>(std::count(code.text.begin(), code.text.end(), '\n')), 0);
  std::map<const kernel::Statement*, int> line_of;
  for (const auto& [statement, line] : kernel::lines_of(module)) line_of[statement] = line;
  for (const kernel::Statement* s : printed.made_for) code.lines.push_back(line_of.count(s) > 0 ? line_of[s] : 0);
  code.text += printed.text + launcher;
  code.lines.resize(static_cast<std::size_t>(std::count(code.text.begin(), code.text.end(), '\n')), 0);
  return code;
}

PrintedCode print_cuda(const ThreadModule& made, const kernel::Module& module) {
  const PrintedThreads printed = print_threads(made);
  std::string head = "// " + module.name.text() + ", made by Fathom. Needs no other file: nvcc or NVRTC, C++17 or later.\n\n";
  head += helper_texts(cuda_helpers(), printed.used) + helper_texts(asynchronous_helpers(), printed.used) +
          helper_texts(cooperation_helpers(), printed.used);
  for (const MatrixAtom& atom : made.products)
    if (printed.used.count(atom.name.text()) > 0) head += product_of_warpgroup(atom);
  return whole_file(head + "\n", printed, print_launcher(made, module), module);
}

}  // namespace fathom::gpu
