// What clang says of a kernel in the metadata of a code object: the note that it writes into assembly and binary alike, one line a number.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

#include "codegen/gpu/print_hip.hpp"
#include "files.hpp"

namespace fathom::test {

struct CodeObject {
  std::string assembly;
  std::string words;  ///< of the compiler, where it did not take the text
  /// `.vgpr_count`, `.agpr_count` (of accumulators, where there are such), `.sgpr_count`, `.group_segment_fixed_size` (shared memory),
  /// `.private_segment_fixed_size` (what spills, and arrays that are no registers), `.vgpr_spill_count`, `.sgpr_spill_count`,
  /// `.wavefront_size`, `.max_flat_workgroup_size`; of the first kernel.
  [[nodiscard]] std::optional<std::int64_t> number(const std::string& key) const {
    const std::size_t begin = assembly.find(".amdgpu_metadata");
    const std::size_t at = begin == std::string::npos ? begin : assembly.find(key + ":", begin);
    if (at == std::string::npos) return std::nullopt;
    return std::strtoll(assembly.c_str() + at + key.size() + 1, nullptr, 10);
  }
  [[nodiscard]] std::int64_t count(const std::string& instruction) const {
    std::int64_t found = 0;
    for (std::size_t at = 0; (at = assembly.find(instruction, at)) != std::string::npos; at += instruction.size()) ++found;
    return found;
  }
};

inline bool has_clang() { return std::system("clang++-19 --version > /dev/null 2>&1") == 0; }

/// By the command that stands in the file, as assembly.
inline CodeObject code_object_of(const std::string& text, const std::string& name, const Target& target) {
  const std::string file = std::string(FATHOM_BINARY_DIR) + "/" + name + "_" + target.name.text(), log = file + ".hip.log";
  std::ofstream(file + ".hip") << text;
  std::string command = gpu::hip_command(target);
  command.replace(0, std::string("clang++").size(), "clang++-19");
  CodeObject made;
  const bool took = std::system((command + " -Wall -Werror -S -o " + file + ".s " + file + ".hip > " + log + " 2>&1").c_str()) == 0;
  if (took) {
    made.assembly = read_file(file + ".s");
  } else {
    made.words = read_file(log);
  }
  return made;
}

}  // namespace fathom::test
