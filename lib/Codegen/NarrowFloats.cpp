//===- NarrowFloats.cpp - 16-bit floats without instructions for them -----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rewrites scalars and vectors of LLVM IR before the middle end runs, so that
// it vectorizes the arithmetic. Loads, stores, selects, phis and elements of
// vectors only move bits and do so as integers: LLVM moves vectors of bf16
// through f32.
//
//===----------------------------------------------------------------------===//

#include "tessera/Codegen/NarrowFloats.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/MC/MCSubtargetInfo.h"

using namespace tessera;
using llvm::dyn_cast;
using llvm::isa;
using llvm::Type;
using llvm::Value;

namespace {

constexpr uint32_t kMagnitudeBits = 0x7fffffff, kInfinityBits = 0x7f800000;
/// f16: the number of fraction bits that f32 has in addition, the difference of
/// the exponent biases, and the code of infinity.
constexpr uint32_t kHalfShift = 13, kHalfBias = 112, kHalfInfinity = 0x7c00;
/// An integer with fewer bits is exact in f32.
constexpr unsigned kExactBits = 25;

class Expander {
public:
  Expander(llvm::LLVMContext &context, const llvm::MCSubtargetInfo &target,
           bool isX86)
      : b(context), computesHalf(!isX86 || target.checkFeatures("+avx512fp16")),
        castsHalf(!isX86 || target.checkFeatures("+f16c")) {}
  void run(llvm::Function &function);

private:
  /// True if arithmetic on the type is done in f32.
  bool isNarrow(Type *type) const {
    type = type->getScalarType();
    return type->isBFloatTy() || (type->isHalfTy() && !computesHalf);
  }
  /// Returns `type`, or a vector of it if `like` is a vector.
  static Type *withShape(Type *type, Type *like) {
    auto *vector = dyn_cast<llvm::VectorType>(like);
    return vector ? llvm::VectorType::get(type, vector->getElementCount())
                  : type;
  }
  Value *toBits(Value *value) {
    unsigned width = value->getType()->getScalarSizeInBits();
    return b.CreateBitCast(value,
                           withShape(b.getIntNTy(width), value->getType()));
  }
  Value *constant(Value *like, uint32_t value) {
    return llvm::ConstantInt::get(like->getType(), value);
  }
  Type *wideType(Type *type) {
    return isNarrow(type) ? withShape(b.getFloatTy(), type) : type;
  }

  Value *roundToOdd(Value *wide);
  Value *roundBfloat(Value *bits);
  Value *roundHalf(Value *wide);
  Value *extendHalf(Value *code);
  Value *narrow(Value *wide, Type *type);
  Value *widen(Value *value);

  Value *expandCast(llvm::CastInst &op);
  Value *expandCall(llvm::IntrinsicInst &call);
  Value *expandMove(llvm::Instruction &op);
  Value *expand(llvm::Instruction &op);

  llvm::IRBuilder<> b;
  bool computesHalf, castsHalf;
};

} // namespace

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

/// Returns an f64 as f32, rounded to odd: the same number if it is exact,
/// otherwise the neighbour whose last bit is 1. Rounding that to a type with at
/// least two bits less gives the same as rounding the f64 (Boldo and Melquiond,
/// "Emulation of a FMA and correctly-rounded sums: proved algorithms using
/// rounding to odd", 2008).
Value *Expander::roundToOdd(Value *wide) {
  Type *type = withShape(b.getFloatTy(), wide->getType());
  Value *nearest = b.CreateFPTrunc(wide, type);
  Value *back = b.CreateFPExt(nearest, wide->getType());
  Value *bits = toBits(nearest);
  Value *odd = b.CreateTrunc(
      bits, withShape(b.getInt1Ty(), type)); // The last bit of the fraction.
  Value *size = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, wide);
  Value *sizeBack = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back);
  Value *one = constant(bits, 1), *zero = constant(bits, 0);
  Value *up = b.CreateSelect(b.CreateFCmpOLT(sizeBack, size), one, zero);
  Value *down = b.CreateSelect(b.CreateFCmpOGT(sizeBack, size), one, zero);
  Value *other = b.CreateSub(b.CreateAdd(bits, up), down);
  return b.CreateBitCast(b.CreateSelect(odd, bits, other), type);
}

