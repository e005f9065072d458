//===- LowerGPUKernels.cpp - A kernel on tensors as GPU threads -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The code of one thread, op by op, as the plan says. A thread takes chunks of
// neighbouring elements with 16-byte accesses where these are aligned. Sums go
// up a warp by exchanges of registers, then over the warps of a block through
// shared memory, always in the same order.
//
// No thread leaves the common path before a barrier or an exchange: a team
// without a row repeats the last one and stores nothing, a thread without a
// chunk repeats the last one and adds nothing.
//
//===----------------------------------------------------------------------===//

#include "LowerGPUKernels.h"
#include "GPUPlan.h"
#include "KernelCode.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <map>

using namespace mlir;
using namespace tessera;

namespace {

constexpr int64_t kWarp = 32;

class GPULowering : KernelCode {
public:
  GPULowering(func::FuncOp kernel, ArrayRef<InPlace> inPlace,
              const KernelPlan &plan)
      : KernelCode(kernel), inPlace(inPlace), plan(plan) {}
  gpu::GPUFuncOp run(gpu::GPUModuleOp module, StringRef name);

private:
  using Elements = SmallVector<Value>;

  // Function and memory.
  SmallVector<Type> bindTensors(SmallVectorImpl<Value> &tensors);
  void createShared();
  Value view(int64_t offset, Type element, int64_t count);
  // Places.
  Value divide(Value value, int64_t by, int64_t bound, bool remainder);
  SmallVector<Value> digits(const LoopGroup &group, Value index);
  void atRow();
  void atParallel(Value index);
  void atReduction(Value index);
  void atShared(Value index);
  Value loopIndex(unsigned loop) override;
  Value evaluate(AffineMap map, const Storage &place);
  Value address(const LinearAccess &access);
  std::optional<LinearAccess> access(OpOperand &operand,
                                     const Storage &place) const;
  // Reading and writing.
  Value load(OpOperand &operand) override;
  void loadChunk(unsigned round);
  Elements loadVector(OpOperand &operand, const Storage &place,
                      const LinearAccess &access);
  void store(OpOperand &init, const Storage &place, ArrayRef<Value> values);
  void storeResults(ArrayRef<Elements> results, Value condition);
  void when(Value condition, llvm::function_ref<void()> build);
  Value both(Value a, Value b);
  // Work.
  void forRounds(
      llvm::function_ref<void(Value chunk, unsigned round, Value isActive)>
          build);
  SmallVector<Value>
  sumLoop(Value begin, int64_t step, ValueRange starts,
          llvm::function_ref<SmallVector<Value>(ValueRange)> build);
  SmallVector<Value> startValues();
  SmallVector<Value> neutralValues();
  Value combine(unsigned result, Value a, Value b);
  bool startsNeutral(unsigned result);
  Value exchange(Value value, int64_t mask);
  Value reduceTeam(unsigned result, Value value, int64_t scratch);
  void lowerScalar();
  void lowerElements();
  void lowerReduction();
  void lowerSums();
  void lowerColumns();
  void addParts(SmallVector<Elements> &sums, Value part, Value chunk,
                Value isActive);
  void lower(const OpPlan &next);
  void lowerFlat(Value block, Value thread);
  void lowerTeams(Value block, Value thread);
  void lowerOps();

  ArrayRef<InPlace> inPlace;
  const KernelPlan &plan;
  /// The row, its number among the team's, whether there is one; null is yes.
  Value row, lane, hasRow;
  /// Of a flat grid, the chunk.
  Value flatChunk;
  Value shared;
  /// Values of one element a row.
  llvm::DenseMap<Value, Value> rowScalars;
  /// Chunks that are in registers: of values, by round; of tensors that were
  /// read, by round and way of reading.
  std::map<std::pair<void *, unsigned>, Elements> held;
  std::map<std::pair<void *, std::vector<int64_t>>, Elements> kept;

  // The op that is lowered, and where its loops are.
  const OpPlan *op = nullptr;
  SmallVector<Value> rowDigits, parallelDigits, reductionDigits;
  Value parallelIndex, reductionIndex;
  /// The element of the chunk, and what was read of the chunk by operand.
  int64_t element = 0;
  unsigned round = 0;
  llvm::DenseMap<unsigned, Elements> chunk;
};

} // namespace

