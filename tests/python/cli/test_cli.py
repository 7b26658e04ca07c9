import subprocess
import sys
import textwrap

import pytest

from tilec import cli
from tilec import settings as settings_module
from tilec.compiler.target import TARGETS

KERNELS = """
import tilec as tl

@tl.kernel
def double(y, x):
    y.store(x.load_like(y) * 2)

@tl.kernel
def scale(y, x, factor, *, n: tl.Constant[int]):
    y.store(x.load_like(y) * factor + n)

__tilec_examples__ = {
    "double": ("f32[1024]:partition(128) f32[1024]", "f32[1000]:partition(128) f32[1000]"),
}
"""


@pytest.fixture(autouse=True)
def settings(monkeypatch, tmp_path):
    chosen = settings_module.Settings(cache_dir=tmp_path / "cache")
    monkeypatch.setattr(settings_module, "current", lambda: chosen)
    return chosen


@pytest.fixture
def place(tmp_path):
    path = tmp_path / "my_kernels.py"
    path.write_text(textwrap.dedent(KERNELS))
    return str(path)


def run(capsys, *arguments):
    code = cli.main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_inspect_traced_shows_the_module(capsys, place):
    code, out, _ = run(
        capsys, "inspect", f"{place}::double", "--phase", "traced", "--target", "sm_80"
    )
    assert code == 0
    first, *rest = out.splitlines()
    assert first == "// double(f32[1024]:partition(128) f32[1024]), sm_80, traced"
    assert sum("tile.kernel @double" in line for line in rest) == 2  # one for each example


def test_inspect_takes_arguments_from_the_command_line(capsys, place):
    code, out, _ = run(
        capsys,
        "inspect",
        f"{place}::scale",
        "--phase=traced",
        "--target=sm_90a",
        "--args=bf16[8,64]:partition(1,64) bf16[8,64] 1.5 n=3",
    )
    assert code == 0
    assert "tensor<1x64xbf16>" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["inspect", "{place}::triple", "--target=sm_80"],
            "error: {place} holds no kernel triple, only double, scale\n",
        ),
        (
            ["inspect", "{place}::scale", "--target=sm_80"],
            "error: no arguments are known for kernel scale\n",
        ),
        (
            ["inspect", "{place}::double", "--target=sm_75"],
            "error: unsupported target 'sm_75', expected one of " + ", ".join(TARGETS) + "\n",
        ),
        (["compile", "nowhere.py", "--target=sm_80"], "error: there is no file nowhere.py\n"),
        (
            ["compile", "no_such_module", "--target=sm_80"],
            "error: there is no module no_such_module\n",
        ),
        (["compile", "json", "--target=sm_80"], "error: json holds no kernel\n"),
        (
            ["compile", "{place}", "--target=sm_80", "--args=1"],
            "error: --args is for one kernel, but {place} has double, scale\n",
        ),
        (
            ["compile", "{place}::double", "--target=sm_80", "--args=f33[8]"],
            "error: unknown dtype 'f33', expected one of",
        ),
        (["bench", "--directory=nowhere"], "error: there are no benchmarks in nowhere\n"),
    ],
)
def test_cli_bad_request_is_refused(capsys, place, arguments, message):
    code, out, err = run(capsys, *(argument.format(place=place) for argument in arguments))
    assert code == 1
    assert out == ""
    assert (err + "\n").startswith(message.format(place=place))


def test_inspect_plan_shows_what_was_looked_at_for_auto(capsys):
    code, out, _ = run(
        capsys,
        "inspect",
        "tilec.kernels.matmul::matmul_kernel",
        "--phase=plan",
        "--target=sm_80",
        "--args=f32[512,512]:partition(auto) f32[512,512] f32[512,512]",
    )
    assert code == 0
    lines = out.splitlines()
    assert lines[1] == "tile (64, 64) for tl.AUTO: 64 programs"
    table = lines[lines.index("") + 1 : lines.index("{")]
    titles = ["tile", "schedule", "split", "K", "cluster", "programs", "waves", "cycles"]
    assert table[0].split() == titles
    assert [line.split("  ")[0] for line in table if line.endswith("chosen")] == ["(64, 64)"]
    assert any(line.endswith("no wgmma") for line in table)


