//===- ExpandMath.cpp - Elementary functions without a library ------------===//
//
// Runs on scalars, after tiles are distributed and before arith and math go to
// LLVM. NVPTX has no math library of its own, so each function becomes
// arithmetic and the few instructions whose error the PTX ISA states.
// docs/numerics.md lists the resulting bounds.
//
//===----------------------------------------------------------------------===//
#include "dialects/TileGPU/Transforms/Math/ExpandMath.h"
#include "dialects/TileGPU/IR/TileGPUDialect.h"
#include "dialects/TileGPU/Transforms/Math/MathFunctions.h"
#include "dialects/TileGPU/Transforms/Math/SmallFloats.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilec::tilegpu;

namespace {
using Unary = Value (*)(MathBuilder &, Value);
using Binary = Value (*)(MathBuilder &, Value, Value);

Unary unaryExpansion(Operation *op) {
  return TypeSwitch<Operation *, Unary>(op)
      .Case([](math::ExpOp) { return expandExp; })
      .Case([](math::Exp2Op) { return expandExp2; })
      .Case([](math::ExpM1Op) { return expandExpm1; })
      .Case([](math::LogOp) { return expandLog; })
      .Case([](math::Log2Op) { return expandLog2; })
      .Case([](math::Log10Op) { return expandLog10; })
      .Case([](math::Log1pOp) { return expandLog1p; })
      .Case([](math::SinOp) { return expandSin; })
      .Case([](math::CosOp) { return expandCos; })
      .Case([](math::TanOp) { return expandTan; })
      .Case([](math::AsinOp) { return expandAsin; })
      .Case([](math::AcosOp) { return expandAcos; })
      .Case([](math::AtanOp) { return expandAtan; })
      .Case([](math::SinhOp) { return expandSinh; })
      .Case([](math::CoshOp) { return expandCosh; })
      .Case([](math::TanhOp) { return expandTanh; })
      .Case([](math::ErfOp) { return expandErf; })
      .Case([](math::RsqrtOp) { return expandRsqrt; })
      .Default([](Operation *) { return nullptr; });
}

Binary binaryExpansion(Operation *op) {
  return TypeSwitch<Operation *, Binary>(op)
      .Case([](math::Atan2Op) { return expandAtan2; })
      .Case([](math::PowFOp) { return expandPow; })
      .Case([](arith::RemFOp) { return expandRemainder; })
      .Default([](Operation *) { return nullptr; });
}

/// Rewrites the ops of one function.
class Expander {
public:
  Expander(Block &entry, bool hasFloat8)
      : pool(entry), builder(entry.getParentOp()->getContext()), hasFloat8(hasFloat8) {}

  void rewrite(Operation *op) {
    if (!isScalar(op))
      return;
    builder.setInsertionPoint(op);
    if (Value result = expand(op)) {
      op->getResult(0).replaceAllUsesWith(result);
      op->erase();
    }
  }

private:
  static bool isScalar(Operation *op) {
    auto isShaped = [](Type type) { return isa<ShapedType>(type); };
    return op->getNumResults() == 1 && llvm::none_of(op->getOperandTypes(), isShaped) &&
           !isShaped(op->getResult(0).getType());
  }

  /// What replaces the op, or null if it stays.
  Value expand(Operation *op) {
    if (llvm::any_of(op->getOperandTypes(), isFloat8) || isFloat8(op->getResult(0).getType()))
      return throughSingle(op);
    if (unaryExpansion(op) || binaryExpansion(op))
      return expandFunction(op);
    return TypeSwitch<Operation *, Value>(op)
        .Case([&](arith::DivFOp division) { return expandDivision(division); })
        .Case([&](arith::FloorDivSIOp division) { return expandFloorDivision(division); })
        .Case([&](arith::CeilDivSIOp division) { return expandCeilDivision(division); })
        .Case([&](arith::CeilDivUIOp division) { return expandUnsignedCeilDivision(division); })
        .Default([](Operation *) { return Value(); });
  }

  MathBuilder math(Operation *op, Type type) { return MathBuilder(builder, op->getLoc(), pool, cast<FloatType>(type)); }

  //===--- Functions
  //----------------------------------------------------------===//

