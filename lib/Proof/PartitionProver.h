//===- PartitionProver.h - Blocks through a local function ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks over the local function once and stops at the first op that is wrong.
// All methods return false there.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PROOF_PARTITIONPROVER_H
#define TESSERA_LIB_PROOF_PARTITIONPROVER_H

#include "ForeignValues.h"
#include "OpMatcher.h"
#include "dialects/NN/NN.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "tessera/Proof/VerifyPartition.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>

namespace mlir::scf {
class ForOp;
class IfOp;
} // namespace mlir::scf

namespace mlir::tensor {
class ConcatOp;
class ExtractSliceOp;
} // namespace mlir::tensor

namespace tessera {

/// The choices for local ops that fit several ops of the reference: which of
/// them each one stands for.
class Choices {
public:
  /// The choice for `op` among `count` ops; the first one at the first call.
  unsigned get(mlir::Operation *op, unsigned count) {
    return made.try_emplace(op, Choice{0, count}).first->second.index;
  }
  /// Makes the next choice in depth-first order. False if there is none.
  bool advance() {
    while (!made.empty() &&
           made.back().second.index + 1 == made.back().second.count)
      made.pop_back();
    if (!made.empty())
      ++made.back().second.index;
    return !made.empty();
  }

  /// Records that two local ops were matched with this op of the reference.
  void contest(unsigned reference) { contested.insert(reference); }
  /// Whether an op was contested in an earlier search.
  bool isContested(unsigned reference) const { return known.count(reference); }
  /// Starts another search if this one found more contested ops. False if it
  /// did not.
  bool restart() {
    if (contested == known)
      return false;
    known = contested;
    made.clear();
    return true;
  }

private:
  struct Choice {
    unsigned index, count;
  };
  std::set<unsigned> contested, known;
  /// Choices in the order in which they were made.
  llvm::MapVector<mlir::Operation *, Choice> made;
};

class PartitionProver {
public:
  /// `decomposesAll`: decomposes ops of the reference that have their own
  /// reduction even if the local function seems to have all of them.
  PartitionProver(mlir::FunctionOpInterface local, const Mesh &mesh,
                  mlir::FunctionOpInterface global, Choices &choices,
                  bool decomposesAll = false)
      : local(local), global(global), choices(choices),
        decomposesAll(decomposesAll), placements(mesh), foreign(reference),
        expected(local.getContext()),
        matching{placements, reference, expected, states} {}

  PartitionVerdict run();

  /// A called local function and the function of the reference that the
  /// corresponding call names. They are equivalent if that is proven.
  struct Call {
    mlir::FunctionOpInterface local;
    mlir::FlatSymbolRefAttr reference;
  };
  /// The calls of a proven function, in order.
  llvm::ArrayRef<Call> getCalls() const { return calls; }
  /// Ops visited before the first one that the reference lacks: the progress of
  /// the proof.
  int64_t getNumVisited() const {
    return doubt ? numVisitedBeforeDoubt : numVisited;
  }

  /// Axis, coordinates and tag of a message.
  using MessageKey = std::tuple<std::string, int64_t, int64_t, int64_t>;

private:
  bool refute(mlir::Operation *op, const llvm::Twine &why);
  bool giveUp(mlir::Operation *op, const llvm::Twine &why);
  bool refuteValue(mlir::Operation *op, const llvm::Twine &why, int got,
                   int needed);

  GlobalFacts getFacts(const ShardState &state, mlir::Type type) const;
  bool setArguments();
  bool readBoundary(mlir::Operation *where, mlir::Type type,
                    dist::ShardingAttr sharding, mlir::Attribute shape,
                    ShardState &state,
                    llvm::SmallVectorImpl<int64_t> &trueShape,
                    const llvm::Twine &name);
  bool checkDeclared(mlir::Operation *where, mlir::DictionaryAttr mine,
                     mlir::DictionaryAttr theirs, const ShardState &state,
                     const llvm::Twine &name);
  bool checkPlace(mlir::Operation *op, const ShardState &got,
                  const ShardState &needed, const llvm::Twine &name);
  bool checkZeroPadding(mlir::Operation *op, mlir::Type type,
                        const ShardState &got, const ShardState &needed,
                        llvm::ArrayRef<int64_t> trueShape,
                        const llvm::Twine &name);
  bool checkResults(mlir::Operation *terminator);
  bool checkResult(mlir::Operation *terminator, unsigned index);
  bool checkDonation(mlir::Operation *terminator, unsigned argument,
                     int64_t index);

