//===- CallNames.cpp - The names of a step's ops in messages --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallNames.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tessera;
using rt::RTDialect;

/// Returns the only tensor among an op's operands; null if there are several.
/// For a wait it is the collective's source.
static Value getOnlyTensor(Operation *op) {
  if (auto wait = dyn_cast<dist::WaitOp>(op))
    op = wait.getFuture().getDefiningOp();
  Value only;
  for (Value operand : op->getOperands()) {
    if (!isa<RankedTensorType>(operand.getType()))
      continue;
    if (only)
      return {};
    only = operand;
  }
  return only;
}

/// Returns the value of which `value` is a view.
static Value skipViews(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

static int64_t countElements(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

/// Returns the tensor of a bucket that `copy` takes from the result of the
/// bucket's collective; null if it copies from something else. A scatter
/// divides each tensor of the bucket by the size of the group, and the first
/// part of a gather has all of them.
static Value findInBucket(rt::CopyOp copy) {
  Value result = skipViews(copy.getSource());
  auto wait = result.getDefiningOp<dist::WaitOp>();
  if (!wait)
    return {};
  auto start = wait.getFuture().getDefiningOp<dist::StartOp>();
  if (start.getInputs().size() != 1)
    return {};
  auto bucket =
      skipViews(start.getInputs().front()).getDefiningOp<rt::ConcatOp>();
  if (!bucket)
    return {};
  int64_t parts = countElements(bucket.getResult()) /
                  std::max<int64_t>(1, countElements(result));
  int64_t end = 0;
  for (Value tensor : bucket.getSources()) {
    end += countElements(tensor) / std::max<int64_t>(1, parts);
    if (int64_t(copy.getBase()) < end)
      return tensor;
  }
  return {};
}

/// Returns the only tensor from which an op's result comes; null if there are
/// several, or if a kernel makes fewer or more elements of it.
static Value getSource(Operation *op) {
  if (auto copy = dyn_cast<rt::CopyOp>(op))
    if (Value tensor = findInBucket(copy))
      return tensor;
  Value only = getOnlyTensor(op);
  bool isOther = only && isa<rt::KernelOp>(op) &&
                 (op->getNumResults() != 1 ||
                  countElements(op->getResult(0)) != countElements(only));
  return isOther ? Value() : only;
}

//===----------------------------------------------------------------------===//
// Parameters and gradients
//===----------------------------------------------------------------------===//

/// Finds the ops that write results which replace parameters and state.
void CallNames::findUpdates() {
  Operation *end = func.front().getTerminator();
  for (BlockArgument argument : func.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto name = func.getArgAttrOfType<StringAttr>(i, kParameterAttr);
    if (name)
      parameters[argument] = name.getValue();
    else
      name = func.getArgAttrOfType<StringAttr>(i, nn::NNDialect::kOfAttr);
    auto result =
        func.getArgAttrOfType<IntegerAttr>(i, dist::DistDialect::kDonateAttr);
    if (!name || !result)
      continue;
    isTraining = true;
    Value written = skipViews(end->getOperand(result.getInt()));
    if (Operation *op = written.getDefiningOp())
      updates.try_emplace(op, name.getValue());
  }
}

/// Passes the names of parameters on to what has their contents.
void CallNames::followParameters(Block &block) {
  for (Operation &op : block) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      followParameters(*loop.getBody());
    if (op.getNumResults() != 1 || isa<scf::ForOp, rt::PipelineOp>(op))
      continue;
    Value source = getSource(&op);
    if (auto it = parameters.find(source); source && it != parameters.end()) {
      StringRef name = it->second;
      parameters[op.getResult(0)] = name;
    }
  }
}

/// Passes the name of a gradient on to what it is computed from without other
/// tensors, or by an op in which only one operand has its shape.
void CallNames::followGradient(Operation *op, Value result, StringRef name) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    unsigned i = cast<OpResult>(result).getResultNumber();
    gradients.try_emplace(loop.getYieldedValues()[i], name);
    return;
  }
  if (Value source = getSource(op)) {
    gradients.try_emplace(source, name);
    return;
  }
  if (!isa<rt::KernelOp>(op))
    return;
  Value only;
  for (Value operand : op->getOperands())
    if (operand.getType() == result.getType()) {
      if (only)
        return;
      only = operand;
    }
  if (only)
    gradients.try_emplace(only, name);
}

void CallNames::followGradients(Block &block) {
  for (Operation &op : llvm::reverse(block)) {
    for (OpResult result : op.getResults())
      if (StringRef name = gradients.lookup(result); !name.empty())
        followGradient(&op, result, name);
    auto update = updates.find(&op);
    if (update != updates.end())
      for (OpResult result : op.getResults())
        for (Value operand : op.getOperands())
          if (!isa<BlockArgument>(skipViews(operand)) &&
              !parameters.count(operand) &&
              operand.getType() == result.getType())
            gradients.try_emplace(operand, update->second);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      followGradients(*loop.getBody());
  }
}

