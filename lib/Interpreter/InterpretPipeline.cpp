//===- InterpretPipeline.cpp - Pipeline programs on all pp ranks ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each pp rank has an interpretation, whose ranks are the devices of its stage.
// Each interpretation runs its function up to a joint op. An exchange runs when
// all its members have reached it, pipelines when all pp ranks have. Then their
// lists run in turns:
//
//     pp rank 0  F0.0 sA0.0 F0.1 sA0.1 rG0.0 ...waits
//     pp rank 1                              rA0.0 F0.0 BW0.0 sG0.0 ...
//     pp rank 0                                                    BW0.0 ...
//
//===----------------------------------------------------------------------===//

#include "Interpretation.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::interp;
using dist::SourceKind;
using dist::TaskKind;
using schedule::Action;
using schedule::ActionKind;
using schedule::Slot;

namespace {

using Tensors = std::vector<RankTensors>;

/// The key of computed, sent or kept values: the task's kind, chunk and
/// micro-batch. Values sent by B and BW both have B's key.
using TaskKey = std::tuple<TaskKind, int, int>;

TaskKey getBoundaryKey(TaskKind kind, int chunk, int microBatch) {
  return {kind == TaskKind::Backward ? TaskKind::InputGrad : kind, chunk,
          microBatch};
}

/// The state of a pp rank.
struct RankState {
  Statistics statistics;
  std::unique_ptr<Interpretation> interpretation;
  Block::iterator next;
  /// Values for the neighbouring stages, until they are sent or used.
  std::map<TaskKey, Tensors> outbox;
  /// Received values, until their task runs.
  std::map<TaskKey, Tensors> inbox;
  std::map<TaskKey, Tensors> kept;
  /// Results of the pipeline so far; stacked slices by micro-batch.
  Tensors sums;
  std::vector<std::vector<RankTensors>> slices;
  size_t position = 0;
};

class PipelineRun {
public:
  PipelineRun(const PipelineProgram &program, int64_t devices)
      : program(program), problem(program.problem), devices(devices) {}

  void start(ArrayRef<std::vector<RankTensors>> arguments);
  LogicalResult run();
  std::vector<std::vector<RankTensors>> takeResults();
  void addStatistics(Statistics &statistics) const;

private:
  LogicalResult advance(RankState &rank);
  LogicalResult runJointOp();
  void exchange(ArrayRef<int64_t> members);
  LogicalResult runPipelines();
  void startPipeline(int64_t rank);
  void endPipeline(int64_t rank);

  std::optional<Slot> getNeighbour(Slot slot, int microBatch, int by) const;
  bool hasReceived(int64_t rank, TaskKind kind, int chunk, int microBatch);
  bool isReady(int64_t rank, const Action &action);
  LogicalResult runAction(int64_t rank, const Action &action);
  void send(int64_t rank, const Action &action);
  LogicalResult runTask(int64_t rank, TaskKind kind, int chunk, int microBatch);
  Tensors getArguments(int64_t rank, dist::TaskOp task, int microBatch);
  void finishTask(int64_t rank, dist::TaskOp task, int microBatch,
                  Tensors yielded);
  /// The source and destination of a transfer of this rank's chunk, and the
  /// kind of its values: F's, or B's and BW's.
  struct Route {
    Slot from, to;
    TaskKind kind;
  };
  Route getRoute(int64_t rank, const Action &action) const;

  const PipelineProgram &program;
  const schedule::ScheduleProblem &problem;
  /// The number of devices of one pp rank.
  int64_t devices;
  std::vector<RankState> ranks;
};

} // namespace

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void PipelineRun::start(ArrayRef<std::vector<RankTensors>> arguments) {
  ranks.resize(program.getNumRanks());
  for (auto [number, rank] : llvm::enumerate(ranks)) {
    func::FuncOp function = program.functions[number];
    rank.interpretation =
        std::make_unique<Interpretation>(devices, &rank.statistics,
                                         /*isStage=*/true);
    rank.next = function.getBody().front().begin();
    for (BlockArgument argument : function.getArguments()) {
      RankTensors tensors;
      for (const RankTensors &device : arguments[number])
        tensors.push_back(device[argument.getArgNumber()]);
      rank.interpretation->set(argument, std::move(tensors));
    }
  }
}

