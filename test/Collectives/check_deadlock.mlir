// RUN: tessera-opt %s --split-input-file --dist-check-deadlock --verify-diagnostics -o /dev/null

dist.mesh @mesh ["pp"=2, "dp"=2] stage "pp"

// Activations go down the stages, gradients come back.
func.func @pipeline(%x: tensor<4xf32>) -> tensor<4xf32> attributes {dist.local} {
  dist.send %x along "pp" 0 to 1 tag 0 on @mesh : tensor<4xf32>
  %0 = dist.recv along "pp" 0 to 1 tag 0 on @mesh : tensor<4xf32>
  dist.send %0 along "pp" 1 to 0 tag 1 on @mesh : tensor<4xf32>
  %1 = dist.recv along "pp" 1 to 0 tag 1 on @mesh : tensor<4xf32>
  %2 = dist.all_reduce <sum> %1 over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// Two transfers in a row between the same ranks match in order.
func.func @two_of_one_tag(%x: tensor<4xf32>) -> tensor<4xf32> attributes {dist.local} {
  dist.send %x along "pp" 0 to 1 tag 0 on @mesh : tensor<4xf32>
  %0 = dist.recv along "pp" 0 to 1 tag 0 on @mesh : tensor<4xf32>
  dist.send %x along "pp" 0 to 1 tag 0 on @mesh : tensor<4xf32>
  %1 = dist.recv along "pp" 0 to 1 tag 0 on @mesh : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

dist.mesh @mesh ["pp"=2, "dp"=1] stage "pp"

// Both send first.
func.func @both_send(%x: tensor<4xf32>) -> tensor<4xf32> attributes {dist.local} {
  // expected-error @+1 {{ranks wait for each other: rank 0 posts send from rank 0 to rank 1 with tag 0 before send from rank 1 to rank 0 with tag 0, rank 1 posts send from rank 1 to rank 0 with tag 0 before send from rank 0 to rank 1 with tag 0}}
  dist.send %x along "pp" 0 to 1 tag 0 on @mesh : tensor<4xf32>
  // expected-note @+1 {{send from rank 1 to rank 0 with tag 0}}
  dist.send %x along "pp" 1 to 0 tag 0 on @mesh : tensor<4xf32>
  %0 = dist.recv along "pp" 0 to 1 tag 0 on @mesh : tensor<4xf32>
  %1 = dist.recv along "pp" 1 to 0 tag 0 on @mesh : tensor<4xf32>
  %2 = arith.addf %0, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

dist.mesh @mesh ["pp"=2, "dp"=2] stage "pp"

// The sender waits for its receiver, the receiver for a collective of both.
func.func @collective_between(%x: tensor<4xf32>) -> tensor<4xf32> attributes {dist.local} {
  // expected-error @+1 {{ranks wait for each other: rank 0 posts send from rank 0 to rank 2 with tag 0 before all_reduce over {"pp"}, rank 2 posts all_reduce over {"pp"} before send from rank 0 to rank 2 with tag 0}}
  dist.send %x along "pp" 0 to 1 tag 0 on @mesh : tensor<4xf32>
  // expected-note @+1 {{all_reduce over {"pp"}}}
  %0 = dist.all_reduce <sum> %x over <{"pp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %1 = dist.recv along "pp" 0 to 1 tag 0 on @mesh : tensor<4xf32>
  %2 = arith.addf %0, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

dist.mesh @mesh ["pp"=2, "dp"=1] stage "pp"

// A send without a receive.
func.func @no_receive(%x: tensor<4xf32>) -> tensor<4xf32> attributes {dist.local} {
  // expected-error @+1 {{expects rank 1 to post send from rank 0 to rank 1 with tag 3 once but got 0 times}}
  dist.send %x along "pp" 0 to 1 tag 3 on @mesh : tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

dist.mesh @mesh ["pp"=2, "dp"=1] stage "pp"

// Correct once, but the end of an iteration deadlocks with the next one.
func.func @across_iterations(%x: tensor<4xf32>) -> tensor<4xf32> attributes {dist.local} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %x) -> tensor<4xf32> {
    dist.send %s along "pp" 0 to 1 tag 0 on @mesh : tensor<4xf32>
    %0 = dist.recv along "pp" 0 to 1 tag 0 on @mesh : tensor<4xf32>
    scf.yield %0 : tensor<4xf32>
  }
  %q = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %x) -> tensor<4xf32> {
    // expected-error @+1 {{expects rank 1 to post send from rank 0 to rank 1 with tag 1 once but got 0 times}}
    dist.send %s along "pp" 0 to 1 tag 1 on @mesh : tensor<4xf32>
    scf.yield %s : tensor<4xf32>
  }
  %1 = dist.recv along "pp" 0 to 1 tag 1 on @mesh : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

dist.mesh @mesh ["dp"=2]

func.func @two_waits(%x: tensor<4xf32>) -> tensor<4xf32> attributes {dist.local} {
  // expected-error @+1 {{expects one dist.wait, in the same block, but its future has 2 uses in this function}}
  %f = dist.start %x : tensor<4xf32> -> !dist.future<tensor<4xf32>> {
  ^bb0(%a: tensor<4xf32>):
    %r = dist.all_reduce <sum> %a over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
    dist.yield %r : tensor<4xf32>
  }
  %0 = dist.wait %f, %x : !dist.future<tensor<4xf32>>, tensor<4xf32> -> tensor<4xf32>
  %1 = dist.wait %f, %x : !dist.future<tensor<4xf32>>, tensor<4xf32> -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

dist.mesh @mesh ["dp"=2]

func.func @one_slot_for_two(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {dist.local} {
  // expected-note @+1 {{in flight since here}}
  %f = dist.start %x {rt.slot = 3 : i64} : tensor<4xf32> -> !dist.future<tensor<4xf32>> {
  ^bb0(%a: tensor<4xf32>):
    %r = dist.all_reduce <sum> %a over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
    dist.yield %r : tensor<4xf32>
  }
  // expected-error @+1 {{expects a free slot but got slot 3}}
  %g = dist.start %x {rt.slot = 3 : i64} : tensor<4xf32> -> !dist.future<tensor<4xf32>> {
  ^bb0(%a: tensor<4xf32>):
    %r = dist.all_reduce <max> %a over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
    dist.yield %r : tensor<4xf32>
  }
  %0 = dist.wait %f, %x {rt.slot = 3 : i64} : !dist.future<tensor<4xf32>>, tensor<4xf32> -> tensor<4xf32>
  %1 = dist.wait %g, %x {rt.slot = 3 : i64} : !dist.future<tensor<4xf32>>, tensor<4xf32> -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

dist.mesh @mesh ["pp"=2, "dp"=2] stage "pp"

func.func @slot_of_an_exchange(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {dist.local, dist.pp_rank = 0 : i64} {
  // expected-note @+1 {{in flight since here}}
  %f = dist.start %x {rt.slot = 3 : i64} : tensor<4xf32> -> !dist.future<tensor<4xf32>> {
  ^bb0(%a: tensor<4xf32>):
    %r = dist.all_reduce <sum> %a over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
    dist.yield %r : tensor<4xf32>
  }
  // expected-error @+1 {{expects a free slot but got slot 3}}
  %0 = dist.exchange (%x) from [0] among [0, 1] {rt.slot = 3 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = dist.wait %f, %x {rt.slot = 3 : i64} : !dist.future<tensor<4xf32>>, tensor<4xf32> -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