def test_inspect_plan_shows_loads_and_stores_of_an_authors_tile(capsys, place):
    _, out, _ = run(capsys, "inspect", f"{place}::double", "--phase=plan", "--target=sm_80")
    lines = out.splitlines()
    report = lines[1 : lines.index("{")]
    assert [line.replace(place, "FILE") for line in report] == [
        "tile (128,) of the author's",
        "  tl.AUTO would take (1024,)",
        "  resident CTAs  32 a multiprocessor (as its tiles fit registers)",
        "  warps          1 a program (from the size of its largest tile)",
        "  roles          none: all warps load and compute (no product reads a tile that TMA "
        "fetches)",
        "  shared memory  0 of 166912 bytes",
        "loads",
        "  FILE:6: x (128,): by threads",
        "    why: the target has no TMA",
        "stores",
        "  FILE:6: y (128,): by threads",
        "    why: the target has no TMA",
        "registers",
        "  16 a thread, 0 bytes spilled",
    ]


def test_inspect_plan_shows_products_and_what_is_nearest(capsys, tmp_path):
    path = tmp_path / "narrow.py"
    path.write_text(
        textwrap.dedent(
            """
            import tilec as tl

            @tl.kernel
            def narrow(c, a, b):
                i, j = c.index
                tm, tn = c.tile_shape
                acc = tl.zeros((tm, tn), tl.float32)
                for k in range(a.num_tiles(1, 64)):
                    x = a.load((i, k), (tm, 64))
                    y = b.load((k, j), (64, tn))
                    acc = tl.mma(x, y, acc)
                c.store(acc)

            __tilec_examples__ = {
                "narrow": "f32[512,512]:partition(64,24) bf16[512,512] bf16[512,512]",
            }
            """
        )
    )
    _, out, _ = run(capsys, "inspect", f"{path}::narrow", "--phase=plan", "--target=sm_90a")
    lines = [line.replace(str(path), "FILE") for line in out.splitlines()]
    assert lines[1:3] == [
        "tile (64, 24) of the author's",
        "  tl.AUTO compares, by what its model says they take:",
    ]
    table = [line.split() for line in lines[3:9]]
    names = ["tile", "schedule", "split", "K", "cluster", "programs", "waves", "cycles"]
    assert table[0] == names
    cycles = [int(row[7]) for row in table[1:]]
    assert cycles == sorted(cycles)
    assert [row[-2:] for row in table[1:] if row[-1] == "choice"] == [["its", "choice"]]
    assert lines[9 : lines.index("products")] == [
        "  warps          4 a program (from the size of its largest tile)",
        "  split          none (only a plan for tl.AUTO splits)",
        "  roles          none: all warps load and compute (no product reads a tile that TMA "
        "fetches)",
        "  cluster        none (no product reads a tile that TMA fetches)",
        "  raster         a CTA for every tile, row by row (no product reads a tile that TMA "
        "fetches)",
        "  shared memory  45056 of 232448 bytes",
    ]
    assert lines[lines.index("products") : lines.index("registers")] == [
        "products",
        "  FILE:12: bf16 x bf16 into f32 64 x 24 x 64: mma.sync",
        "    why: the rows of its right operand are no multiple of 32 bytes",
        "    nearest: the nearest is a tile of 32 elements a row",
        "loads",
        "  FILE:10: a (64, 64): by threads",
        "    why: only products of wgmma are fetched for",
        "  FILE:10: a: cp.async, stages 4",
        "  FILE:11: b (64, 24): by threads",
        "    why: only products of wgmma are fetched for",
        "  FILE:11: b: cp.async, stages 4",
        "stores",
        "  FILE:13: c (64, 24): by threads",
        "    why: TMA stores results of wgmma, in kernels whose warps have roles",
    ]