/// Runs up to a joint op, or to the end.
LogicalResult PipelineRun::advance(RankState &rank) {
  while (!isa<dist::PipelineOp, dist::ExchangeOp, func::ReturnOp>(*rank.next)) {
    if (failed(rank.interpretation->run(*rank.next)))
      return failure();
    ++rank.next;
  }
  return success();
}

/// Runs a joint op that all its members have reached. readPipelineProgram() has
/// checked that there is one.
LogicalResult PipelineRun::runJointOp() {
  for (RankState &rank : ranks) {
    if (isa<func::ReturnOp>(*rank.next))
      continue;
    SmallVector<int64_t> members = getMembers(&*rank.next);
    SmallVector<Operation *> byRank;
    for (RankState &other : ranks)
      byRank.push_back(&*other.next);
    bool allThere = isSameJointOp(byRank, members);
    if (!allThere)
      continue;
    if (isa<dist::PipelineOp>(*rank.next)) {
      if (failed(runPipelines()))
        return failure();
    } else {
      exchange(members);
    }
    for (int64_t member : members) {
      ranks[member].interpretation->release(&*ranks[member].next);
      ++ranks[member].next;
    }
    return success();
  }
  func::FuncOp first = program.functions.front();
  return first.emitError(
      "expects pp ranks to come to the same ops but some wait for ever");
}

LogicalResult PipelineRun::run() {
  while (true) {
    for (RankState &rank : ranks)
      if (failed(advance(rank)))
        return failure();
    if (llvm::all_of(ranks, [](const RankState &rank) {
          return isa<func::ReturnOp>(*rank.next);
        }))
      return success();
    if (failed(runJointOp()))
      return failure();
  }
}

static int64_t getBytes(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() *
         llvm::divideCeil(type.getElementType().isIndex()
                              ? 64
                              : type.getElementTypeBitWidth(),
                          8);
}

void PipelineRun::exchange(ArrayRef<int64_t> members) {
  llvm::DenseMap<int64_t, unsigned> used;
  for (int64_t member : members)
    ++ranks[member].statistics.collectives["exchange"].count;
  auto first = cast<dist::ExchangeOp>(*ranks[members.front()].next);
  for (auto [i, from] : llvm::enumerate(first.getFrom())) {
    Value value = ranks[from].next->getOperand(used[from]++);
    RankTensors tensors = ranks[from].interpretation->get(value);
    for (int64_t member : members) {
      RankState &rank = ranks[member];
      rank.interpretation->set(rank.next->getResult(i), tensors);
      if (member != from)
        rank.statistics.collectives["exchange"].bytes += getBytes(value);
    }
  }
}

std::vector<std::vector<RankTensors>> PipelineRun::takeResults() {
  std::vector<std::vector<RankTensors>> results;
  for (RankState &rank : ranks) {
    std::vector<RankTensors> &byDevice = results.emplace_back(devices);
    for (Value value : rank.next->getOperands())
      for (auto [device, tensor] :
           llvm::zip_equal(byDevice, rank.interpretation->get(value)))
        device.push_back(tensor);
  }
  return results;
}

