#!/bin/sh
# On node 0 of two: a job by two rails, of which the first is set down on node 1 in the middle. Each PE says once
# by what it goes on.
#   lost_rail.sh PROGRAM
set -u
out=$(mktemp)
timeout 200 mpirun --allow-run-as-root --mca plm_rsh_agent node-exec --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 \
  -H node0:1,node1:1 -np 2 -x WEFT_IB_DEVICE=rxe1,rxe0 "$1" eth1 > "$out" 2>&1
status=$?
cat "$out"
[ $status = 0 ] && [ "$(grep -c "has all of" "$out")" = 2 ] && ! grep -q "is wrong" "$out" &&
  [ "$(grep -c "goes on by rxe0 port 1" "$out")" = 2 ]
