//===- Converter.h - Converts ops of StableHLO one by one -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A converter walks a function like an interpreter, with values of the new
// graph instead of numbers: it enters calls and repeats the bodies of loops. A
// table maps op names to handlers. Files are not trusted: an op's operands,
// attributes and result are checked before anything is built from them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_STABLEHLO_CONVERTER_H
#define TESSERA_LIB_STABLEHLO_CONVERTER_H

#include "GraphBuilder.h"
#include "SourceAttributes.h"
#include "SourceShardings.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

#include <array>

namespace tessera::stablehlo {

class Converter;

/// An op whose target determines its meaning.
inline constexpr llvm::StringLiteral kCustomCall = "stablehlo.custom_call";

/// The conversion of one op.
class OpConversion {
public:
  OpConversion(Converter &converter, mlir::Operation *op,
               llvm::SmallVector<Value> operands);

  /// Emits an error at the op.
  mlir::InFlightDiagnostic error() const { return op->emitOpError(); }
  /// A list of integers; fails if it is missing.
  mlir::FailureOr<llvm::SmallVector<int64_t>>
  getIntegers(llvm::StringRef name) const;
  /// Three such lists; fails at the first that is invalid.
  mlir::FailureOr<std::array<llvm::SmallVector<int64_t>, 3>>
  getIntegers(const std::array<llvm::StringRef, 3> &names) const;
  /// A dimension number; fails if it is not one below `rank`.
  mlir::FailureOr<int64_t> getDim(llvm::StringRef name, int64_t rank) const;
  /// The case of the enum `name`; fails if it is missing.
  mlir::FailureOr<llvm::StringRef> getCase(llvm::StringRef name) const;
  /// Fails unless `dims` are dimensions below `rank`, each once.
  mlir::LogicalResult checkDims(llvm::ArrayRef<int64_t> dims, int64_t rank,
                                llvm::StringRef what) const;
  /// Fails unless all operands have one type.
  mlir::LogicalResult checkSameTypes() const;

  mlir::RankedTensorType operandType(unsigned i) const {
    return GraphBuilder::typeOf(operands[i]);
  }
  /// The type of result `i`, without the sign of its integers.
  mlir::RankedTensorType resultType(unsigned i = 0) const;
  /// Whether elements of the first operand are floats; booleans.
  bool isFloat() const;
  bool isBool() const;
  /// Whether the source has unsigned integers as elements of an operand; of
  /// result 0.
  bool isUnsigned(unsigned operand = 0) const;
  bool makesUnsigned() const;
  /// Operand `i` as signed integers of the same order, whose maximum and
  /// minimum are at the same places: the bits of unsigned ones with the top bit
  /// turned, others as they are. orderedBack() turns it back.
  Value ordered(unsigned i) const;
  Value orderedBack(Value x) const { return isUnsigned() ? turn(x) : x; }
  /// Operand `i`, positions in a tensor, as signed integers.
  Value positions(unsigned i) const;

  /// Sets the results. Fails if a type differs from the op's.
  mlir::LogicalResult yield(mlir::ValueRange values) const;

  Converter &converter;
  mlir::Operation *const op;
  const llvm::SmallVector<Value> operands;
  mutable GraphBuilder b;

private:
  Value turn(Value x) const;
};

/// The type with signless integers in place of unsigned ones: values of the
/// graph have no sign, ops know it.
mlir::Type withoutSign(mlir::Type type);
/// Whether elements are unsigned integers.
bool hasUnsigned(mlir::Type type);

/// Fails unless the type is a tensor of static shape with elements that every
/// phase supports.
mlir::LogicalResult checkType(mlir::Operation *op, mlir::Type type,
                              llvm::StringRef what);

/// Converts an op whose operand and result types are checked tensors.
using Handler = mlir::LogicalResult (*)(OpConversion &c);

/// Handlers by op name.
class HandlerTable {
public:
  /// Adds a handler for an op with this number of operands and results; kAny
  /// allows any number.
  static constexpr int kAny = -1;
  void add(llvm::StringRef name, int operands, Handler handler,
           int results = 1) {
    entries[name] = {operands, results, handler};
  }
  struct Entry {
    int operands = kAny;
    int results = 1;
    Handler handler = nullptr;
  };
  /// The entry of an op; null if it is not supported.
  const Entry *find(llvm::StringRef name) const {
    auto entry = entries.find(name);
    return entry == entries.end() ? nullptr : &entry->second;
  }

private:
  llvm::StringMap<Entry> entries;
};

void addElementwiseHandlers(HandlerTable &table);
void addShapeHandlers(HandlerTable &table);
void addBlockHandlers(HandlerTable &table);
void addReductionHandlers(HandlerTable &table);
void addOrderHandlers(HandlerTable &table);
void addWindowHandlers(HandlerTable &table);
void addConvolutionHandlers(HandlerTable &table);
void addGatherHandlers(HandlerTable &table);
void addScatterHandlers(HandlerTable &table);
void addControlHandlers(HandlerTable &table);
void addExpertHandlers(HandlerTable &table);

/// Casts the operands of a sum of products to one element type, and returns
/// that of the sum, which is cast to the result's. Fails unless all are
/// integers of one type, or floats of 16 bits at least.
mlir::FailureOr<mlir::Type> unifyFactors(const OpConversion &c, Value &lhs,
                                         Value &rhs);

/// Operand 0 as floats of the same order: integers of at most 32 bits are exact
/// in a wider type. Null for other integers. fromKeys() gives elements back.
Value findKeys(const OpConversion &c);
Value fromKeys(const OpConversion &c, Value keys);

/// Converts a reduction of a tensor and its positions: an argmax or an argmin.
mlir::LogicalResult convertArgReduce(OpConversion &c);

/// Converts a custom call that is `nn.experts`.
mlir::LogicalResult convertExperts(OpConversion &c);

/// Converts the ops of functions.
class Converter {
public:
  Converter(mlir::ModuleOp module, const SourceMesh &mesh,
            mlir::OpBuilder &builder);

  /// Converts the ops of a function's body, with these values as arguments, and
  /// returns the operands of its return.
  mlir::LogicalResult convertBody(mlir::Operation *owner, mlir::Region &body,
                                  mlir::ValueRange arguments,
                                  llvm::SmallVectorImpl<Value> &results);

  /// The function of a symbol; null if there is none.
  mlir::func::FuncOp lookUp(mlir::Attribute symbol);

  void setResult(Value from, Value to) { values[from] = to; }

  /// Records that `gathered` took elements at `index`, an input, out of `size`
  /// elements. The source has `wrapped` for the index.
  struct Gather {
    Value gathered, wrapped;
    int64_t size;
  };
  llvm::SmallVector<Gather> gathers;
  /// The number of ids of an argument that is an index of a gather.
  llvm::MapVector<Value, int64_t> vocabularies;

  const SourceMesh &mesh;
  mlir::OpBuilder &builder;

private:
  mlir::LogicalResult convert(mlir::Operation *op);
  /// Takes one op or body off the budget; fails if none is left.
  mlir::LogicalResult spend(mlir::Operation *op);
  mlir::FailureOr<llvm::SmallVector<Value>> lookUpOperands(mlir::Operation *op);

  HandlerTable table;
  mlir::SymbolTable symbols;
  llvm::DenseMap<Value, Value> values;
  int64_t budget;
  int64_t depth = 0;
};

} // namespace tessera::stablehlo

#endif // TESSERA_LIB_STABLEHLO_CONVERTER_H
