# Which Debian packages each part needs, and how they get installed. Sourced by run, test and .ci/run.

packages_core="g++ cmake ninja-build ccache mold nlohmann-json3-dev libcli11-dev libfmt-dev libexpected-dev libtomlplusplus-dev"
packages_cpu="llvm-19-dev zlib1g-dev libzstd-dev"
packages_ui="libglfw3-dev libgl1-mesa-dev libpng-dev fonts-inter fonts-jetbrains-mono fonts-katex fonts-materialdesignicons-webfont fonts-dejavu-core python3-fonttools dpkg-dev"
packages_test="libgtest-dev python3-numpy clang-format-19 clang-19 libclang-rt-19-dev emscripten"
packages_test_ui="xvfb xdotool libgl1-mesa-dri python3-pil"
packages_test_all="libbenchmark-dev libopenblas-dev clang-tidy-19 time"

# missing_packages NAME…: those that are not installed, on one line.
missing_packages() {
  local name missing=""
  for name in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || missing="$missing $name"
  done
  echo "${missing# }"
}

# need NAME…: installs what is missing as root on Debian 12; otherwise prints the one line that does it and stops with status 2.
need() {
  if ! command -v dpkg-query >/dev/null 2>&1; then
    missing_elsewhere
    return
  fi
  local missing
  missing=$(missing_packages "$@")
  [ -z "$missing" ] && return 0
  local release
  release=$(. /etc/os-release 2>/dev/null && echo "${ID:-}-${VERSION_ID:-}")
  if [ "$(id -u)" != 0 ] || [ "$release" != debian-12 ]; then
    echo "fathom needs packages that are not installed. Run this line as root, then try again:" >&2
    case "$release" in
      debian-*) echo "  apt-get install -y --no-install-recommends $missing" >&2 ;;
      ubuntu-*) echo "  sudo apt-get install -y --no-install-recommends $missing" >&2 ;;
      *) echo "  sudo apt-get install -y $missing" >&2 ;;
    esac
    exit 2
  fi
  echo "installing $missing" >&2
  local log
  log=$(mktemp)
  if ! { apt-get -o DPkg::Lock::Timeout=600 -qq update &&
         DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 -qq install -y --no-install-recommends $missing; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "the packages could not be installed; the last lines of apt-get are above" >&2
    exit 2
  fi
  rm -f "$log"
}

# Not a Debian system: name the cure for the common others, once, if the tools are not there.
missing_elsewhere() {
  local tool
  for tool in cmake ninja c++; do
    command -v "$tool" >/dev/null 2>&1 && continue
    echo "fathom needs a C++20 compiler, CMake, Ninja and a few header libraries ($tool is missing). Install them with the line for your system, then try again:" >&2
    echo "  Debian 12, Ubuntu: sudo apt-get install -y $packages_core $packages_cpu" >&2
    echo "  Fedora:            sudo dnf install -y gcc-c++ cmake ninja-build ccache mold json-devel cli11-devel fmt-devel expected-devel tomlplusplus-devel llvm-devel" >&2
    echo "  Arch:              sudo pacman -S --needed gcc cmake ninja ccache mold nlohmann-json cli11 fmt tl-expected tomlplusplus llvm" >&2
    exit 2
  done
}
