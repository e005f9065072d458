//===- RTInterfaces.td - Reuse of memory, calls ------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_RT_RTINTERFACES_TD
#define TESSERA_DIALECTS_RT_RTINTERFACES_TD

include "mlir/IR/OpBase.td"

def ReuseOpInterface : OpInterface<"ReuseOpInterface"> {
  let cppNamespace = "::tessera::rt";
  let description = [{
    An op on tensors that says which of its results may be written over which of
    its operands: the planner of the arena then gives both one offset, if the
    operand dies here.
  }];
  let methods = [
    InterfaceMethod<[{
      True if result `result` may be stored where operand `operand` is. Both have
      equally many bytes.
    }], "bool", "mayReuse", (ins "unsigned":$result, "unsigned":$operand)>,
  ];
}

def RuntimeCallOpInterface : OpInterface<"RuntimeCallOpInterface"> {
  let cppNamespace = "::tessera::rt";
  let description = [{
    An op that is one call of the C ABI. The call's first argument, the context,
    is not listed.
  }];
  let methods = [
    InterfaceMethod<"Name of the C function.", "::llvm::StringRef", "getCallee",
      (ins)>,
    InterfaceMethod<"The arguments after the context, in order.",
      "::llvm::SmallVector<::tessera::rt::CallArgument>", "getCallArguments",
      (ins)>,
  ];
}

#endif // TESSERA_DIALECTS_RT_RTINTERFACES_TD
