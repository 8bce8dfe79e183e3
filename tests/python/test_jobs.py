"""How jobs start and end: threads as PEs, processes that meet by text or a store, forks, exits. By one process."""

import gc
import os
import shutil
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import weft
import weft.testing

LAUNCHER = os.environ.get("LAUNCHER", "weft-run")


def ended(text, *arguments, before=(), environment=None, timeout=120):
    """Runs a Python program, and gives its output and exit status."""
    command = [*before, sys.executable, "-c", textwrap.dedent(text), *map(str, arguments)]
    return subprocess.run(
        command, env={**os.environ, **(environment or {})}, capture_output=True, text=True, timeout=timeout, check=False
    )


def succeeds(*arguments, **keywords):
    done = ended(*arguments, **keywords)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_threads_are_pes():
    def body():
        box = weft.zeros(weft.n_pes(), "int64")
        for pe in range(weft.n_pes()):
            weft.put(box[weft.my_pe() : weft.my_pe() + 1], np.array([weft.my_pe() ** 2]), pe)
        weft.barrier()
        return box.numpy().tolist()

    assert weft.testing.run(4, body) == [[0, 1, 4, 9]] * 4


def test_a_pe_that_raises_ends_the_job():
    def body():
        if weft.my_pe() == 1:
            raise KeyError("of mine")
        weft.barrier()

    with pytest.raises(KeyError, match="of mine"):
        weft.testing.run(3, body)


def test_waits_let_other_threads_run_and_have_a_deadline():
    ticks = []

    def body():
        word = weft.zeros(1, "uint64")
        stop = threading.Event()
        thread = threading.Thread(target=lambda: [ticks.append(1) or time.sleep(0.01) for _ in iter(stop.is_set, True)])
        thread.start()
        try:
            with pytest.raises(weft.WaitTimeoutError, match="after 0.5 s"):
                weft.wait(word, ">=", 1)
        finally:
            stop.set()
            thread.join()

    weft.testing.run(1, body, settings={"WEFT_WAIT_TIMEOUT": 0.5})
    assert len(ticks) > 10


def test_pes_that_free_different_tensors_are_told():
    def body():
        tensors = [weft.zeros(4), weft.zeros(4)]
        with pytest.raises(weft.ArgumentError, match="different tensors"):
            weft.free(tensors[weft.my_pe()])
        for tensor in tensors:
            weft.free(tensor)

    weft.testing.run(2, body)


def test_a_tensor_of_another_job_is_refused():
    def body():
        other = weft.join(unique_id=weft.unique_id(), rank=0, size=1)
        with weft.use(other):
            theirs = weft.zeros(4)
            their_team = weft.world()
        with pytest.raises(weft.ArgumentError, match="of another job"):
            weft.free(theirs)
        with pytest.raises(weft.ArgumentError, match="team is of another job"):
            weft.barrier(their_team)
        with pytest.raises(weft.ArgumentError, match="team is of another job"):
            weft.team([0], their_team)
        weft.finalize(other)
        with weft.use(other), pytest.raises(weft.ArgumentError, match=r"weft.finalize\(\) was called"):
            weft.my_pe()

    weft.testing.run(1, body)


def test_settings_are_options():
    done = ended(
        """
        import weft
        weft.init(settings={"WEFT_HEAP_SIZE": "no size"})
        """
    )
    assert done.returncode == 1 and "WEFT_HEAP_SIZE" in done.stderr and "ArgumentError" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"unique_id": "nonsense", "rank": 0, "size": 1}, "nonsense"),
        ({"unique_id": "x"}, "takes rank and size"),
        ({"rank": 0, "size": 1}, "say which PE"),
        ({"unique_id": "x", "store": {}}, "unique_id and store are given"),
    ],
)
def test_what_init_cannot_do_is_named(arguments, text):
    with pytest.raises(weft.ArgumentError, match=text):
        weft.init(**arguments)


def test_processes_meet_by_a_unique_id():
    program = """
        import sys, weft
        pe, text = int(sys.argv[1]), sys.argv[2]
        weft.init(unique_id=text, rank=pe, size=3)
        weft.barrier()
        print(weft.my_pe(), weft.n_pes())
        """
    rendezvous = weft.unique_id()
    children = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(program), str(pe), rendezvous.text], stdout=subprocess.PIPE, text=True
        )
        for pe in range(3)
    ]
    assert [child.communicate(timeout=120)[0].split() for child in children] == [[str(pe), "3"] for pe in range(3)]


