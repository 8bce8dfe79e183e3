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


def check_mistakes(program):
    """An option's value that is wrong is named, with what is allowed."""
    for arguments, *texts in (
            (["gemm", "--dtype", "int8"], "--dtype", "'int8'", "bf16, fp16, e4m3"),
            (["gemm", "--vs", "mkl"], "--vs", "'mkl'", "nccl,cublas"),
            (["gemm", "4096", "1280"], "a shape has three numbers"),
            (["gemm", "4096", "0", "64"], "M N K", "'0'"),
            (["gemm", "--tiles", "--tile", "64x64"], "--tile", "'64x64'"),
            (["collectives", "--algorithm", "lamporte"], "--algorithm", "did you mean lamport?"),
            (["collectives", "--memory", "managed"], "--memory", "symmetric, plain"),
            (["AllReduceNorm", "--hidden", "12"], "--hidden", "a multiple of 8"),
            (["fused", "--rounds", "0"], "--rounds", "'0'"),
            (["gpu_start", "--since", "now"], "--since", "'now'")):
        expect(program, arguments, 2, *texts)


def check_modules(program, lib):
    """Rows of modules are listed where those are, with what they cannot do here; else `list` says what is missing."""
    expect(program, ["list"], 0, "put_lat", "tune_AllReduce_lat", "Sets: all, ", "tune")
    expect(program, ["tune", "--pes", "2", "-e", "1024", "--table", "/no/such/folder/table"], 1, "/no/such/folder/table")
    expect(program, ["tune", "--pes", "2", "-b", "8"], 1, "sizes go from 16")
    expect(program, ["tune_Broadcast", "--pes", "2", "-e", "1024", "--csv"], 0, "test,api,", "tune_Broadcast_lat,kernel,latency")
    if not os.path.exists(f"{lib}/weft/libweft_perf_cuda.so"):
        expect(program, ["list"], 0, "Not here: the device API on GPUs", "libweft_perf_cuda.so is not in", "-DWEFT_CUDA=ON",
               "Cannot run here: collectives, gemm and fused: this build has no CUDA")
        expect(program, ["gpu_put"], 2, "there is no test 'gpu_put'", "libweft_perf_cuda.so is not in")
        return
    expect(program, ["list"], 0, *"gpu_put_bw gpu_ring_requests_rate gpu_start_lat gpu_start_floor_lat AllReduce_bw "
           "AllReduceNorm_bw Gemm_lat GemmFewRows_lat AgGemm_lat GemmRs_lat GemmAr_lat".split())
    expect(program, ["gpu_start"], 1, "gpu_start needs --since")
    os.environ["WEFT_GPU"] = "off"
    expect(program, ["Gemm"], 1, "Gemm_lat needs a GPU for each PE, and PE 0 has none")
    expect(program, ["gpu", "--pes", "2"], 1, "gpu_put_bw needs a GPU")


def check_alone(program, lib):
    """Without its modules weft-perf has its own rows, and says why it lacks the others."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/bin")  # its run path leads to the libraries from there
        os.mkdir(f"{folder}/lib")
        for name in os.listdir(lib):
            if name != "weft":
                os.symlink(f"{lib}/{name}", f"{folder}/lib/{name}")
        alone = shutil.copy(program, f"{folder}/bin")
        expect(alone, ["list"], 0, "put_lat", f"libweft_perf_kernels.so is not in {folder}/lib/weft")
        expect(alone, ["fused"], 2, "there is no test 'fused'", "Not here: ", "libweft_perf_kernels.so")
        expect(alone, ["allocate", "-n", "3"], 0, "allocate_lat")
        os.mkdir(f"{folder}/lib/weft")
        with open(f"{folder}/lib/weft/libweft_perf_kernels.so", "w", encoding="utf-8") as file:
            file.write("no library")
        expect(alone, ["list"], 0, "put_lat", "Not here: operators", "libweft_perf_kernels.so: ")


def main():
    program = sys.argv[1]
    lib = os.path.realpath(f"{os.path.dirname(program)}/../lib")
    expect(program, ["--help"], 0, "--ctas", "weft-run -n 2", "--vs")
    expect(program, ["list", "barrier"], 0, "barrier_lat", "baseline:")
    check_mistakes(program)
    if os.path.exists(f"{lib}/weft/libweft_perf_kernels.so"):
        check_modules(program, lib)
        check_alone(program, lib)
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
