#!/bin/sh
# On node 0 of several, two PEs on each, by two rails: the suite of transports, by the network alone and with memory that is
# mapped on each node; weft-info, which must find both nodes well; OpenSHMEM's programs; then some of them
# again, with atomics by the NICs; the census of OpenSHMEM's routines, one PE on each node, with atomics by either; and
# programs while the network loses, delays and swaps packets.
#   two_nodes.sh FOLDER-OF-PROGRAMS
set -eu
programs=$1
last=$((RDMA_VM_NODES - 1))
atomics=owner
each_node=2
run() {
  echo "== $*"
  program=$1
  shift
  mpirun --allow-run-as-root --mca plm_rsh_agent node-exec -H "$(seq -s , -f "node%g:$each_node" 0 $last)" \
    -np $((each_node * RDMA_VM_NODES)) -x TEST_PES=launched \
    -x TEST_VERBS=real -x WEFT_IB_DEVICE=rxe0,rxe1 -x WEFT_IB_ATOMICS="$atomics" "$programs/$program" "$@"
}
run conformance_transport --gtest_brief=1 '--gtest_filter=*/ib_launched_all:*/mixed_launched_all:*/nic_launched_all'
run weft-info --doctor
for each in semantics tutorial-openshmem-halo_2d; do run $each; done
atomics=nic
for each in semantics tutorial-openshmem-histogram tutorial-openshmem-work_stealing; do run $each; done
each_node=1 # every routine with every type: minutes on more PEs than processors
atomics=owner
run census
atomics=nic
run census atomics signals # without what has no atomics
each_node=2
echo "== a bad network"
for node in $(seq 0 $last); do
  for device in eth0 eth1; do
    node-exec "node$node" "tc qdisc add dev $device root netem delay 200us 100us loss 0.2% reorder 2%"
  done
done
for each in tutorial-openshmem-halo_2d tutorial-openshmem-transpose tutorial-openshmem-histogram; do run $each; done
