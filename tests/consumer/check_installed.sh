#!/bin/sh
# check_installed.sh BUILD COMPILER SANITIZE GENERATOR: installs BUILD into a scratch prefix, moves that, then builds
# and runs main.cpp against it only, through find_package and through pkg-config; shmem.c and operators.c through these and weft-cc; and
# nvshmem.cpp through find_package, pkg-config and as NVSHMEM_HOME.
set -eu
build=$1 compiler=$2 sanitize=$(echo "$3" | tr ';' ',') generator=$4
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/prefix
c_compiler=$(echo "$compiler" | sed 's/clang++/clang/; s/g++/gcc/; s/c++$/cc/')
flags=""
[ -n "$sanitize" ] && flags="-fsanitize=$sanitize"

cmake --install "$build" --prefix "$scratch/first" > "$scratch/install.log"
mv "$scratch/first" "$prefix"

library=$(find "$prefix" -name 'libweft.so' | head -1)
[ -z "$library" ] || "$here/../exports/check_run_paths.py" "$prefix" > "$scratch/run-paths" || {
  cat "$scratch/run-paths"
  exit 1
}
[ -z "$library" ] || readelf -d "$library" | grep -q NODELETE || {
  echo "libweft.so may be unloaded while its threads run"
  exit 1
}

mkdir "$scratch/project"
cp "$here/main.cpp" "$here/kernels.cpp" "$scratch/project"
cat > "$scratch/project/CMakeLists.txt" <<'LISTS'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(weft 0.1 REQUIRED)
foreach(standard IN ITEMS 17 20)
  add_executable(consumer${standard} main.cpp)
  set_target_properties(consumer${standard} PROPERTIES CXX_STANDARD ${standard} CXX_EXTENSIONS OFF)
  target_link_libraries(consumer${standard} PRIVATE weft::weft)
  add_executable(operators${standard} kernels.cpp)
  set_target_properties(operators${standard} PROPERTIES CXX_STANDARD ${standard} CXX_EXTENSIONS OFF)
  target_link_libraries(operators${standard} PRIVATE weft::kernels)
endforeach()
foreach(folder IN LISTS weft_RTC_INCLUDE_DIRS)
  if(NOT EXISTS ${folder})
    message(FATAL_ERROR "weft_RTC_INCLUDE_DIRS names ${folder}, which is not there")
  endif()
endforeach()
LISTS
cmake -G "$generator" -S "$scratch/project" -B "$scratch/project/build" -DCMAKE_PREFIX_PATH="$prefix" \
      -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$flags" > "$scratch/configure.log"
cmake --build "$scratch/project/build" > "$scratch/build.log" || { cat "$scratch/build.log"; exit 1; }
"$scratch/project/build/consumer17"
"$scratch/project/build/consumer20"
"$scratch/project/build/operators17"
"$scratch/project/build/operators20"

pc=$(find "$prefix" -name weft.pc)
export PKG_CONFIG_PATH="${pc%/*}"
libdir=$(pkg-config --variable=libdir weft)
# shellcheck disable=SC2046  # the words of pkg-config are meant to split
"$compiler" -std=c++20 $flags "$here/main.cpp" \
    $(pkg-config --cflags --libs weft) -pthread \
    -Wl,-rpath,"$libdir" -o "$scratch/by-pkg-config"
"$scratch/by-pkg-config"
# shellcheck disable=SC2046
"$compiler" -std=c++17 $flags "$here/kernels.cpp" \
    $(pkg-config --cflags --libs weft_kernels) -pthread \
    -Wl,-rpath,"$libdir" -o "$scratch/kernels-by-pkg-config"
"$scratch/kernels-by-pkg-config"
# shellcheck disable=SC2046
"$c_compiler" -std=c11 -Wall -Wextra -Werror $flags "$here/operators.c" \
    $(pkg-config --cflags --libs weft_kernels) \
    -Wl,-rpath,"$libdir" -o "$scratch/operators-by-pkg-config"
WEFT_GPU=off "$prefix/bin/weft-run" -n 3 "$scratch/operators-by-pkg-config"

"$prefix/bin/weft-run" -n 2 "$scratch/by-pkg-config"

# Files for other compilers: headers for NVRTC, and the bitcode library where it was built.
for folder in $(pkg-config --variable=rtc_cflags weft | sed 's/-I//g'); do
  [ -d "$folder" ] || { echo "rtc_cflags of weft.pc names $folder, which is not there"; exit 1; }
