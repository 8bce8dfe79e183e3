#!/usr/bin/env python3
"""gpu_report.sh and gpu_table.py without GPUs: programs that print what they are told stand in for those
that measure, so that what is left is who is run how often, the table, the verdicts and the exit status."""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
REPORT = ROOT / "perftest/gpu_report.sh"
TABLE = ROOT / "perftest/peers/gpu_table.py"

SMI = """case $* in *index*) echo 0; echo 1 ;; *) echo 'A GPU, 1.0'; echo 'A GPU, 1.0' ;; esac"""
# A start-up takes a tenth of a second longer on PE 1.
START = """printf '{who}\\tstart-up\\t2 processes\\t0\\t%s\\ts\\n' "{seconds}.${{WEFT_PE}}" """
ROWS = """[ "$WEFT_PE" = 0 ] || exit 0
cat {lines}"""


def line(who, row, shape, size, value, unit):
    return f"{who}\t{row}\t{shape}\t{size}\t{value}\t{unit}\n"


MIB = 1 << 20
# As weft-perf --csv prints it.
CSV = "test,kind,shape,bytes,p50_ns,baseline,baseline_p50_ns,error\n"
OF_WEFT = (CSV +
           f"gpu_put_bw,bandwidth,8 x 1024,{32 * MIB},{32 * MIB / 352},floor,{32 * MIB / 355.5},\n"
           f"gpu_get_bw,bandwidth,8 x 1024,{32 * MIB},{32 * MIB / 300},floor,{32 * MIB / 355},\n"
           "gpu_put_quiet_lat,latency,thread,1024,3500.0,floor,3400.0,\n"
           "gpu_signal_lat,latency,thread,,1550.0,floor,1500.0,\n")
START_CSV = 'echo "' + CSV.strip() + """"; echo "gpu_start{which}_lat,latency,2 processes,,{seconds}.${{WEFT_PE}}e9,,," """
OF_NVSHMEM = (line("nvshmem", "put", "8 x 1024", 32 * MIB, 320, "GB/s") +
              line("nvshmem", "get", "8 x 1024", 32 * MIB, 150, "GB/s") +
              line("nvshmem", "put+quiet", "thread", 1024, 6.3, "us") +
              line("nvshmem", "signal", "thread", 0, 2.31, "us"))


def expect(condition, what, output):
    if not condition:
        sys.exit(f"{what}; what was printed:\n{output}")


def row_of(output, *words):
    """The words of a line that follow those with which it begins."""
    for text in output.splitlines():
        parts = text.split()
        if parts[: len(words)] == list(words):
            return parts[len(words):]
    return sys.exit(f"no line {' '.join(words)} in:\n{output}")


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def header(path, name, version):
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"#define {name.format(part)} {value}\n"
                            for part, value in zip(("MAJOR", "MINOR", "PATCH"), version)), encoding="utf-8")


def stand_ins(folder, launcher, starts_weft, rows_of_weft=ROWS):
    (folder / "weft.csv").write_text(OF_WEFT, encoding="utf-8")
    (folder / "nvshmem.tsv").write_text(OF_NVSHMEM, encoding="utf-8")
    program(folder / "path/nvidia-smi", SMI)
    start = 'case $*" " in *--start-up" "*) {} ; exit 0 ;; esac\n{}'
    log = f'echo "$0 $*" >> {folder}/log\n'
    program(folder / "bin/weft-perf",
            f"""{log}case $1 in
gpu_start_floor) {START_CSV.format(which="_floor", seconds=0)} ;;
gpu_start) {START_CSV.format(which="", seconds=starts_weft)} ;;
gpu) {rows_of_weft.format(lines=folder / "weft.csv")} ;;
esac""")
    program(folder / "lib/weft/libweft_perf_cuda.so", "")
    header(folder / "nvshmem/include/non_abi/nvshmem_version.h", "NVSHMEM_VENDOR_{}_VERSION", (3, 4, 5))
    header(folder / "nccl/include/nccl.h", "NCCL_{}", (2, 28, 9))
    program(folder / "bin/nvshmem_gpu-3.4.5",
            log + start.format(START.format(who="nvshmem", seconds=1),
                               ROWS.format(lines=folder / "nvshmem.tsv")))
    program(folder / "bin/nccl_gpu-2.28.9", log + START.format(who="nccl", seconds=2))
    (folder / "bin/weft-run").symlink_to(launcher)


def report(folder, *arguments):
    path = f"{folder / 'path'}:{os.environ['PATH']}"
    done = subprocess.run([REPORT, "--build", folder, *arguments], env={**os.environ, "PATH": path},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=100, check=False)
    return done.returncode, done.stdout, done.stderr


def in_folder(test):
    def run(launcher):
        with tempfile.TemporaryDirectory() as name:
            test(pathlib.Path(name), launcher)
    return run


