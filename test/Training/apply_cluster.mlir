// Links and device of a cluster file, which price collectives and work.
// RUN: split-file %s %t
// RUN: tessera-opt %t/mesh.mlir --dist-apply-cluster="cluster=%src/share/clusters/h100-sxm-ib.json" | FileCheck %t/mesh.mlir
// RUN: tessera-opt %t/narrow.mlir --dist-apply-cluster="cluster=%src/share/clusters/h100-sxm-ib.json" | FileCheck %t/narrow.mlir
// RUN: tessera-opt %t/uneven.mlir --dist-apply-cluster="cluster=%src/share/clusters/h100-sxm-ib.json" | FileCheck %t/uneven.mlir
// RUN: not tessera-opt %t/large.mlir --dist-apply-cluster="cluster=%src/share/clusters/h100-sxm-ib.json" 2>&1 | FileCheck %t/large.mlir
// RUN: not tessera-opt %t/mesh.mlir --dist-apply-cluster="cluster=%t/none.json" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: tessera-opt %t/twice.mlir --dist-apply-cluster="cluster=%src/share/clusters/h100-sxm-ib.json" | FileCheck %t/twice.mlir
// RUN: tessera-opt %t/host.mlir --dist-apply-cluster="cluster=%S/Inputs/host.json" | FileCheck %t/host.mlir
// RUN: sed s/base_low_s/base_slow_s/ %S/Inputs/host.json > %t/wrong.json
// RUN: not tessera-opt %t/host.mlir --dist-apply-cluster="cluster=%t/wrong.json" 2>&1 | FileCheck %s --check-prefix=FIELD
// FIELD: wrong.json: collectives.base_low_s: expects an object with value, from and source but got nothing
// RUN: sed s/9.5e-06/9.5/ %S/Inputs/host.json > %t/slow.json
// RUN: not tessera-opt %t/host.mlir --dist-apply-cluster="cluster=%t/slow.json" 2>&1 | FileCheck %s --check-prefix=SLOW
// SLOW: slow.json: collectives.base_low_s: expects seconds from 1.00e-09 to 1.00e-02 but got 9.50e+00; is it microseconds?
// NONE: none.json: {{.*}}No such file

//--- mesh.mlir
// Operations in f32: 494.5e12 x 0.719.
// CHECK: module attributes {dist.device = array<f64: 2.442150e+12, 3.555455E+14, 2.442150e+13, 2.520000e-06>}
// CHECK: dist.mesh @mesh ["dp"=2, "tp"=8]
// CHECK-SAME{LITERAL}: {dist.links = [[array<f64: 2.000000e+00, 4.500000e-06, 4.750000e+10>], [array<f64: 8.000000e+00, 9.2999999999999999E-7, 3.510000e+11>]]}
dist.mesh @mesh ["dp"=2, "tp"=8]
func.func @f(%x: tensor<8xf32>) { return }

//--- narrow.mlir
// CHECK: dist.device = array<f64: 2.442150e+12, 7.110910e+14,
func.func @f(%x: tensor<8xbf16>) { return }

//--- uneven.mlir
// Six neighbours each: the second group has two devices of one node and four of another.
// CHECK: dist.mesh @mesh ["dp"=2, "tp"=6]
// CHECK-SAME: array<f64: 6.000000e+00, {{[0-9.eE+-]+}}, 4.750000e+10, 2.000000e+00>
dist.mesh @mesh ["dp"=2, "tp"=6]

//--- twice.mlir
// Existing links are replaced.
// CHECK: dist.mesh @mesh ["tp"=8]
// CHECK-SAME{LITERAL}: {dist.links = [[array<f64: 8.000000e+00, 9.2999999999999999E-7, 3.510000e+11>]]}
dist.mesh @mesh ["tp"=8] {dist.links = [[array<f64: 8.0, 1.0e-3, 1.0e3>], array<f64: 0.0, 0.0, 1.0, 1.0>]}

//--- large.mlir
// CHECK: error: {{.*}}h100-sxm-ib.json: levels: expects a level of at least 131072 devices but the outermost, 'infiniband', has 65536
dist.mesh @mesh ["dp"=131072]

//--- host.mlir
// A processor: bytes of matmuls, seconds of a function, the share of transfers that it moves itself; and its own collectives.
// CHECK: module attributes {dist.device = array<f64: 2.000000e+10, 4.000000e+10, 2.000000e+11, 7.9999999999999996E-7, 4.000000e+00, 1.000000e-09, 1.000000e+00>}
// CHECK: dist.mesh @mesh ["dp"=4]
// CHECK-SAME{LITERAL}: {dist.links = [[array<f64: 4.000000e+00, 9.9999999999999995E-7, 8.000000e+09>], array<f64: 9.500000e-06, 9.500000e-06, 1.000000e+00, 1.000000e+00>]}
dist.mesh @mesh ["dp"=4]
func.func @f(%x: tensor<8xf32>) { return }
