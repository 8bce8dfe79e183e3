#!/bin/sh
# check_apart.sh PREFIX COMPILER: the two include roots of an installed tree, each without the other. Every header of Weft
# compiles alone where the compatibility headers are not there, and OpenSHMEM's where only they are.
set -eu
prefix=$1 compiler=$2
here=$(cd "$(dirname "$0")" && pwd)
c_compiler=$(echo "$compiler" | sed 's/clang++/clang/; s/g++/gcc/; s/c++$/cc/')
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/include"
cp -R "$prefix/include/weft" "$scratch/include/weft"
cp -R "$prefix/include/weft-compat" "$scratch/compat"

# Bodies of device code (dev), tables (*.def.h) and the macros' names (names_*.h) are part of the headers that include them;
# rtc is NVRTC's, and mpi.hpp needs an MPI.
cd "$scratch/include"
find weft -name '*.h*' ! -path 'weft/dev/*' ! -name '*.def.h' ! -name 'names_*.h' ! -name mpi.hpp | sort > "$scratch/headers"
grep -q '^weft/device.hpp$' "$scratch/headers"
# shellcheck disable=SC2016  # the inner shell expands them
xargs -P "$(nproc)" -n 1 sh -c 'echo "#include <$3>" | "$1" -std=c++17 -fsyntax-only -I"$2" -x c++ - ||
  { echo "<$3> does not compile without the compatibility headers" && exit 255; }' \
  each "$compiler" "$scratch/include" < "$scratch/headers"
for source in main.cpp kernels.cpp; do
  "$compiler" -std=c++17 -fsyntax-only -I"$scratch/include" "$here/$source"
done
for source in shmem.c nvshmem.cpp; do
  case $source in *.c) by=$c_compiler ;; *) by=$compiler ;; esac
  if "$by" -fsyntax-only -I"$scratch/include" "$here/$source" 2> "$scratch/said"; then
    echo "include/weft brings the names of $source" && exit 1
  fi
  grep -q 'shmem.h' "$scratch/said"
done

for header in shmem.h shmemx.h pshmem.h mpp/shmem.h mpp/shmemx.h; do
  for language in c++ c; do
    case $language in c) by=$c_compiler ;; *) by=$compiler ;; esac
    echo "#include <$header>" | "$by" -fsyntax-only -I"$scratch/compat" -x "$language" - || {
      echo "<$header> does not compile as $language by its own include root" && exit 1
    }
  done
done
"$compiler" -std=c++17 -fsyntax-only -I"$scratch/compat" -I"$scratch/include" "$here/nvshmem.cpp"
echo "$(wc -l < "$scratch/headers") headers of Weft compile without the compatibility headers"
