"""``tilec cache``: what the disk cache holds, and emptying it."""

from __future__ import annotations

import argparse
import time

from tilec import settings
from tilec.jit.cache import DiskCache

_MIB = 2**20


EPILOG = None


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("action", choices=("info", "list", "clear"))


def run(options: argparse.Namespace) -> int:
    """Do what the action says."""
    cache = DiskCache.from_settings()
    if cache.directory is None:
        print("the cache is off (TILEC_CACHE, or TILEC_DUMP is set)")
        return 0
    if options.action == "info":
        _print_info(cache)
    elif options.action == "list":
        _print_list(cache)
    else:
        print(f"removed {cache.clear()} kernels from {cache.directory}")
    return 0


def _print_info(cache: DiskCache) -> None:
    limit_bytes = settings.current().cache_limit_bytes
    print(f"directory  {cache.directory}")
    print(f"kernels    {sum(1 for _ in cache.listing())}")
    print(f"size       {cache.size_bytes() / _MIB:.1f} MiB of {limit_bytes / _MIB:.0f} MiB")


def _print_list(cache: DiskCache) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("key", "kernel", "target", "KiB", "assembler", "last used")
    for item in cache.listing():
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(item.used_at))
        size = f"{item.size_bytes / 1024:.1f}"
        table.add_row(item.key[:12], item.symbol, item.target, size, item.assembler, used)
    Console().print(table)
