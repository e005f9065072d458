//===- LowerKernels.cpp - Lowers a kernel on tensors to loops on memory ---===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds one loop over rows. Inside, each op has loops over the rest of its
// iteration space: parallel dimensions outside, reductions inside, with
// accumulators in registers. The last dimension stays innermost in any case.
// All memory is flat and indexed linearly, so that LLVM sees unit strides.
// Floating-point ops get the flag `contract`. The op that accumulates a sum
// also gets `reassoc`, without which LLVM does not vectorize a reduction. No
// flag excludes NaN or infinity: masks are -inf. A reduction ends before masked
// padding.
//
//===----------------------------------------------------------------------===//

#include "tessera/Codegen/LowerKernels.h"
#include "KernelCode.h"
#include "MaskedReductions.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tessera/Codegen/KernelRows.h"

using namespace mlir;
using namespace tessera;
using utils::IteratorType;

namespace {

class KernelLowering : KernelCode {
public:
  KernelLowering(func::FuncOp kernel, ArrayRef<InPlace> inPlace)
      : KernelCode(kernel), inPlace(inPlace) {}
  func::FuncOp run(StringRef name);

private:
  /// The op being lowered.
  struct Loops {
    linalg::GenericOp op;
    unsigned rowLoops = 0;
    SmallVector<int64_t> sizes;
    SmallVector<Value> ivs;
    SmallVector<unsigned> parallel, reductions;
    /// The trip counts of reduction loops that end early.
    DenseMap<unsigned, Value> ends;
  };

  func::FuncOp createFunction(StringRef name);
  void createBuffers();
  Value coordinate(unsigned rowLoops, unsigned loop, ArrayRef<int64_t> sizes);
  Value evaluate(AffineExpr expr);
  Value address(AffineMap map, const Storage &storage);
  Value loopIndex(unsigned loop) override;
  Value load(OpOperand &operand) override;
  /// Builds loops over `dims` with `body` in the innermost; they carry no
  /// values.
  void nest(ArrayRef<unsigned> dims, llvm::function_ref<void()> body);
  void storeResults(ValueRange values);
  void lowerColumns();
  void copyStart(OpOperand &init, Value result);
  void accumulateInMemory(ArrayRef<unsigned> order, bool reassociates);
  void lowerInMemory();
  void endBeforePadding();
  SmallVector<Value> reductionNest(unsigned depth, ValueRange accumulators);
  void lower(linalg::GenericOp op);

  ArrayRef<InPlace> inPlace;
  Value row;
  /// The loops of the op being lowered.
  Loops loops;
};

} // namespace

func::FuncOp KernelLowering::createFunction(StringRef name) {
  SmallVector<Type> types;
  SmallVector<Value> tensors, results;
  Operation *terminator = kernel.front().getTerminator();
  for (BlockArgument argument : kernel.getArguments())
    if (auto type = dyn_cast<RankedTensorType>(argument.getType())) {
      tensors.push_back(argument);
      types.push_back(flat(type));
    }
  for (OpOperand &operand : terminator->getOpOperands()) {
    Value value = operand.get();
    bool isOver = llvm::any_of(inPlace, [&](InPlace pair) {
      return pair.result == operand.getOperandNumber();
    });
    if (isOver)
      continue;
    results.push_back(value);
    types.push_back(flat(cast<RankedTensorType>(value.getType())));
  }
  unsigned firstScalar = types.size();
  for (BlockArgument argument : kernel.getArguments())
    if (argument.getType().isIndex())
      types.push_back(argument.getType());
  types.append(2, b.getIndexType());

  b.setInsertionPoint(kernel);
  auto func = func::FuncOp::create(b, name, b.getFunctionType(types, {}));
  func.setPrivate();
  func->setAttr(rt::RTDialect::kKernelAttr, b.getUnitAttr());
  Block *entry = func.addEntryBlock();
  b.setInsertionPointToStart(entry);
  unsigned next = 0;
  for (Value value : llvm::concat<Value>(tensors, results))
    storage[value] = {entry->getArgument(next++),
                      SmallVector<int64_t>(
                          cast<RankedTensorType>(value.getType()).getShape())};
  next = firstScalar;
  for (BlockArgument argument : kernel.getArguments())
    if (argument.getType().isIndex())
      scalars.map(argument, entry->getArgument(next++));
  for (InPlace pair : inPlace)
    storage[terminator->getOperand(pair.result)] =
        storage.lookup(kernel.getArgument(pair.operand));
  return func;
}

