//===- Estimates.h - Needs of a model, before any plan ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Back-of-the-envelope estimates: bytes of the state, FLOPs of a run, bytes on
// a ring. They depend on sizes only; MemoryModel.h and StepTime.h model
// programs.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_ESTIMATES_H
#define TESSERA_COST_ESTIMATES_H

#include "tessera/Cost/MemoryModel.h"

namespace tessera::cost {

/// Activations of a whole model without recomputation, by the rule of thumb k L
/// B S d elements: k tensors of the size of the residual stream in each of L
/// layers for B sequences of S tokens. `bytes` is the size of an element. The
/// rule ignores attention scores and the MLP width; use it before there is a
/// plan.
double roughActivationBytes(int64_t layers, double batch, double seq,
                            int64_t hidden, double bytes = 2, double k = 12);

/// The fewest devices that hold `bytes` in total. `usable` is the share of a
/// device's memory that may be filled: 0.75 is a plan's.
int64_t minimumDevices(double bytes, double memoryBytes, double usable = 1.0);

/// The most parameters whose state fits on `devices` devices in total.
double largestModel(const StateBytes &each, double devices, double memoryBytes);

/// Bytes that each rank of a ring sends: 2 (n-1)/n of the tensor for an
/// all-reduce, (n-1)/n for an all-gather or a reduce-scatter.
double ringBytesPerRank(CollectiveKind kind, double bytes, int64_t ranks);

/// Bytes that a parameter server receives and sends in a step in which
/// `workers` workers send gradients and fetch parameters.
double parameterServerBytes(double bytes, int64_t workers);

/// Bytes that a device sends in a step in collectives over the data axis, by
/// ZeRO stage, for parameters and gradients of two bytes: 2 (n-1)/n of the
/// gradients, whether in an all-reduce or in a reduce-scatter and an
/// all-gather; half as much again for stage 3, which gathers parameters forward
/// and backward.
double dataAxisBytes(double parameters, int zero, int64_t ranks);

/// FLOPs of a run by 6 N D: two for each multiply-add, forward once and
/// backward twice (Kaplan et al. 2020).
double trainingFlops(double parameters, double tokens);

/// Share of a model's FLOPs that a plan computes. With adapters no gradients of
/// parameters are computed, which are one of three passes.
double trainedFlopsShare(const Numerics &numerics);

/// Seconds of `flops` FLOPs on devices that reach a share of their peak.
double trainingSeconds(double flops, double devices, double peak,
                       double utilization);

/// Share of a run's time, and so of its cost, that is lost at `reached`
/// utilization if `possible` utilization can be reached.
double wastedShare(double reached, double possible);

/// FLOPs of a step with full recomputation relative to one without: one more
/// forward pass in addition to one forward and two for the backward.
constexpr double kFullRecomputeFlops = 4.0 / 3.0;

/// Layers between kept inputs that minimize the memory of full recomputation,
/// sqrt(L): L/K inputs and the activations of K layers (Chen et al. 2016).
int64_t leastMemoryCheckpoint(int64_t layers);

} // namespace tessera::cost

#endif // TESSERA_COST_ESTIMATES_H
