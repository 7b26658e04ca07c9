#ifndef TILEC_TILEGPU_OPS_TD
#define TILEC_TILEGPU_OPS_TD

include "dialects/Tile/IR/TileTypes.td"
include "dialects/TileGPU/IR/TileGPUAttrs.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def TileGPU_SmemType : TypeDef<TileGPU_Dialect, "Smem"> {
  let mnemonic = "smem";
  let summary = "A tile in shared memory";
  let description = [{
    `!tilegpu.smem<128x64xbf16, #tilegpu.shared<order = [1, 0], swizzle = 3>>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        "::tilec::tilegpu::SharedAttr":$layout);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
    int64_t getElementBytes() const;
    /// Bytes of the whole tile.
    int64_t getBytes() const;
    /// `stages` such tiles one after another; the first dimension counts them.
    SmemType staged(int64_t stages) const;
  }];
}

def TileGPU_QueueType : TypeDef<TileGPU_Dialect, "Queue"> {
  let mnemonic = "queue";
  let summary = "Stages of shared memory that travel between the producer and its consumers";
  let description = [{
    `!tilegpu.queue<4>`: two barriers a stage, one that it is filled and one that
    it is free. Each role has a cursor of its own that its ops move from stage to
    stage; the cursors run on across loops.
  }];
  let parameters = (ins "int64_t":$stages);
  let assemblyFormat = "`<` $stages `>`";
}

def TileGPU_TurnType : TypeDef<TileGPU_Dialect, "Turn"> {
  let mnemonic = "turn";
  let summary = "Whose turn it is among the programs of a CTA";
}

def TileGPU_TensorMapType : TypeDef<TileGPU_Dialect, "TensorMap"> {
  let mnemonic = "tensor_map";
  let summary = "A descriptor by which the copy engine finds boxes of an array; a kernel parameter";
}

def TileGPU_ProblemType : TypeDef<TileGPU_Dialect, "Problem"> {
  let mnemonic = "problem";
  let summary = "One of the problems of a grouped launch: a set of the kernel's arguments";
}

def TileGPU_Tile : RankedTensorOf<[AnyInteger, AnyFloat]>;

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

def SharedMemory : Resource<"::tilec::tilegpu::SharedMemory">;

class TileGPU_Op<string mnemonic, list<Trait> traits = []> : Op<TileGPU_Dialect, mnemonic, traits>;

def TileGPU_ConvertLayoutOp : TileGPU_Op<"convert_layout", [Pure]> {
  let summary = "The same tile under another layout";
  let description = [{
    Lowered by what the two layouts have in common: a permutation of registers,
    shuffles inside a warp, or a trip through swizzled shared memory.
  }];
  let arguments = (ins TileGPU_Tile:$source);
  let results = (outs TileGPU_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TileGPU_LocalAllocOp : TileGPU_Op<"local_alloc", [
    MemoryEffects<[MemAlloc<SharedMemory>, MemWrite<SharedMemory>]>]> {
  let summary = "A tile in shared memory, filled from a distributed tile";
  let description = [{
    With `async_readers` the asynchronous tensor cores may read it, which see what
    threads write only behind a fence.
  }];
  let arguments = (ins TileGPU_Tile:$source, UnitAttr:$async_readers);
  let results = (outs TileGPU_SmemType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def TileGPU_LocalStoreOp : TileGPU_Op<"local_store", [MemoryEffects<[MemWrite<SharedMemory>]>]> {
  let summary = "Put a distributed tile into a stage of a ring";
  let description = [{
    The stage must be free, which nothing checks. As after `copy_async`, the tile may
    be read after a barrier.
  }];
  let arguments = (ins TileGPU_Tile:$source, TileGPU_SmemType:$dest);
  let assemblyFormat = "$source `into` $dest attr-dict `:` type($source) `,` type($dest)";
  let hasVerifier = 1;
}

def TileGPU_LocalLoadOp : TileGPU_Op<"local_load", [MemoryEffects<[MemRead<SharedMemory>]>]> {
  let summary = "A distributed tile read from shared memory";
  let arguments = (ins TileGPU_SmemType:$source);
  let results = (outs TileGPU_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def TileGPU_LocalReshapeOp : TileGPU_Op<"local_reshape", [Pure]> {
  let summary = "The same shared memory under another shape"
                " of as many elements; both lie row-major and unswizzled";
  let arguments = (ins TileGPU_SmemType:$source);
  let results = (outs TileGPU_SmemType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def TileGPU_MmaOp : TileGPU_Op<"mma", [AllTypesMatch<["acc", "result"]>,
                                       MemoryEffects<[MemRead<SharedMemory>]>]> {
  let summary = "Matrix product of tiles added to a distributed accumulator";
  let description = [{
    `lhs` lies in shared memory or, for the tensor cores, in registers under the
    fragment layout of `acc`; `rhs` lies in shared memory. `kind = fma` computes any
    element type and shape with scalar fused multiply-adds.

    `wgmma` multiplies asynchronously: the op returns when all but the last
    `in_flight` products of the warpgroup are complete, and until then a result may
    go to another product or to `tilegpu.mma_wait` only. Where `accumulate` is false
    the product replaces `acc`, whose value then does not matter.
  }];
  let arguments = (ins AnyTypeOf<[TileGPU_SmemType, TileGPU_Tile]>:$lhs, TileGPU_SmemType:$rhs,
                       TileGPU_Tile:$acc, Optional<I1>:$accumulate, TileGPU_MmaKind:$kind,
                       UnitAttr:$allow_tf32, UnitAttr:$lhs_unsigned, UnitAttr:$rhs_unsigned,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntNonNegative]>, "0">:$in_flight);
  let results = (outs TileGPU_Tile:$result);
  let assemblyFormat = [{
    $kind $lhs `,` $rhs `,` $acc (`accumulate` $accumulate^)? (`in_flight` $in_flight^)? attr-dict
    `:` type($lhs) `,` type($rhs) `,` type($acc)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$lhs, "::mlir::Value":$rhs,
                                 "::mlir::Value":$acc, "::tilec::tilegpu::MmaKind":$kind, "bool":$allowTf32,
                                 "bool":$lhsUnsigned, "bool":$rhsUnsigned)>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool isWgmma() { return getKind() == ::tilec::tilegpu::MmaKind::wgmma; }
  }];
}

def TileGPU_MmaWaitOp : TileGPU_Op<"mma_wait", [MemoryEffects<[MemRead<SharedMemory>, MemWrite<SharedMemory>]>]> {
  let summary = "Wait until every asynchronous product of the warpgroup is complete";
  let description = [{
    The results are the operands, which nobody may read before.
  }];
  let arguments = (ins Variadic<TileGPU_Tile>:$tiles);
  let results = (outs Variadic<TileGPU_Tile>:$results);
  let assemblyFormat = "$tiles attr-dict `:` functional-type($tiles, $results)";
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$tiles)>];
}

//===----------------------------------------------------------------------===//
// Asynchronous copies
//===----------------------------------------------------------------------===//

def TileGPU_RingOp : TileGPU_Op<"ring", [MemoryEffects<[MemAlloc<SharedMemory>]>]> {
  let summary = "Shared memory for one tile in several stages; the first dimension counts them";
  let results = (outs TileGPU_SmemType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def TileGPU_RingSlotOp : TileGPU_Op<"ring_slot", [Pure]> {
  let summary = "One stage of a ring";
  let arguments = (ins TileGPU_SmemType:$ring, I32:$stage);
  let results = (outs TileGPU_SmemType:$result);
  let assemblyFormat = "$ring `[` $stage `]` attr-dict `:` type($ring) `->` type($result)";
  let hasVerifier = 1;
}

def TileGPU_CopyAsyncOp : TileGPU_Op<"copy_async", [MemoryEffects<[MemWrite<SharedMemory>]>]> {
  let summary = "Start to copy a tile of a `read` view to shared memory";
  let description = [{
    Each thread copies the elements it would hold under `layout`; indices and `step`
    are those of tile.load, and elements out of range become zero. The tile may be
    read after a `copy_wait` that covers the group of this copy, and a barrier. Without
    `shape` the view's tile has the destination's; the destination may lack dimensions
    of extent 1.
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$indices, TileGPU_SmemType:$dest,
                       TileGPU_LayoutAttr:$layout, OptionalAttr<DenseI64ArrayAttr>:$step,
                       OptionalAttr<DenseI64ArrayAttr>:$shape);
  let assemblyFormat = [{
    $view `[` $indices `]` `into` $dest `by` $layout (`step` $step^)? (`shape` $shape^)? attr-dict
    `:` type($view) `,` type($dest)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Of the view's tile.
    ::llvm::ArrayRef<int64_t> getTileShape();
  }];
}

def TileGPU_CopyCommitOp : TileGPU_Op<"copy_commit"> {
  let summary = "The copies that this thread started since its last commit are a group";
  let assemblyFormat = "attr-dict";
}

def TileGPU_CopyWaitOp : TileGPU_Op<"copy_wait"> {
  let summary = "Wait until all but the last `pending` groups of this thread have arrived";
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$pending);
  let assemblyFormat = "$pending attr-dict";
}

//===----------------------------------------------------------------------===//
// Warp roles
//===----------------------------------------------------------------------===//

def TileGPU_RolesOp : TileGPU_Op<"roles", [NoTerminator, SingleBlock, NoRegionArguments, RecursiveMemoryEffects]> {
  let summary = "Warps with work of their own: one fetches tiles, the others compute";
  let description = [{
    One thread runs `producer`; the first `tilegpu.num_warps` warps run `consumer`, and
    as many more for each further program of the CTA (`tilegpu.programs`). Roles meet in
    queues only, programs in turns, and the kernel ends when all have ended.

    ```mlir
    tilegpu.roles producer {
      %stage = tilegpu.queue_acquire %q : !tilegpu.queue<4>
      tilegpu.tma_load %map[%c0, %i] into %slot of %q[%stage] : …
    } consumer {
      %stage = tilegpu.queue_wait %q : !tilegpu.queue<4>
      …
      tilegpu.queue_release %q : !tilegpu.queue<4>
    }
    ```

    Source: asynchronous references, arXiv 2510.14719.
  }];
  let regions = (region SizedRegion<1>:$producer, SizedRegion<1>:$consumer);
  let assemblyFormat = "attr-dict `producer` $producer `consumer` $consumer";
}

def TileGPU_QueueOp : TileGPU_Op<"queue", [MemoryEffects<[MemAlloc<SharedMemory>]>]> {
  let summary = "A queue whose stages are all free";
  let description = [{
    A stage is filled when `bytes` bytes have arrived in it, and free again when each
    of the `readers` warpgroups has released it, in every CTA of the `cluster`: any of
    them may fetch for all.
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntPositive]>:$bytes, ConfinedAttr<I64Attr, [IntPositive]>:$readers,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$cluster);
  let results = (outs TileGPU_QueueType:$result);
  let assemblyFormat = "`bytes` $bytes `readers` $readers (`cluster` $cluster^)? attr-dict `:` type($result)";
  let extraClassDeclaration = [{
    /// Shared memory that the barriers of `stages` stages take.
    static int64_t barrierBytes(int64_t stages) { return 16 * stages; }
  }];
}

def TileGPU_QueueAcquireOp : TileGPU_Op<"queue_acquire", [
    MemoryEffects<[MemRead<SharedMemory>, MemWrite<SharedMemory>]>]> {
  let summary = "Wait until the producer's next stage is free, and say how many bytes will arrive";
  let arguments = (ins TileGPU_QueueType:$queue);
  let results = (outs I32:$stage);
  let assemblyFormat = "$queue attr-dict `:` type($queue)";
}

def TileGPU_QueueWaitOp : TileGPU_Op<"queue_wait", [
    MemoryEffects<[MemRead<SharedMemory>, MemWrite<SharedMemory>]>]> {
  let summary = "Wait until the consumer's next stage is filled";
  let arguments = (ins TileGPU_QueueType:$queue);
  let results = (outs I32:$stage);
  let assemblyFormat = "$queue attr-dict `:` type($queue)";
}

def TileGPU_QueueReleaseOp : TileGPU_Op<"queue_release", [
    MemoryEffects<[MemRead<SharedMemory>, MemWrite<SharedMemory>]>]> {
  let summary = "Free the oldest stage that this consumer has waited for and not freed, if `when` holds";
  let arguments = (ins TileGPU_QueueType:$queue, Optional<I1>:$when);
  let assemblyFormat = "$queue (`when` $when^)? attr-dict `:` type($queue)";
}

def TileGPU_QueueSkipOp : TileGPU_Op<"queue_skip"> {
  let summary = "Pass by the consumer's next `count` stages, which belong to other programs";
  let arguments = (ins TileGPU_QueueType:$queue, I32:$count);
  let assemblyFormat = "$queue `by` $count attr-dict `:` type($queue)";
}

def TileGPU_ProgramOp : TileGPU_Op<"program", [Pure]> {
  let summary = "Number of this program in its CTA";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def TileGPU_TurnOp : TileGPU_Op<"turn", [MemoryEffects<[MemAlloc<SharedMemory>]>]> {
  let summary = "Program 0's turn";
  let results = (outs TileGPU_TurnType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let extraClassDeclaration = [{
    /// Shared memory that the barriers of `programs` programs take.
    static int64_t barrierBytes(int64_t programs) { return 8 * programs; }
  }];
}

def TileGPU_TurnWaitOp : TileGPU_Op<"turn_wait", [
    MemoryEffects<[MemRead<SharedMemory>, MemWrite<SharedMemory>]>]> {
  let summary = "Wait until it is this program's turn";
  let arguments = (ins TileGPU_TurnType:$turn);
  let assemblyFormat = "$turn attr-dict `:` type($turn)";
}

def TileGPU_TurnPassOp : TileGPU_Op<"turn_pass", [
    MemoryEffects<[MemRead<SharedMemory>, MemWrite<SharedMemory>]>]> {
  let summary = "Give the turn to the next program";
  let arguments = (ins TileGPU_TurnType:$turn);
  let assemblyFormat = "$turn attr-dict `:` type($turn)";
}

def TileGPU_TensorMapOp : TileGPU_Op<"tensor_map", [Pure]> {
  let summary = "The descriptor of an array for boxes of a given shape";
  let description = [{
    `order` names the array's dimensions, the one with stride 1 first; `box` counts
    elements in that order. Inner rows of `32`, `64` and `128` bytes are swizzled as
    #tilegpu.shared says, by `swizzle` bits. The array is an argument of the kernel, or
    that of a `problem`.
  }];
  let arguments = (ins Tile_ViewOrPartition:$view, Optional<TileGPU_ProblemType>:$problem, DenseI64ArrayAttr:$order,
                       DenseI64ArrayAttr:$box, I64Attr:$swizzle);
  let results = (outs TileGPU_TensorMapType:$result);
  let assemblyFormat = [{
    $view (`of` $problem^)? `order` $order `box` $box `swizzle` $swizzle attr-dict `:` type($view)
  }];
  let hasVerifier = 1;
}

def TileGPU_TmaLoadOp : TileGPU_Op<"tma_load", [MemoryEffects<[MemWrite<SharedMemory>]>]> {
  let summary = "Start to copy a tile from global memory into a stage";
  let description = [{
    `offsets` say where the tile starts, in elements and in the map's order; what lies
    outside the array becomes zero. The bytes count towards those of the queue's stage.
    With `multicast` every CTA of the cluster fetches a part of the tile, which is the
    same for all, and gives it to the same place in each of them.
  }];
  let arguments = (ins TileGPU_TensorMapType:$map, Variadic<Index>:$offsets, TileGPU_SmemType:$dest,
                       TileGPU_QueueType:$queue, I32:$stage, UnitAttr:$multicast,
                       DefaultValuedAttr<TileGPU_Eviction, "::tilec::tilegpu::Eviction::normal">:$eviction);
  let assemblyFormat = [{
    $map `[` $offsets `]` `into` $dest `of` $queue `[` $stage `]` (`multicast` $multicast^)?
    (`evict` $eviction^)? attr-dict
    `:` type($dest) `,` type($queue)
  }];
}

def TileGPU_ClusterSumOp : TileGPU_Op<"cluster_sum", [
    MemoryEffects<[MemRead<SharedMemory>, MemWrite<SharedMemory>]>]> {
  let summary = "The sum of a tile over the CTAs of the cluster, in the first of them or divided among them";
  let description = [{
    All CTAs of the cluster meet here. With a result like the source, the first has the
    sum and the others their own tile. Of an accumulator of `wgmma` every CTA may get some
    of the sum's columns instead: of n, the CTA of rank r gets those from min(r * w, n - w)
    where the result has w. Always added in the order of the CTAs.
  }];
  let arguments = (ins TileGPU_Tile:$source);
  let results = (outs TileGPU_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool isScattered() { return getSource().getType().getShape() != getType().getShape(); }
  }];
}

def TileGPU_WorkspaceSumOp : TileGPU_Op<"workspace_sum", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "The sums of tiles over the CTAs that share them, in the last of those to come here";
  let description = [{
    Of n `parts`, CTAs n * t to n * t + n - 1 have tile t together. Each writes its tiles to
    the launch's workspace in global memory and counts itself at the tile's counter. The one
    that finds all others there gets the sums, always added in the order of the CTAs, and a
    true `isLast`; the others get their own tiles. Nobody waits, so the CTAs need not run at
    the same time; and the counter is zero again when the last has come.

    A kernel has one such op, with all tiles that are to be added.

    ```mlir
    %sum, %last = tilegpu.workspace_sum %acc parts 4 : tensor<64x128xf32> -> tensor<64x128xf32>
    scf.if %last { ... }
    ```
  }];
  let arguments = (ins Variadic<TileGPU_Tile>:$sources, I64Attr:$parts);
  let results = (outs Variadic<TileGPU_Tile>:$sums, I1:$isLast);
  let assemblyFormat = "$sources `parts` $parts attr-dict `:` type($sources) `->` type($sums)";
  let hasVerifier = 1;
}

def TileGPU_TmaStoreOp : TileGPU_Op<"tma_store", [
    MemoryEffects<[MemRead<SharedMemory>, MemWrite<SharedMemory>, MemWrite]>]> {
  let summary = "Start to copy a product's tile to global memory";
  let description = [{
    Each warpgroup puts the blocks of its rows into one of two buffers of its own, from
    where the copy engine takes them; it waits for a buffer, never for the array.
    `offsets` as for tma_load; what lies outside the array is dropped. `transposed`
    says that neighbours along the rows, not the columns, are neighbours in the array.
  }];
  let arguments = (ins TileGPU_Tile:$value, TileGPU_TensorMapType:$map, Variadic<Index>:$offsets,
                       UnitAttr:$transposed);
  let assemblyFormat = "$value `to` $map `[` $offsets `]` attr-dict `:` type($value)";
}

def TileGPU_TmaStoreWaitOp : TileGPU_Op<"tma_store_wait", [
    MemoryEffects<[MemRead<SharedMemory>, MemWrite<SharedMemory>]>]> {
  let summary = "Wait until the copy engine has taken every tile of this program from shared memory";
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Grouped launches
//===----------------------------------------------------------------------===//

def TileGPU_GroupTilesOp : TileGPU_Op<"group_tiles", [Pure]> {
  let summary = "How many tiles the problems of the launch have together";
  let description = [{
    Where clusters take several tiles at a time, they count as one.
  }];
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def TileGPU_FindProblemOp : TileGPU_Op<"find_problem", [Pure]> {
  let summary = "The problem that has a tile, and the tile's number in it";
  let description = [{
    Problems have their tiles one after another. Beyond the last tile the problem is
    the last one.

    ```mlir
    %problem, %tile = tilegpu.find_problem %number
    %c, %a, %b = tilegpu.arguments %problem : !part, !view, !view
    ```
  }];
  let arguments = (ins I32:$number);
  let results = (outs TileGPU_ProblemType:$problem, I32:$tile);
  let assemblyFormat = "$number attr-dict";
}

def TileGPU_ArgumentsOp : TileGPU_Op<"arguments", [Pure, DeclareOpInterfaceMethods<OpAsmOpInterface,
                                                                                   ["getAsmResultNames"]>]> {
  let summary = "A problem's values of the kernel's arguments, all of them in order";
  let arguments = (ins TileGPU_ProblemType:$problem);
  let results = (outs Variadic<AnyType>:$values);
  let assemblyFormat = "$problem attr-dict `:` type($values)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

def TileGPU_BarrierOp : TileGPU_Op<"barrier", [
    MemoryEffects<[MemRead<SharedMemory>, MemWrite<SharedMemory>]>]> {
  let summary = "All warps that run the tile program wait for each other; shared memory is ordered";
  let assemblyFormat = "attr-dict";
}

def TileGPU_PrintOp : TileGPU_Op<"print", [AttrSizedOperandSegments, MemoryEffects<[MemWrite]>]> {
  let summary = "Print a line of scalars, or a line for each element of tiles";
  let description = [{
    A line begins with the coordinates of the program and, when a tile is printed,
    of the element; then each `{}` of the format stands for one value. Without tiles
    one thread prints one line. Otherwise tiles of one shape, which have one layout,
    share their lines: the owner of an element prints it; tiles of other shapes show
    up as `[...]` there.

    ```mlir
    tilegpu.print "{} of {}" program(%i, %j) values(%x, %n : tensor<8xf32, #l>, i32) unsigned [false, true]
    ```
  }];
  let arguments = (ins StrAttr:$format, Variadic<Index>:$program, Variadic<AnyType>:$values,
                       DenseBoolArrayAttr:$is_unsigned);
  let assemblyFormat = [{
    $format `program` `(` $program `)` (`values` `(` $values^ `:` type($values) `)`)? `unsigned` $is_unsigned attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Shapes of the printed tiles, each once.
    ::llvm::SmallVector<::llvm::ArrayRef<int64_t>> getTileShapes();
  }];
}

#endif // TILEC_TILEGPU_OPS_TD
