#!/bin/sh
# The operators of weft::kernels beside their baselines on this machine's GPUs, in one run: collectives beside NCCL
# (weft-perf collectives), the matrix product beside cuBLASLt (weft-perf gemm), fused operators beside both, one after
# the other (weft-perf fused), and where python3 has PyTorch its operators on symmetric memory, and
# FlashInfer's AllReduce with a norm where that is installed. What they print goes to FOLDER, and a report of it:
# report.md, report.csv and report.svg.
#
#   perftest/kernels_report.sh [--gpus N] [--vs LIST] [--nccl FILE] [--build DIR] [--rounds N] [--link GB/s]
#       [--rate TFLOP/s] FOLDER
#
#   --gpus N     PEs, a GPU each; by default all GPUs. With one the product runs alone: nothing travels
#   --vs LIST    baselines: nccl,cublas,torch, which is all of them and the default, or some, or none
#   --nccl FILE  its library; by default python3's, or libnccl.so.2, as the system finds it
#   --build DIR  Weft's build with WEFT_CUDA=ON; by default build/cuda-sm90
#   --rounds N   turns that products and fused operators and their baselines take, 5
#   --link, --rate   ceilings of a GPU: what its links take, and its multiply-adds of bfloat16; by default
#                those of an H100 or H200 (kernels_report.py)
#
# Exit status: 0 if every program ran, whatever targets were missed; 1 if one did not (the report has the others'
# rows, and says why), or the machine lacks what all need; wrong usage 2.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)

say() { echo "kernels_report.sh: $*" >&2; }
fail() {
  say "$*"
  exit 1
}
usage() {
  say "$*"
  sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

gpus='' vs=nccl,cublas,torch nccl='' build=$here/build/cuda-sm90 rounds=5 ceilings='' folder=''
while [ $# -gt 0 ]; do
  case $1 in --*) [ $# -ge 2 ] || usage "$1: without its value" ;; esac
  case $1 in
    --gpus) gpus=$2 ;;
    --vs) vs=$2 ;;
    --nccl) nccl=$2 ;;
    --build) build=$(cd "$2" 2> /dev/null && pwd) || usage "--build $2: no such folder" ;;
    --rounds) rounds=$2 ;;
    --link | --rate) ceilings="$ceilings $1 $2" ;;
    --*) usage "$1: unknown" ;;
    *)
      [ -z "$folder" ] || usage "$1: the folder is $folder already"
      folder=$1
      shift
      continue
      ;;
  esac
  shift 2
done
[ -n "$folder" ] || usage "no folder for the report"

# --- what is needed -------------------------------------------------------------------------------

mkdir -p "$folder" || fail "the report's folder cannot be made: give another"
folder=$(cd "$folder" && pwd)
bin=$build/bin
module=$build/lib/weft/libweft_perf_kernels.so
for file in "$bin/weft-run" "$bin/weft-perf" "$module"; do
  [ -e "$file" ] || fail "no $file: build it with WEFT_CUDA=ON, or give --build"
done

# found MODULE: where python3 has NVIDIA's libraries of that name, or nothing.
found() {
  python3 -c 'import importlib.util, sys
print(next(iter(importlib.util.find_spec("nvidia." + sys.argv[1]).submodule_search_locations)) + "/lib")' "$1" \
    2> /dev/null || true
}

# A build may have been moved. NVLink's multicast stays off in both.
PATH=$PATH:/usr/local/cuda/bin
cublas=$(found cublas) # NVIDIA's packages of CUDA 12 have a folder for each library, those of 13 one for all
cublas=${cublas:-$(found cu13)}
# For Weft's programs alone: PyTorch brings its own.
libraries=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}${cublas:+:$cublas}:/usr/local/cuda/lib64
NCCL_NVLS_ENABLE=0 CUDA_MODULE_LOADING=EAGER
export PATH NCCL_NVLS_ENABLE CUDA_MODULE_LOADING
missing=$(LD_LIBRARY_PATH=$libraries ldd "$module" 2> /dev/null | sed -n 's/^[[:space:]]*\([^ ]*\) => not found.*/\1/p' | tr '\n' ' ')
[ -z "$missing" ] || fail "weft-perf lacks ${missing% }: install what has it, or copy it to $build/lib"

