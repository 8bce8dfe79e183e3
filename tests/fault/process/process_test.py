#!/usr/bin/env python3
"""process_test.py WEFT_RUN PROGRAM: runs the cases of program.cpp; each is a job of its own, in surroundings that a
shell makes, with the exit status that it must have."""
import itertools
import os
import subprocess
import sys

WEFT_RUN, PROGRAM = sys.argv[1:3]
STREAMS = ["<&-", ">&-", "2>&-"]
SKIPPED = 77
# Output of PEs that weft-run cannot write ends the job, as a failure.
OUTPUT_LOST = 1


def shell(text):
    return ["sh", "-c", text, "sh"]


def job(npes, *command):
    return [WEFT_RUN, "-n", str(npes), "--timeout", "100", *command]


def cases():
    """name, command, exit statuses that are right"""
    for count in range(4):
        for closed in itertools.combinations(STREAMS, count):
            redirections = " ".join(closed)
            close = shell(f'exec "$@" {redirections}')
            yield f"alone {redirections}", [*close, PROGRAM, "streams"], {0}
            yield f"PEs {redirections}", job(2, *close, PROGRAM, "streams"), {0}
            lost = {0} if ">&-" not in closed and "2>&-" not in closed else {OUTPUT_LOST}
            yield f"weft-run {redirections}", [*close, *job(2, PROGRAM, "streams")], lost
            yield f"silent weft-run {redirections}", [*close, *job(2, PROGRAM, "silent")], {0}
    for case in ["fork_static", "fork_own"]:
        yield f"{case} alone", [PROGRAM, case], {0, SKIPPED}
        yield f"{case} of 3 PEs", job(3, PROGRAM, case), {0, SKIPPED}
    yield "fork_beside_threads", shell(f'{PROGRAM} fork_beside_threads 2> /dev/null'), {0, SKIPPED}
    for case in ["fork_local", "no_threads", "many_pes"]:
        yield case, [PROGRAM, case], {0, SKIPPED}
    yield "no_threads_in_job", job(2, PROGRAM, "no_threads_in_job"), {0, SKIPPED}
    takes_limits = subprocess.run([PROGRAM, "takes_limits"], check=False).returncode == 0
    for kilobytes in [1000000, 4000000] if takes_limits else []:
        limit = shell(f'ulimit -v {kilobytes}; exec "$@"')
        for npes in [1, 3]:
            yield (f"limited_addresses {kilobytes} of {npes} PEs",
                   job(npes, *limit, PROGRAM, "limited_addresses"), {0})
    for blocks in [0, 1, 1000, 100000]:  # of 512 bytes
        limit = shell(f'ulimit -f {blocks}; exec "$@"')
        yield f"limited_files {blocks}", [*limit, PROGRAM, "limited_files"], {0}


def main():
    # A child of fork() has no threads but their stacks, in which a leak checker does not look.
    os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    failures = count = 0
    for name, command, right in cases():
        count += 1
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
            status, said = done.returncode, done.stdout[-300:] + done.stderr[-2000:]
        except subprocess.TimeoutExpired:
            status, said = "none: it did not end", ""
        if status in right:
            continue
        failures += 1
        print(f"{name}: exit status {status}, not one of {right}\n{said}", flush=True)
    print(f"{count} cases, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
