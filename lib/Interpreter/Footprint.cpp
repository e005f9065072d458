//===- Footprint.cpp - What an interpretation needs of memory -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Footprint.h"
#include "tessera/Interpreter/Tensor.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include <sys/resource.h>

using namespace mlir;
using namespace tessera::interp;

static double bytesOf(Type type) {
  double bytes = sizeof(Cell);
  if (auto shaped = dyn_cast<ShapedType>(type))
    for (int64_t size : shaped.getShape())
      bytes *= static_cast<double>(size);
  return bytes;
}

static double bytesOf(TypeRange types) {
  double bytes = 0;
  for (Type type : types)
    bytes += bytesOf(type);
  return bytes;
}

/// The most that is alive in a block, with what it is given. A value is alive
/// from its op to the last op of the block that uses it, itself or in a region.
static double getPeak(Block &block) {
  llvm::DenseMap<Operation *, double> freed;
  auto add = [&](Value value, Operation *def) {
    Operation *last = def;
    for (Operation *user : value.getUsers()) {
      Operation *here = block.findAncestorOpInBlock(*user);
      if (here && (!last || last->isBeforeInBlock(here)))
        last = here;
    }
    if (last)
      freed[last] += bytesOf(value.getType());
  };
  for (BlockArgument argument : block.getArguments())
    add(argument, nullptr);
  double live = bytesOf(block.getArgumentTypes()), peak = live;
  for (Operation &op : block) {
    double inner = 0;
    // Bodies of scalars are small; the others run one at a time.
    for (Region &region : op.getRegions())
      for (Block &body : region)
        inner = std::max(inner, getPeak(body));
    for (Value result : op.getResults())
      add(result, &op);
    live += bytesOf(op.getResultTypes());
    peak = std::max(peak, live + inner);
    live -= freed.lookup(&op);
  }
  return peak;
}

double tessera::interp::estimateBytes(func::FuncOp function) {
  if (function.isExternal())
    return 0;
  double peak = 0;
  for (Block &block : function.getBody())
    peak = std::max(peak, getPeak(block));
  return peak;
}

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

LogicalResult tessera::interp::checkFits(func::FuncOp function) {
  // Inputs and expected results stay while the function runs again.
  double needed = estimateBytes(function) +
                  bytesOf(function.getArgumentTypes()) +
                  bytesOf(function.getResultTypes());
  std::optional<double> free = getFreeBytes();
  if (!free || needed <= *free)
    return success();
  return function.emitError("expects memory to interpret the function: about ")
         << llvm::formatv("{0:F1} GB at {1} bytes an element", needed / 1e9,
                          sizeof(Cell))
                .str()
         << " but got " << llvm::formatv("{0:F1} GB", *free / 1e9).str()
         << " that are free";
}
