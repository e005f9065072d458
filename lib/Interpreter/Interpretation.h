//===- Interpretation.h - Evaluation of ops on all ranks --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface of the handlers of ops. There are three kinds:
//  * a *scalar* handler computes one element. It serves the op on scalars, on
//    tensors, and in the regions of linalg ops;
//  * a *local* handler computes one rank's results from its operands. It is
//    called once for all ranks that hold the same operands;
//  * a *rank* handler sees all ranks: collectives, calls, control flow.
// Each Interpret<Dialect>.cpp adds its handlers to the registry.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_INTERPRETER_INTERPRETATION_H
#define TESSERA_LIB_INTERPRETER_INTERPRETATION_H

#include "dialects/Dist/Dist.h"
#include "tessera/Interpreter/Interpreter.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include <deque>
#include <map>

namespace tessera::interp {

struct ScalarOp;
/// Returns one element of the result, not yet rounded.
using ScalarFn = Cell (*)(const ScalarOp &op, const Cell *operands);

/// A scalar handler bound to an op.
struct ScalarOp {
  ScalarFn fn = nullptr;
  /// Element types of the last operand, and of the result.
  ElementType in, out;
  /// The predicate of a comparison.
  int64_t predicate = 0;
  /// Set by a handler whose operands are not allowed (division by zero).
  mutable const char *error = nullptr;

  Cell apply(const Cell *operands) const {
    return out.round(fn(*this, operands));
  }
};

/// One rank's evaluation of an op.
class Evaluation {
public:
  Evaluation(mlir::Operation *op, llvm::ArrayRef<mlir::Value> values,
             llvm::ArrayRef<TensorRef> tensors)
      : op(op), values(values), tensors(tensors) {}

  /// Returns an operand, or a value that the op's regions use from outside.
  const TensorRef &get(mlir::Value value) const;
  /// Returns operand `i`.
  const Tensor &operand(unsigned i) const { return *tensors[i]; }
  const TensorRef &operandRef(unsigned i) const { return tensors[i]; }
  /// Returns the value of an optional index operand; 0 without it.
  int64_t getIndex(mlir::Value value) const {
    return value ? (*get(value))[0].i : 0;
  }
  /// Appends a result; the interpretation checks its type.
  mlir::LogicalResult yield(Tensor result) {
    results.push_back(std::make_shared<const Tensor>(std::move(result)));
    return mlir::success();
  }
  mlir::LogicalResult yield(TensorRef result) {
    results.push_back(std::move(result));
    return mlir::success();
  }
  /// Rounds every element and appends the tensor.
  mlir::LogicalResult yieldRounded(Tensor result) {
    const ElementType type = result.getElementType();
    for (int64_t i = 0, n = result.getNumElements(); i < n; ++i)
      result[i] = type.round(result[i]);
    return yield(std::move(result));
  }
  /// Returns a zero tensor of the type of result `i`.
  Tensor makeResult(unsigned i = 0) const {
    return Tensor(op->getResult(i).getType());
  }

  mlir::Operation *const op;
  std::vector<TensorRef> results;

private:
  llvm::ArrayRef<mlir::Value> values;
  llvm::ArrayRef<TensorRef> tensors;
};

using LocalFn = mlir::LogicalResult (*)(Evaluation &);

class Interpretation;
using RankFn = mlir::LogicalResult (*)(Interpretation &, mlir::Operation *);

/// The handlers of all ops, by name; for ops of an interface, by a predicate.
class Registry {
public:
  static const Registry &get();

  void addScalar(llvm::StringRef name, ScalarFn fn) { scalars[name] = fn; }
  void addLocal(llvm::StringRef name, LocalFn fn) { locals[name] = fn; }
  void addRank(llvm::StringRef name, RankFn fn) { ranks[name] = fn; }
  /// Adds a handler for every op that `applies` accepts and that has no handler
  /// of its own.
  void addLocalFor(bool (*applies)(mlir::Operation *), LocalFn fn) {
    byPredicate.push_back({applies, fn});
  }
  template <typename Op, mlir::LogicalResult (*fn)(Op, Evaluation &)>
  void addLocal() {
    addLocal(Op::getOperationName(),
             [](Evaluation &e) { return fn(mlir::cast<Op>(e.op), e); });
  }
  template <typename Op, mlir::LogicalResult (*fn)(Op, Interpretation &)>
  void addRank() {
    addRank(Op::getOperationName(), [](Interpretation &m, mlir::Operation *op) {
      return fn(mlir::cast<Op>(op), m);
    });
  }

