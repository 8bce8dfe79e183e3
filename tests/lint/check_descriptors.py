#!/usr/bin/env python3
"""Fails when the library opens a descriptor that no UniqueFd takes over in the same statement: only a UniqueFd keeps
what is opened away from the standard streams (src/base/unique_fd.hpp)."""
import pathlib
import re
import sys

FOLDERS = ["src", "bootstrap", "host"]
CALLS = re.compile(r"::(socket|accept4?|memfd_create|eventfd|signalfd|timerfd_create|epoll_create1?|inotify_init1?|open|"
                   r"openat|dup|pidfd_open|pidfd_getfd|shm_open|mkstemp|mkostemp)\s*\(")
# Two at once: the array that they come in is handed to UniqueFd within so many lines.
PAIR_LINES = 8
FORBIDDEN = re.compile(r"(std::o?fstream|(?:std::|::)fopen|::fdopen|::opendir|::popen)\b")
# Between fork and exec, where numbers are set by dup2.
EXCEPTIONS = {("bootstrap/run/child.cpp", '::open("/dev/null"'), ("src/base/unique_fd.hpp", '::open("/"')}


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def statement_before(text, at):
    return text[max(text.rfind(mark, 0, at) for mark in ";{}") + 1:at]


def faults_of(name, text):
    text = without_comments(text)
    for call in CALLS.finditer(text):
        if any(name == file and text.startswith(start, call.start()) for file, start in EXCEPTIONS):
            continue
        if text[call.start() - 1].isalnum() or text[call.start() - 1] in "_>":
            continue  # of a class
        if not re.search(r"\bUniqueFd\b|\.reset\($", re.sub(r"\s", " ", statement_before(text, call.start())).rstrip()):
            yield call.start(), f"{call.group(1)}() whose result no UniqueFd takes over"
    for pair in re.finditer(r"::(pipe2?|socketpair)\s*\(", text):
        behind = "\n".join(text[pair.start():].split("\n")[:PAIR_LINES])
        if len(re.findall(r"UniqueFd\(\w+\[[01]\]\)|\.reset\(\w+\[[01]\]\)", behind)) < 2:
            yield pair.start(), f"{pair.group(1)}() whose ends no UniqueFd takes over"
    for call in FORBIDDEN.finditer(text):
        yield call.start(), f"{call.group(1)} opens a descriptor of its own"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
    faults = files = 0
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.[ch]pp")):
            files += 1
            text = path.read_text(encoding="utf-8")
            name = path.relative_to(root).as_posix()
            for at, why in faults_of(name, text):
                faults += 1
                print(f"{name}: {why}: {without_comments(text)[at:at + 60].splitlines()[0]}")
    print(f"{files} files, {faults} faults")
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())
