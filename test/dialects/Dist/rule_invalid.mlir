// RUN: tessera-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics

func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{dist.rule: expects '[' at column 2 but got 'i,j])->([i,j'}}
  "my.op"(%x) {dist.rule = #dist.rule<"(i,j])->([i,j]) {i=8, j=4}">} : (tensor<8x4xf32>) -> ()
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{dist.rule: expects factor i once at column 19 but got 'i=4, j=4}'}}
  "my.op"(%x) {dist.rule = #dist.rule<"([i,j])->() {i=8, i=4, j=4}">} : (tensor<8x4xf32>) -> ()
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{dist.rule: expects one kind of factor j at column 27 but got 'max}'}}
  "my.op"(%x) {dist.rule = #dist.rule<"([i,j])->() {i=8, j=4 sum max}">} : (tensor<8x4xf32>) -> ()
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{dist.rule: expects a size of factor j at column 18 but got ''}}
  "my.op"(%x) {dist.rule = #dist.rule<"([i,j])->() {i=8}">} : (tensor<8x4xf32>) -> ()
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{dist.rule: expects sum, max, min or replicated at column 23 but got 'decomposed}'}}
  "my.op"(%x) {dist.rule = #dist.rule<"([i,j])->() {i=8, j=4 decomposed}">} : (tensor<8x4xf32>) -> ()
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{'my.op' op dist.rule: operand 0: expects factors of size 4 in dimension 1 but got 5}}
  "my.op"(%x) {dist.rule = #dist.rule<"([i,j])->() {i=8, j=5}">} : (tensor<8x4xf32>) -> ()
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{'my.op' op dist.rule: operand 0: expects factors of size 8 in dimension 0 but got more than 2^63}}
  "my.op"(%x) {dist.rule = #dist.rule<"([ij,k])->() {i=4611686018427387904, j=4611686018427387906, k=4}">} : (tensor<8x4xf32>) -> ()
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{'my.op' op dist.rule: operand 0: expects 2 dimensions but got 1}}
  "my.op"(%x) {dist.rule = #dist.rule<"([i])->() {i=8}">} : (tensor<8x4xf32>) -> ()
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{'my.op' op dist.rule: expects 1 operands but got 2}}
  "my.op"(%x) {dist.rule = #dist.rule<"([i,j],[i])->() {i=8, j=4}">} : (tensor<8x4xf32>) -> ()
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @below {{'math.exp' op dist.rule: expects an op without a rule of its own (ShardingRuleOpInterface)}}
  %0 = math.exp %x {dist.rule = #dist.rule<"([i,j])->([i,j]) {i=8, j=4}">} : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{'my.op' op dist.rule: expects an op without regions}}
  "my.op"(%x) ({}) {dist.rule = #dist.rule<"([i,j])->() {i=8, j=4}">} : (tensor<8x4xf32>) -> ()
  return
}

// -----

func.func @f(%x: memref<8xf32>) {
  // expected-error @below {{'memref.dealloc' op dist.rule: expects an op without effects}}
  memref.dealloc %x {dist.rule = #dist.rule<"([])->() {}">} : memref<8xf32>
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{'my.op' op dist.rule: expects a #dist.rule but got "rows"}}
  "my.op"(%x) {dist.rule = "rows"} : (tensor<8x4xf32>) -> ()
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{C1: rule: operand 0: expects factors of size 8 in dimension 0 but got 4}}
  dist.foreign "my.op"(%x) <"([i,j])->() {i=4, j=4}"> : (tensor<8x4xf32>) -> ()
  return
}