//===----------------------------------------------------------------------===//
// Function and memory
//===----------------------------------------------------------------------===//

/// The tensors that are arguments, in order, and all arguments' types.
SmallVector<Type> GPULowering::bindTensors(SmallVectorImpl<Value> &tensors) {
  SmallVector<Type> types;
  auto bind = [&](Value value) {
    tensors.push_back(value);
    types.push_back(flat(cast<RankedTensorType>(value.getType())));
  };
  for (BlockArgument argument : kernel.getArguments())
    if (isa<RankedTensorType>(argument.getType()))
      bind(argument);
  for (OpOperand &operand : kernel.front().getTerminator()->getOpOperands())
    if (llvm::none_of(inPlace, [&](InPlace pair) {
          return pair.result == operand.getOperandNumber();
        }))
      bind(operand.get());
  for (BlockArgument argument : kernel.getArguments())
    if (argument.getType().isIndex())
      types.push_back(argument.getType());
  return types;
}

/// A part of the block's shared memory.
Value GPULowering::view(int64_t offset, Type element, int64_t count) {
  auto type = MemRefType::get(
      {count}, element, MemRefLayoutAttrInterface(),
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup));
  return memref::ViewOp::create(b, type, shared, index(offset), ValueRange());
}

void GPULowering::createShared() {
  if (!plan.sharedBytes)
    return;
  auto type = MemRefType::get(
      {ShapedType::kDynamic}, b.getI8Type(), MemRefLayoutAttrInterface(),
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup));
  shared = gpu::DynamicSharedMemoryOp::create(b, type);
  for (const OpPlan &next : plan.ops)
    for (OpResult value : linalg::GenericOp(next.op)->getResults()) {
      auto offset = plan.sharedOffsets.find(value);
      if (offset == plan.sharedOffsets.end())
        continue;
      auto tensor = cast<RankedTensorType>(value.getType());
      storage[value] = {view(offset->second, tensor.getElementType(),
                             tensor.getNumElements() / plan.rows),
                        SmallVector<int64_t>(tensor.getShape()), next.rowLoops};
    }
}