done
[ -f "$prefix/include/weft/rtc/cstdint" ] || { echo "weft/rtc/cstdint is not installed"; exit 1; }
echo '#include <weft/device/bitcode.h>' |
  "$c_compiler" -std=c99 -Wall -Wextra -Werror -I"$prefix/include" -fsyntax-only -x c -
bitcode=$(pkg-config --variable=bitcodedir weft)
for file in "$build"/lib/weft/weft_device*; do
  [ ! -e "$file" ] || cmp "$file" "$bitcode/$(basename "$file")"
done

# OpenSHMEM and operators in C, in a project that has no C++.
mkdir "$scratch/c-project"
cp "$here/shmem.c" "$here/operators.c" "$scratch/c-project"
cat > "$scratch/c-project/CMakeLists.txt" <<'LISTS'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C)
find_package(weft 0.1 REQUIRED)
add_executable(consumer shmem.c)
target_link_libraries(consumer PRIVATE weft::shmem)
add_executable(operators operators.c)
target_link_libraries(operators PRIVATE weft::kernels)
LISTS
cmake -G "$generator" -S "$scratch/c-project" -B "$scratch/c-project/build" -DCMAKE_PREFIX_PATH="$prefix" \
      -DCMAKE_C_COMPILER="$c_compiler" -DCMAKE_C_FLAGS="$flags" > "$scratch/configure.log"
cmake --build "$scratch/c-project/build" > "$scratch/build.log" || { cat "$scratch/build.log"; exit 1; }
"$prefix/bin/weft-run" -n 2 "$scratch/c-project/build/consumer"
WEFT_GPU=off "$prefix/bin/weft-run" -n 2 "$scratch/c-project/build/operators"

# The same by pkg-config, and by the compilers that know the way, which a link may lead to.
# shellcheck disable=SC2046
"$c_compiler" $flags "$here/shmem.c" $(pkg-config --cflags --libs weft_shmem) \
    -Wl,-rpath,"$libdir" -o "$scratch/shmem-by-pkg-config"
"$prefix/bin/weft-run" -n 2 "$scratch/shmem-by-pkg-config"
ln -s "$prefix/bin/weft-cc" "$scratch/linked-cc"
CC="$c_compiler" "$scratch/linked-cc" $flags -Wall -Werror "$here/shmem.c" -o "$scratch/shmem-by-weft-cc"
"$prefix/bin/weft-run" -n 3 "$scratch/shmem-by-weft-cc"
CC="$c_compiler" "$prefix/bin/weft-cc" $flags -c "$here/shmem.c" -o "$scratch/shmem.o"
CXX="$compiler" "$prefix/bin/weft-c++" $flags "$scratch/shmem.o" -o "$scratch/shmem-by-weft-c++"
"$prefix/bin/weft-run" -n 2 "$scratch/shmem-by-weft-c++"
"$prefix/bin/weft-cc" --help | grep -q "^SYNOPSIS"
for word in --show --cflags --libs; do
  case $("$prefix/bin/weft-cc" $word) in
    *"$build"* | *"$scratch/first"*) echo "weft-cc $word names where Weft was built"; exit 1 ;;
    *"$prefix"*) ;;
    *) echo "weft-cc $word does not name $prefix"; exit 1 ;;
  esac
done
CC=no-such-compiler "$prefix/bin/weft-cc" x.c 2> "$scratch/message" && exit 1
grep -q "no-such-compiler; set CC" "$scratch/message"

"$here/check_wrappers.sh" "$prefix" "$generator"
"$here/check_apart.sh" "$prefix" "$compiler"

# NVSHMEM: by Weft's targets, and by the prefix that looks as NVSHMEM's.
home=$prefix/share/weft/nvshmem
if [ -d "$home" ]; then
  mkdir "$scratch/nvshmem-project"
  cp "$here/nvshmem.cpp" "$scratch/nvshmem-project"
  cat > "$scratch/nvshmem-project/CMakeLists.txt" <<'LISTS'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(weft 0.1 REQUIRED)