/// Returns the code of bf16, in 32 bits, for the bits of an f32.
Value *Expander::roundBfloat(Value *bits) {
  Value *upper = b.CreateLShr(bits, 16);
  Value *odd = b.CreateAnd(upper, constant(bits, 1));
  Value *sum = b.CreateAdd(b.CreateAdd(bits, constant(bits, 0x7fff)), odd);
  Value *magnitude = b.CreateAnd(bits, constant(bits, kMagnitudeBits));
  Value *isNaN = b.CreateICmpUGT(magnitude, constant(bits, kInfinityBits));
  return b.CreateSelect(isNaN, b.CreateOr(upper, constant(bits, 0x40)),
                        b.CreateLShr(sum, 16));
}

/// Returns the code of f16, in 32 bits, for an f32. Adding 0.5, whose last
/// fraction bit is the smallest subnormal f16, rounds subnormals.
Value *Expander::roundHalf(Value *wide) {
  Value *bits = toBits(wide);
  Value *magnitude = b.CreateAnd(bits, constant(bits, kMagnitudeBits));
  Value *odd =
      b.CreateAnd(b.CreateLShr(magnitude, kHalfShift), constant(bits, 1));
  Value *normal =
      b.CreateAdd(magnitude, constant(bits, (1u << (kHalfShift - 1)) - 1 -
                                                (kHalfBias << 23)));
  normal = b.CreateLShr(b.CreateAdd(normal, odd), kHalfShift);
  Value *half = llvm::ConstantFP::get(wide->getType(), 0.5);
  Value *small =
      b.CreateFAdd(b.CreateBitCast(magnitude, wide->getType()), half);
  small = b.CreateSub(toBits(small), toBits(half));
  Value *isSmall =
      b.CreateICmpULT(magnitude, constant(bits, (kHalfBias + 1) << 23));
  Value *code = b.CreateSelect(isSmall, small, normal);
  code = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, code,
                                 constant(bits, kHalfInfinity));
  Value *payload =
      b.CreateAnd(b.CreateLShr(magnitude, kHalfShift), constant(bits, 0x3ff));
  Value *isNaN = b.CreateICmpUGT(magnitude, constant(bits, kInfinityBits));
  code = b.CreateSelect(
      isNaN, b.CreateOr(payload, constant(bits, kHalfInfinity | 0x200)), code);
  Value *sign = b.CreateAnd(b.CreateLShr(bits, 16), constant(bits, 0x8000));
  return b.CreateOr(code, sign);
}

/// Returns the f32 for an f16 code in 32 bits.
Value *Expander::extendHalf(Value *code) {
  Type *type = withShape(b.getFloatTy(), code->getType());
  Value *magnitude = b.CreateAnd(code, constant(code, 0x7fff));
  Value *shifted = b.CreateShl(magnitude, kHalfShift);
  Value *normal = b.CreateAdd(shifted, constant(code, kHalfBias << 23));
  Value *small = b.CreateFMul(b.CreateUIToFP(magnitude, type),
                              llvm::ConstantFP::get(type, 0x1p-24));
  Value *isSmall = b.CreateICmpULT(magnitude, constant(code, 0x400));
  Value *bits = b.CreateSelect(isSmall, toBits(small), normal);
  Value *isNaN = b.CreateICmpUGT(magnitude, constant(code, kHalfInfinity));
  Value *quiet = b.CreateSelect(isNaN, constant(code, kInfinityBits | 0x400000),
                                constant(code, kInfinityBits));
  Value *isFinite = b.CreateICmpULT(magnitude, constant(code, kHalfInfinity));
  bits = b.CreateSelect(isFinite, bits, b.CreateOr(shifted, quiet));
  Value *sign = b.CreateShl(b.CreateAnd(code, constant(code, 0x8000)), 16);
  return b.CreateBitCast(b.CreateOr(bits, sign), type);
}

