#!/bin/sh
# by_hand.sh ID_PROGRAM N PROGRAM ARGUMENTS...: N processes of a job, started as a user would with no launcher at
# all. Exit status: that of the first process, in the order of PEs, that failed.
set -eu
id_program=$1 npes=$2
shift 2
folder=$(mktemp -d)
# The id is served until its standard input ends.
mkfifo "$folder/hold"
"$id_program" "$npes" < "$folder/hold" > "$folder/id" &
exec 3> "$folder/hold"
while [ ! -s "$folder/id" ]; do sleep 0.05; done
WEFT_UNIQUE_ID=$(cat "$folder/id") WEFT_NPES=$npes
export WEFT_UNIQUE_ID WEFT_NPES
pids=""
pe=0
while [ "$pe" -lt "$npes" ]; do
  WEFT_PE=$pe "$@" 3>&- &
  pids="$pids $!"
  pe=$((pe + 1))
done
status=0
for pid in $pids; do
  code=0
  wait "$pid" || code=$?
  [ "$status" -ne 0 ] || status=$code
done
exec 3>&-
rm -rf "$folder"
exit "$status"
