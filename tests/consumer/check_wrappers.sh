#!/bin/sh
# check_wrappers.sh PREFIX GENERATOR: weft-cc, weft-c++ and OpenSHMEM's names for them, as the compilers of configure, make and
# CMake. CC and CXX then name the wrapper itself, by several ways; a wrapper that calls itself runs into the timeout.
set -eu
prefix=$1 generator=$2
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
unset CC CXX
ln -s "$prefix/bin/weft-cc" linked-cc

quietly() {
  timeout 120 "$@" > log 2>&1 || { echo "failed: $* (CC=${CC:-})"; cat log; exit 1; }
}
runs() {
  WEFT_GPU=off quietly "$prefix/bin/weft-run" -n 2 "$@"
}

# make and configure, in folders of their own. A program between (here env, else a compiler cache) hides the wrapper.
number=0
PATH=$prefix/bin:$(find "$prefix" -name shmem-bin):$PATH
for compiler in weft-cc oshcc "$prefix/bin/weft-cc" "$scratch/linked-cc" "weft-cc -O2" "env weft-cc" weft-c++; do
  number=$((number + 1))
  mkdir "$number" && cd "$number"
  quietly "$here/configured/configure" CC="$compiler"
  quietly make CC="$compiler"
  runs ./ring
  CC=$compiler CXX=$compiler quietly weft-cc "$here/shmem.c" -o direct
  runs ./direct
  CC=$compiler CXX=$compiler quietly weft-c++ -std=c++17 "$here/main.cpp" -o direct++
  quietly ./direct++
  cd ..
done

# The programs of weft:: and of its operators, with nothing that they do not use.
quietly weft-c++ -std=c++17 "$here/kernels.cpp" -o operators
WEFT_GPU=off quietly ./operators
readelf -d operators | grep -q libweft_shmem && { echo "weft-c++ links libweft_shmem to a program without it"; exit 1; }
quietly weft-cc "$here/operators.c" -o c-operators
runs ./c-operators

# Only the wrapper is on PATH as cc, as where somebody made it the compiler: gcc or clang is behind it.
mkdir front
ln -s "$prefix/bin/weft-cc" front/cc
PATH=$scratch/front:$PATH quietly weft-cc "$here/shmem.c" -o behind
runs ./behind

# Questions are answered by the compiler, and nothing is linked.
quietly weft-cc -v
quietly weft-cc -print-search-dirs
quietly weft-c++ --version
grep -q '^weft-c++ [0-9]' log || { echo "weft-c++ --version does not say Weft's"; exit 1; }
[ "$(head -1 log)" = "$(c++ --version | head -1)" ] || { echo "weft-c++ --version does not begin with the compiler's"; exit 1; }

# CMake, where CC and CXX are the wrapper, too.
mkdir project
cat > project/CMakeLists.txt <<LISTS
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C CXX)
add_executable(ring $here/shmem.c)
add_executable(notify $here/main.cpp)
target_compile_features(notify PRIVATE cxx_std_17)
LISTS
for names in "weft-cc weft-c++" "oshcc oshc++"; do
  CC=${names% *} CXX=${names#* } quietly cmake -G "$generator" -S project -B "build-${names% *}" \
    -DCMAKE_C_COMPILER="${names% *}" -DCMAKE_CXX_COMPILER="${names#* }"
  CC=${names% *} CXX=${names#* } quietly cmake --build "build-${names% *}"
  runs "build-${names% *}/ring"
  quietly "build-${names% *}/notify"
done
quietly oshrun -n 2 build-oshcc/ring
