#!/bin/sh
# The Python package under AddressSanitizer and UndefinedBehaviorSanitizer: builds the extension in a build folder that
# has them (preset asan-ubsan), and runs the tests of arrays, operators and jobs. In the virtual environment that
# with_package.sh has made.
#
#   tests/python/with_asan.sh BUILD
#
# Exit status: 0 if all is well, else 1; wrong usage 2.
set -eu
[ $# -eq 1 ] || { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
environment=${XDG_CACHE_HOME:-$HOME/.cache}/weft-python/build
python=$environment/bin/python
[ -x "$python" ] || python3 -m venv "$environment"
"$python" -m pip install --quiet --disable-pip-version-check numpy ml_dtypes pytest "nanobind>=3.1,<4" nanobind-backend
cmake -S "$here/../.." -B "$build" -DWEFT_PYTHON=ON "-DPython_EXECUTABLE=$python" > /dev/null
cmake --build "$build" --target weft_python weft-run

# The interpreter is not built with the sanitizers, and never frees all that it has.
PYTHONPATH=$build/python
LAUNCHER=$build/bin/weft-run
ASAN_OPTIONS=detect_leaks=0
UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export PYTHONPATH LAUNCHER ASAN_OPTIONS UBSAN_OPTIONS
preloaded="$(c++ -print-file-name=libasan.so) $(c++ -print-file-name=libubsan.so)"
cd "$build"
for test in test_jobs test_ring test_operators; do
  LD_PRELOAD=$preloaded "$python" -m pytest -q -p no:cacheprovider "$here/$test.py"
done
# Other users of the folder have no such Python.
cmake -S "$here/../.." -B "$build" -DWEFT_PYTHON=OFF > /dev/null
