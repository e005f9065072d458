// Infinite results: the report is JSON, which has none.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --partitioned %s --no-proof --dump %t/data
// RUN: tessera compile %s --quiet -o %t/prog
// RUN: tessera run %t/prog --inputs %t/data --compare %t/data/expected --report json --quiet > %t/report
// RUN: %python -c "import json, sys; print(json.load(open(sys.argv[1], 'rb'))['compared'])" %t/report | FileCheck %s
// CHECK: 'infinite', 'max_difference': 0, 'max_magnitude': None

func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32> {nn.output = "infinite"}) attributes {dist.local} {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %square = arith.mulf %x, %x : tensor<4xf32>
  %0 = arith.divf %square, %zero : tensor<4xf32>
  return %0 : tensor<4xf32>
}
