//===- Kernel.cpp - The kernel's frame: parameters, views, program ids ----===//
#include "dialects/Conversion/TileGPUToNVVM/Lowering.h"

#include "dialects/TileGPU/IR/Scratch.h"
#include "dialects/TileGPU/IR/TmaAccess.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::lowering;
namespace json = llvm::json;

namespace {
tile::ViewType viewOf(Type type) {
  if (auto partition = dyn_cast<tile::PartitionType>(type))
    return partition.getView();
  return dyn_cast<tile::ViewType>(type);
}

int64_t kernelAttr(tile::KernelOp kernel, StringRef name) {
  auto attr = kernel->getAttrOfType<IntegerAttr>(name);
  return attr ? attr.getInt() : 0;
}

//===----------------------------------------------------------------------===//
// Launch plan
//===----------------------------------------------------------------------===//

std::string scalarName(Type type) {
  if (type.isInteger(1))
    return "bool";
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return name;
}

json::Object tensorMapParameter(tilegpu::TensorMapOp map) {
  constexpr int64_t kSwizzleUnitBytes = 16;
  return json::Object{{"kind", "tensor_map"},
                      {"arg", *tilegpu::argumentNumber(map.getView())},
                      {"order", json::Array(map.getOrder())},
                      {"box", json::Array(map.getBox())},
                      {"swizzle", map.getSwizzle() == 0 ? 0 : kSwizzleUnitBytes << map.getSwizzle()},
                      {"element_bytes", viewOf(map.getView().getType()).getElementBytes()}};
}

/// How a launch fills the parameters and chooses the grid: the order below is that of
/// TileTypeConverter.
json::Object launchPlan(tile::KernelOp kernel, ArrayRef<tilegpu::TensorMapOp> maps, int64_t sharedBytes,
                        StringRef target) {
  const Roles roles = Roles::of(kernel);
  json::Array params;
  json::Object grid{{"rule", "explicit"}};
  for (auto [arg, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    int64_t number = arg;
    tile::ViewType view = viewOf(type);
    if (!view) {
      params.push_back(json::Object{{"kind", "scalar"}, {"arg", number}, {"dtype", scalarName(type)}});
      continue;
    }
    params.push_back(json::Object{{"kind", "pointer"}, {"arg", number}});
    for (int64_t dim = 0; dim < view.getRank(); ++dim)
      params.push_back(json::Object{{"kind", "shape"}, {"arg", number}, {"dim", dim}});
    for (int64_t dim = 0; dim < view.getRank(); ++dim)
      if (!view.hasUnitStride(dim))
        params.push_back(json::Object{{"kind", "stride"}, {"arg", number}, {"dim", dim}});
    auto partition = dyn_cast<tile::PartitionType>(type);
    if (partition && grid.getString("rule") == "explicit")
      grid = json::Object{{"rule", "tiles"}, {"arg", number}, {"tile", json::Array(partition.getTileShape())}};
  }
  const bool shares = kernel->hasAttr(tilegpu::TileGPUDialect::kSharesTiles);
  if (shares)
    grid["ctas_per_tile"] = std::max(roles.cluster, kernelAttr(kernel, tilegpu::TileGPUDialect::kTileParts));
  else if (kernel->hasAttr(tile::TileDialect::kWalksTiles))
    grid["persistent"] = true;
  for (tilegpu::TensorMapOp map : maps)
    params.push_back(tensorMapParameter(map));
  std::optional<json::Object> group;
  if (kernel->hasAttr(tile::TileDialect::kGrouped)) {
    const RowLayout row = RowLayout::of(kernel, maps.size());
    for (auto [param, offset] : llvm::zip_equal(params, llvm::concat<const int64_t>(row.cells, row.maps)))
      (*param.getAsObject())["offset"] = offset;
    group = json::Object{{"row_bytes", row.bytes}};
  }
  if (roles.cluster > 1 && !shares) {
    SmallVector<int64_t> tiles(grid.getArray("tile")->size(), 1);
    tiles[tiles.size() - 2] = roles.cluster;
    grid["cluster_tiles"] = json::Array(tiles);
  }
  json::Object plan{{"version", 1},
                    {"symbol", kernel.getName().str()},
                    {"target", target.str()},
                    {"num_warps", roles.programWarps},
                    {"threads", roles.threads()},
                    {"shared_bytes", sharedBytes},
                    {"whole_program", kernel->hasAttr(tilegpu::TileGPUDialect::kMovesRegisters)},
                    {"params", std::move(params)},
                    {"grid", std::move(grid)}};
  if (roles.cluster > 1)
    plan["cluster"] = json::Array{roles.cluster, 1, 1};
  kernel.walk([&](tilegpu::WorkspaceSumOp sum) {
    plan["workspace"] = json::Object{{"bytes", sum.getParts() * tilegpu::workspaceBytes(sum)}, {"counters", 1}};
  });
  if (group)
    plan["group"] = std::move(*group);
  return plan;
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

struct Kernel : OpConversionPattern<tile::KernelOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(tile::KernelOp op, OneToNOpAdaptor, ConversionPatternRewriter &rewriter) const final {
    MLIRContext *context = op.getContext();
    auto module = op->getParentOfType<ModuleOp>();
    const Roles roles = Roles::of(op);
    int64_t sharedBytes = kernelAttr(op, tilegpu::TileGPUDialect::kSharedBytes);
    tilegpu::TargetAttr target = tilegpu::TargetAttr::of(op);
    if (roles.programWarps == 0 || !target)
      return rewriter.notifyMatchFailure(op,
                                         "kernel has no warps or module no target: run convert-tile-to-tilegpu first");

    TypeConverter::SignatureConversion signature(op.getNumArguments());
    const bool isGrouped = op->hasAttr(tile::TileDialect::kGrouped);
    if (isGrouped) // the arguments are in the rows of the launch's table
      signature.addInputs(groupParameters(context));
    else if (failed(getTypeConverter()->convertSignatureArgs(op.getArgumentTypes(), signature)))
      return rewriter.notifyMatchFailure(op, "argument types do not convert");
    SmallVector<tilegpu::TensorMapOp> maps = numberTensorMaps(op);
    const unsigned firstMap = signature.getConvertedTypes().size();
    if (!maps.empty() && !isGrouped)
      signature.addInputs(SmallVector<Type>(maps.size(), LLVM::LLVMPointerType::get(context)));
    if (hasWorkspace(op))
      signature.addInputs(SmallVector<Type>(kWorkspaceParameters, LLVM::LLVMPointerType::get(context, kGlobalSpace)));
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), signature.getConvertedTypes());
    auto function = LLVM::LLVMFuncOp::create(rewriter, op.getLoc(), op.getName(), type);
    function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), rewriter.getUnitAttr());
    function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                      rewriter.getDenseI32ArrayAttr({static_cast<int32_t>(roles.threads())}));
    if (roles.cluster > 1)
      function->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                        rewriter.getDenseI32ArrayAttr({static_cast<int32_t>(roles.cluster)}));
    if (roles.producerWarps != 0) // without it, the assembler takes no notice of setmaxnreg
      function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), rewriter.getI32IntegerAttr(1));
    else if (int64_t ctas = kernelAttr(op, tilegpu::TileGPUDialect::kResidentCtas))
      function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), rewriter.getI32IntegerAttr(ctas));
    for (StringRef name : {tilegpu::TileGPUDialect::kNumWarps, tilegpu::TileGPUDialect::kProducerWarps,
                           tilegpu::TileGPUDialect::kPrograms, tilegpu::TileGPUDialect::kCluster,
                           tilegpu::TileGPUDialect::kMovesRegisters, tilegpu::TileGPUDialect::kSharesTiles,
                           tilegpu::TileGPUDialect::kTileParts})
      if (Attribute value = op->getAttr(name)) // for what is converted later
        function->setAttr(name, value);
    if (!isGrouped)
      annotatePointers(op, signature, function);
    annotateTensorMaps(firstMap, isGrouped ? 0 : maps.size(), function);

    module->setAttr("tilec.plan",
                    rewriter.getStringAttr(
                        llvm::formatv("{0}", json::Value(launchPlan(op, maps, sharedBytes, target.getName()))).str()));
    if (sharedBytes > 0)
      declareSharedMemory(module, rewriter);

    rewriter.inlineRegionBefore(op.getBody(), function.getBody(), function.end());
    if (failed(rewriter.convertRegionTypes(&function.getBody(), *getTypeConverter(), &signature)))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// What the launch has proven of each pointer: its alignment, and that no other argument overlaps a writable one.
  static void annotatePointers(tile::KernelOp op, const TypeConverter::SignatureConversion &signature,
                               LLVM::LLVMFuncOp function) {
    Builder builder(op.getContext());
    for (auto [arg, type] : llvm::enumerate(op.getArgumentTypes())) {
      tile::ViewType view = viewOf(type);
      if (!view)
        continue;
      unsigned parameter = signature.getInputMapping(arg)->inputNo;
      function.setArgAttr(parameter, LLVM::LLVMDialect::getAlignAttrName(), builder.getI64IntegerAttr(view.getAlign()));
      if (view.isReadOnly())
        function.setArgAttr(parameter, LLVM::LLVMDialect::getReadonlyAttrName(), builder.getUnitAttr());
      if (view.isReadOnly() || view.getAccess() == tile::Access::exclusive)
        function.setArgAttr(parameter, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
    }
  }

  /// Passed by value, where the copy engine finds them.
  static void annotateTensorMaps(unsigned first, size_t count, LLVM::LLVMFuncOp function) {
    constexpr int64_t kBytes = 128, kAlignment = 64;
    Builder builder(function.getContext());
    auto bytes = TypeAttr::get(LLVM::LLVMArrayType::get(builder.getI8Type(), kBytes));
    for (unsigned parameter = first; parameter < first + count; ++parameter) {
      function.setArgAttr(parameter, LLVM::LLVMDialect::getByValAttrName(), bytes);
      function.setArgAttr(parameter, LLVM::LLVMDialect::getAlignAttrName(), builder.getI64IntegerAttr(kAlignment));
      function.setArgAttr(parameter, NVVM::NVVMDialect::getGridConstantAttrName(), builder.getUnitAttr());
    }
  }

  static void declareSharedMemory(ModuleOp module, ConversionPatternRewriter &rewriter) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(module.getBody());
    auto bytes = LLVM::LLVMArrayType::get(rewriter.getI8Type(), 0);
    LLVM::GlobalOp::create(rewriter, module.getLoc(), bytes, /*isConstant=*/false, LLVM::Linkage::External,
                           kSharedSymbol, Attribute(), /*alignment=*/1024, kSharedSpace);
  }
};

