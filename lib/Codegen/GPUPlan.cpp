//===- GPUPlan.cpp - Distributes a kernel over the threads of a GPU -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPUPlanner.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "runtime/include/tessera_rt_cuda.h"
#include "tessera/Codegen/ColumnReductions.h"
#include "tessera/Codegen/KernelRows.h"
#include "tessera/Codegen/ReductionLoops.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;
using utils::IteratorType;

/// Maximum threads per block: with more, each has too few registers.
static constexpr int64_t kMaxBlock = 512;
/// Maximum elements of a row that one thread holds.
static constexpr int64_t kMaxHeld = 32;
/// Maximum elements of all values together that one thread holds.
static constexpr int64_t kMaxRegisters = 96;
/// Streaming multiprocessors assumed by the thresholds on rows: an H100 SXM
/// (NVIDIA H100 Tensor Core GPU Architecture white paper). One binary serves
/// all GPUs, so plans do not depend on the GPU that runs them.
static constexpr int64_t kMultiprocessors = 132;
/// Below two rows per multiprocessor, a warp per row would leave most of the
/// GPU idle, so each row has a whole block.
static constexpr int64_t kFewRows = 2 * kMultiprocessors;

std::optional<LinearAccess> GPUPlanner::access(const OpPlan &op,
                                               OpOperand &operand) const {
  auto type = cast<RankedTensorType>(operand.get().getType());
  linalg::GenericOp generic = op.op;
  return getLinearAccess(generic.getMatchingIndexingMap(&operand),
                         type.getShape(), 0);
}

/// Returns the number of elements of a value of the kernel in one row.
int64_t GPUPlanner::rowElements(Value value) const {
  return cast<RankedTensorType>(value.getType()).getNumElements() / plan.rows;
}

/// Merges loops of a group that all accesses traverse with one stride.
void GPUPlanner::makeRuns(OpPlan &op) {
  SmallVector<LinearAccess> accesses;
  for (OpOperand &operand : op.op->getOpOperands())
    if (isa<RankedTensorType>(operand.get().getType()))
      if (auto linear = access(op, operand))
        accesses.push_back(*linear);
  for (LoopGroup *group : {&op.rows, &op.parallel, &op.reductions}) {
    for (unsigned loop : group->loops) {
      int64_t size = op.sizes[loop];
      bool merges =
          !group->runs.empty() &&
          llvm::all_of(accesses, [&](const LinearAccess &a) {
            return a.strides[group->runs.back().last] == a.strides[loop] * size;
          });
      if (merges) {
        group->runs.back().last = loop;
        group->runs.back().size *= size;
      } else {
        group->runs.push_back({loop, size});
      }
      group->size *= size;
    }
  }
}

void GPUPlanner::chooseWork(OpPlan &op) {
  linalg::GenericOp generic = op.op;
  bool hasOneElement = op.parallel.size == 1;
  if (auto sum = getFusedColumnReduction(generic)) {
    op.work = RowWork::FusedColumnReduction;
    plan.rowsPerSum = sum->rowsPerSum;
    return;
  }
  if (op.reductions.size == 1) {
    op.work = hasOneElement ? RowWork::Scalar : RowWork::Elements;
    return;
  }
  if (hasOneElement) {
    bool combines = true;
    for (unsigned i = 0; i < generic.getNumResults(); ++i)
      combines &= getCombiner(generic, i) != nullptr;
    // Otherwise every thread computes the whole op.
    op.work = combines ? RowWork::Reduction : RowWork::Scalar;
    return;
  }
  op.work = op.parallel.loops.back() > op.reductions.loops.back()
                ? RowWork::ColumnReduction
                : RowWork::Sums;
}

