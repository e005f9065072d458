//===- RTCallOps.cpp - The arguments of each call of the C ABI ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each op lists the arguments of one function of the runtime, in the order of
// its declaration.
//
//===----------------------------------------------------------------------===//

#include "CallArguments.h"
#include "mlir/IR/Builders.h"
#include "runtime/include/tessera_rt_cuda.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::rt;

using Arguments = CallArguments;

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

LogicalResult AxisOffsetOp::verify() {
  bool positive = llvm::all_of(getAxes(), [](int64_t d) { return d >= 1; });
  if (getAxes().size() % 2 || !positive)
    return emitOpError("(C1) expects pairs of a stride and a size but got ")
           << getAxesAttr();
  return success();
}

LogicalResult CallCopyOp::verify() {
  size_t rank = getSizes().size();
  if (getSourceStrides().size() != rank || getTargetStrides().size() != rank ||
      rank > TESSERA_RT_MAX_DIMS)
    return emitOpError("(C1) expects as many strides as sizes, at most ")
           << TESSERA_RT_MAX_DIMS << ", but got " << getSourceStrides().size()
           << " and " << getTargetStrides().size() << " for " << rank;
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
      succeeded(isWithin("grid", getGrid(), 1, TESSERA_RT_MAX_GRID)) &&
      succeeded(isWithin("block", getBlock(), 1, TESSERA_RT_MAX_BLOCK)) &&
      succeeded(isWithin("shared memory", getShared(), 0,
                         TESSERA_RT_MAX_SHARED_BYTES)));
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

/// Expects `numOffsets` offsets, or one fewer if `isLastOptional`.
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
  size_t strides = op.getBiasStrides().value_or(ArrayRef<int64_t>()).size();
  if (strides != (op.getBias() ? 4 : 0))
    return op.emitOpError("(C3) expects four strides with a bias and none "
                          "without but got ")
           << strides;
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
  if (getAccumulate() && getReplace())
    return emitOpError("(C2) expects accumulate or replace but got both");
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels and library calls
//===----------------------------------------------------------------------===//

StringRef LaunchOp::getCallee() { return "tessera_rt_launch"; }
Arguments LaunchOp::getCallArguments() {
  CallArgument packed{CallArgument::Packed, 0,
                      SmallVector<int64_t>(getOffsets())};
  packed.scalars.assign(getScalars().begin(), getScalars().end());
  int64_t count = getOffsets().size() + getScalars().size();
  CallArgument function{CallArgument::Function};
  function.symbol = getKernel();
  return {function, packed, int32(count), int64(getRows()), int64(getGrain())};
}

StringRef LaunchDeviceOp::getCallee() { return "tessera_rt_launch_device"; }
Arguments LaunchDeviceOp::getCallArguments() {
  CallArgument packed{CallArgument::Packed, 0,
                      SmallVector<int64_t>(getOffsets())};
  packed.scalars.assign(getScalars().begin(), getScalars().end());
  int64_t count = getOffsets().size() + getScalars().size();
  return {int32(getNumber()), packed,
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
          offset(getSource()),
          array(getSourceStrides()),
          getInTarget() ? null() : starts,
          offset(getTarget()),
          array(getTargetStrides()),
          getInTarget() ? starts : null()};
}

StringRef CallFillOp::getCallee() { return "tessera_rt_fill"; }
Arguments CallFillOp::getCallArguments() {
  return {int64(getElementSize()), offset(getTarget()), int64(getCount()),
          int64(getBits())};
}

StringRef ReadFlagOp::getCallee() { return "tessera_rt_read_flag"; }
Arguments ReadFlagOp::getCallArguments() {
  return {offset(getOffset()), {CallArgument::Result}};
}

StringRef StateFenceOp::getCallee() { return "tessera_rt_state_fence"; }
Arguments StateFenceOp::getCallArguments() { return {}; }

StringRef BlockBeginOp::getCallee() { return "tessera_rt_block_begin"; }
Arguments BlockBeginOp::getCallArguments() {
  return {offset(getOffset()), int64(getBytes()), int32(getForget())};
}

StringRef BlockEndOp::getCallee() { return "tessera_rt_block_end"; }
Arguments BlockEndOp::getCallArguments() {
  return {offset(getOffset()), int64(getBytes()), int32(getForget())};
}

static CallArgument describeMatmul(MatmulLayoutAttr l, Type element,
                                   Type resultElement, bool accumulate) {
  tessera_rt_matmul_desc desc = {};
  desc.dtype = getRuntimeType(element).value_or(-1);
  desc.c_dtype = getRuntimeType(resultElement).value_or(-1);
  desc.batch = l.getBatch();
  desc.m = l.getM();
  desc.n = l.getN();
  desc.k = l.getK();
  desc.lda = l.getLda();
  desc.ldb = l.getLdb();
  desc.ldc = l.getLdc();
  desc.stride_a = l.getStrideA();
  desc.stride_b = l.getStrideB();
  desc.stride_c = l.getStrideC();
  desc.trans_a = l.getTransA();
  desc.trans_b = l.getTransB();
  desc.accumulate = accumulate;
  return descriptor(desc);
}

