//===- Rehearsal.cpp - Lists of pipelines without their work --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Rehearsal.h.
//
//===----------------------------------------------------------------------===//

#include "Rehearsal.h"

#include <algorithm>
#include <sys/prctl.h>

using namespace tessera::rt;

Status RehearsalTarget::open(const Manifest &manifest, const Options &options,
                             ProgramStep program) {
  const Rehearsal &r = options.rehearsal;
  // Times are for 1/p of the model; a stage is a fraction of that.
  double share =
      double(manifest.stageAxis.size) / double(manifest.pipeline.stages);
  seconds[TESSERA_RT_TASK_F] = r.forward * share;
  seconds[TESSERA_RT_TASK_B] = r.inputGrad * share;
  seconds[TESSERA_RT_TASK_W] = r.weightGrad * share;
  seconds[TESSERA_RT_TASK_BW] = (r.inputGrad + r.weightGrad) * share;
  link = r.link;
  ctx->mover = this;
  // Makes a sleep end on time: by default the system may add 50 us.
  prctl(PR_SET_TIMERSLACK, 1);
  return HostTarget::open(manifest, options, program);
}

Status RehearsalTarget::runTask(tessera_rt_task_fn, int64_t task,
                                int64_t beside, const int64_t *) {
  double lasts = seconds[task] + (beside < 0 ? 0 : seconds[beside]);
  return host::idle(ctx, monotonicSeconds() + lasts);
}

double RehearsalTarget::readyAt(int32_t slot, const Operation &op) {
  double posted = ctx->block().entries[slot].postedAt;
  if (op.kind == OpKind::Recv) {
    int sender = op.group->members[size_t(op.peer)];
    int16_t theirs = op.peerSlot[size_t(op.peer)];
    posted =
        std::max(posted, ctx->memory.blocks[sender].entries[theirs].postedAt);
    return posted + link;
  }
  return 0;
}

Status RehearsalTarget::start(int32_t slot, Operation &op) {
  if (isPointToPoint(op.kind))
    return HostTarget::start(slot, op);
  op.stage = Stage::Complete;
  return TESSERA_RT_OK;
}

Status RehearsalTarget::finish(int32_t slot) {
  Operation &op = ctx->operations[slot];
  if (isPointToPoint(op.kind))
    return HostTarget::finish(slot);
  op.stage = Stage::Free;
  return TESSERA_RT_OK;
}
