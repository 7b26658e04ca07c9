"""Ops of `tilegpu`: roles, queues, turns, the copy engine and the tensor cores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from warp_roles.barriers import Mbarrier, Queue, QueueCursors, TurnCursor, Turns
from warp_roles.clock import Run
from warp_roles.cta import Cta, Frame
from warp_roles.faults import Fault
from warp_roles.kernel import Kernel, Runner, Step, is_tile, run, step, tile_of
from warp_roles.memory import TILE_ALIGNMENT, Buffer, Content, element_bytes
from warp_roles.plain_ops import product_detail
from warp_roles.products import WARPS, Pending, accumulated
from warp_roles.terms import Term, View, added, columns, transposed, zero_of

STORE_ROWS, STORE_BUFFERS, STORE_BYTES, ALIGNMENT = 64, 2, 8192, 1024
WGMMA = 2  # of MmaKind


def offset_of(op: Any) -> int:
    return op.attributes["tilegpu.shared_offset"].value


@run("tilegpu.roles")
def roles(op: Any, kernel: Kernel) -> Runner:
    producer, consumer = kernel.region(op, 0), kernel.region(op, 1)

    def execute(frame: Frame) -> Run:
        yield None
        everybody = frame.cta.everybody
        yield everybody.come()  # the barriers must be there before anybody waits at one
        yield from (producer if frame.program is None else consumer).run(frame)
        if frame.program is not None and len(frame.cta.peers) > 1:
            yield everybody.come()  # until no other CTA can arrive at the barriers of this one
        everybody.leave()
        for value in frame.values:
            if isinstance(value, QueueCursors) and value.held:
                raise Fault("left over", f"{frame.name} ends with stages it has not freed")
        if frame.program is not None and frame.speaks:
            if not frame.cta.bulk_stores[frame.warpgroup].have_read(0):
                raise Fault("staging", f"{frame.name} ends under a bulk store")

    return execute


@step("tilegpu.program")
def program(op: Any, kernel: Kernel) -> Step:
    (result,) = kernel.numbers(op.results)

    def execute(frame: Frame) -> None:
        frame.values[result] = frame.program

    return execute


# -- queues ----------------------------------------------------------------------------------------


@step("tilegpu.queue")
def queue(op: Any, kernel: Kernel) -> Step:
    (result,) = kernel.numbers(op.results)
    stages = int(str(op.results[0].type).partition("<")[2].rstrip(">"))
    stage_bytes, readers = op.attributes["bytes"].value, op.attributes["readers"].value
    cluster = op.attributes["cluster"].value

    def execute(frame: Frame) -> None:
        queues = frame.cta.queues
        if result not in queues:
            queues[result] = Queue(stages, stage_bytes, readers, cluster)
        frame.values[result] = QueueCursors(queues[result])

    return execute


@run("tilegpu.queue_acquire")
def acquire(op: Any, kernel: Kernel) -> Runner:
    (own,), (result,) = kernel.numbers(op.operands), kernel.numbers(op.results)

    def execute(frame: Frame) -> Run:
        yield None
        cursors = frame.values[own]
        yield cursors.free()
        frame.values[result] = cursors.acquired()

    return execute


@run("tilegpu.queue_wait")
def wait(op: Any, kernel: Kernel) -> Runner:
    (own,), (result,) = kernel.numbers(op.operands), kernel.numbers(op.results)

    def execute(frame: Frame) -> Run:
        yield None
        cursors = frame.values[own]
        yield cursors.filled()
        frame.values[result] = cursors.waited()

    return execute


@run("tilegpu.queue_release")
def release(op: Any, kernel: Kernel) -> Runner:
    own, *when = kernel.numbers(op.operands)

    def execute(frame: Frame) -> Run:
        if all(frame.values[condition] for condition in when):
            yield None
            stage = frame.values[own].release()
            for peer in peers(frame, own) if frame.speaks else ():
                arrive(frame, peer.queues[own].free[stage])

    return execute


def peers(frame: Frame, queue: int) -> list[Cta]:
    """The CTAs that fill stages of this one's queue."""
    return frame.cta.peers if frame.cta.queues[queue].cluster > 1 else [frame.cta]


