#!/bin/sh
# Installs what is missing, builds and runs all tests of the CPU target. Arguments go to ctest, e.g.
#   scripts/test.sh -L unit        only what is labelled unit
#   WEFT_PRESET=tsan scripts/test.sh    under a sanitizer (asan-ubsan, tsan), or cpu-debug
set -eu
cd "$(dirname "$0")/.."

preset=${WEFT_PRESET:-cpu-release}
unset WEFT_PRESET  # it is no option of the library, which would warn about it
scripts/install-deps.sh build test lint
cmake --preset "$preset" -DWEFT_TESTS=ON > /dev/null
cmake --build --preset "$preset"
# One more at once than there are cores: tests wait for deadlines, processes and networks a good part of their time.
ctest --preset "$preset" -j "$(($(nproc) + 1))" "$@"
