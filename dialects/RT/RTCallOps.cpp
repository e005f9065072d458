//===- RTCallOps.cpp - The arguments of each call of the C ABI ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What stands here follows runtime/include/tessera_rt.h, argument by argument.
//
//===----------------------------------------------------------------------===//

#include "dialects/RT/RT.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::rt;

using Arguments = SmallVector<CallArgument>;

static CallArgument int32(int64_t value) {
  return {CallArgument::Int32, value};
}
static CallArgument int64(int64_t value) {
  return {CallArgument::Int64, value};
}
static CallArgument address(int64_t offset) {
  return {CallArgument::Address, offset};
}
static CallArgument array(ArrayRef<int64_t> values) {
  return {CallArgument::Array, 0, SmallVector<int64_t>(values)};
}
static CallArgument null() { return {CallArgument::Null}; }
static CallArgument scalar(Value value) {
  return {CallArgument::Scalar, 0, {}, {value}};
}
static CallArgument dtype(Type type) {
  return int32(getRuntimeType(type).value_or(-1));
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

LogicalResult AxisOffsetOp::verify() {
  bool positive = llvm::all_of(getDigits(), [](int64_t d) { return d >= 1; });
  if (getDigits().size() % 2 || !positive)
    return emitOpError("(C1) expects pairs of a stride and a size but got ")
           << getDigitsAttr();
  return success();
}

LogicalResult CallCopyOp::verify() {
  size_t rank = getSizes().size();
  if (getSourceStrides().size() != rank || getTargetStrides().size() != rank ||
      rank > 8)
    return emitOpError("(C1) expects as many strides as sizes, at most 8, but "
                       "got ")
           << getSourceStrides().size() << " and " << getTargetStrides().size()
           << " for " << rank;
  if (getDim() && *getDim() >= rank)
    return emitOpError("(C2) expects one of ")
           << rank << " dimensions but got " << *getDim();
  return success();
}

LogicalResult LaunchDeviceOp::verify() {
  auto isWithin = [&](const char *what, int64_t value, int64_t least,
                      int64_t most) -> LogicalResult {
    if (value >= least && value <= most)
      return success();
    return emitOpError("(C2) expects a ")
           << what << " of " << least << " to " << most << " but got " << value;
  };
  return success(
      succeeded(isWithin("grid", getGrid(), 1, (int64_t(1) << 31) - 1)) &&
      succeeded(isWithin("block", getBlock(), 1, 1024)) &&
      succeeded(isWithin("shared memory", getShared(), 0, 48 * 1024)));
}

LogicalResult CallMatmulOp::verify() {
  if (getOffsets().size() != 3)
    return emitOpError("(C1) expects three offsets but got ")
           << getOffsets().size();
  return success();
}

LogicalResult CallScaledMatmulOp::verify() {
  if (getElements().size() != 3 || getOffsets().size() != 5)
    return emitOpError("(C1) expects three types and five offsets but got ")
           << getElements().size() << " and " << getOffsets().size();
  return success();
}

LogicalResult CallMatmulFusedOp::verify() {
  if (getOffsets().size() != 3)
    return emitOpError("(C1) expects three offsets but got ")
           << getOffsets().size();
  if (getBias().has_value() != getBiasElement().has_value())
    return emitOpError("(C2) expects a bias with its type but got ")
           << (getBias() ? "no type" : "no bias");
  return success();
}

/// `numOffsets` and its last one, which is optional where `isLastOptional`.
template <typename Op>
static LogicalResult verifyAttentionCall(Op op, size_t numOffsets,
                                         bool isLastOptional) {
  size_t offsets = op.getOffsets().size();
  bool fits =
      offsets == numOffsets || (isLastOptional && offsets + 1 == numOffsets);
  if (op.getSizes().size() != 7 || !fits)
    return op.emitOpError("(C1) expects seven sizes and ")
           << numOffsets << " offsets"
           << (isLastOptional ? ", or one less," : "") << " but got "
           << op.getSizes().size() << " and " << offsets;
  if (op.getPositionOffsets().size() % 2 || op.getPositionOffsets().size() > 2)
    return op.emitOpError("(C2) expects two position offsets or none but got ")
           << op.getPositionOffsets().size();
  return success();
}

LogicalResult CallAttentionOp::verify() {
  return verifyAttentionCall(*this, 5, /*isLastOptional=*/true);
}

LogicalResult CallAttentionBackwardOp::verify() {
  return verifyAttentionCall(*this, 9, /*isLastOptional=*/false);
}

LogicalResult CallEmbeddingBackwardOp::verify() {
  if (getSizes().size() != 3 || getOffsets().size() != 3)
    return emitOpError("(C1) expects three sizes and three offsets but got ")
           << getSizes().size() << " and " << getOffsets().size();
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels and library calls
//===----------------------------------------------------------------------===//

StringRef LaunchOp::getCallee() { return "tessera_rt_launch"; }
Arguments LaunchOp::getCallArguments() {
  CallArgument words{CallArgument::Words, 0,
                     SmallVector<int64_t>(getOffsets())};
  words.scalars.assign(getScalars().begin(), getScalars().end());
  int64_t count = getOffsets().size() + getScalars().size();
  CallArgument function{CallArgument::Function};
  function.symbol = getKernel();
  return {function, words, int32(count), int64(getRows()), int64(getGrain())};
}

StringRef LaunchDeviceOp::getCallee() { return "tessera_rt_launch_device"; }
Arguments LaunchDeviceOp::getCallArguments() {
  CallArgument words{CallArgument::Words, 0,
                     SmallVector<int64_t>(getOffsets())};
  words.scalars.assign(getScalars().begin(), getScalars().end());
  int64_t count = getOffsets().size() + getScalars().size();
  return {int32(getNumber()), words,
          int32(count),       int64(getGrid()),
          int32(getBlock()),  int32(getShared())};
}

StringRef CallCopyOp::getCallee() { return "tessera_rt_copy"; }
Arguments CallCopyOp::getCallArguments() {
  int64_t rank = getSizes().size();
  CallArgument starts = null();
  if (getStart())
    starts = {CallArgument::Starts, int64_t(*getDim()), {rank}, {getStart()}};
  return {int64(getElementSize()),
          int32(rank),
          array(getSizes()),
          int64(getSource()),
          array(getSourceStrides()),
          getInTarget() ? null() : starts,
          int64(getTarget()),
          array(getTargetStrides()),
          getInTarget() ? starts : null()};
}

StringRef CallFillOp::getCallee() { return "tessera_rt_fill"; }
Arguments CallFillOp::getCallArguments() {
  return {int64(getElementSize()), int64(getTarget()), int64(getCount()),
          int64(getBits())};
}

StringRef ReadFlagOp::getCallee() { return "tessera_rt_read_flag"; }
Arguments ReadFlagOp::getCallArguments() {
  return {int64(getOffset()), {CallArgument::Result}};
}

StringRef BlockBeginOp::getCallee() { return "tessera_rt_block_begin"; }
Arguments BlockBeginOp::getCallArguments() {
  return {int64(getOffset()), int64(getBytes()), int32(getForget())};
}

StringRef BlockEndOp::getCallee() { return "tessera_rt_block_end"; }
Arguments BlockEndOp::getCallArguments() {
  return {int64(getOffset()), int64(getBytes()), int32(getForget())};
}

/// The words of tessera_rt_matmul_desc.
static CallArgument describeMatmul(MatmulLayoutAttr l, Type element,
                                   Type resultElement, bool accumulate) {
  return array({getRuntimeType(element).value_or(-1),
                getRuntimeType(resultElement).value_or(-1), l.getBatch(),
                l.getM(), l.getN(), l.getK(), l.getLda(), l.getLdb(),
                l.getLdc(), l.getStrideA(), l.getStrideB(), l.getStrideC(),
                l.getTransA(), l.getTransB(), accumulate});
}

StringRef CallScaledMatmulOp::getCallee() { return "tessera_rt_scaled_matmul"; }
Arguments CallScaledMatmulOp::getCallArguments() {
  SmallVector<Type> types(getElements().getAsValueRange<TypeAttr>());
  Arguments arguments{
      describeMatmul(getLayout(), types[0], types[2], getAccumulate()),
      int64(getRuntimeType(types[1]).value_or(-1))};
  for (int64_t offset : getOffsets())
    arguments.push_back(address(offset));
  return arguments;
}

StringRef CallMatmulOp::getCallee() { return "tessera_rt_matmul"; }
Arguments CallMatmulOp::getCallArguments() {
  return {describeMatmul(getLayout(), getElement(), getResultElement(),
                         getAccumulate()),
          address(getOffsets()[0]),
          address(getOffsets()[1]),
          address(getOffsets()[2]),
          null(),
          null()};
}

StringRef CallMatmulFusedOp::getCallee() { return "tessera_rt_matmul_fused"; }
Arguments CallMatmulFusedOp::getCallArguments() {
  auto place = [](std::optional<uint64_t> offset) {
    return offset ? address(int64_t(*offset)) : null();
  };
  // Rows of GELU's argument follow each other.
  return {describeMatmul(getLayout(), getElement(), getResultElement(),
                         getAddend().has_value()),
          array({int64_t(getKind()),
                 getRuntimeType(getBiasElement().value_or(getResultElement()))
                     .value_or(-1),
                 getLayout().getN()}),
          address(getOffsets()[0]),
          address(getOffsets()[1]),
          place(getAddend()),
          address(getOffsets()[2]),
          place(getBias()),
          place(getAux())};
}

/// Descriptor and addresses of a call of attention.
template <typename Op> static Arguments attentionArguments(Op op) {
  SmallVector<int64_t> desc{getRuntimeType(op.getElement()).value_or(-1)};
  llvm::append_range(desc, op.getSizes());
  desc.push_back(op.getCausal());
  desc.push_back(llvm::bit_cast<int64_t>(op.getScale().convertToDouble()));
  desc.push_back(op.getKeySize().value_or(0));
  Arguments arguments{array(desc)};
  for (int64_t offset : op.getOffsets())
    arguments.push_back(address(offset));
  return arguments;
}

static void addPositions(Arguments &arguments, ValueRange positions) {
  for (Value offset : positions)
    arguments.push_back(scalar(offset));
  if (positions.empty())
    arguments.append({int64(0), int64(0)});
}

StringRef CallAttentionOp::getCallee() { return "tessera_rt_attention"; }
Arguments CallAttentionOp::getCallArguments() {
  Arguments arguments = attentionArguments(*this);
  if (getOffsets().size() == 4)
    arguments.push_back(null());
  addPositions(arguments, getPositionOffsets());
  return arguments;
}

StringRef CallAttentionBackwardOp::getCallee() {
  return "tessera_rt_attention_backward";
}
Arguments CallAttentionBackwardOp::getCallArguments() {
  Arguments arguments = attentionArguments(*this);
  addPositions(arguments, getPositionOffsets());
  return arguments;
}

StringRef CallEmbeddingBackwardOp::getCallee() {
  return "tessera_rt_embedding_backward";
}
Arguments CallEmbeddingBackwardOp::getCallArguments() {
  SmallVector<int64_t> desc;
  for (Type type : {getElement(), getResultElement(), getIdElement()})
    desc.push_back(getRuntimeType(type).value_or(-1));
  llvm::append_range(desc, getSizes());
  desc.push_back(getAccumulate());
  Arguments arguments{array(desc)};
  for (int64_t offset : getOffsets())
    arguments.push_back(address(offset));
  arguments.push_back(getIdOffset() ? scalar(getIdOffset()) : int64(0));
  return arguments;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// slot, sequence_id, axes, num_axes, dtype: what every collective begins with,
/// followed by `rest`.
template <typename Op>
static Arguments collective(Op op, ArrayRef<CallArgument> rest) {
  Arguments arguments{int32(op.getSlot()), int64(op.getSequence()),
                      array(op.getDigits()), int32(op.getDigits().size() / 2),
                      dtype(op.getElement())};
  llvm::append_range(arguments, rest);
  return arguments;
}

StringRef AllGatherStartOp::getCallee() {
  return "tessera_rt_all_gather_start";
}
Arguments AllGatherStartOp::getCallArguments() {
  return collective(*this, {int64(getOuter()), int64(getInner()),
                            int64(getSource()), int64(getTarget())});
}

StringRef ReduceScatterStartOp::getCallee() {
  return "tessera_rt_reduce_scatter_start";
}
Arguments ReduceScatterStartOp::getCallArguments() {
  return collective(*this, {int32(getReduction()), int64(getOuter()),
                            int64(getInner()), int64(getSource()),
                            int64(getTarget())});
}

StringRef AllReduceStartOp::getCallee() {
  return "tessera_rt_all_reduce_start";
}
Arguments AllReduceStartOp::getCallArguments() {
  return collective(*this, {int32(getReduction()), int64(getCount()),
                            int64(getSource()), int64(getTarget())});
}

StringRef AllToAllStartOp::getCallee() { return "tessera_rt_all_to_all_start"; }
Arguments AllToAllStartOp::getCallArguments() {
  return collective(*this, {int32(getShape().size()), array(getShape()),
                            int32(getSplitDim()), int32(getConcatDim()),
                            int64(getSource()), int64(getTarget())});
}

StringRef PermuteStartOp::getCallee() { return "tessera_rt_permute_start"; }
Arguments PermuteStartOp::getCallArguments() {
  return collective(*this, {array(getPairs()), int32(getPairs().size() / 2),
                            int64(getCount()), int64(getSource()),
                            int64(getTarget())});
}

StringRef BroadcastStartOp::getCallee() { return "tessera_rt_broadcast_start"; }
Arguments BroadcastStartOp::getCallArguments() {
  return collective(*this, {int64(getRoot()), int64(getCount()),
                            int64(getSource()), int64(getTarget())});
}

StringRef SendStartOp::getCallee() { return "tessera_rt_send_start"; }
Arguments SendStartOp::getCallArguments() {
  return collective(*this, {int64(getPeer()), int64(getTag()),
                            int64(getCount()), int64(getSource())});
}

StringRef RecvStartOp::getCallee() { return "tessera_rt_recv_start"; }
Arguments RecvStartOp::getCallArguments() {
  return collective(*this, {int64(getPeer()), int64(getTag()),
                            int64(getCount()), int64(getTarget())});
}

StringRef WaitOp::getCallee() { return "tessera_rt_wait"; }
Arguments WaitOp::getCallArguments() { return {int32(getSlot())}; }
