//===- FuseProducers.cpp - Fuses producers into their consumers -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FuseProducers.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tessera;

namespace {

/// Fuses one producer into one consumer.
class Fusion {
public:
  Fusion(linalg::GenericOp consumer, unsigned number)
      : consumer(consumer), number(number),
        result(cast<OpResult>(consumer.getDpsInputs()[number])),
        producer(cast<linalg::GenericOp>(result.getOwner())) {}

  /// Returns false, without a change, if the fused op cannot be built. A
  /// producer without other users is erased, also from `changed`.
  bool run(llvm::SmallPtrSetImpl<Operation *> &changed) {
    if (!plan())
      return false;
    apply();
    if (producer->use_empty()) {
      changed.erase(producer);
      producer->erase();
    }
    return true;
  }

private:
  bool plan();
  void apply();
  unsigned addInput(Value value, AffineMap map);
  void replaceIndices(Operation *first, Operation *last);
  Value loopOf(OpBuilder &builder, Location loc, unsigned producerLoop);

  linalg::GenericOp consumer;
  unsigned number;
  OpResult result;
  linalg::GenericOp producer;
  /// Maps the consumer's loops to the producer's.
  AffineMap toProducer;
  /// The fused op's inputs, without duplicates, and their maps.
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  /// The input that each argument of the bodies reads; none if it is unused.
  SmallVector<std::optional<unsigned>> ofConsumer, ofProducer;
};

} // namespace

unsigned Fusion::addInput(Value value, AffineMap map) {
  for (auto [i, known] : llvm::enumerate(llvm::zip(inputs, maps)))
    if (known == std::tuple(value, map))
      return i;
  inputs.push_back(value);
  maps.push_back(map);
  return inputs.size() - 1;
}

/// Finds the inputs of the fused op.
bool Fusion::plan() {
  AffineMap produced = producer.getIndexingMapMatchingResult(result);
  if (!producer.hasPureTensorSemantics() ||
      !consumer.hasPureTensorSemantics() ||
      producer.getNumParallelLoops() != producer.getNumLoops() ||
      !produced.isPermutation())
    return false;
  OpOperand *fused = consumer.getDpsInputOperand(number);
  toProducer = inversePermutation(produced).compose(
      consumer.getMatchingIndexingMap(fused));
  for (OpOperand *input : consumer.getDpsInputOperands()) {
    if (input != fused) {
      ofConsumer.push_back(
          addInput(input->get(), consumer.getMatchingIndexingMap(input)));
      continue;
    }
    ofConsumer.push_back(std::nullopt);
    for (OpOperand &read : producer->getOpOperands())
      // An init that the body does not read is only memory.
      ofProducer.push_back(
          producer.isDpsInit(&read) &&
                  producer.getMatchingBlockArgument(&read).use_empty()
              ? std::nullopt
              : std::optional(addInput(
                    read.get(), producer.getMatchingIndexingMap(&read).compose(
                                    toProducer))));
  }
  size_t ops = consumer.getBody()->getOperations().size() +
               producer.getBody()->getOperations().size();
  if (inputs.size() > kMaxFusedInputs || ops > kMaxFusedOps)
    return false;
  for (OpOperand &init : consumer.getDpsInitsMutable())
    maps.push_back(consumer.getMatchingIndexingMap(&init));
  // The remaining maps must determine the sizes of all loops.
  return !consumer.getNumReductionLoops() ||
         inversePermutation(concatAffineMaps(maps, consumer.getContext()));
}

/// Returns one of the producer's loop indices in the consumer's body.
Value Fusion::loopOf(OpBuilder &builder, Location loc, unsigned producerLoop) {
  auto index = [&](unsigned loop) -> Value {
    return linalg::IndexOp::create(builder, loc, loop);
  };
  AffineExpr expr = toProducer.getResult(producerLoop);
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return index(dim.getPosition());
  SmallVector<Value> loops;
  for (unsigned i = 0; i < toProducer.getNumDims(); ++i)
    loops.push_back(index(i));
  return affine::AffineApplyOp::create(
      builder, loc, toProducer.getSubMap({producerLoop}), loops);
}

/// Replaces the producer's loop indices from `first` to before `last`.
void Fusion::replaceIndices(Operation *first, Operation *last) {
  for (Operation *op = first, *next; op != last; op = next) {
    next = op->getNextNode();
    auto index = dyn_cast<linalg::IndexOp>(op);
    if (!index)
      continue;
    OpBuilder builder(index);
    index.replaceAllUsesWith(
        loopOf(builder, index.getLoc(), unsigned(index.getDim())));
    index.erase();
  }
}

void Fusion::apply() {
  Block *body = consumer.getBody(), *moved = producer.getBody();
  Operation *first = &body->front();
  SmallVector<BlockArgument> arguments;
  for (auto [i, input] : llvm::enumerate(inputs))
    arguments.push_back(body->insertArgument(
        unsigned(i), getElementTypeOrSelf(input.getType()), input.getLoc()));
  IRMapping mapping;
  for (auto [argument, input] : llvm::zip(moved->getArguments(), ofProducer))
    if (input)
      mapping.map(argument, arguments[*input]);
  Value yielded = moved->getTerminator()->getOperand(result.getResultNumber());
  if (producer->hasOneUse()) {
    for (auto [argument, input] : llvm::zip(moved->getArguments(), ofProducer))
      if (input)
        argument.replaceAllUsesWith(arguments[*input]);
    body->getOperations().splice(Block::iterator(first), moved->getOperations(),
                                 moved->begin(),
                                 Block::iterator(moved->getTerminator()));
  } else {
    OpBuilder builder(first);
    for (Operation &op : moved->without_terminator())
      builder.clone(op, mapping);
  }
  yielded = mapping.lookupOrDefault(yielded);
  // A yielded value that is a loop index is replaced, too.
  body->getArgument(inputs.size() + number).replaceAllUsesWith(yielded);
  replaceIndices(&body->front(), first);
  for (auto [i, input] : llvm::enumerate(ofConsumer))
    if (input)
      body->getArgument(inputs.size() + i)
          .replaceAllUsesWith(arguments[*input]);
  body->eraseArguments(inputs.size(), ofConsumer.size());

  consumer.getInputsMutable().assign(inputs);
  consumer.setIndexingMapsAttr(OpBuilder(consumer).getAffineMapArrayAttr(maps));
}

SmallVector<Operation *>
tessera::fuseProducers(func::FuncOp func,
                       llvm::function_ref<bool(OpOperand *)> mayFuse) {
  SmallVector<linalg::GenericOp> consumers;
  func.walk([&](linalg::GenericOp op) { consumers.push_back(op); });
  llvm::SmallPtrSet<Operation *, 32> changed;
  for (linalg::GenericOp consumer : consumers)
    for (unsigned i = 0; i < unsigned(consumer.getNumDpsInputs());) {
      OpOperand *input = consumer.getDpsInputOperand(i);
      // The inputs that replace this one may be fused in turn.
      if (!mayFuse(input) || !Fusion(consumer, i).run(changed)) {
        ++i;
        continue;
      }
      changed.insert(consumer);
    }
  SmallVector<Operation *> remaining;
  for (linalg::GenericOp consumer : consumers)
    if (changed.contains(consumer.getOperation()))
      remaining.push_back(consumer);
  return remaining;
}
