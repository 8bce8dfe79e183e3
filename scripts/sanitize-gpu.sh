#!/bin/sh
# Runs the GPU tests under compute-sanitizer's tools on this machine's GPU, for a build of the preset
# cuda-sm90 or that which BUILD names; TOOLS and TESTS choose some. Arguments go to compute-sanitizer.
#
# Left out: what the tools make impossible. They run one kernel after the other, so kernels of several
# PEs on one GPU never meet. And memcheck takes an atomic on memory of the host for an error where
# PCIe has none, which is how a kernel claims the record of a fault.
set -eu
cd "$(dirname "$0")/.."

build=${BUILD:-build/cuda-sm90}
logs=${LOGS:-$build/sanitized}
export CUDA_MODULE_LOADING=EAGER CUDA_DEVICE_MAX_CONNECTIONS=32

filter_of() {
  case $1 in
    device_gpu_test) echo '-FaultTest.*:*CollectiveTest*_2:*_3:*_5:*_8' ;;
    *) echo '*s_1:-*Endurance*' ;;
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
