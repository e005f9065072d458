// Locations name modules. The activations of a module with one matrix have the dimensions of
// the source: heads are one dimension of features, whose axes are in order.

// RUN: tessera compile %s --mesh dp=2,tp=4 --strategy dp,tp --quiet --compile-to=propagate --shardings-out - -o %t.mlir \
// RUN:   | FileCheck %s

// CHECK: "modules": {
// The table's rows are shared: a lookup is a partial sum until tp adds the parts.
// CHECK-NEXT: "embed": {"input":{{\[\[}}"dp"],[]],"output":{{\[\[}}"dp"],[],[]],"output_partial":["tp"]},
// Keys have two heads for four devices: a sub-axis. The bias that the module adds is in the output.
// CHECK-NEXT: "k": {"input":{{\[\[}}"dp"],[],[]],"output":{{\[\[}}"dp"],[],["tp:(1)2"]]},
// Heads are summed over by the op that takes them.
// CHECK-NEXT: "o": {"input":{{\[\[}}"dp"],[],["tp"]],"output":{{\[\[}}"dp"],[],[]],"output_partial":["tp"]},
// CHECK-NEXT: "q": {"input":{{\[\[}}"dp"],[],[]],"output":{{\[\[}}"dp"],[],["tp"]]}},
// Two matmuls of one module ("fused"), one without a parameter ("scores") and one of several
// locations are none.
// CHECK-NEXT: "inputs":

#embed = loc("model.py:1"("module:embed"))
#q = loc("model.py:2"("module:q"))
#k = loc("model.py:3"("module:k"))
#o = loc("model.py:4"("module:o"))
#scores = loc("model.py:5"("module:scores"))
#fused = loc("model.py:6"("module:fused"))
#two = loc(fused[#q, #k])
func.func @forward(
    %ids: tensor<8x4xi32> {nn.input = "tokens", nn.dims = ["batch", "seq"], nn.vocab = 32 : i64},
    %table: tensor<32x16xf32> {nn.param = "table", nn.dims = ["vocab", "embed"]},
    %wq: tensor<16x2x2x8xf32> {nn.param = "wq", nn.dims = ["embed", "kv_heads", "q_per_kv", "head_dim"]},
    %wk: tensor<16x2x8xf32> {nn.param = "wk", nn.dims = ["embed", "kv_heads", "head_dim"]},
    %bk: tensor<2x8xf32> {nn.param = "bk", nn.dims = ["kv_heads", "head_dim"]},
    %wo: tensor<2x2x8x16xf32> {nn.param = "wo", nn.dims = ["kv_heads", "q_per_kv", "head_dim", "embed"]},
    %wg: tensor<16x16xf32> {nn.param = "wg", nn.dims = ["embed", "embed_out"]},
    %wu: tensor<16x16xf32> {nn.param = "wu", nn.dims = ["embed", "embed_out"]},
    %wt: tensor<16x16xf32> {nn.param = "wt", nn.dims = ["embed", "embed_out"]})
    -> (tensor<8x4x16xf32> {nn.output = "y"}) {
  %x = nn.embedding %table, %ids : tensor<32x16xf32>, tensor<8x4xi32> -> tensor<8x4x16xf32> loc(#embed)
  %q = nn.einsum "bsd,dgqh->bsgqh" %x, %wq : tensor<8x4x16xf32>, tensor<16x2x2x8xf32> -> tensor<8x4x2x2x8xf32> loc(#q)
  %k0 = nn.einsum "bsd,dgh->bsgh" %x, %wk : tensor<8x4x16xf32>, tensor<16x2x8xf32> -> tensor<8x4x2x8xf32> loc(#k)
  %bias = nn.broadcast %bk dims [2, 3] : tensor<2x8xf32> -> tensor<8x4x2x8xf32> loc(#k)
  %k = arith.addf %k0, %bias : tensor<8x4x2x8xf32> loc(#k)
  %s = nn.einsum "bsgqh,btgh->bgqst" %q, %k : tensor<8x4x2x2x8xf32>, tensor<8x4x2x8xf32> -> tensor<8x2x2x4x4xf32> loc(#scores)
  %a = nn.einsum "bgqst,btgh->bsgqh" %s, %k : tensor<8x2x2x4x4xf32>, tensor<8x4x2x8xf32> -> tensor<8x4x2x2x8xf32> loc(#scores)
  %o = nn.einsum "bsgqh,gqhd->bsd" %a, %wo : tensor<8x4x2x2x8xf32>, tensor<2x2x8x16xf32> -> tensor<8x4x16xf32> loc(#o)
  %g = nn.einsum "bsd,de->bse" %o, %wg : tensor<8x4x16xf32>, tensor<16x16xf32> -> tensor<8x4x16xf32> loc(#fused)
  %u = nn.einsum "bsd,de->bse" %g, %wu : tensor<8x4x16xf32>, tensor<16x16xf32> -> tensor<8x4x16xf32> loc(#fused)
  %t = nn.einsum "bsd,de->bse" %u, %wt : tensor<8x4x16xf32>, tensor<16x16xf32> -> tensor<8x4x16xf32> loc(#two)
  return %t : tensor<8x4x16xf32>
}