def arrive(frame: Frame, barrier: Mbarrier) -> None:
    """Arrive at a barrier: at once at an own one, others take their time."""
    if len(frame.cta.peers) == 1:
        barrier.arrive()
    else:
        frame.cta.copy(barrier.arrive)


@step("tilegpu.queue_skip")
def skip(op: Any, kernel: Kernel) -> Step:
    own, count = kernel.numbers(op.operands)

    def execute(frame: Frame) -> None:
        frame.values[own].skip(frame.values[count])

    return execute


# -- turns -----------------------------------------------------------------------------------------


@step("tilegpu.turn")
def turn(op: Any, kernel: Kernel) -> Step:
    (result,) = kernel.numbers(op.results)

    def execute(frame: Frame) -> None:
        turns = frame.cta.turns
        if result not in turns:
            turns[result] = Turns(frame.cta.programs, frame.cta.warps)
        frame.values[result] = TurnCursor(turns[result], frame.program or 0)

    return execute


@run("tilegpu.turn_wait")
def turn_wait(op: Any, kernel: Kernel) -> Runner:
    (own,) = kernel.numbers(op.operands)

    def execute(frame: Frame) -> Run:
        yield None
        yield frame.values[own].mine()
        frame.values[own].taken()

    return execute


@run("tilegpu.turn_pass")
def turn_pass(op: Any, kernel: Kernel) -> Runner:
    (own,) = kernel.numbers(op.operands)

    def execute(frame: Frame) -> Run:
        yield None
        frame.values[own].give()

    return execute


# -- shared memory ---------------------------------------------------------------------------------


@step("tilegpu.ring")
def ring(op: Any, kernel: Kernel) -> Step:
    kernel.constant(op.results[0], Buffer.of(offset_of(op), str(op.results[0].type)))
    return lambda frame: None


@step("tilegpu.ring_slot")
def ring_slot(op: Any, kernel: Kernel) -> Step:
    (own, stage), (result,) = kernel.numbers(op.operands), kernel.numbers(op.results)

    def execute(frame: Frame) -> None:
        frame.values[result] = frame.values[own].slot(frame.values[stage])

    return execute


