// Every gradient and saved statistic, one result each. `H` stands for the
// element type of activations, `W` for the type of statistics and state.
dist.mesh @mesh ["x"=1]
func.func @gradients(%x: tensor<6x10x24xH>, %y: tensor<6x10x24xH>, %g: tensor<24xH>, %b: tensor<24xH>,
    %q: tensor<2x5x3x2x8xH>, %k: tensor<2x5x3x8xH>, %v: tensor<2x5x3x16xH>, %o: tensor<2x5x3x2x16xH>,
    %w: tensor<6x10xW>) -> (
    tensor<6x10x24xH> {nn.output = "layer_norm"}, tensor<6x10xW> {nn.output = "mean"}, tensor<6x10xW> {nn.output = "rstd"}, tensor<6x10x24xH> {nn.output = "layer_norm_backward"},
    tensor<6x10x24xH> {nn.output = "rms_norm"}, tensor<6x10xW> {nn.output = "rms_rstd"}, tensor<6x10x24xH> {nn.output = "rms_norm_backward"},
    tensor<6x10xW> {nn.output = "loss"}, tensor<6x10xW> {nn.output = "max"}, tensor<6x10xW> {nn.output = "log_sum"}, tensor<6x10x24xH> {nn.output = "cross_entropy_backward"}, tensor<6x10x24xH> {nn.output = "cross_entropy_backward_offset"},
    tensor<6x10x24xH> {nn.output = "pick_backward"}, tensor<6x10x24xH> {nn.output = "gelu_tanh_backward"}, tensor<6x10x24xH> {nn.output = "gelu_erf_backward"}, tensor<6x10x24xH> {nn.output = "silu_backward"},
    tensor<2x5x3x2x8xH> {nn.output = "rope_inverse"}, tensor<2x5x3x2x16xH> {nn.output = "attention"}, tensor<2x5x3x2xW> {nn.output = "attention_logsumexp"},
    tensor<2x5x3x2x8xH> {nn.output = "dq"}, tensor<2x5x3x8xH> {nn.output = "dk"}, tensor<2x5x3x16xH> {nn.output = "dv"},
    tensor<2x5x3x2x8xH> {nn.output = "dq_padded"}, tensor<2x5x3x8xH> {nn.output = "dk_padded"}, tensor<2x5x3x16xH> {nn.output = "dv_padded"},
    tensor<2x5x3x2x16xH> {nn.output = "attention_window"}, tensor<2x5x3x2xW> {nn.output = "attention_window_logsumexp"},
    tensor<2x5x3x2x8xH> {nn.output = "dq_window"}, tensor<2x5x3x8xH> {nn.output = "dk_window"}, tensor<2x5x3x16xH> {nn.output = "dv_window"},
    tensor<9x24xH> {nn.output = "embedding_backward"}, tensor<9x24xW> {nn.output = "embedding_backward_wide"},
    tensor<24x24xW> {nn.output = "matmul"}, tensor<24xH> {nn.output = "sum_rows"}) attributes {dist.local} {
  %0:3 = nn.layer_norm %x, %g, %b eps 1.0e-5 : tensor<6x10x24xH>, tensor<24xH>, tensor<24xH> stats tensor<6x10xW>, tensor<6x10xW>
  %1 = nn.layer_norm_backward %y, %x, %g, %0#1, %0#2 : tensor<6x10x24xH>, tensor<24xH>, tensor<6x10xW>
  %2:2 = nn.rms_norm %x, %g eps 1.0e-5 : tensor<6x10x24xH>, tensor<24xH> stats tensor<6x10xW>
  %3 = nn.rms_norm_backward %y, %x, %g, %2#1 : tensor<6x10x24xH>, tensor<24xH>, tensor<6x10xW>
  // Labels 0, 5, 10, ..., one in five ignored; ids from 0 to 8, some twice.
  %i = nn.iota : tensor<10xi32>
  %five = arith.constant dense<5> : tensor<10xi32>
  %nine = arith.constant dense<9> : tensor<10xi32>
  %big = arith.constant dense<23> : tensor<10xi32>
  %i5 = arith.muli %i, %five : tensor<10xi32>
  %label0 = arith.minsi %i5, %big : tensor<10xi32>
  %rest = arith.remsi %i, %five : tensor<10xi32>
  %one = arith.constant dense<1> : tensor<10xi32>
  %none = arith.constant dense<-100> : tensor<10xi32>
  %isOne = arith.cmpi eq, %rest, %one : tensor<10xi32>
  %label1 = arith.select %isOne, %none, %label0 : tensor<10xi1>, tensor<10xi32>
  %labels = nn.broadcast %label1 dims [1] : tensor<10xi32> -> tensor<6x10xi32>
  %c2 = arith.constant 2 : index
  %4:3 = nn.cross_entropy %x, %labels ignore -100 : tensor<6x10x24xH>, tensor<6x10xi32> -> tensor<6x10xW> stats tensor<6x10xW>, tensor<6x10xW>
  %5 = nn.cross_entropy_backward %w, %x, %labels, %4#1, %4#2 ignore -100 : tensor<6x10xW>, tensor<6x10x24xH>, tensor<6x10xi32>
  %6 = nn.cross_entropy_backward %w, %x, %labels, %4#1, %4#2 ignore -100 offset %c2 : tensor<6x10xW>, tensor<6x10x24xH>, tensor<6x10xi32>
  %wh = nn.take_along_axis %y, %labels : tensor<6x10x24xH>, tensor<6x10xi32> -> tensor<6x10xH>
  %7 = nn.take_along_axis_backward %wh, %labels offset %c2 : tensor<6x10xH>, tensor<6x10xi32> -> tensor<6x10x24xH>
  %8 = nn.gelu_backward <tanh> %y, %x : tensor<6x10x24xH>
  %9 = nn.gelu_backward <erf> %y, %x : tensor<6x10x24xH>
  %10 = nn.silu_backward %y, %x : tensor<6x10x24xH>
  %11 = nn.rope inverse %q dim 1 theta 1.0e4 offset %c2 : tensor<2x5x3x2x8xH>
  %12:2 = nn.attention causal scale 0.35 %q, %k, %v : tensor<2x5x3x2x8xH>, tensor<2x5x3x8xH>, tensor<2x5x3x16xH> -> tensor<2x5x3x2x16xH> stats tensor<2x5x3x2xW>
  %13:3 = nn.attention_backward causal scale 0.35 %o, %q, %k, %v, %12#0, %12#1 : tensor<2x5x3x2x8xH>, tensor<2x5x3x8xH>, tensor<2x5x3x16xH>, tensor<2x5x3x2x16xH>, tensor<2x5x3x2xW>
  // A rank's keys begin at 2, and keys from 5 on are padding.
  %14:2 = nn.attention scale 0.35 keys 5 %q, %k, %v k_offset %c2 : tensor<2x5x3x2x8xH>, tensor<2x5x3x8xH>, tensor<2x5x3x16xH> -> tensor<2x5x3x2x16xH> stats tensor<2x5x3x2xW>
  %15:3 = nn.attention_backward scale 0.35 keys 5 %o, %q, %k, %v, %14#0, %14#1 k_offset %c2 : tensor<2x5x3x2x8xH>, tensor<2x5x3x8xH>, tensor<2x5x3x16xH>, tensor<2x5x3x2x16xH>, tensor<2x5x3x2xW>
  // Queries begin at 2, and see one or two keys.
  %18:2 = nn.attention causal window 2 scale 0.35 keys 4 %q, %k, %v q_offset %c2 : tensor<2x5x3x2x8xH>, tensor<2x5x3x8xH>, tensor<2x5x3x16xH> -> tensor<2x5x3x2x16xH> stats tensor<2x5x3x2xW>
  %19:3 = nn.attention_backward causal window 2 scale 0.35 keys 4 %o, %q, %k, %v, %18#0, %18#1 q_offset %c2 : tensor<2x5x3x2x8xH>, tensor<2x5x3x8xH>, tensor<2x5x3x16xH>, tensor<2x5x3x2x16xH>, tensor<2x5x3x2xW>
  %id = arith.remsi %i5, %nine : tensor<10xi32>
  %ids = nn.broadcast %id dims [1] : tensor<10xi32> -> tensor<6x10xi32>
  %16 = nn.embedding_backward %x, %ids : tensor<6x10x24xH>, tensor<6x10xi32> -> tensor<9x24xH>
  %17 = nn.embedding_backward %x, %ids offset %c2 : tensor<6x10x24xH>, tensor<6x10xi32> -> tensor<9x24xW>
  // A weight's gradient is summed, and stored, in the wider type.
  %22 = nn.einsum "bsd,bsf->df" %x, %y : tensor<6x10x24xH>, tensor<6x10x24xH> -> tensor<24x24xW>
  %23 = nn.reduce <sum> %x dims [0, 1] : tensor<6x10x24xH> -> tensor<24xH>
  return %0#0, %0#1, %0#2, %1, %2#0, %2#1, %3, %4#0, %4#1, %4#2, %5, %6, %7, %8, %9, %10, %11, %12#0, %12#1, %13#0, %13#1, %13#2, %15#0, %15#1, %15#2, %18#0, %18#1, %19#0, %19#1, %19#2, %16, %17, %22, %23
    : tensor<6x10x24xH>, tensor<6x10xW>, tensor<6x10xW>, tensor<6x10x24xH>, tensor<6x10x24xH>, tensor<6x10xW>, tensor<6x10x24xH>, tensor<6x10xW>, tensor<6x10xW>, tensor<6x10xW>, tensor<6x10x24xH>, tensor<6x10x24xH>, tensor<6x10x24xH>, tensor<6x10x24xH>, tensor<6x10x24xH>, tensor<6x10x24xH>,
      tensor<2x5x3x2x8xH>, tensor<2x5x3x2x16xH>, tensor<2x5x3x2xW>, tensor<2x5x3x2x8xH>, tensor<2x5x3x8xH>, tensor<2x5x3x16xH>, tensor<2x5x3x2x8xH>, tensor<2x5x3x8xH>, tensor<2x5x3x16xH>,
      tensor<2x5x3x2x16xH>, tensor<2x5x3x2xW>, tensor<2x5x3x2x8xH>, tensor<2x5x3x8xH>, tensor<2x5x3x16xH>, tensor<9x24xH>, tensor<9x24xW>,
      tensor<24x24xW>, tensor<24xH>
}