gpu::GPUFuncOp GPULowering::run(gpu::GPUModuleOp module, StringRef name) {
  SmallVector<Value> tensors;
  SmallVector<Type> types = bindTensors(tensors);
  b.setInsertionPointToEnd(module.getBody());
  auto func = gpu::GPUFuncOp::create(b, name, b.getFunctionType(types, {}));
  func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  func.setKnownBlockSizeAttr(
      b.getDenseI32ArrayAttr({int32_t(plan.block), 1, 1}));
  b.setInsertionPointToStart(&func.getBody().front());
  for (auto [value, argument] : llvm::zip(tensors, func.getArguments()))
    storage[value] = {argument,
                      SmallVector<int64_t>(
                          cast<RankedTensorType>(value.getType()).getShape())};
  unsigned next = tensors.size();
  for (BlockArgument argument : kernel.getArguments())
    if (argument.getType().isIndex())
      scalars.map(argument, func.getArgument(next++));
  Operation *terminator = kernel.front().getTerminator();
  for (InPlace pair : inPlace)
    storage[terminator->getOperand(pair.result)] =
        storage.lookup(kernel.getArgument(pair.operand));
  for (auto constant : kernel.front().getOps<arith::ConstantOp>())
    createConstant(constant, module);
  createShared();
  Value block = gpu::BlockIdOp::create(b, gpu::Dimension::x);
  Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  if (plan.flat)
    lowerFlat(block, thread);
  else
    lowerTeams(block, thread);
  gpu::ReturnOp::create(b);
  return func;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// A quotient or remainder of a number below `bound`, in 32 bits if that fits.
Value GPULowering::divide(Value value, int64_t by, int64_t bound,
                          bool remainder) {
  if (remainder && bound <= by)
    return value;
  if (by == 1)
    return remainder ? index(0) : value;
  Type type =
      bound < (int64_t(1) << 31) ? Type(b.getI32Type()) : Type(b.getI64Type());
  Value wide = arith::IndexCastUIOp::create(b, type, value);
  Value divisor = arith::ConstantOp::create(b, b.getIntegerAttr(type, by));
  Value result = remainder ? Value(arith::RemUIOp::create(b, wide, divisor))
                           : Value(arith::DivUIOp::create(b, wide, divisor));
  return arith::IndexCastUIOp::create(b, b.getIndexType(), result);
}

/// The number of a group as one number a run.
SmallVector<Value> GPULowering::digits(const LoopGroup &group, Value number) {
  SmallVector<Value> values(group.runs.size());
  int64_t below = 1;
  for (int64_t i = int64_t(values.size()) - 1; i >= 0; --i) {
    int64_t size = group.runs[i].size;
    Value above = divide(number, below, group.size, /*remainder=*/false);
    values[i] = divide(above, size, group.size / below, /*remainder=*/true);
    below *= size;
  }
  return values;
}

void GPULowering::atRow() { rowDigits = digits(op->rows, row); }

void GPULowering::atParallel(Value number) {
  parallelIndex = number;
  parallelDigits = digits(op->parallel, number);
}

void GPULowering::atReduction(Value number) {
  reductionIndex = number;
  reductionDigits = digits(op->reductions, number);
}

void GPULowering::atShared(Value number) {
  if (op->work == RowWork::Reduction)
    atReduction(number);
  else
    atParallel(number);
}

Value GPULowering::loopIndex(unsigned loop) {
  auto inGroup = [&](const LoopGroup &group, Value number) -> Value {
    int64_t below = 1;
    for (unsigned other : llvm::reverse(group.loops)) {
      if (other == loop)
        break;
      below *= op->sizes[other];
    }
    Value digit = divide(number, below, group.size, /*remainder=*/false);
    return divide(digit, op->sizes[loop], group.size / below,
                  /*remainder=*/true);
  };
  auto moved = [&](const LoopGroup &group, Value number) -> Value {
    if (&group != &op->shared() || element == 0)
      return number;
    return add(number, index(element));
  };
  if (op->sizes[loop] == 1)
    return index(0);
  if (llvm::is_contained(op->rows.loops, loop))
    return inGroup(op->rows, row);
  if (llvm::is_contained(op->parallel.loops, loop))
    return inGroup(op->parallel, moved(op->parallel, parallelIndex));
  return inGroup(op->reductions, moved(op->reductions, reductionIndex));
}

/// The place of a map that is not linear.
Value GPULowering::evaluate(AffineMap map, const Storage &place) {
  SmallVector<Value> loops;
  for (unsigned i = 0; i < op->sizes.size(); ++i)
    loops.push_back(map.isFunctionOfDim(i) ? loopIndex(i) : index(0));
  SmallVector<Value> indices;
  SmallVector<int64_t> strides = rt::getRowMajorStrides(place.shape), used;
  for (unsigned i = place.dropped; i < map.getNumResults(); ++i) {
    indices.push_back(
        affine::expandAffineExpr(b, b.getLoc(), map.getResult(i), loops, {}));
    used.push_back(strides[i]);
  }
  return linear(indices, used);
}

Value GPULowering::address(const LinearAccess &access) {
  Value sum;
  auto plus = [&](Value term) {
    sum = sum ? Value(arith::AddIOp::create(b, sum, term,
                                            arith::IntegerOverflowFlags::nsw))
              : term;
  };
  auto addGroup = [&](const LoopGroup &group, ArrayRef<Value> values) {
    for (auto [run, value] : llvm::zip(group.runs, values))
      if (int64_t stride = access.strides[run.last])
        plus(scale(value, stride));
  };
  addGroup(op->rows, rowDigits);
  addGroup(op->parallel, parallelDigits);
  addGroup(op->reductions, reductionDigits);
  int64_t constant = access.offset;
  if (element)
    constant += element * access.strides[op->shared().runs.back().last];
  if (constant || !sum)
    plus(index(constant));
  return sum;
}

std::optional<LinearAccess> GPULowering::access(OpOperand &operand,
                                                const Storage &place) const {
  linalg::GenericOp generic = op->op;
  return getLinearAccess(generic.getMatchingIndexingMap(&operand), place.shape,
                         place.dropped);
}

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

/// Elements of one access of at most 16 bytes; 1 if single ones are read.
static int64_t pieceOf(Type element, int64_t vector) {
  if (element.isInteger(1))
    return 1;
  return std::min<int64_t>(vector, 16 / rt::getElementBytes(element));
}

GPULowering::Elements GPULowering::loadVector(OpOperand &operand,
                                              const Storage &place,
                                              const LinearAccess &access) {
  Type type = getElementTypeOrSelf(operand.get().getType());
  int64_t piece = pieceOf(type, op->vector);
  Elements values;
  for (element = 0; element < op->vector; element += piece) {
    Value at = address(access);
    if (piece == 1) {
      values.push_back(memref::LoadOp::create(b, place.memref, at));
      continue;
    }
    Value vector = vector::LoadOp::create(
        b, VectorType::get({piece}, type), place.memref, at,
        /*nontemporal=*/false,
        llvm::MaybeAlign(piece * rt::getElementBytes(type)));
    for (int64_t i = 0; i < piece; ++i)
      values.push_back(vector::ExtractOp::create(b, vector, i));
  }
  element = 0;
  return values;
}

/// Reads what the op wants of a chunk as vectors.
void GPULowering::loadChunk(unsigned number) {
  round = number;
  element = 0;
  chunk.clear();
  linalg::GenericOp generic = op->op;
  for (OpOperand &operand : generic->getOpOperands()) {
    Value value = operand.get();
    auto place = storage.find(value);
    if (generic.getMatchingBlockArgument(&operand).use_empty() ||
        place == storage.end())
      continue;
    ValuePlace where = ValuePlace::Memory;
    if (auto it = plan.places.find(value); it != plan.places.end())
      where = it->second;
    if (where == ValuePlace::Scalar || where == ValuePlace::Registers)
      continue;
    auto linear = access(operand, place->second);
    if (!linear || op->vector == 1 || !isAligned(*op, *linear, op->vector))
      continue;
    std::vector<int64_t> way{int64_t(number), op->shared().size,
                             linear->offset};
    bool keeps = plan.keepsLoads &&
                 readsAlike(*op, op->shared(), *linear, op->shared().size);
    for (const LoopGroup::Run &run : op->rows.runs) {
      way.push_back(run.size);
      way.push_back(linear->strides[run.last]);
    }
    auto key = std::make_pair(value.getAsOpaquePointer(), way);
    auto known = kept.find(key);
    if (keeps && known != kept.end()) {
      chunk[operand.getOperandNumber()] = known->second;
      continue;
    }
    Elements values = loadVector(operand, place->second, *linear);
    chunk[operand.getOperandNumber()] = values;
    if (keeps)
      kept[key] = values;
  }
}

Value GPULowering::load(OpOperand &operand) {
  Value value = operand.get();
  if (!isa<RankedTensorType>(value.getType()))
    return scalars.lookup(value);
  auto place = plan.places.find(value);
  if (place != plan.places.end() && place->second == ValuePlace::Scalar)
    return rowScalars.lookup(value);
  if (place != plan.places.end() && place->second == ValuePlace::Registers)
    return held.find({value.getAsOpaquePointer(), round})->second[element];
  Elements &known = chunk[operand.getOperandNumber()];
  if (!known.empty())
    return known[known.size() == 1 ? 0 : element];
  const Storage &memory = storage.find(value)->second;
  auto linear = access(operand, memory);
  linalg::GenericOp generic = op->op;
  Value at = linear
                 ? address(*linear)
                 : evaluate(generic.getMatchingIndexingMap(&operand), memory);
  Value loaded = memref::LoadOp::create(b, memory.memref, at);
  // The same for all elements of the chunk.
  if (linear && op->vector > 1 &&
      linear->strides[op->shared().runs.back().last] == 0)
    known = {loaded};
  return loaded;
}

/// Writes the elements of a chunk, or one element.
void GPULowering::store(OpOperand &init, const Storage &place,
                        ArrayRef<Value> values) {
  Type type = values[0].getType();
  auto linear = access(init, place);
  linalg::GenericOp generic = op->op;
  int64_t size = values.size();
  int64_t piece = linear && size > 1 && isAligned(*op, *linear, size)
                      ? pieceOf(type, size)
                      : 1;
  for (element = 0; element < size; element += piece) {
    Value at = linear ? address(*linear)
                      : evaluate(generic.getMatchingIndexingMap(&init), place);
    if (piece == 1) {
      memref::StoreOp::create(b, values[element], place.memref, at);
      continue;
    }
    Value vector = vector::FromElementsOp::create(
        b, VectorType::get({piece}, type), values.slice(element, piece));
    vector::StoreOp::create(
        b, vector, place.memref, at, /*nontemporal=*/false,
        llvm::MaybeAlign(piece * rt::getElementBytes(type)));
  }
  element = 0;
}

Value GPULowering::both(Value a, Value other) {
  if (!a || !other)
    return a ? a : other;
  return arith::AndIOp::create(b, a, other);
}

void GPULowering::when(Value condition, llvm::function_ref<void()> build) {
  if (!condition)
    return build();
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  build();
}

/// Writes what the op made of a chunk, where that lies in memory.
void GPULowering::storeResults(ArrayRef<Elements> results, Value condition) {
  linalg::GenericOp generic = op->op;
  bool stores = llvm::any_of(generic->getResults(),
                             [&](Value value) { return storage.count(value); });
  if (!stores)
    return;
  when(condition, [&] {
    for (auto [i, value] : llvm::enumerate(generic->getResults()))
      if (auto place = storage.find(value); place != storage.end())
        store(*generic.getDpsInitOperand(i), place->second, results[i]);
  });
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Builds the code of each chunk of a thread. In a loop no chunk is inactive;
/// otherwise a thread without a chunk repeats the last one.
void GPULowering::forRounds(
    llvm::function_ref<void(Value, unsigned, Value)> build) {
  if (plan.flat)
    return build(flatChunk, 0, Value());
  if (!plan.unrolled) {
    auto loop =
        scf::ForOp::create(b, lane, index(op->chunks), index(plan.team));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    return build(loop.getInductionVar(), 0, Value());
  }
  for (int64_t i = 0; i < op->rounds; ++i) {
    Value number = i ? add(lane, index(i * plan.team)) : lane;
    Value isActive;
    if ((i + 1) * plan.team > op->chunks) {
      Value end = index(op->chunks);
      isActive =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number, end);
      number =
          arith::SelectOp::create(b, isActive, number, index(op->chunks - 1));
    }
    build(number, i, isActive);
  }
}

/// A loop over all reductions from `begin` on that carries sums.
SmallVector<Value>
GPULowering::sumLoop(Value begin, int64_t step, ValueRange starts,
                     llvm::function_ref<SmallVector<Value>(ValueRange)> build) {
  auto loop = scf::ForOp::create(b, begin, index(op->reductions.size),
                                 index(step), starts);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  atReduction(loop.getInductionVar());
  scf::YieldOp::create(b, build(loop.getRegionIterArgs()));
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value> GPULowering::startValues() {
  SmallVector<Value> starts;
  for (OpOperand &init : linalg::GenericOp(op->op).getDpsInitsMutable())
    starts.push_back(startValue(init));
  return starts;
}

//===----------------------------------------------------------------------===//
// Sums of a team
//===----------------------------------------------------------------------===//

SmallVector<Value> GPULowering::neutralValues() {
  SmallVector<Value> values;
  for (unsigned i = 0; i < op->op->getNumResults(); ++i)
    values.push_back(arith::ConstantOp::create(
        b, *arith::getNeutralElement(getCombiner(op->op, i))));
  return values;
}

Value GPULowering::combine(unsigned result, Value a, Value other) {
  linalg::GenericOp generic = op->op;
  Operation *combiner = getCombiner(generic, result);
  Value accumulator =
      generic.getBody()->getArgument(generic.getNumDpsInputs() + result);
  IRMapping mapping;
  for (Value operand : combiner->getOperands())
    mapping.map(operand, operand == accumulator ? a : other);
  return b.clone(*combiner, mapping)->getResult(0);
}

/// Whether a sum starts with what changes nothing.
bool GPULowering::startsNeutral(unsigned result) {
  linalg::GenericOp generic = op->op;
  auto fill =
      generic.getDpsInitOperand(result)->get().getDefiningOp<linalg::FillOp>();
  auto constant =
      fill ? fill.getInputs()[0].getDefiningOp<arith::ConstantOp>() : nullptr;
  if (!constant)
    return false;
  if (auto zero = dyn_cast<FloatAttr>(constant.getValue()))
    if (isa<arith::AddFOp>(getCombiner(generic, result)))
      return zero.getValue().isZero();
  return constant.getValue() ==
         *arith::getNeutralElement(getCombiner(generic, result));
}

/// The value of the lane whose number differs in the bits of `mask`. Lanes
/// exchange words of 32 bits.
Value GPULowering::exchange(Value value, int64_t mask) {
  Type type = value.getType(), word = b.getI32Type();
  unsigned bits = type.getIntOrFloatBitWidth();
  Type whole = b.getIntegerType(bits);
  auto shuffle = [&](Value part) -> Value {
    return gpu::ShuffleOp::create(b, part, int32_t(mask), int32_t(kWarp),
                                  gpu::ShuffleMode::XOR)
        .getShuffleResult();
  };
  Value integer = isa<FloatType>(type)
                      ? Value(arith::BitcastOp::create(b, whole, value))
                      : value;
  if (bits < 32) {
    integer = shuffle(arith::ExtUIOp::create(b, word, integer));
    integer = arith::TruncIOp::create(b, whole, integer);
  } else if (bits == 32) {
    integer = shuffle(integer);
  } else {
    Value half = arith::ConstantOp::create(b, b.getIntegerAttr(whole, 32));
    Value low = shuffle(arith::TruncIOp::create(b, word, integer));
    Value high = shuffle(arith::TruncIOp::create(
        b, word, arith::ShRUIOp::create(b, integer, half)));
    high =
        arith::ShLIOp::create(b, arith::ExtUIOp::create(b, whole, high), half);
    integer =
        arith::OrIOp::create(b, high, arith::ExtUIOp::create(b, whole, low));
  }
  return isa<FloatType>(type)
             ? Value(arith::BitcastOp::create(b, type, integer))
             : integer;
}

/// The sum over the threads of a team, the same for all of them.
Value GPULowering::reduceTeam(unsigned result, Value value, int64_t scratch) {
  for (int64_t mask = std::min(plan.team, kWarp) / 2; mask >= 1; mask /= 2)
    value = combine(result, value, exchange(value, mask));
  if (plan.team <= kWarp)
    return value;
  int64_t warps = plan.team / kWarp;
  Value parts = view(scratch, value.getType(), warps);
  Value first = arith::CmpIOp::create(
      b, arith::CmpIPredicate::eq,
      divide(lane, kWarp, plan.team, /*remainder=*/true), index(0));
  when(first, [&] {
    memref::StoreOp::create(
        b, value, parts, divide(lane, kWarp, plan.team, /*remainder=*/false));
  });
  gpu::BarrierOp::create(b);
  Value total = memref::LoadOp::create(b, parts, index(0));
  for (int64_t warp = 1; warp < warps; ++warp)
    total =
        combine(result, total, memref::LoadOp::create(b, parts, index(warp)));
  return total;
}

/// Bytes of `count` parts of a sum in shared memory.
static int64_t partBytes(int64_t count, Type type) {
  return llvm::alignTo(count * rt::getElementBytes(type), 16);
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

void GPULowering::lowerScalar() {
  linalg::GenericOp generic = op->op;
  chunk.clear();
  SmallVector<Value> values;
  if (op->reductions.size == 1)
    values = body(generic, {}, /*reassociates=*/false);
  else
    values = sumLoop(index(0), 1, startValues(), [&](ValueRange sums) {
      return body(generic, sums, /*reassociates=*/false);
    });
  for (auto [value, result] : llvm::zip(values, generic->getResults()))
    rowScalars[result] = value;
  Value first = plan.flat ? flatChunk : lane;
  Value isFirst;
  if (plan.team > 1)
    isFirst =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, first, index(0));
  SmallVector<Elements> results;
  for (Value value : values)
    results.push_back({value});
  storeResults(results, both(isFirst, hasRow));
}

void GPULowering::lowerElements() {
  linalg::GenericOp generic = op->op;
  forRounds([&](Value number, unsigned which, Value isActive) {
    atShared(scale(number, op->vector));
    loadChunk(which);
    SmallVector<Elements> results(generic->getNumResults());
    for (element = 0; element < op->vector; ++element)
      for (auto [i, value] : llvm::enumerate(body(generic, {}, false)))
        results[i].push_back(value);
    element = 0;
    for (auto [i, value] : llvm::enumerate(generic->getResults()))
      if (plan.places.lookup(value) == ValuePlace::Registers)
        held[{value.getAsOpaquePointer(), which}] = results[i];
    storeResults(results, both(isActive, hasRow));
  });
}

void GPULowering::lowerReduction() {
  linalg::GenericOp generic = op->op;
  SmallVector<Value> sums = neutralValues();
  auto addChunk = [&](Value number, unsigned which) {
    atShared(scale(number, op->vector));
    loadChunk(which);
    SmallVector<Value> next = sums;
    for (element = 0; element < op->vector; ++element)
      next = body(generic, next, /*reassociates=*/false);
    element = 0;
    return next;
  };
  if (plan.unrolled) {
    forRounds([&](Value number, unsigned which, Value isActive) {
      SmallVector<Value> next = addChunk(number, which);
      for (auto [sum, value] : llvm::zip(sums, next))
        sum = isActive ? Value(arith::SelectOp::create(b, isActive, value, sum))
                       : value;
    });
  } else {
    auto loop =
        scf::ForOp::create(b, lane, index(op->chunks), index(plan.team), sums);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    sums.assign(loop.getRegionIterArgs().begin(),
                loop.getRegionIterArgs().end());
    scf::YieldOp::create(b, addChunk(loop.getInductionVar(), 0));
    sums.assign(loop.getResults().begin(), loop.getResults().end());
  }
  chunk.clear();
  int64_t scratch = op->scratch;
  SmallVector<Elements> results;
  for (auto [i, result] : llvm::enumerate(generic->getResults())) {
    Value total = reduceTeam(i, sums[i], scratch);
    scratch += partBytes(plan.team / kWarp, total.getType());
    if (!startsNeutral(i))
      total = combine(i, startValue(*generic.getDpsInitOperand(i)), total);
    rowScalars[result] = total;
    results.push_back({total});
  }
  Value isFirst;
  if (plan.team > 1)
    isFirst =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, index(0));
  storeResults(results, both(isFirst, hasRow));
}

void GPULowering::lowerSums() {
  linalg::GenericOp generic = op->op;
  auto loop = scf::ForOp::create(b, lane, index(op->chunks), index(plan.team));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  atParallel(loop.getInductionVar());
  chunk.clear();
  SmallVector<Value> sums =
      sumLoop(index(0), 1, startValues(), [&](ValueRange carried) {
        return body(generic, carried, /*reassociates=*/false);
      });
  SmallVector<Elements> results;
  for (Value sum : sums)
    results.push_back({sum});
  storeResults(results, hasRow);
}

/// Adds to the sums of the first part those of the others, which lie in shared
/// memory by then: part by part.
void GPULowering::addParts(SmallVector<Elements> &sums, Value part, Value chunk,
                           Value isActive) {
  int64_t scratch = op->scratch, width = op->parallel.size;
  SmallVector<Value> parts;
  for (const Elements &values : sums) {
    int64_t count = (op->splits - 1) * width;
    parts.push_back(view(scratch, values[0].getType(), count));
    scratch += partBytes(count, values[0].getType());
  }
  Value start = scale(chunk, op->vector);
  Value isOther =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, part, index(0));
  when(both(isOther, isActive), [&] {
    Value before = arith::SubIOp::create(b, part, index(1));
    Value place = add(scale(before, width), start);
    for (auto [values, memory] : llvm::zip(sums, parts))
      for (auto [v, value] : llvm::enumerate(values))
        memref::StoreOp::create(b, value, memory, add(place, index(v)));
  });
  gpu::BarrierOp::create(b);
  for (int64_t other = 0; other + 1 < op->splits; ++other)
    for (auto [i, memory] : llvm::enumerate(parts))
      for (auto [v, value] : llvm::enumerate(sums[i]))
        value = combine(i, value,
                        memref::LoadOp::create(
                            b, memory, add(start, index(other * width + v))));
}

