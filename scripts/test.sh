#!/bin/sh
# Installs what is missing, builds and runs all tests of the CPU target, and names those that were skipped. Arguments
# go to ctest, e.g.
#   scripts/test.sh -L unit        only what is labelled unit
#   WEFT_PRESET=tsan scripts/test.sh    under a sanitizer (asan-ubsan, tsan), or cpu-debug
set -eu
cd "$(dirname "$0")/.."

preset=${WEFT_PRESET:-cpu-release}
unset WEFT_PRESET  # it is no option of the library, which would warn about it
scripts/install-deps.sh build test lint
echo "== building and running all tests (build/$preset): the first time some 30 CPU minutes, here on $(nproc) cores"
command -v qemu-system-x86_64 > /dev/null ||
  echo "   tests over soft-RoCE are skipped, since no virtual machine is installed: scripts/install-deps.sh rdma"
command -v mpirun.openmpi > /dev/null && command -v srun > /dev/null ||
  echo "   tests of launchers that are missing are skipped: scripts/install-deps.sh launchers"
cmake --preset "$preset" -DWEFT_TESTS=ON > /dev/null
cmake --build --preset "$preset"
# One more at once than there are cores: tests wait for deadlines, processes and networks a good part of their time.
# The output of a test that passed is kept whole: GoogleTest names what it skipped at the end.
results=$PWD/build/$preset/tests.xml
rm -f "$results"
status=0
ctest --preset "$preset" -j "$(($(nproc) + 1))" --output-junit "$results" --test-output-size-passed 4000000 "$@" || status=$?
[ ! -e "$results" ] || scripts/list_skipped.py "$results"
exit "$status"
