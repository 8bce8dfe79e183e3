#!/usr/bin/env python3
"""Removes one ordering of the device API at a time and demands that the litmus programs notice.

A site is a release, acquire or acq_rel (made relaxed), a barrier of a scope, a fence or a wait
(removed). Sites are found in the text of device/weft/dev, so new code is covered without being
listed. For each one a copy of the headers with that site changed is compiled with litmus programs
under ThreadSanitizer and run, the likeliest program first; a mutant that passes all of them is a
hole in the tests, or an ordering that nobody needs.

All of them take some minutes, and the outcome depends only on the device API and on this folder. So
`--record` writes what noticed each mutant to noticed.txt, with a digest of the code in those files, and
`--sample N` demands that the record is of the present code and tries N of the mutants again. Comments and
white space are not part of it: a comment may be edited without a new record.

A line that ends in "// mutation: equivalent, WHY" is left out; the reason is printed.
"""
import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "device" / "weft" / "dev"
RECORD = ROOT / "tests" / "mutation" / "noticed.txt"
# Other targets' platforms cannot run here; the contract is documentation.
SKIPPED = {"platform/cuda.hpp", "platform/bulk_cuda.hpp", "platform/hip.hpp", "platform/contract.hpp", "platform/order.hpp", "platform/simt.hpp", "launch.hpp", "nic/contract.hpp"}
TSAN = ["-O1", "-fsanitize=thread"]
EXCUSE = re.compile(r"//\s*mutation: equivalent, (.+)$")


class Site:
    def __init__(self, path, begin, end, instead, what, text):
        self.path, self.begin, self.end, self.instead, self.what = path, begin, end, instead, what
        self.line = text.count("\n", 0, begin) + 1
        self.excerpt = " ".join(text[begin:end].split())
        line_end = text.find("\n", begin)
        excuse = EXCUSE.search(text[text.rfind("\n", 0, begin) + 1:line_end])
        self.excuse = excuse.group(1) if excuse else None

    def name(self):
        """As the record has it: by no line, which comments move."""
        return f"{self.path}: {self.what}: {self.excerpt[:90]}"

    def __str__(self):
        return f"{self.path}:{self.line}: {self.what}: {self.excerpt[:90]}"


def closing(text, start):
    """Index just past the bracket that closes the one at `start`."""
    depth = 0
    for i in range(start, len(text)):
        if text[i] in "([{":
            depth += 1
        elif text[i] in ")]}":
            depth -= 1
            if depth == 0:
                return i + 1
    raise ValueError("unbalanced brackets")


def without_comments(text):
    """The same length, comments blanked, so that positions stay."""
    return re.sub(r"//[^\n]*", lambda m: " " * len(m.group()), text)


def code_of(text):
    """All that a compiler reads, and the excuses, whatever the layout."""
    kept = re.sub(r"//(?!\s*mutation: equivalent)[^\n]*", "", text)
    return " ".join(kept.split())


def orders(text):
    # Uses, not the tables that say what an order is on this platform (`== Order::k...`).
    for m in re.finditer(r"(?<!== )Order::k(Release|Acquire|AcqRel)\b", text):
        yield m.start(), m.end(), "Order::kRelaxed", "order"
    for m in re.finditer(r"__ATOMIC_(RELEASE|ACQUIRE|ACQ_REL)\b", text):
        yield m.start(), m.end(), "__ATOMIC_RELAXED", "order"


def is_statement(text, begin, end):
    return text[end:end + 1] == ";" and re.search(r"[;{})]\s*(else\s*)?$", text[:begin])


def is_declaration(text, begin):
    return re.search(r"\b(void|bool|size_t|T)\s*$", text[:begin])


def calls(text, names):
    """Calls of functions whose names match, with what they are called on."""
    for m in re.finditer(r"(?<![\w:.>])(?:\w+(?:\(\))?(?:::|\.|->))*(?:" + names + r")\(", text):
        if not is_declaration(text, m.start()) and "Context::" not in m.group():
            yield m.start(), m.end() - 1, closing(text, m.end() - 1)


