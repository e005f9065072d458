//===- RTTensorOps.cpp - Verifiers of the records on tensors --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/RT/RT.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::rt;

//===----------------------------------------------------------------------===//
// matmul, attention and its gradients
//===----------------------------------------------------------------------===//

/// Number of elements up to the last one of a stored matrix.
static int64_t reach(int64_t batch, int64_t stride, int64_t rows, int64_t ld,
                     int64_t row) {
  return (batch - 1) * stride + (rows - 1) * ld + row;
}

/// Checks the tensors of a matmul against its layout (labels C2 to C4).
template <typename Op> static LogicalResult verifyLayout(Op op) {
  MatmulLayoutAttr l = op.getLayout();
  struct Stored {
    StringRef name;
    RankedTensorType type;
    int64_t stride, rows, ld, row;
  };
  bool ta = l.getTransA(), tb = l.getTransB();
  Stored stored[] = {
      {"lhs", op.getLhs().getType(), l.getStrideA(), ta ? l.getK() : l.getM(),
       l.getLda(), ta ? l.getM() : l.getK()},
      {"rhs", op.getRhs().getType(), l.getStrideB(), tb ? l.getN() : l.getK(),
       l.getLdb(), tb ? l.getK() : l.getN()},
      {"result", op.getResult().getType(), l.getStrideC(), l.getM(), l.getLdc(),
       l.getN()}};
  for (const Stored &s : stored) {
    int64_t last = reach(l.getBatch(), s.stride, s.rows, s.ld, s.row);
    if (last > s.type.getNumElements())
      return op.emitOpError("(C2) expects a layout within the ")
             << s.name << " of " << s.type.getNumElements()
             << " elements but it reaches " << last;
  }
  int64_t covered = l.getBatch() * l.getM() * l.getN();
  if (covered != op.getResult().getType().getNumElements())
    return op.emitOpError("(C3) expects to cover the result of ")
           << op.getResult().getType().getNumElements()
           << " elements but covers " << covered;
  if (op.getInit() && op.getInit().getType() != op.getResult().getType())
    return op.emitOpError("(C4) expects an init of ")
           << op.getResult().getType() << " but got " << op.getInit().getType();
  return success();
}

/// Checks shared by all matmuls (labels C1 to C4).
template <typename Op> static LogicalResult verifyMatmul(Op op) {
  Type a = op.getLhs().getType().getElementType();
  Type b = op.getRhs().getType().getElementType();
  Type c = op.getResult().getType().getElementType();
  bool isHalf = a.isBF16() || a.isF16();
  bool known = isHalf || a.isF32() || a.isF64();
  if (!known || a != b || !(c == a || (isHalf && c.isF32())))
    return op.emitOpError(
               "(C1) expects operands of one type f32, bf16, f16 or f64 and "
               "a result of it or of f32 but got ")
           << a << ", " << b << " and " << c;
  return verifyLayout(op);
}

LogicalResult ScaledMatmulOp::verify() {
  Type a = getLhs().getType().getElementType();
  Type b = getRhs().getType().getElementType();
  Type c = getResult().getType().getElementType();
  if (!isa<Float8E4M3FNType, Float8E5M2Type>(a) ||
      !isa<Float8E4M3FNType, Float8E5M2Type>(b) || !(c.isBF16() || c.isF32()))
    return emitOpError("(C1) expects operands of f8E4M3FN or f8E5M2 and a "
                       "result of bf16 or f32 but got ")
           << a << ", " << b << " and " << c;
  return verifyLayout(*this);
}

bool ScaledMatmulOp::mayReuse(unsigned, unsigned operand) {
  return getInit() && operand == 4;
}

LogicalResult MatmulOp::verify() { return verifyMatmul(*this); }

bool MatmulOp::mayReuse(unsigned, unsigned operand) {
  return getInit() && operand == 2;
}

bool MatmulFusedOp::mayReuse(unsigned result, unsigned operand) {
  return getInit() && result == 0 && operand == 2;
}

