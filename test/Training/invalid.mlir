// RUN: split-file %s %t
// RUN: not tessera-opt %t/linalg.mlir --dist-apply-strategy="mesh=tp=2 strategy=tp" 2>&1 | FileCheck %s --check-prefix=TP
// RUN: not tessera-opt %t/linalg.mlir --dist-apply-strategy="mesh=dp=2 strategy=dp" 2>&1 | FileCheck %s --check-prefix=DP
// RUN: not tessera-opt %t/linalg.mlir --dist-apply-strategy="mesh=dp=2 strategy=zero=3" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not tessera-opt %t/linalg.mlir --dist-apply-strategy="mesh=dp=2 strategy=dp,tp" 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not tessera-opt %t/linalg.mlir --dist-apply-strategy="mesh=dp=0 strategy=dp" 2>&1 | FileCheck %s --check-prefix=ZEROSIZE
// RUN: not tessera-opt %t/linalg.mlir --dist-apply-strategy="mesh=dp=2 strategy=fast" 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not tessera-opt %t/linalg.mlir --dist-apply-strategy="strategy=dp" 2>&1 | FileCheck %s --check-prefix=NOMESH
// RUN: not tessera-opt %t/mesh.mlir --dist-apply-strategy="mesh=dp=2 strategy=dp" 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not tessera-opt %t/decided.mlir --dist-apply-strategy="strategy=dp" 2>&1 | FileCheck %s --check-prefix=DECIDED

// A program without names of dimensions has nothing that a strategy can seed.
// TP: error: strategy 'tp' expects a parameter (nn.param) with a dimension "kv_heads", "ffn" or "vocab" in nn.dims but got none
// DP: error: strategy 'dp' expects an argument with a dimension "batch" in nn.dims but got none; tessera import --dims NAME=batch,... names it{{$}}
// ZERO: error: strategy 'zero' expects an argument with nn.param and nn.dims but got none
// AXIS: error: strategy 'tp' expects an axis 'tp' but got mesh 'dp=2'
// ZEROSIZE: error: expects mesh axes of size at least 1 but got 0 for 'dp'
// WORD: error: expects pp, dp, cp, tp, sp, ep=N, etp, zero=0 to zero=3 or auto in a strategy but got 'fast'
// NOMESH: error: strategy 'dp' expects a mesh
// OTHER: error: expects the mesh of the strategy, #dist.mesh<["dp"=2]>, but got #dist.mesh<["x"=4]>
// DECIDED: error: expects a strategy or the program's dist.decisions but got both

//--- linalg.mlir
func.func @f(%a: tensor<8xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}

//--- mesh.mlir
dist.mesh @mesh ["x"=4]
func.func @f(%a: tensor<8xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}

//--- decided.mlir
module attributes {dist.decisions = "{\"tessera\": \"decisions\", \"version\": 2, \"strategy\": \"auto\"}"} {
  dist.mesh @mesh ["dp"=2]
  func.func @f(%a: tensor<8xf32> {nn.input = "a", nn.dims = ["batch"]}) -> tensor<8xf32> {
    return %a : tensor<8xf32>
  }
}
