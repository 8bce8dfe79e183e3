#!/usr/bin/env python3
"""kernels_report.sh and kernels_report.py without GPUs: programs that print what was recorded stand in for those that
measure."""
import csv
import importlib.util
import io
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from check_rows import FIELDS

ROOT = pathlib.Path(__file__).resolve().parents[3]
REPORT = ROOT / "perftest/kernels_report.sh"

SMI = "case $* in *index*) echo 0; echo 1 ;; *) echo 'NVIDIA H100 80GB HBM3, 580.1'; echo 'NVIDIA H100 80GB HBM3, 580.1' ;; esac"


def csv_of(*rows):
    """As weft-perf --csv prints it."""
    made = io.StringIO()
    writer = csv.DictWriter(made, FIELDS, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return made.getvalue()


def collective(test, size, us, baseline_us, rate=0.0, plan="ll, 1 blocks of 128 threads", layer=""):
    return {"test": f"{test}_bw", "api": "kernel", "kind": "bandwidth", "layer": layer, "bytes": size, "p50_ns": 1e3 * us,
            "bandwidth_gb_s": rate, "baseline": "NCCL" if baseline_us else "",
            "baseline_p50_ns": 1e3 * baseline_us if baseline_us else "", "plan": plan}


def product(test, shape, us, rate, baseline_us, plan):
    return {"test": f"{test}_lat", "api": "kernel", "kind": "latency", "shape": shape, "p50_ns": 1e3 * us, "tflop_s": rate,
            "baseline": "cuBLASLt", "baseline_p50_ns": 1e3 * baseline_us, "plan": plan}


def fused(test, layer, shape, us, in_turn_us, efficiency, plan):
    return {"test": f"{test}_lat", "api": "kernel", "kind": "latency", "layer": layer, "shape": shape, "p50_ns": 1e3 * us,
            "baseline": "in turn", "baseline_p50_ns": 1e3 * in_turn_us, "efficiency": efficiency,
            "others_p50_ns": "Gemm alone=700000.0;NCCL=390000.0", "plan": plan}


COLLECTIVES = csv_of(
    collective("AllReduce", 8, 3.40, 5.70),
    collective("AllReduce", 4096, 3.70, 3.50, 1.1),
    collective("AllReduce", 1 << 20, 10.80, 13.60, 97.1, "simple, 64 blocks of 512 threads, pieces of 8192 bytes"),
    collective("AllReduceNorm", 16384, 5.00, 10.00, 3.3, layer="hidden 8192"),
    collective("AllReduceNorm", 32768, 6.00, 10.00, 3.3, layer="hidden 8192"))
ALONE = csv_of(collective("AllReduce", 8, 3.40, 0))
GEMM = csv_of(
    product("Gemm", "8192 x 3584 x 8192", 690.00, 697.1, 700.00, "128x256, 132 blocks"),
    product("GemmFewRows", "128 x 5120 x 3200", 10.00, 419.4, 9.00, "64x64, 80 blocks"))
FUSED = csv_of(
    fused("AgGemm", "LLaMA-3.1-70B", "8192 x 3584 x 8192", 750, 1006, 0.920, "overlapped, 8 blocks push"),
    fused("GemmRs", "GPT-3", "8192 x 12288 x 6144", 1900, 2130, 0.932, "scattered"))
TORCH = """torch: AllReduce | 8 B | 4.10 | one_shot
torch: AllReduce | 1 MiB | 9.00 | two_shot
torch: GemmRs GPT-3 | 8192 x 12288 x 6144 | 2000.00 | fused_matmul_reduce_scatter
"""


def expect(condition, what, output=""):
    if not condition:
        sys.exit(f"{what}; what was printed:\n{output}")


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


class Machine:
    """A build and an nvidia-smi that print what they are told."""

    def __init__(self, folder):
        self.folder = folder
        self.bin = folder / "build/bin"
        program(folder / "path/nvidia-smi", SMI)
        self.has_python()
        program(self.folder / "build/lib/weft/libweft_perf_kernels.so", "")
        program(self.bin / "weft-perf", 'exec "$(dirname "$0")/sets/$1"')
        program(self.bin / "weft-run", 'echo "$*" >> "$(dirname "$0")/launches"\nshift 4\nexec "$@"')

    def prints(self, name, text, status=0, error=""):
        """Weft-perf prints this of a set."""
        errors = f"echo {shlex.quote(error)} >&2\n" if error else ""
        (self.folder / name).write_text(text, encoding="utf-8")
        program(self.bin / "sets" / name, f"cat {shlex.quote(str(self.folder / name))}\n{errors}exit {status}")

    def has(self, name, text):
        """A tool of the machine's, as long as it is needed: None takes it away."""
        if text is None:
            (self.folder / "path" / name).unlink()
        else:
            program(self.folder / "path" / name, text)

    def has_python(self, torch=None):
        """One that runs all that is not PyTorch's: what that prints is said, or it has none."""
        self.has("python3", f"""case $* in
*'import torch'*) exit {1 if torch is None else 0} ;;
*torch_symmetric.py*) {torch} ;;
*) exec {shlex.quote(sys.executable)} "$@" ;;
esac""")

    def report(self, *arguments, path=None):
        (self.bin / "launches").unlink(missing_ok=True)
        environment = {**os.environ, "PATH": f"{self.folder}/path:{path or os.environ['PATH']}"}
        return subprocess.run([REPORT, "--build", self.folder / "build", *arguments], env=environment, timeout=60,
                              capture_output=True, text=True)

    def rows(self, out):
        with (out / "report.csv").open(encoding="utf-8") as file:
            return {(row["what"], row["size"]): row for row in csv.DictReader(file)}


def check_whole(machine):
    out = machine.folder / "out"
    machine.prints("collectives", COLLECTIVES)
    machine.prints("gemm", GEMM)
    machine.prints("fused", FUSED)
    nccl = machine.folder / "libnccl.so.2"
    nccl.touch()
    done = machine.report("--nccl", str(nccl), "--link", "194.2", str(out))
    expect(done.returncode == 0, "a whole report", done.stdout + done.stderr)
    launches = (machine.bin / "launches").read_text(encoding="utf-8").splitlines()
    expect([l.split()[1] for l in launches] == ["2", "1", "2"], "who runs on how many PEs", launches)
    rows = machine.rows(out)
    expect(len(rows) == 9, "every row is there", rows)
    small, large = rows["AllReduce", "8 B"], rows["AllReduce", "1 MiB"]
    expect((small["Weft us"], small["baseline"], small["baseline us"], small["ratio"]) == ("3.40", "NCCL", "5.70", "1.68"),
           "a row", small)
    expect(small["GPU"] == "2 x NVIDIA H100 80GB HBM3, driver 580.1", "the GPU", small)
    expect(small["command"] == f"weft-run -n 2 weft-perf collectives --vs nccl,cublas --nccl {nccl} --csv", "the command", small)
    expect(small["date"][:2] == "20" and small["verdict"] == "met", "date and verdict", small)
    expect(large["ceiling"] == "50%", "97.1 of 194.2 GB/s", large)
    expect(rows["AllReduce", "4 KiB"]["verdict"] == "missed", "a miss", rows)
    expect(rows["AllReduceNorm 8192", "16 KiB"]["baseline"] == "NCCL and a kernel", "the norm's peer", rows)
    product = rows["Gemm", "8192 x 3584 x 8192"]
    expect((product["ceiling"], product["verdict"], product["plan"]) == ("88%", "met", "128x256, 132 blocks"),
           "a product", product)
    expect(rows["Gemm", "128 x 5120 x 3200"]["verdict"] == "missed", "a slow product", rows)
    gathered = rows["AgGemm LLaMA-3.1-70B", "8192 x 3584 x 8192"]
    expect((gathered["Weft us"], gathered["baseline us"], gathered["ratio"], gathered["ceiling"]) ==
           ("750.00", "1006.00", "1.34", "92%"), "a fused operator", gathered)
    expect(rows["GemmRs GPT-3", "8192 x 12288 x 6144"]["Weft us"] == "1900.00", "its last time", rows)
    markdown = (out / "report.md").read_text(encoding="utf-8")
    expect("7 of 9 targets met." in markdown and "| AllReduce | 8 B | 3.40 | NCCL | 5.70 |  | 1.68 |" in markdown,
           "the table", markdown)
    check_plot(out / "report.svg", markdown, done.stderr)


def check_plot(path, markdown, errors):
    if importlib.util.find_spec("matplotlib") is None:
        expect(not path.exists() and "report.svg" not in markdown, "no plot, and none in the report", markdown)
        expect("python3 has no matplotlib" in errors and "pip install matplotlib" in errors, "why", errors)
        return
    words = ["".join(node.itertext()) for node in
             xml.etree.ElementTree.parse(path).getroot().iter("{http://www.w3.org/2000/svg}text")]
    expect("AllReduce" in words and "AllReduceNorm 8192" in words and " 1.34" in words, "the plot", words)
    expect("![Times](report.svg)" in markdown, "the plot in the report", markdown)


def check_torch(machine):
    """The fastest peer counts."""
    out = machine.folder / "torch"
    rows = machine.folder / "torch rows"
    rows.write_text(TORCH, encoding="utf-8")
    machine.has_python(f"echo \"$*\" > '{machine.folder}/torch arguments'; cat '{rows}'")
    done = machine.report("--vs", "cublas,torch", str(out))
    expect(done.returncode == 0, "a report with PyTorch", done.stdout + done.stderr)
    arguments = (machine.folder / "torch arguments").read_text(encoding="utf-8")
    expect("--gpus 2" in arguments and "kernels.txt" in arguments and "fused.txt" in arguments, "whose rows", arguments)
    rows = machine.rows(out)
    small, large = rows["AllReduce", "8 B"], rows["AllReduce", "1 MiB"]
    expect((small["PyTorch us"], small["ratio"], small["verdict"]) == ("4.10", "1.21", "met"), "slower than NCCL", small)
    expect((large["ratio"], large["verdict"]) == ("0.83", "missed"), "the faster peer", large)
    expect(rows["GemmRs GPT-3", "8192 x 12288 x 6144"]["PyTorch us"] == "2000.00", "a fused operator", rows)
    markdown = (out / "report.md").read_text(encoding="utf-8")
    expect("| GPT-3 | 8192 x 12288 x 6144 |  | 1900 / 2000 (0.93) |" in markdown, "in short, a layer", markdown)
    expect("2 shapes, ratios 0.90 to 1.01, geometric mean 0.956." in markdown, "in short, products", markdown)
    expect("torch_symmetric.py --gpus 2" in (out / "report.md").read_text(encoding="utf-8"), "the command")
    machine.has_python()


def check_without(machine):
    out = machine.folder / "alone"
    machine.prints("collectives", ALONE, error="without NCCL: libnccl.so.2: cannot open shared object file")
    done = machine.report(str(out))
    expect(done.returncode == 0, "without NCCL", done.stdout + done.stderr)
    expect("cannot open shared object file" in done.stderr and "give --nccl FILE" in done.stderr, "why", done.stderr)
    expect("cannot open shared object file" in (out / "report.md").read_text(encoding="utf-8"), "the same in the report")
    row = machine.rows(out)["AllReduce", "8 B"]
    expect((row["baseline"], row["ratio"], row["verdict"]) == ("none", "", ""), "no baseline, no verdict", row)


def check_one_gpu(machine):
    out = machine.folder / "one"
    machine.prints("gemm", GEMM)
    done = machine.report("--gpus", "1", str(out))
    expect(done.returncode == 0 and "one GPU: the product alone" in done.stderr, "one GPU", done.stderr)
    expect({what for what, _ in machine.rows(out)} == {"Gemm"}, "nothing that travels", machine.rows(out))


def check_no_cublas(machine):
    """A failure is reported with its reason, and the others' rows are there."""
    out = machine.folder / "no cublas"
    why = "weft-perf: PE 0: unsupported: Gemm: cuBLASLt is needed for this, and not found; install CUDA's cublas"
    machine.prints("collectives", COLLECTIVES)
    machine.prints("gemm", csv_of(), status=1, error=why)
    machine.prints("fused", FUSED, status=1, error="weft-perf: PE 0: 3 elements of GPT-3 are wrong")
    done = machine.report("--vs", "cublas,torch", str(out))
    expect(done.returncode == 1 and why in done.stderr and "gemm.txt: has no row" in done.stderr, "who failed", done.stderr)
    text = (out / "report.md").read_text(encoding="utf-8")
    expect(f"exit status 1: {why}" in text and "exit status 1: weft-perf: PE 0: 3 elements" in text, "why", text)
    expect(len(machine.rows(out)) == 7, "the others' rows, and what came before the failure", machine.rows(out))
    machine.prints("gemm", GEMM)


def check_bare_machine(machine):
    """The things that all programs need are looked for before any runs."""
    out = str(machine.folder / "bare")

    def refused(text, status=1, *arguments):
        done = machine.report(*arguments, out)
        expect(done.returncode == status and text in done.stderr, text, done.stderr)
        expect(not (machine.bin / "launches").exists(), f"nothing has run: {text}")

    machine.has("nvidia-smi", "echo 'NVIDIA-SMI has failed'; exit 9")
    refused("is the driver loaded? It says: NVIDIA-SMI has failed")
    machine.has("nvidia-smi", SMI)
    refused("--gpus 3: this machine has 2", 2, "--gpus", "3")
    refused("--nccl /no/libnccl.so: no such file", 2, "--nccl", "/no/libnccl.so")
    refused("rccl is none of nccl, cublas, torch", 2, "--vs", "nccl,rccl")
    machine.has("ldd", "echo 'libfmt.so.9 => not found'; echo 'libc.so.6 => /lib/libc.so.6'; echo 'libx.so => not found'")
    refused("weft-perf lacks libfmt.so.9 libx.so: install what has it, or copy it to ")
    machine.has("ldd", None)
    # Without python3 all is measured, and the report can be written elsewhere.
    machine.has("python3", None)
    tools = machine.folder / "tools"
    tools.mkdir()
    for name in "cat date dirname env grep head mkdir sed tail tr wc".split():
        (tools / name).symlink_to(shutil.which(name))
    done = machine.report(out, path=tools)
    expect(done.returncode == 1 and "python3 is not there" in done.stderr, "no python3", done.stderr)
    expect((machine.folder / "bare/gemm.txt").read_text(encoding="utf-8").endswith(GEMM), "all is measured")
    machine.has_python()


def check_failures(machine):
    out = str(machine.folder / "failed")
    machine.prints("gemm", GEMM, status=1)
    done = machine.report(out)
    expect(done.returncode == 1 and "exit status 1 of weft-run -n 1 weft-perf gemm" in done.stderr, "a program that fails", done.stderr)
    machine.prints("gemm", "no rows\n")
    done = machine.report(out)
    expect(done.returncode != 0 and "gemm.txt: has no row" in done.stderr, "no rows", done.stderr)
    machine.prints("gemm", GEMM.replace("690000.0", "fast"))
    done = machine.report(out)
    expect(done.returncode != 0 and "gemm.txt:6: not as the programs print it" in done.stderr, "a bad row", done.stderr)
    module = machine.folder / "build/lib/weft/libweft_perf_kernels.so"
    module.rename(module.with_suffix(".away"))
    done = machine.report(out)
    expect(done.returncode == 1 and "libweft_perf_kernels.so: build it" in done.stderr, "no module", done.stderr)
    module.with_suffix(".away").rename(module)
    machine.prints("gemm", GEMM)
    for mistake in ([], ["--gpus"], ["--gpus", "x", out], ["--what", "1", out], [out, out], ["--build", "/no", out]):
        done = machine.report(*mistake)
        expect(done.returncode == 2 and "kernels_report.sh [--gpus N]" in done.stderr, f"a mistake: {mistake}", done.stderr)


with tempfile.TemporaryDirectory(prefix="a folder with spaces ") as name:
    stands_in = Machine(pathlib.Path(name))
    check_whole(stands_in)
    check_torch(stands_in)
    check_without(stands_in)
    check_one_gpu(stands_in)
    check_no_cublas(stands_in)
    check_bare_machine(stands_in)
    check_failures(stands_in)
print("kernels_report.sh: fine")