def test_cli_no_gpu_and_no_target_is_refused(capsys, place, monkeypatch):
    from tilec.commands import loading

    monkeypatch.setattr(loading, "gpu_capability", lambda: None)
    code, _, err = run(capsys, "compile", f"{place}::double")
    assert code == 1
    assert err.startswith("error: there is no GPU here to compile for\n")
    assert "--target sm_80 | sm_86" in err


def test_cli_names_what_is_missing_before_it_asks_for_a_target(capsys, monkeypatch):
    from tilec.commands import loading

    monkeypatch.setattr(loading, "gpu_capability", lambda: None)
    for command in ("compile", "inspect"):
        assert run(capsys, command, "nowhere.py") == (1, "", "error: there is no file nowhere.py\n")


def test_cli_without_a_command_shows_the_commands(capsys):
    code, out, err = run(capsys)
    assert (code, out) == (2, "")
    assert all(f"  {name:<9} {text}" in err for name, text in cli.COMMANDS.items())


def test_cli_unknown_command_is_a_usage_error(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["frobnicate"])
    assert stop.value.code == 2
    assert "invalid choice: 'frobnicate'" in capsys.readouterr().err


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_cli_every_command_has_help(capsys, name):
    with pytest.raises(SystemExit) as stop:
        cli.main([name, "--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    assert f"usage: tilec {name}" in out
    assert f"tilec {name}: " in out and "`" not in out


def test_cache_command_shows_and_clears(capsys, settings):
    code, out, _ = run(capsys, "cache", "info")
    assert code == 0
    assert f"directory  {settings.cache_dir}/v1\nkernels    0\n" in out
    code, out, _ = run(capsys, "cache", "clear")
    assert (code, out) == (0, f"removed 0 kernels from {settings.cache_dir}/v1\n")


def test_doctor_reports_versions_and_fixes(capsys, monkeypatch):
    from tilec.commands import doctor
    from tilec.compiler.assemble import Unavailable

    def missing():
        raise Unavailable("the library is not here")

    monkeypatch.setattr(doctor, "nvjitlink_version", missing)
    findings = {finding.subject: finding for finding in doctor.examine()}
    assert findings["nvJitLink"].fix == "pip install nvidia-nvjitlink"
    assert findings["compiler"].state == "targets " + ", ".join(TARGETS)
    assert findings["cache"].fix == ""
    assert findings["numpy"].required
    code, out, _ = run(capsys, "doctor")
    assert code == 0
    assert "the library is not here" in " ".join(out.split())


def test_doctor_missing_compiler_fails(capsys, monkeypatch):
    from tilec.commands import doctor

    def missing():
        raise ImportError("libTilecPythonCAPI.so: cannot open shared object file")

    monkeypatch.setattr(doctor, "extension", missing)
    assert run(capsys, "doctor")[0] == 1


def test_bench_runs_each_file_and_tells_failures(capfd, tmp_path):
    (tmp_path / "bench_good.py").write_text("print('good figures')")
    (tmp_path / "bench_bad.py").write_text("raise SystemExit(3)")
    (tmp_path / "harness.py").write_text("raise SystemExit(4)")
    assert cli.main(["bench", f"--directory={tmp_path}"]) == 1
    captured = capfd.readouterr()
    assert "good figures" in captured.out
    assert captured.err == "failed: bench_bad\n"
    assert cli.main(["bench", f"--directory={tmp_path}", "good"]) == 0
    assert cli.main(["bench", f"--directory={tmp_path}", "ugly"]) == 1
    assert "no benchmark 'ugly', expected one of bad, good" in capfd.readouterr().err


def test_cli_loads_only_what_a_command_needs():
    code = "import sys; from tilec import cli; cli.main(['cache', 'info']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.split()
    assert "tilec.jit.cache" in loaded
    assert not [name for name in loaded if name.startswith("tilec._mlir")]
