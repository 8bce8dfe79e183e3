#!/bin/sh
# On node 0 of two whose network loses, delays and swaps packets: programs, by programs.sh.
#   bad_network.sh FOLDER-OF-PROGRAMS PROGRAM...
set -eu
network="tc qdisc add dev eth0 root netem delay 200us 100us loss 0.2% reorder 2%"
$network
node-exec node1 "$network"
exec "$(dirname "$0")/programs.sh" "$@"