command -v nvidia-smi > /dev/null || fail "nvidia-smi is not there: no NVIDIA GPUs on this machine?"
gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader) ||
  fail "nvidia-smi fails, is the driver loaded? It says: $gpu"
[ -n "$gpu" ] || fail "nvidia-smi names no GPU"
all=$(echo "$gpu" | wc -l)
gpu=$(echo "$gpu" | head -n 1 | sed 's/, /, driver /')
gpus=${gpus:-$all}
case $gpus in *[!0-9]*) usage "--gpus is a number" ;; esac
if [ "$gpus" -lt 1 ] || [ "$gpus" -gt "$all" ]; then usage "--gpus $gpus: this machine has $all"; fi

case $nccl in
  '')
    nccl=$(found nccl)/libnccl.so.2
    [ -f "$nccl" ] || nccl=libnccl.so.2
    ;;
  *) [ -f "$nccl" ] || usage "--nccl $nccl: no such file" ;;
esac

# compares BASELINE: whether it is one of those asked for.
compares() { case ,$vs, in *",$1,"*) ;; *) return 1 ;; esac }
against='' # the same for Weft's programs
for baseline in $(echo "$vs" | tr , ' '); do
  case $baseline in
    nccl | cublas) against=${against:+$against,}$baseline ;;
    torch | none) ;;
    *) usage "--vs $vs: $baseline is none of nccl, cublas, torch" ;;
  esac
done
against=${against:-none}

# --- what is measured -----------------------------------------------------------------------------

failed=0
# run NAME PES SHOWN COMMAND...: what it prints, behind what was run, into FOLDER/NAME.txt.
run() {
  name=$1 pes=$2 shown=$3
  text=$folder/$name.txt errors=$folder/$name.err status=0
  say "$name"
  shift 3
  {
    echo "# date: $(date -u '+%Y-%m-%d %H:%M')"
    echo "# gpu: $gpu"
    echo "# pes: $pes"
    echo "# command: $shown"
  } > "$text"
  "$@" >> "$text" 2> "$errors" || status=$?
  without=$(grep -m 1 '^without NCCL: ' "$errors") || without=''
  if [ -n "$without" ]; then
    echo "# baseline: $without" >> "$text"
    say "$without"
    say "its columns stay empty: install NCCL (pip install nvidia-nccl-cu12), or give --nccl FILE"
  fi
  [ "$status" -ne 0 ] || return 0
  say "exit status $status of $shown:"
  tail -n 20 "$errors" >&2
  echo "# failed: exit status $status: $(grep -v '^$' "$errors" | tail -n 1)" >> "$text"
  failed=1
}
# launch NAME PES ARGUMENTS...: weft-perf, as a job.
launch() {
  job=$1 size=$2
  shift 2
  run "$job" "$size" "weft-run -n $size weft-perf $* --csv" \
    env "LD_LIBRARY_PATH=$libraries" "$bin/weft-run" -n "$size" --timeout 300 "$bin/weft-perf" "$@" --csv
}

set -- "$folder/gemm.txt"
if [ "$gpus" -gt 1 ]; then
  launch kernels "$gpus" collectives --vs "$against" --nccl "$nccl"
  set -- "$folder/kernels.txt" "$@"
else
  say "one GPU: the product alone; collectives and fused operators need two"
fi
launch gemm 1 gemm --vs "$against" --rounds "$rounds"
if [ "$gpus" -gt 1 ]; then
  launch fused "$gpus" fused --vs "$against" --nccl "$nccl" --rounds "$rounds"
  set -- "$@" "$folder/fused.txt"
fi
if [ "$gpus" -gt 1 ] && compares torch && python3 -c 'import torch.distributed._symmetric_memory' 2> /dev/null; then
  run torch "$gpus" "torch_symmetric.py --gpus $gpus" \
    python3 "$here/perftest/peers/torch_symmetric.py" --gpus "$gpus" "$@"
  set -- "$@" "$folder/torch.txt"
fi

report=$here/perftest/kernels_report.py
command -v python3 > /dev/null ||
  fail "python3 is not there. What was measured is in $folder/*.txt; where it is: python3 $report --out FOLDER FILE..."
# shellcheck disable=SC2086  # words are meant to split
python3 "$report" $ceilings --out "$folder" "$@"
exit "$failed"
