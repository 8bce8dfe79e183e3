#!/bin/sh
# Builds the wheel from this tree as pip does, checks the types of the package, and runs its tests with every Python
# from 3.10 on that there is: python3, those of PATH by name, those of pyenv. The virtual environments stay in the
# user's cache.
#
#   tests/python/with_package.sh [--only-prepare] [--cuda BUILD] [--torch RELEASE]...
#
#   --only-prepare    makes the virtual environments, which takes minutes of the network's, and nothing else
#   --cuda BUILD      the wheel has operators for GPUs, sm_80 and sm_90a, of the objects in that build folder
#   --torch RELEASE   with that release of PyTorch too, in 5 GB of the cache; of a second one as much as depends on it
#
# Exit status: 0 if all is well, else 1; wrong usage 2.
set -eu
torch=""
build=""
only_prepare=false
if [ "${1:-}" = --only-prepare ]; then
  only_prepare=true
  shift
fi
while [ $# -ge 2 ]; do
  case $1 in
    --cuda) build=$2 ;;
    --torch) torch="$torch $2" ;;
    *) break ;;
  esac
  shift 2
done
[ $# -eq 0 ] || { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/weft-python
wheels=$root/build/wheels
mkdir -p "$cache"

# Shows what pip prints only if it fails.
pip_install() {
  environment=$1
  shift
  if ! "$environment/bin/python" -m pip install --quiet --disable-pip-version-check "$@" > "$cache/log" 2>&1; then
    tail -20 "$cache/log" >&2
    echo "with_package.sh: pip install $* fails" >&2
    exit 1
  fi
}

# The packages that pyproject.toml names for the build come from where pip finds them.
[ -x "$cache/build/bin/python" ] || python3 -m venv "$cache/build"
pip_install "$cache/build" --upgrade pip mypy numpy numba-cuda pytest
pip_install "$cache/build" nanobind-backend
for release in $torch; do
  [ -x "$cache/torch-$release/bin/python" ] || python3 -m venv "$cache/torch-$release"
  pip_install "$cache/torch-$release" "torch==$release" numpy pytest nanobind-backend
done
if $only_prepare; then exit 0; fi
rm -rf "$wheels"
if [ -n "$build" ]; then
  # By the compilers that CMake finds, as what is there: Python would name others, for which all is compiled anew.
  CC=cc CXX=c++
  export CC CXX
  set -- -C "build-dir=$build" -C cmake.define.WEFT_WERROR=ON -C cmake.define.WEFT_CUDA=ON -C "cmake.define.CMAKE_CUDA_ARCHITECTURES=80-real;90a-real"
fi
if ! "$cache/build/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$wheels" "$@" \
  "$root" > "$cache/log" 2>&1; then
  tail -20 "$cache/log" >&2
  exit 1
fi
ls -s "$wheels"
# It is good on a machine that has none of the build's packages.
rm -rf "$cache/unpacked" && "$cache/build/bin/python" -m zipfile -e "$wheels"/weft-*.whl "$cache/unpacked"
for file in "$cache"/unpacked/weft/*.so* "$cache"/unpacked/*.data/scripts/weft-run; do
  if readelf -d "$file" | grep NEEDED | grep -vE "libweft|libstdc|libm\.|libgcc_s|libc\.|ld-linux" >&2; then
    echo "with_package.sh: $file needs a library that the wheel does not bring" >&2
    exit 1
  fi
done
pip_install "$cache/build" --force-reinstall --no-deps "$wheels"/weft-*.whl
(cd "$cache" && "$cache/build/bin/python" -m mypy --config-file "$root/pyproject.toml" -p weft)
# Functions and classes of nanobind's are none of Python's own; the rest of what the stub says is compared.
own="is not a function|does not have .args parameter|metaclass differs|disjoint base|staticmethod but runtime is not"
if (cd "$cache" && "$cache/build/bin/python" -m mypy.stubtest --mypy-config-file "$root/pyproject.toml" --concise \
  weft._weft) | grep -vE "$own" >&2; then
  echo "with_package.sh: the stub and the extension differ" >&2
  exit 1
fi
(cd "$cache" && "$cache/build/bin/python" -m pytest -q -p no:cacheprovider "$here/test_device_code.py")

# All of it with the first Python, which is the machine's own; of others whether the wheel serves them.
tested=" "
for python in python3 python3.10 python3.11 python3.12 python3.13 "$HOME"/.pyenv/versions/3.1[0-9].*/bin/python; do
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2> /dev/null) || continue
  case $version in 3.[0-9]) continue ;; esac
  case $tested in *" $version "*) continue ;; esac
  environment=$cache/$version
  [ -x "$environment/bin/python" ] || "$python" -m venv "$environment"
  pip_install "$environment" numpy ml_dtypes pytest nanobind-backend
  pip_install "$environment" --force-reinstall --no-deps "$wheels"/weft-*.whl
  LAUNCHER=$environment/bin/weft-run
  export LAUNCHER
  test="$environment/bin/python -m pytest -q -p no:cacheprovider"
  # shellcheck disable=SC2086  # words are meant to split
  (
    cd "$cache"
    echo "== Python $version: jobs"
    $test "$here/test_jobs.py"
    sizes=2
    [ "$tested" != " " ] || sizes="1 2 3"
    for npes in $sizes; do
      echo "== Python $version: $npes PEs"
      "$LAUNCHER" -n "$npes" --timeout 100 $test "$here/test_ring.py"
      "$LAUNCHER" -n "$npes" --timeout 100 $test "$here/test_operators.py"
    done
    [ "$tested" = " " ] || exit 0
    for tutorial in 00-ring/ring 02-allgather/allgather 05-reduce-scatter/reduce_scatter \
      07-allgather-gemm/allgather_gemm 08-gemm-reduce-scatter/gemm_reduce_scatter; do
      "$LAUNCHER" -n 4 --timeout 60 "$environment/bin/python" "$root/docs/tutorials/python/$tutorial.py"
    done
  )
  tested="$tested$version "
done

test="test_torch.py test_triton.py"
for release in $torch; do
  environment=$cache/torch-$release
  pip_install "$environment" --force-reinstall --no-deps "$wheels"/weft-*.whl
  echo "== PyTorch $release"
  export OMP_NUM_THREADS=1
  (
    cd "$here"
    # shellcheck disable=SC2086  # words are meant to split
    "$environment/bin/python" -m pytest -q -p no:cacheprovider $test
    "$environment/bin/weft-run" -n 2 --timeout 200 "$environment/bin/python" -m pytest -q -p no:cacheprovider \
      test_torch_ops.py
  )
  test=test_torch.py
done
