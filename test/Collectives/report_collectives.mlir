// Bytes that a device receives, by kind and axes, as text and as JSON.
// RUN: tessera-opt %s --dist-report | FileCheck %s
// RUN: tessera-opt %s --dist-report=output=%t.json -o /dev/null
// RUN: FileCheck %s --check-prefix=JSON < %t.json

// A step takes a microsecond, a byte a nanosecond, and collectives start at
// once. The exponential takes longer than the gather; no computation overlaps
// with the other collectives, even if another transfer does.
dist.mesh @mesh ["x"=2, "y"=4] {dist.links = [[array<f64: 2.0, 1.0e-6, 1.0e9>], [array<f64: 4.0, 1.0e-6, 1.0e9>], array<f64: 0.0, 0.0, 1.0, 1.0>]}

// CHECK:      @step: what a device receives in one call
// CHECK-NEXT:   collective       axes                   count            bytes    exposed bytes           us
// CHECK-NEXT:   all_gather       {"x"}                      1              128                0         1.13
// CHECK-NEXT:   all_reduce       {"x", "y"}                 2              448              448        28.45
// CHECK-NEXT:   all_reduce       {"y"}                      3              576              576        18.58
// CHECK-NEXT:   total                                       6             1152             1024        48.15
// JSON:      "functions": [
// JSON:          "axes": "{\"x\"}",
// JSON-NEXT:     "bytes": 128,
// JSON-NEXT:     "count": 1,
// JSON-NEXT:     "exposed_bytes": 0,
// JSON-NEXT:     "kind": "all_gather",
// JSON-NEXT:     "seconds": 1.128{{[0-9]*}}e-06
// JSON:        "function": "step",
// JSON-NEXT:   "total": {
// JSON-NEXT:     "bytes": 1152,
// JSON-NEXT:     "count": 6,
// JSON-NEXT:     "exposed_bytes": 1024,
// JSON:        "function": "bucket",
// JSON:      "sections": [
// JSON:        "text": "In one call of @step a device receives 1,152 bytes in 48.15 us of collectives"
// JSON:        {"digits":0,"name":"exposed","text":["0","448","576"],"unit":"bytes","value":[0,448,576]}
// JSON:        "text": "In one call of @bucket a device receives 288 bytes in 6.29 us of collectives"
// JSON:      "tessera_report": 1
func.func @step(%a: tensor<4x8xf32>, %b: tensor<3x4x8xf32>)
    -> (tensor<8x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) attributes {dist.local} {
  %f = dist.start %a : tensor<4x8xf32> -> !dist.future<tensor<8x8xf32>> {
  ^bb0(%arg: tensor<4x8xf32>):
    %g = dist.all_gather %arg dim 0 over <{"x"}> on @mesh : tensor<4x8xf32> -> tensor<8x8xf32>
    dist.yield %g : tensor<8x8xf32>
  }
  %e = math.exp %a : tensor<4x8xf32>
  %0 = dist.all_reduce <sum> %e over <{"x", "y"}> on @mesh : tensor<4x8xf32> -> tensor<4x8xf32>
  %1 = dist.all_reduce <max> %a over <{"x", "y"}> on @mesh : tensor<4x8xf32> -> tensor<4x8xf32>
  %2 = dist.wait %f, %a : !dist.future<tensor<8x8xf32>>, tensor<4x8xf32> -> tensor<8x8xf32>
  %3 = dist.accumulate 3 (%b) : (tensor<3x4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%part: tensor<4x8xf32>):
    %r = dist.all_reduce <sum> %part over <{"y"}> on @mesh : tensor<4x8xf32> -> tensor<4x8xf32>
    dist.yield %r : tensor<4x8xf32>
  }
  return %2, %0, %1, %3 : tensor<8x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// A bucket is one collective: one latency, the bytes of its members.
// CHECK:      @bucket: what a device receives in one call
// CHECK-NEXT:   collective       axes                   count            bytes    exposed bytes           us
// CHECK-NEXT:   all_reduce       {"y"}                      1              288              288         6.29
// CHECK-NEXT:   total                                       1              288              288         6.29
func.func @bucket(%a: tensor<4x8xf32>, %b: tensor<16xf32>) -> (tensor<4x8xf32>, tensor<16xf32>) attributes {dist.local} {
  %r:2 = dist.bucket (%a, %b) : (tensor<4x8xf32>, tensor<16xf32>) -> (tensor<4x8xf32>, tensor<16xf32>) {
  ^bb0(%c: tensor<4x8xf32>, %d: tensor<16xf32>):
    %0 = dist.all_reduce <sum> %c over <{"y"}> on @mesh : tensor<4x8xf32> -> tensor<4x8xf32>
    %1 = dist.all_reduce <sum> %d over <{"y"}> on @mesh : tensor<16xf32> -> tensor<16xf32>
    dist.yield %0, %1 : tensor<4x8xf32>, tensor<16xf32>
  }
  return %r#0, %r#1 : tensor<4x8xf32>, tensor<16xf32>
}
