"""Grouped launches: one kernel, a list of problems, one launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilec.jit.cache import Request
from tilec.jit.planning import Group
from tilec.jit.specialize import signature_of

if TYPE_CHECKING:
    from tilec.compiler.phases import Compiled
    from tilec.jit.kernel import Kernel


@dataclass(frozen=True)
class GroupedKernel:
    """A kernel for lists of problems: ``matmul.grouped``.

    A problem is a set of the kernel's arguments. All problems of a list share dtypes, ranks,
    constants and one tile; shapes, strides and scalars are each problem's own.

    Attributes:
        kernel: the kernel.
    """

    kernel: Kernel

    def __call__(self, problems: Sequence[Sequence[Any]], /, **shared: Any) -> None:
        """Launch once for all problems, one program a tile of each.

        What a problem writes must be disjoint from every array of the others: they run at the same
        time, in no order. Problems without tiles are left out; without any, nothing is launched.
        With ``tl.AUTO``, one tile is planned for the whole list.

        Args:
            problems: for each problem, a tuple of the kernel's positional arguments.
            **shared: keyword arguments that hold for all, and ``stream=``.

        Raises:
            LaunchError: problems or arguments are refused, nothing was launched; the message
                begins with the number of the problem.
            TraceError: the function cannot be traced for these arguments.
            CompileError: the compiler refuses it.
            DriverError: there is no usable driver, or it failed.

        Example:
            >>> import numpy as np
            >>> import tilec as tl
            >>> @tl.kernel
            ... def scale(y, x, factor):
            ...     y.store(x.load_like(y) * factor)
            >>> short, long = np.zeros(3), np.zeros(5)
            >>> problems = [
            ...     (tl.partition(short, tl.AUTO), np.ones(3), 2.0),
            ...     (tl.partition(long, tl.AUTO), np.ones(5), 3.0),
            ... ]
            >>> scale.grouped(problems)
            >>> float(short.sum()), float(long.sum())
            (6.0, 15.0)
        """
        self.kernel._launch_grouped(problems, **shared)

    def request(
        self, problems: Sequence[Sequence[Any]], /, *, target: str, **shared: Any
    ) -> Request:
        """Bind problems as a launch does, and return what the cache is asked for.

        Arrays in host memory and ``ArraySpec`` stand for arrays on a GPU; nothing runs.
        """
        specs, _, shapes, varying, count = self.kernel._specialize_grouped(problems, **shared)
        signature = signature_of(specs, grouped=True)
        return self.kernel.request_for(signature, target, shapes, Group(count, varying))

    def compile(
        self,
        problems: Sequence[Sequence[Any]],
        /,
        *,
        target: str | None = None,
        phases: Sequence[str] | None = None,
        **shared: Any,
    ) -> Compiled:
        """Compile for a list of problems, without a launch, a cache or a GPU: ``Kernel.compile``.

        Raises:
            LaunchError: the problems are refused, or there is no target.
            TraceError: the function cannot be traced for these arguments.
            CompileError: the compiler refuses it.
        """
        kernel = self.kernel
        if target is None:
            target = kernel.target_of(kernel._specialize_grouped(problems, **shared)[1])
        return kernel.compile_request(self.request(problems, target=target, **shared), phases)