  bool visitBlock(mlir::Block &block);
  bool visit(mlir::Operation *op);
  bool visitByKind(mlir::Operation *op);
  void setState(mlir::Value value, ShardState state);
  bool closeEnds(mlir::Operation *op, ShardState &state, mlir::Type type,
                 const llvm::Twine &name);
  bool visitCollective(dist::CollectiveOpInterface op, mlir::Value operand,
                       mlir::Value result);
  bool visitStart(dist::StartOp op);
  bool visitBucket(dist::BucketOp op);
  template <typename Op> bool visitRegion(Op op);
  bool visitToPartial(dist::ToPartialOp op);
  bool visitOffset(dist::AxisOffsetOp op);
  bool checkRouted(mlir::Operation *op, const ShardState &values,
                   mlir::RankedTensorType type, mlir::Value ids,
                   mlir::Value offset);
  bool visitPackRows(dist::PackRowsOp op);
  bool visitUnpackRows(dist::UnpackRowsOp op);
  bool visitConstant(mlir::Operation *op, const ConstantValue &constant);
  bool visitMask(nn::MaskPaddingOp op);
  bool holdsAll(const ShardState &state, unsigned dim, int64_t size) const;
  std::optional<ShardState> trim(mlir::tensor::ExtractSliceOp op);
  std::optional<ShardState> append(mlir::tensor::ConcatOp op);
  /// The state of the result if `op` only changes padding.
  std::optional<ShardState> resize(mlir::Operation *op);
  bool visitAccumulate(dist::AccumulateOp op);
  std::optional<unsigned> findYielded(dist::AccumulateOp target, int value,
                                      unsigned first, bool isStacked) const;
  bool visitAccumulateAs(dist::AccumulateOp op, dist::AccumulateOp target);
  bool visitAsSome(mlir::Operation *op,
                   llvm::function_ref<bool(mlir::Operation *)> visit);
  std::optional<ShardState> findYielded(mlir::Operation *yield, unsigned index,
                                        mlir::Operation *target);
  bool guessPartial(mlir::scf::ForOp op,
                    llvm::SmallVectorImpl<ShardState> &carried);
  bool visitForFrom(mlir::scf::ForOp op, mlir::scf::ForOp target,
                    llvm::SmallVector<ShardState> carried);
  bool visitForAs(mlir::scf::ForOp op, mlir::scf::ForOp target);
  bool visitFor(mlir::scf::ForOp op);
  bool visitIfAs(mlir::scf::IfOp op, mlir::scf::IfOp target);
  bool visitIf(mlir::scf::IfOp op);
  bool visitSend(dist::SendOp op);
  bool visitRecv(dist::RecvOp op);
  bool visitCall(mlir::CallOpInterface op);
  bool visitOp(mlir::Operation *op);
  bool visitAlone(mlir::Operation *op);
  bool visitScalarOp(mlir::Operation *op, llvm::ArrayRef<int> numbers);
  const ReferenceOp *findOfAnotherValue(mlir::Operation *op,
                                        llvm::ArrayRef<int> numbers) const;
  std::optional<unsigned> findOtherReading(mlir::Operation *op,
                                           llvm::ArrayRef<int> numbers,
                                           unsigned first = 0) const;
  bool explainUnknownOp(mlir::Operation *op, llvm::ArrayRef<int> numbers);
  bool explainForeignOperand(mlir::Operation *op, llvm::ArrayRef<int> numbers);
  bool visitUnknownOp(mlir::Operation *op, llvm::ArrayRef<int> numbers);

  mlir::FunctionOpInterface local, global;
  Choices &choices;
  bool decomposesAll;
  Placements placements;
  ReferenceValues reference;
  ForeignValues foreign;
  ExpectedOps expected;
  StateMap states;
  MatchContext matching;
  /// Loops and branches of the reference around the current op.
  llvm::SmallPtrSet<mlir::Operation *, 4> active;
  /// Values sent but not yet received, in order.
  std::map<MessageKey, std::deque<mlir::Value>> mail;
  llvm::SmallVector<Call> calls;
  /// The tensor by expert that packed rows hold, and its type on a device, by
  /// number of the rows.
  llvm::DenseMap<int, std::pair<ShardState, mlir::RankedTensorType>> packed;
  /// The local op matched with each op of the reference, by number.
  llvm::DenseMap<unsigned, mlir::Operation *> parts;
  /// For each value of the reference that some op was matched with: the other
  /// values that the op fits. Equal ops are merged, so there may be several.
  std::map<int, std::set<int>> otherReadings;
  /// Values numbered from here on are not in the reference.
  int firstForeign = 0;
  int64_t numVisited = 0;
  PartitionVerdict verdict;
  /// The doubt about the first op that the reference lacks. After it nothing is
  /// proven, and only certain differences are refuted.
  std::optional<PartitionVerdict> doubt;
  int64_t numVisitedBeforeDoubt = 0;
};

} // namespace tessera

#endif // TESSERA_LIB_PROOF_PARTITIONPROVER_H
