#!/usr/bin/env python3
"""Fails when a source file is in the tree but in no CMakeLists.txt: what is not built protects nothing."""
import pathlib
import re
import sys

FOLDERS = ["src", "bootstrap", "host", "kernels", "perftest", "python", "tests", "docs/tutorials"]
SUFFIXES = {".cpp", ".cu"}


def listed(root, path):
    """Some CMakeLists.txt beside or above the file names it (by a path that ends where it lies)."""
    folder = path.parent
    while True:
        lists = root / folder / "CMakeLists.txt"
        if lists.exists():
            relative = path.relative_to(folder).as_posix()
            if re.search(rf"(?<![\w./-]){re.escape(relative)}(?![\w.])", lists.read_text(encoding="utf-8")):
                return True
        if folder == pathlib.Path("."):
            return False
        folder = folder.parent


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
    files = [path.relative_to(root) for folder in FOLDERS for path in sorted((root / folder).rglob("*"))
             if path.suffix in SUFFIXES]
    missing = [path for path in files if not listed(root, path)]
    for path in missing:
        print(f"{path}: in no CMakeLists.txt")
    print(f"{len(files)} files, {len(missing)} not listed")
    return 1 if missing or not files else 0


if __name__ == "__main__":
    sys.exit(main())
