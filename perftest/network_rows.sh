#!/bin/sh
# All rows of speed between hosts, on this machine alone: over soft-RoCE between two virtual machines beside
# perftest, over tcp between two network namespaces beside libfabric's own tool and beside Open MPI's OpenSHMEM, what
# a PE costs that is never spoken to, and, where there is a GPU, what its kernels ask of the host. Rows
# whose tools are missing here are skipped with a word.
#   perftest/network_rows.sh [BUILD-FOLDER]                   (as root, on an idle machine; some 10 minutes)
set -u
cd "$(dirname "$0")/.." || exit
build=${1:-build/cpu-release}
failed=0

rows() {
  echo "== $1"
  shift
  "$@"
  status=$?
  [ $status = 0 ] || [ $status = 77 ] || failed=1
}
needs() {
  for tool in "$@"; do
    command -v "$tool" > /dev/null || { echo "skipped: no $tool (packages perftest, libfabric-bin, openmpi-bin)"; return 1; }
  done
}

needs ib_write_lat && rows "soft-RoCE: ib beside perftest" tests/support/rdma_vm/run -t 900 -c 1 -n 2 --head -- \
  perftest/network_report.py --build "$build" --hosts node0,node1 --rsh node-exec --launcher mpirun --device rxe0 --quick
needs fi_pingpong && rows "tcp: ofi beside fi_pingpong" tests/support/netns/run \
  perftest/network_report.py --build "$build" --hosts node0,node1 --rsh node-exec --transport ofi --address 10.78.0.2 --quick
needs oshcc oshrun && rows "tcp: ofi beside Open MPI over UCX" tests/support/netns/run \
  perftest/peers/compare.py --build "$build" --hosts node0,node1 --rsh node-exec --address 10.78.0.1 --quick --timeout 120
rows "memory of a PE that is never spoken to" env WEFT_TRANSPORTS=ofi,loopback "$build/bin/memory_scale"
if [ -e /dev/nvidia0 ] && [ -e "$build/lib/weft/libweft_perf_cuda.so" ]; then
  rows "kernels' requests, over a transport that brings nothing" env WEFT_GPU_TRANSPORTS=null,loopback \
    "$build/bin/weft-run" -n 2 "$build/bin/weft-perf" gpu_ring
else
  echo "skipped: no GPU here, or no lib/weft/libweft_perf_cuda.so in $build"
fi
exit $failed
