//===- PipelineProgram.cpp - The functions of all pp ranks ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Stages/PipelineProgram.h"
#include "tessera/Schedule/ActionList.h"
#include <map>
#include <set>

using namespace mlir;
using namespace tessera;
using dist::DistDialect;

SmallVector<TaskRun, 2> tessera::getTaskRuns(const schedule::Action &action) {
  using schedule::ActionKind;
  auto run = [&](dist::TaskKind kind) {
    return SmallVector<TaskRun, 2>{{kind, action.chunk, action.microBatch}};
  };
  switch (action.kind) {
  case ActionKind::Forward:
    return run(dist::TaskKind::Forward);
  case ActionKind::InputGrad:
    return run(dist::TaskKind::InputGrad);
  case ActionKind::WeightGrad:
    return run(dist::TaskKind::WeightGrad);
  case ActionKind::Backward:
    return run(dist::TaskKind::Backward);
  case ActionKind::Overlapped:
    return {{dist::TaskKind::Forward, action.chunk, action.microBatch},
            {dist::TaskKind::Backward, action.backwardChunk,
             action.backwardMicroBatch}};
  case ActionKind::SendActivation:
  case ActionKind::SendGradient:
  case ActionKind::ReceiveActivation:
  case ActionKind::ReceiveGradient:
    return {};
  }
  return {};
}

bool tessera::isPipelineFunction(func::FuncOp function) {
  return function->hasAttr(DistDialect::kPPRankAttr);
}

static int64_t getRank(func::FuncOp function) {
  return function->getAttrOfType<IntegerAttr>(DistDialect::kPPRankAttr)
      .getInt();
}

SmallVector<Operation *> tessera::getJointOps(func::FuncOp function) {
  SmallVector<Operation *> ops;
  for (Operation &op : function.getBody().front())
    if (isa<dist::PipelineOp, dist::ExchangeOp>(op))
      ops.push_back(&op);
  return ops;
}

SmallVector<int64_t> tessera::getMembers(Operation *op) {
  if (auto exchange = dyn_cast<dist::ExchangeOp>(op))
    return SmallVector<int64_t>(exchange.getAmong());
  llvm::SmallSetVector<int64_t, 8> ranks;
  for (const auto &path : cast<dist::PipelineOp>(op).getStageRanks())
    ranks.insert(path.begin(), path.end());
  SmallVector<int64_t> members = ranks.takeVector();
  llvm::sort(members);
  return members;
}

bool tessera::isSameJointOp(ArrayRef<Operation *> byRank,
                            ArrayRef<int64_t> members) {
  auto first = dyn_cast_if_present<dist::ExchangeOp>(byRank[members.front()]);
  return llvm::all_of(members, [&](int64_t rank) {
    Operation *op = byRank[rank];
    if (!first)
      return isa_and_present<dist::PipelineOp>(op);
    auto exchange = dyn_cast_if_present<dist::ExchangeOp>(op);
    return exchange && exchange.getFrom() == first.getFrom() &&
           exchange.getAmong() == first.getAmong();
  });
}

int64_t tessera::getArgumentNumber(func::FuncOp function, unsigned argument) {
  return function
      .getArgAttrOfType<IntegerAttr>(argument, DistDialect::kNumberAttr)
      .getInt();
}

