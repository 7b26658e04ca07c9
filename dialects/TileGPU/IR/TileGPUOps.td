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

def TileGPU_BarrierOp : TileGPU_Op<"barrier", [
    MemoryEffects<[MemRead<SharedMemory>, MemWrite<SharedMemory>]>]> {
  let summary = "All warps of the CTA wait for each other; shared memory is ordered";
  let assemblyFormat = "attr-dict";
}

#endif // TILEC_TILEGPU_OPS_TD
