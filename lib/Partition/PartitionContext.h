//===- PartitionContext.h - Mesh and shardings of a module ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Information shared by all passes of the partitioner, computed once per pass
// and not once per op.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PARTITION_PARTITIONCONTEXT_H
#define TESSERA_LIB_PARTITION_PARTITIONCONTEXT_H

#include "dialects/Dist/Dist.h"
#include "tessera/Partition/ReshardCost.h"
#include "llvm/ADT/DenseMap.h"
#include <memory>

namespace tessera {

/// The mesh of a module and plain copies of its sharding attributes.
class PartitionContext {
public:
  /// Fails, with an error, if the module has several meshes, or a function with
  /// several blocks, which the partitioner does not support.
  static mlir::FailureOr<PartitionContext> get(mlir::ModuleOp module);

  const Mesh &getMesh() const { return mesh; }
  /// Plans reshards on the links of the mesh.
  ReshardPlanner &getPlanner() { return *planner; }
  mlir::FlatSymbolRefAttr getSymbol() const { return symbol; }
  /// Returns the functions with a body on global types, in order.
  llvm::ArrayRef<mlir::FunctionOpInterface> getFunctions() const {
    return functions;
  }

  /// Returns the sharding of a tensor; a value without one is replicated.
  const Sharding &getSharding(mlir::Value value);
  /// Returns the sharding of a result of a function.
  const Sharding &getResultSharding(mlir::FunctionOpInterface func,
                                    unsigned index);
  const Sharding &toPlain(dist::ShardingAttr attr);
  dist::ShardingAttr toAttr(const Sharding &sharding) const {
    return dist::ShardingAttr::get(symbol, mesh, sharding);
  }
  dist::AxesAttr toAttr(llvm::ArrayRef<AxisRef> axes) const {
    return dist::AxesAttr::get(symbol.getContext(), mesh, axes);
  }
  const Sharding &getReplicated(int64_t rank);

  /// Returns the axes of the factors of `op`, by the shardings of its operands
  /// and results; the first tensor that has a factor decides.
  FactorAxes getFactorAxes(mlir::Operation *op, const ShardingRule &rule);

  /// Prints axes for messages.
  std::string print(llvm::ArrayRef<AxisRef> axes) const;
  std::string print(const Sharding &sharding) const;

private:
  Mesh mesh;
  std::unique_ptr<ReshardPlanner> planner;
  mlir::FlatSymbolRefAttr symbol;
  llvm::SmallVector<mlir::FunctionOpInterface> functions;
  llvm::DenseMap<mlir::Attribute, std::unique_ptr<Sharding>> plain;
  llvm::DenseMap<int64_t, std::unique_ptr<Sharding>> replicated;
};

/// Returns the type; null if the value is not a ranked tensor.
inline mlir::RankedTensorType getTensorType(mlir::Value value) {
  return llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
}

/// Returns the bytes of an element; an index counts as eight.
inline int64_t getElementBytes(mlir::RankedTensorType type) {
  if (type.getElementType().isIndex())
    return 8;
  return llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

/// Merges a dictionary of argument or result attributes with `name`.
void setInDictionary(mlir::DictionaryAttr &dictionary, mlir::StringRef name,
                     mlir::Attribute attr);

} // namespace tessera

#endif // TESSERA_LIB_PARTITION_PARTITIONCONTEXT_H
