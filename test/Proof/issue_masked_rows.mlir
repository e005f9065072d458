// Rows of a splat whose columns are masked are equal, so there may be any number of them,
// also once rows and columns are one dimension. A result of one row is on the first device;
// the others have padding, whatever it holds.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera-opt %s --tessera-propagate --tessera-partition -o %t/right.mlir
// RUN: tessera verify %s --partitioned %t/right.mlir | FileCheck %s --check-prefix=RIGHT
// RIGHT: partition proven

// Another end of the mask is another value.
// RUN: sed 's/dim 1 size 5/dim 1 size 4/' %t/right.mlir > %t/end.mlir
// RUN: not tessera verify %s --partitioned %t/end.mlir 2>&1 | FileCheck %s --check-prefix=END
// END: deviates

dist.mesh @mesh ["x"=4, "y"=2]
func.func @main() -> tensor<7xi1> {
  %0 = arith.constant dense<true> : tensor<1x7xi1>
  %1 = nn.mask_padding %0 dim 1 size 5 value false : tensor<1x7xi1>
  %2 = tensor.collapse_shape %1 [[0, 1]] {dist.shardings = [#dist.sharding<@mesh, [{"y"}], replicated={"x":(2)2}>]} : tensor<1x7xi1> into tensor<7xi1>
  return %2 : tensor<7xi1>
}