/// Returns the operands that a kernel computes this result from. A kernel for
/// several small values may compute the loss beside the scale of gradients.
static SmallVector<Value> getReadFor(OpResult result, SymbolTable &symbols) {
  auto kernel = cast<rt::KernelOp>(result.getOwner());
  func::FuncOp callee;
  if (kernel.getNumResults() > 1)
    callee = symbols.lookup<func::FuncOp>(kernel.getCallee());
  if (!callee || callee.isExternal())
    return llvm::to_vector_of<Value>(kernel->getOperands());
  SmallVector<Value> read, values{callee.front().getTerminator()->getOperand(
                               result.getResultNumber())};
  llvm::DenseSet<Value> seen;
  while (!values.empty()) {
    Value value = values.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    if (auto argument = dyn_cast<BlockArgument>(value);
        argument && argument.getOwner() == &callee.front())
      read.push_back(kernel->getOperand(argument.getArgNumber()));
    else if (isa_and_nonnull<rt::KernelOp>(op))
      llvm::append_range(values, getReadFor(cast<OpResult>(value), symbols));
    else if (op)
      op->walk([&](Operation *inner) {
        llvm::append_range(values, inner->getOperands());
      });
  }
  return read;
}

/// Marks the ops that the loss depends on.
void CallNames::findForward() {
  SmallVector<Value> values;
  Operation *end = func.front().getTerminator();
  for (OpOperand &operand : end->getOpOperands())
    if (auto name = func.getResultAttrOfType<StringAttr>(
            operand.getOperandNumber(), nn::NNDialect::kOutputAttr);
        name && name == "loss")
      values.push_back(operand.get());
  SymbolTable symbols(func->getParentOp());
  llvm::DenseSet<Value> seen;
  while (!values.empty()) {
    Value value = values.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    if (!op) {
      auto argument = cast<BlockArgument>(value);
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (OpOperand *init = loop ? loop.getTiedLoopInit(argument) : nullptr)
        values.push_back(init->get());
      continue;
    }
    forward.insert(op);
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      unsigned i = cast<OpResult>(value).getResultNumber();
      values.push_back(loop.getYieldedValues()[i]);
      continue;
    }
    if (auto copy = dyn_cast<rt::CopyOp>(op))
      if (Value tensor = findInBucket(copy)) {
        values.push_back(tensor);
        continue;
      }
    if (isa<rt::KernelOp>(op))
      llvm::append_range(values, getReadFor(cast<OpResult>(value), symbols));
    else
      llvm::append_range(values, op->getOperands());
  }
}

CallNames::CallNames(func::FuncOp step) : func(step) {
  findUpdates();
  followParameters(step.front());
  followGradients(step.front());
  findForward();
}

CallNames::CallNames(func::FuncOp task, rt::PipelineOp pipeline,
                     const CallNames &step)
    : func(task), isTraining(step.isTraining) {
  Operation *end = task.front().getTerminator();
  for (BlockArgument argument : task.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto place = task.getArgAttrOfType<rt::PlaceAttr>(i, RTDialect::kPlaceAttr);
    auto result =
        task.getArgAttrOfType<IntegerAttr>(i, dist::DistDialect::kDonateAttr);
    if (place && place.getKind() == rt::PlaceKind::Captured)
      parameters[argument] =
          step.parameters.lookup(pipeline.getCaptured()[place.getIndex()]);
    if (place && place.getKind() == rt::PlaceKind::Sum && result)
      gradients[end->getOperand(result.getInt())] =
          step.gradients.lookup(pipeline.getResults()[place.getIndex()]);
  }
  followParameters(task.front());
  followGradients(task.front());
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// "matmul", "kernel_3", "all_gather", "wait for all_gather".
static std::string describeKind(Operation *op) {
  if (auto kernel = dyn_cast<rt::KernelOp>(op))
    return kernel.getCallee().str();
  if (auto start = dyn_cast<dist::StartOp>(op))
    return describeKind(&start.getBody().front().front());
  if (auto wait = dyn_cast<dist::WaitOp>(op))
    return "wait for " + describeKind(wait.getFuture().getDefiningOp());
  return op->getName().stripDialect().str();
}

StringRef CallNames::getParameter(Operation *op) const {
  if (StringRef name = updates.lookup(op); !name.empty())
    return name;
  // Its list has ops of many parameters.
  if (isa<rt::PipelineOp>(op))
    return {};
  if (auto wait = dyn_cast<dist::WaitOp>(op))
    op = wait.getFuture().getDefiningOp();
  for (Value operand : op->getOperands())
    if (StringRef name = parameters.lookup(operand); !name.empty())
      return name;
  if (isa<dist::StartOp>(op))
    op = *op->getResult(0).getUsers().begin();
  for (Value result : op->getResults())
    if (StringRef name = gradients.lookup(result); !name.empty())
      return name;
  return {};
}

StringRef CallNames::getPass(Operation *op) const {
  if (!isTraining)
    return {};
  if (auto task = func->getAttrOfType<rt::TaskAttr>(RTDialect::kTaskAttr)) {
    // A function for a pair of tasks has ops of both passes.
    if (func->hasAttr(RTDialect::kBesideAttr))
      return {};
    return task.getKind() == TESSERA_RT_TASK_F ? "forward" : "backward";
  }
  if (isa<rt::PipelineOp>(op))
    return {};
  if (updates.count(op))
    return "update";
  if (isa<dist::StartOp>(op))
    op = *op->getResult(0).getUsers().begin();
  if (forward.empty())
    return {};
  return forward.contains(op) ? "forward" : "backward";
}

std::string CallNames::describe(Operation *op) const {
  std::string text = describeKind(op);
  if (StringRef name = getParameter(op); !name.empty())
    text += " " + name.str();
  if (StringRef pass = getPass(op); !pass.empty())
    text += ", " + pass.str();
  return text;
}
