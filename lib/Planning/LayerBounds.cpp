//===- LayerBounds.cpp - Lower bounds of unpriced layers ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Let f be the time of a kernel without its launch. A c-th of its rows fills
// ceil(rows / c / tile) tiles, and c ceil(x / c) >= ceil(x), so c f(work / c)
// >= f(work). Bytes have a part that does not shrink (weights), which adds to
// it. The time of a collective is concave in its bytes, so a c-th of the bytes
// takes at least a c-th of its time plus the rest of the time for no bytes.
//
//===----------------------------------------------------------------------===//

#include "LayerBounds.h"

using namespace tessera;
using namespace tessera::cost;

/// Returns the layer without work: only launches and latencies are left.
static LayerWork makeEmpty(LayerWork layer) {
  for (OpWork &op : layer.ops) {
    op.kind = OpClass::Elementwise;
    op.flops = op.bytesRead = op.bytesWritten = 0;
    // The sum of a parameter's gradients is written for any number of rows.
    if (op.pass != cost::Pass::BackwardWeight)
      op.epilogueBytes = 0;
  }
  for (CommWork &comm : layer.comms)
    comm.bytes = 0;
  return layer;
}

LayerBounds::PassBound LayerBounds::boundPass(const PassTime &whole,
                                              const PassTime &empty) {
  PassBound bound;
  bound.launches = empty.kernels.compute + empty.kernels.memory;
  bound.kernels = whole.kernels.compute + whole.kernels.memory;
  bound.host = whole.kernels.host;
  bound.inLine = whole.inLineSeconds();
  bound.inLineBase = empty.inLineSeconds();
  bound.beside = whole.besideSeconds();
  bound.besideBase = empty.besideSeconds();
  return bound;
}

LayerBounds::LayerBounds(const ModelWork &work, const Machine &machine)
    : layers(work.layers), device(machine.device) {
  // Treats all collectives as hidden, even those always exposed: a hidden one
  // costs no more than its time.
  device.overlapSlowdown = std::min(device.overlapSlowdown, 1.0);
  if (machine.registersBuffers())
    device.overlapSlowdown *= Machine::kRegisteredShare;
  for (const LayerWork &layer : work.kinds) {
    LayerTime whole = priceLayer(layer, machine),
              empty = priceLayer(makeEmpty(layer), machine);
    auto backward = [](LayerTime &time) {
      time.backwardInput += time.backwardWeight;
      return time.backwardInput;
    };
    kinds.push_back({boundPass(whole.forward, empty.forward),
                     boundPass(backward(whole), backward(empty))});
  }
}

/// Returns the sums of lower bounds. For pairs of a forward and a backward,
/// they are kernel time without waits for the host, and exposed collectives
/// including the slowdown of kernels by hidden ones.
LayerBounds::Sums LayerBounds::sum(double share, bool pairs) const {
  Sums sums;
  size_t blocks = findBlocks(layers);
  auto part = [&](double whole, double empty) {
    return share * whole + (1 - share) * empty;
  };
  for (auto [index, run] : llvm::enumerate(layers)) {
    ChunkTime layer;
    auto add = [&](const PassBound &pass, double &seconds) {
      double inLine = part(pass.inLine, pass.inLineBase);
      double busy = part(pass.kernels, pass.launches) + inLine;
      if (!pairs)
        busy = std::max(busy, pass.host);
      double hidden = part(pass.beside, pass.besideBase);
      double slowed = busy + device.overlapSlowdown * std::min(hidden, busy);
      seconds = pairs ? slowed : std::max(hidden, slowed);
      layer.exposed += inLine + slowed - busy;
    };
    add(kinds[run.kind].forward, layer.forward);
    layer.exposedForward = layer.exposed;
    add(kinds[run.kind].backward, layer.inputGrad);
    sums.all.addLayers(layer, run.count);
    if (index != blocks)
      (index < blocks ? sums.front : sums.back).addLayers(layer, run.count);
  }
  return sums;
}

double LayerBounds::leastStepSeconds(const Layout &layout, double share,
                                     bool pairs, bool alone) const {
  Sums sums = sum(share, /*pairs=*/false);
  auto pp = double(layout.pp);
  double longest = leastRankSeconds(sums.front, sums.all, sums.back, layout.pp,
                                    /*pairs=*/false, device);
  if (pairs && layout.pp > 1) {
    // Kernels k and collectives c, slowed by s, take at least max(k + s min(k,
    // c), c) when they overlap, and k + c one after the other. The ratio of the
    // two is at least (1 + s) / (2 + s), at c = (1 + s) k.
    double slowed = 1 + std::min(device.overlapSlowdown, 1.0);
    double mean = slowed / (1 + slowed) * sums.all.seconds() / pp;
    sums = sum(share, /*pairs=*/true);
    double paired =
        std::max(mean, leastRankSeconds(sums.front, sums.all, sums.back,
                                        layout.pp, /*pairs=*/true, device));
    longest = alone ? std::min(longest, paired) : paired;
  }
  return (1 - 1e-9) *
         (double(layout.microBatches) * longest + device.stepFloor);
}
