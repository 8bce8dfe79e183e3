#!/bin/sh
# Weft's operations in kernels on this machine's GPUs beside bare kernels, and beside NVSHMEM where it
# is: runs in turns, and one table with shares, ratios and targets. NCCL's start-up stands beside theirs.
#
#   perftest/gpu_report.sh [--gpus N] [--nvshmem DIR] [--nccl DIR] [--build DIR] [--turns N] [--out FILE]
#
#   --gpus N        PEs, a GPU each; by default all GPUs
#   --nvshmem DIR   its folder with include and lib, or none; by default NVSHMEM_HOME, or what
#                   python3 finds
#   --nccl DIR      the same for NCCL (NCCL_HOME)
#   --build DIR     Weft's build, made where weft-perf's set gpu is not in it; by default build/cuda-sm90
#   --turns N       of each library; by default 3
#   --out FILE      the lines that were measured, too: gpu_table.py makes the table of them again
#
# Exit status: 0 if every program ran, whatever targets were missed; else 1; wrong usage 2.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
limit=120 # seconds for one run of one program

say() { echo "gpu_report.sh: $*" >&2; }
fail() {
  say "$*"
  exit 1
}
usage() {
  say "$*"
  sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

gpus='' nvshmem=${NVSHMEM_HOME:-} nccl=${NCCL_HOME:-} build=$here/build/cuda-sm90 turns=3 out=''
while [ $# -gt 0 ]; do
  [ $# -ge 2 ] || usage "$1: unknown, or without its value"
  case $1 in
    --gpus) gpus=$2 ;;
    --nvshmem) nvshmem=$2 ;;
    --nccl) nccl=$2 ;;
    --build) build=$(cd "$2" 2> /dev/null && pwd) || usage "--build $2: no such folder" ;;
    --turns) turns=$2 ;;
    --out) out=$2 ;;
    *) usage "$1: unknown" ;;
  esac
  shift 2
done

# --- what is needed -------------------------------------------------------------------------------

PATH=$PATH:/usr/local/cuda/bin
command -v nvidia-smi > /dev/null || fail "nvidia-smi is not there: no NVIDIA GPUs on this machine?"
all=$(nvidia-smi --query-gpu=index --format=csv,noheader | wc -l)
gpus=${gpus:-$all}
case $gpus$turns in *[!0-9]*) usage "--gpus and --turns are numbers" ;; esac
if [ "$gpus" -lt 1 ] || [ "$gpus" -gt "$all" ]; then usage "--gpus $gpus: this machine has $all"; fi
[ "$turns" -ge 1 ] || usage "--turns $turns: at least one"

bin=$build/bin
module=$build/lib/weft/libweft_perf_cuda.so
if [ ! -x "$bin/weft-perf" ] || [ ! -f "$module" ] || [ ! -x "$bin/weft-run" ]; then
  [ "$build" = "$here/build/cuda-sm90" ] || fail "$build lacks bin/weft-perf, lib/weft/libweft_perf_cuda.so or bin/weft-run"
  command -v cmake > /dev/null || fail "no weft-perf with $module, and no cmake to build it: give --build"
  say "building weft-perf"
  (cd "$here" && cmake --preset cuda-sm90 -DWEFT_TESTS=OFF &&
    cmake --build --preset cuda-sm90 --target weft-perf weft_perf_cuda weft-run) >&2
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
lines=${out:-$work/lines}
: > "$lines"

