//===- CollectiveList.h - The expected collectives --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After the proof of a partition its collectives are listed on each function
// (dist.collectives): kind, group, type, and the most times that a run does
// them, since unused ones are removed. A pass that expands a proven op (a
// bucket, a ring, a collective matmul, an exchange) adds the collectives that
// the expansion may have, computed from that op and not from the expansion. At
// the end of phase kernels dist-check-collectives compares the function with
// the list, which is exact from there on, so that a mistake of any pass in
// between is found.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COLLECTIVELISTS_COLLECTIVELIST_H
#define TESSERA_COLLECTIVELISTS_COLLECTIVELIST_H

#include "dialects/Dist/Dist.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include <map>
#include <string>

namespace tessera {

/// A collective as the runtime executes it.
struct ListedCollective {
  /// `all_reduce`.
  std::string name;
  /// Its attributes except mesh and shardings: kind, axes, dimension, targets.
  llvm::SmallVector<mlir::NamedAttribute, 4> attributes;
  /// Elements of a device's operand, and their type in transit.
  int64_t numElements = 0;
  mlir::Type element;

  /// The text of a list entry, with the element type in transit: `all_reduce
  /// {axes = #dist.axes<{dp}>, kind = #dist.reduction<sum>} of 72064 x f32`.
  std::string print() const;
};

/// The entry of an existing collective op.
ListedCollective listOp(mlir::Operation *op);

/// The entry of a collective op `Op` with these attributes and number of
/// elements.
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

/// A permute of a chunk along a ring of the `count` devices of `axes`: each
/// device sends to the one at `distance` after it.
ListedCollective listRotation(mlir::RankedTensorType chunk, dist::AxesAttr axes,
                              int64_t count, int64_t distance);

/// Number of times that a run of the function runs `op`: the product of the
/// trips of the loops around it; a loop with unknown bounds counts as one.
int64_t getTimesRun(mlir::Operation *op);

/// Texts of collectives and the number of times that a run does each.
class CollectiveList {
public:
  /// Reads the list from a function; none if there is none.
  static std::optional<CollectiveList> read(mlir::FunctionOpInterface func);
  /// Lists the collectives of the function. It leaves out collectives without
  /// elements, those that move nothing, and ops that are still to be expanded.
  static CollectiveList collect(mlir::FunctionOpInterface func);

  /// Writes the list to a function.
  void write(mlir::FunctionOpInterface func) const;
  /// Removes from the list what the function does in `before` but no longer in
  /// `after`, because a pass found a repetition unnecessary. New entries in
  /// `after` are not added.
  void takeOff(const CollectiveList &before, const CollectiveList &after);
  /// Whether the list is an upper bound of the number of each collective.
  bool isBound() const { return bound; }
  void setBound() { bound = true; }
  /// Adds a collective that a run does `times` times.
  void add(const ListedCollective &collective, int64_t times);
  /// Adds all entries of another list.
  void add(const CollectiveList &other);
  /// The first difference between this list and `got`, as "expects 2 of X but
  /// got 1"; empty if there is none. If the list is a bound, fewer are not a
  /// difference.
  std::string explainDifference(const CollectiveList &got) const;

private:
  std::map<std::string, int64_t> times;
  bool bound = false;
};

/// Adds a collective that `op` expands to, as often as `op` runs, to the list
/// of its function, if it has one.
void addExpected(mlir::Operation *op, const ListedCollective &collective,
                 int64_t number = 1);

} // namespace tessera

#endif // TESSERA_COLLECTIVELISTS_COLLECTIVELIST_H
