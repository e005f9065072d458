// RUN: tessera-opt %s --rt-plan-arena="check=true" --rt-lower-to-rt | FileCheck %s

func.func private @k(%x: tensor<16xf32>) -> tensor<16xf32>
    attributes {rt.kernel, rt.rows = 16 : i64, rt.reuse = array<i64>} {
  %e = tensor.empty() : tensor<16xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<16xf32>) outs(%e : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// Blocks begin before the op that writes them and end after their last reader;
// the argument keeps its contents, the result is not forgotten.
// CHECK-LABEL: func.func @step()
// CHECK-NEXT: rt.block_begin [[X:[0-9]+]] bytes 64{{$}}
// CHECK-NEXT: rt.block_begin [[A:[0-9]+]] bytes 64 forget
// CHECK-NEXT: rt.launch {{.*}} at {{\[}}[[X]], [[A]]]
// CHECK-NEXT: rt.block_begin [[B:[0-9]+]] bytes 64 forget
// CHECK-NEXT: rt.launch {{.*}} at {{\[}}[[A]], [[B]]]
// CHECK-NEXT: rt.block_end [[A]] bytes 64 forget
// CHECK-NEXT: rt.block_end [[X]] bytes 64{{$}}
// CHECK-NEXT: rt.block_end [[B]] bytes 64{{$}}
// CHECK-NEXT: return
func.func @chain(%x: tensor<16xf32>) -> tensor<16xf32> {
  %0 = rt.kernel @k(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %1 = rt.kernel @k(%0) : (tensor<16xf32>) -> tensor<16xf32>
  return %1 : tensor<16xf32>
}
