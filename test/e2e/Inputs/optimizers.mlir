// Every optimizer, one result each. `H` stands for the element type of the
// parameter, `W` for the type of state and scalars.
dist.mesh @mesh ["x"=1]
func.func @optimizers(%p: tensor<10x24xH>, %m: tensor<10x24xW>, %r: tensor<10x24xH>, %s: tensor<W>) -> (
    tensor<10x24xH> {nn.output = "adamw"}, tensor<10x24xW> {nn.output = "adamw_m"}, tensor<10x24xW> {nn.output = "adamw_v"},
    tensor<10x24xH> {nn.output = "adamw_skipped"}, tensor<10x24xW> {nn.output = "adamw_skipped_v"},
    tensor<10x24xH> {nn.output = "sgd"}, tensor<10x24xH> {nn.output = "sgd_momentum"}, tensor<10x24xW> {nn.output = "velocity"},
    tensor<W> {nn.output = "scalar"}) attributes {dist.local} {
  %no = arith.constant dense<false> : tensor<i1>
  %yes = arith.constant dense<true> : tensor<i1>
  %v = math.absf %m : tensor<10x24xW>
  %c = math.absf %s : tensor<W>
  %0:3 = nn.adamw %p, %m, %v, %r scale %s lr %s corrections %s, %c skip %no : tensor<i1> beta1 0.9 beta2 0.95 eps 1.0e-2 weight_decay 0.1 : tensor<10x24xH>, tensor<10x24xW>, tensor<10x24xH>, tensor<W>
  %1:3 = nn.adamw %p, %m, %v, %r scale %s lr %s corrections %s, %c skip %yes : tensor<i1> beta1 0.9 beta2 0.95 eps 1.0e-2 weight_decay 0.1 : tensor<10x24xH>, tensor<10x24xW>, tensor<10x24xH>, tensor<W>
  %2 = nn.sgd %p, %r scale %s lr %s momentum 0.0 weight_decay 0.1 : tensor<10x24xH>, tensor<10x24xH>, tensor<W>
  %3:2 = nn.sgd %p, %r scale %s lr %s velocity %m : tensor<10x24xW> skip %no : tensor<i1> momentum 0.9 weight_decay 0.1 : tensor<10x24xH>, tensor<10x24xH>, tensor<W> -> tensor<10x24xW>
  %4 = nn.sgd %s, %c scale %s lr %s momentum 0.0 weight_decay 0.1 : tensor<W>, tensor<W>, tensor<W>
  return %0#0, %0#1, %0#2, %1#0, %1#2, %2, %3#0, %3#1, %4
    : tensor<10x24xH>, tensor<10x24xW>, tensor<10x24xW>, tensor<10x24xH>, tensor<10x24xW>, tensor<10x24xH>, tensor<10x24xH>, tensor<10x24xW>, tensor<W>
}
