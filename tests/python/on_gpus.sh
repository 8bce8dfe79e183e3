#!/bin/sh
# The tests of the Python package that want a GPU, and the tutorials, with the package that python3 imports: on one
# PE, and on two, four, ... up to NPES, which may share GPUs.
#
#   tests/python/on_gpus.sh [NPES]
#
# Exit status: 0 if all is well, else 1; wrong usage 2.
set -eu
[ $# -le 1 ] || { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
most=${1:-2}
here=$(cd "$(dirname "$0")" && pwd)
tutorials=$here/../../docs/tutorials/python
failed=0
run() {
  echo "== $npes PEs: $*"
  weft-run -n "$npes" --timeout 300 python3 "$@" || failed=1
}
npes=1
while [ "$npes" -le "$most" ]; do
  run -m pytest -q -p no:cacheprovider "$here/test_gpu.py"
  run -m pytest -q -p no:cacheprovider "$here/test_torch_ops.py"
  run -m pytest -q -p no:cacheprovider "$here/test_triton_gpu.py"
  run "$tutorials/01-notify-and-wait/notify_and_wait.py"
  run "$tutorials/04-all-to-all/all_to_all.py"
  run "$tutorials/09-numba/numba_ring.py"
  run "$tutorials/10-cupy/cupy_ring.py"
  for tutorial in 02-allgather/allgather 05-reduce-scatter/reduce_scatter 07-allgather-gemm/allgather_gemm \
    08-gemm-reduce-scatter/gemm_reduce_scatter; do
    run "$tutorials/$tutorial.py" --gpu
  done
  npes=$((npes * 2))
done
exit $failed
