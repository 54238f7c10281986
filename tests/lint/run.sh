#!/usr/bin/env bash
# Rules about the text of the project that no compiler checks. Prints each offence; status 1 if there is any.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
offences=0
offend() { echo "$1"; offences=$((offences + 1)); }

# 1. Dependencies point downwards only: FOLDER may include from the folders on its right, and from itself.
allowed() {
  case $1 in
    ir) echo "ir" ;;
    lang) echo "lang ir" ;;
    target) echo "target ir" ;;
    algebra) echo "algebra ir" ;;
    interp) echo "interp lang ir" ;;
    codegen) echo "codegen target lang ir" ;;
    passes) echo "passes algebra interp codegen target ir" ;;
    schedule) echo "schedule passes algebra interp codegen target ir" ;;
    session) echo "session schedule passes algebra interp codegen target lang ir" ;;
  esac
}
for folder in ir lang target algebra interp codegen passes schedule session; do
  [ -d "core/$folder" ] || continue
  while IFS=: read -r file line include; do
    used=$(sed -E 's/.*"([a-z_]+)\/.*/\1/' <<<"$include")
    case " $(allowed $folder) " in *" $used "*) ;; *) offend "$file:$line: core/$folder may not include from $used" ;; esac
  done < <(grep -rnE '^#include "(ir|lang|target|algebra|interp|codegen|passes|schedule|session)/' "core/$folder" --include=*.cpp --include=*.hpp)
done

# 2. What the web build lacks.
while IFS= read -r hit; do offend "$hit: not available in the web build (clang 14, libc++ 13)"; done < <(
  grep -rnE '#include <(format|ranges|expected|source_location|stop_token|coroutine|print|memory_resource|syncstream)>|std::(format|jthread|expected)\b' core ui --include=*.cpp --include=*.hpp | grep -vE '^(core/codegen|ui/platform)/')

# 3. No operator is known by name inside the compiler.
while IFS= read -r hit; do offend "$hit: an operator's name"; done < <(
  grep -rniE '"[^"]*\b(attention|layernorm|rmsnorm)\b[^"]*"' core --include=*.cpp --include=*.hpp | grep -v '^core/lang/prelude')
while IFS= read -r hit; do offend "$hit: an operator's name"; done < <(grep -rniE 'attention|softmax|layernorm|rmsnorm' ui)

# 4. Nothing unfinished that a user could reach; nothing of the workplace.
while IFS= read -r hit; do offend "$hit: unfinished"; done < <(grep -rnE '\b(TODO|FIXME|XXX)\b' core cli ui samples docs tools run test README.md CONTRIBUTING.md 2>/dev/null | grep -v 'tests/lint')
while IFS= read -r hit; do offend "$hit: a path outside the project"; done < <(grep -rnE '/work/|/tmp/w/' core cli ui samples docs tools tests cmake run test README.md CONTRIBUTING.md --include=* 2>/dev/null | grep -v 'tests/lint/run.sh')

# 5. The explorer looks like one program: colours and sizes come from its theme, controls from its widgets.
while IFS= read -r hit; do offend "$hit: a literal colour; use colour(Role)"; done < <(
  grep -rnE 'IM_COL32\(|ImColor|ImVec4\([0-9]|0x[0-9A-Fa-f]{6,8}\b' ui --include=*.cpp --include=*.hpp | grep -v '^ui/theme.cpp:')
while IFS= read -r hit; do offend "$hit: a pixel size; use gap(n) or metrics()"; done < <(
  grep -rnE 'ImGui::(Dummy|SetNextWindowSize|SetNextWindowPos|SetNextItemWidth|SetCursor[A-Za-z]*|BeginChild)\([^)]*[^A-Za-z0-9_.](([2-9]|[1-9][0-9]+)(\.[0-9]+)?F?)[,})]' ui --include=*.cpp | grep -vE '^ui/theme.cpp:|gap\(|/ ?2')
while IFS= read -r hit; do offend "$hit: a control of Dear ImGui's own; use ui/widgets"; done < <(
  grep -rnE 'ImGui::(Button|SmallButton|ArrowButton|Checkbox|RadioButton|InputText[A-Za-z]*|InputInt|InputFloat|DragInt|DragFloat|Slider[A-Za-z0-9]*|Combo|Selectable|CollapsingHeader|TreeNode[A-Za-z]*|MenuItem|ShowDemoWindow|ShowMetricsWindow)\(' ui --include=*.cpp | grep -v '^ui/widgets/')

# 6. Format.
if command -v clang-format-19 >/dev/null; then
  formats=$(mktemp)
  git ls-files 'core/*.cpp' 'core/*.hpp' 'cli/*.cpp' 'cli/*.hpp' 'ui/*.cpp' 'ui/*.hpp' 'tests/*.cpp' 'tests/*.hpp' | xargs -r clang-format-19 --dry-run --Werror 2>&1 | grep -E 'error:' | head -n 20 > "$formats"
  while IFS= read -r hit; do offend "$hit"; done < "$formats"
  rm -f "$formats"
fi
[ $offences -eq 0 ] && echo "lint: no offences"
[ $offences -eq 0 ]