void PipelineRun::addStatistics(Statistics &statistics) const {
  for (const RankState &rank : ranks)
    for (const auto &[name, entry] : rank.statistics.collectives) {
      CollectiveCount &most = statistics.collectives[name];
      if (entry.bytes > most.bytes || most.count == 0)
        most = entry;
    }
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

void PipelineRun::startPipeline(int64_t number) {
  RankState &rank = ranks[number];
  dist::PipelineOp pipeline = program.pipelines[number];
  rank.position = 0;
  rank.slices.resize(pipeline.getNumResults());
  for (Value result : pipeline.getResults()) {
    auto zero = std::make_shared<const Tensor>(result.getType());
    rank.sums.push_back(RankTensors(devices, zero));
  }
}

/// Stacks stored slices into one tensor.
void PipelineRun::endPipeline(int64_t number) {
  RankState &rank = ranks[number];
  dist::PipelineOp pipeline = program.pipelines[number];
  for (auto [i, result] : llvm::enumerate(pipeline.getResults())) {
    if (!rank.slices[i].empty())
      rank.sums[i] = stack(rank.slices[i]);
    rank.interpretation->set(result, std::move(rank.sums[i]));
  }
  rank.sums.clear();
  rank.slices.clear();
}

LogicalResult PipelineRun::runPipelines() {
  int64_t numRanks = program.getNumRanks();
  for (int64_t rank = 0; rank < numRanks; ++rank)
    startPipeline(rank);
  bool moves = true;
  while (moves) {
    moves = false;
    for (int64_t rank = 0; rank < numRanks; ++rank) {
      const std::vector<Action> &actions = program.schedule.ranks[rank];
      size_t &position = ranks[rank].position;
      for (; position < actions.size() && isReady(rank, actions[position]);
           ++position) {
        if (failed(runAction(rank, actions[position])))
          return failure();
        moves = true;
      }
    }
  }
  for (int64_t rank = 0; rank < numRanks; ++rank) {
    if (ranks[rank].position < program.schedule.ranks[rank].size())
      return ranks[rank].next->emitOpError("pp rank ")
             << rank << " waits for ever at action " << ranks[rank].position
             << " of its list";
    endPipeline(rank);
  }
  return success();
}

/// Returns the slot of the stage `by` stages after that in `slot`; none beyond
/// the ends.
std::optional<Slot> PipelineRun::getNeighbour(Slot slot, int microBatch,
                                              int by) const {
  int stage = problem.stageOf(slot) + by;
  if (stage < 0 || stage >= problem.stages())
    return std::nullopt;
  return problem.slotOf(stage, microBatch);
}

PipelineRun::Route PipelineRun::getRoute(int64_t rank,
                                         const Action &action) const {
  Slot mine{static_cast<int>(rank), action.chunk};
  bool sends = action.kind == ActionKind::SendActivation ||
               action.kind == ActionKind::SendGradient;
  bool isForward = action.kind == ActionKind::SendActivation ||
                   action.kind == ActionKind::ReceiveActivation;
  int by = isForward == sends ? 1 : -1;
  Slot other = *getNeighbour(mine, action.microBatch, by);
  return {sends ? mine : other, sends ? other : mine,
          isForward ? TaskKind::Forward : TaskKind::InputGrad};
}

/// True if a task has received its values from the neighbouring stage. A stage
/// on the same rank sends nothing.
bool PipelineRun::hasReceived(int64_t rank, TaskKind kind, int chunk,
                              int microBatch) {
  if (kind == TaskKind::WeightGrad)
    return true;
  auto from = getNeighbour({static_cast<int>(rank), chunk}, microBatch,
                           kind == TaskKind::Forward ? -1 : 1);
  return !from || from->rank == rank ||
         ranks[rank].inbox.count(getBoundaryKey(kind, chunk, microBatch));
}

/// A receive is only posted; the task waits for it. All other actions are in
/// order in a verified list.
bool PipelineRun::isReady(int64_t rank, const Action &action) {
  return llvm::all_of(getTaskRuns(action), [&](const TaskRun &run) {
    return hasReceived(rank, run.kind, run.chunk, run.microBatch);
  });
}

LogicalResult PipelineRun::runAction(int64_t rank, const Action &action) {
  for (const TaskRun &run : getTaskRuns(action))
    if (failed(runTask(rank, run.kind, run.chunk, run.microBatch)))
      return failure();
  if (action.kind == ActionKind::SendActivation ||
      action.kind == ActionKind::SendGradient)
    send(rank, action);
  return success();
}

void PipelineRun::send(int64_t rank, const Action &action) {
  Route route = getRoute(rank, action);
  auto sent = ranks[rank].outbox.extract(
      {route.kind, route.from.chunk, action.microBatch});
  CollectiveCount &count = ranks[route.to.rank].statistics.collectives["send"];
  ++count.count;
  dist::TaskOp sender = route.kind == TaskKind::Forward
                            ? program.getTask(route.kind, route.from)
                            : program.getGradTask(route.from);
  for (Value value : sender.getYield().getSends())
    count.bytes += getBytes(value);
  ranks[route.to.rank].inbox[{route.kind, route.to.chunk, action.microBatch}] =
      std::move(sent.mapped());
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

Tensors PipelineRun::getArguments(int64_t number, dist::TaskOp task,
                                  int microBatch) {
  RankState &rank = ranks[number];
  auto chunk = static_cast<int>(task.getChunk());
  TaskKey key = getBoundaryKey(task.getKind(), chunk, microBatch);
  // Values from a stage on the same rank were never sent.
  const Tensors *received = nullptr;
  if (auto it = rank.inbox.find(key); it != rank.inbox.end())
    received = &it->second;
  bool isForward = task.getKind() == TaskKind::Forward;
  Slot mine{static_cast<int>(number), chunk};
  if (!received)
    if (auto from = getNeighbour(mine, microBatch, isForward ? -1 : 1))
      if (auto it = rank.outbox.find(
              getBoundaryKey(task.getKind(), from->chunk, microBatch));
          from->rank == number && it != rank.outbox.end())
        received = &it->second;
  Tensors arguments;
  dist::PipelineOp pipeline = program.pipelines[number];
  for (unsigned i = 0; i < task.getSources().size(); ++i) {
    dist::SourceAttr source = task.getSource(i);
    switch (source.getKind()) {
    case SourceKind::Recv:
      assert(received && "a verified list receives before it computes");
      arguments.push_back((*received)[source.getIndex()]);
      break;
    case SourceKind::Batch:
      arguments.push_back(sliceFirst(
          rank.interpretation->get(pipeline.getBatches()[source.getIndex()]),
          microBatch));
      break;
    case SourceKind::Forward:
      arguments.push_back(
          rank.kept[{TaskKind::Forward, chunk, microBatch}][source.getIndex()]);
      break;
    case SourceKind::InputGrad:
      arguments.push_back(rank.kept[{TaskKind::InputGrad, chunk, microBatch}]
                                   [source.getIndex()]);
      break;
    }
  }
  rank.inbox.erase(key);
  return arguments;
}

void PipelineRun::finishTask(int64_t number, dist::TaskOp task, int microBatch,
                             Tensors yielded) {
  RankState &rank = ranks[number];
  auto chunk = static_cast<int>(task.getChunk());
  dist::TaskYieldOp yield = task.getYield();
  auto take = [&, next = yielded.begin()](size_t count) mutable {
    Tensors some(std::make_move_iterator(next),
                 std::make_move_iterator(next + count));
    next += count;
    return some;
  };
  Tensors sends = take(yield.getSends().size());
  if (task.getKind() != TaskKind::WeightGrad)
    rank.outbox[getBoundaryKey(task.getKind(), chunk, microBatch)] =
        std::move(sends);
  rank.kept[{task.getKind(), chunk, microBatch}] =
      take(yield.getKeeps().size());
  for (auto [to, value] :
       llvm::zip_equal(yield.getAddTo(), take(yield.getAdds().size())))
    addUp(rank.sums[to], value);
  for (auto [to, value] :
       llvm::zip_equal(yield.getStoreTo(), take(yield.getStores().size()))) {
    auto &slices = rank.slices[to];
    slices.resize(problem.microBatches,
                  RankTensors(devices, std::make_shared<const Tensor>(
                                           value.front()->getElementType(),
                                           value.front()->getShape())));
    slices[microBatch] = value;
  }
  // This task is the last reader of the chunk's values for this micro-batch.
  if (task.getKind() == TaskKind::WeightGrad ||
      task.getKind() == TaskKind::Backward)
    for (TaskKind kind : {TaskKind::Forward, TaskKind::InputGrad})
      rank.kept.erase({kind, chunk, microBatch});
}

LogicalResult PipelineRun::runTask(int64_t rank, TaskKind kind, int chunk,
                                   int microBatch) {
  dist::TaskOp task = program.getTask(kind, {static_cast<int>(rank), chunk});
  Tensors yielded;
  if (failed(ranks[rank].interpretation->runBlock(
          task.getBody().front(), getArguments(rank, task, microBatch),
          yielded)))
    return failure();
  finishTask(rank, task, microBatch, std::move(yielded));
  return success();
}

FailureOr<std::vector<std::vector<RankTensors>>>
interp::interpretPipeline(const PipelineProgram &program,
                          ArrayRef<std::vector<RankTensors>> arguments,
                          Statistics *statistics) {
  PipelineRun run(program, arguments.front().size());
  run.start(arguments);
  if (failed(run.run()))
    return failure();
  if (statistics)
    run.addStatistics(*statistics);
  return run.takeResults();
}
