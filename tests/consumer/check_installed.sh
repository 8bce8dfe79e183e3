#!/bin/sh
# check_installed.sh BUILD COMPILER SANITIZE GENERATOR: installs BUILD into a scratch prefix, then builds and runs
# main.cpp against that prefix only, through find_package and through pkg-config.
set -eu
build=$1 compiler=$2 sanitize=$(echo "$3" | tr ';' ',') generator=$4
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/prefix
flags=""
[ -n "$sanitize" ] && flags="-fsanitize=$sanitize"

cmake --install "$build" --prefix "$prefix" > "$scratch/install.log"

library=$(find "$prefix" -name 'libweft.so' | head -1)
[ -z "$library" ] || readelf -d "$library" | grep -q NODELETE || {
  echo "libweft.so may be unloaded while its threads run"
  exit 1
}

mkdir "$scratch/project"
cp "$here/main.cpp" "$scratch/project"
cat > "$scratch/project/CMakeLists.txt" <<'LISTS'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(weft 0.1 REQUIRED)
foreach(standard IN ITEMS 17 20)
  add_executable(consumer${standard} main.cpp)
  set_target_properties(consumer${standard} PROPERTIES CXX_STANDARD ${standard} CXX_EXTENSIONS OFF)
  target_link_libraries(consumer${standard} PRIVATE weft::weft)
endforeach()
LISTS
cmake -G "$generator" -S "$scratch/project" -B "$scratch/project/build" -DCMAKE_PREFIX_PATH="$prefix" \
      -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$flags" > "$scratch/configure.log"
cmake --build "$scratch/project/build" > "$scratch/build.log" || { cat "$scratch/build.log"; exit 1; }
"$scratch/project/build/consumer17"
"$scratch/project/build/consumer20"

pc=$(find "$prefix" -name weft.pc)
export PKG_CONFIG_PATH="${pc%/*}"
libdir=$(pkg-config --variable=libdir --define-variable=prefix="$prefix" weft)
# shellcheck disable=SC2046  # the words of pkg-config are meant to split
"$compiler" -std=c++20 $flags "$here/main.cpp" \
    $(pkg-config --define-variable=prefix="$prefix" --cflags --libs weft) -pthread \
    -Wl,-rpath,"$libdir" -o "$scratch/by-pkg-config"
"$scratch/by-pkg-config"

"$prefix/bin/weft-run" -n 2 "$scratch/by-pkg-config"
"$prefix/bin/weft-info" > /dev/null
if [ -f "$build/bin/weft-perf" ]; then
  "$prefix/bin/weft-perf" list > /dev/null
fi
echo "the installed tree serves find_package, pkg-config and its programs"
