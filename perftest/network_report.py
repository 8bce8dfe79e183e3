#!/usr/bin/env python3
"""Weft's operations between two hosts beside those of perftest (ib_write_lat and the like) or, by ofi, beside
fi_pingpong of libfabric-bin, in one run.

  perftest/network_report.py --hosts node0,node1                  # by ssh and weft-run
  perftest/network_report.py --hosts node0,node1 --transport ofi --provider tcp
  tests/support/netns/run perftest/network_report.py --hosts node0,node1 --rsh node-exec --transport ofi \\
      --address 10.78.0.2                                         # two network namespaces of this machine
  tests/support/rdma_vm/run -n 2 --head -- perftest/network_report.py --hosts node0,node1 \\
      --rsh node-exec --launcher mpirun --quick                   # soft-RoCE, where there is no device

Runs on the first of two hosts that share this folder. Each row is measured in turns, Weft and the
peer, and its ratio is the median of the turns': above 1 Weft is ahead. Exit status: 0 if every program ran,
whatever targets were missed; else 1; wrong usage 2.
"""

import argparse
import csv
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SAYS_READY = 1.0  # seconds that a peer's server gets to listen
MIB = 1 << 20  # what perftest calls MB
WINDOW = ("--window", "64")  # operations of ofi under way
STREAM = ("--window", "960")  # between two completions; perftest's are all of a run
FEW = 32  # large ones under way: more are lost on soft-RoCE, by everybody, and take seconds
IN_A_ROW = ("--window", "100")  # so that how PEs leave the barrier before a sample does not count


@dataclass
class Row:
    name: str
    test: str  # of weft-perf
    size: int
    peer: str  # of perftest
    column: str  # of weft-perf's table
    field: int  # of the peer's line of numbers: t_avg; average MB/s; Mpps. With fi_pingpong: usec/xfer; MB/s
    more_is_better: bool
    target: float  # 0: none, since it is two messages beside one
    unit: str
    options: tuple = ()
    peer_options: tuple = ()
    variables: tuple = ()  # of Weft's environment


def latency(name, test, size, peer, options=(), peer_options=(), target=0.9, variables=()):
    return Row(name, test, size, peer, "p50_ns", 5, False, target, "us", (*IN_A_ROW, *options), peer_options, variables)


def ping(name, test, size):
    return Row(name, test, size, "fi_pingpong", "p50_ns", 6, False, 0.85, "us", IN_A_ROW)


def stream(size):  # fi_pingpong has one message under way
    return Row("put_nbi bandwidth", "put_nbi_bw", size, "fi_pingpong", "bandwidth_gb_s", 5, True, 0.85, "GB/s", WINDOW)


def complete(size):
    """One at a time, each complete before the next: the peer tells how many a second."""
    return Row("put, complete", "put_lat", size, "ib_write_bw", "p50_ns", 4, False, 0.9, "us", IN_A_ROW, ("-t", "1"))


def bandwidth(size, options=STREAM, peer_options=()):
    return Row("put_nbi bandwidth", "put_nbi_bw", size, "ib_write_bw", "bandwidth_gb_s", 3, True, 0.9, "GB/s", options,
               peer_options)


def of_few(size):
    return bandwidth(size, ("--window", str(FEW)), ("-t", str(FEW)))


IB_ROWS = [
    latency("signal, one way", "signal_lat", 8, "ib_write_lat"),
    complete(8),
    complete(4096),
    latency("put_signal, one way", "put_signal_lat", 4096, "ib_write_lat", target=0),
    bandwidth(4096),
    of_few(65536),
    of_few(1 << 20),
    Row("put_nbi rate", "put_nbi_rate", 8, "ib_write_bw", "rate_mops", 4, True, 1.0, "Mop/s",
        STREAM, ("-l", "16")),
    latency("fetch_add", "atomic_lat", 8, "ib_atomic_lat", ("-a", "fetch_add"), ("-A", "FETCH_AND_ADD")),
    latency("fetch_add by the NIC", "atomic_lat", 8, "ib_atomic_lat", ("-a", "fetch_add"), ("-A", "FETCH_AND_ADD"),
            variables=("WEFT_IB_ATOMICS=nic",)),
]
OFI_ROWS = [
    ping("signal, one way", "signal_lat", 8),
    *(ping("put_signal, one way", "put_signal_lat", size) for size in (64, 4096, 65536, 1 << 20)),
    *(stream(size) for size in (4096, 65536, 1 << 20)),
]


def fail(text, status=1):
    print(f"network_report.py: {text}", file=sys.stderr)
    sys.exit(status)


