"""What a figure must be read with: the GPU, its clocks, and every version that mattered."""

from __future__ import annotations

import importlib
import platform
import subprocess
from typing import Any

import torch

_QUERY = ("clocks.sm", "clocks.mem", "clocks.max.sm", "power.limit", "temperature.gpu")


def describe() -> dict[str, str]:
    """Return the GPU, its clocks now, and versions of everything involved."""
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    return {
        "gpu": f"{properties.name}, {properties.multi_processor_count} SMs, "
        f"{properties.total_memory / 2**30:.0f} GiB",
        **clocks(),
        "driver": _smi("driver_version"),
        "python": platform.python_version(),
        "torch": f"{torch.__version__} (CUDA {torch.version.cuda})",
        "triton": _version("triton"),
        "tilec": _version("tilec"),
        "assembler": _assembler(),
    }


def clocks() -> dict[str, str]:
    """Return the clocks, power limit and temperature, as far as nvidia-smi tells them."""
    return {name: _smi(name) for name in _QUERY}


def show(found: dict[str, str]) -> None:
    """Print one line a fact."""
    for name, value in found.items():
        print(f"  {name:<16} {value}")


def _smi(field: str) -> str:
    command = ["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    lines = done.stdout.splitlines() or ["unknown"]
    return lines[min(torch.cuda.current_device(), len(lines) - 1)].strip()


def _version(module: str) -> str:
    try:
        loaded: Any = importlib.import_module(module)
    except ImportError:
        return "not installed"
    return str(getattr(loaded, "__version__", "unknown"))


def _assembler() -> str:
    """Name the assembler that makes the cubins: its version decides about registers."""
    try:
        runtime: Any = importlib.import_module("tilec._runtime")
        version = runtime.nvjitlink_version()
    except (ImportError, AttributeError, RuntimeError) as error:
        return f"unknown ({error})"
    return "nvJitLink " + ".".join(map(str, version))