/// Rounds `wide`, f32 or f64, to the narrow `type`.
Value *Expander::narrow(Value *wide, Type *type) {
  if (wide->getType()->getScalarType()->isDoubleTy())
    wide = roundToOdd(wide);
  bool isHalf = type->getScalarType()->isHalfTy();
  if (isHalf && castsHalf)
    return b.CreateFPTrunc(wide, type);
  Value *code = isHalf ? roundHalf(wide) : roundBfloat(toBits(wide));
  code = b.CreateTrunc(code, withShape(b.getInt16Ty(), type));
  return b.CreateBitCast(code, type);
}

/// Converts a narrow value to f32; returns others unchanged.
Value *Expander::widen(Value *value) {
  Type *type = value->getType();
  if (!isNarrow(type))
    return value;
  bool isHalf = type->getScalarType()->isHalfTy();
  if (isHalf && castsHalf)
    return b.CreateFPExt(value, wideType(type));
  Value *code = b.CreateZExt(toBits(value), withShape(b.getInt32Ty(), type));
  return isHalf ? extendHalf(code)
                : b.CreateBitCast(b.CreateShl(code, 16), wideType(type));
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

Value *Expander::expandCast(llvm::CastInst &op) {
  Type *from = op.getSrcTy(), *to = op.getDestTy();
  Value *value = op.getOperand(0);
  switch (op.getOpcode()) {
  case llvm::Instruction::FPTrunc:
    return narrow(widen(value), to);
  case llvm::Instruction::FPExt:
    value = widen(value);
    return value->getType() == to ? value : b.CreateFPExt(value, to);
  case llvm::Instruction::FPToSI:
  case llvm::Instruction::FPToUI:
    return b.CreateCast(op.getOpcode(), widen(value), to);
  case llvm::Instruction::SIToFP:
  case llvm::Instruction::UIToFP: {
    bool isExact = from->getScalarSizeInBits() < kExactBits;
    Type *wide = withShape(isExact ? b.getFloatTy() : b.getDoubleTy(), to);
    return narrow(b.CreateCast(op.getOpcode(), value, wide), to);
  }
  default:
    return nullptr; // Moves bits.
  }
}

/// Calls the same intrinsic on f32.
Value *Expander::expandCall(llvm::IntrinsicInst &call) {
  if (call.getType()->isVoidTy() ||
      call.getIntrinsicID() == llvm::Intrinsic::is_fpclass ||
      llvm::any_of(call.args(), [](Value *argument) {
        return argument->getType()->isPtrOrPtrVectorTy();
      }))
    return nullptr;
  llvm::SmallVector<Type *> overloads;
  if (!llvm::Intrinsic::getIntrinsicSignature(call.getCalledFunction(),
                                              overloads))
    return nullptr;
  for (Type *&type : overloads)
    type = wideType(type);
  llvm::SmallVector<Value *> arguments;
  for (Value *argument : call.args())
    arguments.push_back(widen(argument));
  llvm::CallInst *wide =
      b.CreateIntrinsic(call.getIntrinsicID(), overloads, arguments);
  if (isa<llvm::FPMathOperator>(call) && isa<llvm::FPMathOperator>(wide))
    wide->copyFastMathFlags(&call);
  return isNarrow(call.getType()) ? narrow(wide, call.getType()) : wide;
}

/// Rewrites an instruction that only moves bits to integers, which LLVM moves
/// well on any processor. Returns null for any other instruction.
Value *Expander::expandMove(llvm::Instruction &op) {
  Type *type = op.getType();
  Type *bits = withShape(b.getInt16Ty(), type);
  if (auto *load = dyn_cast<llvm::LoadInst>(&op)) {
    llvm::LoadInst *made = b.CreateAlignedLoad(
        bits, load->getPointerOperand(), load->getAlign(), load->isVolatile());
    made->copyMetadata(*load);
    return b.CreateBitCast(made, type);
  }
  if (auto *select = dyn_cast<llvm::SelectInst>(&op))
    return b.CreateBitCast(b.CreateSelect(select->getCondition(),
                                          toBits(select->getTrueValue()),
                                          toBits(select->getFalseValue())),
                           type);
  if (auto *extract = dyn_cast<llvm::ExtractElementInst>(&op))
    return b.CreateBitCast(
        b.CreateExtractElement(toBits(extract->getVectorOperand()),
                               extract->getIndexOperand()),
        type);
  if (isa<llvm::InsertElementInst>(op))
    return b.CreateBitCast(b.CreateInsertElement(toBits(op.getOperand(0)),
                                                 toBits(op.getOperand(1)),
                                                 op.getOperand(2)),
                           type);
  auto *phi = dyn_cast<llvm::PHINode>(&op);
  if (!phi)
    return nullptr;
  llvm::PHINode *made = b.CreatePHI(bits, phi->getNumIncomingValues());
  for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
    llvm::BasicBlock *from = phi->getIncomingBlock(i);
    b.SetInsertPoint(from->getTerminator());
    made->addIncoming(toBits(phi->getIncomingValue(i)), from);
  }
  b.SetInsertPoint(phi->getParent(), phi->getParent()->getFirstInsertionPt());
  return b.CreateBitCast(made, type);
}

