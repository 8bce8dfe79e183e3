#!/bin/sh
# check_fetched.sh FOLDER COMPILER GENERATOR: builds and runs, in FOLDER, the project of fetched/, of whose build Weft is a
# part. The objects stay in FOLDER for the next time, without optimisation and networks, which this is not about.
set -eu
folder=$1 compiler=$2 generator=$3
here=$(cd "$(dirname "$0")" && pwd)
c_compiler=$(echo "$compiler" | sed 's/clang++/clang/; s/g++/gcc/; s/c++$/cc/')
mkdir -p "$folder"
log=$folder/log

quietly() {
  "$@" > "$log" 2>&1 || { echo "failed: $*"; cat "$log"; exit 1; }
}
# Settings that an earlier configuration has left in the cache would hide what this one adds.
quietly cmake --fresh -G "$generator" -S "$here/fetched" -B "$folder" -DWEFT_SOURCE="$here/../.." \
  -DCMAKE_C_COMPILER="$c_compiler" -DCMAKE_CXX_COMPILER="$compiler" \
  -DWEFT_CCACHE=ON -DWEFT_IB=OFF -DWEFT_OFI=OFF -DWEFT_HWLOC=OFF
quietly cmake --build "$folder" --target consumer
quietly "$folder/consumer"

rm -rf "$folder/prefix"
quietly cmake --install "$folder" --prefix "$folder/prefix"
installed=$(cd "$folder/prefix" && find . ! -type d)
[ "$installed" = ./bin/consumer ] || { echo "the project installs of Weft: $installed"; exit 1; }
echo "a project has Weft by FetchContent, and nothing that it did not ask for"
