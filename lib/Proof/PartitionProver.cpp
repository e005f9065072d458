//===- PartitionProver.cpp - Follows blocks through a local function ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartitionProver.h"
#include "Meanings.h"
#include "ReplicatedOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tessera;

LogicalResult PartitionVerdict::report() const {
  if (answer == PartitionAnswer::Proven)
    return success();
  InFlightDiagnostic error =
      op->emitError("verify-partition: ")
      << (answer == PartitionAnswer::Refuted ? "deviates" : "not provable")
      << ": " << op->getName() << ": " << why;
  if (reference)
    error.attachNote(reference) << "the reference computes it here";
  return error;
}

bool PartitionProver::refute(Operation *op, const Twine &why) {
  // The op may belong to some other global program if none is given.
  if (!global)
    return giveUp(op, why + ", and there is no reference to compare with");
  if (matching.hasGuessed)
    return giveUp(op, why + ", and equal blocks before it may be numbered "
                            "otherwise");
  if (doubt)
    return giveUp(op, why);
  verdict.answer = PartitionAnswer::Refuted;
  verdict.op = op;
  verdict.why = why.str();
  return false;
}

/// Refutes `op`, which has value `got` instead of `needed`. Drops an earlier
/// doubt, unless `got` is a value that the reference lacks and that may equal
/// `needed`.
bool PartitionProver::refuteValue(Operation *op, const Twine &why, int got,
                                  int needed) {
  if (!foreign.contains(got)) {
    doubt.reset();
    return refute(op, why);
  }
  std::string difference = foreign.explainDifference(got, needed);
  if (difference.empty())
    return refute(op, why);
  doubt.reset();
  return refute(op, why + ": " + difference);
}