/// Checks the operands and results that a kind requires (labels C5 and C6).
static LogicalResult verifyEpilogueForm(MatmulFusedOp op) {
  MatmulLayoutAttr l = op.getLayout();
  if (l.getBatch() != 1 || l.getLdc() != l.getN())
    return op.emitOpError("(C5) expects one batch with rows of ")
           << l.getN() << " elements but got " << l.getBatch() << " with rows "
           << l.getLdc() << " apart";
  EpilogueKind kind = op.getKind();
  bool isSum = kind == EpilogueKind::LhsSums || kind == EpilogueKind::RhsSums;
  bool isGradient = kind == EpilogueKind::GeluGradient;
  bool isGelu = kind == EpilogueKind::Gelu;
  size_t extras = op.getExtras().size();
  bool hasBias = bool(op.getBias());
  bool fits = (!op.getInit() || !isGradient) &&
              (isGelu || hasBias == (kind == EpilogueKind::Bias)) &&
              bool(op.getArgument()) == isGradient &&
              (isSum ? extras == 1 : extras <= (isGelu || isGradient));
  if (fits)
    return success();
  return op.emitOpError("(C6) expects what ")
         << stringifyEpilogueKind(kind) << " has but got "
         << (op.getInit() ? "an init, " : "") << (hasBias ? "a bias, " : "")
         << (op.getArgument() ? "an argument, " : "") << extras << " extras";
}

/// Checks their types and sizes (labels C7 and C8).
static LogicalResult verifyEpilogueTypes(MatmulFusedOp op) {
  MatmulLayoutAttr l = op.getLayout();
  RankedTensorType result = op.getResult().getType();
  EpilogueKind kind = op.getKind();
  auto isLike = [&](Value value) -> LogicalResult {
    if (value.getType() == result)
      return success();
    return op.emitOpError("(C7) expects GELU's argument of ")
           << result << " but got " << value.getType();
  };
  auto isVector = [&](Value value, int64_t size) -> LogicalResult {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getNumElements() == size &&
        (type.getElementType() == result.getElementType() ||
         type.getElementType().isF32()))
      return success();
    return op.emitOpError("(C7) expects ")
           << size << " elements of " << result.getElementType()
           << " or f32 but got " << type;
  };
  if (op.getBias() && failed(isVector(op.getBias(), l.getN())))
    return failure();
  if (op.getArgument() && failed(isLike(op.getArgument())))
    return failure();
  bool ofLhs = kind == EpilogueKind::LhsSums;
  for (Value extra : op.getExtras())
    if (failed(kind == EpilogueKind::Gelu
                   ? isLike(extra)
                   : isVector(extra, ofLhs ? l.getM() : l.getN())))
      return failure();
  bool isStored = ofLhs ? l.getTransA() && l.getLda() == l.getM()
                        : !l.getTransB() && l.getLdb() == l.getN();
  if ((ofLhs || kind == EpilogueKind::RhsSums) && !isStored)
    return op.emitOpError("(C8) expects the ")
           << (ofLhs ? "lhs" : "rhs")
           << " to be stored with the contracted dimension first, row after "
              "row";
  return success();
}

LogicalResult MatmulFusedOp::verify() {
  return success(succeeded(verifyMatmul(*this)) &&
                 succeeded(verifyEpilogueForm(*this)) &&
                 succeeded(verifyEpilogueTypes(*this)));
}

