#!/bin/sh
# On node0 of two: two PEs on each, which reach each other by ofi, chosen without a word where memory cannot be
# mapped. The suite of transports, by the network alone and with memory that is mapped on each node; weft-info,
# which must find both nodes well; OpenSHMEM's programs; and NVSHMEM's on memory of GPUs, two of a fake driver on each.
#   two_nodes.sh FOLDER-OF-PROGRAMS
set -eu
programs=$1
cuda=
run() {
  echo "== $*"
  program=$1
  shift
  "$programs/weft-run" -n 4 --hosts node0:2,node1:2 --rsh node-exec --timeout 120 -x WEFT_BIND_ADDRESS=10.78.0.1 \
    -x TEST_PES=launched -x TEST_FABRIC=real -x "WEFT_CUDA_LIBRARY=$cuda" "$programs/$program" "$@"
}
run conformance_transport --gtest_brief=1 '--gtest_filter=*/ofi_launched:*/ofi_launched_all:*/ofi_mixed_launched:*/ofi_mixed_launched_all:*/ofi_gpus_launched'
run weft-info | tee /dev/stderr | grep -q "PEs 2-3 *ofi"
run weft-info --doctor
for each in census semantics threads; do run $each; done
for each in halo_2d histogram ring transpose work_stealing; do run tutorial-openshmem-$each; done
cuda=$programs/../lib/libfakecuda.so
for each in nvshmem_host_calls nvshmem_host_on_stream; do run $each; done
