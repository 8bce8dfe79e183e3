#!/bin/sh
# From a fresh clone to a running job: installs what is missing, builds, runs four PEs whose kernels
# pass a token round a ring and do an all-to-all, then measures a little. Builds only what it runs: the first time some
# four CPU minutes for host threads, more for GPUs, whose kernels are compiled once more.
# The kernels run on NVIDIA's GPUs where there are some and nvcc can compile for them, else on host threads.
set -eu
cd "$(dirname "$0")/.."

scripts/install-deps.sh build

preset=cpu-release
program=tutorial-00-quickstart
pes=4
where="host threads"
gpus=$(nvidia-smi -L 2> /dev/null | grep -c '^GPU' || true)
if [ "$gpus" -gt 0 ] && { command -v nvcc || ls /usr/local/cuda/bin/nvcc; } > /dev/null 2>&1; then
  preset=cuda-sm90
  program=tutorial-00-quickstart-gpu
  [ "$gpus" -lt 2 ] && pes=2 || pes=$gpus
  where="$gpus GPUs"
  set -- -DCMAKE_CUDA_ARCHITECTURES=  # those of these GPUs, and not the preset's
elif [ "$gpus" -gt 0 ]; then
  echo "There are GPUs here, but no nvcc on PATH or in /usr/local/cuda: the kernels run on host threads." >&2
  echo "To run them on the GPUs, install the CUDA toolkit and call this again." >&2
fi

# Shows one of ninja's lines "[12/200] Compiling ..." for each tenth of the way.
show_progress() {
  shown=0
  while IFS= read -r line; do
    echo "$line" >> "$log"
    case $line in
      "["[0-9]*/*"] "*) ;;
      *) continue ;;
    esac
    line=${line#"["}
    of=${line#*/}
    of=${of%%"]"*}
    tenth=$((10 * ${line%%/*} / of))
    [ "$of" -lt 10 ] || [ "$tenth" -le "$shown" ] || echo "   ${line%%/*} of $of steps"
    [ "$of" -lt 10 ] || shown=$tenth
  done
}

bin=build/$preset/bin
mkdir -p build
log=build/quickstart.log
cmake --preset "$preset" -DWEFT_TESTS=OFF -DWEFT_TUTORIALS=ON "$@" > "$log" 2>&1 || { cat "$log"; exit 1; }
echo "== building weft-run, weft-perf and $program in build/$preset, on $(nproc) cores; all of it is in $log"
failed=build/quickstart.failed
rm -f "$failed"
{ cmake --build --preset "$preset" --target weft-run weft-perf "$program" 2>&1 || : > "$failed"; } | show_progress
[ ! -e "$failed" ] || { tail -40 "$log"; exit 1; }

echo "== $pes PEs, their kernels on $where: weft-run -n $pes $program"
"$bin/weft-run" -n "$pes" "$bin/$program"

echo "== two PEs: weft-run -n 2 weft-perf claims"
"$bin/weft-run" -n 2 "$bin/weft-perf" claims

cat <<DONE

What you saw: $pes processes built a symmetric heap without MPI, their kernels (here: on $where) sent data with a
signal straight into each other's memory and waited for it, every byte was checked, and the table shows
what such a put, signal and barrier cost between the hosts' threads of this machine. Next: docs/quickstart.md, or run your own program:
  $bin/weft-run -n $pes ./your-program
DONE
