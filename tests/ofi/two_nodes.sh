#!/bin/sh
# On node0 of two: two PEs on each, which reach each other by ofi, chosen without a word where memory cannot be
# mapped. The suite of transports, by the network alone and with memory that is mapped on each node; weft-info,
# which must find both nodes well; OpenSHMEM's programs.
#   two_nodes.sh FOLDER-OF-PROGRAMS
set -eu
programs=$1
run() {
  echo "== $*"
  program=$1
  shift
  "$programs/weft-run" -n 4 --hosts node0:2,node1:2 --rsh node-exec --timeout 120 -x WEFT_BIND_ADDRESS=10.78.0.1 \
    -x TEST_PES=launched -x TEST_FABRIC=real "$programs/$program" "$@"
}
run conformance_transport --gtest_brief=1 '--gtest_filter=*/ofi_launched:*/ofi_mixed_launched:*/ofi_mixed_launched_all'
run weft-info | tee /dev/stderr | grep -q "PEs 2-3 *ofi"
run weft-info --doctor
for each in semantics tutorial-openshmem-halo_2d tutorial-openshmem-transpose; do run $each; done