/// Allocates one row of memory for each value inside the kernel, and creates
/// the constants.
void KernelLowering::createBuffers() {
  for (Operation &op : kernel.front()) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      createConstant(constant, kernel->getParentOfType<ModuleOp>());
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic)
      continue;
    unsigned dropped = *getRowLoops(generic, rows);
    for (Value value : generic->getResults()) {
      if (storage.count(value))
        continue;
      auto type = cast<RankedTensorType>(value.getType());
      auto rest = type.getShape().drop_front(dropped);
      auto buffer = MemRefType::get({ShapedType::getNumElements(rest)},
                                    type.getElementType());
      Value memref = memref::AllocaOp::create(b, buffer, ValueRange(),
                                              b.getI64IntegerAttr(64));
      storage[value] = {memref, SmallVector<int64_t>(type.getShape()), dropped};
    }
  }
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

/// Returns the index of loop `loop` of the row, computed from the row's number.
Value KernelLowering::coordinate(unsigned rowLoops, unsigned loop,
                                 ArrayRef<int64_t> sizes) {
  int64_t below = 1;
  for (unsigned i = loop + 1; i < rowLoops; ++i)
    below *= sizes[i];
  Value value = row;
  if (below != 1)
    value = arith::DivUIOp::create(b, value,
                                   arith::ConstantIndexOp::create(b, below));
  if (loop != 0)
    value = arith::RemUIOp::create(
        b, value, arith::ConstantIndexOp::create(b, sizes[loop]));
  return value;
}

Value KernelLowering::evaluate(AffineExpr expr) {
  SmallVector<Value> dims = loops.ivs;
  for (auto [i, iv] : llvm::enumerate(dims))
    if (!iv && expr.isFunctionOfDim(i))
      iv = coordinate(loops.rowLoops, i, loops.sizes);
  for (Value &iv : dims)
    if (!iv)
      iv = row;
  return affine::expandAffineExpr(b, b.getLoc(), expr, dims, {});
}

/// Returns the linear index of an access. An access that stays in its row
/// starts at the row's first element, without delinearizing the row's number.
Value KernelLowering::address(AffineMap map, const Storage &buffer) {
  SmallVector<int64_t> strides = rt::getRowMajorStrides(buffer.shape);
  ArrayRef<AffineExpr> results = map.getResults();
  Value sum;
  unsigned first = 0;
  if (buffer.dropped) {
    first = buffer.dropped;
  } else if (loops.rowLoops && staysInRow(map, loops.rowLoops)) {
    first = loops.rowLoops;
    sum = scale(row, strides[first - 1]);
  }
  for (unsigned i = first; i < results.size(); ++i)
    if (buffer.shape[i] != 1)
      sum = add(sum, scale(evaluate(results[i]), strides[i]));
  return sum ? sum : Value(arith::ConstantIndexOp::create(b, 0));
}

Value KernelLowering::loopIndex(unsigned loop) {
  Value iv = loops.ivs[loop];
  return iv ? iv : coordinate(loops.rowLoops, loop, loops.sizes);
}

