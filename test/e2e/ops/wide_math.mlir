// f64 calls libm, whose errors are below one unit in the last place: near zero
// expm1 and log1p are precise. Infinite results are infinite in every type.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --partitioned %s --no-proof --dump %t/data
// RUN: tessera compile %s --quiet -o %t/prog
// RUN: tessera run %t/prog --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera compile %s --target cuda-emulated --quiet -o %t/emulated
// RUN: tessera run %t/emulated --inputs %t/data --compare %t/data/expected | FileCheck %s
// CHECK: expm1: largest difference {{(0,|[0-9.]+e-(1[89]|[2-9][0-9]),)}}
// CHECK: log1p: largest difference {{(0,|[0-9.]+e-(1[89]|[2-9][0-9]),)}}
// CHECK: infinite: largest difference 0, largest magnitude 7

func.func @f(%x: tensor<4096xf64>, %unit: tensor<4xi32>) -> (
    tensor<4096xf64> {nn.output = "expm1"}, tensor<4096xf64> {nn.output = "log1p"}, tensor<4xi32> {nn.output = "infinite"}) attributes {dist.local} {
  %small = arith.constant dense<0.001> : tensor<4096xf64>
  %near = arith.mulf %x, %small : tensor<4096xf64>
  %0 = math.expm1 %near : tensor<4096xf64>
  %1 = math.log1p %near : tensor<4096xf64>

  // Infinity, -infinity, NaN, the largest number.
  %bits = arith.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 0x7F7FFFFF]> : tensor<4xi32>
  %zero = arith.constant dense<0> : tensor<4xi32>
  %none = arith.andi %unit, %zero : tensor<4xi32>
  %same = arith.ori %bits, %none : tensor<4xi32>
  %v = arith.bitcast %same : tensor<4xi32> to tensor<4xf32>
  %w = arith.extf %v : tensor<4xf32> to tensor<4xf64>
  %h = arith.truncf %v : tensor<4xf32> to tensor<4xbf16>
  %a = math.isinf %v : tensor<4xf32>
  %b = math.isinf %w : tensor<4xf64>
  %c = math.isinf %h : tensor<4xbf16>
  %one = arith.extui %a : tensor<4xi1> to tensor<4xi32>
  %two = arith.extui %b : tensor<4xi1> to tensor<4xi32>
  %four = arith.extui %c : tensor<4xi1> to tensor<4xi32>
  %s1 = arith.constant dense<1> : tensor<4xi32>
  %s2 = arith.constant dense<2> : tensor<4xi32>
  %two2 = arith.shli %two, %s1 : tensor<4xi32>
  %four4 = arith.shli %four, %s2 : tensor<4xi32>
  %sum = arith.ori %one, %two2 : tensor<4xi32>
  %all = arith.ori %sum, %four4 : tensor<4xi32>
  return %0, %1, %all : tensor<4096xf64>, tensor<4096xf64>, tensor<4xi32>
}
