//===- PaddingOpInterface.td - Padding of ops --------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_PADDINGOPINTERFACE_TD
#define TESSERA_INTERFACES_PADDINGOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def PaddingOpInterface : OpInterface<"PaddingOpInterface"> {
  let cppNamespace = "::tessera";
  let description = [{
    An op that is not defined on every value: a division. Padding holds unknown
    values after any computation, so such an op says what it needs there. An op
    without this interface is defined on all values.
  }];
  let methods = [
    InterfaceMethod<[{
      The element that must be in the padding of an operand for the op to be
      defined there: a divisor is 1. Null: any value will do.
    }], "::mlir::TypedAttr", "getSafePadding", (ins "unsigned":$operand), "",
      [{ return {}; }]>,
    InterfaceMethod<[{
      False: no element in the operands' padding makes the op defined there, so
      that it must run on true elements alone.
    }], "bool", "canPad", (ins), "", [{ return true; }]>,
  ];
}

#endif // TESSERA_INTERFACES_PADDINGOPINTERFACE_TD
