#!/usr/bin/env python3
"""host_lifecycle_test.py WEFT_RUN PROGRAM: runs the cases of host_lifecycle.cpp; each is a job of its own, with the
exit status and the words that it must have. {scratch} is a folder of the case's own."""
import os
import subprocess
import sys
import tempfile

CALLS = ["nvshmem_int_p", "nvshmem_malloc", "nvshmem_my_pe", "nvshmem_n_pes", "nvshmem_int_atomic_fetch_inc",
         "nvshmem_quiet", "nvshmem_barrier_all", "nvshmem_int_sum_reduce", "nvshmem_team_split_strided",
         "nvshmem_finalize"]

# case, PEs, environment, exit status, what the output must hold, or must not (with a "!" in front)
CASES = [
    ("plain", 1, {}, 0, []),
    ("plain", 3, {}, 0, []),
    ("again", 2, {}, 0, []),
    ("nested", 2, {}, 0, []),
    ("threads 0", 2, {}, 0, []),
    ("threads 3", 2, {}, 0, []),
    ("unique_id {scratch}/id", 3, {}, 0, []),
    ("unique_id {scratch}/id", 1, {}, 0, []),
    ("attributes_not_initialised {scratch}/id", 2, {}, 0, []),
    ("hostlib", 2, {}, 0, ["argument cb is a device library's"]),
    ("refused", 1, {}, 0, ["NVSHMEMX_INIT_WITH_UNIQUEID asks for attributes", "this is not a unique id",
                           "NVSHMEMX_INIT_WITH_MPI_COMM asks for the address",
                           "NVSHMEMX_INIT_WITH_SHMEM is for programs", "PE 2 of 2", "argument requested is 99"]),
    ("global_exit 0 7", 3, {}, 7, []),
    ("global_exit 2 41", 3, {}, 41, []),
    ("fork exit", 2, {}, 0, []),
    ("fork finalize", 2, {}, 0, ["nvshmem_finalize: this process is a child of fork()"]),
    ("fork global_exit", 2, {}, 0, ["nvshmem_global_exit: this process is a child of fork()"]),
    ("fork calls", 2, {}, 0, ["this process is a child of fork()"]),
    ("queued", 1, {}, 0, []),
    ("queued", 2, {}, 0, []),
    ("before", 1, {}, 0, [f"{name}: nvshmem_init has not been called" for name in CALLS]),
    ("after", 1, {}, 0, [f"{name}: called after nvshmem_finalize" for name in CALLS[:-1]]
     + ["!nvshmem_finalize: "]),
    ("small_heap", 2, {"NVSHMEM_SYMMETRIC_SIZE": "64MiB"}, 0, ["nvshmem_malloc", "(NVSHMEM_SYMMETRIC_SIZE)"]),
    ("plain", 2, {"NVSHMEM_SYMMETRIC_SIZE": "1.5g", "NVSHMEM_MAX_TEAMS": "16", "NVSHMEM_BOOTSTRAP": "MPI"}, 0, []),
    ("init", 1, {"NVSHMEM_SYMMETRIC_SIZE": "much"}, 1, ['NVSHMEM_SYMMETRIC_SIZE="much" is not a size']),
    ("init", 1, {"NVSHMEM_MAX_TEAMS": "0"}, 1, ['NVSHMEM_MAX_TEAMS="0" is not a number']),
    ("plain", 2, {"NVSHMEM_VERSION": "1", "NVSHMEM_INFO": "1"}, 0, ["NVSHMEM v", "NVSHMEM_SYMMETRIC_SIZE  most"]),
    ("plain", 2, {"NVSHMEM_DEBUG": "INFO"}, 0, [" info "]),
]


def main():
    weft_run, program = sys.argv[1:3]
    failures = 0
    for case, npes, environment, status, words in CASES:
        with tempfile.TemporaryDirectory() as scratch:
            done = subprocess.run([weft_run, "-n", str(npes), "--timeout", "120", program,
                                   *case.format(scratch=scratch).split()],
                                  capture_output=True, text=True, check=False, env={**os.environ, **environment})
        said = done.stdout + done.stderr
        missing = [word for word in words if (word.lstrip("!") in said) == word.startswith("!")]
        if done.returncode == status and not missing:
            continue
        failures += 1
        print(f"{case} at {npes} PEs with {environment}: exit status {done.returncode}, not {status}; "
              f"missing: {missing}\n{done.stdout}{done.stderr}")
    print(f"{len(CASES)} cases, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