bool PartitionProver::giveUp(Operation *op, const Twine &why) {
  if (doubt) {
    verdict = *doubt;
    return false;
  }
  verdict.answer = PartitionAnswer::NotProvable;
  verdict.op = op;
  verdict.why = why.str();
  return false;
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

/// Stores the state of a value. A value without elements has no distinct
/// blocks, and nothing to reduce.
void PartitionProver::setState(Value value, ShardState state) {
  if (state.value >= 0 && reference.getValue(state.value).isEmpty) {
    for (DimState &dim : state.dims) {
      dim = DimState();
      dim.uniform = true;
    }
    state.unreduced.clear();
    state.share = 1;
    matching.hasGuessed = true;
  }
  states.set(value, std::move(state));
}

bool PartitionProver::visit(Operation *op) {
  bool ok = visitByKind(op);
  if (!states.takeRefused() || !ok)
    return ok;
  return giveUp(op, "it uses a value that was masked, wherever that ends");
}

/// Visits an op by its kind. An op ends its results where its operands end, or
/// the proof stops.
bool PartitionProver::visitByKind(Operation *op) {
  ++numVisited;
  for (Value operand : op->getOperands())
    if (!states.contains(operand))
      return giveUp(op, "an operand of unknown origin");
  if (auto collective = dyn_cast<dist::CollectiveOpInterface>(op))
    return visitCollective(collective, op->getOperand(0), op->getResult(0));
  if (auto start = dyn_cast<dist::StartOp>(op))
    return visitStart(start);
  if (auto bucket = dyn_cast<dist::BucketOp>(op))
    return visitBucket(bucket);
  if (auto wait = dyn_cast<dist::WaitOp>(op)) {
    setState(wait.getResult(), states.getWithEnds(wait.getFuture()));
    return true;
  }
  if (auto matmul = dyn_cast<dist::CollectiveMatmulOp>(op))
    return visitRegion(matmul);
  if (auto ring = dyn_cast<dist::RingAttentionOp>(op))
    return visitRegion(ring);
  if (auto partial = dyn_cast<dist::ToPartialOp>(op))
    return visitToPartial(partial);
  if (auto offset = dyn_cast<dist::AxisOffsetOp>(op))
    return visitOffset(offset);
  if (auto pack = dyn_cast<dist::PackRowsOp>(op))
    return visitPackRows(pack);
  if (auto unpack = dyn_cast<dist::UnpackRowsOp>(op))
    return visitUnpackRows(unpack);
  if (ConstantValue constant = getConstantValue(op); constant.value)
    return visitConstant(op, constant);
  if (auto accumulate = dyn_cast<dist::AccumulateOp>(op))
    return visitAccumulate(accumulate);
  if (auto made = matchReplicated(op, reference, states, !global)) {
    for (auto [result, state] : llvm::zip(op->getResults(), *made))
      setState(result, std::move(state));
    return true;
  }
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return visitFor(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return visitIf(branch);
  if (auto send = dyn_cast<dist::SendOp>(op))
    return visitSend(send);
  if (auto recv = dyn_cast<dist::RecvOp>(op))
    return visitRecv(recv);
  if (auto call = dyn_cast<CallOpInterface>(op))
    return visitCall(call);
  return visitOp(op);
}

bool PartitionProver::visitBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (!visit(&op))
      return false;
  return true;
}

PartitionVerdict PartitionProver::run() {
  if (!llvm::hasSingleElement(local.getFunctionBody()) ||
      (global && !llvm::hasSingleElement(global.getFunctionBody()))) {
    giveUp(local, "a function of several blocks");
    return verdict;
  }
  if (global)
    reference.addFunction(global,
                          decomposesAll ? FunctionOpInterface() : local);
  firstForeign = reference.getNumValues();
  Block &block = local.getFunctionBody().front();
  bool ok = setArguments() && visitBlock(block) &&
            checkResults(block.getTerminator());
  if (ok && doubt)
    verdict = *doubt;
  return verdict;
}

/// Compares one function with its reference. The proof changes its own copy of
/// the reference: it inserts decompositions before ops. Which ops to decompose
/// is guessed by counts, which recomputed ops can mislead. The assignment of
/// local ops to reference ops is searched depth-first, as only their uses may
/// decide. A slice or concatenation that fits an op of the reference is tried
/// as a resize only if two local ops fit that op, so most searches take one
/// run.
static PartitionVerdict
verifyOne(FunctionOpInterface local, const Mesh &mesh,
          FunctionOpInterface reference,
          SmallVectorImpl<PartitionProver::Call> &calls) {
  PartitionVerdict best;
  int64_t furthest = -1;
  constexpr int kMostRuns = 32;
  for (bool decomposesAll : {false, true}) {
    Choices choices;
    int numRuns = 0;
    do {
      if (++numRuns > kMostRuns) {
        best.answer = PartitionAnswer::NotProvable;
        break;
      }
      OwningOpRef<Operation *> copy = reference->clone();
      PartitionProver prover(local, mesh, cast<FunctionOpInterface>(*copy),
                             choices, decomposesAll);
      PartitionVerdict verdict = prover.run();
      bool isProven = verdict.answer == PartitionAnswer::Proven;
      if (!isProven && prover.getNumVisited() <= furthest)
        continue;
      best = std::move(verdict);
      furthest = prover.getNumVisited();
      calls.assign(prover.getCalls().begin(), prover.getCalls().end());
      if (isProven)
        return best;
    } while (choices.advance() || choices.restart());
  }
  return best;
}

/// verifyPartition() of programs without ops to expand.
static PartitionVerdict verifyExpanded(FunctionOpInterface local,
                                       const Mesh &mesh,
                                       FunctionOpInterface reference) {
  Choices none;
  if (!reference)
    return PartitionProver(local, mesh, nullptr, none).run();
  // The function, followed by its callees.
  llvm::SetVector<std::pair<Operation *, Operation *>> pairs;
  pairs.insert({local, reference});
  for (size_t i = 0; i < pairs.size(); ++i) {
    auto [mine, theirs] = pairs[i];
    SmallVector<PartitionProver::Call> calls;
    PartitionVerdict verdict =
        verifyOne(cast<FunctionOpInterface>(mine), mesh,
                  cast<FunctionOpInterface>(theirs), calls);
    if (verdict.answer != PartitionAnswer::Proven)
      return verdict;
    for (const PartitionProver::Call &call : calls) {
      auto callee = SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(
          reference, call.reference);
      if (!callee || callee.isExternal()) {
        verdict.answer = PartitionAnswer::NotProvable;
        verdict.op = call.local;
        verdict.why = "the reference calls @" +
                      call.reference.getValue().str() + ", which has no body";
        return verdict;
      }
      pairs.insert({call.local, callee});
    }
  }
  return PartitionVerdict();
}

PartitionVerdict tessera::verifyPartition(FunctionOpInterface local,
                                          const Mesh &mesh,
                                          FunctionOpInterface reference) {
  if (!hasForeignOps(local) && !hasForeignOps(reference))
    return verifyExpanded(local, mesh, reference);
  FailureOr<ExpandedPrograms> programs =
      ExpandedPrograms::make(local, reference);
  if (failed(programs)) {
    PartitionVerdict verdict;
    verdict.answer = PartitionAnswer::NotProvable;
    verdict.op = local;
    verdict.why = "an op's meaning is in error";
    return verdict;
  }
  return programs->restore(
      verifyExpanded(programs->getLocal(), mesh, programs->getReference()));
}