/// Checks shared by attention and its gradients (labels C1 to C3).
template <typename Op>
static LogicalResult verifyAttention(Op op, RankedTensorType out, Value stat,
                                     Type resultElement) {
  auto q = op.getQ().getType(), k = op.getK().getType(),
       v = op.getV().getType();
  Type element = q.getElementType();
  if (!element.isF32() && !element.isBF16())
    return op.emitOpError("(C1) expects f32 or bf16 but got ") << element;
  for (auto type : {k, v})
    if (type.getElementType() != element)
      return op.emitOpError("(C1) expects one element type but got ")
             << element << " and " << type.getElementType();
  if (resultElement != element && !resultElement.isF32())
    return op.emitOpError("(C1) expects a result of ")
           << element << " or f32 but got " << resultElement;
  if (q.getRank() != 5 || k.getRank() != 4 || v.getRank() != 4 ||
      out.getRank() != 5)
    return op.emitOpError("(C2) expects ranks 5, 4, 4 and 5");
  ArrayRef<int64_t> qs = q.getShape(), ks = k.getShape(), vs = v.getShape();
  bool fits = qs[0] == ks[0] && qs[2] == ks[2] && qs[4] == ks[3] &&
              ks.take_front(3) == vs.take_front(3) &&
              out.getShape().take_front(4) == qs.take_front(4) &&
              out.getShape()[4] == vs[3];
  if (!fits)
    return op.emitOpError("(C2) expects shapes that agree but got ")
           << q << ", " << k << ", " << v << " and " << out;
  Type f32 = Float32Type::get(op.getContext());
  SmallVector<int64_t> statShape(qs.take_front(4));
  if (op.getBias())
    statShape.push_back(2);
  auto statType = RankedTensorType::get(statShape, f32);
  if (stat && stat.getType() != statType)
    return op.emitOpError("(C2) expects a stat of ")
           << statType << " but got " << stat.getType();
  Value starts = op.getStarts();
  auto startsType = RankedTensorType::get(
      qs.take_front(2), IntegerType::get(op.getContext(), 32));
  if (starts && starts.getType() != startsType)
    return op.emitOpError("(C2) expects starts of ")
           << startsType << " but got " << starts.getType();
  if (Value bias = op.getBias()) {
    auto type = cast<RankedTensorType>(bias.getType());
    ArrayRef<int64_t> shape = type.getShape();
    if (shape.size() != 5 || shape[4] != ks[1] ||
        type.getElementType() != f32 ||
        !llvm::all_of(llvm::zip(shape.take_front(4), qs), [](auto sizes) {
          auto [size, whole] = sizes;
          return size == 1 || size == whole;
        }))
      return op.emitOpError("(C2) expects an f32 bias of queries and keys, of "
                            "size 1 or theirs, but got ")
             << type;
  }
  if (op.getPositionOffsets().size() % 2 || op.getPositionOffsets().size() > 2)
    return op.emitOpError("(C3) expects two offsets or none but got ")
           << op.getPositionOffsets().size();
  return success();
}

LogicalResult AttentionOp::verify() {
  if (getStats().size() > 1)
    return emitOpError("(C4) expects one stat or none but got ")
           << getStats().size();
  return verifyAttention(*this, getResult().getType(),
                         getStats().empty() ? Value() : getStats().front(),
                         getResult().getType().getElementType());
}

LogicalResult AttentionBackwardOp::verify() {
  Type element = getDq().getType().getElementType();
  if (getOut().getType().getElementType() != getQ().getType().getElementType())
    return emitOpError("(C1) expects one element type but got ")
           << getQ().getType().getElementType() << " and "
           << getOut().getType().getElementType();
  for (auto [gradient, operand] :
       {std::pair(getDq(), getQ()), {getDk(), getK()}, {getDv(), getV()}})
    if (gradient.getType() != operand.getType().clone(element))
      return emitOpError("(C2) expects a gradient of ")
             << operand.getType().clone(element) << " but got "
             << gradient.getType();
  return verifyAttention(*this, getOut().getType(), getLogsumexp(), element);
}

//===----------------------------------------------------------------------===//
// embedding_backward
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingBackwardOp::verify() {
  RankedTensorType grad = getGrad().getType(), ids = getIds().getType(),
                   result = getResult().getType();
  Type in = grad.getElementType(), out = result.getElementType();
  Type id = ids.getElementType();
  if (!(in.isF32() || in.isBF16() || in.isF64()) ||
      !(in == out || (in.isBF16() && out.isF32())) ||
      !(id.isInteger(32) || id.isInteger(64)))
    return emitOpError("(C1) expects f32, bf16 or f64 by ids of i32 or i64 but "
                       "got ")
           << in << " to " << out << " by " << id;
  if (result.getRank() != 2 ||
      grad.getNumElements() != ids.getNumElements() * result.getDimSize(1))
    return emitOpError("(C2) expects a row of grad for each id but got ")
           << grad << " for " << ids << " and rows of " << result;
  if (getInit() && getInit().getType() != result)
    return emitOpError("(C3) expects an init of ")
           << result << " but got " << getInit().getType();
  if (getReplace() && !getInit())
    return emitOpError("(C4) expects an init whose rows are replaced");
  return success();
}

bool EmbeddingBackwardOp::mayReuse(unsigned, unsigned operand) {
  return getInit() && operand == getNumOperands() - 1;
}