void GPUPlanner::addOps(int64_t rows) {
  plan = KernelPlan();
  plan.rows = rows;
  for (linalg::GenericOp generic : kernel.front().getOps<linalg::GenericOp>()) {
    OpPlan op;
    op.op = generic;
    op.rowLoops = *getRowLoops(generic, rows);
    op.sizes = generic.getStaticLoopRanges();
    for (auto [i, kind] : llvm::enumerate(generic.getIteratorTypesArray())) {
      if (op.sizes[i] == 1)
        continue;
      LoopGroup &group = i < op.rowLoops                  ? op.rows
                         : kind == IteratorType::parallel ? op.parallel
                                                          : op.reductions;
      group.loops.push_back(i);
    }
    makeRuns(op);
    chooseWork(op);
    plan.ops.push_back(op);
  }
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

/// Returns the vector length that fills 16 bytes in most accesses of the op.
int64_t GPUPlanner::bestVector(const OpPlan &op) const {
  const LoopGroup &shared = op.shared();
  if (shared.runs.empty())
    return 1;
  for (int64_t vector = 8; vector > 1; vector /= 2) {
    if (shared.runs.back().size % vector != 0)
      continue;
    int64_t narrow = 0, wide = 0;
    for (OpOperand &operand : op.op->getOpOperands()) {
      if (!isa<RankedTensorType>(operand.get().getType()))
        continue;
      auto linear = access(op, operand);
      if (!linear || !isAligned(op, *linear, vector))
        continue;
      int64_t bytes =
          rt::getElementBytes(getElementTypeOrSelf(operand.get().getType()));
      ++(bytes * vector <= 16 ? narrow : wide);
    }
    if (narrow + wide && narrow >= wide)
      return vector;
  }
  return 1;
}

/// True if the threads of a row take chunks of the op's rows.
static bool isChunked(const OpPlan &op) {
  return isShared(op) || op.work == RowWork::ColumnReduction;
}

/// Chooses one width for all ops of equally long rows, so that they distribute
/// them over threads in the same way.
void GPUPlanner::chooseVectors() {
  llvm::SmallDenseMap<int64_t, int64_t> widths;
  for (const OpPlan &op : plan.ops)
    if (isChunked(op)) {
      int64_t &width = widths[op.shared().size];
      width = std::max(width, bestVector(op));
    }
  for (const OpPlan &op : plan.ops) {
    if (!isChunked(op))
      continue;
    // Rows of one element have no loop.
    const auto &runs = op.shared().runs;
    int64_t last = runs.empty() ? 1 : runs.back().size;
    while (last % widths[op.shared().size])
      widths[op.shared().size] /= 2;
  }
  for (OpPlan &op : plan.ops) {
    if (isChunked(op)) {
      op.vector = widths.lookup(op.shared().size);
      op.chunks = op.shared().size / op.vector;
    } else if (op.work == RowWork::Sums) {
      op.chunks = op.parallel.size;
    }
  }
}

//===----------------------------------------------------------------------===//
// Flat grids
//===----------------------------------------------------------------------===//

bool GPUPlanner::isElementwise() const {
  int64_t elements = 1;
  for (const OpPlan &op : plan.ops) {
    if (op.reductions.size != 1)
      return false;
    if (op.work != RowWork::Elements)
      continue;
    if (elements != 1 && op.parallel.size != elements)
      return false;
    elements = op.parallel.size;
  }
  for (const OpPlan &op : plan.ops)
    for (Value value : op.op->getResults())
      if (rowElements(value) != 1 && !isReadAlike(value))
        return false;
  return true;
}

/// Makes a flat grid if all ops are elementwise over one space: the whole
/// tensor, or the kernel's rows.
bool GPUPlanner::makeFlat() {
  int64_t rows = plan.rows;
  for (int64_t count : {int64_t(1), rows}) {
    addOps(count);
    if (!isElementwise())
      continue;
    // If everything were one row, every thread would compute the ops that run
    // once per row.
    bool hasScalars = llvm::any_of(
        plan.ops, [](const OpPlan &op) { return op.work == RowWork::Scalar; });
    if (count == 1 && rows != 1 && hasScalars)
      continue;
    chooseVectors();
    plan.flat = true;
    int64_t chunks = 1;
    for (const OpPlan &op : plan.ops)
      chunks = std::max(chunks, op.chunks);
    int64_t threads = plan.rows * chunks;
    plan.block = wantedBlock
                     ? wantedBlock
                     : std::clamp<int64_t>(llvm::alignTo(threads, kWarp), kWarp,
                                           kBlockThreads);
    plan.grid = llvm::divideCeil(threads, plan.block);
    plan.threadsPerRow = chunks;
    for (const OpPlan &op : plan.ops)
      for (Value value : op.op->getResults())
        plan.valueStorage[value] = rowElements(value) == 1
                                       ? ValueStorage::Scalar
                                       : ValueStorage::Registers;
    return true;
  }
  addOps(rows);
  return false;
}

//===----------------------------------------------------------------------===//
// Threads of a row, rows of a block
//===----------------------------------------------------------------------===//

int64_t GPUPlanner::widest() const {
  int64_t chunks = 1;
  for (const OpPlan &op : plan.ops)
    chunks = std::max(chunks, op.chunks);
  return chunks;
}

/// Returns the number of elements that a thread holds if rows are in registers.
int64_t GPUPlanner::countHeld() const {
  llvm::SmallDenseMap<Value, unsigned> readers;
  int64_t held = 0;
  for (const OpPlan &op : plan.ops) {
    if (!isShared(op))
      continue;
    SmallPtrSet<Value, 8> read;
    for (OpOperand *operand : linalg::GenericOp(op.op).getDpsInputOperands())
      if (isa<RankedTensorType>(operand->get().getType()))
        read.insert(operand->get());
    int64_t elements = op.chunksPerThread * op.vector;
    for (OpOperand *operand : linalg::GenericOp(op.op).getDpsInputOperands())
      if (read.erase(operand->get()) && ++readers[operand->get()] == 2)
        held += elements;
    if (op.work != RowWork::Reduction)
      held += elements * op.op->getNumResults();
  }
  return held;
}

void GPUPlanner::chooseThreadsPerRow() {
  int64_t chunks = widest();
  int64_t rows = plan.rows / plan.rowsPerSum;
  bool hasFewRows = rows < kFewRows;
  // Registers for sums limit how many warps run at once, so a thread has one
  // chunk if a block has enough threads (norm backward of 768 columns on an
  // H200: 65 us with 96 threads per row, 114 us with 32).
  bool carriesSums = plan.rowsPerSum > 1 && !wantedBlock;
  auto setSizes = [&](int64_t threadsPerRow, int64_t rowsPerBlock) {
    plan.threadsPerRow = threadsPerRow;
    plan.rowsPerBlock = rowsPerBlock;
    for (OpPlan &op : plan.ops)
      op.chunksPerThread = llvm::divideCeil(op.chunks, threadsPerRow);
  };
  auto inWarp = [&](int64_t threadsPerRow) {
    int64_t block = wantedBlock ? wantedBlock : 4 * kWarp;
    int64_t most = llvm::PowerOf2Ceil(rows);
    int64_t rowsPerBlock = std::min(block / threadsPerRow, most);
    // Use whole warps, so that all lanes take part in shuffles.
    rowsPerBlock = std::max(rowsPerBlock, kWarp / threadsPerRow);
    setSizes(threadsPerRow, wantedBlock ? block / threadsPerRow : rowsPerBlock);
  };
  auto inBlock = [&] {
    bool hasColumns = llvm::any_of(plan.ops, [](const OpPlan &op) {
      return op.work == RowWork::ColumnReduction;
    });
    int64_t wanted =
        hasColumns ? chunks * llvm::divideCeil(kBlockThreads, chunks)
        : carriesSums && chunks <= kBlockThreads ? chunks
                                                 : llvm::divideCeil(chunks, 2);
    int64_t threadsPerRow =
        std::clamp<int64_t>(llvm::alignTo(wanted, kWarp), 2 * kWarp, kMaxBlock);
    setSizes(wantedBlock ? wantedBlock : threadsPerRow, 1);
  };
  if (needsBlock)
    inBlock();
  else if (chunks <= kWarp)
    inWarp(llvm::PowerOf2Ceil(chunks));
  else if (chunks <= 4 * kWarp && !hasFewRows && !carriesSums)
    inWarp(kWarp);
  else
    inBlock();
  if (plan.rowsPerBlock > 1 && plan.threadsPerRow == kWarp &&
      countHeld() > kMaxRegisters)
    inBlock();
  plan.block = plan.threadsPerRow * plan.rowsPerBlock;
  plan.grid = llvm::divideCeil(rows, plan.rowsPerBlock);
  for (OpPlan &op : plan.ops) {
    if (op.work == RowWork::ColumnReduction && op.chunks < plan.threadsPerRow) {
      op.splits = std::min(plan.threadsPerRow / op.chunks, op.reductions.size);
      // Partial sums take at most a quarter of the shared memory.
      int64_t bytes = 0;
      for (Value value : op.op->getResults())
        bytes += op.parallel.size *
                 rt::getElementBytes(getElementTypeOrSelf(value.getType()));
      op.splits = std::clamp<int64_t>(TESSERA_RT_MAX_SHARED_BYTES / 4 / bytes,
                                      1, op.splits);
      bool combines = true;
      for (unsigned i = 0; i < op.op->getNumResults(); ++i)
        combines &= getCombiner(op.op, i) != nullptr;
      if (!combines)
        op.splits = 1;
    }
    if (isShared(op) && op.chunksPerThread * op.vector > kMaxHeld)
      plan.unrolled = false;
  }
  // Carried sums are always in registers.
  plan.unrolled |= plan.rowsPerSum > 1;
  plan.keepsLoads = plan.unrolled && countHeld() <= kMaxRegisters;
}

KernelPlan GPUPlanner::run() {
  int64_t rows =
      kernel->getAttrOfType<IntegerAttr>(rt::RTDialect::kRowsAttr).getInt();
  addOps(rows);
  if (plan.rowsPerSum == 1 && makeFlat())
    return plan;
  chooseVectors();
  // The storage of values depends on the threads of a row, and the waits depend
  // on the storage. A row whose threads may wait has a block of its own.
  for (bool converged = false; !converged;) {
    for (OpPlan &op : plan.ops)
      op.waits = false;
    plan.unrolled = true;
    bool before = needsBlock;
    chooseThreadsPerRow();
    chooseStorage();
    // There is one copy of shared memory, for the block's only row.
    needsBlock |= llvm::any_of(plan.valueStorage, [](const auto &entry) {
      return entry.second == ValueStorage::Shared;
    });
    findWaits();
    converged = before == needsBlock;
  }
  layOutShared();
  return plan;
}

KernelPlan tessera::planGPUKernel(func::FuncOp kernel,
                                  ArrayRef<InPlace> inPlace, int64_t block) {
  return GPUPlanner(kernel, inPlace, block).run();
}