@run("tilegpu.local_alloc")
def local_alloc(op: Any, kernel: Kernel) -> Runner:
    (source,), (result,) = kernel.numbers(op.operands), kernel.numbers(op.results)
    first = Buffer.of(offset_of(op), str(op.results[0].type))
    pitch = -(-first.bytes // TILE_ALIGNMENT) * TILE_ALIGNMENT
    fenced = "async_readers" in op.attributes

    def execute(frame: Frame) -> Run:
        yield None
        start = first.start + frame.program * pitch
        own = Buffer(start, first.shape, first.order, first.element)
        frame.turns[result] = frame.turns.get(result, 0) + 1
        term = tile_of(frame, frame.values[source])
        content = Content(term, fenced=fenced, turn=frame.turns[result])
        frame.cta.shared.write(own, content, frame.warp, frame.barriers)
        frame.values[result] = own

    return execute


@run("tilegpu.local_load")
def local_load(op: Any, kernel: Kernel) -> Runner:
    (source,), (result,) = kernel.numbers(op.operands), kernel.numbers(op.results)

    def execute(frame: Frame) -> Run:
        yield None
        frame.values[result] = contents(frame.cta, frame, frame.values[source]).term

    return execute


def contents(cta: Cta, frame: Frame, buffer: Buffer) -> Content:
    """What a warp reads in a CTA, its own or another."""
    return cta.shared.read_parts(buffer, frame.warp, frame.barriers, cta.warps)


@run("tilegpu.barrier")
def barrier(op: Any, kernel: Kernel) -> Runner:
    def execute(frame: Frame) -> Run:
        yield None
        yield frame.meet()

    return execute


@run("tilegpu.convert_layout")
def convert_layout(op: Any, kernel: Kernel) -> Runner:
    """A trip through memory meets the other warps halfway."""
    (source,), (result,) = kernel.numbers(op.operands), kernel.numbers(op.results)
    travels = "tilegpu.shared_offset" in op.attributes

    def execute(frame: Frame) -> Run:
        term = tile_of(frame, frame.values[source])
        if travels:
            yield None
            yield frame.meet()
        frame.values[result] = term

    return execute


@run("tilegpu.cluster_sum")
def cluster_sum(op: Any, kernel: Kernel) -> Runner:
    """Every CTA puts its part where others read it; each gets some columns, or the first all."""
    (source,), (result,) = kernel.numbers(op.operands), kernel.numbers(op.results)
    shape, element = tuple(op.operands[0].type.shape), str(op.operands[0].type.element_type)
    buffer = Buffer(offset_of(op), shape, (1, 0), element)
    width = op.results[0].type.shape[1]
    scatters = width != shape[1]

    def execute(frame: Frame) -> Run:
        cta = frame.cta
        own = tile_of(frame, frame.values[source])
        yield None
        cta.shared.write(buffer, Content(own), frame.warp, frame.barriers)
        for _ in range(1 if scatters else 2):  # for the parts, and for the sums of parts
            yield None
            yield cta.everybody.come()
            frame.barriers += 1
            parts = [contents(peer, frame, buffer).term for peer in cta.peers]
        yield None
        if scatters:
            frame.values[result] = columns(
                added(*parts), min(cta.rank * width, shape[1] - width), width
            )
        else:
            frame.values[result] = added(*parts) if cta.rank == 0 else own

    return execute


# -- the copy engine -------------------------------------------------------------------------------


@step("tilegpu.tensor_map")
def tensor_map(op: Any, kernel: Kernel) -> Step:
    (view, *_), (result,) = kernel.numbers(op.operands), kernel.numbers(op.results)
    order = list(op.attributes["order"])

    def execute(frame: Frame) -> None:
        root = frame.values[view]
        frame.values[result] = View(root.name, root.shape, tuple(order))

    return execute


@run("tilegpu.tma_load")
def tma_load(op: Any, kernel: Kernel) -> Runner:
    array, *offsets, dest, own, _ = kernel.numbers(op.operands)
    multicast = "multicast" in op.attributes

    def execute(frame: Frame) -> Run:
        yield None
        values, cta = frame.values, frame.cta
        slot = values[dest]
        where = [values[offset] for offset in offsets]
        order = [*slot.order, *range(len(slot.order), len(where))]  # what the slot lacks is 1 wide
        extents = (*slot.shape, *(1 for _ in order[len(slot.order) :]))
        dims, starts = (
            [value for _, value in sorted(zip(order, by_place, strict=True))]
            for by_place in (values[array].dims, where)
        )
        term = View(values[array].name, values[array].shape, tuple(dims)).load(starts, extents)
        parts = len(cta.peers) if multicast else 1
        for peer in cta.peers if multicast else [cta]:
            transfer(frame, peer, Transfer(slot, cta.rank if multicast else 0, parts, term), own)

    return execute


@dataclass(frozen=True)
class Transfer:
    """A part of a tile on its way to a stage."""

    slot: Buffer
    part: int
    parts: int
    term: Term


def transfer(frame: Frame, target: Cta, copy: Transfer, queue: int) -> None:
    """Start a transfer; the bytes that arrive count at the target."""
    slot, size = copy.slot, copy.slot.bytes // copy.parts
    start = slot.start + copy.part * size
    access = target.shared.begin(start, start + size, "a load", writes=True)
    target.shared.displace(slot.start, slot.end, slot.fill)
    filled = target.queues[queue].filled[frame.values[queue].queue.stage_of(slot.fill)]

    def arrived() -> None:
        target.shared.finish(access)
        target.shared.fill_part(slot, copy.term, copy.part, copy.parts)
        filled.bytes_arrived(size)

    frame.cta.copy(arrived)


@run("tilegpu.tma_store")
def tma_store(op: Any, kernel: Kernel) -> Runner:
    """Block by block, as TmaStore.cpp has it."""
    value, array, *offsets = kernel.numbers(op.operands)
    rows, columns = op.operands[0].type.shape
    item = element_bytes(str(op.operands[0].type.element_type))
    by_rows = "transposed" in op.attributes
    if by_rows:
        most = STORE_BYTES // (STORE_ROWS * item)
        block_columns = next(width for width in range(most, 0, -8) if columns % width == 0)
    else:
        row_bytes = next(width for width in (128, 64, 32) if columns * item % width == 0)
        block_columns = row_bytes // item
    block_bytes = STORE_ROWS * block_columns * item
    stride = -(-block_bytes // ALIGNMENT) * ALIGNMENT
    start = offset_of(op)

    def execute(frame: Frame) -> Run:
        cta, group = frame.cta, frame.warpgroup
        stores, together = cta.bulk_stores[group], cta.warpgroup_barriers[group]
        term = tile_of(frame, frame.values[value])
        # The array's dimensions behind the tile's rows and columns: lines run along the first.
        behind = frame.values[array].dims[:2] if by_rows else frame.values[array].dims[1::-1]
        term = term if behind[0] < behind[1] else transposed(term)
        place = frame.values[array].place([frame.values[offset] for offset in offsets])
        groups = cta.warps // WARPS
        blocks = rows // STORE_ROWS // groups * (columns // block_columns)
        for number in range(blocks):
            buffer = start + (group * STORE_BUFFERS + number % STORE_BUFFERS) * stride
            yield None
            if frame.speaks:
                odd = number == 0 and blocks % STORE_BUFFERS != 0
                pending = 0 if odd else STORE_BUFFERS - 1
                yield lambda pending=pending: stores.have_read(pending)
            yield together.come()
            part = block_bytes // WARPS
            own = buffer + frame.warp % WARPS * part
            cta.shared.finish(cta.shared.begin(own, own + part, "bulk store", writes=True))
            cta.shared.displace(own, own + part)
            yield None
            yield together.come()
            if frame.speaks:
                access = cta.shared.begin(buffer, buffer + block_bytes, "bulk store", writes=False)
                cta.copy(stores.start(access))
                cta.store(place, (group % groups, number), blocks * groups, term)

    return execute


@run("tilegpu.tma_store_wait")
def tma_store_wait(op: Any, kernel: Kernel) -> Runner:
    def execute(frame: Frame) -> Run:
        yield None
        if frame.speaks:
            stores = frame.cta.bulk_stores[frame.warpgroup]
            yield lambda: stores.have_read(0)

    return execute


# -- products --------------------------------------------------------------------------------------


@run("tilegpu.mma")
def product(op: Any, kernel: Kernel) -> Runner:
    lhs, rhs, acc, *accumulate = kernel.numbers(op.operands)
    (result,) = kernel.numbers(op.results)
    detail, zero = product_detail(op), zero_of(str(op.results[0].type))
    is_async = op.attributes["kind"].value == WGMMA
    in_flight = op.attributes["in_flight"].value if "in_flight" in op.attributes else 0
    in_registers = is_tile(op.operands[0])

    def operand(frame: Frame, number: int) -> tuple[Term, list[Buffer]]:
        value = frame.values[number]
        if not isinstance(value, Buffer):
            return tile_of(frame, value), []
        content = contents(frame.cta, frame, value)
        if is_async and not content.fenced:
            raise Fault("unfenced", f"{frame.name} multiplies what threads wrote without a fence")
        return content.term, [value]

    def execute(frame: Frame) -> Run:
        yield None
        left, left_reads = operand(frame, lhs)
        right, right_reads = operand(frame, rhs)
        before = frame.values[acc] if is_async else tile_of(frame, frame.values[acc])
        start = accumulated(before, all(frame.values[flag] for flag in accumulate), zero)
        term = added(start, Term.of("product", detail, left, right))
        if not is_async:
            frame.values[result] = term
            return
        group = frame.cta.warpgroups[frame.warpgroup]
        number = frame.issued
        group.issue(number, (result, term), left_reads + right_reads)
        frame.issued += 1
        yield from wait_for(frame, frame.issued - in_flight)
        frame.values[result] = Pending(term, number) if in_flight else term

    assert is_async or not in_registers or not in_flight
    return execute


def wait_for(frame: Frame, count: int) -> Run:
    """Until the first `count` products are complete."""
    group = frame.cta.warpgroups[frame.warpgroup]
    yield lambda: group.complete >= count
    frame.known = max(frame.known, count)


@run("tilegpu.mma_wait")
def mma_wait(op: Any, kernel: Kernel) -> Runner:
    operands, results = kernel.numbers(op.operands), kernel.numbers(op.results)

    def execute(frame: Frame) -> Run:
        yield None
        yield from wait_for(frame, frame.issued)
        for number, source in zip(results, operands, strict=True):
            frame.values[number] = tile_of(frame, frame.values[source])

    return execute
