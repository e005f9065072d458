//===- CudaTarget.h - Steps on a device -------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Executes the calls of a step on a device by enqueueing them. The first call
// of the program only notes its requirements, so that libraries, working memory
// and communicators exist before the first step. The second call enqueues the
// work directly, and the third records it as a graph, which all later steps
// replay. While the state of the step before is being read, a step is enqueued
// directly, too, and the host waits at its fence.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_CUDATARGET_H
#define TESSERA_RT_CUDA_CUDATARGET_H

#include "Communication.h"
#include "Matmul.h"
#include "run/Options.h"

#include <cstring>
#include <set>

namespace tessera::rt::cuda {

/// A call of attention that a step makes.
struct AttentionUse {
  tessera_rt_attention_desc desc;
  int64_t qOffset, kOffset;
  bool isBackward;
  bool operator==(const AttentionUse &other) const {
    return memcmp(&desc, &other.desc, sizeof(desc)) == 0 &&
           qOffset == other.qOffset && kOffset == other.kOffset &&
           isBackward == other.isBackward;
  }
};

/// Requirements of a step, noted from its calls.
struct StepNotes {
  /// Matmuls, with the addresses of the first call of each key.
  std::vector<MatmulCall> matmuls;
  std::vector<AttentionUse> attentions;
  std::vector<Operation> collectives;
  /// Bytes of working memory of the call that needs most.
  int64_t workspace = 0;
  /// True if there are routings, whose counts the host reads after a step.
  bool routes = false;
  /// Numbers of generated kernels' launches, and of other calls except
  /// collectives.
  int64_t launches = 0, calls = 0;
  bool guardsBlocks = false;
  /// True if the host reads flags; such a step cannot be a graph.
  bool readsFlags = false;
  /// Offsets of the flags of loops that are being noted.
  std::set<int64_t> openFlags;
};

class CudaTarget final : public Target {
public:
  explicit CudaTarget(tessera_rt_context *ctx) : Target(ctx) {}
  ~CudaTarget() override;

  /// Replaces the device that the program asks for.
  void useDevice(std::unique_ptr<Device> device) {
    this->device = std::move(device);
  }

  uint8_t *arena() override { return deviceArena; }
  Status launch(tessera_rt_kernel_fn fn, const int64_t *args, int64_t extent,
                int64_t grain) override;
  /// tessera_rt_launch_device.
  Status launchDevice(int32_t kernel, const LaunchShape &shape,
                      const int64_t *args, int32_t numArgs);
  Status copyStrided(int64_t elementSize, int32_t rank, const int64_t *shape,
                     int64_t from, const int64_t *fromStrides, int64_t to,
                     const int64_t *toStrides) override;
  Status fill(int64_t elementSize, int64_t offset, int64_t count,
              int64_t bits) override;
  Status readFlag(int64_t offset, int64_t &flag) override;
  Status stateFence() override;
  Status beginBlock(const ArenaBlock &block, bool forget) override;
  Status endBlock(const ArenaBlock &block, bool forget) override;
  bool multiplies(int64_t dtype, int64_t cDtype) const override;
  Status matmul(const tessera_rt_matmul_desc &desc, const void *a,
                const void *b, void *c, tessera_rt_kernel_fn epilogue,
                const int64_t *epilogueArgs) override;
  Status scaledMatmul(const ScaledMatmul &call) override;
  Status route(const tessera_rt_route_desc &desc, const void *ids,
               int64_t offset, int32_t *routing) override;
  Status expertCapacity(const tessera_rt_capacity_desc &desc, const void *ids,
                        const void *scores, void *result) override;
  Status experts(ExpertsCall call, const tessera_rt_experts_desc &desc,
                 const ExpertTensors &tensors) override;
  /// tessera_rt_matmul_fused.
  Status matmulCall(const MatmulCall &call);
  Status attention(const AttentionCall &call, void *out,
                   float *logsumexp) override;
  Status attentionBackward(const AttentionCall &call, const void *grad,
                           const void *out, const float *logsumexp, void *dq,
                           void *dk, void *dv) override;
  Status embeddingBackward(const tessera_rt_embedding_desc &desc,
                           const void *grad, const void *ids, void *result,
                           int64_t offset) override;
  Status start(int32_t slot, Operation &op) override;
  Status finish(int32_t slot) override;

