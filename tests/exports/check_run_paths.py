#!/usr/bin/env python3
"""check_run_paths.py FOLDER...: fails where a program or shared library below FOLDER has a run path with an empty or
relative entry, by which whoever may write to the folder in which it is started brings its libraries."""
import os
import pathlib
import re
import subprocess
import sys

RUN_PATH = re.compile(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]")


def elf_files(folder):
    for at, folders, names in os.walk(folder):
        # Another project that builds Weft within its own (tests/consumer/fetched) has run paths of its own.
        folders[:] = [name for name in folders if name not in ("CMakeFiles", "fetched")]
        for path in (pathlib.Path(at, name) for name in names):
            if not path.is_symlink() and path.suffix != ".o" and path.open("rb").read(4) == b"\x7fELF":
                yield path


def main():
    looked_at = 0
    wrong = []
    for path in (path for folder in sys.argv[1:] for path in elf_files(folder)):
        looked_at += 1
        dynamic = subprocess.run(["readelf", "-d", path], check=True, capture_output=True, text=True).stdout
        for entries in RUN_PATH.findall(dynamic):
            if any(not entry.startswith(("/", "$ORIGIN")) for entry in entries.split(":")):
                wrong.append(f"{path}: run path [{entries}]")
    print(f"{looked_at} programs and libraries", *wrong, sep="\n")
    return 1 if wrong or looked_at == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
