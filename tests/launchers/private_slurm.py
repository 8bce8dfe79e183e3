"""A Slurm of one node for the length of a test: munged, slurmctld and slurmd in a temporary folder."""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sinfo")
SEARCH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
NODE_CPUS = 16  # whatever the machine has, so that srun starts as many tasks at once

SLURM_CONF = """
ClusterName=weft
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/linear
SchedulerType=sched/builtin
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
KillWait=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def find(program):
    return shutil.which(program, path=SEARCH)


def missing():
    """Why there can be no private Slurm; empty if there can."""
    absent = [program for program in PROGRAMS if find(program) is None]
    if absent:
        return f"{', '.join(absent)} not installed (scripts/install-deps.sh launchers)"
    return "" if os.geteuid() == 0 else "slurmd needs root"


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class PrivateSlurm:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.daemons = []
        self.environment = {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def daemon(self, *command):
        log = open(self.folder / f"{command[0]}.out", "wb")
        environment = dict(os.environ, **self.environment)
        self.daemons.append(subprocess.Popen([find(command[0]), *command[1:]], stdin=subprocess.DEVNULL, stdout=log,
                                             stderr=log, env=environment, start_new_session=True))

    def start(self):
        os.chmod(self.folder, 0o755)
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        controller_port, node_port = free_ports(2)
        host = socket.gethostname().split(".")[0]
        (self.folder / "slurm.conf").write_text(SLURM_CONF.format(
            host=host, folder=self.folder, controller_port=controller_port, node_port=node_port, cpus=NODE_CPUS))
        (self.folder / "cgroup.conf").write_text("CgroupAutomount=no\n")
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        at = self.folder
        self.daemon("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={at}/munge.socket",
                    f"--pid-file={at}/munged.pid", f"--log-file={at}/munged.log", f"--seed-file={at}/munged.seed")
        self.wait_for(lambda: (at / "munge.socket").exists(), "munged")
        self.daemon("slurmctld", "-D", "-f", str(at / "slurm.conf"))
        self.daemon("slurmd", "-D", "-f", str(at / "slurm.conf"), "-N", host)
        self.wait_for(self.node_is_idle, "the node")

    def mpi_plugins(self):
        listed = subprocess.run([find("srun"), "--mpi=list"], env=dict(os.environ, **self.environment),
                                capture_output=True, text=True, check=True)
        return (listed.stdout + listed.stderr).split()

    def node_is_idle(self):
        state = subprocess.run([find("sinfo"), "-h", "-o", "%T"], env=dict(os.environ, **self.environment),
                               capture_output=True, text=True)
        return state.stdout.strip() == "idle"

    def wait_for(self, ready, what):
        for _ in range(300):
            if ready():
                return
            ended = [each.args[0] for each in self.daemons if each.poll() is not None]
            if ended:
                raise RuntimeError(f"{ended[0]} ended:\n{self.logs()}")
            time.sleep(0.1)
        raise RuntimeError(f"{what} of the private Slurm is not ready after 30 s:\n{self.logs()}")

    def logs(self):
        texts = [f"== {path.name}\n" + path.read_text(errors="replace")[-3000:]
                 for path in sorted(self.folder.glob("*.log")) + sorted(self.folder.glob("*.out"))]
        return "\n".join(texts)

    def stop(self):
        for each in reversed(self.daemons):
            each.send_signal(signal.SIGTERM)
        for each in reversed(self.daemons):
            try:
                each.wait(10)
            except subprocess.TimeoutExpired:
                each.kill()
                each.wait()
