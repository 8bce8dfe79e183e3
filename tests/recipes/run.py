#!/usr/bin/env python3
"""Follows a recipe of CONTRIBUTING.md: docs/contributing/recipes/NAME.patch, on a copy of the tree.

The patch adds one file, and one row to one registry, which may have to include the file. With it the copy passes the lints of layers and of listed
sources; the files concerned are compiled, and NAME.cpp beside this script, linked with them and with the libraries of
the build, uses what was added. Linked without them, that program has to fail.

Exits with 77 when all has passed that could be tried, and what only nvcc compiles was not.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
COPIED = ["include", "device", "src", "bootstrap", "host", "kernels", "perftest", "tests"]
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.MULTILINE)
NVCC = ["nvcc", "-std=c++20", "-O3", "-DNDEBUG", "-Werror", "all-warnings", "-DWEFT_HAS_SM90A=1", "-DFMT_USE_CONSTEXPR=1",
        "-Xptxas", "-warn-spills,-Werror", "-gencode=arch=compute_90a,code=sm_90a", "-c"]
SKIPPED = 77


class Failed(Exception):
    pass


def call(command, what, **options):
    result = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if result.returncode != 0:
        raise Failed(f"{what}: {shlex.join(map(str, command))}\n{(result.stdout + result.stderr)[-4000:]}")
    return result.stdout


def read_patch(text):
    """The new file and the registry of a patch that has one of each."""
    new, changed = [], {}
    for part in re.split(r"^diff --git ", text, flags=re.MULTILINE)[1:]:
        path = re.search(r"^\+\+\+ b/(\S+)", part, re.MULTILINE)[1]
        lines = part[part.index("\n@@"):].splitlines()
        if re.search(r"^--- /dev/null", part, re.MULTILINE):
            new.append(path)
        else:
            changed[path] = [line for line in lines if line[:1] in ("+", "-")]
    if len(new) != 1 or len(changed) != 1:
        raise Failed(f"a recipe adds one file and changes one registry; this adds {new}, and changes {sorted(changed)}")
    (registry, rows), = changed.items()
    rows = [row for row in rows if row != f'+#include "{new[0]}"']
    if len(rows) != 1 or not rows[0].startswith("+"):
        raise Failed(f"a recipe adds one row; to {registry} this does\n" + "\n".join(rows))
    return new[0], registry


def copy_tree(tree):
    shutil.rmtree(tree, ignore_errors=True)
    for folder in COPIED:
        shutil.copytree(ROOT / folder, tree / folder)


def included_by(tree, path):
    """The files of the tree that a file includes, and what these include."""
    found, todo = set(), [path]
    while todo:
        at = todo.pop()
        if at in found:
            continue
        found.add(at)
        for name in INCLUDE.findall((tree / at).read_text(encoding="utf-8")):
            todo += [base + name for base in ("", "include/", "device/") if (tree / (base + name)).is_file()]
    return found


def compiled_by(path):
    """The sources that a unit is made of."""
    if path.parent.name != "Unity":
        return [path]
    return [pathlib.Path(name) for name in INCLUDE.findall(path.read_text(encoding="utf-8"))]


def commands_of(build, folders):
    """How the build compiles each source of the libraries, as a list of words."""
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        words = shlex.split(entry["command"])
        if "_objects.dir/" not in entry.get("output", entry["command"]):
            continue
        for path in compiled_by(pathlib.Path(entry["file"])):
            if path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in folders:
                commands[path.relative_to(ROOT).as_posix()] = words[:words.index("-o")]
    return commands


def nearest(commands, path):
    """The command of the source that lies nearest to a new one."""
    return commands[max(commands, key=lambda other: len(os.path.commonprefix([other, path])))]


def in_copy(word, tree, build):
    """A word of a command: where it has headers looked for in the tree, in the copy instead."""
    if not word.startswith("-I"):
        return word
    path = pathlib.Path(word[2:])
    return f"-I{tree / path.relative_to(ROOT)}" if path.is_relative_to(ROOT) and not path.is_relative_to(build) else word


def compile_all(tree, sources, commands, build, work):
    """Objects of the copy's sources, from the first to the last."""
    def compile_one(item):
        number, source = item
        made = work / f"{number}.o"
        command = [in_copy(word, tree, build) for word in commands.get(source) or nearest(commands, source)]
        call([*command, "-O0", "-Wno-missing-field-initializers", "-o", made, "-c", tree / source], "compiling")
        return made
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(compile_one, enumerate(sources)))


