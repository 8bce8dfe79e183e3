"""AllReduce, residual and norm from Python, by ctypes: weft-run -n 4 python3 main.py"""
import array
import ctypes
import math
import sys


# [library]
class NormProblem(ctypes.Structure):  # weft_all_reduce_norm_problem
    _fields_ = [("max_rows", ctypes.c_size_t), ("hidden", ctypes.c_size_t),
                ("dtype", ctypes.c_int), ("epsilon", ctypes.c_float)]


FLOAT32 = 0  # WEFT_FLOAT32

weft = ctypes.CDLL("libweft_kernels.so")
weft.weft_kernels_error.restype = ctypes.c_char_p
weft.weft_all_reduce_norm_workspace_bytes.restype = ctypes.c_size_t


def check(code):
    if code != 0:
        raise RuntimeError(weft.weft_kernels_error().decode())
# [library]


class Handle:
    """An object that a create() of the library made, and its destroy() ends."""

    def __init__(self, name, *arguments):
        self.value, self.destroy = ctypes.c_void_p(), getattr(weft, name + "_destroy")
        check(getattr(weft, name + "_create")(*arguments, ctypes.byref(self.value)))

    def __enter__(self):
        return self.value

    def __exit__(self, *error):
        self.destroy(self.value)


def address(values):
    return ctypes.c_void_p(values.buffer_info()[0])  # of a tensor: tensor.data_ptr()


def expected(npes, residual, weight, hidden, epsilon):
    sums = [npes * (npes + 1) / 2 * (i % 5) + residual[i] for i in range(len(residual))]
    normed = []
    for row in range(0, len(sums), hidden):
        values = sums[row:row + hidden]
        scale = 1 / math.sqrt(sum(v * v for v in values) / hidden + epsilon)
        normed += [v * scale * w for v, w in zip(values, weight)]
    return sums, normed


def run(job):
    pe, npes = weft.weft_runtime_pe(job), weft.weft_runtime_npes(job)
    rows, hidden, epsilon = 3, 50, 1e-5
    mine = array.array("f", ((pe + 1) * (i % 5) for i in range(rows * hidden)))
    residual = array.array("f", (i % 3 for i in range(rows * hidden)))
    weight = array.array("f", (1 + i % 2 for i in range(hidden)))
    sums, out = array.array("f", mine), array.array("f", mine)

    # [call]
    problem = NormProblem(rows, hidden, FLOAT32, epsilon)
    with Handle("weft_all_reduce_norm", job, ctypes.byref(problem), None) as norm:
        stream = None  # on a GPU: torch.cuda.current_stream().cuda_stream
        check(weft.weft_all_reduce_norm(norm, stream, address(out), address(sums), address(mine),
                                        address(residual), address(weight), ctypes.c_size_t(rows)))
        check(weft.weft_runtime_synchronize(job, stream))
    # [call]

    want_sums, want = expected(npes, residual, weight, hidden, epsilon)
    right = list(sums) == want_sums and all(abs(a - b) < 1e-5 for a, b in zip(out, want))
    if pe == 0:
        print(f"{npes} PEs, {rows} rows of {hidden}: {'right' if right else 'WRONG'}")
    return right


def main():
    with Handle("weft_runtime") as job:
        if weft.weft_runtime_gpu(job) >= 0:
            print("this example's buffers are the host's: run it with WEFT_GPU=off")
            return 1
        return 0 if run(job) else 1


if __name__ == "__main__":
    sys.exit(main())