struct Return : OpConversionPattern<tile::ReturnOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::ReturnOp op, OneToNOpAdaptor, ConversionPatternRewriter &rewriter) const final {
    rewriter.replaceOpWithNewOp<LLVM::ReturnOp>(op, ValueRange());
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Extents and program ids
//===----------------------------------------------------------------------===//

Value toIndex(OpBuilder &builder, Location loc, Value value) {
  return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), value);
}

/// `ceil(dim / tile)` in the width that the view's facts allow: i32 or i64.
Value tileCount(OpBuilder &builder, Location loc, tile::ViewType view, Value dim, int64_t tile) {
  if (view.getIndexBits() == 32)
    dim = arith::TruncIOp::create(builder, loc, builder.getI32Type(), dim);
  auto constant = [&](int64_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(dim.getType(), value));
  };
  if (tile == 1)
    return dim;
  Value rounded = arith::AddIOp::create(builder, loc, dim, constant(tile - 1));
  return arith::DivUIOp::create(builder, loc, rounded, constant(tile));
}

struct Dim : OpConversionPattern<tile::DimOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::DimOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    ViewValues view = unpackView(rewriter, op.getLoc(), viewOf(op.getView().getType()), adaptor.getView());
    rewriter.replaceOp(op, toIndex(rewriter, op.getLoc(), view.dims[op.getDim()]));
    return success();
  }
};

