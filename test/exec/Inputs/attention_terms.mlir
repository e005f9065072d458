// Causal attention with a softcap and sinks, and a bias along keys and heads, with
// gradients. The bias hides the last keys of the second sequence.
func.func @f(
    %q: tensor<2x16x2x2x4xf32> {nn.input = "q", nn.dims = ["batch", "seq", "kv_heads", "q_per_kv", "head_dim"]},
    %k: tensor<2x16x2x4xf32> {nn.input = "k", nn.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %v: tensor<2x16x2x4xf32> {nn.input = "v", nn.dims = ["batch", "seq", "kv_heads", "head_dim"]},
    %d: tensor<2x16x2x2x4xf32> {nn.input = "d", nn.dims = ["batch", "seq", "kv_heads", "q_per_kv", "head_dim"]},
    %m: tensor<2x16xf32> {nn.input = "m", nn.dims = ["batch", "seq"]},
    %s: tensor<2x2xf32> {nn.input = "s", nn.dims = ["kv_heads", "q_per_kv"]})
    -> (tensor<2x16x2x2x4xf32> {nn.output = "o"}, tensor<2x16x2x2x4xf32> {nn.output = "dq"},
        tensor<2x16x2x4xf32> {nn.output = "dk"}, tensor<2x16x2x4xf32> {nn.output = "dv"}) {
  %low = arith.constant dense<-3.40282347E+38> : tensor<2x16xf32>
  %one = arith.constant dense<1.0> : tensor<2x16xf32>
  %large = arith.cmpf ogt, %m, %one : tensor<2x16xf32>
  %hidden = arith.select %large, %low, %m : tensor<2x16xi1>, tensor<2x16xf32>
  %o, %l = nn.attention causal scale 0.5 softcap 3.0 %q, %k, %v bias %hidden dims [0, 4] : tensor<2x16xf32> sinks %s : tensor<2x2xf32> : tensor<2x16x2x2x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32> -> tensor<2x16x2x2x4xf32> stats tensor<2x16x2x2x2xf32>
  %dq, %dk, %dv = nn.attention_backward causal scale 0.5 softcap 3.0 %d, %q, %k, %v, %o, %l bias %hidden dims [0, 4] : tensor<2x16xf32> : tensor<2x16x2x2x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x2x4xf32>, tensor<2x16x2x2x2xf32>
  return %o, %dq, %dk, %dv : tensor<2x16x2x2x4xf32>, tensor<2x16x2x2x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32>
}