def without(text, begin, end):
    return "(void)0" if is_statement(text, begin, end) else "true"


def meetings(text):
    """sync() goes; broadcast(x), all(x) and agree(x) become x, each thread's own."""
    for begin, _, end in calls(text, "sync|sync_warp|sync_block|sync_members"):
        yield begin, end, without(text, begin, end), "barrier"
    for begin, bracket, end in calls(text, "broadcast|all|agree"):
        on_scope = re.match(r"scope|agree", text[begin:])
        if on_scope:
            yield begin, end, text[bracket:end], "barrier"


def fences(text):
    for begin, _, end in calls(text, r"fence<[^;>]*>|fence_ring|full_fence|fence|__sync_synchronize"):
        yield begin, end, without(text, begin, end), "fence"
    for m in re.finditer(r"self\(\)\.fenced = true", text):
        yield m.start(), m.end(), "(void)0", "fence"


def waits(text):
    """A poll looks once and calls it done; a spin does not spin; a wait is not made."""
    for m in re.finditer(r"\bpoll\(deadline, ", text):
        end = closing(text, m.start() + len("poll"))
        yield m.start(), end, f"((void)({text[m.end():end - 1]})(), true)", "wait"
    for m in re.finditer(r"\bwhile \(", text):
        end = closing(text, m.end() - 1)
        if "relax()" in text[end:end + 20] or "condition()" in text[m.start():end]:
            yield m.start(), m.start() + len("while"), "if", "wait"
    for begin, _, end in calls(text, r"(?:wait|wait_\w+|drain|quiet|quiet_ring|arrived|all_arrived|announced)(?:<Nic>)?"):
        yield begin, end, without(text, begin, end), "wait"
    # Attempts that give up when something is not there yet.
    for m in re.finditer(r"\bif \(", text):
        end = closing(text, m.end() - 1)
        if re.match(r"\s*return false;", text[end:]) and re.search(r"\b(consumed|result_slot_is_free|is_complete)\(",
                                                                   text[m.start():end]):
            yield m.start() + len("if "), end, "(false)", "wait"


def programs_for(path):
    """The programs that may notice a mutant of this header, the likeliest first: each compiles in seconds."""
    if path.startswith(("collective", "packed", "team_", "direct_", "copy_tiles")):
        return ["collectives"]
    if path.startswith("nic/"):
        return ["nic"]
    if path.startswith("tile"):
        return ["move", "collectives"]
    if path.startswith(("ring", "fault", "address", "route", "validate", "scope")):
        return ["ring", "order", "move"]
    return ["move", "order"] if path.startswith("rma") else ["order", "processor", "move", "ring"]


def included_from_system():
    """The system headers that the programs and the headers under mutation include: parsed once for all mutants."""
    names = set()
    for path in [*HEADERS.rglob("*.hpp"), *(ROOT / "tests" / "mutation").glob("*.?pp"),
                 *(ROOT / "tests" / "device").glob("*.hpp")]:
        if path.relative_to(path.parents[1]).as_posix() not in SKIPPED:
            names.update(re.findall(r"#include <((?:sys/)?[a-z_]+(?:\.h)?)>", path.read_text(encoding="utf-8")))
    return sorted(names)


def sites():
    found = []
    for path in sorted(HEADERS.rglob("*.hpp")):
        name = path.relative_to(HEADERS).as_posix()
        if name in SKIPPED:
            continue
        text = path.read_text(encoding="utf-8")
        code = without_comments(text)
        spans = set()
        for finder in (orders, meetings, fences, waits):
            for begin, end, instead, what in finder(code):
                if (begin, end) not in spans:
                    spans.add((begin, end))
                    found.append(Site(name, begin, end, instead, what, text))
    return sorted(found, key=lambda s: (s.path, s.begin))


