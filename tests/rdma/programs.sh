#!/bin/sh
# On node 0 of several: programs of OpenSHMEM whose PEs are shared out among all nodes, by mpirun.
#   programs.sh FOLDER-OF-PROGRAMS PROGRAM...
set -eu
programs=$1
shift
hosts=""
node=0
while [ "$node" -lt "$RDMA_VM_NODES" ]; do
  hosts="$hosts${hosts:+,}node$node:2"
  node=$((node + 1))
done
for program in "$@"; do
  echo "== $program"
  mpirun --allow-run-as-root --mca plm_rsh_agent node-exec -H "$hosts" -np $((2 * RDMA_VM_NODES)) "$programs/$program"
done
