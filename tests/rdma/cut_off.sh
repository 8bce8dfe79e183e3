#!/bin/sh
# On node 0 of two: lost_peer, by a link that goes down. Its launcher is cut off as well, so only what PE 0 says
# counts.
#   cut_off.sh PROGRAM
set -u
out=$(mktemp)
timeout 120 mpirun --allow-run-as-root --mca plm_rsh_agent node-exec -H node0:1,node1:1 -np 2 "$1" eth0 > "$out" 2>&1 &
launcher=$!
until grep -q "heard after" "$out"; do
  kill -0 $launcher 2> /dev/null || break
  sleep 0.2
done
cat "$out"
grep -q "^PE 0 heard after" "$out"
