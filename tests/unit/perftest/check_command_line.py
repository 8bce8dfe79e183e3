#!/usr/bin/env python3
"""weft-perf as a user meets it: exit status and words of what goes wrong, and the table."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time


def expect(program, arguments, status, *texts):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    output = done.stdout + done.stderr
    problems = [text for text in texts if text not in output]
    if done.returncode != status or problems:
        sys.exit(f"{arguments}: exit status {done.returncode}, not {status}; missing {problems}\n{output}")


def check_interrupt(program):
    """Ctrl-C ends a long run soon, with what was measured and nothing left to wait for."""
    with subprocess.Popen([program, "put_lat", "--api", "host", "--pes", "2", "--seconds", "3600"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().startswith("# weft-perf")
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 130, (process.returncode, output, errors)
        assert "interrupted" in output, output


def main():
    program = sys.argv[1]
    expect(program, ["--help"], 0, "--ctas", "weft-run -n 2")
    expect(program, ["list", "barrier"], 0, "barrier_lat", "floor:")
    expect(program, ["tune"], 2, "usage", "weft-tune")
    expect(program, ["tune", "--pes", "2", "--to", "1024", "/no/such/folder/table"], 1, "/no/such/folder/table")
    with tempfile.TemporaryDirectory() as folder:  # where it is alone
        os.mkdir(f"{folder}/bin")  # its run path leads to the libraries from there
        os.symlink(os.path.realpath(f"{os.path.dirname(program)}/../lib"), f"{folder}/lib")
        alone = shutil.copy(program, f"{folder}/bin")
        expect(alone, ["fused"], 2, f"{folder}/bin/weft-gpu-fused cannot be run", "-DWEFT_CUDA=ON")
    expect(program, ["putt", "--pes", "2"], 2, "'putt'", "did you mean put?")
    expect(program, ["put", "-n", "x"], 2, "-n/--iters", "'x'")
    expect(program, ["put", "--frobnicate"], 2, "--frobnicate")
    expect(program, ["atomic", "-d", "short", "--pes", "2"], 2, "short")
    expect(program, ["put"], 2, "at least 2 PEs", "weft-run -n 2 weft-perf put", "--pes 2")
    expect(program, ["put", "--pes", "1"], 2, "at least 2 PEs")
    expect(program, ["allocate", "-n", "3"], 0, "allocate_lat", "1 PE as processes")
    expect(program, ["put_bw", "--pes", "2", "-n", "5", "-b", "8", "-e", "8", "--report-msgrate"], 0,
           "put_bw (host API)", "Mmsg/s", "GB/s = size / p50", "kernels:")
    check_interrupt(program)


if __name__ == "__main__":
    main()
