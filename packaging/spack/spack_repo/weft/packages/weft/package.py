# spack repo add packaging/spack/spack_repo/weft && spack dev-build weft@main   (Spack 1.0 or later)
from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Weft(CMakePackage, CudaPackage):
    """One-sided communication from GPU kernels and CPUs: a symmetric heap, put, get, atomics, signals and collectives
    that kernels call themselves, and operators for language models on top."""

    # Built from a tree (spack dev-build, spack develop): there is no address of releases yet.
    version("main")
    version("0.1.0")

    license("Apache-2.0")

    variant("shared", default=True, description="Build shared libraries")
    variant("hwloc", default=True, description="Topology and binding by hwloc")
    variant("ib", default=True, description="InfiniBand and RoCE; libibverbs is loaded at run time")
    variant("ofi", default=True, description="Other networks; libfabric is loaded at run time")
    variant("perftest", default=True, description="Build weft-perf, weft-tune and the measurements of GPUs")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("fmt@9:")
    depends_on("cli11@2:", type="build")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("hwloc@2:", when="+hwloc")
    depends_on("rdma-core", when="+ib")
    depends_on("libfabric", when="+ofi")
    depends_on("cuda@12.4:", when="+cuda")

    conflicts("cuda_arch=none", when="+cuda", msg="name the GPUs: cuda_arch=90a, or 80")
    conflicts("%gcc@:11")  # C++20

    generator("ninja")

    def cmake_args(self):
        args = [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("WEFT_CUDA", "cuda"),
            self.define_from_variant("WEFT_HWLOC", "hwloc"),
            self.define_from_variant("WEFT_IB", "ib"),
            self.define_from_variant("WEFT_OFI", "ofi"),
            self.define_from_variant("WEFT_PERFTEST", "perftest"),
            self.define("WEFT_TESTS", False),
            self.define("WEFT_WERROR", False),
            self.define("WEFT_CCACHE", False),
            self.define("WEFT_BITCODE", "OFF"),
        ]
        if self.spec.satisfies("+cuda"):
            # 90 has kernels with the instructions of 90a alone.
            archs = [f"{arch}a-real" if arch == "90" else f"{arch}-real" for arch in self.spec.variants["cuda_arch"].value]
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", ";".join(archs)))
        return args

    @run_after("install")
    def installed_program_runs(self):
        Executable(join_path(self.prefix.bin, "weft-run"))("-n", "2", join_path(self.prefix.bin, "weft-info"), "--version")
