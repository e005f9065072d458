//===- Footprint.cpp - Memory usage of an interpretation ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Footprint.h"
#include "dialects/Dist/Dist.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "tessera/Interpreter/Verify.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include <sys/resource.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::interp;

static double bytesOf(Type type) {
  double bytes = sizeof(Cell);
  if (auto shaped = dyn_cast<ShapedType>(type))
    for (int64_t size : shaped.getShape())
      bytes *= static_cast<double>(size);
  return bytes;
}

//===----------------------------------------------------------------------===//
// Devices that hold one value
//===----------------------------------------------------------------------===//

namespace {
/// The axes of the mesh along which a value may differ, as a bit mask.
using AxisSet = uint64_t;

/// Estimates one function.
class Estimator {
public:
  explicit Estimator(func::FuncOp function);
  double getPeak(Block &block);

private:
  double bytesOnAll(Value value) const;
  AxisSet axesOf(ArrayRef<AxisRef> axes, bool wholeOnly) const;
  AxisSet axesOf(ValueRange values) const;
  AxisSet getArgumentAxes(func::FuncOp function, BlockArgument argument) const;
  /// Sets the axes of the results of an op without regions.
  void enter(Operation &op);
  /// Sets the axes of the results of an op whose regions have been visited.
  void leave(Operation &op);

  Mesh mesh;
  AxisSet all = 0;
  llvm::DenseMap<Value, AxisSet> varies;
};
} // namespace

Estimator::Estimator(func::FuncOp function) {
  if (!function->hasAttr(dist::DistDialect::kLocalAttr))
    return;
  FailureOr<Mesh> found = getMeshOf(function);
  if (failed(found))
    return;
  mesh = *found;
  // A bit mask has room for 63 axes. A value counts once along any further
  // ones.
  size_t count = std::min<size_t>(mesh.sizes.size(), 63);
  all = (AxisSet(1) << count) - 1;
  for (BlockArgument argument : function.getArguments())
    varies[argument] = getArgumentAxes(function, argument);
}

/// Returns the bytes of a value on all ranks, with each rank's pointer to it.
double Estimator::bytesOnAll(Value value) const {
  double copies = 1, ranks = 1;
  AxisSet axes = varies.lookup(value);
  for (auto [i, size] : llvm::enumerate(mesh.sizes)) {
    ranks *= static_cast<double>(size);
    if (axes >> i & 1)
      copies *= static_cast<double>(size);
  }
  return bytesOf(value.getType()) * copies + ranks * sizeof(TensorRef);
}

/// Returns the axes of sub-axes; with `wholeOnly`, only of those that are whole
/// axes.
AxisSet Estimator::axesOf(ArrayRef<AxisRef> axes, bool wholeOnly) const {
  AxisSet set = 0;
  for (const AxisRef &axis : axes)
    if (!wholeOnly || axis.size == mesh.sizes[axis.axis])
      set |= AxisSet(1) << axis.axis;
  return set & all;
}

AxisSet Estimator::axesOf(ValueRange values) const {
  AxisSet set = 0;
  for (Value value : values)
    set |= varies.lookup(value);
  return set;
}

AxisSet Estimator::getArgumentAxes(func::FuncOp function,
                                   BlockArgument argument) const {
  dist::ShardingAttr attr = dist::getSharding(argument);
  if (!attr)
    return 0;
  Sharding sharding = attr.toSharding(mesh);
  return axesOf(sharding.dimAxes(), /*wholeOnly=*/false) |
         axesOf(sharding.unreduced, /*wholeOnly=*/false);
}

void Estimator::enter(Operation &op) {
  // A global program has one rank and no mesh.
  if (mesh.sizes.empty())
    return;
  AxisSet axes = axesOf(op.getOperands());
  if (auto offset = dyn_cast<dist::AxisOffsetOp>(op))
    axes |= axesOf(offset.getAxes().toAxes(mesh), /*wholeOnly=*/false);
  else if (isa<dist::AllGatherOp, dist::AllReduceOp, dist::BroadcastOp>(op))
    axes &=
        ~axesOf(cast<dist::CollectiveOpInterface>(op).getAxes().toAxes(mesh),
                /*wholeOnly=*/true);
  else if (auto collective = dyn_cast<dist::CollectiveOpInterface>(op))
    axes |= axesOf(collective.getAxes().toAxes(mesh), /*wholeOnly=*/false);
  else if (isa<dist::RecvOp, dist::CollectiveMatmulOp, dist::RingAttentionOp,
               func::CallOp>(op))
    axes = all;
  for (Value result : op.getResults())
    varies[result] = axes;
  // The mapping of operands to region arguments differs from op to op.
  for (Region &region : op.getRegions())
    for (BlockArgument argument : region.getArguments())
      varies[argument] = axes;
}