class FileStore:
    """A store as torch.distributed has them."""

    def __init__(self, folder):
        self.folder = folder

    def set(self, key, value):
        with open(f"{self.folder}/new", "w") as file:
            file.write(value)
        os.rename(f"{self.folder}/new", f"{self.folder}/{key.replace('/', '-')}")

    def get(self, key):
        path = f"{self.folder}/{key.replace('/', '-')}"
        while not os.path.exists(path):
            time.sleep(0.01)
        with open(path, "rb") as file:
            return file.read()


def test_processes_meet_by_a_store_more_than_once(tmp_path):
    program = """
        import os, sys
        sys.path.insert(0, os.path.dirname(sys.argv[3]))
        import weft
        from test_jobs import FileStore
        for turn in range(2):
            weft.init(store=FileStore(sys.argv[2]), rank=int(sys.argv[1]), size=2)
            assert weft.n_pes() == 2
            weft.finalize()
        """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    children = [subprocess.Popen([*command, str(pe), str(tmp_path), __file__]) for pe in range(2)]
    assert [child.wait(timeout=120) for child in children] == [0, 0]


def test_a_fork_of_a_pe_is_none():
    succeeds(
        """
        import os, weft
        weft.init()
        tensor = weft.zeros(4)
        child = os.fork()
        if child == 0:
            try:
                weft.barrier()
            except weft.WeftError as error:
                assert "fork" in str(error), error
                raise SystemExit(7)  # the interpreter's way, which runs what is to run at its end
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        weft.barrier()
        weft.free(tensor)
        """
    )


@pytest.mark.parametrize("finalizes", [True, False])
def test_arrays_outlive_the_job(finalizes):
    text = f"""
        import gc, numpy, weft
        weft.init()
        tensor = weft.zeros(1000, "int64")
        array = tensor.numpy()
        theirs = numpy.from_dlpack(weft.peer(tensor, (weft.my_pe() + 1) % weft.n_pes()))
        weft.barrier()
        if {finalizes}:
            weft.finalize()
            weft.finalize()
            array[:] = 5
            assert array.sum() == 5000 and theirs.shape == (1000,) and theirs[999] in (0, 5)
            del tensor
            gc.collect()
            assert array.sum() == 5000
            try:
                weft.barrier()
            except weft.ArgumentError as error:
                assert "finalize" in str(error)
            weft.init() if weft.current().has_ended else None
            assert weft.zeros(3).numpy().sum() == 0
        """
    succeeds(text, before=[LAUNCHER, "-n", "2", "--timeout", "60"])
    succeeds(text)


def test_an_exception_on_one_pe_ends_the_others():
    done = ended(
        """
        import weft
        weft.init()
        if weft.my_pe() == 1:
            raise ValueError("no such thing")
        weft.barrier()
        """,
        before=[LAUNCHER, "-n", "3", "--timeout", "100"],
        environment={"WEFT_WAIT_TIMEOUT": "600"},
    )
    assert done.returncode == 1 and "no such thing" in done.stderr  # 124: it would have waited


def test_nothing_else_is_imported():
    succeeds(
        """
        import sys, weft, weft.testing
        assert not {"numpy", "torch", "ml_dtypes"} & set(sys.modules)
        weft.init()
        weft.put(weft.zeros(4, "uint8"), b"abcd", 0)
        assert not {"numpy", "torch", "ml_dtypes"} & set(sys.modules)
        """
    )


def test_calls_before_init_say_so():
    done = ended("import weft; weft.my_pe()")
    assert "call weft.init() first" in done.stderr


def test_types_that_numpy_lacks_take_another_package():
    ml_dtypes = pytest.importorskip("ml_dtypes")

    def body():
        for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
            dtype = getattr(ml_dtypes, name)
            tensor = weft.zeros((2, 3), name)
            assert tensor.numpy().dtype == dtype
            weft.put(tensor, np.array([[1, 2, 3], [4, 5, 6]]).astype(dtype), weft.my_pe())
            weft.quiet()
            assert (tensor.numpy().astype("float32") == [[1, 2, 3], [4, 5, 6]]).all()
            assert weft.zeros(1, dtype).dtype == name
        total = weft.zeros((2, 3), "bfloat16")
        total.numpy()[:] = 1.5
        weft.reduce(total, total)
        assert (total.numpy().astype("float32") == 1.5 * weft.n_pes()).all()

    weft.testing.run(2, body)


