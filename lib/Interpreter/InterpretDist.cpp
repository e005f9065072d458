//===- InterpretDist.cpp - dist ops on all ranks --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collectives in the local form act within the groups of ranks along their
// axes. On global types, on one rank, ops that only move a value or determine
// its location are the identity.
//
//===----------------------------------------------------------------------===//

#include "Interpretation.h"
#include "tessera/Interpreter/Shards.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::interp;

void interp::forEachGroup(const Mesh &mesh, ArrayRef<AxisRef> axes,
                          llvm::function_ref<void(ArrayRef<int64_t>)> fn) {
  for (int64_t device = 0, n = mesh.numDevices(); device < n; ++device)
    if (mesh.shardIndex(device, axes) == 0)
      fn(mesh.group(device, axes));
}

static TensorRef share(Tensor tensor) {
  return std::make_shared<const Tensor>(std::move(tensor));
}

/// Returns chunk `index` of `count` equal ones along a dimension.
static TensorRef chunkOf(const TensorRef &tensor, int64_t dim, int64_t count,
                         int64_t index) {
  if (count == 1)
    return tensor;
  SmallVector<int64_t> offsets(tensor->getRank(), 0);
  SmallVector<int64_t> sizes(tensor->getShape());
  sizes[dim] /= count;
  offsets[dim] = index * sizes[dim];
  return share(tensor->slice(offsets, sizes));
}

