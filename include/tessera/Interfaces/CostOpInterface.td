//===- CostOpInterface.td - The work of an op --------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_COSTOPINTERFACE_TD
#define TESSERA_INTERFACES_COSTOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::tessera";
  let description = [{
    An op that says how much it computes, on the shapes that it has: of one
    device, once the program is partitioned. Bytes follow from the types of
    operands and results. See `getOpCost` for ops without it.
  }];
  let methods = [
    InterfaceMethod<[{
      The kind of kernel, its floating-point operations, and the dimensions of a
      matmul.
    }], "::tessera::OpCost", "getOpCost", (ins)>,
  ];
}

#endif // TESSERA_INTERFACES_COSTOPINTERFACE_TD