void GPULowering::lowerColumns() {
  linalg::GenericOp generic = op->op;
  unsigned numResults = generic->getNumResults();
  // Sums of the rows begin, begin + splits, ... of one chunk.
  auto sumRows = [&](Value number, Value begin, bool fromStart) {
    atParallel(scale(number, op->vector));
    chunk.clear();
    SmallVector<Value> starts;
    for (element = 0; element < op->vector; ++element)
      llvm::append_range(starts, fromStart ? startValues() : neutralValues());
    element = 0;
    SmallVector<Value> flat =
        sumLoop(begin, op->splits, starts, [&](ValueRange carried) {
          loadChunk(0);
          SmallVector<Value> next;
          for (element = 0; element < op->vector; ++element)
            llvm::append_range(
                next,
                body(generic, carried.slice(element * numResults, numResults),
                     /*reassociates=*/false));
          element = 0;
          return next;
        });
    SmallVector<Elements> sums(numResults);
    for (auto [i, value] : llvm::enumerate(flat))
      sums[i % numResults].push_back(value);
    chunk.clear();
    return sums;
  };
  if (op->splits == 1) {
    auto loop =
        scf::ForOp::create(b, lane, index(op->chunks), index(plan.team));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    return storeResults(
        sumRows(loop.getInductionVar(), index(0), /*fromStart=*/true), hasRow);
  }
  Value part = divide(lane, op->chunks, plan.team, /*remainder=*/false);
  Value number = divide(lane, op->chunks, plan.team, /*remainder=*/true);
  Value isActive;
  Value begin = part;
  if (op->chunks * op->splits < plan.team) {
    isActive = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, part,
                                     index(op->splits));
    begin =
        arith::SelectOp::create(b, isActive, part, index(op->reductions.size));
  }
  SmallVector<Elements> sums = sumRows(number, begin, /*fromStart=*/false);
  addParts(sums, part, number, isActive);
  for (unsigned i = 0; i < numResults; ++i)
    if (!startsNeutral(i))
      for (element = 0; element < op->vector; ++element)
        sums[i][element] = combine(i, startValue(*generic.getDpsInitOperand(i)),
                                   sums[i][element]);
  element = 0;
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, part, index(0));
  storeResults(sums, both(isFirst, hasRow));
}

