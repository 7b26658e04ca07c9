#ifndef TILEC_TILEGPU_ATTRS_TD
#define TILEC_TILEGPU_ATTRS_TD

include "dialects/TileGPU/IR/TileGPUBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class TileGPU_Attr<string name, string attrMnemonic> : AttrDef<TileGPU_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def TileGPU_LayoutAttr : TileGPU_Attr<"Layout", "layout"> {
  let summary = "Which warp, lane and register holds which element of a tile";
  let description = [{
    An F₂-linear **atom** followed by mixed-radix **repeats**. The atom's bases say
    which coordinates the bits of the register, lane and warp number contribute; the
    contributions are combined by exclusive or. The atom is repeated `repeat[d]` times
    along dimension `d`, in registers, the last dimension fastest. A zero basis of a
    lane or warp bit means that its two halves hold the same elements.

    Where the number of warps is no power of two, they come in `groups` of as many as
    the bits number, and group `g` adds `g · group` to the coordinates: multiples of
    what the atom spans along one dimension, which its repeats then follow, or nothing.

    The covered extent may exceed the tile: elements outside are dead. Loads predicate
    them, reductions replace them by the identity, stores drop them.

    ```mlir
    // 192×64, an accumulator of three warpgroups
    #tilegpu.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]],
                    warp = [[16, 0], [32, 0]], groups = 3 by [64, 0], repeat = [1, 8]>
    // 1×4096 over 4 warps: 8 elements a thread, four times over
    #tilegpu.layout<register = [[0, 1], [0, 2], [0, 4]],
                    lane = [[0, 8], [0, 16], [0, 32], [0, 64], [0, 128]],
                    warp = [[0, 256], [0, 512]], repeat = [1, 4]>
    ```

    Source: linear layouts over F₂, arXiv 2505.23819; groups and repeats are ours, since
    warps and tiles need not be powers of two.
  }];
  // Bases are stored flat, `rank` numbers each.
  let parameters = (ins
    ArrayRefParameter<"int64_t">:$registers,
    ArrayRefParameter<"int64_t">:$lanes,
    ArrayRefParameter<"int64_t">:$warps,
    "int64_t":$groups,
    ArrayRefParameter<"int64_t">:$group,
    ArrayRefParameter<"int64_t">:$repeat);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let genMnemonicAlias = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getRepeat().size(); }
  }];
}

def TileGPU_SharedAttr : TileGPU_Attr<"Shared", "shared"> {
  let summary = "How a shared-memory tile lies in memory";
  let description = [{
    `order` names the dimensions, the contiguous one first. With a swizzle, rows of
    the contiguous dimension are cut into panels of `16 · 2^swizzle` bytes, which lie
    one after another, each with all its rows. In a panel, 16-byte chunk `c` of row `r`
    lies at chunk `c ^ ((r / phase) mod 2^swizzle)` with `phase = 8 / 2^swizzle`: eight
    neighbouring rows then occupy different banks, which is what `ldmatrix` reads
    together. Swizzle 3, 2 and 1 are the hardware's 128-, 64- and 32-byte modes.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$order, "int64_t":$swizzle);
  let assemblyFormat = "`<` `order` `=` `[` $order `]` `,` `swizzle` `=` $swizzle `>`";
  let genMnemonicAlias = 1;
  let genVerifyDecl = 1;
}

def TileGPU_TargetAttr : TileGPU_Attr<"Target", "target"> {
  let summary = "The GPU compiled for: its features and limits";
  let description = [{
    Filled from `tilec/compiler/target.py`, the only table. Passes ask for features,
    `target.has("tma")`, never for version numbers.
  }];
  let parameters = (ins StringRefParameter<>:$name, "::mlir::DictionaryAttr":$properties);
  let assemblyFormat = "`<` $name `,` $properties `>`";
  let extraClassDeclaration = [{
    /// True when the target's `features` list names `feature`.
    bool has(::llvm::StringRef feature) const;
    /// An entry of `limits`; 0 when it is missing.
    int64_t limit(::llvm::StringRef name) const;
    static constexpr ::llvm::StringLiteral kSharedLimit = "shared_per_block_bytes";
    /// Registers that each thread of the only CTA of a multiprocessor can start with.
    int64_t startingRegisters(int64_t threads) const;
    /// The target of the module around `op`.
    static TargetAttr of(::mlir::Operation *op);
  }];
}

def TileGPU_MmaKind : I32EnumAttr<"MmaKind", "the unit that multiplies", [
    I32EnumAttrCase<"fma", 0>,
    I32EnumAttrCase<"mma_sync", 1>,
    I32EnumAttrCase<"wgmma", 2>]> {
  let cppNamespace = "::tilec::tilegpu";
}

def TileGPU_Eviction : I32EnumAttr<"Eviction", "how long the second-level cache keeps a line", [
    I32EnumAttrCase<"normal", 0>,
    I32EnumAttrCase<"first", 1>,
    I32EnumAttrCase<"last", 2>]> {
  let cppNamespace = "::tilec::tilegpu";
}

#endif // TILEC_TILEGPU_ATTRS_TD
