#!/usr/bin/env python3
"""Fails when a recipe of packaging/ does not fit the tree: its version, the options that it gives CMake, the libraries that
it brings in, and the files that it says are installed. Spack's package.py is run over a stand-in for spack.package."""
import pathlib
import re
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPACK = ROOT / "packaging/spack/spack_repo/weft/packages/weft/package.py"
CONDA = ROOT / "packaging/conda/recipe.yaml"
# Dependencies as the build looks for them, and as Spack and conda call them.
NEEDED = {"fmt": ("fmt", "fmt"), "CLI11": ("cli11", "cli11"), "nlohmann_json": ("nlohmann-json", "nlohmann_json"),
          "hwloc": ("hwloc", "libhwloc"), "infiniband/verbs.h": ("rdma-core", "rdma-core"), "rdma/fabric.h": ("libfabric", "libfabric")}


def text_of(*patterns):
    return "\n".join(path.read_text() for pattern in patterns for path in sorted(ROOT.glob(pattern)))


CMAKE = text_of("CMakeLists.txt", "cmake/*.cmake", "*/CMakeLists.txt", "*/*/CMakeLists.txt", "*/*/*/CMakeLists.txt")
VERSION = re.search(r"project\(weft VERSION ([\d.]+)", CMAKE)[1]
OPTIONS = set(re.findall(r"^\s*(?:option|set)\((WEFT_\w+|BUILD_SHARED_LIBS) ", CMAKE, re.MULTILINE))
TARGETS = set(re.findall(r"(?:add_library|add_executable|weft_wrapper|weft_cuda_executable)\(([\w+-]+)", CMAKE))
PROGRAMS = set(re.findall(r"foreach\(program IN ITEMS ([^)]*)\)", CMAKE)[0].split()) | {"weft-cc", "weft-c++"}


def load_package():
    """The class, and what its directives said: (directive, words)."""
    said, modules = [], {}
    for name in ("spack", "spack.package", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems",
                 "spack_repo.builtin.build_systems.cmake", "spack_repo.builtin.build_systems.cuda"):
        modules[name] = types.ModuleType(name)
    modules["spack_repo.builtin.build_systems.cmake"].CMakePackage = type("CMakePackage", (), {})
    modules["spack_repo.builtin.build_systems.cuda"].CudaPackage = type("CudaPackage", (), {})
    for name in ("version", "license", "variant", "depends_on", "conflicts", "generator"):
        setattr(modules["spack.package"], name, lambda *words, _name=name, **_: said.append((_name, words)))
    modules["spack.package"].run_after = lambda phase: lambda function: function
    sys.modules.update(modules)
    scope = {"__name__": "package"}
    exec(compile(SPACK.read_text(), SPACK, "exec"), scope)
    return scope["Weft"], said


def cmake_args(package, variants, cuda_arch):
    """The result of cmake_args(), as a dictionary; a variant that is not declared raises."""
    def of_variant(option, variant):
        return option, variants[variant]
    self = types.SimpleNamespace(
        define=lambda option, value: (option, value), define_from_variant=of_variant,
        spec=types.SimpleNamespace(satisfies=lambda what: what == "+cuda" and bool(cuda_arch),
                                   variants={"cuda_arch": types.SimpleNamespace(value=cuda_arch)}))
    return dict(package.cmake_args(self))


def check_spack():
    package, said = load_package()
    words_of = {directive: {words[0] for name, words in said if name == directive} for directive, _ in said}
    variants = dict.fromkeys([*words_of["variant"], "cuda"], True)  # the last is CudaPackage's own
    args = cmake_args(package, variants, ("80", "90"))
    yield from (f"{SPACK.name}: CMake has no option {name}" for name in args if name not in OPTIONS and not name.startswith("CMAKE_"))
    name = "CMAKE_CUDA_ARCHITECTURES"
    if args.get(name) != "80-real;90a-real" or name in cmake_args(package, variants, ()):
        yield f"{SPACK.name}: cuda_arch=80,90 gives {args.get(name)}"
    if VERSION not in words_of["version"]:
        yield f"{SPACK.name}: has no version {VERSION}"
    named = {word.split("@")[0] for word in words_of["depends_on"]}
    yield from (f"{SPACK.name}: does not depend on {spack}" for spack, _ in NEEDED.values() if spack not in named)


def check_conda():
    text = re.sub(r"#.*", "", CONDA.read_text())
    if f'version: "{VERSION}"' not in text:
        yield f"{CONDA.name}: has not version {VERSION}"
    given = re.findall(r"-D(\w+)=", text)
    yield from (f"{CONDA.name}: CMake has no option {name}" for name in given if name not in OPTIONS and not name.startswith("CMAKE_"))
    if len(given) < 5:
        yield f"{CONDA.name}: gives CMake {len(given)} options"
    yield from (f"{CONDA.name}: does not bring in {conda}" for _, conda in NEEDED.values() if not re.search(rf"- {conda}\b", text))
    libraries = re.search(r"lib: \[([^\]]*)\]", text)[1].split(", ")
    programs = re.search(r"bin: \[([^\]]*)\]", text)[1].split(", ")
    yield from (f"{CONDA.name}: there is no library {name}" for name in libraries if name not in TARGETS)
    yield from (f"{CONDA.name}: there is no program {name}" for name in programs if name not in PROGRAMS)
    for header in re.findall(r"- ((?:weft|weft-compat)/\S+)", text):
        if not (ROOT / "include" / header.replace("weft-compat/", "compat/")).exists():
            yield f"{CONDA.name}: there is no header {header}"


def check_wheel():
    defines = text_of("pyproject.toml").split("[tool.scikit-build.cmake.define]")[1].split("[")[0]
    yield from (f"pyproject.toml: CMake has no option {name}" for name in re.findall(r"^(\w+) =", defines, re.MULTILINE)
                if name not in OPTIONS)


def main():
    wrong = [f"the build does not look for {name} any more" for name in NEEDED if name not in CMAKE]
    wrong += [*check_spack(), *check_conda(), *check_wheel()]
    print(*wrong, sep="\n")
    print(f"version {VERSION}, {len(OPTIONS)} options, {len(wrong)} errors")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