  RankFn lookupRank(mlir::Operation *op) const;
  LocalFn lookupLocal(mlir::Operation *op) const;
  /// Returns the scalar handler of an op, bound to its types; none if it has
  /// none.
  std::optional<ScalarOp> lookupScalar(mlir::Operation *op) const;

private:
  Registry();
  llvm::StringMap<ScalarFn> scalars;
  llvm::StringMap<LocalFn> locals;
  llvm::StringMap<RankFn> ranks;
  std::vector<std::pair<bool (*)(mlir::Operation *), LocalFn>> byPredicate;
};

/// The state of one interpretation.
class Interpretation {
public:
  /// If `isStage` is set, the ranks are the devices of one coordinate of the
  /// stage axis, in the order of the mesh without it.
  Interpretation(int64_t numRanks, Statistics *statistics, bool isStage = false)
      : numRanks(numRanks), statistics(statistics), isStage(isStage) {}

  int64_t getNumRanks() const { return numRanks; }
  /// Returns the value on every rank.
  const RankTensors &get(mlir::Value value) const;
  void set(mlir::Value value, RankTensors tensors);

  /// Runs one op and forgets the values that it used last.
  mlir::LogicalResult run(mlir::Operation &op);
  /// Forgets the values that no op after `op` uses.
  void release(mlir::Operation *op);
  /// Runs the ops of a block with its arguments bound to `arguments`, and
  /// returns the operands of its terminator.
  mlir::LogicalResult runBlock(mlir::Block &block,
                               std::vector<RankTensors> arguments,
                               std::vector<RankTensors> &yielded);
  /// Runs a function's body with values of its own.
  mlir::LogicalResult call(mlir::func::FuncOp function,
                           std::vector<RankTensors> arguments,
                           std::vector<RankTensors> &results);

  /// Returns the mesh of an op in the local form; its devices are the ranks.
  mlir::FailureOr<Mesh> getMesh(mlir::Operation *op,
                                mlir::FlatSymbolRefAttr symbol);
  void count(dist::CollectiveOpInterface op, int64_t groupSize);

  /// Counts `count` more runs of a loop's body. Fails, with an error, if all
  /// loops together run more often than an interpreter can follow.
  mlir::LogicalResult addIterations(mlir::Operation *loop, uint64_t count);

  /// Values sent and not yet received, by axis, coordinates, tag and receiving
  /// rank, in order.
  using MessageKey =
      std::tuple<std::string, int64_t, int64_t, int64_t, int64_t>;
  std::map<MessageKey, std::deque<TensorRef>> mail;

private:
  mlir::LogicalResult evaluate(mlir::Operation *op);
  mlir::LogicalResult evaluateLocal(mlir::Operation *op, LocalFn fn);
  mlir::LogicalResult evaluateMeaning(mlir::Operation *op);
  /// The values that no op after `op` uses, by op.
  using LastUses =
      llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value, 2>>;
  const LastUses &getLastUses(mlir::Block *block);

  int64_t numRanks;
  Statistics *statistics;
  bool isStage;
  uint64_t numIterations = 0;
  /// The stack of functions being run, the outermost one first.
  llvm::SmallVector<mlir::func::FuncOp> active;
  llvm::DenseMap<mlir::Value, RankTensors> values;
  llvm::DenseMap<mlir::Block *, LastUses> lastUses;
};

/// Returns slice `index` along the first dimension, on every rank.
RankTensors sliceFirst(const RankTensors &ranks, int64_t index);
/// Stacks slices, at least one, along a new first dimension, on every rank.
RankTensors stack(llvm::ArrayRef<RankTensors> slices);
/// Adds `values` to `sums`, each element rounded to the type.
void addUp(RankTensors &sums, const RankTensors &values);

/// Calls `fn(members)` once for each group of ranks along the axes of an op,
/// see Mesh::group.
void forEachGroup(const Mesh &mesh, llvm::ArrayRef<AxisRef> axes,
                  llvm::function_ref<void(llvm::ArrayRef<int64_t>)> fn);

// Add the handlers of each dialect.
void addArithHandlers(Registry &registry);
void addControlHandlers(Registry &registry);
void addDistHandlers(Registry &registry);
void addExpertHandlers(Registry &registry);
void addLinalgHandlers(Registry &registry);
void addMathHandlers(Registry &registry);
void addNNBackwardHandlers(Registry &registry);
void addNNHandlers(Registry &registry);
void addNNShapeHandlers(Registry &registry);
void addOptimizerHandlers(Registry &registry);
void addRTHandlers(Registry &registry);
void addTensorHandlers(Registry &registry);

} // namespace tessera::interp

#endif // TESSERA_LIB_INTERPRETER_INTERPRETATION_H
