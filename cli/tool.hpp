// Other programs: found on the PATH, run without a shell in a folder of their own, for a bounded time.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/result.hpp"

namespace fathom::cli {

class KeptSignals;

/// A folder that only this user may enter; gone with the value. Signals that end the program wait until then.
class PrivateFolder {
 public:
  [[nodiscard]] static Result<PrivateFolder> make();
  PrivateFolder(PrivateFolder&& other) noexcept;
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  PrivateFolder& operator=(PrivateFolder&&) = delete;
  ~PrivateFolder();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  PrivateFolder(std::filesystem::path path, std::unique_ptr<KeptSignals> signals);
  std::unique_ptr<KeptSignals> signals_;
  std::filesystem::path path_;
};

struct ToolAnswer {
  int status = 0;      ///< as the shell counts: 128 + the signal that ended it
  std::string output;  ///< standard output
  std::string errors;  ///< standard error
};
/// Where the program is: beside `neighbour` (a path, may be empty), else on the PATH, else in $CUDA_HOME/bin.
[[nodiscard]] std::optional<std::string> find_tool(const std::string& name, const std::string& neighbour = {});
/// Runs it; what it says passes through the folder. Refused where it does not start or takes longer than that, or a signal
/// comes; then all that it started is ended.
[[nodiscard]] Result<ToolAnswer> run_tool(const std::vector<std::string>& words, const PrivateFolder&, std::chrono::seconds at_most);

}  // namespace fathom::cli
