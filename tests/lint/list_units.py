#!/usr/bin/env python3
"""Prints what clang-tidy reads: the C++ files that a build compiles, those first that take longest.

Without the rows of weft-perf, which instantiate all of the API.
"""
import json
import pathlib
import sys

LEFT_OUT = "perftest/tests/"


def main():
    build = pathlib.Path(sys.argv[1])
    entries = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    paths = {pathlib.Path(entry["file"]) for entry in entries}
    paths = [path for path in paths if path.suffix != ".c" and LEFT_OUT not in path.as_posix()]
    for path in sorted(paths, key=lambda path: (path.is_relative_to(build.resolve()) and -path.stat().st_size, path)):
        print(path)


if __name__ == "__main__":
    main()