class Runner:
    def __init__(self, args, folder):
        self.args, self.folder = args, pathlib.Path(folder).resolve()
        self.compile = [args.compiler, "-std=c++17", "-g1", "-w"]

    def precompile(self):
        names = [name for name in included_from_system() if not name.startswith(("cuda", "hip"))]
        text = "".join(f"#include <{name}>\n" for name in names)
        (self.folder / "system.hpp").write_text(text, encoding="utf-8")
        return subprocess.run([*self.compile, *TSAN, "-x", "c++-header", "system.hpp", "-o", "system.hpp.gch"],
                              cwd=self.folder, capture_output=True, text=True)

    def build(self, headers, source, program):
        checker = ["-O2", "-pthread"] if source == "processor" else [*TSAN, "-include", "system.hpp"]
        line = [*self.compile, *checker, f"-I{headers}", f"-I{ROOT}", f"-I{ROOT}/include", f"-I{ROOT}/device",
                str(ROOT / "tests" / "mutation" / f"litmus_{source}.cpp"), "-o", str(program)]
        return subprocess.run(line, cwd=self.folder, capture_output=True, text=True)

    def run(self, program, seed):
        env = dict(os.environ, TSAN_OPTIONS="halt_on_error=1 exitcode=66 report_bugs=1")
        try:
            done = subprocess.run([str(program), str(seed)], capture_output=True, text=True, env=env, timeout=3600)
        except subprocess.TimeoutExpired:
            return "hung"
        if done.returncode == 0:
            return None
        if done.returncode == 66:
            return "race"
        if done.returncode == -signal.SIGPROF:
            return "hangs"
        text = done.stderr.strip().splitlines()
        return text[-1] if done.returncode == 1 and text else f"ended with {done.returncode}"

    def try_seeds(self, program, seeds):
        for seed in range(1, seeds + 1):
            how = self.run(program, seed)
            if how:
                return how
        return None

    def unmutated(self, source):
        program = self.folder / "unmutated"
        built = self.build(ROOT / "device", source, program)
        if built.returncode != 0:
            return f"does not compile\n{built.stderr[:3000]}"
        return self.try_seeds(program, min(self.args.seeds, 5))

    def mutant(self, number, site, seeds):
        """How a litmus program noticed; None if none did."""
        tree = self.folder / str(number)
        shutil.copytree(HEADERS, tree / "weft" / "dev", dirs_exist_ok=True)
        path = tree / "weft" / "dev" / site.path
        text = (HEADERS / site.path).read_text(encoding="utf-8")
        path.write_text(text[:site.begin] + site.instead + text[site.end:], encoding="utf-8")
        how, errors = None, ""
        for source in programs_for(site.path):
            program = tree / f"litmus_{source}"
            built = self.build(tree, source, program)
            if built.returncode != 0:
                how, errors = "does not compile", built.stderr
            else:
                how = self.try_seeds(program, seeds)
            if how:
                break
        if not self.args.keep:
            shutil.rmtree(tree)
        return how, errors


def digest():
    """The digest of all code that decides which mutants there are and what notices them."""
    mutated = [path for path in HEADERS.rglob("*.hpp") if path.relative_to(HEADERS).as_posix() not in SKIPPED]
    programs = [path for path in (ROOT / "tests" / "mutation").iterdir() if path.suffix in (".cpp", ".hpp", ".py")]
    helpers = [ROOT / "tests" / "device" / name for name in
               ("device_job.hpp", "late_proxy.cpp", "late_proxy.hpp", "run_threads.hpp", "shared_memory.hpp")]
    helpers.append(ROOT / "tests" / "support" / "soft_nic.hpp")
    total = hashlib.sha256()
    for path in sorted([*mutated, *programs, *helpers]):
        text = path.read_text(encoding="utf-8")
        code = text if path.suffix == ".py" else code_of(text)
        total.update(f"{path.relative_to(ROOT).as_posix()}\0{code}\0".encode())
    return total.hexdigest()