add_executable(by-weft nvshmem.cpp)
target_link_libraries(by-weft PRIVATE weft::nvshmem)
find_package(NVSHMEM 3.0 REQUIRED)
add_executable(by-nvshmem nvshmem.cpp)
target_link_libraries(by-nvshmem PRIVATE nvshmem::nvshmem)
LISTS
  cmake -G "$generator" -S "$scratch/nvshmem-project" -B "$scratch/nvshmem-project/build" \
        -DCMAKE_PREFIX_PATH="$prefix" -DNVSHMEM_DIR="$home/lib/cmake/nvshmem" -DCMAKE_CXX_COMPILER="$compiler" \
        -DCMAKE_CXX_FLAGS="$flags" > "$scratch/configure.log"
  cmake --build "$scratch/nvshmem-project/build" > "$scratch/build.log" || { cat "$scratch/build.log"; exit 1; }
  "$prefix/bin/weft-run" -n 2 "$scratch/nvshmem-project/build/by-weft"
  "$prefix/bin/weft-run" -n 2 "$scratch/nvshmem-project/build/by-nvshmem"
  # shellcheck disable=SC2046
  "$compiler" $flags "$here/nvshmem.cpp" $(pkg-config --cflags --libs weft_nvshmem) -Wl,-rpath,"$libdir" \
      -o "$scratch/nvshmem-by-pkg-config"
  "$prefix/bin/weft-run" -n 2 "$scratch/nvshmem-by-pkg-config"
  "$compiler" $flags "$here/nvshmem.cpp" "-I$home/include" "-L$home/lib" -lnvshmem_host -lnvshmem_device \
      -Wl,-rpath,"$home/lib" -o "$scratch/by-home"
  "$prefix/bin/weft-run" -n 3 "$scratch/by-home"
  "$compiler" $flags "$here/nvshmem.cpp" "-I$home/include" "-L$home/lib" -lnvshmem -Wl,-rpath,"$home/lib" \
      -o "$scratch/by-one-name"
  "$prefix/bin/weft-run" -n 2 "$scratch/by-one-name"
  # As the projects that are given NVSHMEM_PREFIX look for it: by the package there, or by the library's name.
  mkdir "$scratch/prefix-project"
  cp "$here/nvshmem.cpp" "$scratch/prefix-project"
  cat > "$scratch/prefix-project/CMakeLists.txt" <<'LISTS'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(NVSHMEM REQUIRED HINTS ${NVSHMEM_PREFIX}/lib/cmake/nvshmem)
add_executable(by-package nvshmem.cpp)
target_link_libraries(by-package PRIVATE nvshmem::nvshmem)
find_library(NVSHMEM_LIBRARY nvshmem HINTS ${NVSHMEM_PREFIX}/lib REQUIRED)
add_executable(by-library nvshmem.cpp)
target_include_directories(by-library PRIVATE ${NVSHMEM_PREFIX}/include)
target_link_libraries(by-library PRIVATE ${NVSHMEM_LIBRARY})
LISTS
  cmake -G "$generator" -S "$scratch/prefix-project" -B "$scratch/prefix-project/build" -DNVSHMEM_PREFIX="$home" \
        -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$flags" > "$scratch/configure.log"
  cmake --build "$scratch/prefix-project/build" > "$scratch/build.log" || { cat "$scratch/build.log"; exit 1; }
  "$prefix/bin/weft-run" -n 2 "$scratch/prefix-project/build/by-package"
  "$prefix/bin/weft-run" -n 2 "$scratch/prefix-project/build/by-library"
fi
"$prefix/bin/weft-info" > /dev/null
if [ -f "$build/bin/weft-perf" ]; then
  "$prefix/bin/weft-perf" list > "$scratch/rows"
  grep -q '^tune_AllReduce_lat ' "$scratch/rows" || { echo "weft-perf does not find its modules"; cat "$scratch/rows"; exit 1; }
  if [ -f "$build/lib/weft/libweft_perf_cuda.so" ]; then
    grep -q '^gpu_put_bw ' "$scratch/rows" && grep -q '^Gemm_lat ' "$scratch/rows" || { echo "rows on GPUs are missing"; exit 1; }
  fi
  WEFT_GPU=off "$prefix/bin/weft-tune" --pes 2 --what Broadcast --to 1024 "$scratch/table" > /dev/null
  grep -q '^Broadcast' "$scratch/table"
fi
echo "the installed tree serves find_package, pkg-config, weft-cc and its programs"