@in_folder
def beside_nvshmem(folder, launcher):
    stand_ins(folder, launcher, starts_weft=0)
    status, table, errors = report(folder, "--nvshmem", folder / "nvshmem", "--nccl", folder / "nccl",
                                   "--turns", "3", "--out", folder / "lines")
    expect(status == 0, f"exit status {status}", table + errors)
    expect("2 A GPU, 1.0" in table and "NVSHMEM 3.4.5\nNCCL 2.28.9\n" in table, "no heading", table)
    put = row_of(table, "put", "8", "x", "1024", "32m", "GB/s")
    expect(put == "352.000 355.500 0.990 320.000 1.10 >= 98% of floor: yes".split(), "wrong put", table)
    get = row_of(table, "get", "8", "x", "1024", "32m", "GB/s")
    expect(get == "300.000 355.000 0.845 150.000 2.00 >= 98% of floor: NO".split(), "wrong get", table)
    quiet = row_of(table, "put+quiet", "thread", "1k", "us")
    expect(quiet == "3.500 3.400 0.971 6.300 1.80 >= 2 x NVSHMEM: NO".split(), "wrong put+quiet", table)
    signal = row_of(table, "signal", "thread", "-", "us")
    expect(signal[-4:] == "<= 1.6 us: yes".split(), "wrong signal", table)
    start = row_of(table, "start-up", "2", "processes", "-", "s")  # of the PE that is there last
    expect(start[:1] + start[3:5] == "0.100 1.100 11.00".split(), "wrong start-up", table)
    expect(" ".join(start).endswith("< floor + 1 s: yes; < NVSHMEM: yes; NCCL: 2.100"), "wrong start-up", table)
    expect("4 of 6 targets hold; not measured: 0; missed: 2" in table, "wrong summary", table)
    again = subprocess.run([TABLE, folder / "lines"], stdout=subprocess.PIPE, text=True, check=True)
    expect(again.stdout == table, "another table from the same lines", again.stdout)
    # PE 0 of each program: 1 start-up that does not count, then 3 turns.
    log = (folder / "log").read_text(encoding="utf-8")
    for name, calls in (("weft-perf gpu --csv", 3), ("weft-perf gpu_start --since", 4),
                        ("weft-perf gpu_start_floor --since", 4), ("nvshmem_gpu", 7), ("nccl_gpu", 4)):
        seen = log.count(f"bin/{name}")
        expect(seen == 2 * calls, f"{name} was run {seen} times by 2 PEs, wanted {2 * calls}", log)


@in_folder
def without_nvshmem(folder, launcher):
    stand_ins(folder, launcher, starts_weft=3)
    status, table, errors = report(folder, "--nvshmem", "none", "--nccl", "none", "--turns", "1")
    expect(status == 0, f"exit status {status}: a missed target is no failure", table + errors)
    expect("share  target" in table, "columns of peers that were not run", table)
    expect(">= 2 x NVSHMEM: not measured" in table, "a verdict without a measurement", table)
    expect("< floor + 1 s: NO" in table, "a late start holds", table)


@in_folder
def a_program_that_fails(folder, launcher):
    stand_ins(folder, launcher, starts_weft=0, rows_of_weft="cat {lines}; echo broken >&2; exit 3")
    status, table, errors = report(folder, "--nvshmem", folder / "nvshmem", "--nccl", "none", "--turns", "1")
    expect(status == 1, f"exit status {status}", table + errors)
    expect("exit status 3" in errors and "broken" in errors, "the failure is not said", errors)
    expect("352.000" not in table, "values of a program that failed", table)


@in_folder
def wrong_usage(folder, launcher):
    stand_ins(folder, launcher, starts_weft=0)
    for arguments in (["--gpus", "3"], ["--gpus", "x"], ["--turns", "0"], ["--what", "1"], ["--out"],
                      ["--nvshmem", folder], ["--nccl", "nowhere"]):
        status, table, errors = report(folder, *arguments)
        expect(status == 2 and not table, f"{arguments} has exit status {status}", table + errors)


@in_folder
def lines_that_are_none(folder, launcher):
    for text in ("weft\tput\n", line("weft", "put", "thread", "many", 1, "us"), line("who", "put", "thread", 8, 1, "us"),
                 line("floor", "put", "thread", 8, 1, "us")):
        (folder / "lines").write_text(text, encoding="utf-8")
        done = subprocess.run([TABLE, folder / "lines"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False)
        expect(done.returncode != 0 and "gpu_table.py:" in done.stderr, f"{text!r} is taken", done.stderr)


def main():
    launcher = pathlib.Path(sys.argv[1]).resolve()
    for test in (beside_nvshmem, without_nvshmem, a_program_that_fails, wrong_usage, lines_that_are_none):
        test(launcher)


if __name__ == "__main__":
    main()
