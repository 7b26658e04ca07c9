"""The one table of targets: what each architecture can do and how much it has.

Passes ask a target for a feature or a limit, never for its number. The C++ side is handed the row
as JSON and holds no table of its own.

Source:
    PTX ISA 9.0, "Target ISA Notes" and "PTX ISA Notes" of each instruction; CUDA C++ Programming
    Guide, "Technical Specifications per Compute Capability".
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from types import MappingProxyType

from tilec.diagnostics import CompileError

KIB = 1024


class UnsupportedTargetError(CompileError):
    """The named target is not in the table."""


@dataclass(frozen=True)
class Limits:
    """What one block and one streaming multiprocessor have.

    Units: names ending in ``_bytes`` count bytes, all others count things.
    """

    shared_per_block_bytes: int
    """Dynamic shared memory a kernel may opt in to."""
    shared_per_sm_bytes: int
    threads_per_sm: int
    blocks_per_sm: int
    multiprocessors: int
    """Of the most common device; a launch asks its own."""
    dram_bytes_per_cycle: int
    """What that device reads from its memory in a cycle of its multiprocessors."""
    cluster_blocks: int = 1
    """Blocks in a cluster that every device accepts."""
    shared_default_bytes: int = 48 * KIB
    """Shared memory a kernel may use without opting in."""
    shared_reserved_bytes: int = KIB
    """Shared memory the system takes from each block."""
    registers_per_sm: int = 64 * KIB
    registers_per_thread: int = 255
    threads_per_block: int = 1024
    warp_threads: int = 32


@dataclass(frozen=True)
class Target:
    """One row of the table.

    Attributes:
        name: the architecture as the assembler takes it, for example ``sm_90a``.
        capability: the compute capability of the devices it runs on.
        ptx_version: ten times the lowest PTX version in which every feature of the row exists.
        features: see ``FEATURES``.
        limits: sizes and counts.
    """

    name: str
    capability: tuple[int, int]
    ptx_version: int
    features: frozenset[str]
    limits: Limits

    def has(self, feature: str) -> bool:
        """Tell whether the target has a feature.

        Raises:
            KeyError: no target has a feature of this name.

        Example:
            >>> Target.parse("sm_90a").has("wgmma"), Target.parse("sm_86").has("wgmma")
            (True, False)
        """
        if feature not in FEATURES:
            raise KeyError(f"unknown feature {feature!r}; known: {', '.join(sorted(FEATURES))}")
        return feature in self.features

    def to_json(self) -> dict[str, object]:
        """Return the row as the C++ side takes it."""
        return {
            "name": self.name,
            "capability": list(self.capability),
            "ptx": self.ptx_version,
            "features": sorted(self.features),
            "limits": asdict(self.limits),
        }

    @staticmethod
    def parse(text: str) -> Target:
        """Return the target of a name: ``sm_90a``, ``sm_90`` or ``90a``.

        The suffix may be left out: there is one row for a compute capability.

        Raises:
            UnsupportedTargetError: the table has no such target.

        Example:
            >>> Target.parse("90").name
            'sm_90a'
        """
        number = text.strip().lower().removeprefix("sm_").removeprefix("sm")
        for name, target in TARGETS.items():
            if number in (name.removeprefix("sm_"), name.removeprefix("sm_").rstrip("a")):
                return target
        raise UnsupportedTargetError(
            f"unsupported target {text!r}, expected one of {', '.join(TARGETS)}"
        )

    @staticmethod
    def of_capability(major: int, minor: int) -> Target:
        """Return the target whose code runs on devices of a compute capability.

        Only an exact match counts: architecture-specific code of a neighbour may load and compute
        nonsense.

        Raises:
            UnsupportedTargetError: the table has no such target.
        """
        for target in TARGETS.values():
            if target.capability == (major, minor):
                return target
        known = ", ".join(f"{a}.{b}" for a, b in (t.capability for t in TARGETS.values()))
        raise UnsupportedTargetError(
            f"unsupported compute capability {major}.{minor}, expected one of {known}"
        )


_AMPERE = frozenset(
    "cp_async ldmatrix mma_f16 mma_bf16 mma_tf32 mma_f64 mma_i8 redux_i32 bf16_fma mbarrier".split()
)
_ADA = _AMPERE | {"fp8_cvt", "fp8_mma"}
_HOPPER_COMMON = _ADA | frozenset(
    "tma stmatrix cluster setmaxnreg elect griddepcontrol bf16_add bf16_ex2".split()
)
_BLACKWELL_COMMON = _HOPPER_COMMON | {"f32x2", "load_256", "fp4_cvt"}
_BLACKWELL_DATACENTER = _BLACKWELL_COMMON | {"tma_multicast", "tcgen05", "redux_f32"}

FEATURES = MappingProxyType(
    {
        "bf16_add": "add, sub and mul in bf16",
        "bf16_ex2": "ex2.approx in bf16",
        "bf16_fma": "fma in bf16",
        "cluster": "thread block clusters and distributed shared memory",
        "cp_async": "asynchronous copies from global to shared memory, per thread",
        "elect": "elect.sync",
        "f32x2": "two f32 operations in one instruction",
        "fp4_cvt": "conversions to and from e2m1",
        "fp8_cvt": "conversions to and from e4m3 and e5m2",
        "fp8_mma": "mma.sync on e4m3 and e5m2",
        "griddepcontrol": "programmatic dependent launch",
        "ldmatrix": "8x8 matrices from shared memory to fragments",
        "load_256": "32-byte global loads and stores",
        "mbarrier": "barriers in shared memory",
        "mma_bf16": "mma.sync on bf16",
        "mma_block_scale": "mma.sync with block scales (mxf8, mxf4, nvf4)",
        "mma_f16": "mma.sync on f16",
        "mma_f64": "mma.sync on f64",
        "mma_f64_m16": "mma.sync on f64 in 16 rows",
        "mma_i8": "mma.sync on s8 and u8",
        "mma_tf32": "mma.sync on tf32",
        "redux_f32": "minimum and maximum of f32 over a warp",
        "redux_i32": "integer reductions over a warp",
        "setmaxnreg": "registers moved between warpgroups at run time",
        "stmatrix": "8x8 matrices from fragments to shared memory",
        "tcgen05": "fifth-generation tensor cores and tensor memory",
        "tma": "tensor memory accelerator: bulk tensor copies",
        "tma_multicast": "one bulk tensor copy into every block of a cluster, at full speed",
        "wgmma": "warpgroup matrix multiply",
    }
)

_ROWS = (
    Target("sm_80", (8, 0), 70, _AMPERE, Limits(163 * KIB, 164 * KIB, 2048, 32, 108, 1300)),
    Target("sm_86", (8, 6), 71, _AMPERE, Limits(99 * KIB, 100 * KIB, 1536, 16, 84, 450)),
    Target("sm_89", (8, 9), 84, _ADA, Limits(99 * KIB, 100 * KIB, 1536, 24, 128, 400)),
    Target(
        "sm_90a",
        (9, 0),
        84,
        _HOPPER_COMMON | {"wgmma", "tma_multicast", "mma_f64_m16"},
        Limits(227 * KIB, 228 * KIB, 2048, 32, 132, 2400, cluster_blocks=8),
    ),
    Target(
        "sm_100a",
        (10, 0),
        88,
        _BLACKWELL_DATACENTER,
        Limits(227 * KIB, 228 * KIB, 2048, 32, 148, 4100, cluster_blocks=8),
    ),
    Target(
        "sm_103a",
        (10, 3),
        88,
        _BLACKWELL_DATACENTER,
        Limits(227 * KIB, 228 * KIB, 2048, 32, 160, 4100, cluster_blocks=8),
    ),
    Target(
        "sm_120a",
        (12, 0),
        88,
        _BLACKWELL_COMMON | {"mma_block_scale"},
        Limits(99 * KIB, 100 * KIB, 1536, 24, 170, 700, cluster_blocks=8),
    ),
)

TARGETS = MappingProxyType({target.name: target for target in _ROWS})
"""Every supported target by name, oldest first."""
