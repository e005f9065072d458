//===- LowerKernels.cpp - A kernel on tensors as loops on memory ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One loop over rows; in it, op by op, loops over what is left of each op's
// iteration space, parallel dimensions outside and reductions inside, their
// accumulators in registers; except that the last dimension stays innermost.
// All memory is flat and indexed linearly, so that LLVM sees unit strides.
// Floating-point ops get the flag `contract`; the op that accumulates a sum
// gets `reassoc` too, without which no reduction becomes vectors. No flag
// speaks of NaN or infinity: masks are -inf.
//
//===----------------------------------------------------------------------===//

#include "LowerKernels.h"
#include "KernelRows.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace tessera;
using utils::IteratorType;

namespace {

/// Where a tensor of the kernel lies.
struct Storage {
  Value memref;
  SmallVector<int64_t> shape;
  /// Leading dimensions that are not stored: a buffer of one row.
  unsigned dropped = 0;
};

class KernelLowering {
public:
  KernelLowering(func::FuncOp kernel, ArrayRef<InPlace> inPlace)
      : kernel(kernel), inPlace(inPlace),
        b(kernel.getLoc(), kernel.getContext()),
        rows(kernel->getAttrOfType<IntegerAttr>(rt::RTDialect::kRowsAttr)
                 .getInt()) {}
  func::FuncOp run(StringRef name);

private:
  /// One op while it is lowered.
  struct Loops {
    linalg::GenericOp op;
    unsigned rowLoops = 0;
    SmallVector<int64_t> sizes;
    SmallVector<Value> ivs;
    SmallVector<unsigned> parallel, reductions;
  };

  MemRefType flat(RankedTensorType type);
  func::FuncOp createFunction(StringRef name);
  void createBuffers();
  void createConstant(arith::ConstantOp op);
  Value coordinate(unsigned rowLoops, unsigned loop, ArrayRef<int64_t> sizes);
  Value linear(ArrayRef<Value> indices, ArrayRef<int64_t> strides);
  Value add(Value a, Value b);
  Value scale(Value a, int64_t factor);
  Value evaluate(AffineExpr expr, const Loops &loops);
  Value address(const Loops &loops, AffineMap map, const Storage &storage);
  Value load(const Loops &loops, OpOperand &operand);
  Value startValue(const Loops &loops, OpOperand &init);
  SmallVector<Value> body(Loops &loops, ValueRange accumulators);
  Operation *cloneInBody(Operation *op, IRMapping &mapping, Loops &loops,
                         bool accumulates);
  /// Loops over `dims` with `body` in the innermost; these carry no values.
  void nest(Loops &loops, ArrayRef<unsigned> dims,
            llvm::function_ref<void()> body);
  void storeResults(const Loops &loops, ValueRange values);
  void lowerColumns(Loops &loops);
  SmallVector<Value> reductionNest(Loops &loops, unsigned depth,
                                   ValueRange accumulators);
  void lower(linalg::GenericOp op);

  func::FuncOp kernel;
  ArrayRef<InPlace> inPlace;
  ImplicitLocOpBuilder b;
  int64_t rows;
  Value row;
  llvm::DenseMap<Value, Storage> storage;
  /// Index operands of the kernel.
  IRMapping scalars;
};

} // namespace

MemRefType KernelLowering::flat(RankedTensorType type) {
  return MemRefType::get({type.getNumElements()}, type.getElementType());
}

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

void KernelLowering::createConstant(arith::ConstantOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!type) {
    scalars.map(op.getResult(), b.clone(*op)->getResult(0));
    return;
  }
  // A table in the program's read-only data.
  auto module = kernel->getParentOfType<ModuleOp>();
  auto values = cast<DenseElementsAttr>(op.getValue());
  auto flatType =
      RankedTensorType::get({type.getNumElements()}, type.getElementType());
  Attribute data = values.isSplat() ? Attribute(values.resizeSplat(flatType))
                                    : Attribute(values.reshape(flatType));
  std::string name;
  for (auto global : module.getOps<memref::GlobalOp>())
    if (global.getInitialValueAttr() == data)
      name = global.getSymName();
  if (name.empty()) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    int64_t count = llvm::range_size(module.getOps<memref::GlobalOp>());
    name = "table_" + std::to_string(count);
    memref::GlobalOp::create(b, name, b.getStringAttr("private"), flat(type),
                             data, /*constant=*/true, b.getI64IntegerAttr(64));
  }
  Value memref = memref::GetGlobalOp::create(b, flat(type), name);
  storage[op.getResult()] = {memref, SmallVector<int64_t>(type.getShape())};
}