def compile_for_gpu(tree, source, build, kernels, work):
    """False: there is no nvcc."""
    if shutil.which("nvcc") is None:
        return False
    made = work / "gpu.o"
    includes = [f"-I{tree}/include", f"-I{tree}/device", f"-I{build}/include", f"-I{tree}"]
    call([*NVCC, *includes, tree / source, "-o", made], "compiling")
    symbols = call(["nm", "-C", made], "listing symbols")
    if not re.search(kernels, symbols):
        raise Failed(f"{source} defines nothing like {kernels}")
    print(f"{source}: defines {kernels}")
    return True


def link(compiler, program, objects, libraries, work, name):
    made = work / name
    # Where several sources are compiled together, an object of the libraries has what the recipe's have, too.
    group = ["-Wl,-z,muldefs", "-Wl,--start-group", *libraries, "-Wl,--end-group"]
    call([compiler, "-o", made, program, *objects, *group, "-pthread", "-ldl", "-lrt"], "linking")
    return made


def uses(program):
    environment = {**os.environ, "WEFT_GPU": "off"}
    return subprocess.run([program], env=environment, capture_output=True, text=True, check=False, timeout=120)


def apply(name, tree):
    """A copy of the tree with the recipe, which passes the lints; its new file and its registry."""
    patch = ROOT / "docs" / "contributing" / "recipes" / f"{name}.patch"
    new, registry = read_patch(patch.read_text(encoding="utf-8"))
    copy_tree(tree)
    call(["git", "apply", patch], "applying", cwd=tree, env={**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.parent)})
    if not (tree / new).exists():
        raise Failed(f"{patch} was applied, and {new} is not there")
    for lint in ("check_layers.py", "check_listed.py"):
        call([sys.executable, tree / "tests" / "lint" / lint, tree], "a lint")
    return new, registry


def check_use(args, compiler, program, objects, work):
    """The program passes with the recipe's objects, and fails without them."""
    result = uses(link(compiler, program, objects, args.libraries, work, "with"))
    print(result.stdout + result.stderr, end="")
    if result.returncode != 0:
        raise Failed(f"{args.name}.cpp exits with {result.returncode}")
    if uses(link(compiler, program, [], args.libraries, work, "without")).returncode == 0:
        raise Failed(f"{args.name}.cpp passes without the recipe, so it shows nothing")


def follow(args):
    work = args.build / "tests" / "recipes" / args.name
    tree = work / "tree"
    new, registry = apply(args.name, tree)
    commands = commands_of(args.build, {path.split("/")[0] for path in (new, registry)})
    sources = [path for path in commands if path.startswith(args.among) and included_by(tree, path) & {new, registry}]
    if new.endswith(".cpp"):
        sources.append(new)
    print(f"{new}: new; {registry}: a row; {len(sources)} sources to compile")
    has_nvcc = not new.endswith(".cu") or compile_for_gpu(tree, new, args.build, args.kernels, work)
    shutil.copy(pathlib.Path(__file__).parent / f"{args.name}.cpp", tree / "uses.cpp")
    *objects, program = compile_all(tree, [*sources, "uses.cpp"], commands, args.build, work)
    check_use(args, nearest(commands, new)[0], program, objects, work)
    if not has_nvcc:
        print(f"skipped: {new} is not compiled, since nvcc is not on PATH")
        return SKIPPED
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", help="of the recipe")
    parser.add_argument("--build", type=lambda path: pathlib.Path(path).resolve(), required=True, help="the build's folder")
    parser.add_argument("--libraries", nargs="+", required=True, help="what the program is linked with")
    parser.add_argument("--kernels", default="gemm_kernel", help="a pattern that the symbols of a new .cu have")
    parser.add_argument("--among", default="", help="the folder of all sources that the program uses, where many others "
                        "include the registry")
    try:
        return follow(parser.parse_args())
    except Failed as failure:
        print(failure)
        return 1


if __name__ == "__main__":
    sys.exit(main())