struct NumTiles : OpConversionPattern<tile::NumTilesOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::NumTilesOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    tile::ViewType type = viewOf(op.getView().getType());
    ViewValues view = unpackView(rewriter, op.getLoc(), type, adaptor.getView());
    Value count = tileCount(rewriter, op.getLoc(), type, view.dims[op.getDim()], op.getTile());
    rewriter.replaceOp(op, toIndex(rewriter, op.getLoc(), count));
    return success();
  }
};

/// The CTA's number, unrolled over the tile grid with the last dimension fastest.
struct Index : OpConversionPattern<tile::IndexOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::IndexOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    Location loc = op.getLoc();
    tile::PartitionType partition = op.getPartition().getType();
    ViewValues view = unpackView(rewriter, loc, partition.getView(), adaptor.getPartition());
    Value rest = NVVM::BlockIdXOp::create(rewriter, loc, rewriter.getI32Type());
    SmallVector<Value> coordinates(partition.getRank());
    for (int64_t dim = partition.getRank() - 1; dim >= 0; --dim) {
      Value coordinate = rest;
      if (dim > 0) {
        Value count = tileCount(rewriter, loc, partition.getView(), view.dims[dim], partition.getTileShape()[dim]);
        if (!count.getType().isInteger(32)) // the launch refuses grids beyond 2^31 - 1
          count = arith::TruncIOp::create(rewriter, loc, rewriter.getI32Type(), count);
        coordinate = arith::RemUIOp::create(rewriter, loc, rest, count);
        rest = arith::DivUIOp::create(rewriter, loc, rest, count);
      }
      coordinates[dim] = toIndex(rewriter, loc, coordinate);
    }
    rewriter.replaceOp(op, coordinates);
    return success();
  }
};

