// A diagnostic of tessera-opt has no note with the whole op, unless one asks for it.
// RUN: not tessera-opt %s 2>&1 | FileCheck %s --implicit-check-not=note:
// RUN: not tessera-opt %s --mlir-print-op-on-diagnostic 2>&1 | FileCheck %s --check-prefixes=CHECK,NOTE
// RUN: not tessera-opt %s --mlir-print-op-on-diagnostic=true 2>&1 | FileCheck %s --check-prefixes=CHECK,NOTE

// CHECK: error: 'func.return' op has 0 operands, but enclosing function
// NOTE: note: see current operation: "func.return"
func.func @f() -> i32 {
  return
}
