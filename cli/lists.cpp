// Commands that list what there is: samples, targets, completion.
#include <fmt/format.h>

#include "command.hpp"
#include "commands.hpp"
#include "session/samples.hpp"
#include "text.hpp"

namespace fathom::cli {

int list_samples(const Arguments& arguments) {
  if (!arguments.positional.empty()) {
    for (const session::Sample& sample : session::samples())
      if (sample.name == arguments.positional.front()) return write_output(arguments, sample.text);
    return fail(misuse, fmt::format("fathom samples: there is no sample `{}`; fathom samples lists them.", arguments.positional.front()));
  }
  std::vector<std::vector<std::string>> rows{{"name", "title"}};
  for (const session::Sample& sample : session::samples()) rows.push_back({sample.name, sample.title});
  if (arguments.json) return write_output(arguments, json_list("samples", rows));
  rows.erase(rows.begin());
  return write_output(arguments,
                      table(rows) + "\nfathom samples NAME prints one; every command takes a sample's name where it takes a file.\n");
}

int list_targets(const Arguments& arguments) {
  std::vector<std::vector<std::string>> rows{{"target", "lanes", "on chip", "runs here", "what it is", "matrix atoms"}};
  for (const Target& target : targets()) {
    std::string atoms;
    for (const MatrixAtom& atom : target.atoms) atoms += (atoms.empty() ? "" : " ") + atom.name.text();
    rows.push_back({target.name.text(), fmt::format("{}", target.lanes), bytes_text(static_cast<double>(target.shared_bytes)),
                    target.runs_here ? "yes" : "no", target.title, atoms});
  }
  if (arguments.json) return write_output(arguments, json_list("targets", rows));
  return write_output(arguments, table(rows));
}

int completion(const Arguments& arguments) {
  std::string names;
  for (const Command& command : commands()) names += std::string(command.name) + " ";
  std::string script = R"bash(# bash completion for fathom: source <(fathom completion)
_fathom() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
  case $previous in
    --target) COMPREPLY=($(compgen -W "$(fathom targets | tail -n +2 | cut -d' ' -f1)" -- "$word")); return ;;
    --emit) COMPREPLY=($(compgen -W "math loop tile kernel code asm ptx sass" -- "$word")); return ;;
    --precision) COMPREPLY=($(compgen -W "exact matrix fast" -- "$word")); return ;;
    --as) COMPREPLY=($(compgen -W "html trace cuda" -- "$word")); return ;;
    --set) compopt -o nospace; COMPREPLY=($(compgen -S = -W "$(fathom decisions "${COMP_WORDS[2]}" 2>/dev/null | tail -n +3 | cut -d' ' -f1)" -- "$word")); return ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W "@COMMANDS@help" -- "$word"))
  elif [[ $word == -* ]]; then COMPREPLY=($(compgen -W "--dim --target --trace --against --set --precision --deterministic --unsound --json --emit --as --quick --diff --threads -o --help" -- "$word"))
  else COMPREPLY=($(compgen -f -X '!*.fathom' -- "$word") $(compgen -W "$(fathom samples | head -n -2 | cut -d' ' -f1)" -- "$word")); fi
}
complete -o filenames -F _fathom fathom
)bash";
  static constexpr std::string_view place = "@COMMANDS@";
  script.replace(script.find(place), place.size(), names);
  return write_output(arguments, script);
}

}  // namespace fathom::cli
