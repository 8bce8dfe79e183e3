#!/usr/bin/env python3
"""Weft and Open MPI side by side: one program, this machine or several, runs in turns, medians.

  perftest/peers/compare.py --build build/cpu-release
  perftest/peers/compare.py --build build/cpu-release --quick --json result.json
  perftest/peers/compare.py --hosts node0,node1                   # by ssh and tcp: ofi beside UCX
  tests/support/netns/run perftest/peers/compare.py --hosts node0,node1 --rsh node-exec --address 10.78.0.1

Builds shmem_bench.c with both libraries, runs them in turns at each number of PEs, and prints one
table with a ratio for each row: above 1 Weft is ahead. Several hosts share this folder, the first is this
one, and each has one PE.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent / "shmem_bench.c"
FLAGS = ["-std=gnu11", "-O2", "-Wno-deprecated-declarations"]
HOW_TO_INSTALL = "apt-get install openmpi-bin libopenmpi-dev (its OpenSHMEM is oshcc and oshrun)"
# A result within this of the other is neither ahead nor behind: clocks and layouts differ by as much.
NOISE = 0.03
# A result so close to what bare loads and stores reach in the same run cannot be ahead of anybody.
CEILING_NOISE = 0.05
CEILING_OF = {"put": "memcpy", "get": "memcpy", "put_bw": "memcpy_bw", "get_bw": "memcpy_bw",
              "put_pingpong": "bare_pingpong"}


def fail(text):
    print(f"compare.py: {text}", file=sys.stderr)
    sys.exit(2)


def run(command, environment, limit):
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True,
                              timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        fail(f"no end after {limit} s: {' '.join(map(str, command))}")
    if done.returncode != 0:
        fail(f"exit status {done.returncode}: {' '.join(map(str, command))}\n"
             f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


class Weft:
    name = "Weft"

    def __init__(self, arguments):
        self.build = Path(arguments.build).resolve()
        self.arguments = arguments
        self.launcher = self.build / "bin" / "weft-run"
        if not self.launcher.exists():
            fail(f"{self.launcher} is not there; build weft-run and shmem_bench, or give --build")

    def compile(self, folder):
        program = self.build / "bin" / "shmem_bench"
        if not program.exists():
            fail(f"{program} is not there; cmake --build {self.build} --target shmem_bench")
        return program

    def command(self, program, npes):
        return [self.launcher, "-n", str(npes), *self.spread(), program]

    def spread(self):
        if not self.arguments.hosts:
            return []
        options = ["--hosts", self.arguments.hosts, "--rsh", self.arguments.rsh,
                   "-x", "WEFT_TRANSPORTS=p2p,loopback,ofi", "-x", "WEFT_OFI_PROVIDER=tcp"]
        if self.arguments.address:
            options += ["-x", f"WEFT_BIND_ADDRESS={self.arguments.address}"]
        return options

    def environment(self):
        return dict(os.environ)


class OpenMpi:
    name = "Open MPI"

    def __init__(self, arguments):
        self.arguments = arguments
        for tool in ("oshcc", "oshrun"):
            if shutil.which(tool) is None:
                fail(f"{tool} is not there, so there is nothing to compare with: {HOW_TO_INSTALL}")

    def compile(self, folder):
        program = Path(folder) / "shmem_bench_openmpi"
        run(["oshcc", *FLAGS, SOURCE, "-o", program], dict(os.environ), 120)
        return program

    # Without ^rdma Debian's Open MPI 4.1 crashes in shmem_finalize. The program pins by itself.
    def command(self, program, npes):
        return ["oshrun", "--mca", "osc", "^rdma", "--oversubscribe", "--bind-to", "none",
                *self.spread(), "-np", str(npes), program]

    def spread(self):
        if not self.arguments.hosts:
            return []
        return ["--mca", "rtc", "^hwloc", "--mca", "plm_rsh_agent", self.arguments.rsh, "-H", self.arguments.hosts,
                "--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any",
                "--mca", "spml", "ucx", "-x", "UCX_TLS=tcp,self"]

    def environment(self):
        return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def parse(text):
    rows = {}
    for line in text.splitlines():
        parts = line.split(",")
        if len(parts) == 4:
            rows[parts[0], int(parts[1])] = float(parts[2]), parts[3]
    if not rows:
        fail(f"no rows in the output:\n{text[-2000:]}")
    return rows


def measure(libraries, programs, npes, arguments):
    """{library: {row: ([values], unit)}}, the libraries in turns."""
    samples = {library.name: {} for library in libraries}
    extra = ["--attend" if arguments.hosts else "--pin"] + (["--quick"] if arguments.quick else [])
    extra += ["--only", arguments.only] if arguments.only else []
    for turn in range(arguments.runs):
        for library in libraries if turn % 2 == 0 else reversed(libraries):
            command = library.command(programs[library.name], npes) + extra
            output = run(command, library.environment(), arguments.timeout)
            for row, (value, unit) in parse(output).items():
                samples[library.name].setdefault(row, ([], unit))[0].append(value)
    return samples


# The median of the ratios turn by turn: a host's clock changes by a factor of two for seconds, which meets both
# of a turn, and what meets one alone (a virtual machine whose two cores are one, for a run) is rare.
def times_faster(ours, others, unit):
    turns = zip(others, ours) if unit == "us" else zip(ours, others)
    return statistics.median(more / less for more, less in turns)


def compare(samples, npes, one_host):
    rows = []
    for (name, size), (ours, unit) in samples[Weft.name].items():
        theirs, _ = samples[OpenMpi.name][name, size]
        ceiling, _ = samples[Weft.name].get((one_host and CEILING_OF.get(name), size), (None, unit))
        of_ceiling = times_faster(ours, ceiling, unit) if ceiling else None
        rows.append({"npes": npes, "row": name, "bytes": size, "unit": unit,
                     "weft": statistics.median(ours), "openmpi": statistics.median(theirs),
                     "ratio": times_faster(ours, theirs, unit),
                     "of_ceiling": of_ceiling, "weft_all": ours, "openmpi_all": theirs,
                     "ceiling": name in CEILING_OF.values()})
    return rows


def verdict(row):
    if row["ceiling"]:
        return "(ceiling)"
    if row["ratio"] >= 1 + NOISE:
        return ""
    if (row["of_ceiling"] or 0) >= 1 - CEILING_NOISE:
        return CEILING_OF[row["row"]]
    return "even" if row["ratio"] > 1 - NOISE else "BEHIND"


def print_table(rows):
    print(f"{'PEs':>3} {'row':<14} {'bytes':>8} {'Weft':>11} {'Open MPI':>11} {'unit':<5} ratio")
    for row in rows:
        print(f"{row['npes']:>3} {row['row']:<14} {row['bytes']:>8} {row['weft']:>11.4g} "
              f"{row['openmpi']:>11.4g} {row['unit']:<5} {row['ratio']:>5.2f} {verdict(row)}")
    rated = [row for row in rows if not row["ceiling"]]
    limited = [row for row in rated if verdict(row) in CEILING_OF.values()]
    behind = [row for row in rated if verdict(row) in ("even", "BEHIND")]
    print(f"\n{len(rated) - len(limited) - len(behind)} of {len(rated)} rows ahead by more than "
          f"{NOISE:.0%}; {len(limited)} more as fast as their ceiling; neither: {len(behind)}")
    for row in behind:
        print(f"  {row['npes']} PEs, {row['row']}, {row['bytes']} bytes: {row['ratio']:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/cpu-release", help="Weft's build folder")
    parser.add_argument("--npes", default="2,4", help="numbers of PEs, comma-separated; with --hosts as many as those")
    parser.add_argument("--runs", type=int, default=5, help="runs of each library")
    parser.add_argument("--quick", action="store_true", help="3 runs with fewer iterations")
    parser.add_argument("--hosts", default="", help="to spread over, by names that --rsh takes; by default this one alone")
    parser.add_argument("--rsh", default="ssh", help="runs a command on a host")
    parser.add_argument("--address", default="", help="of this host, if its name does not say it")
    parser.add_argument("--only", default="", help="rows whose names begin so")
    parser.add_argument("--json", help="write everything that was measured to this file")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one run")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.runs = min(arguments.runs, 3)
    if arguments.hosts:
        arguments.npes = str(len(arguments.hosts.split(",")))
    libraries = [Weft(arguments), OpenMpi(arguments)]
    rows = []
    with tempfile.TemporaryDirectory(dir=arguments.build) as folder:  # which all hosts see
        programs = {library.name: library.compile(folder) for library in libraries}
        for npes in map(int, arguments.npes.split(",")):
            rows += compare(measure(libraries, programs, npes, arguments), npes, not arguments.hosts)
    print_table(rows)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps({"cores": os.cpu_count(), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
