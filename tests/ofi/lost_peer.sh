#!/bin/sh
# On node0 of two: lost_peer. Every PE that is left tells; one that was killed takes the job with it.
#   lost_peer.sh FOLDER-OF-PROGRAMS killed | link
set -u
how=$2
[ "$how" = killed ] || how=$NETNS_DEVICE
out=$(mktemp)
"$1/weft-run" -n 2 --hosts node0,node1 --rsh node-exec --timeout 100 --grace 60 -x WEFT_BIND_ADDRESS=10.78.0.1 \
  -x WEFT_OFI_TIMEOUT=5 "$1/lost_peer" "$how" > "$out" 2>&1
cat "$out"
grep -q "^PE 0 heard after" "$out" || exit 1
[ "$2" = killed ] || grep -q "^PE 1 heard after" "$out"