int64_t tessera::getResultNumber(func::FuncOp function, unsigned result) {
  return cast<IntegerAttr>(
             function.getResultAttr(result, DistDialect::kNumberAttr))
      .getInt();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// The functions of a program, by pp rank.
static FailureOr<SmallVector<func::FuncOp>>
findFunctions(func::FuncOp function) {
  auto module = function->getParentOfType<ModuleOp>();
  FailureOr<dist::MeshOp> meshOp = dist::getOnlyMesh(module);
  if (failed(meshOp))
    return failure();
  Mesh mesh = meshOp->getMesh().toMesh();
  if (!mesh.stageAxis)
    return function.emitError("expects a mesh with a stage axis for a function "
                              "with dist.pp_rank but got @")
           << meshOp->getSymName() << " without one";
  int64_t ranks = mesh.sizes[*mesh.stageAxis];
  Attribute reference = function->getAttr(DistDialect::kReferenceAttr);
  SmallVector<func::FuncOp> functions(ranks);
  for (auto other : module.getOps<func::FuncOp>()) {
    if (!isPipelineFunction(other) ||
        other->getAttr(DistDialect::kReferenceAttr) != reference)
      continue;
    int64_t rank = getRank(other);
    if (rank >= ranks)
      return other.emitError("expects a dist.pp_rank below ")
             << ranks << ", the size of the stage axis, but got " << rank;
    if (functions[rank])
      return other.emitError("expects one function for pp rank ")
             << rank << " but got @" << functions[rank].getName() << " and @"
             << other.getName();
    functions[rank] = other;
  }
  for (auto [rank, other] : llvm::enumerate(functions))
    if (!other || other.isExternal() || !other.getBody().hasOneBlock())
      return function.emitError("expects a function of one block for each of ")
             << ranks << " pp ranks but got none for " << rank;
  return functions;
}

/// The single dist.pipeline in a function's body.
static FailureOr<dist::PipelineOp> findPipeline(func::FuncOp function) {
  auto ops = function.getBody().front().getOps<dist::PipelineOp>();
  if (llvm::hasSingleElement(ops))
    return *ops.begin();
  return function.emitError("expects one dist.pipeline in the body of @")
         << function.getName() << " but got "
         << std::distance(ops.begin(), ops.end());
}

/// Checks that numbers exist and have one type on all ranks.
static LogicalResult checkNumbers(const PipelineProgram &program) {
  // Uses a map: a DenseMap reserves two keys, but any number may occur.
  std::map<int64_t, Type> arguments, results;
  auto check = [](func::FuncOp function, StringRef what, unsigned index,
                  Attribute attr, Type type, std::map<int64_t, Type> &known,
                  std::set<int64_t> &seen) -> LogicalResult {
    auto number = dyn_cast_or_null<IntegerAttr>(attr);
    if (!number || !seen.insert(number.getInt()).second)
      return function.emitError("expects a dist.number of its own on ")
             << what << " " << index << " of @" << function.getName()
             << " but got " << attr;
    auto [it, isNew] = known.try_emplace(number.getInt(), type);
    if (isNew || it->second == type)
      return success();
    return function.emitError("expects ")
           << what << " " << number.getInt() << " of the program to have type "
           << it->second << " on pp rank " << getRank(function) << " but got "
           << type;
  };
  for (func::FuncOp function : program.functions) {
    std::set<int64_t> seen;
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
      if (failed(check(function, "argument", i,
                       function.getArgAttr(i, DistDialect::kNumberAttr), type,
                       arguments, seen)))
        return failure();
    seen.clear();
    for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
      if (failed(check(function, "result", i,
                       function.getResultAttr(i, DistDialect::kNumberAttr),
                       type, results, seen)))
        return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

static LogicalResult readSchedule(PipelineProgram &program) {
  dist::PipelineOp first = program.pipelines.front();
  for (dist::PipelineOp pipeline : program.pipelines) {
    if (pipeline.getPaths() != first.getPaths() ||
        pipeline.getMicroBatches() != first.getMicroBatches())
      return pipeline.emitOpError("expects the paths ")
             << first.getPaths() << " and " << first.getMicroBatches()
             << " micro-batches of pp rank 0 but got " << pipeline.getPaths()
             << " and " << pipeline.getMicroBatches();
    auto actions = schedule::parseActions(pipeline.getList());
    if (!actions)
      return pipeline.emitOpError() << llvm::toString(actions.takeError());
    program.schedule.ranks.push_back(std::move(*actions));
  }
  auto problem =
      schedule::findProblem(first.getStageRanks(), first.getMicroBatches());
  if (!problem)
    return first.emitOpError() << llvm::toString(problem.takeError());
  program.problem = *problem;
  if (program.problem.ranks != program.getNumRanks())
    return first.emitOpError("expects paths over ")
           << program.getNumRanks() << " pp ranks but got "
           << program.problem.ranks;
  if (llvm::Error error = schedule::verify(program.problem, program.schedule,
                                           schedule::SendMode::Posted))
    return first.emitOpError("list: ") << llvm::toString(std::move(error));
  return success();
}

/// Checks that each compute action has a task, and each task an action.
static LogicalResult checkTasks(const PipelineProgram &program) {
  constexpr dist::TaskKind kKinds[] = {
      dist::TaskKind::Forward, dist::TaskKind::InputGrad,
      dist::TaskKind::WeightGrad, dist::TaskKind::Backward};
  for (int64_t rank = 0; rank < program.getNumRanks(); ++rank) {
    dist::PipelineOp pipeline = program.pipelines[rank];
    std::set<std::pair<int, dist::TaskKind>> listed;
    for (const schedule::Action &action : program.schedule.ranks[rank])
      for (const TaskRun &run : getTaskRuns(action))
        listed.insert({run.chunk, run.kind});
    for (int chunk = 0; chunk < program.problem.chunks; ++chunk)
      for (dist::TaskKind kind : kKinds) {
        bool isListed = listed.count({chunk, kind});
        bool isThere = bool(pipeline.getTask(kind, chunk));
        if (isListed != isThere)
          return pipeline.emitOpError("pp rank ")
                 << rank << ": expects a task " << dist::stringifyTaskKind(kind)
                 << " " << chunk
                 << (isListed ? " for the actions of its list but got none"
                              : " to be in its list but it is not");
      }
    for (auto task : pipeline.getBody().getOps<dist::TaskOp>())
      if (static_cast<int>(task.getChunk()) >= program.problem.chunks)
        return task.emitOpError("pp rank ")
               << rank << ": expects a chunk below " << program.problem.chunks
               << " but got " << task.getChunk();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Boundaries and exchanges
//===----------------------------------------------------------------------===//

/// Checks that `task` receives only values that `sender` sends; a null sender
/// sends none.
static LogicalResult checkBoundary(dist::TaskOp task, dist::TaskOp sender,
                                   int stage) {
  ValueRange sent =
      sender ? ValueRange(sender.getYield().getSends()) : ValueRange();
  for (BlockArgument argument : task.getBody().getArguments()) {
    dist::SourceAttr source = task.getSource(argument.getArgNumber());
    if (source.getKind() != dist::SourceKind::Recv)
      continue;
    if (source.getIndex() >= static_cast<int64_t>(sent.size()))
      return task.emitOpError("stage ")
             << stage << ": expects to receive one of " << sent.size()
             << " values that the neighbouring stage sends but got recv "
             << source.getIndex();
    Type type = sent[source.getIndex()].getType();
    if (type != argument.getType())
      return task.emitOpError("stage ")
             << stage << ": expects recv " << source.getIndex() << " of type "
             << type << ", which the neighbouring stage sends, but got "
             << argument.getType();
  }
  return success();
}

static LogicalResult checkBoundaries(const PipelineProgram &program) {
  const schedule::ScheduleProblem &problem = program.problem;
  dist::PipelineOp first = program.pipelines.front();
  int paths = first.getPaths().size();
  for (int path = 0; path < paths; ++path) {
    int microBatch = path * problem.microBatchesOf();
    for (int stage = 0; stage < problem.stages(); ++stage) {
      auto task = [&](dist::TaskKind kind, int of) -> dist::TaskOp {
        return of < 0 || of >= problem.stages()
                   ? dist::TaskOp()
                   : program.getTask(kind, problem.slotOf(of, microBatch));
      };
      if (failed(checkBoundary(task(dist::TaskKind::Forward, stage),
                               task(dist::TaskKind::Forward, stage - 1),
                               stage)))
        return failure();
      // B and BW of a chunk send the same.
      dist::TaskOp later = task(dist::TaskKind::InputGrad, stage + 1);
      if (!later)
        later = task(dist::TaskKind::Backward, stage + 1);
      for (dist::TaskKind kind :
           {dist::TaskKind::InputGrad, dist::TaskKind::Backward})
        if (dist::TaskOp grad = task(kind, stage))
          if (failed(checkBoundary(grad, later, stage)))
            return failure();
    }
  }
  return success();
}

/// Checks that the results of an exchange have the types of their operands.
static LogicalResult checkExchange(ArrayRef<Operation *> byRank,
                                   ArrayRef<int64_t> members) {
  auto first = cast<dist::ExchangeOp>(byRank[members.front()]);
  llvm::DenseMap<int64_t, unsigned> used;
  for (auto [i, from] : llvm::enumerate(first.getFrom())) {
    auto owner = cast<dist::ExchangeOp>(byRank[from]);
    unsigned k = used[from]++;
    if (k >= owner.getInputs().size())
      return owner.emitOpError("pp rank ")
             << from << ": expects an operand for each "
             << "time that 'from' names it but got "
             << owner.getInputs().size();
    Type type = owner.getInputs()[k].getType();
    for (int64_t rank : members) {
      Type got = byRank[rank]->getResult(i).getType();
      if (got != type)
        return byRank[rank]->emitOpError("pp rank ")
               << rank << ": expects result " << i << " of type " << type
               << ", that of pp rank " << from << ", but got " << got;
    }
  }
  for (int64_t rank : members)
    if (byRank[rank]->getNumOperands() != used.lookup(rank))
      return byRank[rank]->emitOpError("pp rank ")
             << rank << ": expects " << used.lookup(rank)
             << " operands, as often as 'from' names it, but got "
             << byRank[rank]->getNumOperands();
  return success();
}

/// Simulates the joint ops of all ranks. Whether one can run never depends on
/// the order of others, so a program that stops here always stops.
static LogicalResult checkJointOps(const PipelineProgram &program) {
  SmallVector<SmallVector<Operation *>> joint;
  for (func::FuncOp function : program.functions)
    joint.push_back(getJointOps(function));
  SmallVector<size_t> next(joint.size(), 0);
  while (true) {
    SmallVector<Operation *> byRank;
    for (auto [list, i] : llvm::zip_equal(joint, next))
      byRank.push_back(i < list.size() ? list[i] : nullptr);
    auto *waiting =
        llvm::find_if(byRank, [](Operation *op) { return op != nullptr; });
    if (waiting == byRank.end())
      return success();
    bool moved = false;
    for (Operation *op : byRank) {
      if (!op)
        continue;
      SmallVector<int64_t> members = getMembers(op);
      if (members.back() >= program.getNumRanks())
        return op->emitOpError("expects pp ranks below ")
               << program.getNumRanks() << " but got " << members.back();
      if (!isSameJointOp(byRank, members))
        continue;
      if (isa<dist::ExchangeOp>(op) && failed(checkExchange(byRank, members)))
        return failure();
      for (int64_t rank : members)
        ++next[rank];
      moved = true;
      break;
    }
    if (!moved)
      return (*waiting)->emitOpError("expects pp ranks to come to the same "
                                     "exchanges in one order, but pp rank ")
             << waiting - byRank.begin() << " waits here for others";
  }
}

FailureOr<PipelineProgram> tessera::readPipelineProgram(func::FuncOp function) {
  FailureOr<SmallVector<func::FuncOp>> functions = findFunctions(function);
  if (failed(functions))
    return failure();
  PipelineProgram program;
  program.functions = std::move(*functions);
  for (func::FuncOp other : program.functions) {
    FailureOr<dist::PipelineOp> pipeline = findPipeline(other);
    if (failed(pipeline))
      return failure();
    program.pipelines.push_back(*pipeline);
  }
  if (failed(checkNumbers(program)) || failed(readSchedule(program)) ||
      failed(checkTasks(program)) || failed(checkBoundaries(program)) ||
      failed(checkJointOps(program)))
    return failure();
  return program;
}