  /// In f32 or f64; the narrower types go through f32, which holds all that
  /// they can tell apart.
  Value expandFunction(Operation *op) {
    auto type = cast<FloatType>(op->getResult(0).getType());
    bool isNarrow = type.getWidth() < 32;
    MathBuilder b = math(op, isNarrow ? builder.getF32Type() : type);
    SmallVector<Value> operands(op->getOperands());
    if (isNarrow)
      for (Value &operand : operands)
        operand = arith::ExtFOp::create(builder, op->getLoc(), b.type, operand);
    Value result = isFast(op) ? expandFast(op, b, operands) : Value();
    if (!result) {
      Unary unary = unaryExpansion(op);
      result = unary ? unary(b, operands[0]) : binaryExpansion(op)(b, operands[0], operands[1]);
    }
    return isNarrow ? Value(arith::TruncFOp::create(builder, op->getLoc(), type, result)) : result;
  }

  static bool isFast(Operation *op) {
    auto flags = dyn_cast<arith::ArithFastMathInterface>(op);
    return flags && bitEnumContainsAll(flags.getFastMathFlagsAttr().getValue(), arith::FastMathFlags::afn);
  }

  /// Under `afn`: the bare instruction, in f32.
  static Value expandFast(Operation *op, MathBuilder &b, ArrayRef<Value> operands) {
    if (b.isDouble())
      return {};
    constexpr double log2E = 1.4426950408889634074, ln2 = 0.69314718055994530942;
    return TypeSwitch<Operation *, Value>(op)
        .Case([&](math::ExpOp) { return b.ex2(b.mul(operands[0], b.number(log2E))); })
        .Case([&](math::Exp2Op) { return b.ex2(operands[0]); })
        .Case(
            [&](math::LogOp) { return b.mul(b.instruction("llvm.nvvm.lg2.approx.ftz.f", operands[0]), b.number(ln2)); })
        .Case([&](math::Log2Op) { return b.instruction("llvm.nvvm.lg2.approx.ftz.f", operands[0]); })
        .Case([&](math::SinOp) { return b.instruction("llvm.nvvm.sin.approx.ftz.f", operands[0]); })
        .Case([&](math::CosOp) { return b.instruction("llvm.nvvm.cos.approx.ftz.f", operands[0]); })
        .Default([](Operation *) { return Value(); });
  }

  //===--- Division
  //-------------------------------------------------------------===//

