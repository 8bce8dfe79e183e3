#!/bin/sh
# Compiles every function of the bitcode libraries with releases of Triton (check_triton.py), each in a virtual
# environment that stays in the user's cache.
#
#   tests/bitcode/with_triton.sh BUILD RELEASE...    a release is a version of PyPI, or "newest"
#
# Exit status: 0 if all compile; 1 if one does not, or cannot be installed; wrong usage 2.
set -eu
[ $# -ge 2 ] || { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
libraries=$1/lib/weft
shift
cache=${XDG_CACHE_HOME:-$HOME/.cache}/weft-triton
mkdir -p "$cache"
# Triton 3.2 to 3.4 look for AMD's linker elsewhere.
TRITON_HIP_LLD_PATH=$(command -v ld.lld-19 || command -v ld.lld || echo none)
export TRITON_HIP_LLD_PATH

failed=0
for release in "$@"; do
  environment=$cache/$release
  wanted=triton==$release
  [ "$release" != newest ] || wanted=triton
  [ -x "$environment/bin/python" ] || python3 -m venv "$environment"
  if ! "$environment/bin/pip" install --quiet --upgrade --disable-pip-version-check "$wanted" setuptools > "$cache/log" 2>&1; then
    tail -5 "$cache/log" >&2
    echo "with_triton.sh: $wanted cannot be installed" >&2
    failed=1
    continue
  fi
  set -- "$libraries/weft_device.bc" "$libraries/weft_device_gfx942.bc"
  case $release in 3.[23].*) ;; *) set -- "$@" "$libraries/weft_device_ptx86.bc" ;; esac  # older ones write PTX 8.4
  "$environment/bin/python" "$here/check_triton.py" --compiler clang-19 "$@" || failed=1
done
exit $failed