Value KernelLowering::load(OpOperand &operand) {
  if (!isa<RankedTensorType>(operand.get().getType()))
    return scalars.lookup(operand.get());
  const Storage &buffer = storage.find(operand.get())->second;
  Value index = address(loops.op.getMatchingIndexingMap(&operand), buffer);
  return memref::LoadOp::create(b, buffer.memref, index);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

SmallVector<Value> KernelLowering::reductionNest(unsigned depth,
                                                 ValueRange accumulators) {
  if (depth == loops.reductions.size())
    return body(loops.op, accumulators, /*reassociates=*/true);
  unsigned loop = loops.reductions[depth];
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value one = arith::ConstantIndexOp::create(b, 1);
  Value size = loops.ends.lookup(loop);
  if (!size)
    size = arith::ConstantIndexOp::create(b, loops.sizes[loop]);
  auto forOp = scf::ForOp::create(b, zero, size, one, accumulators);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forOp.getBody());
  loops.ivs[loop] = forOp.getInductionVar();
  SmallVector<Value> inner =
      reductionNest(depth + 1, forOp.getRegionIterArgs());
  scf::YieldOp::create(b, inner);
  return SmallVector<Value>(forOp.getResults());
}

void KernelLowering::nest(ArrayRef<unsigned> dims,
                          llvm::function_ref<void()> body) {
  if (dims.empty())
    return body();
  unsigned loop = dims.front();
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value one = arith::ConstantIndexOp::create(b, 1);
  Value size = arith::ConstantIndexOp::create(b, loops.sizes[loop]);
  auto forOp = scf::ForOp::create(b, zero, size, one);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forOp.getBody());
  loops.ivs[loop] = forOp.getInductionVar();
  nest(dims.drop_front(), body);
}

void KernelLowering::storeResults(ValueRange values) {
  linalg::GenericOp op = loops.op;
  for (auto [value, result, init] :
       llvm::zip(values, op->getResults(), op.getDpsInitsMutable())) {
    const Storage &buffer = storage.find(result)->second;
    Value index = address(op.getMatchingIndexingMap(&init), buffer);
    memref::StoreOp::create(b, value, buffer.memref, index);
  }
}

/// Lowers a reduction whose innermost loop is parallel as a sum of rows:
/// accumulators are in memory and the parallel loops innermost. Otherwise the
/// loop would read a column for each element.
void KernelLowering::lowerColumns() {
  linalg::GenericOp op = loops.op;
  nest(loops.parallel, [&] {
    SmallVector<Value> starts;
    for (OpOperand &init : op.getDpsInitsMutable())
      starts.push_back(startValue(init));
    storeResults(starts);
  });
  SmallVector<unsigned> order(loops.reductions);
  llvm::append_range(order, loops.parallel);
  accumulateInMemory(order, /*reassociates=*/true);
}

/// Builds the loops `order`, with accumulators that are read and written in
/// each iteration.
void KernelLowering::accumulateInMemory(ArrayRef<unsigned> order,
                                        bool reassociates) {
  linalg::GenericOp op = loops.op;
  nest(order, [&] {
    SmallVector<Value> accumulators;
    for (auto [result, init] :
         llvm::zip(op->getResults(), op.getDpsInitsMutable())) {
      const Storage &buffer = storage.find(result)->second;
      Value index = address(op.getMatchingIndexingMap(&init), buffer);
      accumulators.push_back(memref::LoadOp::create(b, buffer.memref, index));
    }
    storeResults(body(loops.op, accumulators, reassociates));
  });
}

/// Writes the start values of a result to all of its row.
void KernelLowering::copyStart(OpOperand &init, Value result) {
  if (init.get().getDefiningOp<tensor::EmptyOp>())
    return;
  auto type = cast<RankedTensorType>(result.getType());
  int64_t size =
      ShapedType::getNumElements(type.getShape().drop_front(loops.rowLoops));
  auto loop =
      scf::ForOp::create(b, index(0), index(size), index(1), ValueRange());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  auto at = [&](const Storage &buffer) {
    Value within = loop.getInductionVar();
    return buffer.dropped || !loops.rowLoops ? within
                                             : add(scale(row, size), within);
  };
  Value start;
  if (auto fill = init.get().getDefiningOp<linalg::FillOp>()) {
    start = scalars.lookup(fill.getInputs()[0]);
  } else {
    const Storage &from = storage.find(init.get())->second;
    start = memref::LoadOp::create(b, from.memref, at(from));
  }
  const Storage &to = storage.find(result)->second;
  memref::StoreOp::create(b, start, to.memref, at(to));
}

