#!/bin/sh
# Runs the GPU tests under compute-sanitizer's tools on this machine's GPU, for a build of the preset
# cuda-sm90 or that which BUILD names; TOOLS and TESTS choose some. Arguments go to compute-sanitizer.
#
# Left out: what the tools make impossible. They run a GPU's kernels one after the other, so kernels of
# several PEs on one GPU never meet.
set -eu
cd "$(dirname "$0")/.."

build=${BUILD:-build/cuda-sm90}
logs=${LOGS:-$build/sanitized}
export CUDA_MODULE_LOADING=EAGER CUDA_DEVICE_MAX_CONNECTIONS=32

gpus=$(nvidia-smi -L | wc -l)
fit='' exceed=''
for pes in 1 2 3 4 5 8; do
  if [ "$pes" -le "$gpus" ]; then fit="$fit:*s_$pes"; else exceed="$exceed:*CollectiveTest*_$pes"; fi
done
filter_of() {
  case $1 in
    device_gpu_test) echo "-${exceed#:}" ;;
    *) echo "${fit#:}:-*Endurance*" ;;
  esac
}

mkdir -p "$logs"
failed=0
for tool in ${TOOLS:-memcheck racecheck synccheck}; do
  for test in ${TESTS:-device_gpu_test gpu_memory_gpu_test}; do
    log=$logs/$test.$tool.log
    start=$(date +%s)
    status=0
    # Some tests ask the driver for what it must refuse.
    compute-sanitizer --tool "$tool" --target-processes all --report-api-errors no --error-exitcode 99 "$@" \
      "$build/bin/$test" --gtest_filter="$(filter_of "$test")" > "$log" 2>&1 || status=$?
    ran=$(grep -c '\[       OK \]' "$log" || true)
    echo "$tool $test: exit $status, $ran tests passed, $(($(date +%s) - start)) s; see $log"
    [ "$status" = 0 ] || failed=1
  done
done
exit "$failed"
