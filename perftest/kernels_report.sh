#!/bin/sh
# The operators of weft::kernels beside their peers on this machine's GPUs, in one run: collectives beside NCCL
# (weft-gpu-kernels), the matrix product beside cuBLASLt (weft-gpu-gemm), fused operators beside both, one after the
# other (weft-gpu-fused, where it was built). What they print goes to FOLDER, and a report of it: report.md,
# report.csv and report.svg.
#
#   perftest/kernels_report.sh [--gpus N] [--nccl FILE] [--build DIR] [--link GB/s] [--rate TFLOP/s] FOLDER
#
#   --gpus N     PEs, a GPU each; by default all GPUs
#   --nccl FILE  its library, or none; by default libnccl.so.2, as the system finds it, or python3's
#   --build DIR  Weft's build with WEFT_CUDA=ON; by default build/cuda-sm90
#   --link, --rate   ceilings of a GPU: what its links take, and its multiply-adds of bfloat16; by default
#                those of an H100 or H200 (kernels_report.py)
#
# Exit status: 0 if every program ran, whatever targets were missed; else 1; wrong usage 2.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)

say() { echo "kernels_report.sh: $*" >&2; }
usage() {
  say "$*"
  sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

gpus='' nccl='' build=$here/build/cuda-sm90 ceilings='' folder=''
while [ $# -gt 0 ]; do
  case $1 in --*) [ $# -ge 2 ] || usage "$1: without its value" ;; esac
  case $1 in
    --gpus) gpus=$2 ;;
    --nccl) nccl=$2 ;;
    --build) build=$(cd "$2" 2> /dev/null && pwd) || usage "--build $2: no such folder" ;;
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
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
bin=$build/bin
for program in weft-run weft-gpu-kernels weft-gpu-gemm; do
  [ -x "$bin/$program" ] || usage "no $program in $bin: build it with WEFT_CUDA=ON, or give --build"
done

PATH=$PATH:/usr/local/cuda/bin
command -v nvidia-smi > /dev/null || usage "nvidia-smi is not there: no NVIDIA GPUs on this machine?"
gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1 | sed 's/, /, driver /')
gpus=${gpus:-$(nvidia-smi --query-gpu=index --format=csv,noheader | wc -l)}
case $gpus in '' | *[!0-9]* | 0) usage "--gpus is a number" ;; esac
if [ -z "$nccl" ]; then
  nccl=$(python3 -c 'import importlib.util as u
print(next(iter(u.find_spec("nvidia.nccl").submodule_search_locations)) + "/lib/libnccl.so.2")' 2> /dev/null) || true
  [ -f "$nccl" ] || nccl=libnccl.so.2
fi

# A build may have been moved. NVLink's multicast stays off in both.
LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} NCCL_NVLS_ENABLE=0 CUDA_MODULE_LOADING=EAGER
export LD_LIBRARY_PATH NCCL_NVLS_ENABLE CUDA_MODULE_LOADING

failed=0
# run NAME PES PROGRAM ARGUMENTS...: what it prints, behind what was run, into FOLDER/NAME.txt.
run() {
  name=$1 pes=$2
  shift 2
  say "$name"
  {
    echo "# date: $(date -u '+%Y-%m-%d %H:%M')"
    echo "# gpu: $gpu"
    echo "# pes: $pes"
    echo "# command: weft-run -n $pes $*"
  } > "$folder/$name.txt"
  program=$1
  shift
  "$bin/weft-run" -n "$pes" --timeout 1200 "$bin/$program" "$@" >> "$folder/$name.txt" 2> "$folder/$name.err" && return 0
  say "exit status $? of $program:"
  tail -n 20 "$folder/$name.err" >&2
  failed=1
}
run kernels "$gpus" weft-gpu-kernels --nccl "$nccl"
run gemm 1 weft-gpu-gemm
files="$folder/kernels.txt $folder/gemm.txt"
if [ -x "$bin/weft-gpu-fused" ]; then
  run fused "$gpus" weft-gpu-fused --nccl "$nccl"
  files="$files $folder/fused.txt"
fi

# shellcheck disable=SC2086  # words are meant to split
python3 "$here/perftest/kernels_report.py" $ceilings --out "$folder" $files
exit "$failed"
