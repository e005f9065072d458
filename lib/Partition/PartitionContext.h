//===- PartitionContext.h - Mesh and shardings of a module ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every pass of the partitioner looks up, once per pass and not once per
// op.
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
  /// Failure, with an error, if the module has several meshes, or a function
  /// that the partitioner cannot take: one of several blocks.
  static mlir::FailureOr<PartitionContext> get(mlir::ModuleOp module);

  const Mesh &getMesh() const { return mesh; }
  /// Plans reshards on the links of the mesh.
  ReshardPlanner &getPlanner() { return *planner; }
  mlir::FlatSymbolRefAttr getSymbol() const { return symbol; }
  /// Functions with a body on global types, in order.
  llvm::ArrayRef<mlir::FunctionOpInterface> getFunctions() const {
    return functions;
  }

  /// Sharding of a tensor; a value without one is replicated.
  const Sharding &getSharding(mlir::Value value);
  /// Sharding of a result of a function.
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

  /// What the factors of `op` are sharded over, by the shardings of its
  /// operands and results; the first tensor that has a factor decides.
  FactorAxes getFactorAxes(mlir::Operation *op, const ShardingRule &rule);

  /// Text of axes, for messages.
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

/// Null if the value is no ranked tensor.
inline mlir::RankedTensorType getTensorType(mlir::Value value) {
  return llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
}

/// Bytes of an element; an index counts as eight.
inline int64_t getElementBytes(mlir::RankedTensorType type) {
  if (type.getElementType().isIndex())
    return 8;
  return llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

/// The first tensor from outside that the regions of `op` use, for which `test`
/// holds; null if there is none.
mlir::Value findCapturedTensor(mlir::Operation *op,
                               llvm::function_ref<bool(mlir::Value)> test);

/// Merges a dictionary of argument or result attributes with `name`.
void setInDictionary(mlir::DictionaryAttr &dictionary, mlir::StringRef name,
                     mlir::Attribute attr);

} // namespace tessera

#endif // TESSERA_LIB_PARTITION_PARTITIONCONTEXT_H
