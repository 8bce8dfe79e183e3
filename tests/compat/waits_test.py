#!/usr/bin/env python3
"""waits_test.py WEFT_RUN PROGRAM [CASE...]: runs cases of waits.cpp (or of its NVSHMEM counterpart) as jobs of two PEs. A late
PE is waited for, whatever WEFT_WAIT_TIMEOUT is; a wait that can never end does not return, and the job's exit status is not 0."""
import os
import subprocess
import sys

LATE = {"WEFT_WAIT_TIMEOUT": "0.1"}
LIMITED = {"WEFT_WAIT_TIMEOUT": "0.1", "WEFT_WAIT_LIMIT": "0.7"}
GOES_ON = "it goes on waiting"

# case: variables, whether it ends well, what standard error must hold, and how often at least
CASES = {
    "barrier_all": (LATE, True, {GOES_ON: 2, "barrier_all on PE 1, which waits for PE 0": 2}),
    "sync_all": (LATE, True, {GOES_ON: 2, "sync_all on PE 1, which waits for PE 0": 2}),
    "team_sync": (LATE, True, {GOES_ON: 2}),
    "collective": (LATE, True, {GOES_ON: 2}),
    "active_set": (LATE, True, {GOES_ON: 2}),
    "allocation": (LATE, True, {GOES_ON: 2}),
    "wait_until": (LATE, True, {GOES_ON: 2, "wait_until on PE 1": 2}),
    "wait_until_any": (LATE, True, {GOES_ON: 2}),
    "set_lock": (LATE, True, {GOES_ON: 2}),
    "thread_lock": (LATE, True, {"goes on waiting": 2}),
    "finalize": (LATE, True, {GOES_ON: 2}),
    "any_in_turn": ({}, True, {}),
    "never_set": (LIMITED, False, {GOES_ON: 2, "WEFT_WAIT_LIMIT=0.7": 1}),
    "never_come": (LIMITED, False, {GOES_ON: 2, "WEFT_WAIT_LIMIT=0.7": 1}),
    "never_cleared": (LIMITED, False, {"WEFT_WAIT_LIMIT=0.7": 1}),
    "failed_put": ({"WEFT_FAULT": "fail_after=20"}, False, {"put of 4 bytes to PE 0": 1}),
    "failed_put_signal": ({"WEFT_FAULT": "fail_after=20"}, False, {"put of 4 bytes to PE 0": 1}),
    "lost_peer": ({}, False, {"PE 0": 1}),
    "lost_signal_fetch": ({}, False, {"weft[1] error": 1}),
    "lost_g": ({}, False, {"weft[1] error": 1}),
    "lost_get": ({}, False, {"weft[1] error": 1}),
    "lost_fetch": ({}, False, {"weft[1] error": 1}),
    "lost_fetch_add": ({}, False, {"weft[1] error": 1}),
    "lost_swap": ({}, False, {"weft[1] error": 1}),
}


def failure_of(weft_run, program, case):
    variables, ends_well, words = CASES[case]
    done = subprocess.run([weft_run, "-n", "2", "--timeout", "120", program, case], capture_output=True, text=True,
                          check=False, env={**os.environ, **variables})
    text = done.stdout + done.stderr
    wrong = [f"'{word}' is there {text.count(word)} times" for word, count in words.items() if text.count(word) < count]
    if (done.returncode == 0) != ends_well:
        wrong.append(f"exit status {done.returncode}")
    if "returned" in done.stdout:
        wrong.append("a routine returned that must not")
    return f"{case}: {', '.join(wrong)}\n{text}" if wrong else None


def main():
    weft_run, program, *cases = sys.argv[1:]
    failures = [failure for case in cases or CASES if (failure := failure_of(weft_run, program, case))]
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
