#!/usr/bin/env python3
"""as_torchrun.py N PROGRAM: runs PROGRAM N times with the environment that torchrun gives its processes, and a folder
that all share as argument. Exit status: 0 if all ended so."""
import os
import subprocess
import sys
import tempfile


def main():
    npes, program = int(sys.argv[1]), sys.argv[2]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PMI", "OMPI", "SLURM"))}
    with tempfile.TemporaryDirectory() as folder:
        programs = []
        for rank in range(npes):
            environment = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(npes),
                           "LOCAL_WORLD_SIZE": str(npes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500",
                           "TORCHELASTIC_RUN_ID": "none"}
            programs.append(subprocess.Popen([program, folder], env={**inherited, **environment}))
        statuses = [one.wait() for one in programs]
    print(f"exit statuses {statuses}")
    return 1 if any(statuses) else 0


if __name__ == "__main__":
    sys.exit(main())