template <typename Op, typename X, typename Y, typename Z> struct SpecialRegister : OpConversionPattern<Op> {
  using OpConversionPattern<Op>::OpConversionPattern;
  LogicalResult matchAndRewrite(Op op, typename OpConversionPattern<Op>::OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const final {
    Type i32 = rewriter.getI32Type();
    Location loc = op.getLoc();
    Value number = op.getAxis() == 0   ? Value(X::create(rewriter, loc, i32))
                   : op.getAxis() == 1 ? Value(Y::create(rewriter, loc, i32))
                                       : Value(Z::create(rewriter, loc, i32));
    rewriter.replaceOp(op, toIndex(rewriter, loc, number));
    return success();
  }
};
using ProgramId = SpecialRegister<tile::ProgramIdOp, NVVM::BlockIdXOp, NVVM::BlockIdYOp, NVVM::BlockIdZOp>;
using NumPrograms = SpecialRegister<tile::NumProgramsOp, NVVM::GridDimXOp, NVVM::GridDimYOp, NVVM::GridDimZOp>;

//===----------------------------------------------------------------------===//
// Views of views
//===----------------------------------------------------------------------===//

struct ViewOf : OpConversionPattern<tile::ViewOfOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::ViewOfOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    rewriter.replaceOpWithMultiple(op, {llvm::to_vector(adaptor.getPartition())});
    return success();
  }
};

struct PermuteView : OpConversionPattern<tile::PermuteViewOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::PermuteViewOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    tile::ViewType type = op.getView().getType();
    ViewValues view = unpackView(rewriter, op.getLoc(), type, adaptor.getView());
    SmallVector<Value> values{view.pointer};
    for (int64_t dim : op.getOrder())
      values.push_back(view.dims[dim]);
    for (int64_t dim : op.getOrder())
      if (!type.hasUnitStride(dim))
        values.push_back(view.strides[dim]);
    rewriter.replaceOpWithMultiple(op, {values});
    return success();
  }
};

/// Facts only weaken: a stride that was statically 1 becomes a value.
struct ViewCast : OpConversionPattern<tile::ViewCastOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::ViewCastOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    ViewValues view = unpackView(rewriter, op.getLoc(), op.getView().getType(), adaptor.getView());
    SmallVector<Value> values{view.pointer};
    llvm::append_range(values, view.dims);
    for (auto [dim, stride] : llvm::enumerate(view.strides))
      if (!op.getType().hasUnitStride(dim))
        values.push_back(stride);
    rewriter.replaceOpWithMultiple(op, {values});
    return success();
  }
};

struct Assume : OpConversionPattern<tile::AssumeOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::AssumeOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    rewriter.replaceOpWithNewOp<LLVM::AssumeOp>(op, adaptor.getCondition().front());
    return success();
  }
};
} // namespace

void tilec::lowering::populateKernelPatterns(const TileTypeConverter &types, Patterns &patterns) {
  patterns.add<Kernel, Return, Dim, NumTiles, Index, ProgramId, NumPrograms, ViewOf, PermuteView, ViewCast, Assume>(
      types, patterns.getContext());
}
