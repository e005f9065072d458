//===- Saving.h - Saving values of a run ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --save-initial, --save-final, --save-outputs and --save-weights. All ranks
// write files of one folder, each the values that are dealt to it. Rank 0
// creates the folder before, and names and publishes it afterwards.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_SAVING_H
#define TESSERA_RT_SRC_SAVING_H

#include "Arguments.h"
#include "SavedWeights.h"
#include "StagedFolder.h"

namespace tessera::rt {

/// One rank's part in all saves of a run.
class Saver {
public:
  Saver(tessera_rt_context *ctx, const Manifest &manifest,
        const Options &options, const RunData &data);

  /// Creates and checks the folders of the save. All ranks call it before the
  /// first step.
  Status prepare();

  // All ranks call these. A save that the options do not ask for does nothing.
  // `steps` is the number of steps of this run. Failures are recorded.
  Status saveInitial();
  Status saveFinal(int64_t steps);
  Status saveOutputs(int64_t steps);
  Status saveWeights();

  using Values = std::vector<const Value *>;
  /// The program's results.
  const Values &results() const { return resultValues; }

private:
  /// Opens a folder on rank 0 that has room for `bytes`.
  Status open(StagedFolder &folder, const std::string &path, int64_t bytes);
  Status save(StagedFolder &folder, const std::string &path,
              const Values &values, int64_t steps);
  std::string writeManifest(const std::string &folder, const Values &values,
                            int64_t steps);
  Status publish(StagedFolder &folder, int64_t bytes);
  /// Parameters and state.
  Values state;
  Values resultValues;

  tessera_rt_context *ctx;
  const Manifest &manifest;
  const Options &options;
  const RunData &data;
  /// Folders, used on rank 0.
  StagedFolder initial, final, outputs;
  StagedFolder weights{StagedFolder::Weights};
  WeightsLayout weightsLayout;
  /// Bytes that open folders will need.
  int64_t promised = 0;
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_SAVING_H
