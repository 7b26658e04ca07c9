#ifndef TILEC_TILE_OPS_TD
#define TILEC_TILE_OPS_TD

include "dialects/Tile/IR/TileTypes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

def Tile_KernelOp : Tile_Op<"kernel", [
    IsolatedFromAbove, FunctionOpInterface, AffineScope,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "A program that computes one output tile";
  let description = [{
    The launch grid is the tile grid of the kernel's partitions; a kernel with
    no partition is launched with an explicit grid.

    Example:

    ```mlir
    tile.kernel @copy(%y: !tile.partition<8 of !y>, %x: !x) attributes {arg_names = ["y", "x"]} {
      %i = tile.index %y : !tile.partition<8 of !y> -> index
      %t = tile.load %x[%i] : !x -> tensor<8xf32>
      tile.store %t, %y : tensor<8xf32>, !tile.partition<8 of !y>
      tile.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<StrArrayAttr>:$arg_names,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region MinSizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::mlir::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
}

def Tile_ReturnOp : Tile_Op<"return", [Pure, HasParent<"KernelOp">, Terminator, ReturnLike]> {
  let summary = "End of a program";
  let assemblyFormat = "attr-dict";
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, HasParent<"ReduceOp">, Terminator, ReturnLike]> {
  let summary = "Result of a combiner region";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict $values `:` type($values)";
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

def Tile_IndexOp : Tile_Op<"index", [Pure]> {
  let summary = "Tile coordinates of this program in a partition";
  let description = [{
    One result a dimension: `%i:2 = tile.index %y : !part -> index, index`.
  }];
  let arguments = (ins Tile_PartitionType:$partition);
  let results = (outs Variadic<Index>:$coordinates);
  let assemblyFormat = "$partition attr-dict `:` type($partition) `->` type($coordinates)";
  let hasVerifier = 1;
}

def Tile_ProgramIdOp : Tile_Op<"program_id", [Pure]> {
  let summary = "This program's number along an axis of an explicit grid";
  let arguments = (ins ConfinedAttr<I64Attr, [IntMinValue<0>, IntMaxValue<2>]>:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}

def Tile_NumProgramsOp : Tile_Op<"num_programs", [Pure]> {
  let summary = "The extent of an explicit grid along an axis";
  let arguments = (ins ConfinedAttr<I64Attr, [IntMinValue<0>, IntMaxValue<2>]>:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}

def Tile_ViewOfOp : Tile_Op<"view_of", [Pure]> {
  let summary = "The whole view under a partition";
  let arguments = (ins Tile_PartitionType:$partition);
  let results = (outs Tile_ViewType:$result);
  let assemblyFormat = "$partition attr-dict `:` type($partition) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_PermuteViewOp : Tile_Op<"permute_view", [Pure]> {
  let summary = "The same array with its dimensions in another order";
  let description = [{
    Dimension `d` of the result is dimension `order[d]` of the operand. No data
    moves.
  }];
  let arguments = (ins Tile_ViewType:$view, DenseI64ArrayAttr:$order);
  let results = (outs Tile_ViewType:$result);
  let assemblyFormat = "$view $order attr-dict `:` type($view) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$view, "::llvm::ArrayRef<int64_t>":$order)>];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_ViewCastOp : Tile_Op<"view_cast", [Pure]> {
  let summary = "The same view with weaker static facts";
  let arguments = (ins Tile_ViewType:$view);
  let results = (outs Tile_ViewType:$result);
  let assemblyFormat = "$view attr-dict `:` type($view) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_DimOp : Tile_Op<"dim", [Pure]> {
  let summary = "An array's extent along a dimension, in elements";
  let arguments = (ins Tile_ViewOrPartition:$view, I64Attr:$dim);
  let results = (outs Index:$result);
  let assemblyFormat = "$view `,` $dim attr-dict `:` type($view)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_NumTilesOp : Tile_Op<"num_tiles", [Pure]> {
  let summary = "How many tiles of a given extent cover a dimension: `ceil(dim / tile)`";
  let arguments = (ins Tile_ViewOrPartition:$view, I64Attr:$dim,
                       ConfinedAttr<I64Attr, [IntPositive]>:$tile);
  let results = (outs Index:$result);
  let assemblyFormat = "$view `,` $dim `by` $tile attr-dict `:` type($view)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

def Tile_LoadOp : Tile_Op<"load", [AttrSizedOperandSegments, AlwaysSpeculatable,
                                   DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Read one tile of a view";
  let description = [{
    `tile.load %v[%i, %j]` with result shape `(tm, tn)` reads rows
    `i·tm … i·tm + tm - 1` and columns `j·tn … j·tn + tn - 1`; `step` replaces
    the tile shape as the distance of neighbouring tiles (overlapping or gapped
    windows). Elements out of range in any direction read `pad` (default 0).
    The load has no effect on a `read` view, because the launch proves writable
    arguments disjoint from it: it is shared and hoisted like arithmetic. On
    other views it reads memory. It never faults, whatever the indices.

    Example:

    ```mlir
    %t = tile.load %x[%i, %j] pad %c : !x -> tensor<128x64xf16>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$indices,
                       Optional<AnyType>:$pad, OptionalAttr<DenseI64ArrayAttr>:$step);
  let results = (outs Tile_AnyTile:$result);
  let assemblyFormat = [{
    $view `[` $indices `]` (`pad` $pad^ `:` type($pad))? (`step` $step^)? attr-dict
    `:` type($view) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def Tile_StoreOp : Tile_Op<"store", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Write one tile";
  let description = [{
    To a partition, the tile goes to this program's place and takes no indices,
    so programs cannot race. (Only a program that a pass made walk over several tiles
    says which one it is at.) To an `unchecked` view it goes to the given tile
    indices. Elements outside the array are dropped. `step` is that of a load.
  }];
  let arguments = (ins Tile_AnyTile:$value, Tile_ViewOrPartition:$dest, Variadic<Index>:$indices,
                       OptionalAttr<DenseI64ArrayAttr>:$step);
  let assemblyFormat = [{
    $value `,` $dest (`[` $indices^ `]`)? (`step` $step^)? attr-dict `:` type($value) `,` type($dest)
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def Tile_GatherOp : Tile_Op<"gather", [AttrSizedOperandSegments, AlwaysSpeculatable,
                                       DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Read single elements of a view";
  let description = [{
    One index tile a dimension of the view, in elements, each of the result's
    shape. Where an index is out of range or `mask` is false the result is
    `fill` (default 0).
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<RankedTensorOf<[I32, I64]>>:$indices,
                       Optional<RankedTensorOf<[I1]>>:$mask, Optional<AnyType>:$fill);
  let results = (outs Tile_AnyTile:$result);
  let assemblyFormat = [{
    $view `[` $indices `]` (`mask` $mask^ `:` type($mask))? (`fill` $fill^ `:` type($fill))? attr-dict
    `:` type($view) `,` type($indices) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

def Tile_IotaOp : Tile_Op<"iota", [Pure]> {
  let summary = "The coordinate along one axis";
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$axis);
  let results = (outs RankedTensorOf<[AnyInteger]>:$result);
  let assemblyFormat = "`axis` `=` $axis attr-dict `:` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_SplatOp : Tile_Op<"splat", [Pure]> {
  let summary = "A tile whose elements all equal a scalar";
  let arguments = (ins AnyType:$scalar);
  let results = (outs Tile_AnyTile:$result);
  let assemblyFormat = "$scalar attr-dict `:` type($scalar) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure, SameOperandsAndResultElementType]> {
  let summary = "Repeat a tile along its dimensions of extent 1; the rank stays";
  let arguments = (ins Tile_AnyTile:$source);
  let results = (outs Tile_AnyTile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

def Tile_ReshapeOp : Tile_Op<"reshape", [Pure, SameOperandsAndResultElementType]> {
  let summary = "The same elements in row-major order under another shape";
  let arguments = (ins Tile_AnyTile:$source);
  let results = (outs Tile_AnyTile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

def Tile_PermuteOp : Tile_Op<"permute", [Pure, SameOperandsAndResultElementType]> {
  let summary = "Reorder a tile's dimensions: result dimension `d` is operand dimension `order[d]`";
  let arguments = (ins Tile_AnyTile:$source, DenseI64ArrayAttr:$order);
  let results = (outs Tile_AnyTile:$result);
  let assemblyFormat = "$source $order attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

def Tile_ExtractOp : Tile_Op<"extract", [Pure]> {
  let summary = "The scalar in a one-element tile";
  let arguments = (ins Tile_AnyTile:$source);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Arithmetic beyond elementwise
//===----------------------------------------------------------------------===//

def Tile_MmaOp : Tile_Op<"mma", [Pure, AllTypesMatch<["acc", "result"]>]> {
  let summary = "Matrix product added to an accumulator: `lhs @ rhs + acc`";
  let description = [{
    Shapes `(M, K) × (K, N) + (M, N)`. The order of accumulation is unspecified
    but fixed for a compiled kernel. f32 operands are multiplied exactly unless
    `allow_tf32` is set; `lhs_unsigned` / `rhs_unsigned` give the signedness of
    integer operands.
  }];
  let arguments = (ins Tile_AnyTile:$lhs, Tile_AnyTile:$rhs, Tile_AnyTile:$acc,
                       UnitAttr:$allow_tf32, UnitAttr:$lhs_unsigned, UnitAttr:$rhs_unsigned);
  let results = (outs Tile_AnyTile:$result);
  let assemblyFormat = "$lhs `,` $rhs `,` $acc attr-dict `:` type($lhs) `,` type($rhs) `,` type($acc)";
  let hasVerifier = 1;
}

def Tile_ReduceOp : Tile_Op<"reduce", [Pure, SingleBlock]> {
  let summary = "Combine a tile's elements along an axis";
  let description = [{
    Variadic: operands of one shape are reduced together by an associative and
    commutative region over `(lhs…, rhs…)`. The axis stays, with extent 1.
    `identities` are the combiner's neutral elements, which stand for padding.

    ```mlir
    %m = tile.reduce (%f) axis = 1 identity [0xFF800000 : f32]
        : (tensor<1x4096xf32>) -> (tensor<1x1xf32>) {
    ^bb0(%a: f32, %b: f32):
      %r = arith.maximumf %a, %b : f32
      tile.yield %r : f32
    }
    ```
  }];
  let arguments = (ins Variadic<Tile_AnyTile>:$sources,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$axis, ArrayAttr:$identities);
  let results = (outs Variadic<Tile_AnyTile>:$outputs);
  let regions = (region SizedRegion<1>:$combiner);
  let assemblyFormat = [{
    `(` $sources `)` `axis` `=` $axis `identity` $identities attr-dict
    `:` `(` type($sources) `)` `->` `(` type($outputs) `)` $combiner
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Debugging and facts
//===----------------------------------------------------------------------===//

def Tile_PrintOp : Tile_Op<"print", [MemoryEffects<[MemWrite]>]> {
  let summary = "Print scalars and tiles from every program";
  let description = [{
    Each `{}` in the format stands for one value. The text begins with the
    program's coordinates. `is_unsigned` says of each value whether its integers
    are; without it none are.

    ```mlir
    tile.print "row {} is {}" (%i, %t) : index, tensor<8xi32> {is_unsigned = array<i1: false, true>}
    ```
  }];
  let arguments = (ins StrAttr:$format, Variadic<AnyType>:$values, OptionalAttr<DenseBoolArrayAttr>:$is_unsigned);
  let assemblyFormat = "$format (`(` $values^ `)` `:` type($values))? attr-dict";
  let hasVerifier = 1;
}

def Tile_BreakpointOp : Tile_Op<"breakpoint", [MemoryEffects<[MemWrite]>]> {
  let summary = "Stop the program in Python's debugger";
  let description = [{
    The debugger shows the values under their names. A name is a variable of the
    function that stops, or a path into a tuple that one holds: `pair.0`.
    `constants` are variables known at compile time, as Python literals. Only the
    CPU executor stops; a compilation for a GPU refuses the op.

    ```mlir
    tile.breakpoint ["k", "acc"] (%k, %acc) : index, tensor<8xf32> {constants = {tk = "64"}}
    ```
  }];
  let arguments = (ins StrArrayAttr:$names, Variadic<AnyType>:$values,
                       OptionalAttr<DenseBoolArrayAttr>:$is_unsigned, OptionalAttr<DictionaryAttr>:$constants);
  let assemblyFormat = "$names (`(` $values^ `)` `:` type($values))? attr-dict";
  let hasVerifier = 1;
}

def Tile_AssertOp : Tile_Op<"assert", [MemoryEffects<[MemWrite]>]> {
  let summary = "Stop the program with a message unless every element holds";
  let arguments = (ins AnyTypeOf<[I1, RankedTensorOf<[I1]>]>:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict `:` type($condition)";
  let hasCanonicalizeMethod = 1;
}

def Tile_AssumeOp : Tile_Op<"assume", [MemoryEffects<[MemWrite]>]> {
  let summary = "Promise the compiler that a scalar condition holds";
  let arguments = (ins I1:$condition);
  let assemblyFormat = "$condition attr-dict";
  let hasCanonicalizeMethod = 1;
}

#endif // TILEC_TILE_OPS_TD
