// Rows by expert are the value again if they are packed and unpacked by the ids that made them. Rows
// by other ids or of another device are not, and no op computes on rows.

// RUN: split-file %s %t
// RUN: tessera-opt %t/global.mlir --tessera-propagate --tessera-partition -o %t/right.mlir
// RUN: FileCheck %t/global.mlir --input-file=%t/right.mlir
// RUN: tessera verify %t/global.mlir --partitioned %t/right.mlir | FileCheck %s --check-prefix=RIGHT
// RIGHT: partition proven

// RUN: sed 's/dist.unpack_rows %1 by %arg1/dist.unpack_rows %1 by %arg2/' %t/right.mlir > %t/ids.mlir
// RUN: not tessera verify %t/global.mlir --partitioned %t/ids.mlir 2>&1 | FileCheck %s --check-prefix=IDS
// RUN: sed 's/dist.pack_rows %%stats#1 by %arg1/dist.pack_rows %%stats#1 by %arg2/' %t/right.mlir > %t/pack.mlir
// RUN: not tessera verify %t/global.mlir --partitioned %t/pack.mlir 2>&1 | FileCheck %s --check-prefix=IDS
// IDS: its ids are not those of the op that made the rows

// RUN: sed 's/\(dist.unpack_rows %1 by %arg1\) offset %0/\1/' %t/right.mlir > %t/offset.mlir
// RUN: not tessera verify %t/global.mlir --partitioned %t/offset.mlir 2>&1 | FileCheck %s --check-prefix=OFFSET
// OFFSET: its offset is not where each device's experts begin

// RUN: sed 's/\(.*\)dist.unpack_rows %1 by/%%sent = dist.collective_permute %1 targets [1, 0] over <{"x"}> on @mesh : tensor<16x6xf32> -> tensor<16x6xf32>\n\1dist.unpack_rows %%sent by/' %t/right.mlir > %t/sent.mlir
// RUN: not tessera verify %t/global.mlir --partitioned %t/sent.mlir 2>&1 | FileCheck %s --check-prefix=SENT
// SENT: its rows are those of another device

// RUN: sed 's/\(.*\)dist.unpack_rows %1 by/%%sum = arith.addf %1, %1 : tensor<16x6xf32>\n\1dist.unpack_rows %%sum by/' %t/right.mlir > %t/sum.mlir
// RUN: not tessera verify %t/global.mlir --partitioned %t/sum.mlir 2>&1 | FileCheck %s --check-prefix=SUM
// SUM: not provable

// RUN: sed 's/\(.*\)dist.pack_rows %%stats#1 by/%minus = arith.negf %%stats#1 : tensor<8x2x6xf32>\n\1dist.pack_rows %minus by/' %t/right.mlir > %t/minus.mlir
// RUN: not tessera verify %t/global.mlir --partitioned %t/minus.mlir 2>&1 | FileCheck %s --check-prefix=MINUS
// MINUS: not provable

// RUN: sed 's/dist.unpack_rows %1 by/dist.unpack_rows %2 by/' %t/right.mlir > %t/other.mlir
// RUN: not tessera verify %t/global.mlir --partitioned %t/other.mlir 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: not provable: nn.experts_backward: the reference has no such op on these values

//--- global.mlir
dist.mesh @mesh ["x"=2]
// CHECK-COUNT-2: dist.pack_rows
func.func @main(%x: tensor<8x4xf32>, %ids: tensor<8x2xi32>, %others: tensor<8x2xi32>, %gates: tensor<8x2xf32>,
                %wg: tensor<4x4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}]>},
                %wd: tensor<4x6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}]>}, %grad: tensor<8x4xf32>)
    -> (tensor<8x4xf32>, tensor<8x4x6xf32>, tensor<8x2xi32>) {
  %y, %g, %u = nn.experts <silu> of 4 %x, %ids, %gates, %wg, %wg, %wd
      : tensor<8x4xf32>, tensor<8x2xi32>, tensor<8x2xf32>, tensor<4x4x6xf32>, tensor<4x6x4xf32>
      -> tensor<8x4xf32> stats tensor<8x4x6xf32>, tensor<8x4x6xf32>
  %dx, %dgates, %dg, %du = nn.experts_backward <silu> of 4 %grad, %ids, %gates, %wg, %wg, %wd, %g, %u
      : tensor<8x4xf32>, tensor<8x2xi32>, tensor<8x2xf32>, tensor<4x4x6xf32>, tensor<4x6x4xf32>, tensor<8x4x6xf32>
      -> tensor<8x4xf32>
  %sum = arith.addf %y, %dx : tensor<8x4xf32>
  return %sum, %g, %others : tensor<8x4xf32>, tensor<8x4x6xf32>, tensor<8x2xi32>
}
