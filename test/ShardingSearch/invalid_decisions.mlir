// Decisions that a module cannot carry are refused, each with one error.
// RUN: tessera-opt %s --split-input-file --verify-diagnostics --dist-replay-decisions

// expected-error @below {{decisions: is not JSON: [1:}}
module attributes {dist.decisions = "{\"tessera\": \"decisions\", \"version\": 2,"} {
  dist.mesh @mesh ["a"=4]
  func.func @f(%x: tensor<64x16xf32>, %w: tensor<16x8xf32>) -> tensor<64x8xf32> {
    %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<64x16xf32>, tensor<16x8xf32> -> tensor<64x8xf32>
    return %0 : tensor<64x8xf32>
  }
}

// -----

// expected-error @below {{decisions: expects a decision file, {"tessera": "decisions", ...}, but got "plan"}}
module attributes {dist.decisions = "{\"tessera\": \"plan\"}"} {
  dist.mesh @mesh ["a"=4]
  func.func @f(%x: tensor<64x16xf32>, %w: tensor<16x8xf32>) -> tensor<64x8xf32> {
    %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<64x16xf32>, tensor<16x8xf32> -> tensor<64x8xf32>
    return %0 : tensor<64x8xf32>
  }
}

// -----

// expected-error @below {{decisions: expects a decision file, {"tessera": "decisions", ...}, but got no "tessera"}}
module attributes {dist.decisions = "[]"} {
  dist.mesh @mesh ["a"=4]
  func.func @f(%x: tensor<64x16xf32>, %w: tensor<16x8xf32>) -> tensor<64x8xf32> {
    %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<64x16xf32>, tensor<16x8xf32> -> tensor<64x8xf32>
    return %0 : tensor<64x8xf32>
  }
}

// -----

// expected-error @below {{decisions: expects version 2 of decision files but got another: write it anew}}
module attributes {dist.decisions = "{\"tessera\": \"decisions\", \"version\": 1}"} {
  dist.mesh @mesh ["a"=4]
  func.func @f(%x: tensor<64x16xf32>, %w: tensor<16x8xf32>) -> tensor<64x8xf32> {
    %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<64x16xf32>, tensor<16x8xf32> -> tensor<64x8xf32>
    return %0 : tensor<64x8xf32>
  }
}

// -----

// expected-error @below {{decisions: expects the mesh #dist.mesh<["a"=4]> but got #dist.mesh<["a"=8]>}}
module attributes {dist.decisions = "{\"tessera\": \"decisions\", \"version\": 2, \"strategy\": \"auto\", \"mesh\": \"#dist.mesh<[\\\"a\\\"=8]>\", \"arguments\": [{\"attributes\": [\"#dist.sharding<@mesh, [{}, {\\\"a\\\"}]>\"], \"key\": \": tensor<16x8xf32>\", \"seen\": 1}, {\"attributes\": [\"#dist.sharding<@mesh, [{\\\"a\\\"}, {}]>\"], \"key\": \": tensor<64x16xf32>\", \"seen\": 1}], \"ops\": [{\"attributes\": [\"{dist.exact = #dist.axes<{}>, dist.factors = [#dist.axes<{\\\"a\\\"}>, #dist.axes<{}>, #dist.axes<{}>], dist.shardings = [#dist.sharding<@mesh, [{\\\"a\\\"}, {}]>]}\"], \"key\": \"nn.einsum ([b,k],[k,n])->([b,n]) {b=64, k=16 sum, n=8} : tensor<64x8xf32> of argument, argument to func.return\", \"seen\": 1}], \"results\": [{\"attributes\": [\"#dist.sharding<@mesh, [{\\\"a\\\"}, {}]>\"], \"key\": \"tensor<64x8xf32>\", \"seen\": 1}], \"sums\": []}"} {
  dist.mesh @mesh ["a"=4]
  func.func @f(%x: tensor<64x16xf32>, %w: tensor<16x8xf32>) -> tensor<64x8xf32> {
    %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<64x16xf32>, tensor<16x8xf32> -> tensor<64x8xf32>
    return %0 : tensor<64x8xf32>
  }
}

// -----

// expected-error @below {{decisions: expects a list "ops" in a decision file}}
module attributes {dist.decisions = "{\"tessera\": \"decisions\", \"version\": 2, \"strategy\": \"auto\", \"mesh\": \"#dist.mesh<[\\\"a\\\"=4]>\", \"arguments\": [{\"attributes\": [\"#dist.sharding<@mesh, [{}, {\\\"a\\\"}]>\"], \"key\": \": tensor<16x8xf32>\", \"seen\": 1}, {\"attributes\": [\"#dist.sharding<@mesh, [{\\\"a\\\"}, {}]>\"], \"key\": \": tensor<64x16xf32>\", \"seen\": 1}], \"results\": [{\"attributes\": [\"#dist.sharding<@mesh, [{\\\"a\\\"}, {}]>\"], \"key\": \"tensor<64x8xf32>\", \"seen\": 1}], \"sums\": []}"} {
  dist.mesh @mesh ["a"=4]
  func.func @f(%x: tensor<64x16xf32>, %w: tensor<16x8xf32>) -> tensor<64x8xf32> {
    %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<64x16xf32>, tensor<16x8xf32> -> tensor<64x8xf32>
    return %0 : tensor<64x8xf32>
  }
}