  /// Under `arcp`, in f32: by a reciprocal that all divisions by one value
  /// share.
  Value expandDivision(arith::DivFOp op) {
    if (!bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::arcp) || !op.getType().isF32())
      return {};
    MathBuilder b = math(op, op.getType());
    if (op.getRhs().hasOneUse())
      return b.instruction("llvm.nvvm.div.full", {op.getLhs(), op.getRhs()});
    Value &reciprocal = reciprocals[op.getRhs()];
    if (!reciprocal) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointAfterValue(op.getRhs());
      reciprocal = b.instruction("llvm.nvvm.div.full", {b.number(1), op.getRhs()});
    }
    return b.mul(op.getLhs(), reciprocal);
  }

  struct Quotient {
    Value quotient, hasRest, restIsNegative, divisorIsNegative;
  };

  template <typename Op> Quotient divide(Op op) {
    Location loc = op.getLoc();
    Value zero = pool.get(builder.getIntegerAttr(op.getType(), 0));
    Value quotient = arith::DivSIOp::create(builder, loc, op.getLhs(), op.getRhs());
    Value rest =
        arith::SubIOp::create(builder, loc, op.getLhs(), arith::MulIOp::create(builder, loc, quotient, op.getRhs()));
    auto compare = [&](arith::CmpIPredicate predicate, Value value) -> Value {
      return arith::CmpIOp::create(builder, loc, predicate, value, zero);
    };
    return {quotient, compare(arith::CmpIPredicate::ne, rest), compare(arith::CmpIPredicate::slt, rest),
            compare(arith::CmpIPredicate::slt, op.getRhs())};
  }

  /// `quotient + step` where the condition holds.
  Value adjust(Operation *op, Value condition, Value quotient, int64_t step) {
    Value one = pool.get(builder.getIntegerAttr(quotient.getType(), step));
    Value moved = arith::AddIOp::create(builder, op->getLoc(), quotient, one);
    return arith::SelectOp::create(builder, op->getLoc(), condition, moved, quotient);
  }

  Value expandFloorDivision(arith::FloorDivSIOp op) {
    Quotient parts = divide(op);
    Value signsDiffer = arith::XOrIOp::create(builder, op.getLoc(), parts.restIsNegative, parts.divisorIsNegative);
    Value isAbove = arith::AndIOp::create(builder, op.getLoc(), parts.hasRest, signsDiffer);
    return adjust(op, isAbove, parts.quotient, -1);
  }

  Value expandCeilDivision(arith::CeilDivSIOp op) {
    Quotient parts = divide(op);
    Value signsAgree = arith::CmpIOp::create(builder, op.getLoc(), arith::CmpIPredicate::eq, parts.restIsNegative,
                                             parts.divisorIsNegative);
    Value isBelow = arith::AndIOp::create(builder, op.getLoc(), parts.hasRest, signsAgree);
    return adjust(op, isBelow, parts.quotient, 1);
  }

  Value expandUnsignedCeilDivision(arith::CeilDivUIOp op) {
    Location loc = op.getLoc();
    Value quotient = arith::DivUIOp::create(builder, loc, op.getLhs(), op.getRhs());
    Value product = arith::MulIOp::create(builder, loc, quotient, op.getRhs());
    Value hasRest = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, op.getLhs(), product);
    return adjust(op, hasRest, quotient, 1);
  }

  //===--- 8-bit floats
  //---------------------------------------------------------===//

  Value extend(Operation *op, Value x) {
    if (!isFloat8(x.getType()))
      return x;
    MathBuilder b = math(op, builder.getF32Type());
    return extendFloat8(b, x, hasFloat8);
  }

  Value truncate(Operation *op, Value x, Type type) {
    MathBuilder b = math(op, builder.getF32Type());
    if (x.getType().isF64()) {
      MathBuilder twice = math(op, builder.getF64Type());
      x = truncateToOdd(b, twice, x);
    } else if (!x.getType().isF32()) {
      x = arith::ExtFOp::create(builder, op->getLoc(), b.type, x);
    }
    return truncateToFloat8(b, x, type, hasFloat8);
  }

  /// Nothing computes in 8 bits: operands are widened, the op is done in f32,
  /// the result is rounded.
  Value throughSingle(Operation *op) {
    Type type = op->getResult(0).getType();
    Location loc = op->getLoc();
    if (isa<arith::BitcastOp>(op))
      return {};
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      APInt bits = cast<FloatAttr>(constant.getValue()).getValue().bitcastToAPInt();
      return arith::BitcastOp::create(builder, loc, type, pool.get(builder.getIntegerAttr(builder.getI8Type(), bits)));
    }
    if (isa<arith::TruncFOp>(op))
      return truncate(op, op->getOperand(0), type);
    if (isa<arith::ExtFOp>(op)) {
      Value wide = extend(op, op->getOperand(0));
      if (type.isF64())
        return arith::ExtFOp::create(builder, loc, type, wide);
      return type.isF32() ? wide : Value(arith::TruncFOp::create(builder, loc, type, wide));
    }
    if (auto select = dyn_cast<arith::SelectOp>(op)) {
      auto bits = [&](Value x) { return arith::BitcastOp::create(builder, loc, builder.getI8Type(), x); };
      Value chosen = arith::SelectOp::create(builder, loc, select.getCondition(), bits(select.getTrueValue()),
                                             bits(select.getFalseValue()));
      return arith::BitcastOp::create(builder, loc, type, chosen);
    }
    if (!isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()))
      return {};
    OperationState state(loc, op->getName());
    for (Value operand : op->getOperands())
      state.operands.push_back(extend(op, operand));
    state.types.push_back(isFloat8(type) ? builder.getF32Type() : type);
    state.attributes = op->getAttrs();
    Operation *wide = builder.create(state);
    Value result = wide->getResult(0);
    if (Value expanded = expand(wide)) {
      wide->erase();
      result = expanded;
    }
    return isFloat8(type) ? truncate(op, result, type) : result;
  }

  ConstantPool pool;
  OpBuilder builder;
  bool hasFloat8;
  llvm::DenseMap<Value, Value> reciprocals;
};

struct ExpandMath : PassWrapper<ExpandMath, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandMath)
  StringRef getArgument() const final { return "tilegpu-expand-math"; }
  StringRef getDescription() const final { return "elementary functions and 8-bit floats in terms NVPTX can select"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<arith::ArithDialect, LLVM::LLVMDialect, math::MathDialect, scf::SCFDialect>();
  }

  void runOnOperation() final {
    TargetAttr target = TargetAttr::of(getOperation());
    bool hasFloat8 = target && target.has("fp8_cvt");
    getOperation().walk([&](FunctionOpInterface function) {
      if (function.isExternal())
        return;
      // What is there now: expansions are not expanded again.
      SmallVector<Operation *> ops;
      function->walk([&](Operation *op) {
        if (isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()))
          ops.push_back(op);
      });
      Expander expander(function.getFunctionBody().front(), hasFloat8);
      for (Operation *op : ops)
        expander.rewrite(op);
    });
  }
};
} // namespace

std::unique_ptr<Pass> tilec::createExpandMathPass() { return std::make_unique<ExpandMath>(); }

void tilec::registerExpandMathPass() { PassRegistration<ExpandMath>(); }
