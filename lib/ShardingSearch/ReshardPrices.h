//===- ReshardPrices.h - Prices of reshards by number -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shardings and shapes are numbered, since a network looks up the price of a
// move a million times. A price starts as a lower bound; the moves of an
// optimum are planned.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_SHARDINGSEARCH_RESHARDPRICES_H
#define TESSERA_LIB_SHARDINGSEARCH_RESHARDPRICES_H

#include "tessera/Interfaces/WorkTime.h"
#include "tessera/Reshard/ReshardPlanner.h"
#include "llvm/ADT/DenseMap.h"
#include <map>

namespace tessera {

/// Seconds as the picoseconds of a network's costs.
int64_t toPicoseconds(double seconds);

class ReshardPrices {
public:
  /// Keeps references to mesh and links.
  ReshardPrices(const Mesh &mesh, const MeshLinks &links,
                const WorkRates &rates)
      : mesh(mesh), links(links), rates(rates) {}

  /// The number of a sharding; equal placements have the same one.
  unsigned number(const Sharding &sharding);
  const Sharding &getSharding(unsigned number) const {
    return *shardings[number];
  }
  /// The number of a shape with elements of this many bytes.
  unsigned numberShape(llvm::ArrayRef<int64_t> shape, int64_t elementBytes);

  /// Picoseconds from one sharding to another: the time of the plan, or a lower
  /// bound without one; search::kInfinite if the move is impossible.
  int64_t getPrice(unsigned from, unsigned to, unsigned shape);
  /// The same for a move to a sharding that is partial over more axes: the
  /// value is moved, and a kernel keeps it on one device along these axes.
  int64_t getPriceOfPartial(unsigned from, unsigned to, unsigned shape);
  /// The least picoseconds of any kernel.
  int64_t getKernelFloor() const { return toPicoseconds(rates.kernelFloor); }
  /// True if links connect nodes; planning then takes a hundred times as long.
  bool hasFarLinks() const;
  /// Plans this move. True if that changed its price.
  bool plan(unsigned from, unsigned to, unsigned shape);

private:
  struct Shape {
    llvm::SmallVector<int64_t, 4> sizes;
    int64_t elementBytes;
  };
  struct Price {
    int64_t cost;
    bool isPlanned;
  };
  /// A plan for moves that look alike, with dimensions in the order of their
  /// description; no seconds if there is none.
  struct PlannedMove {
    struct Step {
      ReshardStep::Kind kind;
      unsigned dim, splitDim;
      /// Shards of each dimension after the step.
      llvm::SmallVector<int64_t, 4> shards;
    };
    std::optional<double> seconds;
    /// Shards of each dimension before the first step.
    llvm::SmallVector<int64_t, 4> shards;
    std::vector<Step> steps;
  };
  double getLocalBytes(unsigned sharding, unsigned shape) const;
  double getReorderTime(unsigned from, unsigned to, unsigned shape) const;
  double getReorderTime(const PlannedMove &move, unsigned from, unsigned to,
                        unsigned shape) const;
  int64_t addKernels(double seconds, double reorder, unsigned to,
                     unsigned shape) const;
  std::vector<std::vector<int64_t>> describeDims(unsigned from, unsigned to,
                                                 unsigned shape) const;
  llvm::SmallVector<unsigned, 4> getOrder(unsigned from, unsigned to,
                                          unsigned shape) const;
  PlannedMove makePlan(unsigned from, unsigned to, unsigned shape) const;
  std::vector<int64_t> describe(unsigned from, unsigned to,
                                unsigned shape) const;
  Price &lookup(unsigned from, unsigned to, unsigned shape);
  llvm::SmallVector<int64_t, 4> getPadded(unsigned from, unsigned to,
                                          unsigned shape) const;

  const Mesh &mesh;
  const MeshLinks &links;
  WorkRates rates;
  std::map<std::vector<int64_t>, unsigned> numbers;
  std::vector<const Sharding *> shardings;
  std::vector<std::unique_ptr<Sharding>> owned;
  std::map<std::vector<int64_t>, unsigned> shapeNumbers;
  std::vector<Shape> shapes;
  llvm::DenseMap<std::pair<uint64_t, unsigned>, Price> prices;
  /// Lower bounds in seconds, and plans, of moves that look alike.
  std::map<std::vector<int64_t>, double> leastTimes;
  std::map<std::vector<int64_t>, PlannedMove> plans;
};

} // namespace tessera

#endif // TESSERA_LIB_SHARDINGSEARCH_RESHARDPRICES_H