/// Memory for one row of each value that stays inside, and the constants.
void KernelLowering::createBuffers() {
  for (Operation &op : kernel.front()) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      createConstant(constant);
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

Value KernelLowering::add(Value a, Value other) {
  auto flags =
      arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw;
  return a ? arith::AddIOp::create(b, a, other, flags) : other;
}

Value KernelLowering::scale(Value a, int64_t factor) {
  auto flags =
      arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw;
  if (factor == 1)
    return a;
  return arith::MulIOp::create(b, a, arith::ConstantIndexOp::create(b, factor),
                               flags);
}

/// Loop number `loop` of the row: a digit of the row's number.
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

Value KernelLowering::linear(ArrayRef<Value> indices,
                             ArrayRef<int64_t> strides) {
  Value sum;
  for (auto [index, stride] : llvm::zip(indices, strides))
    sum = add(sum, scale(index, stride));
  return sum ? sum : Value(arith::ConstantIndexOp::create(b, 0));
}

Value KernelLowering::evaluate(AffineExpr expr, const Loops &loops) {
  SmallVector<Value> dims = loops.ivs;
  for (auto [i, iv] : llvm::enumerate(dims))
    if (!iv && expr.isFunctionOfDim(i))
      iv = coordinate(loops.rowLoops, i, loops.sizes);
  for (Value &iv : dims)
    if (!iv)
      iv = row;
  return affine::expandAffineExpr(b, b.getLoc(), expr, dims, {});
}

/// The linear index of an access. One that stays in its row starts at the row's
/// first element, without taking the row's number apart.
Value KernelLowering::address(const Loops &loops, AffineMap map,
                              const Storage &place) {
  SmallVector<int64_t> strides = rt::getRowMajorStrides(place.shape);
  ArrayRef<AffineExpr> results = map.getResults();
  Value sum;
  unsigned first = 0;
  if (place.dropped) {
    first = place.dropped;
  } else if (loops.rowLoops && staysInRow(map, loops.rowLoops)) {
    first = loops.rowLoops;
    sum = scale(row, strides[first - 1]);
  }
  for (unsigned i = first; i < results.size(); ++i)
    if (place.shape[i] != 1)
      sum = add(sum, scale(evaluate(results[i], loops), strides[i]));
  return sum ? sum : Value(arith::ConstantIndexOp::create(b, 0));
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

Value KernelLowering::load(const Loops &loops, OpOperand &operand) {
  linalg::GenericOp op = loops.op;
  if (!isa<RankedTensorType>(operand.get().getType()))
    return scalars.lookup(operand.get());
  const Storage &place = storage.find(operand.get())->second;
  Value index = address(loops, op.getMatchingIndexingMap(&operand), place);
  return memref::LoadOp::create(b, place.memref, index);
}

/// What an accumulator starts with: the value of a fill, or what is there.
Value KernelLowering::startValue(const Loops &loops, OpOperand &init) {
  if (auto fill = init.get().getDefiningOp<linalg::FillOp>())
    return scalars.lookup(fill.getInputs()[0]);
  return load(loops, init);
}

Operation *KernelLowering::cloneInBody(Operation *op, IRMapping &mapping,
                                       Loops &loops, bool accumulates) {
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    Value value = loops.ivs[index.getDim()];
    if (!value)
      value = coordinate(loops.rowLoops, index.getDim(), loops.sizes);
    mapping.map(index.getResult(), value);
    return value.getDefiningOp();
  }
  if (auto read = dyn_cast<tensor::ExtractOp>(op)) {
    const Storage &place = storage.find(read.getTensor())->second;
    SmallVector<Value> indices;
    for (Value value : read.getIndices())
      indices.push_back(mapping.lookupOrDefault(value));
    Value index = linear(indices, rt::getRowMajorStrides(place.shape));
    Value value = memref::LoadOp::create(b, place.memref, index);
    mapping.map(read.getResult(), value);
    return value.getDefiningOp();
  }
  Operation *clone = b.clone(*op, mapping);
  if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(clone)) {
    auto iface = cast<arith::ArithFastMathInterface>(clone);
    auto flags = arith::FastMathFlags::contract;
    if (accumulates)
      flags = flags | arith::FastMathFlags::reassoc;
    clone->setAttr(iface.getFastMathAttrName(),
                   arith::FastMathFlagsAttr::get(b.getContext(), flags));
  }
  return clone;
}

