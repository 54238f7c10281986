// Prints the Kernel text and the complete trace of every sample for every target that plans to the Kernel level, and a second plan with
// splits. Built by every compiler and for the web; the outputs must be the same bytes.
#include <cstdio>

#include "session/samples.hpp"
#include "session/session.hpp"

namespace {

void print_plan(const fathom::session::Sample& sample, const fathom::Target& target) {
  fathom::session::Inputs inputs;
  inputs.file_name = sample.name;
  inputs.source = sample.text;
  inputs.target = target.name.text();
  const auto compilation = fathom::session::compile(inputs);
  std::printf("==== %s on %s\n", sample.name.c_str(), target.name.text().c_str());
  if (!compilation) {
    std::printf("%s", fathom::render(compilation.error(), sample.name, sample.text).c_str());
    return;
  }
  const auto& record = (*compilation)->record;
  for (const fathom::Step& step : record.steps) std::printf("%s: %s\n", step.id.c_str(), step.says.c_str());
  std::printf("%s%s", print((*compilation)->final_ir()).c_str(), fathom::session::print(record.trace).c_str());
}

}  // namespace

int main() {
  for (const fathom::session::Sample& sample : fathom::session::samples())
    for (const fathom::Target& target : fathom::targets())
      if (target.name.text() != "x86-64") print_plan(sample, target);  // x86-64 is whatever this machine is
  return 0;
}
