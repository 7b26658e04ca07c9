#ifndef TILEC_TILE_TYPES_TD
#define TILEC_TILE_TYPES_TD

include "dialects/Tile/IR/TileBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/IR/EnumAttr.td"

//===----------------------------------------------------------------------===//
// Access
//===----------------------------------------------------------------------===//

def Tile_Access : I32Enum<"Access", "how a kernel may touch a view", [
    I32EnumCase<"read", 0>,
    I32EnumCase<"exclusive", 1>,
    I32EnumCase<"atomic", 2>,
    I32EnumCase<"unchecked", 3>]> {
  let cppNamespace = "::tilec::tile";
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

class Tile_Type<string name, string typeMnemonic> : TypeDef<Tile_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Tile_ViewType : Tile_Type<"View", "view"> {
  let summary = "A tensor view: pointer, shape and strides of an array in global memory";
  let description = [{
    Dimensions and strides are counted in elements; `?` is known at launch only.
    The remaining parameters are static facts that the launch has proven:

    - `divisible[d]`: a power of two that divides dimension `d`;
    - `stride_align[d]`: a power of two that divides the stride of `d`, in bytes;
    - `align`: a power of two that divides the address, in bytes; 16 or more only of an
      array that has elements and that a tensor map could describe if its strides are
      aligned too;
    - `index`: 32 when every byte offset inside the view fits in 31 bits, else 64;
    - the access: `read`, `exclusive`, `atomic` or `unchecked`.

    Example:

    ```mlir
    !tile.view<?x?xbf16, strides = [?, 1], divisible = [1, 16],
               stride_align = [16, 2], align = 16, index = 32, read>
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t">:$shape,
    "::mlir::Type":$elementType,
    ArrayRefParameter<"int64_t">:$strides,
    ArrayRefParameter<"int64_t">:$divisible,
    ArrayRefParameter<"int64_t">:$strideAlign,
    "int64_t":$align,
    "int64_t":$indexBits,
    "::tilec::tile::Access":$access);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
    /// Width of one element in memory, in bytes.
    int64_t getElementBytes() const;
    bool isReadOnly() const { return getAccess() == Access::read; }
    bool hasUnitStride(int64_t dim) const { return getStrides()[dim] == 1; }
    /// True when `weaker` promises nothing that this view does not.
    bool impliesFactsOf(ViewType weaker) const;
  }];
}

def Tile_PartitionType : Tile_Type<"Partition", "partition"> {
  let summary = "A tensor view divided into equal disjoint tiles, one a program";
  let description = [{
    Example: `!tile.partition<1x4096 of !tile.view<?x?xbf16, …, exclusive>>`.
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t">:$tileShape,
    "::tilec::tile::ViewType":$view);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getTileShape().size(); }
    ::mlir::Type getElementType() const { return getView().getElementType(); }
  }];
}

def Tile_ViewOrPartition : AnyTypeOf<[Tile_ViewType, Tile_PartitionType], "tensor view or partition">;

def Tile_AnyTile : ConfinedType<RankedTensorOf<[AnyInteger, AnyFloat]>, [HasStaticShapePred],
                                "tile of integers or floats (a ranked tensor of static shape)">;

#endif // TILEC_TILE_TYPES_TD
