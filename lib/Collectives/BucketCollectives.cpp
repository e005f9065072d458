//===- BucketCollectives.cpp - Merges small collectives -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the problem of Buckets.h for a block of a local function, one for each
// kind of collectives that can merge, and writes dist.bucket. Rough op times
// tell when values are ready. A bucket is placed where its last member can
// start; ops that read its results move after it.
//
//===----------------------------------------------------------------------===//

#include "BucketRewrite.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "runtime/include/tessera_rt.h"
#include "tessera/Cluster/CollectiveTime.h"
#include "tessera/Cluster/LinksAttr.h"
#include "tessera/Collectives/Buckets.h"
#include "tessera/Collectives/Passes.h"
#include "tessera/Interfaces/CostOpInterface.h"
#include "tessera/Interfaces/ModelBlocks.h"
#include "tessera/LocalCollectives/OpRuns.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace tessera {
#define GEN_PASS_DEF_BUCKETCOLLECTIVESPASS
#include "tessera/Collectives/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// A copy is a kernel of its own, whose launch takes as long as one step of a
/// collective on default links.
static constexpr double kCopyLatency = 1e-6;

namespace {

/// The common properties of a bucket's members: op, axes, mesh, reduction,
/// element type.
using BucketKey =
    std::tuple<OperationName, Attribute, Attribute, Attribute, Type>;

class BlockBuckets {
public:
  BlockBuckets(Block &block, const Mesh &mesh, const MeshLinks &links,
               int64_t maxBytes)
      : block(block), mesh(mesh), links(links), maxBytes(maxBytes) {}

  void run();

private:
  void number();
  void runKey(ArrayRef<Operation *> collectives);
  void runGathers();
  void runLayer(ArrayRef<Operation *> gathers, int64_t mostBytes);
  SmallVector<Operation *> runGathersOfKey(ArrayRef<Operation *> gathers,
                                           int64_t mostBytes);
  std::function<double(int64_t)> getTimes(Operation *op) const;
  void setReady(MutableArrayRef<Operation *> members, BucketProblem &problem);
  void setNeeded(ArrayRef<Operation *> members, BucketProblem &problem);
  int64_t getMaxBytes(ArrayRef<Operation *> members) const;
  void report(ArrayRef<Operation *> members, const BucketProblem &problem,
              size_t begin) const;
  void reportBoundary(ArrayRef<Operation *> members,
                      const BucketProblem &problem, size_t before, size_t begin,
                      size_t end) const;
  int getDefinition(Value value) const;

  Block &block;
  const Mesh &mesh;
  const MeshLinks &links;
  int64_t maxBytes;
  /// Ops in order; their numbers; seconds of work up to the end of each.
  std::vector<Operation *> ops;
  llvm::DenseMap<Operation *, int> numbers;
  std::vector<double> times;
};

} // namespace

//===----------------------------------------------------------------------===//
// The problem
//===----------------------------------------------------------------------===//

/// True for the all-gather of a value from outside the block, also through
/// casts, reshapes and collectives that move it. It could run at any time, but
/// a parameter is gathered where it is used, so that the whole parameter does
/// not stay live before.
static bool gathersFromOutside(Operation *gather) {
  if (!isa<dist::AllGatherOp>(gather))
    return false;
  Value value = gather->getOperand(0);
  while (Operation *op = value.getDefiningOp()) {
    if (op->getBlock() != gather->getBlock())
      return true;
    if (op->getNumOperands() != 1 ||
        isa<dist::ReduceScatterOp, dist::AllReduceOp>(op))
      return false;
    value = op->getOperand(0);
  }
  return true;
}

/// True if a value is gathered for ops on experts, which read its tokens.
static bool goesToExperts(Value tokens) {
  return llvm::any_of(tokens.getUses(), [](OpOperand &use) {
    if (auto gather = dyn_cast<dist::AllGatherOp>(use.getOwner()))
      return goesToExperts(gather.getResult());
    auto routed = dyn_cast<nn::RoutedOpInterface>(use.getOwner());
    return routed && routed.getTokens() == &use;
  });
}

/// True for a sum over experts, or one that is partly reduced.
static bool isSumOfExperts(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<dist::ReduceScatterOp, dist::AllReduceOp>(op))
    return isSumOfExperts(op->getOperand(0));
  auto routed = dyn_cast_or_null<nn::RoutedOpInterface>(op);
  return routed && routed.getTokenSum() == value;
}

/// True for tokens that go to experts, and their sums. They stay apart, so that
/// a device may get the tokens of its experts alone.
static bool movesTokens(Operation *op) {
  return isa<dist::AllGatherOp>(op) ? goesToExperts(op->getResult(0))
                                    : isSumOfExperts(op->getOperand(0));
}

