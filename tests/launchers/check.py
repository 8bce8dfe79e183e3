#!/usr/bin/env python3
"""The test programs under one launcher: jobs of 1 to 7 PEs that meet, one PE killed, one abort.

Exit status 77: the launcher is not installed. Whatever a job does, it must end, and leave neither
processes nor names in /dev/shm.
"""
import argparse
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import uuid

import private_slurm

SKIP = 77
DEADLINE_S = 120  # ends what hangs; no job takes more than a few seconds
# Names that MPI libraries themselves leave in /dev/shm when they are killed.
FOREIGN = re.compile(r"^(vader_segment|sm_segment|osc|mpich|psm|ucx|sem\.)")


class Failed(Exception):
    pass


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIP)


def shared_names():
    return {name for name in os.listdir("/dev/shm") if not FOREIGN.match(name)}


def processes_with(mark):
    """Programs whose environment holds `mark`."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            if mark.encode() in (entry / "environ").read_bytes():
                found.append(entry.name + " " + (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found


def eventually(condition):
    for _ in range(100):
        if condition():
            return True
        time.sleep(0.1)
    return condition()


class Site:
    """One launcher and how it is called."""

    def __init__(self, command, environment=None):
        self.command = command  # a function: number of processes -> words in front of the program
        self.environment = environment or {}

    def run(self, npes, program, *arguments, environment=None):
        mark = f"LAUNCHERS_TEST_MARK={uuid.uuid4()}"
        variables = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
        variables.update(self.environment, **(environment or {}))
        variables.update([mark.split("=")])
        names = shared_names()
        words = [*self.command(npes), program, *arguments]
        try:
            done = subprocess.run(words, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  errors="replace", timeout=DEADLINE_S)
        except subprocess.TimeoutExpired as hung:
            raise Failed(f"{' '.join(words)} hangs:\n{hung.stdout}\n{hung.stderr}") from None
        self.shown = f"{' '.join(words)}\nstatus {done.returncode}\n{done.stdout}\n{done.stderr}"
        if not eventually(lambda: not processes_with(mark)):
            raise Failed(f"processes are left: {processes_with(mark)}\n{self.shown}")
        if not eventually(lambda: shared_names() <= names):
            raise Failed(f"names are left in /dev/shm: {shared_names() - names}\n{self.shown}")
        return done

    def require(self, holds, what):
        if not holds:
            raise Failed(f"{what}\n{self.shown}")

    def meets(self, program, npes, bootstrap, environment=None):
        done = self.run(npes, program, "meet", environment=environment)
        self.require(done.returncode == 0, "a job that met must end with 0")
        told = sorted(done.stdout.splitlines())
        wanted = sorted(f"round {turn}: PE {pe} of {npes}, bootstrap {bootstrap}"
                        for turn in (1, 2) for pe in range(npes))
        self.require(told == wanted, f"wanted {wanted}")

    def notices_a_kill(self, program, statuses, environment=None):
        # PE 0 serves the rendezvous point under a foreign launcher; PE 1 is one like others.
        for victim in ("0", "1"):
            done = self.run(4, program, "kill", victim, environment=environment)
            self.require(done.returncode in statuses, f"with a killed PE the status must be one of {statuses}")

    def aborts(self, program, status, environment=None, explained=True):
        done = self.run(3, program, "abort", "1", "42", environment=environment)
        self.require(done.returncode == status if status else done.returncode != 0,
                     f"the status of an aborted job must be {status or 'a failure'}")
        if explained:
            self.require("code 42: the test wants it" in done.stdout + done.stderr, "nobody says why")

    def ends_in_success(self, program, environment=None):
        done = self.run(3, program, "abort", "1", "0", environment=environment)
        self.require(done.returncode == 0, "a job that a PE ended with code 0 must end with 0")
        self.require("the test wants it" not in "".join(line for line in done.stderr.splitlines() if " error " in line),
                     "an end in success is no error")

    def refuses(self, program, text, environment=None):
        done = self.run(2, program, "refuse", environment=environment)
        self.require(done.returncode != 0 and text in done.stdout + done.stderr, f"wanted an error with: {text}")

    def runs_examples(self, programs):
        for program in programs:
            for npes in (1, 2, 3, 4, 7, 16):
                done = self.run(npes, program)
                self.require(done.returncode == 0, f"{program} at {npes} PEs must end with 0")

    def runs_mpi(self, program, bootstrap="mpi"):
        done = self.run(4, program)
        self.require(done.returncode == 0, "the MPI program must end with 0")
        wanted = sorted([f"{what}: PE {pe} of 4" for what in ("all", f"bootstrap {bootstrap}") for pe in range(4)] +
                        [f"odd: PE {pe} of 2" for pe in range(2)])
        self.require(sorted(done.stdout.splitlines()) == wanted, f"wanted {wanted}")


def installed(name):
    if shutil.which(name) is None:
        skip(f"{name} is not installed (scripts/install-deps.sh launchers)")
    return name


def check_openmpi(args):
    mpirun = installed("mpirun.openmpi")
    names = ["WEFT_BOOTSTRAP", "WEFT_PMIX_LIBRARY", "WEFT_MPI_LIBRARY", "LAUNCHERS_TEST_MARK"]

    def command(npes):
        forwarded = [word for name in names for word in ("-x", name)]
        return [mpirun, "--oversubscribe", *forwarded, "-np", str(npes)]

    # Set but empty counts as not set; mpirun warns of what it is told to forward and is not there.
    site = Site(command, {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                          **{name: "" for name in names}})
    for npes in (1, 2, 4, 7):
        site.meets(args.program, npes, "pmix")
    site.notices_a_kill(args.program, (1, 137))
    site.aborts(args.program, 42)
    site.ends_in_success(args.program)
    site.meets(args.program, 2, "mpi", {"WEFT_BOOTSTRAP": "mpi"})
    site.refuses(args.program, "libpmix2", {"WEFT_PMIX_LIBRARY": "/nowhere/libpmix.so.2"})
    if args.mpi_program:
        site.runs_mpi(args.mpi_program)


def check_mpich(args):
    mpiexec = installed("mpiexec.hydra")
    site = Site(lambda npes: [mpiexec, "-n", str(npes)])
    for npes in (1, 2, 4, 7):
        site.meets(args.program, npes, "pmi1")
    site.notices_a_kill(args.program, (1, 9, 137))
    # Hydra ends an aborted job at once, often before it has forwarded what the PEs wrote last.
    site.aborts(args.program, 42, explained=False)
    site.ends_in_success(args.program)
    pmi2 = {"WEFT_BOOTSTRAP": "pmi2"}
    site.meets(args.program, 4, "pmi2", pmi2)
    site.notices_a_kill(args.program, (1, 9, 137), pmi2)
    # Its PMI-2 knows no abort, and ends the job for it.
    site.aborts(args.program, None, pmi2, explained=False)
    if args.mpi_program:
        site.meets(args.program, 2, "mpi", {"WEFT_BOOTSTRAP": "mpi"})
        site.runs_mpi(args.mpi_program)


def check_slurm(args):
    if private_slurm.missing():
        skip(private_slurm.missing())
    with tempfile.TemporaryDirectory(prefix="weft-slurm-") as folder, private_slurm.PrivateSlurm(folder) as slurm:
        offered = slurm.mpi_plugins()

        def site(*options):
            return Site(lambda npes: [private_slurm.find("srun"), "-n", str(npes), *options], slurm.environment)

        for plugin, abort_status in (("pmi2", None), ("pmix", 42)):
            if plugin not in offered:
                print(f"srun --mpi={plugin} is not offered here: not tested")
                continue
            srun = site(f"--mpi={plugin}")
            for npes in (1, 2, 4, 7):
                srun.meets(args.program, npes, plugin)
            srun.notices_a_kill(args.program, (1, 137))
            srun.aborts(args.program, abort_status)
            srun.runs_examples(args.examples)
        site("--mpi=none").refuses(args.program, "--mpi=pmi2")


def check_weft_run(args):
    site = Site(lambda npes: [args.weft_run, "-n", str(npes)])
    for npes in (1, 2, 4, 7):
        site.meets(args.program, npes, "tcp")
    site.notices_a_kill(args.program, (137,))
    site.aborts(args.program, 42)
    site.ends_in_success(args.program)
    pmi1 = {"WEFT_BOOTSTRAP": "pmi1"}
    site.meets(args.program, 4, "pmi1", pmi1)
    site.notices_a_kill(args.program, (137,), pmi1)
    site.aborts(args.program, 42, pmi1)
    if args.mpi_program:
        site.runs_mpi(args.mpi_program, "tcp")


def check_hosts(args):
    """weft-run over a remote shell that stays here."""
    rsh = str(pathlib.Path(__file__).with_name("fake_rsh.sh"))
    run = [args.weft_run, "--rsh", rsh]

    def hosts(npes, names="here,there:1"):
        return [*run, "-n", str(npes), "--hosts", names if npes > 1 else "here"]

    site = Site(hosts)
    for npes in (1, 2, 4, 7):
        site.meets(args.program, npes, "tcp")
    site.notices_a_kill(args.program, (137,))
    site.aborts(args.program, 42)

    shell = Site(lambda _: [*hosts(3), "--prefix", "-x", "PASSED", "-x", "GIVEN=given"], {"PASSED": "passed"})
    done = shell.run(3, "sh", "-c", 'echo "$WEFT_PE of $WEFT_NPES on $FAKE_RSH_HOST, $PASSED $GIVEN $KEPT$WEFT_LOG"; pwd',
                     environment={"KEPT": "kept", "WEFT_LOG": "error"})
    wanted = [f"[{pe}] {pe} of 3 on {host}, passed given error" for pe, host in enumerate(("here", "here", "there"))]
    wanted += [f"[{pe}] {os.getcwd()}" for pe in range(3)]
    shell.require(done.returncode == 0 and sorted(done.stdout.splitlines()) == sorted(wanted), f"wanted {wanted}")

    done = shell.run(3, "sh", "-c", 'test $WEFT_PE != 2 || { echo "that was all" >&2; exit 7; }; sleep 1000')
    shell.require(done.returncode == 7, "the status must be that of the PE that failed")
    for text in ("PE 2 of 3", "on there", "exited with code 7", "that was all", "ending the other 2 PEs"):
        shell.require(text in done.stderr, f"wanted an error with: {text}")

    # The launcher dies without a word, and so does an agent: nothing may be left.
    with tempfile.TemporaryDirectory() as folder:
        pid = pathlib.Path(folder) / "pid"
        wrapped = Site(lambda _: ["sh", "-c", f'echo $$ > {pid}; exec "$@"', "sh", *hosts(3)])
        done = wrapped.run(3, "sh", "-c", f"test $WEFT_PE != 1 || kill -9 $(cat {pid}); sleep 1000")
        wrapped.require(done.returncode == -9, "it must have been killed")
    done = shell.run(3, "sh", "-c", "test $WEFT_PE != 1 || kill -9 $PPID; exec sleep 1000")
    shell.require(done.returncode != 0 and "host here: the remote shell" in done.stderr, "the lost host must be named")

    def refuses(words, status, *texts, environment=None):
        refused = Site(lambda _: [*(run if "--rsh" not in words else run[:1]), *words])
        done = refused.run(0, args.program, "meet", environment=environment)
        refused.require(done.returncode == status, f"the status must be {status}")
        for text in texts:
            refused.require(text in done.stderr, f"wanted an error with: {text}")

    refuses(["-n", "2", "--hosts", "here,nowhere"], 255, "No route to host", "host nowhere", "PE 1")
    refuses(["-n", "2", "--hosts", "here,mute"], 1, "host mute: no answer", environment={"WEFT_START_TIMEOUT": "1"})
    refuses(["-n", "2", "--hosts", "here:1,there:2"], 2, "2 PEs do not fit")
    refuses(["-n", "2", "--hosts", "here,-oProxyCommand=x"], 2, "is not a host")
    refuses(["-n", "2", "--hosts", "here", "--hostfile", "x"], 2, "one of them")
    refuses(["-n", "2", "--hostfile", "/nowhere/hosts"], 2, "cannot be read")
    refuses(["-n", "2", "--hosts", "here", "--rsh", "no_such_shell"], 1, "host here", "no_such_shell")
    missing = Site(lambda _: hosts(2))
    done = missing.run(2, "/nowhere/program")
    missing.require(done.returncode == 127 and "host here" in done.stderr, "a missing program must be named")


def check_unique_id(args):
    """By hand: a process of its own makes the id, and the PEs get it in their environment."""
    script = pathlib.Path(__file__).with_name("by_hand.sh")
    site = Site(lambda npes: [str(script), args.id_program, str(npes)])
    for npes in (1, 2, 4, 7):
        site.meets(args.program, npes, "tcp")
    site.notices_a_kill(args.program, (1, 137))


def main():
    checks = {"openmpi": check_openmpi, "mpich": check_mpich, "slurm": check_slurm, "weft-run": check_weft_run,
              "hosts": check_hosts, "unique-id": check_unique_id}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("launcher", choices=checks)
    parser.add_argument("--program", required=True)
    parser.add_argument("--weft-run")
    parser.add_argument("--id-program")
    parser.add_argument("--mpi-program", help="an MPI program of this launcher's MPI")
    parser.add_argument("--examples", nargs="*", default=[],
                        help="programs that check themselves; the other launchers run theirs as tests of their own")
    args = parser.parse_args()
    try:
        checks[args.launcher](args)
    except Failed as failure:
        print(failure)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