/// The body at the current loop indices; gives what it yields.
SmallVector<Value> KernelLowering::body(Loops &loops, ValueRange accumulators) {
  linalg::GenericOp op = loops.op;
  IRMapping mapping(scalars);
  Block *block = op.getBody();
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(&operand);
    if (argument.use_empty())
      continue;
    bool isInit = op.isDpsInit(&operand);
    unsigned number = operand.getOperandNumber() - op.getNumDpsInputs();
    if (isInit && !accumulators.empty())
      mapping.map(argument, accumulators[number]);
    else
      mapping.map(argument,
                  isInit ? startValue(loops, operand) : load(loops, operand));
  }
  auto isAccumulator = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == block &&
           argument.getArgNumber() >= op.getNumDpsInputs();
  };
  for (Operation &inner : block->without_terminator())
    cloneInBody(&inner, mapping, loops,
                !accumulators.empty() &&
                    llvm::any_of(inner.getOperands(), isAccumulator));
  SmallVector<Value> yielded;
  for (Value value : block->getTerminator()->getOperands())
    yielded.push_back(mapping.lookupOrDefault(value));
  return yielded;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

SmallVector<Value> KernelLowering::reductionNest(Loops &loops, unsigned depth,
                                                 ValueRange accumulators) {
  if (depth == loops.reductions.size())
    return body(loops, accumulators);
  unsigned loop = loops.reductions[depth];
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value one = arith::ConstantIndexOp::create(b, 1);
  Value size = arith::ConstantIndexOp::create(b, loops.sizes[loop]);
  auto forOp = scf::ForOp::create(b, zero, size, one, accumulators);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forOp.getBody());
  loops.ivs[loop] = forOp.getInductionVar();
  SmallVector<Value> inner =
      reductionNest(loops, depth + 1, forOp.getRegionIterArgs());
  scf::YieldOp::create(b, inner);
  return SmallVector<Value>(forOp.getResults());
}

void KernelLowering::nest(Loops &loops, ArrayRef<unsigned> dims,
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
  nest(loops, dims.drop_front(), body);
}

void KernelLowering::storeResults(const Loops &loops, ValueRange values) {
  linalg::GenericOp op = loops.op;
  for (auto [value, result, init] :
       llvm::zip(values, op->getResults(), op.getDpsInitsMutable())) {
    const Storage &place = storage.find(result)->second;
    Value index = address(loops, op.getMatchingIndexingMap(&init), place);
    memref::StoreOp::create(b, value, place.memref, index);
  }
}

/// A reduction whose innermost loop is parallel, as a sum of rows: accumulators
/// are in memory and the parallel loops innermost, or each element would be
/// read from a column.
void KernelLowering::lowerColumns(Loops &loops) {
  linalg::GenericOp op = loops.op;
  nest(loops, loops.parallel, [&] {
    SmallVector<Value> starts;
    for (OpOperand &init : op.getDpsInitsMutable())
      starts.push_back(startValue(loops, init));
    storeResults(loops, starts);
  });
  SmallVector<unsigned> order(loops.reductions);
  llvm::append_range(order, loops.parallel);
  nest(loops, order, [&] {
    SmallVector<Value> accumulators;
    for (auto [result, init] :
         llvm::zip(op->getResults(), op.getDpsInitsMutable())) {
      const Storage &place = storage.find(result)->second;
      Value index = address(loops, op.getMatchingIndexingMap(&init), place);
      accumulators.push_back(memref::LoadOp::create(b, place.memref, index));
    }
    storeResults(loops, body(loops, accumulators));
  });
}

void KernelLowering::lower(linalg::GenericOp op) {
  b.setLoc(op.getLoc());
  Loops loops;
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
  unsigned last = loops.sizes.size() - 1;
  if (!loops.reductions.empty() && llvm::is_contained(loops.parallel, last))
    return lowerColumns(loops);
  nest(loops, loops.parallel, [&] {
    SmallVector<Value> accumulators;
    if (!loops.reductions.empty())
      for (OpOperand &init : op.getDpsInitsMutable())
        accumulators.push_back(startValue(loops, init));
    storeResults(loops, reductionNest(loops, 0, accumulators));
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
