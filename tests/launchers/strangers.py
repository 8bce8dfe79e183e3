#!/usr/bin/env python3
"""Jobs under weft-run while strangers connect, hold, talk and flood at every port that they listen at.

As a test: jobs of several PEs must start, grow their heaps and end with 0 beside a bounded attack, a killed PE must
be named, weft-run obeys SIGTERM, and its descriptors stay bounded. With --measure N: prints the medians of N jobs without an
attack, beside processes that only use as much of the CPU, and under the attack.
"""
import argparse
import contextlib
import multiprocessing
import os
import pathlib
import re
import select
import socket
import statistics
import subprocess
import sys
import time

DEADLINE_S = 240  # ends what hangs
KINDS = ("connect", "hold", "talk")
MOST_DESCRIPTORS = 700  # weft-run's with 4 PEs: 256 strangers, 8 a PE, and as much again for what ends


class Failed(Exception):
    pass


def processes_of(root):
    """Its own and those of its children, as /proc has them now."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found = {root}
    while True:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        if not more:
            return found
        found |= more


def ports_of(root):
    """TCP ports at which these processes listen."""
    sockets = set()
    for pid in processes_of(root):
        with contextlib.suppress(OSError):
            for entry in os.scandir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    match = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(entry.path))
                    if match:
                        sockets.add(match[1])
    ports = set()
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and fields[9] in sockets:
            ports.add(int(fields[1].rpartition(":")[2], 16))
    return ports


def look_for_ports(root, ports, stop):
    """Fills the shared array with what listens now, for all attackers."""
    while not stop.is_set():
        known = sorted(ports_of(root))[:len(ports)]
        for i in range(len(ports)):
            ports[i] = known[i] if i < len(known) else 0
        time.sleep(0.02)


def attack(kind, ports, most, stop):
    """At most so many connections to each of the ports in turn."""
    held = []
    made = 0
    while made < most and not stop.is_set():
        targets = [port for port in ports if port]
        if not targets:
            time.sleep(0.001)
        for port in targets:
            stranger = socket.socket()
            stranger.setblocking(False)
            made += 1
            with contextlib.suppress(OSError):
                stranger.connect_ex(("127.0.0.1", port))
                if kind == "talk":
                    select.select([], [stranger], [], 0.01)
                    for _ in range(16):
                        stranger.send(b"weft" + bytes(4096))
            held.append(stranger)
            if kind == "connect" or len(held) > 900:
                held.pop(0).close()


def use_cpu(_kind, _ports, _most, stop):
    """The CPU time that an attacker takes, without the attack."""
    while not stop.is_set():
        sum(range(1000))


class Strangers:
    """Three of them, one of each kind, at a job that has just begun."""

    def __init__(self, root, act, most):
        self.stop = multiprocessing.Event()
        self.ports = multiprocessing.Array("i", 64, lock=False)
        work = [(look_for_ports, (root, self.ports, self.stop))]
        work += [(act, (kind, self.ports, most, self.stop)) for kind in KINDS]
        self.processes = [multiprocessing.Process(target=run, args=arguments) for run, arguments in work]
        for process in self.processes:
            process.start()

    def end(self):
        self.stop.set()
        for process in self.processes:
            process.join()


class Job:
    """One job, its output, and what it had open at most."""

    def __init__(self, args, npes, arguments, act, interrupt=False):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
        environment.update({"WEFT_HEAP_CHUNK": "64K", "WEFT_TRANSPORTS": "p2p,loopback"})
        words = [args.weft_run, "-n", str(npes), args.program, *arguments]
        self.shown = " ".join(words)
        self.descriptors = 0
        began = time.time()
        run = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
        strangers = Strangers(run.pid, act, args.most) if act else None
        try:
            if interrupt:
                time.sleep(0.5)
                run.terminate()
            self.text = self.read(run)
            self.status = run.wait()
            self.ended = time.time()
        finally:
            run.kill()
            if strangers:
                strangers.end()
        self.shown += f"\nstatus {self.status}\n{self.text}"
        self.began = began

    def read(self, run):
        text = b""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            if time.monotonic() > deadline:
                raise Failed(f"{self.shown} hangs:\n{text.decode()}")
            with contextlib.suppress(OSError):
                self.descriptors = max(self.descriptors, len(os.listdir(f"/proc/{run.pid}/fd")))
            if not select.select([run.stdout], [], [], 0.05)[0]:
                continue
            piece = os.read(run.stdout.fileno(), 65536)
            if not piece:
                return text.decode()
            text += piece

    def times(self, word):
        """At what times PEs said that word."""
        return [float(match) for match in re.findall(rf"^{word} at ([0-9.]+)", self.text, re.MULTILINE)]

    def require(self, holds, what):
        if not holds:
            raise Failed(f"{what}\n{self.shown}")


def grows(args, npes, act, growths):
    job = Job(args, npes, ["grow", str(growths)], act)
    job.require(job.status == 0, "a job must end with 0 whatever strangers do")
    job.require(len(job.times("grown")) == npes, "every PE must have grown its heap")
    job.require(job.descriptors < MOST_DESCRIPTORS, f"weft-run had {job.descriptors} descriptors")
    return {"start": max(job.times("started")) - job.began,
            f"{growths} growths": max(job.times("grown")) - max(job.times("started"))}


def notices(args, npes, act):
    job = Job(args, npes, ["kill", "1"], act)
    job.require(job.status == 128 + 9, "weft-run must end as the killed PE did")
    job.require("PE 1" in job.text, "nobody names the killed PE")
    return {"end after a death": job.ended - job.times("killed")[0]}


def obeys(args, npes, act):
    job = Job(args, npes, ["kill", str(npes)], act, interrupt=True)  # nobody is killed: it would last for ever
    job.require(job.status == 128 + 15, "weft-run must end for SIGTERM")


def measure(args):
    for npes in (2, 8):
        for name, act in (("alone", None), ("beside three busy processes", use_cpu), ("under attack", attack)):
            rows = {}
            for _ in range(args.measure):
                for what, seconds in {**grows(args, npes, act, 300), **notices(args, npes, act)}.items():
                    rows.setdefault(what, []).append(seconds)
            shown = "  ".join(f"{what} {statistics.median(times):.3f} s" for what, times in rows.items())
            print(f"{npes} PEs {name:28} {shown}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--weft-run", required=True)
    parser.add_argument("--most", type=int, default=20000, help="connections of one attacker")
    parser.add_argument("--measure", type=int, default=0, metavar="JOBS")
    args = parser.parse_args()
    try:
        if args.measure:
            args.most = 10**9
            measure(args)
        else:
            grows(args, 4, attack, 300)
            notices(args, 4, attack)
            obeys(args, 4, attack)
    except Failed as failure:
        print(f"FAILED: {failure}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
