//===- ModelBlocks.h - The block of the model that an op is in --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model has numbered blocks. A name says which: "blocks.3.attn.wq" is in
// "blocks.3", "ln_f" in none. Parameters have such names, and so have the
// scopes in which an importer puts its ops. An op is in the block
//
// * of its scope, if it is asked for by location;
// * of the parameter that an operand is computed from. An op without one is in
//   the block of the op before it:
//
//     op                       operands         block
//     %0 = nn.embedding        wte              none
//     %1 = nn.layer_norm %0    blocks.0.ln_1    1, "blocks.0"
//     %2 = math.tanh %1                         1
//     %3 = nn.layer_norm %2    blocks.1.ln_1    2, "blocks.1"
//     %4 = nn.layer_norm %3    ln_f             none
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_MODELBLOCKS_H
#define TESSERA_INTERFACES_MODELBLOCKS_H

#include "mlir/IR/Block.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include <optional>
#include <vector>

namespace tessera {

/// Name of a parameter, an attribute of a function's argument.
inline constexpr llvm::StringLiteral kParameterAttr = "nn.param";

/// Returns the block in a name: "model.layers.3" of "model.layers.3.attn.wq",
/// up to the first number; empty if there is none.
llvm::StringRef getModelBlock(llvm::StringRef name);

/// Returns the importer's name for the scope of an op, such as "blocks.3.attn";
/// empty if the location has none.
llvm::StringRef getScope(mlir::Location loc);

/// The operands through which a value is followed to an argument.
enum class FollowOperands {
  /// The operand of ops that have only one: casts, gathers, changes of shape.
  /// The value is then the argument in another form. Activations lead to no
  /// argument.
  Single,
  /// The first tensor of any op. The value may be computed from several
  /// arguments, such as a quantized parameter from itself and its scale. For
  /// values that are known to come from parameters alone; activations may lead
  /// to any argument.
  FirstTensor
};

/// Returns the argument of a function or a region that `value` is, or is
/// computed from; null if it is computed otherwise.
mlir::BlockArgument
getRootArgument(mlir::Value value,
                FollowOperands follow = FollowOperands::Single);

/// Returns the name of the parameter that `value` is, an argument of a function
/// with kParameterAttr; null if it is none.
mlir::StringAttr getParameterName(mlir::Value value);

/// Returns the block of the parameter that `value` is, or is computed from,
/// such as "blocks.3"; empty for a parameter outside of blocks, and none if
/// there is no parameter.
std::optional<llvm::StringRef>
getParameterBlock(mlir::Value value,
                  FollowOperands follow = FollowOperands::Single);

/// For each op of `block` before `end` (null: all ops), the number of its block
/// of the model, from 1 in the order in which blocks begin, by the parameters
/// of operands; 0 for ops outside of blocks, such as the embedding and the
/// head. A block that begins again has another number.
std::vector<unsigned> numberModelBlocks(mlir::Block &block,
                                        mlir::Operation *end);

} // namespace tessera

#endif // TESSERA_INTERFACES_MODELBLOCKS_H
