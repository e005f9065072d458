// RUN: tessera-opt %s --dist-print-sharding-rules -verify-diagnostics -o /dev/null

dist.mesh @mesh ["x"=2, "y"=4]

// A constraint ties its operand to its result; closed dimensions stay closed.
func.func @constraint(%a: tensor<8x16xf32>) {
  // expected-remark @+1 {{([i,j])->([i,j]) {i=8, j=16}}}
  %0 = dist.constraint %a <@mesh, [{"x", ?}, {}]> : tensor<8x16xf32>
  return
}

// Ops that come after InsertReshards are local and have no rule.
func.func @collective(%a: tensor<8x16xf32>) {
  // expected-remark @+1 {{no rule: replicated}}
  %0 = dist.all_reduce <sum> %a over <{"y"}> on @mesh : tensor<8x16xf32> -> tensor<8x16xf32>
  return
}
