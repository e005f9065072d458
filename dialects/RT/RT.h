//===- RT.h - Kernels, library calls, the arena -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only public header of the dialect.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_RT_RT_H
#define TESSERA_DIALECTS_RT_RT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "runtime/include/tessera_rt.h"
#include <optional>

namespace tessera::rt {

/// One argument of a call of the C ABI, before code generation.
struct CallArgument {
  /// The C type of the argument; it selects the fields below that give the
  /// value.
  enum Kind {
    Int32,     ///< `integer`, as int32_t.
    Int64,     ///< `integer`, as int64_t.
    Address,   ///< Arena base plus `integer` bytes, a pointer.
    Offset,    ///< `integer` bytes from the arena's base, as int64_t.
    Array,     ///< Pointer to the constant array `array`.
    Scalar,    ///< `scalars[0]`, an index, as int64_t.
    Function,  ///< Address of the entry of kernel `symbol`.
    Functions, ///< Pointer to a constant array of functions, `symbols`.
    Null,      ///< A null pointer.
    /// Pointer to an array on the stack: addresses arena + `array[i]`, then
    /// `scalars`.
    Packed,
    /// Pointer to an array of `array[0]` elements on the stack: zeros, except
    /// `scalars[0]` at position `integer`.
    Starts,
    /// Pointer to an int64_t on the stack, where the call stores the op's
    /// result, an i1.
    Result,
  };
  Kind kind = Null;
  int64_t integer = 0;
  llvm::SmallVector<int64_t> array = {};
  llvm::SmallVector<mlir::Value, 2> scalars = {};
  llvm::StringRef symbol = {};
  llvm::SmallVector<llvm::StringRef, 0> symbols = {};
};

/// The number of `type` in the enumeration tessera_rt_dtype; none if the
/// runtime has no such type.
std::optional<int32_t> getRuntimeType(mlir::Type type);

/// Slot of sends and receives that complete at once, and of the receives of an
/// exchange, whose sends have a slot of their own. Other collectives have the
/// slots below it; lists use the highest of these.
constexpr int32_t kTransferSlot = TESSERA_RT_MAX_SLOTS - 1;

/// Size of an element in memory, in bytes; an i1 takes one.
int64_t getElementBytes(mlir::Type type);
/// Size of a whole tensor of static shape, in bytes.
int64_t getTensorBytes(mlir::RankedTensorType type);

/// The target that a program is compiled for.
enum class Target { Host, Cuda, CudaEmulated };
/// "host", "cuda", "cuda-emulated".
llvm::StringRef stringifyTarget(Target target);
std::optional<Target> parseTarget(llvm::StringRef name);
/// The target of the module that `op` is in.
Target getTarget(mlir::Operation *op);

/// Row-major strides of a shape, in elements.
llvm::SmallVector<int64_t> getRowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// Calls `visit` with each entry of a list in the format of
/// tessera_rt_run_list.
void forEachEntry(llvm::ArrayRef<int64_t> entries,
                  llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit);
/// Positions of fields in entries of sends and receives.
constexpr unsigned kEntrySequence = 2, kEntryBytes = 5;

} // namespace tessera::rt

#include "dialects/RT/RTDialect.h.inc"
#include "dialects/RT/RTEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/RT/RTAttrs.h.inc"

#include "dialects/RT/RTInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/RT/RTOps.h.inc"

#endif // TESSERA_DIALECTS_RT_RT_H