StringRef CallScaledMatmulOp::getCallee() { return "tessera_rt_scaled_matmul"; }
Arguments CallScaledMatmulOp::getCallArguments() {
  SmallVector<Type> types(getElements().getAsValueRange<TypeAttr>());
  Arguments arguments{
      describeMatmul(getLayout(), types[0], types[2], getAccumulate()),
      int64(getRuntimeType(types[1]).value_or(-1))};
  addAddresses(arguments, getOffsets());
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

static int64_t getFusionKind(EpilogueKind kind) {
  switch (kind) {
  case EpilogueKind::None:
    return TESSERA_RT_FUSE_NONE;
  case EpilogueKind::Bias:
    return TESSERA_RT_FUSE_BIAS;
  case EpilogueKind::Gelu:
    return TESSERA_RT_FUSE_GELU;
  case EpilogueKind::GeluGradient:
    return TESSERA_RT_FUSE_GELU_GRADIENT;
  case EpilogueKind::LhsSums:
    return TESSERA_RT_FUSE_LHS_SUMS;
  case EpilogueKind::RhsSums:
    return TESSERA_RT_FUSE_RHS_SUMS;
  }
  llvm_unreachable("unknown kind");
}

StringRef CallMatmulFusedOp::getCallee() { return "tessera_rt_matmul_fused"; }
Arguments CallMatmulFusedOp::getCallArguments() {
  auto optionalOffset = [](std::optional<uint64_t> offset) {
    return offset ? address(int64_t(*offset)) : null();
  };
  tessera_rt_matmul_fusion fusion = {};
  fusion.kind = getFusionKind(getKind());
  fusion.bias_dtype =
      getRuntimeType(getBiasElement().value_or(getResultElement()))
          .value_or(-1);
  // Rows of GELU's argument are contiguous.
  fusion.aux_ld = getLayout().getN();
  return {describeMatmul(getLayout(), getElement(), getResultElement(),
                         getAddend().has_value()),
          descriptor(fusion),
          address(getOffsets()[0]),
          address(getOffsets()[1]),
          optionalOffset(getAddend()),
          address(getOffsets()[2]),
          optionalOffset(getBias()),
          optionalOffset(getAux())};
}

/// Descriptor and addresses of a call of attention.
template <typename Op> static Arguments attentionArguments(Op op) {
  ArrayRef<int64_t> sizes = op.getSizes();
  tessera_rt_attention_desc desc = {};
  desc.dtype = getRuntimeType(op.getElement()).value_or(-1);
  desc.result_dtype = getRuntimeType(op.getResultElement()).value_or(-1);
  desc.batch = sizes[0];
  desc.q_len = sizes[1];
  desc.kv_len = sizes[2];
  desc.groups = sizes[3];
  desc.per_group = sizes[4];
  desc.head_dim = sizes[5];
  desc.v_head_dim = sizes[6];
  desc.causal = op.getCausal();
  desc.scale_bits = llvm::bit_cast<int64_t>(op.getScale().convertToDouble());
  desc.key_size = op.getKeySize().value_or(0);
  desc.window = op.getWindow().value_or(0);
  desc.has_starts = op.getStarts().has_value();
  desc.has_bias = op.getBias().has_value();
  if (auto strides = op.getBiasStrides()) {
    desc.bias_batch = (*strides)[0];
    desc.bias_query = (*strides)[1];
    desc.bias_group = (*strides)[2];
    desc.bias_head = (*strides)[3];
  }
  if (op.getSoftcap())
    desc.softcap_bits =
        llvm::bit_cast<int64_t>(op.getSoftcap()->convertToDouble());
  Arguments arguments{descriptor(desc),
                      op.getStarts() ? address(*op.getStarts()) : null(),
                      op.getBias() ? address(*op.getBias()) : null()};
  addAddresses(arguments, op.getOffsets());
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
  tessera_rt_embedding_desc desc = {};
  desc.dtype = getRuntimeType(getElement()).value_or(-1);
  desc.result_dtype = getRuntimeType(getResultElement()).value_or(-1);
  desc.id_dtype = getRuntimeType(getIdElement()).value_or(-1);
  desc.positions = getSizes()[0];
  desc.rows = getSizes()[1];
  desc.width = getSizes()[2];
  desc.mode = getAccumulate() ? TESSERA_RT_ROWS_ADD
              : getReplace()  ? TESSERA_RT_ROWS_SET
                              : TESSERA_RT_ROWS_SUM;
  desc.limit = static_cast<int64_t>(getLimit().value_or(0));
  Arguments arguments{descriptor(desc)};
  addAddresses(arguments, getOffsets());
  arguments.push_back(getIdOffset() ? scalar(getIdOffset()) : int64(0));
  return arguments;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// Arguments of tessera_rt_start. `desc` has the fields of the op's kind; the
/// group, the type and the lengths of the lists are added here.
template <typename Op>
static Arguments start(Op op, tessera_rt_collective desc, CallArgument source,
                       CallArgument target, ArrayRef<int64_t> shape = {},
                       ArrayRef<int64_t> pairs = {}) {
  desc.dtype = getRuntimeType(op.getElement()).value_or(-1);
  desc.num_axes = op.getAxes().size() / 2;
  desc.num_dims = shape.size();
  desc.num_pairs = pairs.size() / 2;
  CallArgument described = descriptor(desc);
  for (ArrayRef<int64_t> list : {op.getAxes(), shape, pairs})
    llvm::append_range(described.array, list);
  return {int32(op.getSlot()), int64(op.getSequence()), described, source,
          target};
}

/// Returns a descriptor with only its kind.
static tessera_rt_collective describe(tessera_rt_collective_kind kind) {
  tessera_rt_collective desc = {};
  desc.kind = kind;
  return desc;
}

Arguments AllGatherStartOp::getCallArguments() {
  tessera_rt_collective desc = describe(TESSERA_RT_ALL_GATHER);
  desc.outer = getOuter();
  desc.count = getInner();
  return start(*this, desc, offset(getSource()), offset(getTarget()));
}

/// Returns the arguments of tessera_rt_start_tokens.
template <typename Op>
static Arguments startTokens(Op op, tessera_rt_collective_kind kind) {
  tessera_rt_collective desc = describe(kind);
  desc.outer = op.getOuter();
  desc.count = op.getInner();
  Arguments arguments =
      start(op, desc, offset(op.getSource()), offset(op.getTarget()));
  tessera_rt_tokens tokens = {};
  tokens.id_dtype = getRuntimeType(op.getIdElement()).value_or(-1);
  tokens.width = op.getWidth();
  tokens.choices = op.getChoices();
  tokens.experts = op.getExperts();
  tokens.num_axes = op.getAt().size() / 2;
  CallArgument described = descriptor(tokens);
  llvm::append_range(described.array, op.getAt());
  arguments.insert(arguments.begin() + 3, described);
  arguments.push_back(offset(op.getIds()));
  return arguments;
}

Arguments DispatchStartOp::getCallArguments() {
  return startTokens(*this, TESSERA_RT_DISPATCH);
}
Arguments CombineStartOp::getCallArguments() {
  return startTokens(*this, TESSERA_RT_COMBINE);
}

Arguments ReduceScatterStartOp::getCallArguments() {
  tessera_rt_collective desc = describe(TESSERA_RT_REDUCE_SCATTER);
  desc.reduction = getReduction();
  desc.outer = getOuter();
  desc.count = getInner();
  return start(*this, desc, offset(getSource()), offset(getTarget()));
}

Arguments AllReduceStartOp::getCallArguments() {
  tessera_rt_collective desc = describe(TESSERA_RT_ALL_REDUCE);
  desc.reduction = getReduction();
  desc.count = getCount();
  return start(*this, desc, offset(getSource()), offset(getTarget()));
}

Arguments AllToAllStartOp::getCallArguments() {
  tessera_rt_collective desc = describe(TESSERA_RT_ALL_TO_ALL);
  desc.split_dim = getSplitDim();
  desc.concat_dim = getConcatDim();
  return start(*this, desc, offset(getSource()), offset(getTarget()),
               getShape());
}

Arguments PermuteStartOp::getCallArguments() {
  tessera_rt_collective desc = describe(TESSERA_RT_PERMUTE);
  desc.count = getCount();
  return start(*this, desc, offset(getSource()), offset(getTarget()),
               /*shape=*/{}, getPairs());
}

Arguments BroadcastStartOp::getCallArguments() {
  tessera_rt_collective desc = describe(TESSERA_RT_BROADCAST);
  desc.member = getRoot();
  desc.count = getCount();
  return start(*this, desc, offset(getSource()), offset(getTarget()));
}

/// Describes a send or a receive.
template <typename Op>
static tessera_rt_collective describeTransfer(tessera_rt_collective_kind kind,
                                              Op op) {
  tessera_rt_collective desc = describe(kind);
  desc.member = op.getPeer();
  desc.tag = op.getTag();
  desc.count = op.getCount();
  return desc;
}

Arguments SendStartOp::getCallArguments() {
  return start(*this, describeTransfer(TESSERA_RT_SEND, *this),
               offset(getSource()), int64(0));
}

Arguments RecvStartOp::getCallArguments() {
  return start(*this, describeTransfer(TESSERA_RT_RECV, *this), int64(0),
               offset(getTarget()));
}

StringRef WaitOp::getCallee() { return "tessera_rt_wait"; }
Arguments WaitOp::getCallArguments() { return {int32(getSlot())}; }
