// open: the explorer, a program beside this one.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "command.hpp"

namespace fathom::cli {

int open_explorer(const Arguments& arguments) {
  std::error_code unknown;
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path();
  const std::filesystem::path explorer = here / "fathom-explorer";
  if (unknown || access(explorer.c_str(), X_OK) != 0)
    return fail(misuse, fmt::format("fathom: the explorer is not built here ({}). `./run open` in Fathom's folder builds it and opens it.",
                                    explorer.string()));
  std::vector<std::string> words{explorer.string()};
  words.insert(words.end(), arguments.positional.begin(), arguments.positional.end());
  if (!arguments.target.empty()) words.insert(words.end(), {"--target", arguments.target});
  if (!arguments.lesson.empty()) words.insert(words.end(), {"--lesson", arguments.lesson});
  std::vector<char*> given;
  for (std::string& word : words) given.push_back(word.data());
  given.push_back(nullptr);
  execv(explorer.c_str(), given.data());
  return fail(misuse, fmt::format("fathom: {} could not be started.", explorer.string()));
}

}  // namespace fathom::cli
