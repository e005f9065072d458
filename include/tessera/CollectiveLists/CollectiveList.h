//===- CollectiveList.h - The collectives that must come --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After the proof of a partition its collectives are listed on each function
// (dist.collectives): kind, group, type, and how often a run does them at most,
// since those that nothing uses are removed. A pass that expands an op which
// was proven (a bucket, a ring, a collective matmul, an exchange) adds what may
// come of it, computed from that op and not from what it makes. At the end of
// phase kernels dist-check-collectives holds the function to the list, which is
// exact from there on, so that a mistake of any pass in between is found.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COLLECTIVELISTS_COLLECTIVELIST_H
#define TESSERA_COLLECTIVELISTS_COLLECTIVELIST_H

#include "dialects/Dist/Dist.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include <map>
#include <string>

namespace tessera {

/// A collective as the runtime does it.
struct ListedCollective {
  /// `all_reduce`.
  std::string name;
  /// Its attributes but for mesh and shardings: kind, axes, dimension, targets.
  llvm::SmallVector<mlir::NamedAttribute, 4> attributes;
  /// Elements of a device's operand, and their type on the way.
  int64_t numElements = 0;
  mlir::Type element;

  /// The text of a list, with the type that elements have on the way:
  /// `all_reduce {axes = #dist.axes<{dp}>, kind = #dist.reduction<sum>} of
  /// 72064 x f32`.
  std::string print() const;
};

/// A collective op as it is.
ListedCollective listOp(mlir::Operation *op);

/// A collective of name `Op` with these attributes, of so many elements.
template <typename Op>
ListedCollective listNew(llvm::ArrayRef<mlir::NamedAttribute> attributes,
                         int64_t numElements, mlir::Type element) {
  ListedCollective listed;
  listed.name = Op::getOperationName().split('.').second.str();
  listed.attributes.assign(attributes.begin(), attributes.end());
  listed.numElements = numElements;
  listed.element = element;
  return listed;
}

/// A permute along a ring of the `count` devices of `axes`, of as many elements
/// as `chunk` has: each sends to the one `distance` after it.
ListedCollective listRotation(mlir::Value chunk, mlir::Type element,
                              dist::AxesAttr axes, int64_t count,
                              int64_t distance);

/// How often a run of the function runs `op`: the product of the trips of the
/// loops around it; a loop whose bounds are not known counts as one.
int64_t getTimesRun(mlir::Operation *op);

/// Texts of collectives and how often a run does each.
class CollectiveList {
public:
  /// The list on a function; none if it has none.
  static std::optional<CollectiveList> read(mlir::FunctionOpInterface func);
  /// The collectives that the function has. Those of no elements and those that
  /// move nothing are left out, and so are ops that are to be expanded.
  static CollectiveList collect(mlir::FunctionOpInterface func);

  /// Puts the list on a function.
  void write(mlir::FunctionOpInterface func) const;
  /// Takes off what a function does less often than it did, because a pass
  /// found that it need not be done again. What is new in `after` is not added.
  void takeOff(const CollectiveList &before, const CollectiveList &after);
  /// The list says how often a run does each collective at most.
  bool isBound() const { return bound; }
  void setBound() { bound = true; }
  /// Adds a collective that a run does so many times.
  void add(const ListedCollective &collective, int64_t times);
  /// Adds all entries of another list.
  void add(const CollectiveList &other);
  /// "expects 2 of X but got 1": the first difference of what a function has;
  /// empty if there is none. Fewer are no difference from a bound.
  std::string explainDifference(const CollectiveList &got) const;

private:
  std::map<std::string, int64_t> times;
  bool bound = false;
};

/// Adds a collective that must come of `op`, as often as that runs, to the list
/// of its function, if it has one.
void addExpected(mlir::Operation *op, const ListedCollective &collective,
                 int64_t number = 1);

} // namespace tessera

#endif // TESSERA_COLLECTIVELISTS_COLLECTIVELIST_H