/// Returns nothing for collectives that do not go into buckets.
static std::optional<BucketKey> getKey(Operation *op) {
  auto collective = dyn_cast<dist::CollectiveOpInterface>(op);
  if (!collective || collective.getFromAttr() || movesTokens(op) ||
      !isa<dist::AllReduceOp, dist::ReduceScatterOp, dist::AllGatherOp>(op))
    return std::nullopt;
  Attribute kind;
  if (auto reduce = dyn_cast<dist::AllReduceOp>(op))
    kind = reduce.getKindAttr();
  if (auto scatter = dyn_cast<dist::ReduceScatterOp>(op))
    kind = scatter.getKindAttr();
  return BucketKey(op->getName(), collective.getAxes(),
                   collective.getMeshAttr(), kind,
                   getElementTypeOrSelf(op->getOperand(0)));
}

void BlockBuckets::number() {
  ops.clear();
  numbers.clear();
  times.clear();
  double time = 0;
  WorkRates rates = getWorkRates(block.getParentOp());
  for (Operation &op : block) {
    numbers[&op] = ops.size();
    ops.push_back(&op);
    // All readers of the sums over micro-batches come after them. The time of
    // collectives inside would delay all of them equally, so it is left out.
    auto isNoWork = [](Operation *inner) {
      return isa<dist::CollectiveOpInterface, dist::BucketOp>(inner);
    };
    time += isa<dist::AccumulateOp>(op)
                ? getWorkTime(&op, rates)
                : sumOverRuns(&op, [&](Operation *inner) {
                    return isNoWork(inner) ? 0 : getWorkTime(inner, rates);
                  });
    times.push_back(time);
  }
}

/// Returns the number of the op of this block that defines a value, or -1.
int BlockBuckets::getDefinition(Value value) const {
  Operation *op = value.getDefiningOp();
  return op && op->getBlock() == &block ? numbers.lookup(op) : -1;
}

/// Returns the seconds of a member's copies if it is not alone in a bucket. An
/// aligned all-reduced tensor is computed and read in the bucket's buffer. The
/// shards of several devices are apart and need copies.
static double getCopyTime(Operation *op, int64_t bytes) {
  if (isa<dist::AllReduceOp>(op) && bytes % TESSERA_RT_ARENA_ALIGNMENT == 0)
    return 0;
  auto bytesOf = [](Value value) { return getTensorBytes(value.getType()); };
  double copied = isa<dist::AllGatherOp>(op) ? bytesOf(op->getResult(0))
                                             : bytesOf(op->getOperand(0));
  return kCopyLatency + 2 * copied / getWorkRates(op).bytesPerSecond;
}

/// Adds the members to the problem, sorted by the time at which they are ready.
void BlockBuckets::setReady(MutableArrayRef<Operation *> members,
                            BucketProblem &problem) {
  llvm::stable_sort(members, [&](Operation *a, Operation *b) {
    return getDefinition(a->getOperand(0)) < getDefinition(b->getOperand(0));
  });
  for (Operation *op : members) {
    int definition = getDefinition(op->getOperand(0));
    BucketMember &member = problem.members.emplace_back();
    member.bytes =
        static_cast<int64_t>(getTensorBytes(op->getOperand(0).getType()));
    member.ready = definition < 0 ? 0 : times[definition];
    member.copyTime = getCopyTime(op, member.bytes);
  }
}

