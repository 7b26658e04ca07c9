#ifndef TILEC_TILEGPU_OPS_TD
#define TILEC_TILEGPU_OPS_TD

include "dialects/Tile/IR/TileTypes.td"
include "dialects/TileGPU/IR/TileGPUAttrs.td"
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
  }];
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
  let arguments = (ins TileGPU_Tile:$source);
  let results = (outs TileGPU_SmemType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
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
  }];
  let arguments = (ins AnyTypeOf<[TileGPU_SmemType, TileGPU_Tile]>:$lhs, TileGPU_SmemType:$rhs,
                       TileGPU_Tile:$acc, TileGPU_MmaKind:$kind,
                       UnitAttr:$allow_tf32, UnitAttr:$lhs_unsigned, UnitAttr:$rhs_unsigned);
  let results = (outs TileGPU_Tile:$result);
  let assemblyFormat = [{
    $kind $lhs `,` $rhs `,` $acc attr-dict `:` type($lhs) `,` type($rhs) `,` type($acc)
  }];
  let hasVerifier = 1;
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
    read after a `copy_wait` that covers the group of this copy, and a barrier.
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$indices, TileGPU_SmemType:$dest,
                       TileGPU_LayoutAttr:$layout, OptionalAttr<DenseI64ArrayAttr>:$step);
  let assemblyFormat = [{
    $view `[` $indices `]` `into` $dest `by` $layout (`step` $step^)? attr-dict
    `:` type($view) `,` type($dest)
  }];
  let hasVerifier = 1;
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

def TileGPU_BarrierOp : TileGPU_Op<"barrier", [
    MemoryEffects<[MemRead<SharedMemory>, MemWrite<SharedMemory>]>]> {
  let summary = "All warps of the CTA wait for each other; shared memory is ordered";
  let assemblyFormat = "attr-dict";
}

#endif // TILEC_TILEGPU_OPS_TD