# folder_of NAME HEADER GIVEN: where a peer's library is, or nothing.
folder_of() {
  folder=$3
  [ "$folder" != none ] || return 0
  [ -n "$folder" ] || folder=$(python3 -c 'import importlib.util, sys
print(*importlib.util.find_spec("nvidia." + sys.argv[1]).submodule_search_locations)' "$1" 2> /dev/null) || true
  if [ -n "$folder" ] && [ -f "$folder/include/$2" ]; then
    echo "$folder"
  elif [ -n "$3" ]; then
    usage "--$1 $3: no include/$2 in it"
  else
    say "without $1: pip install nvidia-$1-cu13, or give its folder by --$1"
  fi
}

# version_of FOLDER HEADER: as the header says it.
version_of() {
  sed -nE 's/^#define (NVSHMEM_VENDOR|NCCL)_(MAJOR|MINOR|PATCH)(_VERSION)? +//p' "$1/include/$2" | paste -s -d .
}

# compile_peer NAME VERSION FOLDER OPTIONS...: peers/NAME.cu with the library of FOLDER, beside Weft's
# programs, unless one newer than its source is there.
compile_peer() {
  source=$here/perftest/peers/$1.cu
  program=$bin/$1-$2
  folder=$3
  shift 3
  [ -n "$(find "$program" -newer "$source" 2> /dev/null)" ] && return 0
  command -v nvcc > /dev/null || fail "no nvcc to compile $source"
  say "compiling $program"
  nvcc -std=c++17 -O3 -gencode=arch=compute_90,code=sm_90 -I"$here" -I"$folder/include" "$source" \
    -o "$program" -L"$folder/lib" -L/usr/local/cuda/lib64/stubs "$@" >&2 || fail "$source does not compile"
}

nvshmem=$(folder_of nvshmem non_abi/nvshmem_version.h "$nvshmem")
if [ -n "$nvshmem" ]; then
  nvshmem_version=$(version_of "$nvshmem" non_abi/nvshmem_version.h)
  compile_peer nvshmem_gpu "$nvshmem_version" "$nvshmem" -rdc=true -l:libnvshmem_host.so.3 -lnvshmem_device -lcuda
fi
nccl=$(folder_of nccl nccl.h "$nccl")
if [ -n "$nccl" ]; then
  nccl_version=$(version_of "$nccl" nccl.h)
  compile_peer nccl_gpu "$nccl_version" "$nccl" -l:libnccl.so.2
fi

# A build may have been moved.
LD_LIBRARY_PATH=$build/lib${nvshmem:+:$nvshmem/lib}${nccl:+:$nccl/lib}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# --- runs -----------------------------------------------------------------------------------------

failed=0
# job WHAT PROGRAM ARGUMENTS...: the PEs' lines into $work/WHAT. Every launch is weft-run's.
job() {
  what=$1
  shift
  "$bin/weft-run" -n "$gpus" --pmi none --timeout "$limit" "$@" > "$work/$what" 2> "$work/$what.err" && return 0
  say "exit status $?: $*"
  tail -n 20 "$work/$what.err" >&2
  failed=1
  : > "$work/$what"
}
# weft_job WHAT ARGUMENTS...: weft-perf's lines, as all have them.
weft_job() {
  into=$1
  shift
  job csv "$bin/weft-perf" "$@" --csv
  python3 "$here/perftest/peers/gpu_table.py" --csv "$work/csv" > "$work/$into"
}
# peer_job WHAT PROGRAM ARGUMENTS...: NVLink multicast stays off, and networks out of it.
peer_job() {
  what=$1 program=$2
  shift 2
  NVSHMEM_DISABLE_NVLS=1 NVSHMEM_REMOTE_TRANSPORT=none NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=lo \
    NCCL_NVLS_ENABLE=0 NCCL_IB_DISABLE=1 NCCL_SOCKET_IFNAME=lo \
    job "$what" "$bin/$program" --meet "$(mktemp -u "$work/rendezvous.XXXXXX")" "$@"
}
rows_of() {
  case $1 in
    weft) weft_job rows gpu ;;
    nvshmem) peer_job rows "nvshmem_gpu-$nvshmem_version" ;;
  esac
  cat "$work/rows" >> "$lines"
}
# The PE that is there last counts.
start_up_of() {
  now=$(date +%s%N)
  case $1 in
    floor) weft_job start gpu_start_floor --since "$now" ;;
    weft) weft_job start gpu_start --since "$now" ;;
    nvshmem) peer_job start "nvshmem_gpu-$nvshmem_version" --start-up "$now" ;;
    nccl) peer_job start "nccl_gpu-$nccl_version" --start-up "$now" ;;
  esac
  sort -t "$(printf '\t')" -k 5,5g "$work/start" | tail -n 1
}

{
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | sort | uniq -c | sed 's/^ */# /'
  [ -z "$nvshmem" ] || echo "# NVSHMEM $nvshmem_version"
  [ -z "$nccl" ] || echo "# NCCL $nccl_version"
  echo "# $gpus PEs, processes with a GPU each; medians of $turns turns; shares and ratios: above 1 Weft is ahead"
} >> "$lines"
order="weft ${nvshmem:+nvshmem}" starts="weft ${nvshmem:+nvshmem} ${nccl:+nccl} floor"
reversed() { echo "$1" | tr ' ' '\n' | tac | tr '\n' ' '; }
for who in $starts; do start_up_of "$who" > /dev/null; done # files are read, GPUs awake
[ "$failed" -eq 0 ] || fail "what does not start is not measured (--nvshmem none, --nccl none leave them out)"
turn=1
while [ "$turn" -le "$turns" ]; do
  say "turn $turn of $turns"
  for who in $order; do rows_of "$who"; done
  for who in $starts; do start_up_of "$who" >> "$lines"; done
  order=$(reversed "$order") starts=$(reversed "$starts")
  turn=$((turn + 1))
done

python3 "$here/perftest/peers/gpu_table.py" "$lines"
exit "$failed"
