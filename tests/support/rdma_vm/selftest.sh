#!/bin/bash
# selftest.sh: what README.md promises of `run`, in three starts of it; 0, 1, or 77 where `run` cannot work.
set -u
here=$(dirname -- "$(realpath -- "$0")")
run=$here/run
"$run" --check || exit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir kept

failed=0
expect() {  # expect WHAT GOT WANTED
  [ "$2" = "$3" ] && { echo "ok: $1"; return; }
  echo "FAILED: $1: '$2', expected '$3'" >&2
  failed=1
}
has() { grep -qs -- "$2" "$1" && echo yes || { tail -n 40 "$1" err >&2; echo no; }; }

cat > one <<'SCRIPT'
echo "to stdout"; echo "to stderr" >&2
echo "variable $GIVEN, $FROM_HERE"
echo "locked $(ulimit -l), $(cat /proc/sys/kernel/hostname), $PWD"
echo kept > kept/file; echo lost > lost
ibv_devinfo -d rxe0 | grep state
exit 7
SCRIPT
FROM_HERE="two words" "$run" -t 200 -e FROM_HERE -e GIVEN='a $b' -w kept -- bash one > out 2> err
expect "exit status" $? 7
expect "first line of stdout" "$(head -n 1 out)" "to stdout"
expect "stderr" "$(cat err)" "to stderr"
expect "variables" "$(sed -n 2p out)" 'variable a $b, two words'
expect "limit, name, folder" "$(sed -n 3p out)" "locked unlimited, node0, $work"
expect "rxe0 is ACTIVE" "$(has out PORT_ACTIVE)" yes
expect "-w keeps a file" "$(cat kept/file)" kept
expect "without -w it is lost" "$(ls lost 2> /dev/null)" ""

cat > two <<'SCRIPT'
set -u
node-exec node1 'echo "on $(cat /proc/sys/kernel/hostname)"; exit 5'; echo "status $?"
# pair NAME PROGRAM ARGUMENT...: the server on node1, the client here, over RoCE v2. Both anew if either fails: perftest's
# ends part by a last word over TCP, and one may be gone before the other has read it.
pair() {
  local name=$1 client server turn try; shift
  for turn in 1 2 3; do
    node-exec node1 "timeout 60 $*" >&2 &
    for try in 1 2 3 4 5 6 7 8 9 10; do
      timeout 60 "$@" node1 >&2; client=$?
      [ $client = 0 ] && break
      sleep 1
    done
    wait $!; server=$?
    [ $client$server = 00 ] && break
  done
  echo "client of $name: $client"
  echo "server of $name: $server"
}
pair pingpong ibv_rc_pingpong -d rxe0 -g 1 -n 100
! command -v ib_write_bw > /dev/null || pair write_bw ib_write_bw -d rxe0 -x 1 -n 20 -s 4096
SCRIPT
"$run" -n 2 -t 300 --head -- bash two > out 2> err
expect "status with two nodes" $? 0
expect "node-exec" "$(head -n 2 out | paste -sd ,)" "on node1,status 5"
for program in pingpong write_bw; do
  [ $program = pingpong ] || command -v ib_write_bw > /dev/null || continue
  expect "client of $program" "$(has out "client of $program: 0")" yes
  expect "server of $program" "$(has out "server of $program: 0")" yes
done

"$run" -t 3 -- sleep 60 > out 2> err
expect "timeout" $? 124
exit $failed
