//===- PadTokens.h - Tokens to experts in blocks of one size ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_EXPERTS_PADTOKENS_H
#define TESSERA_LIB_EXPERTS_PADTOKENS_H

#include "dialects/Dist/Dist.h"
#include "tessera/Codegen/GenericBuilder.h"

namespace tessera {

/// A collective of tokens: its devices, and the experts that these hold.
struct TokenHop {
  const Mesh &mesh;
  mlir::FlatSymbolRefAttr meshName;
  /// The dimension of tokens that is gathered or scattered over `axes`.
  int64_t dim;
  AxisList axes;
  /// Experts are in blocks of `experts`; a device has the block of its position
  /// on the axes `at`.
  int64_t experts;
  AxisList at;
  /// Tokens from one device to another: as many as there is room for, and those
  /// of an even load.
  int64_t room, even;
  /// The number of the layer for which a lack of room is noted; may be null.
  mlir::IntegerAttr layer;
};

/// Sends tokens by all-to-alls of blocks with `room` rows for each pair of
/// devices. Where a pair has more tokens, the others are NaN.
class TokenPadder {
public:
  explicit TokenPadder(mlir::OpBuilder &b) : b(b) {}

  /// Gathers `tokens` for the experts that their ids choose; rows of other
  /// tokens are 0. `own` are the ids of these tokens, `all` those of the
  /// result.
  mlir::Value dispatch(const TokenHop &hop, mlir::Value tokens, mlir::Value own,
                       mlir::Value all);
  /// Scatters the sums of `sums` over the devices; `all` are the ids of its
  /// tokens, `own` those of the result's.
  mlir::Value combine(const TokenHop &hop, mlir::Value sums, mlir::Value own,
                      mlir::Value all);

private:
  /// Tokens by device of a hop, a row for each.
  struct Rows {
    mlir::Value ids;
    /// The result of rt.route, with a choice for each token and each of
    /// `choices` devices.
    mlir::Value routing;
    /// The row of each choice, -1 without one.
    mlir::Value rowOf;
    int64_t tokens, choices, devices;
    mlir::Attribute hop;
  };

  const Rows &findRows(const TokenHop &hop, mlir::Value ids, bool isOwn);
  mlir::Value routeOwn(GenericBuilder &g, const TokenHop &hop, mlir::Value ids);
  mlir::Value routeAll(GenericBuilder &g, const TokenHop &hop, mlir::Value ids);
  mlir::Value exchange(const TokenHop &hop, const Rows &rows,
                       const Rows &received, mlir::Value tokens);

  mlir::OpBuilder &b;
  mlir::SmallVector<std::unique_ptr<Rows>> known;
};

} // namespace tessera

#endif // TESSERA_LIB_EXPERTS_PADTOKENS_H
