"""Beside PyTorch: process groups, torchrun, tensors. By one process, which starts others."""

import os
import re
import subprocess
import sys
import textwrap

import pytest

torch = pytest.importorskip("torch")

import weft  # noqa: E402
import weft.testing  # noqa: E402


def torchrun(npes, text, tmp_path, *arguments):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(text))
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # or torchrun says at length that it sets it
    command = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={npes}", *arguments, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_torchrun_is_a_launcher(tmp_path):
    said = torchrun(
        3,
        """
        import torch, weft
        for turn in range(2):
            weft.init()
            t = weft.zeros((2, 3), torch.float32)
            t.torch().fill_(weft.my_pe() + 1)
            weft.barrier()
            weft.reduce(t, t)
            assert (t.torch() == sum(range(1, weft.n_pes() + 1))).all()
            print(f"{weft.my_pe()} of {weft.n_pes()}", flush=True)
            weft.finalize()
        """,
        tmp_path,
    )
    assert sorted(re.findall(r"\d of \d", said)) == sorted(2 * ["0 of 3", "1 of 3", "2 of 3"])


def test_operators_take_tensors(tmp_path):
    said = torchrun(
        2,
        """
        import torch, weft
        weft.init()
        n, me = weft.n_pes(), weft.my_pe()
        inp = torch.full((3, 5), me + 1.0, dtype=torch.bfloat16)
        out = torch.full((3, 5), float("nan"), dtype=torch.bfloat16)
        weft.AllReduce(15, torch.bfloat16)(out, inp)
        assert (out == 3).all()
        layer = torch.nn.Linear(16, 8, bias=False).bfloat16()
        rows = torch.randn(4, 16).bfloat16()
        c = torch.full((n * 4, 8), float("nan"), dtype=torch.bfloat16)
        gathered = torch.empty(n * 4, 16, dtype=torch.bfloat16)
        weft.AgGemm(4, 8, 16)(c, rows, layer.weight.detach(), gathered)
        assert (gathered[4 * me : 4 * me + 4] == rows).all()
        torch.testing.assert_close(c, layer(gathered), rtol=1e-2, atol=1e-2)
        print("well", flush=True)
        """,
        tmp_path,
    )
    assert said.count("well") == 2


def test_a_restarted_job_meets_anew(tmp_path):
    said = torchrun(
        2,
        """
        import os, weft
        weft.init()
        weft.barrier()
        if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and weft.my_pe() == 1:
            os._exit(3)
        weft.barrier()
        print("here " + os.environ["TORCHELASTIC_RESTART_COUNT"], flush=True)  # in one piece
        """,
        tmp_path,
        "--max-restarts=1",
    )
    assert re.findall(r"here \d", said) == ["here 1"] * 2


def test_a_group_of_processes_is_a_job(tmp_path):
    said = torchrun(
        4,
        """
        import torch.distributed as dist, weft
        dist.init_process_group("gloo")
        halves = [dist.new_group([0, 1]), dist.new_group([3, 2])]
        mine = halves[dist.get_rank() // 2]
        job = weft.join(group=mine)
        weft.init(group=dist.group.WORLD)
        assert (weft.my_pe(), weft.n_pes()) == (dist.get_rank(), 4)
        with weft.use(job):
            assert (weft.my_pe(), weft.n_pes()) == (dist.get_rank(mine), 2)
            weft.barrier()
        weft.barrier()
        print("here", flush=True)
        dist.destroy_process_group()
        """,
        tmp_path,
    )
    assert said.count("here") == 4


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.int64, torch.complex64, torch.bool])
def test_tensors_are_torchs_without_a_copy(dtype):
    def body():
        tensor = weft.zeros((4, 6), dtype)
        array = tensor.torch()
        assert array.dtype == dtype and array.shape == (4, 6) and array.data_ptr() == tensor.data_ptr
        values = torch.arange(24).reshape(4, 6).to(dtype)
        weft.put(tensor, values, weft.my_pe())
        weft.quiet()
        assert (array.view(torch.uint8) == values.view(torch.uint8)).all()
        back = torch.empty_like(values)
        weft.get(back, tensor, weft.my_pe())
        assert (back.view(torch.uint8) == values.view(torch.uint8)).all()
        weft.put(tensor[2:3], values[1:2], weft.my_pe())
        assert weft.like(values).dtype == tensor.dtype
        with pytest.raises(weft.ArgumentError, match="array"):
            weft.free(tensor)
        del array
        weft.free(tensor)

    weft.testing.run(1, body)


def test_a_transposed_tensor_is_refused():
    def body():
        with pytest.raises(weft.ArgumentError, match="contiguous"):
            weft.put(weft.zeros((3, 2)), torch.zeros(2, 3).t(), 0)

    weft.testing.run(1, body)


def test_groups_by_name_and_meshes_are_teams(tmp_path):
    said = torchrun(
        4,
        """
        import torch, torch.distributed as dist, weft, weft.torch
        from torch.distributed.device_mesh import init_device_mesh
        dist.init_process_group("gloo")
        weft.init(group=dist.group.WORLD, device="cpu")
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        me = weft.my_pe()
        x = torch.full((2, 3), 10.0 ** me)
        for name, members in (("tp", [me // 2 * 2, me // 2 * 2 + 1]), ("dp", [me % 2, me % 2 + 2])):
            team = weft.torch.team(mesh[name])
            assert list(team.pes) == members and team.rank == members.index(me)
            total = torch.ops.weft.all_reduce(x, "sum", mesh.get_group(name).group_name)
            assert (total == sum(10.0 ** pe for pe in members)).all()
            assert (weft.all_reduce(x, team=team) == total).all()
            gathered = torch.ops.weft.all_gather(x, mesh.get_group(name).group_name)
            assert (gathered[2:] == 10.0 ** members[1]).all()
        assert weft.torch.team(dist.group.WORLD) is None
        try:
            weft.torch.team(mesh)
        except weft.ArgumentError as problem:
            assert "2 dimensions" in str(problem)
        print("well", flush=True)
        dist.destroy_process_group()
        """,
        tmp_path,
    )
    assert said.count("well") == 4