static TensorRef concatenate(ArrayRef<TensorRef> tensors, int64_t dim) {
  SmallVector<int64_t> shape(tensors[0]->getShape());
  int64_t size = shape[dim];
  shape[dim] *= tensors.size();
  Tensor result(tensors[0]->getElementType(), shape);
  SmallVector<int64_t> offsets(shape.size(), 0);
  for (const TensorRef &tensor : tensors) {
    result.insert(*tensor, offsets);
    offsets[dim] += size;
  }
  return share(std::move(result));
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// The operands and results of a group's members, both in the order of the
/// group.
using Inputs = ArrayRef<TensorRef>;
using Outputs = MutableArrayRef<TensorRef>;

static void compute(dist::AllGatherOp op, Inputs in, Outputs out) {
  llvm::fill(out, concatenate(in, op.getDim()));
}

static void compute(dist::ReduceScatterOp op, Inputs in, Outputs out) {
  TensorRef sum = share(reduceTensors(in, toPlain(op.getKind())));
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = chunkOf(sum, op.getDim(), out.size(), i);
}

static void compute(dist::AllReduceOp op, Inputs in, Outputs out) {
  llvm::fill(out, share(reduceTensors(in, toPlain(op.getKind()))));
}

static void compute(dist::AllToAllOp op, Inputs in, Outputs out) {
  for (size_t i = 0; i < out.size(); ++i) {
    SmallVector<TensorRef> received;
    for (const TensorRef &tensor : in)
      received.push_back(chunkOf(tensor, op.getSplitDim(), in.size(), i));
    out[i] = concatenate(received, op.getGatherDim());
  }
}

static void compute(dist::CollectivePermuteOp op, Inputs in, Outputs out) {
  for (auto [i, target] : llvm::enumerate(op.getTargets()))
    out[target] = in[i];
}

static void compute(dist::AllSliceOp op, Inputs in, Outputs out) {
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = chunkOf(in[i], op.getDim(), out.size(), i);
}

static void compute(dist::BroadcastOp op, Inputs in, Outputs out) {
  llvm::fill(out, in[op.getRoot()]);
}

/// Runs a collective on all ranks. Groups whose members hold the same operands
/// share their results.
template <typename Op>
static LogicalResult runCollective(Op op, Interpretation &m) {
  if (op.getFromAttr()) {
    if (m.getNumRanks() != 1)
      return op.emitOpError("expects a collective in the local form on ")
             << m.getNumRanks() << " ranks but got one on global types";
    m.set(op.getResult(), m.get(op.getInput()));
    return success();
  }
  FailureOr<Mesh> mesh = m.getMesh(op, op.getMeshAttr());
  if (failed(mesh))
    return failure();
  AxisList axes = op.getAxes().toAxes(*mesh);
  m.count(op, numShards(axes));
  RankTensors input = m.get(op.getInput()), result(m.getNumRanks());
  std::map<std::vector<const Tensor *>, std::vector<TensorRef>> done;
  forEachGroup(*mesh, axes, [&](ArrayRef<int64_t> members) {
    std::vector<const Tensor *> key;
    SmallVector<TensorRef> in;
    for (int64_t rank : members) {
      key.push_back(input[rank].get());
      in.push_back(input[rank]);
    }
    std::vector<TensorRef> &out = done[key];
    if (out.empty()) {
      out.resize(members.size());
      compute(op, in, out);
    }
    for (auto [rank, tensor] : llvm::zip_equal(members, out))
      result[rank] = tensor;
  });
  m.set(op.getResult(), std::move(result));
  return success();
}

/// Marks the tokens that have an id of the `experts` from `first` on.
static llvm::SmallBitVector findTokens(const Tensor &ids, int64_t first,
                                       int64_t experts) {
  int64_t choices = ids.getShape().back();
  llvm::SmallBitVector found(choices ? ids.getNumElements() / choices : 0);
  for (int64_t i = 0; i < ids.getNumElements(); ++i)
    if (ids[i].i >= first && ids[i].i < first + experts)
      found.set(i / choices);
  return found;
}

/// Returns values by token with the rows of other tokens than `kept` filled.
static TensorRef keepTokens(const TensorRef &values,
                            const llvm::SmallBitVector &kept, Cell fill) {
  Tensor result = *values;
  int64_t width = values->getShape().back();
  for (int64_t i = 0; i < values->getNumElements(); ++i)
    if (!kept.test(i / width))
      result[i] = fill;
  return share(std::move(result));
}

/// Runs a collective of tokens on all ranks. `compute` returns the result of
/// the member with an index of a group; `keep` leaves in a tensor the rows of
/// tokens of its ids that go to a rank.
template <typename Op>
static LogicalResult runTokens(
    Op op, Interpretation &m,
    llvm::function_ref<TensorRef(
        ArrayRef<int64_t> members, size_t index,
        llvm::function_ref<TensorRef(const TensorRef &, int64_t, Cell)> keep)>
        compute) {
  FailureOr<Mesh> mesh = m.getMesh(op, op.getMeshAttr());
  if (failed(mesh))
    return failure();
  AxisList axes = op.getAxes().toAxes(*mesh), at = op.getAt().toAxes(*mesh);
  m.count(op, numShards(axes));
  RankTensors result(m.getNumRanks());
  const RankTensors &ids = m.get(op.getIds());
  auto experts = static_cast<int64_t>(op.getExperts());
  forEachGroup(*mesh, axes, [&](ArrayRef<int64_t> members) {
    for (auto [index, rank] : llvm::enumerate(members))
      result[rank] = compute(
          members, index,
          [&, rank = rank](const TensorRef &values, int64_t to, Cell fill) {
            int64_t first = mesh->shardIndex(to, at) * experts;
            return keepTokens(values, findTokens(*ids[rank], first, experts),
                              fill);
          });
  });
  m.set(op.getResult(), std::move(result));
  return success();
}

/// Undefined rows are NaN, so that an op that reads one is found.
static LogicalResult runDispatch(dist::DispatchOp op, Interpretation &m) {
  RankTensors input = m.get(op.getInput());
  return runTokens(op, m,
                   [&](ArrayRef<int64_t> members, size_t index, auto keep) {
                     SmallVector<TensorRef> in;
                     for (int64_t rank : members)
                       in.push_back(input[rank]);
                     return keep(concatenate(in, op.getDim()), members[index],
                                 floatCell(std::nan("")));
                   });
}

static LogicalResult runCombine(dist::CombineOp op, Interpretation &m) {
  RankTensors input = m.get(op.getInput());
  return runTokens(
      op, m, [&](ArrayRef<int64_t> members, size_t index, auto keep) {
        SmallVector<TensorRef> parts;
        for (int64_t sender : members)
          parts.push_back(
              keep(chunkOf(input[sender], op.getDim(), members.size(), index),
                   sender, floatCell(0)));
        return share(reduceTensors(parts, ReductionKind::Sum));
      });
}

//===----------------------------------------------------------------------===//
// Point to point
//===----------------------------------------------------------------------===//

/// Calls `fn(sender, receiver)` for each pair that a transfer connects.
template <typename Op, typename Fn>
static LogicalResult forEachPair(Op op, Interpretation &m, Fn &&fn) {
  FailureOr<Mesh> mesh = m.getMesh(op, op.getMeshAttr());
  if (failed(mesh))
    return failure();
  AxisRef axis = mesh->fullAxis(*mesh->find(op.getAxis()));
  LogicalResult result = success();
  forEachGroup(*mesh, axis, [&](ArrayRef<int64_t> members) {
    if (succeeded(result))
      result = fn(members[op.getFrom()], members[op.getTo()]);
  });
  return result;
}

template <typename Op>
static Interpretation::MessageKey messageKeyOf(Op op, int64_t rank) {
  return {op.getAxis().str(), static_cast<int64_t>(op.getFrom()),
          static_cast<int64_t>(op.getTo()), static_cast<int64_t>(op.getTag()),
          rank};
}

static LogicalResult runSend(dist::SendOp op, Interpretation &m) {
  const RankTensors &input = m.get(op.getInput());
  return forEachPair(op, m, [&](int64_t sender, int64_t receiver) {
    m.mail[messageKeyOf(op, receiver)].push_back(input[sender]);
    return success();
  });
}

static LogicalResult runRecv(dist::RecvOp op, Interpretation &m) {
  auto zero = std::make_shared<const Tensor>(op.getResult().getType());
  RankTensors result(m.getNumRanks(), zero);
  auto receive = [&](int64_t sender, int64_t receiver) -> LogicalResult {
    std::deque<TensorRef> &pending = m.mail[messageKeyOf(op, receiver)];
    if (pending.empty())
      return op.emitOpError("expects a dist.send along \"")
             << op.getAxis() << "\" " << op.getFrom() << " to " << op.getTo()
             << " tag " << op.getTag() << " before it";
    TensorRef tensor = pending.front();
    if (tensor->getShape() != zero->getShape() ||
        !(tensor->getElementType() == zero->getElementType()))
      return op.emitOpError("expects to receive ")
             << op.getResult().getType() << " but got shape ["
             << tensor->getShape() << "] of "
             << tensor->getElementType().getType();
    pending.pop_front();
    result[receiver] = tensor;
    return success();
  };
  if (failed(forEachPair(op, m, receive)))
    return failure();
  m.set(op.getResult(), std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// Start and wait, buckets, offsets, partial values, identities
//===----------------------------------------------------------------------===//

static LogicalResult runStart(dist::StartOp op, Interpretation &m) {
  std::vector<RankTensors> inputs, yielded;
  for (Value input : op.getInputs())
    inputs.push_back(m.get(input));
  if (failed(m.runBlock(op.getBody().front(), std::move(inputs), yielded)))
    return failure();
  m.set(op.getFuture(), std::move(yielded.front()));
  return success();
}

static LogicalResult runWait(dist::WaitOp op, Interpretation &m) {
  m.set(op.getResult(), m.get(op.getFuture()));
  return success();
}

/// Runs the op's region on all ranks.
template <typename Op>
static LogicalResult runRegion(Op op, Interpretation &m) {
  std::vector<RankTensors> inputs, yielded;
  for (Value input : op.getInputs())
    inputs.push_back(m.get(input));
  if (failed(m.runBlock(op.getBody().front(), std::move(inputs), yielded)))
    return failure();
  for (auto [result, tensors] : llvm::zip_equal(op.getResults(), yielded))
    m.set(result, std::move(tensors));
  return success();
}

static LogicalResult runAssemble(dist::AssembleOp op, Interpretation &m) {
  FailureOr<Mesh> mesh = m.getMesh(op, op.getMeshAttr());
  if (failed(mesh))
    return failure();
  AxisList axes = op.getAxes().toAxes(*mesh);
  int64_t members = numShards(axes);
  RankTensors result;
  for (int64_t rank = 0; rank < m.getNumRanks(); ++rank) {
    int64_t here = mesh->shardIndex(rank, axes);
    SmallVector<TensorRef> chunks(members);
    for (auto [step, chunk] : llvm::enumerate(op.getChunks()))
      chunks[(here + step) % members] = m.get(chunk)[rank];
    result.push_back(concatenate(chunks, op.getDim()));
  }
  m.set(op.getResult(), std::move(result));
  return success();
}

static LogicalResult runAxisOffset(dist::AxisOffsetOp op, Interpretation &m) {
  FailureOr<Mesh> mesh = m.getMesh(op, op.getMeshAttr());
  if (failed(mesh))
    return failure();
  AxisList axes = op.getAxes().toAxes(*mesh);
  std::vector<TensorRef> byShard(numShards(axes));
  for (auto [i, tensor] : llvm::enumerate(byShard)) {
    Tensor offset(op.getType());
    offset[0] = intCell(i * static_cast<int64_t>(op.getLocalSize()));
    tensor = share(std::move(offset));
  }
  RankTensors result;
  for (int64_t rank = 0; rank < m.getNumRanks(); ++rank)
    result.push_back(byShard[mesh->shardIndex(rank, axes)]);
  m.set(op.getResult(), std::move(result));
  return success();
}

static LogicalResult runToPartial(dist::ToPartialOp op, Interpretation &m) {
  RankTensors result = m.get(op.getInput());
  // In a global program, partial and whole values are the same.
  if (m.getNumRanks() > 1) {
    FailureOr<Mesh> mesh = m.getMesh(op, op.getMeshAttr());
    if (failed(mesh))
      return failure();
    AxisList axes = op.getAxes().toAxes(*mesh);
    Tensor neutral(op.getType());
    neutral.fill(
        neutralElement(neutral.getElementType(), toPlain(op.getKind())));
    TensorRef shared = share(std::move(neutral));
    for (int64_t rank = 0; rank < m.getNumRanks(); ++rank)
      if (mesh->shardIndex(rank, axes) != 0)
        result[rank] = shared;
  }
  m.set(op.getResult(), std::move(result));
  return success();
}

/// constraint and reshard only determine the location of a global value.
template <typename Op>
static LogicalResult runIdentity(Op op, Interpretation &m) {
  if (m.getNumRanks() != 1)
    return op.emitOpError(
               "expects one rank, which holds global values, but got ")
           << m.getNumRanks();
  m.set(op.getResult(), m.get(op.getInput()));
  return success();
}

static LogicalResult runGroup(dist::GroupOp, Interpretation &) {
  return success();
}

void interp::addDistHandlers(Registry &r) {
  r.addRank<dist::AllGatherOp, runCollective>();
  r.addRank<dist::AllReduceOp, runCollective>();
  r.addRank<dist::AllToAllOp, runCollective>();
  r.addRank<dist::BroadcastOp, runCollective>();
  r.addRank<dist::CollectivePermuteOp, runCollective>();
  r.addRank<dist::ReduceScatterOp, runCollective>();
  r.addRank<dist::AllSliceOp, runCollective>();
  r.addRank<dist::DispatchOp, runDispatch>();
  r.addRank<dist::CombineOp, runCombine>();
  r.addRank<dist::SendOp, runSend>();
  r.addRank<dist::RecvOp, runRecv>();
  r.addRank<dist::StartOp, runStart>();
  r.addRank<dist::WaitOp, runWait>();
  r.addRank<dist::BucketOp, runRegion>();
  r.addRank<dist::CollectiveMatmulOp, runRegion>();
  r.addRank<dist::RingAttentionOp, runRegion>();
  r.addRank<dist::AssembleOp, runAssemble>();
  r.addRank<dist::AxisOffsetOp, runAxisOffset>();
  r.addRank<dist::ToPartialOp, runToPartial>();
  r.addRank<dist::ConstraintOp, runIdentity>();
  r.addRank<dist::ReshardOp, runIdentity>();
  r.addRank<dist::GroupOp, runGroup>();
}
