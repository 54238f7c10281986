#include "nvcc.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "tool.hpp"

namespace fathom::cli {
namespace {

constexpr std::chrono::seconds longest_build{300}, longest_listing{60};

struct Toolkit {
  std::string nvcc;
  std::optional<std::string> cuobjdump, nvdisasm;
  [[nodiscard]] bool disassembles() const { return cuobjdump || nvdisasm; }
};

Result<Toolkit> find_toolkit(const Target& target) {
  const auto nvcc = find_tool("nvcc");
  if (!nvcc)
    return refuse(fmt::format("The assembly of {} is made by NVIDIA's compiler, and there is no nvcc on the PATH.", target.name.text()),
                  {"missing"},
                  "Install the CUDA toolkit (nvcc 12.0 or later) and put its folder bin on the PATH, or set CUDA_HOME; --emit code works "
                  "without it.");
  return Toolkit{*nvcc, find_tool("cuobjdump", *nvcc), find_tool("nvdisasm", *nvcc)};
}

/// The last lines: what is wrong stands there, and a template's errors are long.
std::string end_of(const std::string& text) {
  constexpr std::size_t most = 2000;
  if (text.size() <= most) return text;
  const auto line = text.find('\n', text.size() - most);
  return "…\n" + text.substr(line == std::string::npos ? text.size() - most : line + 1);
}

/// One run of nvcc on the source in the folder; what it said on standard error.
Result<std::string> build(const Toolkit& tools, const PrivateFolder& folder, const Target& target, const std::vector<std::string>& how,
                          const std::string& code, const std::string& into) {
  std::string number = target.name.text();  // "sm_90a": with what only this generation has
  number.erase(0, number.find('_'));
  std::vector<std::string> words{tools.nvcc, "-std=c++17", fmt::format("-gencode=arch=compute{},code={}{}", number, code, number)};
  words.insert(words.end(), how.begin(), how.end());
  words.insert(words.end(), {"-o", folder.path() / into, folder.path() / "kernel.cu"});
  auto answer = run_tool(words, folder, longest_build);
  if (!answer) return tl::unexpected(answer.error());
  if (answer->status != 0)
    return refuse(fmt::format("nvcc ends with status {}:\n{}", answer->status, end_of(answer->errors + answer->output)), {},
                  "Please report it with the command and the file.");
  return std::move(answer->errors) + answer->output;
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

Result<std::string> disassemble(const Toolkit& tools, const PrivateFolder& folder) {
  const std::string cubin = folder.path() / "kernel.cubin";
  const std::vector<std::string> words =
      tools.cuobjdump ? std::vector<std::string>{*tools.cuobjdump, "-sass", cubin} : std::vector<std::string>{*tools.nvdisasm, "-c", cubin};
  auto answer = run_tool(words, folder, longest_listing);
  if (!answer) return tl::unexpected(answer.error());
  if (answer->status != 0) return refuse(fmt::format("{} ends with status {}:\n{}", words[0], answer->status, end_of(answer->errors)));
  return std::move(answer->output);
}

/// "nvcc 13.0", from its "Cuda compilation tools, release 13.0, V13.0.88".
std::string maker_of(const Toolkit& tools, const PrivateFolder& folder) {
  const auto answer = run_tool({tools.nvcc, "--version"}, folder, longest_listing);
  constexpr std::string_view before = "release ";
  const auto at = answer ? answer->output.find(before) : std::string::npos;
  if (at == std::string::npos) return "nvcc";
  const auto begin = at + before.size();
  return "nvcc " + answer->output.substr(begin, answer->output.find_first_of(", \n", begin) - begin);
}

}  // namespace

Result<GpuAssembly> assemble(const session::DeviceCode& code, const Target& target, AssemblyForm form, bool with_report) {
  auto tools = find_toolkit(target);
  if (!tools) return tl::unexpected(tools.error());
  if (form == AssemblyForm::sass && !tools->disassembles())
    return refuse("SASS is listed by cuobjdump or nvdisasm, and neither is beside nvcc or on the PATH.", {"missing"},
                  "Both come with the CUDA toolkit (packages cuda-cuobjdump and cuda-nvdisasm); --emit ptx works without them.");
  const bool is_sass = form == AssemblyForm::sass || (form == AssemblyForm::nearest && tools->disassembles());
  auto folder = PrivateFolder::make();
  if (!folder) return tl::unexpected(folder.error());
  std::ofstream(folder->path() / "kernel.cu", std::ios::binary) << code.text;
  GpuAssembly made;
  made.form = is_sass ? "sass" : "ptx";
  made.maker = maker_of(*tools, *folder);
  if (is_sass || with_report) {
    const auto said = build(*tools, *folder, target, {"-cubin", "-Xptxas", "-v"}, "sm", "kernel.cubin");
    if (!said) return tl::unexpected(said.error());
    auto report = session::read_ptxas_report(*said);
    if (!report) return tl::unexpected(report.error());
    made.report = *std::move(report);
  }
  if (is_sass) {
    auto listed = disassemble(*tools, *folder);
    if (!listed) return tl::unexpected(listed.error());
    made.text = *std::move(listed);
    return made;
  }
  if (const auto said = build(*tools, *folder, target, {"-ptx"}, "compute", "kernel.ptx"); !said) return tl::unexpected(said.error());
  made.text = read_text(folder->path() / "kernel.ptx");
  if (made.text.empty()) return refuse("nvcc made no PTX, and does not say why.");
  return made;
}

}  // namespace fathom::cli
