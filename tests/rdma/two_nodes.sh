#!/bin/sh
# On node 0 of several: programs of OpenSHMEM with two PEs on each node; then some of them again, while
# the network loses, delays and swaps packets.
#   two_nodes.sh FOLDER-OF-PROGRAMS
set -eu
programs=$1
last=$((RDMA_VM_NODES - 1))
hosts=$(seq -s , -f "node%g:2" 0 $last)
run() {
  for program in "$@"; do
    echo "== $program"
    mpirun --allow-run-as-root --mca plm_rsh_agent node-exec -H "$hosts" -np $((2 * RDMA_VM_NODES)) "$programs/$program"
  done
}
run semantics tutorial-openshmem-halo_2d
echo "== a bad network"
for node in $(seq 0 $last); do
  node-exec "node$node" "tc qdisc add dev eth0 root netem delay 200us 100us loss 0.2% reorder 2%"
done
run tutorial-openshmem-halo_2d tutorial-openshmem-transpose