def test_exports_end_on_any_thread():
    def body():
        tensor = weft.zeros(10)
        held = [tensor.numpy()]
        thread = threading.Thread(target=held.clear)
        thread.start()
        thread.join()
        gc.collect()
        weft.free(tensor)

    weft.testing.run(1, body)


@pytest.mark.skipif(os.path.exists("/dev/nvidiactl"), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_said():
    with pytest.raises(weft.UnsupportedError, match='libcuda.so.1.*device="cpu"'):
        weft.join(device="cuda", unique_id=weft.unique_id(), rank=0, size=1)
    with pytest.raises(weft.ArgumentError, match='device is "tpu"'):
        weft.join(device="tpu", unique_id=weft.unique_id(), rank=0, size=1)


def test_spawned_processes_are_pes(tmp_path):
    program = tmp_path / "spawned.py"
    program.write_text(
        textwrap.dedent(
            """
            import multiprocessing, weft

            def play(text, rank, size):
                weft.init(unique_id=text, rank=rank, size=size)
                total = weft.zeros(1, "int64")
                total.numpy()[:] = rank + 1
                weft.barrier()
                weft.reduce(total, total)
                assert total.numpy()[0] == size * (size + 1) // 2
                weft.finalize()

            if __name__ == "__main__":
                rendezvous = weft.unique_id()
                spawn = multiprocessing.get_context("spawn")
                players = [spawn.Process(target=play, args=(rendezvous.text, rank, 3)) for rank in range(3)]
                for player in players:
                    player.start()
                for player in players:
                    player.join()
                assert all(player.exitcode == 0 for player in players)
                print("well")
            """
        )
    )
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and "well" in done.stdout, done.stderr


def body_of_a_process():
    box = weft.zeros(1, "int64")
    weft.put(box, np.array([weft.my_pe()]), (weft.my_pe() + 1) % weft.n_pes())
    weft.barrier()
    return int(box.numpy()[0]), os.getpid()


def raises_on_one():
    if weft.my_pe() == 1:
        raise KeyError("of mine")
    weft.barrier()


def dies_on_one():
    if weft.my_pe() == 1:
        os._exit(7)
    weft.barrier()


def test_processes_are_pes_of_a_test():
    results = weft.testing.run_processes(3, body_of_a_process)
    assert [came for came, _ in results] == [2, 0, 1] and len({pid for _, pid in results} | {os.getpid()}) == 4
    with pytest.raises(KeyError, match="of mine"):
        weft.testing.run_processes(2, raises_on_one)
    with pytest.raises((weft.WeftError, RuntimeError), match="PE 1"):
        weft.testing.run_processes(2, dies_on_one, settings={"WEFT_WAIT_TIMEOUT": "20s"})


OTHER_LIBRARY = """
#include <iostream>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>
extern "C" int throw_and_catch(int turns) {
  int caught = 0;
  for (int i = 0; i < turns; ++i) {
    try {
      std::ostringstream text;
      text.imbue(std::locale::classic());
      text << "turn " << i << ' ' << 0.5 * i << std::endl;
      throw std::runtime_error(text.str());
    } catch (const std::exception& e) {
      caught += std::string(e.what()).size() > 6;
    }
  }
  return caught;
}
"""


@pytest.mark.parametrize("first", ["weft", "other"])
def test_beside_a_library_that_has_libstdcxx_in_it(first, tmp_path):
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no compiler")
    (tmp_path / "other.cpp").write_text(OTHER_LIBRARY)
    library = tmp_path / "libother.so"
    subprocess.run(
        [compiler, "-O1", "-shared", "-fPIC", "-static-libstdc++", "-static-libgcc", str(tmp_path / "other.cpp"), "-o", str(library)],
        check=True,
    )
    said = succeeds(
        """
        import ctypes, os, sys
        load = lambda: ctypes.CDLL(sys.argv[1], mode=os.RTLD_NOW | os.RTLD_GLOBAL)
        if sys.argv[2] == "other":
            other = load()
        import weft
        weft.init(unique_id=weft.unique_id(), rank=0, size=1)
        if sys.argv[2] == "weft":
            other = load()
        for _ in range(3):
            assert other.throw_and_catch(100) == 100
            try:
                weft.zeros(3, "int7")
            except weft.ArgumentError as problem:
                assert "int7" in str(problem)
            weft.reduce(weft.zeros(3), weft.zeros(3))
        weft.finalize()
        print("well")
        """,
        library,
        first,
    )
    assert "well" in said