class Runner:
    def __init__(self, arguments):
        self.arguments = arguments
        self.hosts = arguments.hosts.split(",")
        if len(self.hosts) != 2:
            fail(f"--hosts {arguments.hosts}: two are wanted", 2)
        self.programs = arguments.build.resolve() / "bin"
        self.launcher = str(self.programs / "weft-run") if arguments.launcher == "weft-run" else "mpirun"
        for tool in (self.launcher, arguments.rsh, str(self.programs / "weft-perf")):
            if shutil.which(tool) is None:
                fail(f"{tool} is not there; --build names the folder of a build")

    def call(self, command):
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False,
                                  timeout=self.arguments.timeout)
        except subprocess.TimeoutExpired as late:
            said = b"".join(each or b"" for each in (late.stdout, late.stderr)).decode(errors="replace")
            fail(f"no end after {self.arguments.timeout:g} s: {shlex.join(map(str, command))}\n{said[-4000:]}")
        if done.returncode != 0:
            fail(f"exit status {done.returncode}: {shlex.join(map(str, command))}\n"
                 f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout

    def weft(self, row):
        transport = self.arguments.transport
        if self.arguments.launcher == "weft-run":
            command = [self.launcher, "-n", "2", "--hosts", ",".join(self.hosts), "--rsh", self.arguments.rsh]
        else:
            command = [self.launcher, "--allow-run-as-root", "--mca", "plm_rsh_agent", self.arguments.rsh,
                       "-H", ",".join(f"{host}:1" for host in self.hosts), "-np", "2"]
        command += ["-x", f"WEFT_TRANSPORTS={transport},loopback"]
        # A wait that does not end says for what before the program is ended from here.
        command += ["-x", f"WEFT_WAIT_TIMEOUT={self.arguments.timeout / 2:g}"]
        for variable in row.variables:
            command += ["-x", variable]
        if transport == "ofi":
            command += ["-x", f"WEFT_OFI_PROVIDER={self.arguments.provider}"]
        if self.arguments.device:
            option = "WEFT_IB_DEVICE" if transport == "ib" else "WEFT_OFI_DOMAIN"
            command += ["-x", f"{option}={self.arguments.device}"]
        command += [self.programs / "weft-perf", row.test, "--api", "host", "--csv", "-b", row.size, "-e", row.size, *row.options]
        if self.arguments.quick:
            command += ["--seconds", "1"]
        output = self.call(list(map(str, command)))
        for line in csv.DictReader(output.splitlines()):
            if line["test"] == row.test:
                value = float(line[row.column])
                return value / 1000 if row.column == "p50_ns" else value
        return fail(f"weft-perf printed no line of {row.test}:\n{output}")

    def peer_options(self, row):
        if row.peer == "fi_pingpong":
            rounds = min(20000, max(200, (16 << 20) // row.size))
            options = ["-e", "rdm", "-p", self.arguments.provider, "-S", str(row.size), "-I", str(rounds)]
            return options + (["-d", self.arguments.device] if self.arguments.device else [])
        options = ["-s", str(row.size), "-F", *row.peer_options]
        if row.peer == "ib_atomic_lat":
            options = ["-F", *row.peer_options]
        if self.arguments.quick:
            options += ["-n", "960"]  # a multiple of what is posted at once
        if self.arguments.device:
            options += ["-d", self.arguments.device]
        if self.arguments.gid is not None:
            options += ["-x", str(self.arguments.gid)]
        return options

    def peer(self, row):
        options = self.peer_options(row)
        server = subprocess.Popen([self.arguments.rsh, self.hosts[1], shlex.join([row.peer, *options])],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            time.sleep(SAYS_READY)
            output = self.call([row.peer, *options, self.arguments.address or self.hosts[1]])
        finally:
            server.terminate()
            server.wait()
        size = f"{row.size}|{row.size >> 10}k|{row.size >> 20}m"  # fi_pingpong's way of writing it
        lines = [line.split() for line in output.splitlines() if re.match(rf"^\s*({size})\s", line)]
        if not lines:
            fail(f"{row.peer} printed no line of {row.size} bytes:\n{output}")
        value = float(lines[0][row.field])
        if row.peer == "fi_pingpong":
            return value / 1000 if row.unit == "GB/s" else value
        if row.peer == "ib_write_bw" and row.unit == "us":
            return 1 / value
        return value * MIB / 1e9 if row.unit == "GB/s" else value


def measure(runner, row, turns):
    samples = []
    for turn in range(turns):
        order = [runner.weft, runner.peer] if turn % 2 == 0 else [runner.peer, runner.weft]
        values = {kind: kind(row) for kind in order}
        samples.append((values[runner.weft], values[runner.peer]))
    ratios = [ours / theirs if row.more_is_better else theirs / ours for ours, theirs in samples]
    return (statistics.median(ours for ours, _ in samples),
            statistics.median(theirs for _, theirs in samples), statistics.median(ratios))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", required=True, help="this one and another, by names that --rsh takes")
    parser.add_argument("--rsh", default="ssh", help="runs a command on a host")
    parser.add_argument("--transport", choices=("ib", "ofi"), default="ib", help="of Weft")
    parser.add_argument("--provider", default="tcp", help="of libfabric, for ofi")
    parser.add_argument("--address", default="", help="of the other host, if its name does not say it")
    parser.add_argument("--launcher", choices=("weft-run", "mpirun"), default="weft-run",
                        help="of Weft's programs; mpirun looks about all the while, which costs a node of one core 6 %%")
    parser.add_argument("--build", type=Path, default=ROOT / "build/cpu-release", help="Weft's build folder")
    parser.add_argument("--device", default="", help="of both hosts; by default what each finds first")
    parser.add_argument("--gid", type=int, help="GID index for the peers")
    parser.add_argument("--turns", type=int, default=3, help="of each")
    parser.add_argument("--only", default="", help="rows whose names begin so")
    parser.add_argument("--quick", action="store_true", help="fewer operations")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one run of one program")
    arguments = parser.parse_args()
    if arguments.turns < 1:
        fail("--turns: at least one", 2)
    runner = Runner(arguments)
    print(f"{'row':<20} {'bytes':>8} {'Weft':>10} {'peer':>10} {'unit':<6} {'ratio':>5}  target")
    for row in IB_ROWS if arguments.transport == "ib" else OFI_ROWS:
        if not row.name.startswith(arguments.only):
            continue
        ours, theirs, ratio = measure(runner, row, arguments.turns)
        if row.target:
            verdict = f">= {row.target:g} {row.peer}: {'holds' if ratio >= row.target else 'missed'}"
        else:
            verdict = f"none: two messages beside one of {row.peer}"
        if row.variables:
            verdict += f"; with {' '.join(row.variables)}"
        print(f"{row.name:<20} {row.size:>8} {ours:>10.4g} {theirs:>10.4g} {row.unit:<6} {ratio:>5.2f}  {verdict}",
              flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