//===----------------------------------------------------------------------===//
// copy, concat
//===----------------------------------------------------------------------===//

LogicalResult CopyOp::verify() {
  auto source = getSource().getType(), result = getResult().getType();
  if (int64_t(getStrides().size()) != result.getRank())
    return emitOpError("(C1) expects ")
           << result.getRank() << " strides but got " << getStrides().size();
  if (source.getElementType() != result.getElementType())
    return emitOpError("(C2) expects one element type but got ")
           << source.getElementType() << " and " << result.getElementType();
  if (getDim() && int64_t(*getDim()) >= result.getRank())
    return emitOpError("(C4) expects a dimension of ")
           << result << " but got " << *getDim();
  if (result.getRank() > TESSERA_RT_MAX_DIMS)
    return emitOpError("(C5) expects at most ")
           << TESSERA_RT_MAX_DIMS << " dimensions but got " << result.getRank();
  if (getStart())
    return success();
  int64_t low = getBase(), high = getBase();
  for (auto [size, stride] : llvm::zip(result.getShape(), getStrides()))
    (stride < 0 ? low : high) += (size - 1) * stride;
  if (low < 0 || high >= source.getNumElements())
    return emitOpError("(C3) expects elements 0 to ")
           << source.getNumElements() - 1 << " to be read but reads " << low
           << " to " << high;
  return success();
}

static int64_t getBaseBytes(CopyOp op) {
  return int64_t(op.getBase()) *
         getElementBytes(op.getResult().getType().getElementType());
}

/// Whether the copy reads consecutive elements. A dimension of one element has
/// no steps.
static bool isConsecutive(CopyOp op) {
  ArrayRef<int64_t> shape = op.getResult().getType().getShape();
  return !op.getStart() &&
         llvm::all_of(
             llvm::zip_equal(shape, op.getStrides(), getRowMajorStrides(shape)),
             [](auto dim) {
               auto [size, stride, rowMajor] = dim;
               return size == 1 || stride == rowMajor;
             });
}

bool CopyOp::mayBeInPlace() {
  return isConsecutive(*this) &&
         getBaseBytes(*this) % TESSERA_RT_ARENA_ALIGNMENT == 0;
}

/// The planned offset of a value; none before memory planning, and for values
/// that a loop carries.
static std::optional<int64_t> getOffset(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  Operation *op =
      argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
  if (argument && !isa<FunctionOpInterface>(op))
    return std::nullopt;
  auto offsets = op->getAttrOfType<DenseI64ArrayAttr>(RTDialect::kOffsetsAttr);
  if (!offsets)
    return std::nullopt;
  return offsets[argument ? argument.getArgNumber()
                          : cast<OpResult>(value).getResultNumber()];
}

bool CopyOp::isInPlace() {
  std::optional<int64_t> from = getOffset(getSource()),
                         to = getOffset(getResult());
  return from && to && isConsecutive(*this) &&
         *from + getBaseBytes(*this) == *to;
}

LogicalResult AssembleOp::verify() {
  if (getChunks().size() != getStarts().size() || getChunks().empty())
    return emitOpError("(C1) expects a start for each chunk but got ")
           << getStarts().size() << " for " << getChunks().size();
  auto type = cast<RankedTensorType>(getChunks().front().getType());
  int64_t dim = getDim();
  SmallVector<int64_t> shape(type.getShape());
  bool isRight = llvm::all_equal(getChunks().getTypes()) && dim >= 0 &&
                 dim < type.getRank();
  if (isRight)
    shape[dim] *= getChunks().size();
  if (!isRight || getResult().getType() != type.clone(shape))
    return emitOpError("(C2) expects chunks of one type and a result of all of "
                       "them along dimension ")
           << dim << " but got " << type << " and " << getResult().getType();
  return success();
}

