#ifndef TILEC_TILEGPU_BASE_TD
#define TILEC_TILEGPU_BASE_TD

include "mlir/IR/OpBase.td"

def TileGPU_Dialect : Dialect {
  let name = "tilegpu";
  let cppNamespace = "::tilec::tilegpu";
  let summary = "Where a tile program lives on a GPU: layouts, shared memory, tensor cores";
  let description = [{
    A distributed tile is the same builtin tensor as before with a *layout* as its
    encoding: which warp, lane and register holds which element. Ops that mean the
    same under any layout (arith, math, scf, and tile.load, tile.reduce,
    tile.broadcast …) keep their names; this dialect adds what the hardware needs on
    top: layout conversions, shared-memory tiles, asynchronous copies, tensor-core
    products and barriers.
  }];
  let dependentDialects = ["::tilec::tile::TileDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerTypes();
    void registerAttributes();
    /// Kernel attribute: warps that run a tile program, an i64.
    static constexpr ::llvm::StringLiteral kNumWarps = "tilegpu.num_warps";
    /// Kernel attribute: CTAs that a multiprocessor should hold at once, an i64.
    static constexpr ::llvm::StringLiteral kResidentCtas = "tilegpu.resident_ctas";
    /// Kernel attribute: warps beside those, of which one fetches tiles, an i64.
    static constexpr ::llvm::StringLiteral kProducerWarps = "tilegpu.producer_warps";
    /// Kernel attribute: the producer gives registers to the programs, which need more than all threads start with.
    static constexpr ::llvm::StringLiteral kMovesRegisters = "tilegpu.moves_registers";
    /// Kernel attribute: CTAs compute one tile together, those of a cluster or kTileParts neighbours.
    static constexpr ::llvm::StringLiteral kSharesTiles = "tilegpu.shares_tiles";
    /// Kernel attribute: CTAs that compute one tile together without being a cluster, an i64.
    static constexpr ::llvm::StringLiteral kTileParts = "tilegpu.tile_parts";
    /// Kernel attribute: CTAs of a cluster, which share a tile or what they fetch, an i64; 1 if absent.
    static constexpr ::llvm::StringLiteral kCluster = "tilegpu.cluster";
    /// Kernel attribute: tile programs that a CTA runs at a time, each on warps of its own, an i64; 1 if absent.
    static constexpr ::llvm::StringLiteral kPrograms = "tilegpu.programs";
    /// Kernel attribute: what was decided with the tile, a dictionary (TilePlan.h).
    static constexpr ::llvm::StringLiteral kPlan = "tilegpu.plan";
    /// Kernel attribute: dynamic shared memory of a CTA in bytes, an i64.
    static constexpr ::llvm::StringLiteral kSharedBytes = "tilegpu.shared_bytes";
    /// Op attribute: where its shared memory starts, in bytes from the CTA's base, an i64.
    static constexpr ::llvm::StringLiteral kSharedOffset = "tilegpu.shared_offset";
    /// Module attribute: the target, a #tilegpu.target.
    static constexpr ::llvm::StringLiteral kTarget = "tilegpu.target";
  }];
}

#endif // TILEC_TILEGPU_BASE_TD
