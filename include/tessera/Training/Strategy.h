//===- Strategy.h - Meshes and strategies as options ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses `dp=2,tp=4` and `dp,tp,sp,zero=3`. A strategy is only a short form of
// seed shardings; --dist-apply-strategy writes them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TRAINING_STRATEGY_H
#define TESSERA_TRAINING_STRATEGY_H

#include "tessera/Interfaces/Axes.h"
#include "tessera/Plan/ContextMethod.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace tessera {

/// Parses axes with sizes, major to minor: `dp=2,tp=4`. Fails, with one line,
/// for an empty text, an axis without a size, a repeated axis, a size below 1,
/// or more devices in total than a mesh can have.
llvm::Expected<Mesh> parseMesh(llvm::StringRef text);

/// "dp=2,tp=4".
std::string print(const Mesh &mesh);

/// Axes of a mesh by name, major to minor.
using AxisNames = llvm::SmallVector<std::string, 1>;

/// The parts of a program that a strategy shards over the axes for `dp`, `cp`
/// and `tp` (the axes of these names unless others are given), and over `pp`.
/// If all are off, the seeds of the program are used as they are.
struct Strategy {
  /// Layers over pp, in stages of a pipeline.
  bool pp = false;
  /// Batch over dp.
  bool dp = false;
  /// Heads, ffn and vocabulary over tp.
  bool tp = false;
  /// The residual stream's sequence over tp.
  bool sp = false;
  /// ZeRO stage over dp and cp. 1: optimizer state, 2: gradients too, 3:
  /// parameters too.
  int zero = 0;
  /// Sequence over cp, also in attention, by the method `context`.
  bool cp = false;
  ContextMethod context;
  /// Number of groups of experts, over the innermost devices of dp, cp and tp
  /// together; 1: each device has all experts.
  int64_t ep = 1;
  /// The experts' ffn goes over tp, and the experts over dp and cp alone.
  bool etp = false;
  /// The axes of dp, cp (one) and tp.
  AxisNames dpAxes{"dp"}, cpAxes{"cp"}, tpAxes{"tp"};
  /// A search decides the shardings over all axes but pp.
  bool isSearched = false;

  bool isNone() const { return !isSearched && isUnseeded() && !pp; }
  /// True if only stages are seeded.
  bool isUnseeded() const {
    return !dp && !tp && !sp && zero == 0 && !cp && ep == 1;
  }
  /// True if some axes do not have the usual names.
  bool hasOwnAxes() const {
    return dpAxes != AxisNames{"dp"} || cpAxes != AxisNames{"cp"} ||
           tpAxes != AxisNames{"tp"};
  }
  bool operator==(const Strategy &o) const {
    return isSearched == o.isSearched && pp == o.pp && dp == o.dp &&
           tp == o.tp && sp == o.sp && zero == o.zero && cp == o.cp &&
           context == o.context && ep == o.ep && etp == o.etp &&
           dpAxes == o.dpAxes && cpAxes == o.cpAxes && tpAxes == o.tpAxes;
  }
};

/// Parses a list of `pp`, `dp`, `cp` (or `cp=METHOD`, ContextMethod.h), `tp`,
/// `sp`, `ep=N`, `etp`, `zero=0` to `zero=3`; or `auto`, alone or after `pp`;
/// `none` or the empty text mean no strategy. `dp@x+y`, `cp@x` and `tp@x` name
/// the mesh axes to use for these. Fails for other texts.
llvm::Expected<Strategy> parseStrategy(llvm::StringRef text);

/// "dp,tp,sp,zero=3"; "none" for no strategy.
std::string print(const Strategy &strategy);

/// The axes with these names that a mesh has and that have several devices.
AxisList getAxes(llvm::ArrayRef<std::string> names, const Mesh &mesh);

/// The axes of experts: the innermost `ep` devices of dp, cp and (without etp)
/// tp, in the order of the mesh, which may split an axis. None if the axes have
/// no such part.
std::optional<AxisList> getExpertAxes(const Strategy &strategy,
                                      const Mesh &mesh);

/// Fails if a strategy cannot be used on a mesh: it needs an axis that does not
/// exist, has one twice, or leaves one idle, or experts do not fit its axes.
llvm::Error checkStrategy(const Strategy &strategy, const Mesh &mesh);

} // namespace tessera

#endif // TESSERA_TRAINING_STRATEGY_H