/// Lowers an op whose results depend on more than its parallel loops:
/// iterations run in order, on memory.
void KernelLowering::lowerInMemory() {
  linalg::GenericOp op = loops.op;
  for (auto [result, init] :
       llvm::zip(op->getResults(), op.getDpsInitsMutable()))
    copyStart(init, result);
  SmallVector<unsigned> order;
  for (unsigned i = loops.rowLoops; i < loops.sizes.size(); ++i)
    order.push_back(i);
  accumulateInMemory(order, /*reassociates=*/false);
}

/// Ends the loop of a reduction before its masked padding.
void KernelLowering::endBeforePadding() {
  std::optional<ReductionEnd> end = findReductionEnd(loops.op);
  if (!end || end->loop < loops.rowLoops)
    return;
  Value here = index(end->end);
  if (end->offset)
    here = arith::SubIOp::create(b, here, scalars.lookup(end->offset));
  here = arith::MinSIOp::create(b, here, index(loops.sizes[end->loop]));
  loops.ends[end->loop] = arith::MaxSIOp::create(b, here, index(0));
  Value isTrue = arith::ConstantOp::create(b, b.getBoolAttr(true));
  for (arith::CmpIOp mask : end->masks)
    scalars.map(mask.getResult(), isTrue);
}

void KernelLowering::lower(linalg::GenericOp op) {
  b.setLoc(op.getLoc());
  loops = Loops();
  loops.op = op;
  loops.rowLoops = *getRowLoops(op, rows);
  loops.sizes = op.getStaticLoopRanges();
  loops.ivs.resize(loops.sizes.size());
  for (auto [i, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
    if (i < loops.rowLoops)
      continue;
    (kind == IteratorType::parallel ? loops.parallel : loops.reductions)
        .push_back(i);
  }
  if (!hasPlainResults(op))
    return lowerInMemory();
  unsigned last = loops.sizes.size() - 1;
  if (!loops.reductions.empty() && llvm::is_contained(loops.parallel, last))
    return lowerColumns();
  endBeforePadding();
  nest(loops.parallel, [&] {
    SmallVector<Value> accumulators;
    if (!loops.reductions.empty())
      for (OpOperand &init : op.getDpsInitsMutable())
        accumulators.push_back(startValue(init));
    storeResults(reductionNest(0, accumulators));
  });
}

func::FuncOp KernelLowering::run(StringRef name) {
  func::FuncOp func = createFunction(name);
  createBuffers();
  Block &entry = func.front();
  Value begin = entry.getArgument(entry.getNumArguments() - 2);
  Value end = entry.getArgument(entry.getNumArguments() - 1);
  Value one = arith::ConstantIndexOp::create(b, 1);
  auto loop = scf::ForOp::create(b, begin, end, one);
  func::ReturnOp::create(b);
  b.setInsertionPointToStart(loop.getBody());
  row = loop.getInductionVar();
  for (Operation &op : kernel.front())
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      lower(generic);
  return func;
}

func::FuncOp tessera::lowerKernel(func::FuncOp kernel,
                                  ArrayRef<InPlace> inPlace, StringRef name) {
  return KernelLowering(kernel, inPlace).run(name);
}

int64_t tessera::getKernelGrain(func::FuncOp kernel) {
  // About ten microseconds of work.
  constexpr int64_t kElements = 16 * 1024;
  int64_t rows =
      kernel->getAttrOfType<IntegerAttr>(rt::RTDialect::kRowsAttr).getInt();
  int64_t elements = 0;
  kernel.walk([&](linalg::GenericOp op) {
    int64_t size = 1;
    for (int64_t loop : op.getStaticLoopRanges())
      size *= loop;
    elements += size;
  });
  int64_t perRow = std::max<int64_t>(1, elements / rows);
  return std::clamp<int64_t>(kElements / perRow, 1, std::max<int64_t>(1, rows));
}
