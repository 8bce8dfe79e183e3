#!/usr/bin/env python3
"""Proves that check_layers.py fails on what it must fail on: a small tree per forbidden include."""
import pathlib
import subprocess
import sys
import tempfile

CHECK = pathlib.Path(__file__).with_name("check_layers.py")

GOOD = {
    "include/weft/a.hpp": "#include <vector>\n",
    "include/compat/shmem.h": '#include <weft/a.hpp>\n#include "shmem/i.h"\n',
    "include/compat/shmem/i.h": "#include <stddef.h>\n",
    "device/weft/dev/b.hpp": "#include <weft/a.hpp>\n",
    "src/base/c.hpp": "#include <weft/a.hpp>\n",
    "bootstrap/d.hpp": '#include "src/base/c.hpp"\n',
    "host/memory/e.hpp": '#include "bootstrap/d.hpp"\n#include <weft/dev/b.hpp>\n',
    "host/runtime/f.hpp": '#include "host/memory/e.hpp"\n',
    "host/api/j.cpp": "#include <shmem.h>\n",
    "perftest/g.cpp": "#include <weft/a.hpp>\n",
    "kernels/gemm/h_sm90.hpp": "#include <cuda.h>\n#include <weft/a.hpp>\n",
    "kernels/fused/i/j_sm90.hpp": '#include "kernels/gemm/h_sm90.hpp"\n',
}

BAD = {
    "a contract reaches into a body": ("include/weft/x.hpp", "#include <weft/dev/b.hpp>\n"),
    "a contract reaches into the compatibility headers": ("include/weft/x.hpp", "#include <shmem.h>\n"),
    "the same by a path": ("include/weft/x.hpp", '#include "include/compat/shmem.h"\n'),
    "the runtime knows of the compatibility headers": ("host/runtime/x.cpp", "#include <shmem.h>\n"),
    "a compatibility header leaves its root": ("include/compat/x.h", '#include "../weft/a.hpp"\n'),
    "a body reaches into the library": ("device/weft/dev/x.hpp", '#include "src/base/c.hpp"\n'),
    "the base knows of PEs": ("src/base/x.cpp", '#include "host/memory/e.hpp"\n'),
    "the bootstrap knows of the heap": ("bootstrap/x.cpp", '#include "host/memory/e.hpp"\n'),
    "memory knows of the runtime": ("host/memory/x.cpp", '#include "host/runtime/f.hpp"\n'),
    "a benchmark uses internals": ("perftest/x.cpp", '#include "host/memory/e.hpp"\n'),
    "an operator uses internals": ("kernels/core/x.hpp", '#include "host/memory/e.hpp"\n'),
    "an operator reaches past the umbrella": ("kernels/core/x.hpp", "#include <weft/dev/b.hpp>\n"),
    "a protocol knows of a product": ("kernels/protocol/x.hpp", '#include "kernels/gemm/h_sm90.hpp"\n'),
    "a product knows of what is fused with it": ("kernels/gemm/x.hpp", '#include "kernels/fused/i/j_sm90.hpp"\n'),
    "a folder of operators without a level": ("kernels/other/x.hpp", '#include "kernels/gemm/h_sm90.hpp"\n'),
    "a vendor header in what serves all targets": ("kernels/gemm/x.hpp", "#include <cuda.h>\n"),
    "a tutorial uses bodies": ("docs/tutorials/x.cpp", "#include <weft/dev/b.hpp>\n"),
    "a vendor header in the open": ("host/memory/x.cpp", "#include <cuda_runtime.h>\n"),
    "a verbs header in the open": ("src/base/x.cpp", "#include <infiniband/verbs.h>\n"),
    "a relative include": ("src/base/x.cpp", '#include "c.hpp"\n'),
    "a cycle": ("include/weft/a.hpp", "#include <weft/a2.hpp>\n"),
}


def run(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return subprocess.run([sys.executable, CHECK, folder], capture_output=True, text=True)


def main():
    failures = 0
    good = run(GOOD)
    if good.returncode != 0:
        print("a clean tree was refused:", good.stdout)
        failures += 1
    for what, (name, text) in BAD.items():
        files = dict(GOOD, **{name: text, "include/weft/a2.hpp": "#include <weft/a.hpp>\n"})
        if run(files).returncode == 0:
            print("not noticed:", what)
            failures += 1
    print(f"{1 + len(BAD) - failures} passed, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
