#!/bin/sh
# check_unbuilt.sh BUILD COMPILER: weft-cc of a build folder says which library is not built yet, and how to build it. It compiles
# without one, and links where all are there. The folder is a copy of BUILD/bin with no libraries beside it.
set -eu
build=$1
CC=$2
export CC
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin" "$scratch/lib"
cp "$build/bin/weft-cc" "$scratch/bin"
cd "$scratch"
echo 'int main(void) { return 0; }' > program.c

# refused LIBRARY: linking stops at the library, before the compiler is called.
refused() {
  if bin/weft-cc program.c -o program 2> message; then
    echo "weft-cc linked without $1"
    exit 1
  fi
  grep -q "there is no $1 in $scratch/lib; make it by: cmake --build $scratch --target weft_shmem weft_kernels" message ||
    { cat message; exit 1; }
}
bin/weft-cc -c program.c -o program.o
bin/weft-cc --show program.c > /dev/null
refused libweft
touch lib/libweft.so lib/libweft_kernels.a
refused libweft_shmem
rm lib/*
for library in weft weft_kernels weft_shmem; do
  $CC -shared -o "lib/lib$library.so" -x c /dev/null
done
bin/weft-cc program.c -o program
./program
echo "weft-cc names the library that is not built"
