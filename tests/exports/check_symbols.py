#!/usr/bin/env python3
"""check_symbols.py [--own-std] LIBRARY...: fails where a shared library defines a dynamic symbol that is not Weft's own,
or, unless it was linked with a standard library of its own, takes from others what reads numbers by iostreams or by the
locale of the process."""
import re
import subprocess
import sys

OWN = re.compile(r"_ZNK?4weft|_ZT[ISV]N4weft|weft_|p?shmemx?_|nvshmemx?_|nvshmemid_"
                 r"|p?(shmalloc|shrealloc|shmemalign|shfree|start_pes)$|p?_(my_pe|num_pes)$")
READS = re.compile(r"istream|stringstream|ifstream|_ZNK?Si|_ZStrs|strto(?!k)|wcsto|scanf|ato[fil]|atoll")


def symbols(library, kind):
    text = subprocess.run(["nm", "-D", kind, library], check=True, capture_output=True, text=True).stdout
    return [line.split()[-1].split("@")[0] for line in text.splitlines()]


def faults(library, own_std):
    defined = symbols(library, "--defined-only")
    if not defined:
        yield "exports nothing"
    for name in defined:
        if not OWN.match(name):
            yield f"exports {name}, which is not Weft's: see cmake/exports.map"
    for name in symbols(library, "--undefined-only"):
        if not own_std and READS.search(name) and name != "strtod":  # strtod: sizes with fractions, see bytes_in()
            yield f"reads numbers by {name}: see src/base/text.hpp"


def main():
    own_std = "--own-std" in sys.argv
    found = [f"{library} {fault}" for library in sys.argv[1:] if library != "--own-std"
             for fault in faults(library, own_std)]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
