#!/bin/sh
# check_packages.sh BUILD COMPILER GENERATOR: has cpack make a tar and Debian packages of what BUILD has built, unpacks both
# elsewhere than where they would be installed, and builds and runs main.cpp and kernels.cpp against each, through
# find_package and through pkg-config.
set -eu
build=$1 compiler=$2 generator=$3
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail() {
  echo "$*"
  exit 1
}
quietly() {
  "$@" > log 2>&1 || { echo "failed: $*"; cat log; exit 1; }
}
# files FOLDER: what lies below it.
files() {
  (cd "$1" && find . -type f -o -type l | sort)
}

generators=TGZ
if command -v dpkg-shlibdeps > /dev/null; then generators="TGZ;DEB"; fi
quietly cpack --config "$build/CPackConfig.cmake" -G "$generators" -B "$scratch/packages"

mkdir unpacked
tar -xzf packages/weft-*.tar.gz -C unpacked
mv unpacked/weft-* tar
cmake --install "$build" --prefix "$scratch/installed" > log
files installed > installed.list
files tar | diff installed.list - || fail "the tar has not what cmake --install installs"
prefixes=$scratch/tar

if [ "$generators" = TGZ ]; then
  echo "no dpkg-shlibdeps (dpkg-dev): Debian packages are not tried"
else
  for name in weft weft-dev; do
    set -- packages/"${name}"_*.deb
    [ -f "$1" ] || fail "cpack made no Debian package $name"
    quietly dpkg-deb --extract "$1" "$scratch/root-$name"
    quietly dpkg-deb --extract "$1" "$scratch/root"
    dpkg-deb --field "$1" Depends > "$name.depends"
  done
  files root/usr | diff installed.list - || fail "the Debian packages have not what cmake --install installs"
  files root-weft/usr > weft.list
  files root-weft-dev/usr > weft-dev.list
  [ -z "$(comm -12 weft.list weft-dev.list)" ] || fail "a file is in both Debian packages"
  # weft-perf opens its modules by their plain names.
  if grep -E '/(include|cmake|pkgconfig)/|\.(so|a)$|/weft-c' weft.list | grep -v '/weft/libweft_perf_'; then fail "weft has files that only builds need"; fi
  if grep -E '\.so\.[0-9.]+$' weft-dev.list | grep -v nvshmem/; then fail "weft-dev has libraries that programs need"; fi
  grep -q 'libc6 (>=' weft.depends || fail "weft depends on: $(cat weft.depends)"
  grep -qx 'weft (= [0-9.]*)' weft-dev.depends || fail "weft-dev depends on: $(cat weft-dev.depends)"
  # The programs of weft work without weft-dev.
  quietly root-weft/usr/bin/weft-info
  prefixes="$prefixes $scratch/root/usr"
fi

mkdir project
cat > project/CMakeLists.txt <<LISTS
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(weft 0.1 REQUIRED)
add_executable(consumer $here/main.cpp)
target_link_libraries(consumer PRIVATE weft::weft)
add_executable(operators $here/kernels.cpp)
target_link_libraries(operators PRIVATE weft::kernels)
LISTS
for prefix in $prefixes; do
  rm -rf by-cmake
  quietly cmake -G "$generator" -S project -B by-cmake -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler"
  grep -q "weft_DIR:PATH=$prefix/" by-cmake/CMakeCache.txt || fail "find_package found another Weft"
  quietly cmake --build by-cmake
  quietly by-cmake/consumer
  quietly by-cmake/operators
  quietly "$prefix/bin/weft-run" -n 2 by-cmake/consumer

  pc=$(find "$prefix" -name weft.pc)
  export PKG_CONFIG_PATH="${pc%/*}"
  libdir=$(pkg-config --variable=libdir weft)
  case $(readlink -f "$libdir") in
    "$prefix"/*) ;;
    *) fail "weft.pc names $libdir" ;;
  esac
  # shellcheck disable=SC2046  # the words of pkg-config are meant to split
  quietly "$compiler" -std=c++17 "$here/main.cpp" $(pkg-config --cflags --libs weft) -pthread -Wl,-rpath,"$libdir" \
    -o by-pkg-config
  quietly ./by-pkg-config
  # shellcheck disable=SC2046
  quietly "$compiler" -std=c++17 "$here/kernels.cpp" $(pkg-config --cflags --libs weft_kernels) -pthread \
    -Wl,-rpath,"$libdir" -o operators-by-pkg-config
  quietly ./operators-by-pkg-config
done
echo "packages ($generators) serve find_package and pkg-config where they are unpacked"
