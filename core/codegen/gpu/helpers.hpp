// Helper functions that printed kernels call: a table of their texts. Only those that a kernel uses are printed with it.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "target/target.hpp"

namespace fathom::gpu {

struct Helper {
  std::string_view name;
  std::vector<std::string_view> needs;  ///< printed before it
  std::string_view text;                ///< with a comment that says what it does
};

/// CUDA C++ for compute capability 8.0 and later, without includes.
[[nodiscard]] const std::vector<Helper>& cuda_helpers();
/// HIP C++ for clang, without includes and device libraries. `lanes_of_wave` is a constant that stands before them.
[[nodiscard]] const std::vector<Helper>& hip_helpers();
/// Of kernels with roles: barriers, the copy engine, products of a warpgroup.
[[nodiscard]] const std::vector<Helper>& asynchronous_helpers();
/// Of what lanes, workgroups and kernels do together.
[[nodiscard]] const std::vector<Helper>& cooperation_helpers();
/// The function that an asynchronous atom is called by.
[[nodiscard]] std::string product_of_warpgroup(const MatrixAtom&);
/// The texts of these helpers and of what they need, in the order of the table.
[[nodiscard]] std::string helper_texts(const std::vector<Helper>&, const std::set<std::string>& used);

}  // namespace fathom::gpu
