#!/bin/sh
# Installs, on Debian or Ubuntu, what is missing for the parts named as arguments:
#   build   compiler, ccache, CMake, Ninja, fmt, CLI11, JSON, hwloc, verbs, libfabric  (quickstart)
#   test    GoogleTest, Python, network namespaces, lld, dpkg-dev  (tests)
#   lint    clang-format, clang-tidy
#   launchers  Open MPI, MPICH, PMIx, Slurm, munge           (tests under real launchers)
#   rdma    virtual machines with soft-RoCE                  (tests of ib without a device)
#   docs    Sphinx, MyST, Breathe, Doxygen, graphviz
#   hip     clang 19 and AMD's headers and device libraries     (compile check, bitcode library)
#   python  virtual environments, pip                        (the Python package; bitcode under releases of Triton)
# Nothing is downloaded from anywhere but the distribution's own archive. CUDA is never installed
# by this script: its compile check runs where nvcc is on PATH.
set -eu

packages=""
for part in "$@"; do
  case $part in
    build) packages="$packages g++ ccache cmake ninja-build pkg-config libfmt-dev libcli11-dev nlohmann-json3-dev libhwloc-dev libibverbs-dev libfabric-dev" ;;
    test) packages="$packages libgtest-dev libgmock-dev python3 procps iproute2 lld dpkg-dev file" ;;
    lint) packages="$packages clang clang-format clang-tidy" ;;
    launchers) packages="$packages openmpi-bin libopenmpi-dev mpich libmpich-dev libpmix2 slurm-wlm slurm-wlm-basic-plugins munge" ;;
    rdma) packages="$packages qemu-system-x86 busybox-static cpio kmod xz-utils iproute2 ibverbs-utils ibverbs-providers openmpi-bin" ;;
    docs) packages="$packages doxygen python3-sphinx python3-myst-parser python3-breathe furo graphviz" ;;
    hip) packages="$packages clang-19 lld-19 llvm-19 clang-tools-19 libamdhip64-dev rocm-device-libs" ;;
    python) packages="$packages python3-venv python3-dev" ;;
    *) echo "install-deps.sh: unknown part '$part'; known: build test lint launchers rdma docs hip python" >&2; exit 2 ;;
  esac
done

missing=""
for package in $packages; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q "install ok installed" || missing="$missing $package"
done
[ -z "$missing" ] && exit 0

if ! command -v apt-get > /dev/null; then
  echo "install-deps.sh: this is no Debian or Ubuntu; please install what corresponds to:$missing" >&2
  exit 1
fi
sudo=""
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo > /dev/null; then
    echo "install-deps.sh: not root and no sudo; as root run: apt-get install$missing" >&2
    exit 1
  fi
  sudo="sudo"
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
# shellcheck disable=SC2086  # words are meant to split
if ! { $sudo apt-get update -q && $sudo apt-get install -q -y --no-install-recommends $missing; } > "$log" 2>&1; then
  tail -20 "$log" >&2
  echo "install-deps.sh: apt-get failed; the last lines are above, all of it in $log" >&2
  exit 1
fi
rm -f "$log"
