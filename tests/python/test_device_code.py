"""Kernels of the tutorials for Numba and CuPy, compiled without a GPU: by Numba to PTX, and by NVRTC."""

import ctypes
import ctypes.util
import glob
import re
import sys
from pathlib import Path

import pytest

from weft import device_code

tutorials = Path(__file__).resolve().parents[2] / "docs" / "tutorials" / "python"
sys.path += [str(tutorials / "09-numba"), str(tutorials / "10-cupy")]


def test_numba_links_the_functions():
    cuda = pytest.importorskip("numba.cuda")
    pytest.importorskip("numba_cuda")
    from numba import float32, uint64  # noqa: F401
    from numba_ring import pass_on

    code, _ = cuda.compile(pass_on, (uint64, uint64, uint64, uint64, uint64), device=False, cc=(9, 0), abi="numba", output="ptx")
    library = Path(device_code.ptx()).read_text(encoding="utf-8")
    called = set(re.findall(r"^\s+(weft_\w+), *$", code, re.MULTILINE))
    assert called == {"weft_my_pe", "weft_n_pes", "weft_put_signal_set_block", "weft_wait_until_u64_block"}
    for name in called:
        assert re.search(rf"\.visible \.func.*\b{name}\(", library)


def nvrtc():
    found = glob.glob("/usr/local/cuda*/lib64/libnvrtc.so") + [ctypes.util.find_library("nvrtc") or ""]
    if not found[0]:
        pytest.skip("there is no libnvrtc")
    return ctypes.CDLL(found[0])


def test_nvrtc_compiles_cupys_source():
    from cupy_ring import SOURCE

    library, program = nvrtc(), ctypes.c_void_p()
    assert library.nvrtcCreateProgram(ctypes.byref(program), SOURCE.encode(), b"pass.cu", 0, None, None) == 0
    options = [option.encode() for option in (*device_code.nvrtc_options(), "-arch=sm_90")]
    failed = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    assert failed == 0, log.value.decode()
    library.nvrtcGetCUBINSize(program, ctypes.byref(size))
    assert size.value > 1000