void GPULowering::lower(const OpPlan &next) {
  op = &next;
  b.setLoc(linalg::GenericOp(next.op).getLoc());
  if (next.waits)
    gpu::BarrierOp::create(b);
  atRow();
  parallelDigits.clear();
  reductionDigits.clear();
  parallelIndex = reductionIndex = Value();
  element = round = 0;
  switch (next.work) {
  case RowWork::Scalar:
    return lowerScalar();
  case RowWork::Elements:
    return lowerElements();
  case RowWork::Reduction:
    return lowerReduction();
  case RowWork::Sums:
    return lowerSums();
  case RowWork::Columns:
    return lowerColumns();
  }
}

void GPULowering::lowerOps() {
  for (const OpPlan &next : plan.ops)
    lower(next);
}

void GPULowering::lowerFlat(Value block, Value thread) {
  int64_t threads = plan.rows * plan.team;
  Value number = add(scale(block, plan.block), thread);
  Value isInside;
  if (threads % plan.block)
    isInside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number,
                                     index(threads));
  when(isInside, [&] {
    int64_t bound = plan.grid * plan.block;
    row = divide(number, plan.team, bound, /*remainder=*/false);
    flatChunk = divide(number, plan.team, bound, /*remainder=*/true);
    lowerOps();
  });
}

void GPULowering::lowerTeams(Value block, Value thread) {
  row = block;
  lane = thread;
  if (plan.teams > 1) {
    Value team = divide(thread, plan.team, plan.block, /*remainder=*/false);
    lane = divide(thread, plan.team, plan.block, /*remainder=*/true);
    row = add(scale(block, plan.teams), team);
    if (plan.rows % plan.teams) {
      hasRow = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, row,
                                     index(plan.rows));
      row = arith::SelectOp::create(b, hasRow, row, index(plan.rows - 1));
    }
  }
  lowerOps();
}

GPUKernel tessera::lowerGPUKernel(gpu::GPUModuleOp module, func::FuncOp kernel,
                                  ArrayRef<InPlace> inPlace, StringRef name) {
  KernelPlan plan = planGPUKernel(kernel, inPlace, /*block=*/0);
  gpu::GPUFuncOp func = GPULowering(kernel, inPlace, plan).run(module, name);
  return {func, plan.grid, plan.block, plan.sharedBytes};
}
