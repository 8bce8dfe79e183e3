#!/usr/bin/env python3
"""Fails when a source file is in the tree but in no CMakeLists.txt: what is not built protects nothing."""
import fnmatch
import pathlib
import re
import sys

FOLDERS = ["src", "bootstrap", "host", "kernels", "perftest", "python", "tests", "docs/tutorials"]
SUFFIXES = {".cpp", ".cu"}
GLOB = re.compile(r"^\s*file\(GLOB ([^)]*)\)", re.MULTILINE)


def names(text, relative):
    """A CMakeLists.txt names the file (by a path that ends where it lies), or a glob of its own matches it."""
    if re.search(rf"(?<![\w./-]){re.escape(relative)}(?![\w.])", text):
        return True
    return any(fnmatch.fnmatchcase(relative, word) for words in GLOB.findall(text) for word in words.split())


def listed(root, path):
    """Some CMakeLists.txt beside or above the file names it."""
    folder = path.parent
    while True:
        lists = root / folder / "CMakeLists.txt"
        if lists.exists():
            if names(lists.read_text(encoding="utf-8"), path.relative_to(folder).as_posix()):
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