/// Returns the replacement of the instruction, or null if it stays.
Value *Expander::expand(llvm::Instruction &op) {
  Type *type = op.getType();
  if (auto *store = dyn_cast<llvm::StoreInst>(&op)) {
    store->setOperand(0, toBits(store->getValueOperand()));
    return nullptr;
  }
  if (Value *moved = expandMove(op))
    return moved;
  if (auto *conversion = dyn_cast<llvm::CastInst>(&op))
    return expandCast(*conversion);
  if (auto *call = dyn_cast<llvm::IntrinsicInst>(&op))
    return expandCall(*call);
  if (auto *compare = dyn_cast<llvm::FCmpInst>(&op))
    return b.CreateFCmpFMF(compare->getPredicate(),
                           widen(compare->getOperand(0)),
                           widen(compare->getOperand(1)), compare);
  if (op.getOpcode() == llvm::Instruction::FNeg) {
    Value *bits = toBits(op.getOperand(0));
    return b.CreateBitCast(b.CreateXor(bits, constant(bits, 0x8000)), type);
  }
  if (auto *binary = dyn_cast<llvm::BinaryOperator>(&op))
    return narrow(b.CreateBinOpFMF(binary->getOpcode(), widen(op.getOperand(0)),
                                   widen(op.getOperand(1)), binary),
                  type);
  return nullptr;
}

void Expander::run(llvm::Function &function) {
  llvm::SmallVector<llvm::Instruction *> found;
  for (llvm::BasicBlock &block : function)
    for (llvm::Instruction &op : block)
      if (isNarrow(op.getType()) ||
          llvm::any_of(op.operands(), [&](const llvm::Use &use) {
            return isNarrow(use->getType());
          }))
        found.push_back(&op);
  for (llvm::Instruction *op : found) {
    b.SetInsertPoint(op);
    if (Value *value = expand(*op)) {
      op->replaceAllUsesWith(value);
      op->eraseFromParent();
    }
  }
}

void tessera::expandNarrowFloats(llvm::Module &module,
                                 const llvm::TargetMachine &machine) {
  Expander expander(module.getContext(), *machine.getMCSubtargetInfo(),
                    machine.getTargetTriple().isX86());
  for (llvm::Function &function : module)
    expander.run(function);
}