LogicalResult ConcatOp::verify() {
  auto result = getResult().getType();
  int64_t dim = getDim();
  if (getSources().empty())
    return emitOpError("(C1) expects at least one operand");
  if (dim >= result.getRank())
    return emitOpError("(C2) expects a dimension of ")
           << result << " but got " << dim;
  int64_t sum = 0;
  for (Type type : getSources().getTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    if (tensor.getElementType() != result.getElementType() ||
        tensor.getRank() != result.getRank())
      return emitOpError("(C1) expects operands of the result's element type "
                         "and rank but got ")
             << tensor << " for " << result;
    for (int64_t i = 0; i < result.getRank(); ++i)
      if (i != dim && tensor.getDimSize(i) != result.getDimSize(i))
        return emitOpError("(C2) expects equal sizes in dimension ")
               << i << " but got " << tensor << " for " << result;
    sum += tensor.getDimSize(dim);
  }
  if (sum != result.getDimSize(dim))
    return emitOpError("(C2) expects sizes that add up to ")
           << result.getDimSize(dim) << " in dimension " << dim << " but got "
           << sum;
  return success();
}

//===----------------------------------------------------------------------===//
// kernel
//===----------------------------------------------------------------------===//

/// The kernel that `op` names; null, with an error (C1), if there is none.
template <typename Func>
static Func lookupKernel(Operation *op, SymbolTableCollection &tables,
                         FlatSymbolRefAttr name) {
  auto func = dyn_cast_or_null<Func>(tables.lookupNearestSymbolFrom(op, name));
  if (func && func->hasAttr(RTDialect::kKernelAttr))
    return func;
  op->emitOpError("(C1) expects a function marked rt.kernel but got ") << name;
  return {};
}

LogicalResult KernelOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto func = lookupKernel<func::FuncOp>(*this, tables, getCalleeAttr());
  if (!func)
    return failure();
  auto type =
      FunctionType::get(getContext(), getOperandTypes(), getResultTypes());
  if (func.getFunctionType() != type)
    return emitOpError("(C2) expects the types of ")
           << getCalleeAttr() << ", " << func.getFunctionType() << ", but got "
           << type;
  return success();
}

bool KernelOp::mayReuse(unsigned result, unsigned operand) {
  auto func = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      *this, getCalleeAttr());
  auto pairs =
      func ? func->getAttrOfType<DenseI64ArrayAttr>(RTDialect::kReuseAttr)
           : DenseI64ArrayAttr();
  for (int64_t i = 0; pairs && i < pairs.size(); i += 2)
    if (pairs[i] == int64_t(result) && pairs[i + 1] == int64_t(operand))
      return true;
  return false;
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &tables) {
  // Accepts functions of any dialect: kernels become LLVM functions before the
  // step does.
  auto func = lookupKernel<FunctionOpInterface>(*this, tables, getKernelAttr());
  if (!func)
    return failure();
  size_t arguments = getOffsets().size() + getScalars().size();
  if (func.getNumArguments() != arguments + 2)
    return emitOpError("(C1) expects ")
           << int64_t(func.getNumArguments()) - 2 << " offsets and scalars for "
           << getKernelAttr() << " but got " << arguments;
  if (int64_t(getRows()) < 1 || int64_t(getGrain()) < 1)
    return emitOpError("(C2) expects rows and grain of at least 1 but got ")
           << int64_t(getRows()) << " and " << int64_t(getGrain());
  return success();
}

LogicalResult LaunchDeviceOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto module =
      tables.lookupNearestSymbolFrom(*this, getKernelAttr().getRootReference());
  if (!module)
    return success();
  auto func = dyn_cast_or_null<FunctionOpInterface>(
      tables.lookupNearestSymbolFrom(*this, getKernelAttr()));
  if (!func)
    return emitOpError("(C1) expects a function of @")
           << getKernelAttr().getRootReference().getValue() << " but got "
           << getKernelAttr();
  uint64_t number = 0;
  for (Operation &other : *func->getBlock()) {
    if (&other == func.getOperation())
      break;
    auto before = dyn_cast<FunctionOpInterface>(other);
    number += before && !before.isExternal();
  }
  if (number != getNumber())
    return emitOpError("(C1) expects number ")
           << number << " for " << getKernelAttr() << " but got "
           << getNumber();
  // Does not check types: later phases give kernels other types.
  size_t arguments = getOffsets().size() + getScalars().size();
  if (func.getNumArguments() != arguments)
    return emitOpError("(C1) expects ")
           << func.getNumArguments() << " offsets and scalars for "
           << getKernelAttr() << " but got " << arguments;
  return success();
}
