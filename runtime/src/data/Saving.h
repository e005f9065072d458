//===- Saving.h - What a run saves ------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --save-initial, --save-final, --save-every, --save-outputs and
// --save-weights. All ranks write files of one folder, each the values that are
// dealt to it; rank 0 makes the folder before, and names and publishes it
// after.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_SAVING_H
#define TESSERA_RT_SRC_SAVING_H

#include "Arguments.h"
#include "SavedWeights.h"
#include "StagedFolder.h"

namespace tessera::rt {

/// Where the data of a run comes from, for manifests: a path, or a seed.
std::string describeData(const Options &options);

/// One rank's part in all saves of a run.
class Saver {
public:
  Saver(tessera_rt_context *ctx, const Manifest &manifest,
        const Options &options, const RunData &data);

  /// Makes and checks the folders that will be written; to be called before
  /// the first step, by all ranks.
  Status prepare();

  // All ranks call these; what the options do not ask for is not saved. `steps`
  // is how many this run has done. Failures are recorded.
  Status saveInitial();
  /// Where --save-every wants it.
  Status saveStep(int64_t steps);
  Status saveFinal(int64_t steps);
  Status saveOutputs(int64_t steps);
  Status saveWeights();

  using Values = std::vector<const Value *>;
  /// The program's results.
  const Values &results() const { return resultValues; }

private:
  /// Rank 0 makes a folder in which to write so many bytes.
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
  /// Of rank 0.
  StagedFolder initial, final, outputs;
  StagedFolder weights{StagedFolder::Weights};
  WeightsLayout weightsLayout;
  /// Bytes that open folders will need.
  int64_t promised = 0;
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_SAVING_H
