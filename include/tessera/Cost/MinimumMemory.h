//===- MinimumMemory.h - Memory of a model before a plan --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes of a whole model before there is a plan, by category; the number of
// devices they need; the state per device under ZeRO.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_MINIMUMMEMORY_H
#define TESSERA_COST_MINIMUMMEMORY_H

#include "tessera/Cost/Estimates.h"
#include "tessera/Report/Table.h"
#include "llvm/Support/JSON.h"

namespace tessera::cost {

/// The memory that training a whole model takes, in bytes, and the fewest
/// devices of `capacity` that hold it.
struct MinimumMemory {
  std::string model;
  double parameters = 0;
  /// Only precision, optimizer, batch and sequence matter.
  Plan plan;
  /// Bytes of the whole model; activations by the rule of thumb of Estimates.h.
  StateBytes state;
  double activations = 0;
  /// Memory of a device.
  double capacity = 0;
  /// The fewest devices that hold all of it, filled completely and to 75 %.
  int64_t devices = 0, devicesAtThreeQuarters = 0;

  /// State per device for a number of ranks under ZeRO 0 to 3.
  struct Row {
    int64_t ranks;
    double zero[4];
  };
  std::vector<Row> rows;

  double total() const { return state.sum() + activations; }
};

/// `layers` and `hidden` determine the activations of one micro-batch.
MinimumMemory makeMinimumMemory(const std::string &model, double parameters,
                                int64_t layers, int64_t hidden,
                                const Plan &plan, double capacity);

/// The bytes of the whole model by category.
Table categoryTable(const MinimumMemory &minimum);
/// The state per device by the number of ranks and the stage of ZeRO, in GB of
/// 1e9 bytes; "*" marks what is more than a device has.
Table zeroTable(const MinimumMemory &minimum);

/// "at least 18 devices of 85.9 GB (80.0 GiB); 24 filled to 75 %".
std::string minimumText(const MinimumMemory &minimum);

/// Prints these tables.
void print(const MinimumMemory &minimum, llvm::raw_ostream &os);
/// The same as JSON. All sizes are in bytes.
llvm::json::Object toJson(const MinimumMemory &minimum);

} // namespace tessera::cost

#endif // TESSERA_COST_MINIMUMMEMORY_H
