#!/usr/bin/env python3
"""check_tune.py WEFT_RUN WEFT_TUNE PROGRAM: weft-tune on host threads, and PROGRAM with what it wrote."""
import os
import pathlib
import subprocess
import sys
import tempfile

run, tune, program = sys.argv[1:]
failures = []


def call(*command, **environment):
    return subprocess.run(command, capture_output=True, text=True, timeout=250,
                          env={**os.environ, "WEFT_GPU": "off", **environment})


def expect(condition, what, done):
    if not condition:
        failures.append(f"{what}\n  exit {done.returncode}\n  {done.stdout}\n  {done.stderr}")


with tempfile.TemporaryDirectory() as folder:
    table = pathlib.Path(folder) / "table"
    done = call(run, "-n", "2", tune, "--from", "1024", "--to", "4096", str(table))
    expect(done.returncode == 0 and table.exists(), "a table of processes", done)
    lines = [line.split() for line in table.read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    names = ["AllReduce", "AllGather", "ReduceScatter", "AllToAll", "AllToAllV", "Broadcast", "AllReduceNorm"]
    expect(lines[0] == ["weft-kernels-table", "1"], "the first line", done)
    expect([n for n in names if any(l[0] == n and l[1:3] == ["2", "any"] for l in lines)] == names,
           "each collective's last row is for all sizes, and for 2 PEs", done)
    expect("2 PEs on host threads" in table.read_text(encoding="utf-8"), "the comment", done)

    done = call(run, "-n", "2", program, WEFT_KERNELS_TABLE=str(table))
    expect(done.returncode == 0, "a program with the table", done)
    table.write_text("weft-kernels-table 1\nAllReduce any any simple none 1\n", encoding="utf-8")
    done = call(run, "-n", "2", program, WEFT_KERNELS_TABLE=str(table))
    expect(done.returncode != 0 and f"{table}:2: blocks is 'none'" in done.stderr, "a bad table", done)

    done = call(tune, "--pes", "2", "--what", "Broadcast", "--to", "2048", str(table))
    text = table.read_text(encoding="utf-8")
    expect(done.returncode == 0 and "tune_Broadcast_lat" in done.stdout and "AllReduce" not in text and "2 any" in text,
           "one collective, of threads", done)
    done = call(tune, "--pes", "2", "--to", "1024", "/no/such/folder/table")
    expect(done.returncode == 1 and "/no/such/folder/table" in done.stderr, "a file that cannot be written", done)
    for mistake in (["--what", "Gemm", "f"], ["--pes", "0", "f"], ["--from", "many", "f"], ["--x", "1", "f"],
                    ["--from", "4096", "--to", "512", "f"], [], ["--pes", "2"]):
        done = call(tune, *mistake)
        expect(done.returncode == 2 and done.stderr, f"a mistake: {mistake}", done)

print("\n".join(failures) or "weft-tune and its tables: fine")
sys.exit(1 if failures else 0)