void Estimator::leave(Operation &op) {
  for (Region &region : op.getRegions())
    for (Block &block : region) {
      ValueRange yielded = block.getTerminator()->getOperands();
      bool isAlike = yielded.size() == op.getNumResults();
      for (auto [i, result] : llvm::enumerate(op.getResults()))
        varies[result] = axesOf(isAlike ? yielded.slice(i, 1) : yielded) |
                         (isAlike ? 0 : axesOf(op.getOperands()));
    }
}

//===----------------------------------------------------------------------===//
// What is alive
//===----------------------------------------------------------------------===//

/// Returns the peak of the live bytes in a block, including its arguments. A
/// value lives from its op to the last op of the block that uses it, itself or
/// in a region.
double Estimator::getPeak(Block &block) {
  llvm::DenseMap<Operation *, double> freed;
  double live = 0;
  auto add = [&](Value value, Operation *def) {
    Operation *last = def;
    for (Operation *user : value.getUsers()) {
      Operation *here = block.findAncestorOpInBlock(*user);
      if (here && (!last || last->isBeforeInBlock(here)))
        last = here;
    }
    double bytes = bytesOnAll(value);
    live += bytes;
    if (last)
      freed[last] += bytes;
  };
  for (BlockArgument argument : block.getArguments())
    add(argument, nullptr);
  double peak = live;
  for (Operation &op : block) {
    double inner = 0;
    enter(op);
    // Bodies on scalars are small; other regions run one at a time.
    for (Region &region : op.getRegions())
      for (Block &body : region)
        inner = std::max(inner, getPeak(body));
    if (op.getNumRegions() && !isa<linalg::LinalgOp>(op))
      leave(op);
    for (Value result : op.getResults())
      add(result, &op);
    peak = std::max(peak, live + inner);
    live -= freed.lookup(&op);
  }
  return peak;
}

double tessera::interp::estimateBytes(func::FuncOp function) {
  if (function.isExternal())
    return 0;
  Estimator estimator(function);
  double peak = 0;
  for (Block &block : function.getBody())
    peak = std::max(peak, estimator.getPeak(block));
  return peak;
}

//===----------------------------------------------------------------------===//
// What there is
//===----------------------------------------------------------------------===//

std::optional<double> tessera::interp::getFreeBytes() {
  std::optional<double> least;
  auto add = [&](double bytes) {
    least = least ? std::min(*least, bytes) : bytes;
  };
  if (auto file = llvm::MemoryBuffer::getFileAsStream("/proc/meminfo")) {
    StringRef rest = (*file)->getBuffer().split("MemAvailable:").second;
    uint64_t kilobytes;
    if (!rest.ltrim().consumeInteger(10, kilobytes))
      add(static_cast<double>(kilobytes) * 1024);
  }
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    add(static_cast<double>(limit.rlim_cur));
  return least;
}

static double bytesOf(TypeRange types) {
  double bytes = 0;
  for (Type type : types)
    bytes += bytesOf(type);
  return bytes;
}

LogicalResult tessera::interp::checkFits(func::FuncOp function) {
  // Inputs and expected results stay alive while the function runs again.
  double needed = estimateBytes(function) +
                  bytesOf(function.getArgumentTypes()) +
                  bytesOf(function.getResultTypes());
  std::optional<double> free = getFreeBytes();
  if (!free || needed <= *free)
    return success();
  return function.emitError("expects memory to interpret the function: about ")
         << llvm::formatv("{0:F1} GB at {1} bytes per element", needed / 1e9,
                          sizeof(Cell))
                .str()
         << " but got " << llvm::formatv("{0:F1} GB", *free / 1e9).str()
         << " that are free";
}