def sample(todo, count):
    """`count` of all, evenly apart; which ones changes with the files."""
    step = max(1, len(todo) // count)
    return todo[int(digest(), 16) % step::step]


def recorded():
    """Why the record is none of the present files; None if it is."""
    text = RECORD.read_text(encoding="utf-8") if RECORD.exists() else ""
    if f"digest {digest()}\n" in text:
        return None
    return (f"{RECORD.relative_to(ROOT)} is a record of other files: the device API or tests/mutation has changed.\n"
            "Run tests/mutation/mutate.py --record, and commit what it writes.")


def write_record(outcomes):
    lines = ["What noticed each mutant of the device API. Written by tests/mutation/mutate.py --record",
             f"digest {digest()}", ""]
    lines += [f"{number:4} {site.name()}\n     {how.split(' ', 1)[0]}" for number, site, how in outcomes]
    RECORD.write_text("\n".join(lines) + "\n", encoding="utf-8")


def report(number, site, how, errors):
    """Prints what became of a mutant; 1 if that is a failure."""
    text = f"noticed: {how}" if how else "NOT NOTICED"
    if how == "does not compile":
        text = f"the mutant does not compile:\n{errors[:1500]}"
    print(f"{number:4} {site}\n     {text}", flush=True)
    return 0 if how and how != "does not compile" else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="print the sites and stop")
    parser.add_argument("--sample", type=int, metavar="N", help="only N of them, and the record must be right")
    parser.add_argument("--record", action="store_true", help=f"write {RECORD.name} when all were noticed")
    parser.add_argument("--only", type=int, action="append", metavar="N", help="only this site of the list")
    parser.add_argument("--compiler", default=os.environ.get("CXX", "g++"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seeds", type=int, default=10, help="runs of each program before a mutant counts as unnoticed")
    parser.add_argument("--keep", metavar="FOLDER", help="work there and leave the mutants")
    args = parser.parse_args()

    todo = list(enumerate(sites()))
    if args.list:
        for number, site in todo:
            print(f"{number:4} {site}" + (f"  [left out: {site.excuse}]" if site.excuse else ""))
        return 0
    if args.only:
        todo = [pair for pair in todo if pair[0] in args.only]

    if args.sample:
        stale = recorded()
        if stale:
            print(stale)
            return 1
        todo = sample(todo, args.sample)

    failures, outcomes = 0, []
    with tempfile.TemporaryDirectory() as scratch:
        runner = Runner(args, args.keep or scratch)
        made = runner.precompile()
        if made.returncode != 0:
            print(f"the system's headers do not compile\n{made.stderr[:3000]}")
            return 1
        for source in sorted({source for _, site in todo for source in programs_for(site.path)}):
            how = runner.unmutated(source)
            if how:
                print(f"litmus_{source}.cpp: the unmutated device API fails: {how}")
                return 1
        left_out = [pair for pair in todo if pair[1].excuse]
        for number, site in left_out:
            print(f"{number:4} {site}\n     left out: {site.excuse}")
        todo = [pair for pair in todo if not pair[1].excuse]
        unnoticed = []
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            tries = pool.map(lambda pair: runner.mutant(*pair, args.seeds), todo)
            for (number, site), (how, errors) in zip(todo, tries):
                if how:
                    failures += report(number, site, how, errors)
                    outcomes.append((number, site, how))
                else:
                    unnoticed.append((number, site))
        # Some need their threads to run at the same moment: once more, with nothing else running.
        for number, site in unnoticed:
            how, errors = runner.mutant(number, site, 4 * args.seeds)
            failures += report(number, site, how, errors)
            outcomes.append((number, site, how))
    print(f"{len(todo) - failures} of {len(todo)} mutants noticed, {len(left_out)} left out")
    if failures or not todo:
        return 1
    if args.record:
        write_record(sorted(outcomes, key=lambda outcome: outcome[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
