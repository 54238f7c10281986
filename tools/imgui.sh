#!/usr/bin/env bash
# Prints the folder with the sources of Dear ImGui, fetching them first where they are not there: Debian 12's own package has no sources
# that a browser build could compile, so the later release's source package is taken, checked by apt's signature and unpacked outside of
# the source tree. IMGUI_DIR names another copy. No setting of the system is changed.
set -euo pipefail
version=1.90.1+ds-1
if [ -n "${IMGUI_DIR:-}" ]; then
  [ -e "$IMGUI_DIR/imgui.h" ] || { echo "IMGUI_DIR=$IMGUI_DIR holds no imgui.h" >&2; exit 2; }
  echo "$IMGUI_DIR"
  exit 0
fi
cache=${XDG_CACHE_HOME:-$HOME/.cache}/fathom/imgui
sources=$cache/imgui-$version
if [ ! -e "$sources/imgui.h" ]; then
  fail() { echo "$1 Put a copy of Dear ImGui 1.90 anywhere and name its folder in IMGUI_DIR." >&2; exit 2; }
  command -v dpkg-source >/dev/null 2>&1 || fail "Dear ImGui's sources are unpacked by dpkg-source, which is missing."
  mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2>/dev/null | grep -m1 '/debian/\?$') ||
    fail "No Debian mirror is configured here, so Dear ImGui's sources cannot be fetched."
  mkdir -p "$cache"/{etc,parts,prefs,lists/partial,cache/archives/partial}
  echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >"$cache/etc/sources.list"
  cat >"$cache/apt.conf" <<CONF
Dir::Etc::sourcelist "$cache/etc/sources.list";
Dir::Etc::sourceparts "$cache/parts";
Dir::Etc::preferencesparts "$cache/prefs";
Dir::State::lists "$cache/lists";
Dir::Cache "$cache/cache";
CONF
  (
    cd "$cache"
    export APT_CONFIG=$cache/apt.conf
    apt-get -qq update && apt-get -qq source --download-only "imgui=$version" && rm -rf unpacked &&
      dpkg-source -x "imgui_$version.dsc" unpacked
  ) >"$cache/log" 2>&1 || { tail -n 5 "$cache/log" >&2; fail "Dear ImGui's sources could not be fetched."; }
  rm -rf "$sources"
  mv "$cache/unpacked" "$sources"
fi
echo "$sources"