// -----

module attributes {dist.decisions = "{\"tessera\": \"decisions\", \"version\": 2, \"strategy\": \"auto\", \"mesh\": \"#dist.mesh<[\\\"a\\\"=4]>\", \"arguments\": [{\"attributes\": [\"#dist.sharding<@mesh, [{}, {\\\"a\\\"}]>\"], \"key\": \": tensor<16x4xf32>\", \"seen\": 1}, {\"attributes\": [\"#dist.sharding<@mesh, [{\\\"a\\\"}, {}]>\"], \"key\": \": tensor<64x16xf32>\", \"seen\": 1}], \"ops\": [{\"attributes\": [\"{dist.exact = #dist.axes<{}>, dist.factors = [#dist.axes<{\\\"a\\\"}>, #dist.axes<{}>, #dist.axes<{}>], dist.shardings = [#dist.sharding<@mesh, [{\\\"a\\\"}, {}]>]}\"], \"key\": \"nn.einsum ([b,k],[k,n])->([b,n]) {b=64, k=16 sum, n=8} : tensor<64x8xf32> of argument, argument to func.return\", \"seen\": 1}], \"results\": [{\"attributes\": [\"#dist.sharding<@mesh, [{\\\"a\\\"}, {}]>\"], \"key\": \"tensor<64x8xf32>\", \"seen\": 1}], \"sums\": []}"} {
  dist.mesh @mesh ["a"=4]
  // expected-error @below {{decisions: expects one for ': tensor<16x8xf32>' but got ': tensor<16x4xf32>'}}
  func.func @f(%x: tensor<64x16xf32>, %w: tensor<16x8xf32>) -> tensor<64x8xf32> {
    %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<64x16xf32>, tensor<16x8xf32> -> tensor<64x8xf32>
    return %0 : tensor<64x8xf32>
  }
}

// -----

module attributes {dist.decisions = "{\"tessera\": \"decisions\", \"version\": 2, \"strategy\": \"auto\", \"mesh\": \"#dist.mesh<[\\\"a\\\"=4]>\", \"arguments\": [{\"attributes\": [\"3 : i64\"], \"key\": \": tensor<16x8xf32>\", \"seen\": 1}, {\"attributes\": [\"#dist.sharding<@mesh, [{\\\"a\\\"}, {}]>\"], \"key\": \": tensor<64x16xf32>\", \"seen\": 1}], \"ops\": [{\"attributes\": [\"{dist.exact = #dist.axes<{}>, dist.factors = [#dist.axes<{\\\"a\\\"}>, #dist.axes<{}>, #dist.axes<{}>], dist.shardings = [#dist.sharding<@mesh, [{\\\"a\\\"}, {}]>]}\"], \"key\": \"nn.einsum ([b,k],[k,n])->([b,n]) {b=64, k=16 sum, n=8} : tensor<64x8xf32> of argument, argument to func.return\", \"seen\": 1}], \"results\": [{\"attributes\": [\"#dist.sharding<@mesh, [{\\\"a\\\"}, {}]>\"], \"key\": \"tensor<64x8xf32>\", \"seen\": 1}], \"sums\": []}"} {
  dist.mesh @mesh ["a"=4]
  // expected-error @below {{decisions: expects a sharding but got 3 : i64}}
  func.func @f(%x: tensor<64x16xf32>, %w: tensor<16x8xf32>) -> tensor<64x8xf32> {
    %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<64x16xf32>, tensor<16x8xf32> -> tensor<64x8xf32>
    return %0 : tensor<64x8xf32>
  }
}

// -----

module attributes {dist.decisions = "{\"tessera\": \"decisions\", \"version\": 2, \"strategy\": \"auto\", \"mesh\": \"#dist.mesh<[\\\"a\\\"=4]>\", \"arguments\": [{\"attributes\": [\"#dist.sharding<@mesh, [{}, {\\\"a\\\"}]>\"], \"key\": \": tensor<16x8xf32>\", \"seen\": 1}, {\"attributes\": [\"#dist.sharding<@mesh, [{\\\"a\\\"}, {}]>\"], \"key\": \": tensor<64x16xf32>\", \"seen\": 1}], \"ops\": [{\"attributes\": [\"{nn.param = \\\"x\\\"}\"], \"key\": \"nn.einsum ([b,k],[k,n])->([b,n]) {b=64, k=16 sum, n=8} : tensor<64x8xf32> of argument, argument to func.return\", \"seen\": 1}], \"results\": [{\"attributes\": [\"#dist.sharding<@mesh, [{\\\"a\\\"}, {}]>\"], \"key\": \"tensor<64x8xf32>\", \"seen\": 1}], \"sums\": []}"} {
  dist.mesh @mesh ["a"=4]
  func.func @f(%x: tensor<64x16xf32>, %w: tensor<16x8xf32>) -> tensor<64x8xf32> {
  // expected-error @below {{decisions: expects shardings and factors but got}}
    %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<64x16xf32>, tensor<16x8xf32> -> tensor<64x8xf32>
    return %0 : tensor<64x8xf32>
  }
}
