#!/usr/bin/env python3
"""lifecycle_test.py WEFT_RUN PROGRAM: runs the cases of lifecycle.cpp; each is a job of its own, with the exit status
and the words that it must have."""
import os
import subprocess
import sys

# case, PEs, exit status, what standard error must hold
CASES = [
    ("plain", 1, 0, []),
    ("plain", 3, 0, []),
    ("twice", 2, 0, []),
    ("again", 2, 0, []),
    ("no_finalize", 2, 0, []),
    ("no_finalize_status", 2, 5, []),
    ("older", 2, 0, []),
    ("threads 0", 2, 0, []),
    ("threads 1", 1, 0, []),
    ("threads 2", 2, 0, []),
    ("threads 3", 2, 0, []),
    ("bad_level", 1, 0, ["shmem_init_thread: argument requested is 99"]),
    ("global_exit 0 7", 3, 7, []),
    ("global_exit 1 0", 3, 0, []),
    ("global_exit 2 41", 3, 41, []),
    ("global_exit 0 3", 1, 3, []),
    ("fork exit", 2, 0, []),
    ("fork finalize", 2, 0, ["shmem_finalize: this process is a child of fork()"]),
    ("fork global_exit", 2, 0, ["shmem_global_exit: this process is a child of fork()"]),
    ("fork calls", 3, 0, ["this process is a child of fork()"]),
    ("before", 1, 0, [f"{name}: called before shmem_init" for name in [
        "shmem_int_p", "shmem_malloc", "shmem_my_pe", "shmem_n_pes", "shmem_int_atomic_fetch_inc", "shmem_quiet",
        "shmem_barrier_all", "shmem_int_sum_reduce", "shmem_ctx_create", "shmem_finalize"]]),
    ("after", 1, 0, [f"{name}: called after shmem_finalize" for name in [
        "shmem_long_p", "shmem_long_g", "shmem_set_lock", "shmem_team_sync", "shmem_free"]]),
    ("full", 2, 0, ["shmem_malloc of 1073741824 bytes: the symmetric heap is full", "(SHMEM_SYMMETRIC_SIZE)"]),
]
# Nothing to complain of: standard error is empty.
QUIET = [("finalize_twice", 2), ("empty_team", 2), ("empty_team", 1)]


def main():
    weft_run, program = sys.argv[1:3]
    failures = 0
    environment = {**os.environ, "SHMEM_SYMMETRIC_SIZE": "32MiB"}
    for case, npes, status, words in CASES + [(case, npes, 0, None) for case, npes in QUIET]:
        done = subprocess.run([weft_run, "-n", str(npes), "--timeout", "120", program, *case.split()],
                              capture_output=True, text=True, check=False, env=environment)
        missing = [word for word in words if word not in done.stderr] if words is not None else done.stderr
        if done.returncode == status and not missing:
            continue
        failures += 1
        print(f"{case} at {npes} PEs: exit status {done.returncode}, not {status}; missing: {missing}\n"
              f"{done.stdout}{done.stderr}")
    print(f"{len(CASES) + len(QUIET)} cases, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