  Status open(const Manifest &manifest, const Options &options,
              ProgramStep program) override;
  Status send(const ArenaBlock &block) override;
  Status createPartSender(std::unique_ptr<PartSender> &sender) override;
  Status createStateSource(std::unique_ptr<StateSource> &source) override;
  Status clear(const ArenaBlock &block) override;
  Status fetch(const std::vector<ArenaBlock> &blocks) override;
  Status move(int64_t to, int64_t from, int64_t bytes) override;
  Status step() override;

  void measure(MemoryUse &use, const Manifest &manifest,
               bool withArena) override;
  std::string limitMemory(const Manifest &manifest, int64_t bytes) override;
  double secondsAtPeak() const override { return bestSeconds; }
  std::string describeJson() const override;

  /// The noted step, for tests.
  const StepNotes &notes() const { return noted; }
  Device &getDevice() { return *device; }

private:
  Status check(const std::string &error) {
    return error.empty() ? TESSERA_RT_OK : fail(ctx, TESSERA_RT_SYSTEM, error);
  }
  void remark(const std::string &text) const;

  double timeAtPeak(bool tf32) const;

  // Opening, in this order; see CudaOpen.cpp.
  Status openDevice(const Manifest &manifest, const Options &options);
  /// Fills the arena with numbers for timing before there are arguments. On a
  /// device under a power limit a matmul of constants takes less time.
  std::string fillArena();
  Status openKernels();
  Status noteStep();
  /// Compares the collectives and the devices of all ranks.
  Status agree();
  Status compareWith(int rank);
  Status openMatmul(const Options &options);
  Status checkScaledMatmuls();
  Status openAttention(const Options &options);
  Status openWorkspace();
  Attention &attentionFor(const AttentionUse &use);
  Status openCommunication(const Options &options);

  /// Enqueues the program's calls, or records or replays them.
  Status enqueueStep();
  Status captureStep();
  void noteWorkspace(int64_t bytes);
  // The counts of routings: allocated, then cleared before each step, copied
  // to the host after it, and read once it has ended.
  Status openCounts();
  Status clearCounts();
  Status sendCounts();
  Status takeCounts();
  /// The rank's loads in the job's shared memory; null if it has none.
  uint8_t *hostLoads() const;
  /// Waits for the work so far and copies blocks to the host's arena.
  Status fetchBlocks(const std::vector<ArenaBlock> &blocks);
  /// Records an asynchronous error of a collective.
  Status checkCommunication();
  /// Waits for all enqueued work, until the timeout.
  Status waitForDevice();

  std::unique_ptr<Device> device;
  std::unique_ptr<Kernels> kernels;
  std::unique_ptr<Matmul> matmuls;
  /// cuDNN's attention, and the calls that it does not support, which run on
  /// the runtime's kernels. If it is null, all calls do.
  std::unique_ptr<Attention> cudnn;
  std::vector<AttentionUse> ownAttentions;
  std::unique_ptr<Communication> communication;
  /// Generated kernels by number.
  std::vector<Kernel> generated;
  ProgramStep program = nullptr;
  bool isShared = false, usesGraph = true, isQuiet = false;
  int64_t memoryLimit = 0;

  uint8_t *deviceArena = nullptr;
  int64_t arenaBytes = 0;
  Stream compute;
  Event end;
  void *workspace = nullptr;
  int64_t workspaceBytes = 0;
  /// Host memory for copying small blocks back.
  void *staging = nullptr;
  static constexpr int64_t stagingBytes = 64 << 10;
  /// A RoutingFault and the loads of all layers: on the device, and in host
  /// memory after a step.
  void *counts = nullptr, *stagedCounts = nullptr;
  int64_t countBytes = 0;

  bool isNoting = false;
  StepNotes noted;
  /// Launches of one step.
  int64_t notedLaunches = 0;
  Graph graph;
  int64_t graphNodes = 0;
  int64_t stepsEnqueued = 0;
  /// Seconds that the noted matmuls and attention take at the device's peak; 0:
  /// not known.
  double bestSeconds = 0;
  /// Allocations in steps after the second.
  int64_t lateAllocations = 0;
};

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_CUDATARGET_H
