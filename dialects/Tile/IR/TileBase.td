#ifndef TILEC_TILE_BASE_TD
#define TILEC_TILE_BASE_TD

include "mlir/IR/OpBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::tilec::tile";
  let summary = "Whole-tile programs: what a kernel's author said";
  let description = [{
    A `tile.kernel` says how **one output tile** is computed. Tile values are
    immutable builtin ranked tensors of static shape (rank 0 allowed); `arith`
    and `math` are the elementwise ops, `scf` is the control flow. The dialect
    adds only what upstream lacks: tensor views and partitions, and the ops
    that read, write, reshape, reduce and multiply tiles.

    Nothing here knows threads, shared memory or a GPU: the CPU executor runs
    exactly this form. Integers are signless; signedness lives in the op.
  }];
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    void registerTypes();
    /// Kernel attribute: a pass made the program walk over tiles until none is left.
    static constexpr ::llvm::StringLiteral kWalksTiles = "tile.walks";
    /// Kernel attribute: a launch has a list of sets of arguments, problems, and programs for the tiles of all of them.
    static constexpr ::llvm::StringLiteral kGrouped = "tile.grouped";
  }];
}

#endif // TILEC_TILE_BASE_TD
