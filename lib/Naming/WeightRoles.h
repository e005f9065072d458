//===- WeightRoles.h - Roles of dimensions between weights ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain C++ apart from IR: matmuls of weights in, roles of classes out.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_NAMING_WEIGHTROLES_H
#define TESSERA_LIB_NAMING_WEIGHTROLES_H

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace tessera {

/// A matmul of a weight with another value. A weight that is used twice has
/// two.
struct WeightUse {
  /// The parameter's number.
  unsigned weight;
  /// The class that the matmul sums over, and the class that only the weight
  /// gives the result; the major one of several, none if all have size 1.
  std::optional<unsigned> taken, made;
  int64_t elements;
};

/// The classes of a graph between its weights.
struct WeightRoles {
  /// The class that most weights take or make, which the layers hand on;
  /// none if no two weights share one.
  std::optional<unsigned> stream;
  /// The classes between two weights of a layer, in the order of the weights:
  /// a weight makes it, and of the weights that take it more than half, by
  /// elements, make the stream (or a later one, where weights without such a
  /// class have a stream of their own); or a weight makes it and another one
  /// takes it, none of which has such a class or a stream between them: every
  /// second class of a chain of convolutions.
  std::vector<unsigned> inner;
};

/// Finds the roles. `isNormalized`: whether a norm normalises a class, which
/// decides between classes that as many weights touch. `isKnown`: whether a
/// class has a role already; it gets no other one. `isInner`: whether this
/// role is that of a class within a layer.
WeightRoles findWeightRoles(const std::vector<WeightUse> &uses,
                            const std::function<bool(unsigned)> &isNormalized,
                            const std::function<bool(unsigned)> &isKnown,
                            const std::function<bool(unsigned)> &isInner);

} // namespace tessera

#endif // TESSERA_LIB_NAMING_WEIGHTROLES_H
