// dlopen with a plain answer when it fails.
#include "codegen/cpu/loader.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

namespace fathom::cpu {
namespace {

constexpr const char* file_name = "libfathom_cpu.so";

std::string folder_of_executable() {
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  const std::string text(path.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::size_t slash = text.rfind('/');
  return slash == std::string::npos ? "." : text.substr(0, slash);
}

std::vector<std::string> candidates() {
  if (const char* chosen = std::getenv("FATHOM_CPU_PLUGIN"); chosen != nullptr && *chosen != '\0') return {chosen};
  const std::string here = folder_of_executable();
  return {here + "/" + file_name, here + "/../lib/" + file_name, here + "/../" + file_name};
}

tl::unexpected<Refusal> cannot_be_loaded(const std::string& path, const char* why) {
  const std::string reason = why == nullptr ? "unknown error" : why;
  const bool llvm = reason.find("libLLVM") != std::string::npos;
  return refuse("The CPU back end " + path + " cannot be loaded: " + reason + ".", {},
                llvm ? "Install LLVM 19's library: apt-get install libllvm19." : "Build it again on this machine: ninja fathom_cpu.");
}

}  // namespace

Result<const fathom_cpu_api*> open_plugin() {
  std::string tried;
  for (const std::string& path : candidates()) {
    if (access(path.c_str(), F_OK) != 0) {
      tried += (tried.empty() ? "" : ", ") + path;
      continue;
    }
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return cannot_be_loaded(path, dlerror());
    auto* entry = reinterpret_cast<const fathom_cpu_api* (*)()>(dlsym(library, "fathom_cpu_plugin"));
    if (entry == nullptr) return refuse(path + " is not a CPU back end of Fathom: it has no fathom_cpu_plugin.");
    const fathom_cpu_api* api = entry();
    if (api == nullptr || api->abi != FATHOM_CPU_ABI)
      return refuse("The CPU back end " + path + " belongs to another version of Fathom.", {},
                    "Build both together: ninja fathom fathom_cpu.");
    return api;
  }
  return refuse("The CPU back end (" + std::string(file_name) + ") was not found; looked at " + tried + ".", {},
                "Build it (apt-get install llvm-19-dev, then ninja fathom_cpu), or name the file in FATHOM_CPU_PLUGIN.");
}

Result<const fathom_cpu_api*> load_plugin() {
  static const Result<const fathom_cpu_api*> loaded = open_plugin();
  return loaded;
}

}  // namespace fathom::cpu