/// Finds the last member that each member needs through any ops: by their
/// reads, and by the order of ops with effects, such as exchanges between pp
/// ranks.
void BlockBuckets::setNeeded(ArrayRef<Operation *> members,
                             BucketProblem &problem) {
  llvm::DenseMap<Operation *, int> memberNumbers;
  for (auto [i, op] : llvm::enumerate(members))
    memberNumbers[op] = i;
  std::vector<int> last(ops.size(), -1);
  int lastOfEffects = -1;
  for (auto [i, op] : llvm::enumerate(ops)) {
    int needed = -1;
    forEachRead(op, [&](Value value) {
      if (int definition = getDefinition(value); definition >= 0)
        needed = std::max(needed, last[definition]);
    });
    if (!isMemoryEffectFree(op))
      needed = lastOfEffects = std::max(needed, lastOfEffects);
    last[i] = needed;
    auto it = memberNumbers.find(op);
    if (it == memberNumbers.end())
      continue;
    problem.members[it->second].lastNeeded = needed;
    last[i] = std::max(needed, it->second);
  }
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

static remark::RemarkOpts getBucketRemark() {
  return remark::RemarkOpts::name("BucketCollectives").category("partition");
}

static double toMicroseconds(double seconds) {
  return std::round(seconds * 1e9) / 1e3;
}

/// Reports the bucket that begins with member `begin`.
void BlockBuckets::report(ArrayRef<Operation *> members,
                          const BucketProblem &problem, size_t begin) const {
  size_t end = begin + members.size();
  double alone = 0;
  int64_t bytes = 0;
  for (size_t i = begin; i < end; ++i) {
    alone += problem.getBucketTime(i, i + 1);
    bytes += problem.members[i].bytes;
  }
  double time = problem.getBucketTime(begin, end);
  remark::passed(members.front()->getLoc(), getBucketRemark())
      << remark::add("{0} done as one",
                     members.front()->getName().getStringRef().str())
      << remark::metric("Members", members.size())
      << remark::metric("Bytes", bytes)
      << remark::metric("us", toMicroseconds(time))
      << remark::metric("usLess", toMicroseconds(alone - time));
}

/// Reports why the bucket [begin, end) is not merged with [before, begin).
void BlockBuckets::reportBoundary(ArrayRef<Operation *> members,
                                  const BucketProblem &problem, size_t before,
                                  size_t begin, size_t end) const {
  std::string why = llvm::toString(problem.checkBucket(before, end));
  if (why.empty())
    why = "waiting for the last one, or the copies, takes longer than another "
          "collective";
  remark::missed(members[begin]->getLoc(), getBucketRemark())
      << remark::add("{0} begins another bucket",
                     members[begin]->getName().getStringRef().str())
      << remark::reason("{0}", why);
}

//===----------------------------------------------------------------------===//
// Rewrite
//===----------------------------------------------------------------------===//

/// Limits a bucket of reduce-scatters that run in each micro-batch to an eighth
/// of their bytes: they exist so that only shards are kept, and must not all
/// wait for one bucket.
int64_t BlockBuckets::getMaxBytes(ArrayRef<Operation *> members) const {
  auto accumulate = dyn_cast<dist::AccumulateOp>(block.getParentOp());
  if (!accumulate || !accumulate.getReduceEach() ||
      !isa<dist::ReduceScatterOp>(members.front()))
    return maxBytes;
  double bytes = 0;
  for (Operation *op : members)
    bytes += getTensorBytes(op->getOperand(0).getType());
  return std::min(maxBytes, static_cast<int64_t>(bytes / 8));
}

/// Returns a function from the bytes of a device's operand to the seconds of a
/// collective like `op`.
std::function<double(int64_t)> BlockBuckets::getTimes(Operation *op) const {
  auto collective = cast<dist::CollectiveOpInterface>(op);
  return [this, kind = *collective.getCollectiveKind(),
          axes = collective.getAxes().toAxes(mesh)](int64_t bytes) {
    return getCollectiveTime(links, mesh, kind, static_cast<double>(bytes),
                             axes);
  };
}

void BlockBuckets::runKey(ArrayRef<Operation *> collectives) {
  number();
  SmallVector<Operation *> members(collectives);
  BucketProblem problem;
  problem.maxBytes = getMaxBytes(members);
  problem.getTime = getTimes(members.front());
  setReady(members, problem);
  setNeeded(members, problem);
  problem.maxKeptBytes = maxBytes;
  problem.getKeptBytes = [&](size_t begin, size_t end) {
    return getKeptBytes(ArrayRef(members).slice(begin, end - begin));
  };
  assert(!problem.check());
  BucketPlan plan = planBuckets(problem);
  assert(!plan.verify(problem));

  size_t begin = 0, before = 0;
  SmallVector<ArrayRef<Operation *>> buckets;
  for (size_t size : plan.sizes) {
    ArrayRef<Operation *> bucket = ArrayRef(members).slice(begin, size);
    if (begin > 0)
      reportBoundary(members, problem, before, begin, begin + size);
    if (size > 1) {
      report(bucket, problem, begin);
      buckets.push_back(bucket);
    }
    before = begin;
    begin += size;
  }
  for (ArrayRef<Operation *> bucket : buckets)
    joinAsBucket(bucket);
}

//===----------------------------------------------------------------------===//
// Parameters that are gathered where they are used
//===----------------------------------------------------------------------===//

static int64_t getResultBytes(Operation *op) {
  return static_cast<int64_t>(getTensorBytes(op->getResult(0).getType()));
}

/// Returns the casts, reshapes and permutes from `point` to `gather` that
/// compute its operand, the last one first; nothing if a gather is among them.
static std::optional<SmallVector<Operation *>>
getMakersAfter(Operation *point, Operation *gather) {
  SmallVector<Operation *> makers;
  Operation *op = gather->getOperand(0).getDefiningOp();
  while (op && op->getBlock() == point->getBlock() &&
         !op->isBeforeInBlock(point)) {
    if (isa<dist::AllGatherOp, dist::BucketOp>(op))
      return std::nullopt;
    makers.push_back(op);
    op = op->getNumOperands() ? op->getOperand(0).getDefiningOp() : nullptr;
  }
  return makers;
}

/// Puts gathers of one layer with one key into a bucket. The bucket is placed
/// at its first member, so the others are gathered early. The early results and
/// the buffer that they are copied from take at most as many bytes as the
/// largest gathered parameter. Returns the gathers whose operands depend on
/// other gathers.
SmallVector<Operation *>
BlockBuckets::runGathersOfKey(ArrayRef<Operation *> gathers,
                              int64_t mostBytes) {
  SmallVector<Operation *> candidates, later;
  BucketProblem problem;
  int64_t parts = 1;
  for (Operation *op : gathers) {
    if (!getMakersAfter(gathers.front(), op)) {
      later.push_back(op);
      continue;
    }
    candidates.push_back(op);
    BucketMember &member = problem.members.emplace_back();
    member.bytes =
        static_cast<int64_t>(getTensorBytes(op->getOperand(0).getType()));
    member.copyTime = getCopyTime(op, member.bytes);
    parts = getResultBytes(op) / std::max<int64_t>(member.bytes, 1);
  }
  problem.maxBytes =
      std::min(maxBytes, mostBytes / 2 / std::max<int64_t>(parts, 1));
  problem.getTime = getTimes(gathers.front());
  assert(!problem.check());
  std::vector<size_t> chosen = chooseTogether(problem);
  SmallVector<Operation *> members;
  for (size_t i : chosen)
    members.push_back(candidates[i]);
  if (members.empty())
    return later;
  BucketProblem together = problem;
  together.members.clear();
  for (size_t i : chosen)
    together.members.push_back(problem.members[i]);
  report(members, together, 0);
  for (Operation *op : members)
    for (Operation *maker : llvm::reverse(*getMakersAfter(members.front(), op)))
      maker->moveBefore(members.front());
  joinAsBucket(members);
  return later;
}

void BlockBuckets::runLayer(ArrayRef<Operation *> gathers, int64_t mostBytes) {
  llvm::MapVector<BucketKey, SmallVector<Operation *>> byKey;
  for (Operation *op : gathers)
    byKey[*getKey(op)].push_back(op);
  for (auto &[key, alike] : byKey)
    while (alike.size() > 1)
      alike = runGathersOfKey(alike, mostBytes);
}

/// Layers are gathered one after the other, so consecutive gathers of one layer
/// form a group; gathering a value again starts a new group.
void BlockBuckets::runGathers() {
  SmallVector<SmallVector<Operation *>> layers;
  std::optional<StringRef> current;
  llvm::DenseSet<Value> sources;
  int64_t mostBytes = 0;
  for (Operation &op : block) {
    if (!getKey(&op) || !gathersFromOutside(&op))
      continue;
    std::optional<StringRef> layer =
        getParameterBlock(op.getOperand(0), FollowOperands::FirstTensor);
    if (!layer)
      continue;
    mostBytes = std::max(mostBytes, getResultBytes(&op));
    if (layer != current || sources.contains(op.getOperand(0))) {
      layers.emplace_back();
      sources.clear();
    }
    current = layer;
    sources.insert(op.getOperand(0));
    layers.back().push_back(&op);
  }
  for (ArrayRef<Operation *> layer : layers)
    runLayer(layer, mostBytes);
}

void BlockBuckets::run() {
  llvm::MapVector<BucketKey, SmallVector<Operation *>> byKey;
  for (Operation &op : block)
    if (std::optional<BucketKey> key = getKey(&op);
        key && !gathersFromOutside(&op))
      byKey[*key].push_back(&op);
  for (auto &[key, collectives] : byKey)
    if (collectives.size() > 1)
      runKey(collectives);
  runGathers();
}

namespace {
struct BucketCollectivesPass
    : tessera::impl::BucketCollectivesPassBase<BucketCollectivesPass> {
  using BucketCollectivesPassBase::BucketCollectivesPassBase;
  void runOnOperation() override {
    if (maxBytes <= 0 || getOperation().getOps<dist::MeshOp>().empty())
      return;
    FailureOr<dist::MeshOp> mesh = dist::getOnlyMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    Mesh plain = mesh->getMesh().toMesh();
    MeshLinks links = getMeshLinks(*mesh);
    for (auto func : getOperation().getOps<FunctionOpInterface>()) {
      if (!func->hasAttr(dist::DistDialect::kLocalAttr) || func.isExternal())
        continue;
      for (Block *block : dist::getBlocks(func))
        BlockBuckets(*block, plain, links, maxBytes).run();
    }
  }
};
} // namespace
