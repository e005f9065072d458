//===- RuntimeReaders.cpp - Readers of the runtime, for damaged inputs ----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files, manifests, options, the environment; see Subject.h.
//
//===----------------------------------------------------------------------===//

#include "Subject.h"

#include "../runtime/Ranks.h"
#include "../runtime/TemporaryFolder.h"

#include "runtime/cuda/TuneFile.h"
#include "runtime/src/checkpoint/Format.h"
#include "runtime/src/data/Inputs.h"
#include "runtime/src/data/Safetensors.h"
#include "runtime/src/data/ShardRuns.h"
#include "runtime/src/data/Tokens.h"
#include "runtime/src/ranks/Launcher.h"
#include "runtime/src/run/Serve.h"
#include "runtime/src/support/Hash.h"
#include "runtime/src/support/Json.h"

#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/mman.h>

using namespace tessera::rt;
using namespace tessera::fuzz;

namespace {
/// The input as a file in memory.
std::string asFile(const std::string &input) {
  static int fd = memfd_create("input", MFD_CLOEXEC);
  static const std::string path = format("/proc/self/fd/%d", fd);
  require(ftruncate(fd, 0) == 0 && pwrite(fd, input.data(), input.size(), 0) ==
                                       ssize_t(input.size()),
          "no memory for it");
  return path;
}

/// Reads every byte.
uint64_t touch(const uint8_t *bytes, int64_t count) {
  return count > 0 ? xxh64(bytes, size_t(count)) : 0;
}

//===----------------------------------------------------------------------===//
// Examples
//===----------------------------------------------------------------------===//

std::string contentOf(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(in)),
                     std::istreambuf_iterator<char>());
}

std::vector<std::string> npyExamples() {
  std::vector<std::string> examples;
  std::vector<double> zeros(64);
  std::string path = temporary("example.npy");
  for (int32_t dtype :
       {TESSERA_RT_F32, TESSERA_RT_BF16, TESSERA_RT_I64, TESSERA_RT_I1})
    for (const std::vector<int64_t> &shape :
         {std::vector<int64_t>{}, {6}, {2, 3}, {0, 4}})
      if (writeNpy(path, dtype, shape, zeros.data()).empty())
        examples.push_back(contentOf(path));
  return examples;
}

std::vector<std::string> stateExamples() {
  SavedState state;
  state.kind = "state";
  state.program = "g";
  state.hash = "01ab";
  state.ranks = 4;
  state.step = 12;
  state.dataPosition = 96;
  state.data = "/data/text.u16";
  std::vector<std::string> examples{describeState(state)};
  state.files = {{"w", "f32", {2, 3}, 152, 1}, {"m", "bf16", {}, 132, 2}};
  examples.push_back(describeState(state));
  return examples;
}

std::vector<std::string> weightExamples() {
  SafetensorsHeader header;
  std::vector<std::string> examples{describeSafetensors(header)};
  header.metadata = {{"format", "pt"}};
  header.entries = {{"a.weight", "F32", {2, 3}, 0, 24},
                    {"b", "BF16", {}, 24, 26},
                    {"c", "F8_E4M3", {0, 4}, 26, 26}};
  examples.push_back(describeSafetensors(header) + std::string(26, '\1'));
  return examples;
}

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

const char *const manifestExample = "{\"version\":" TEXT(
    TESSERA_RT_ABI_VERSION) ",\"program\":\"p\",\"hash\":\"0\",\"ranks\":4,"
                            "\"arena_bytes\":512,\"plan\":[\"x\"],\"memory\":{"
                            "\"a\":1},"
                            "\"mesh\":[{\"name\":\"dp\",\"size\":2},{\"name\":"
                            "\"tp\",\"size\":2}],"
                            "\"arguments\":["
                            "{\"name\":\"w\",\"role\":\"param\",\"dtype\":"
                            "\"f32\",\"shape\":[5,6],"
                            "\"padded_shape\":[6,6],\"local_shape\":[3,3],"
                            "\"offset\":0,\"bytes\":36,"
                            "\"sharding\":[[{\"stride\":2,\"size\":2}],[{"
                            "\"stride\":1,\"size\":2}]],"
                            "\"init\":{\"kind\":\"normal\",\"std\":0.5},"
                            "\"donate\":0,"
                            "\"source\":{\"tensor\":\"w.weight\",\"shape\":[6,"
                            "5],\"offset\":0,"
                            "\"strides\":[1,5]}},"
                            "{\"name\":\"t\",\"role\":\"state\",\"dtype\":"
                            "\"f32\",\"shape\":[2,6],"
                            "\"offset\":64,\"bytes\":48,\"logical_shape\":[3,4]"
                            ",\"tiles\":[1,2]},"
                            "{\"name\":\"ids\",\"role\":\"tokens\",\"dtype\":"
                            "\"i32\",\"shape\":[2,4],"
                            "\"local_shape\":[2,4],\"offset\":128,\"bytes\":32,"
                            "\"vocab\":128}],"
                            "\"results\":[{\"name\":\"w\",\"dtype\":\"f32\","
                            "\"shape\":[5,6],"
                            "\"padded_shape\":[6,6],\"local_shape\":[3,3],"
                            "\"offset\":0,\"bytes\":36,"
                            "\"sharding\":[[{\"stride\":2,\"size\":2}],[{"
                            "\"stride\":1,\"size\":2}]]},"
                            "{\"name\":\"loss\",\"dtype\":\"f32\",\"shape\":[],"
                            "\"offset\":192,"
                            "\"bytes\":4}]}";

const char *const pipelineExample = "{\"version\":" TEXT(
    TESSERA_RT_ABI_VERSION) ",\"program\":\"p\",\"hash\":\"0\",\"ranks\":4,"
                            "\"arena_bytes\":512,\"pp_axis\":{\"stride\":2,"
                            "\"size\":2},"
                            "\"pipeline\":{\"schedule\":\"1f1b\",\"stages\":2,"
                            "\"micro_batches\":4,\"entries\":30,\"bubble\":0.2}"
                            ","
                            "\"mesh\":[{\"name\":\"pp\",\"size\":2},{\"name\":"
                            "\"tp\",\"size\":2}],"
                            "\"arguments\":["
                            "{\"name\":\"w\",\"role\":\"param\",\"dtype\":"
                            "\"f32\",\"shape\":[6],"
                            "\"local_shape\":[3],\"offset\":[-1,64],\"bytes\":"
                            "12,"
                            "\"sharding\":[[{\"stride\":1,\"size\":2}]],"
                            "\"init\":{\"kind\":\"ones\"},\"donate\":0}],"
                            "\"results\":[{\"name\":\"w\",\"dtype\":\"f32\","
                            "\"shape\":[6],"
                            "\"local_shape\":[3],\"offset\":[-1,128],\"bytes\":"
                            "12,"
                            "\"sharding\":[[{\"stride\":1,\"size\":2}]]},"
                            "{\"name\":\"loss\",\"dtype\":\"f32\",\"shape\":[],"
                            "\"offset\":[0,192],\"bytes\":4}]}";

//===----------------------------------------------------------------------===//
// Readers
//===----------------------------------------------------------------------===//

bool readJson(const std::string &input) {
  Json json;
  std::string error;
  bool isRead = parseJson(input, json, error);
  require(isRead == error.empty(), "an error without a message");
  return isRead;
}

bool readNpy(const std::string &input) {
  NpyArray array;
  if (!array.open(asFile(input)).empty())
    return false;
  int64_t count = 1;
  for (int64_t extent : array.shape)
    count *= extent;
  require(count >= 0, "a negative size");
  touch(array.elements, count * dtypeSize(array.dtype));
  Value value;
  value.name = "w";
  value.dtype = TESSERA_RT_F32;
  value.logicalShape = {2, 3};
  checkArray(value, array);
  return true;
}

bool readWeights(const std::string &input) {
  const uint8_t *data = reinterpret_cast<const uint8_t *>(input.data());
  SafetensorsHeader header, again;
  if (!parseSafetensors(data, int64_t(input.size()), header).empty())
    return false;
  int64_t bytes = 0;
  for (const SafetensorsEntry &entry : header.entries) {
    require(header.elements + entry.end <= int64_t(input.size()),
            "a tensor beyond the file");
    touch(data + header.elements + entry.begin, entry.end - entry.begin);
    bytes += entry.end - entry.begin;
  }
  require(header.elements + bytes == int64_t(input.size()), "holes");
  std::string text =
      describeSafetensors(header) + std::string(size_t(bytes), 0);
  require(parseSafetensors(reinterpret_cast<const uint8_t *>(text.data()),
                           int64_t(text.size()), again)
                  .empty() &&
              again.entries.size() == header.entries.size(),
          "not what it writes");
  return true;
}

bool readState(const std::string &input) {
  SavedState state, again;
  if (!parseState(input, state).empty())
    return false;
  require(parseState(describeState(state), again).empty() &&
              again.files.size() == state.files.size(),
          "not what it writes");
  return true;
}

/// A folder with a manifest and a file that match, or do not.
bool readFolder(const std::string &input) {
  static const std::string folder = [] {
    std::string path = temporary("folder");
    std::filesystem::create_directories(path);
    std::vector<float> zeros(6);
    require(
        writeNpy(path + "/w.npy", TESSERA_RT_F32, {2, 3}, zeros.data()).empty(),
        "no file");
    return path;
  }();
  static Manifest manifest;
  static ThreadPool pool(1, 0);
  std::string error;
  if (manifest.ranks == 0)
    require(parseManifest(manifestExample, manifest, error), "the example");
  std::ofstream(folder + "/manifest.json", std::ios::binary) << input;
  InputFolder inputs;
  if (!inputs.open(folder).empty())
    return false;
  inputs.fingerprint();
  inputs.check(manifest, true);
  inputs.verify(pool, 0, 1);
  return true;
}

/// Uses blocks of a value as a run does.
void useValue(const Value &value, const Manifest &manifest) {
  int64_t size = dtypeSize(value.dtype);
  require(value.bytes >= 0, "a block of less than nothing");
  require(!blockOwners(value, manifest.ranks).empty(), "a value on no rank");
  for (int rank : {0, manifest.ranks - 1}) {
    if (!value.isOn(rank))
      continue;
    require(value.offsetOn(rank) + value.bytes <= manifest.arenaBytes,
            "a block outside the arena");
    ShardRuns runs(value, rank);
    for (int64_t i = 0; i < std::min<int64_t>(runs.size(), 100); ++i) {
      ShardRuns::Run run = runs[i];
      require(run.length == 0 ||
                  (run.length > 0 && run.local >= 0 && run.global >= 0 &&
                   (run.local + run.length) * size <= value.bytes &&
                   run.global + run.length <= value.elements()),
              "a run outside its block");
    }
  }
}

bool readManifest(const std::string &input) {
  Manifest manifest;
  std::string error;
  if (!parseManifest(input.c_str(), manifest, error))
    return false;
  for (const Value &value : manifest.arguments)
    useValue(value, manifest);
  for (const Value &value : manifest.results)
    useValue(value, manifest);
  helpText("program", manifest);
  return true;
}

bool readTokens(const std::string &input) {
  static ThreadPool pool(1, 0);
  Value tokens;
  tokens.name = "tokens";
  tokens.role = Role::Labels;
  tokens.dtype = TESSERA_RT_I32;
  tokens.shape = {2, 4};
  BatchShape shape;
  require(findBatchShape({&tokens}, shape).empty(), "the example");
  // The first byte selects the format of the rest.
  static const char *const formats[] = {"", "bytes", "u16", "u32"};
  unsigned char kind = input.empty() ? 0 : static_cast<unsigned char>(input[0]);
  shape.vocab = kind & 4 ? 128 : 0;
  TokenSource source;
  if (!source.openFile(asFile(input), formats[kind & 3], shape).empty())
    return false;
  if (kind & 8 && !source.holdOut(1 + (kind >> 4)).empty())
    return false;
  if (!source.check(pool, kind >> 4, 4).empty())
    return false;
  std::vector<int32_t> ids(4);
  for (int64_t i = 0; i < 8; ++i) {
    source.fill(tokens, false, (kind >> 4) + i, 0, 4, ids.data());
    for (int32_t id : ids)
      require(shape.vocab == 0 || (i >= 4) || id < shape.vocab,
              "an id beyond the vocabulary");
  }
  return true;
}

/// Each line of the input is an argument.
bool readOptions(const std::string &input) {
  std::vector<std::string> lines(1, "prog");
  lines.emplace_back();
  for (char c : input) {
    if (c == '\n')
      lines.emplace_back();
    else if (c)
      lines.back() += c;
  }
  std::vector<char *> argv;
  for (std::string &line : lines)
    argv.push_back(&line[0]);
  Options options;
  std::string error;
  if (!parseOptions(int(argv.size()), argv.data(), options, error)) {
    require(!error.empty(), "an error without a message");
    return false;
  }
  require(options.steps >= 0 && options.dataPosition >= -1 &&
              options.ranks >= 0 && options.timeouts.step > 0 &&
              options.evalBatches >= 1,
          "a number out of range");
  comparedOptions(options);
  return true;
}

/// Lines NAME=VALUE of an environment.
bool readVariables(const std::string &input) {
  clearenv();
  for (size_t begin = 0; begin < input.size();) {
    size_t end = std::min(input.find('\n', begin), input.size());
    std::string line = input.substr(begin, end - begin);
    size_t equals = line.find('=');
    if (equals != std::string::npos && equals > 0)
      setenv(line.substr(0, equals).c_str(), line.c_str() + equals + 1, 1);
    begin = end + 1;
  }
  Environment environment;
  if (!readEnvironment(environment).empty())
    return false;
  require(environment.rank >= 0 && environment.rank < environment.ranks,
          "a rank out of range");
  for (int perNode : {0, 2}) {
    Options options;
    options.localRanks = perNode;
    Placement place;
    if (findPlacement(environment, options, /*ranks=*/4, place).empty())
      require(place.ranks() == 4 && place.node >= 0 && place.node < place.nodes,
              "a node out of range");
  }
  return true;
}

bool readTune(const std::string &input) {
  cuda::TuneFile file;
  return file.parse(input).empty();
}

std::vector<std::string> tuneExamples() {
  cuda::TuneFile file;
  file.subject = {130100, "GPU", 132, true};
  std::vector<std::string> examples{file.text()};
  file.entries[{1, 2, 3}].what = "f32[1 x 2]";
  examples.push_back(file.text());
  return examples;
}

std::vector<std::string> jsonExamples() {
  return {manifestExample, stateExamples()[1], "[1.5e3, \"\\u00e9\"]"};
}

std::vector<std::string> checkpointExamples() {
  std::vector<std::string> examples;
  for (const char *text : {manifestExample, pipelineExample}) {
    Manifest manifest;
    std::string error;
    if (parseManifest(text, manifest, error))
      examples.push_back(describeCheckpoint(manifest, {12, 96, 0, "t.u16", 7}));
  }
  return examples;
}

std::vector<std::string> sumsExamples() {
  return {describeSums({{"manifest.json", 1}, {"rank-00000.safetensors", 2}})};
}

std::vector<std::string> tokenExamples() {
  return {std::string(60, 'a'),
          std::string("\x06\0\1\0\2\0\3\0\4\0", 10) + std::string(80, '\0'),
          std::string("\x0f\0\0\0", 4) + std::string(200, '\0')};
}

std::vector<std::string> optionExamples() {
  return {"--ranks\n4\n--seed=3\n--data\nx.u16\n--data-position\n7\n--quiet",
          "--steps=10\n--eval-every\n3\n--save-final\nd\n--checkpoint=c",
          "--memory-limit=64Ki\n--timeout\n0.5\n--on-nan\nskip\n--log=jsonl"};
}

std::vector<std::string> variableExamples() {
  return {"RANK=1\nWORLD_SIZE=4\nLOCAL_WORLD_SIZE=4\nMASTER_PORT=1",
          "SLURM_PROCID=0\nSLURM_NTASKS=2\nSLURM_STEP_ID=0\nSLURM_NNODES=1",
          "OMPI_COMM_WORLD_RANK=0\nOMPI_COMM_WORLD_SIZE=2\nPMI_RANK=0\n"
          "PMI_SIZE=2"};
}

/// Lays out the files of a checkpoint with this manifest.
bool readCheckpoint(const std::string &input) {
  CheckpointManifest checkpoint;
  if (!parseCheckpoint(input, checkpoint).empty())
    return false;
  std::vector<std::vector<CheckpointFile>> files;
  std::vector<const Value *> values = stateOf(checkpoint.layout);
  if (!layoutFiles(values, checkpoint.layout.ranks, files).empty())
    return false;
  int64_t elements = 0, written = 0;
  for (const Value *value : values)
    elements += value->elements();
  for (const std::vector<CheckpointFile> &own : files)
    for (const CheckpointFile &file : own)
      for (const FilePart &part : file.parts)
        written += part.box.elements();
  require(written <= elements, "each element is written at most once");
  return true;
}

/// Moves elements as a request asks, to and from memory that has room for these
/// elements alone.
bool serveRequest(const std::string &input) {
  static Manifest manifest;
  std::string error;
  if (manifest.ranks == 0)
    require(parseManifest(manifestExample, manifest, error), "the example");
  static SingleRank single(1, manifest.arenaBytes);
  tessera_rt_context *ctx = single;
  ctx->ranks = manifest.ranks;
  tessera::serve::Request request;
  if (!readRequest(manifest, input.data(), input.size(), request).empty())
    return false;
  if (request.kind != tessera::serve::kGet &&
      request.kind != tessera::serve::kSet)
    return true;
  const Value &value = manifest.arguments[request.value];
  require(request.first + request.count <= value.elements(),
          "elements outside of the value");
  std::vector<uint8_t> window(size_t(request.count * dtypeSize(value.dtype)));
  require(transferElements(ctx, manifest, request, window.data()) ==
              TESSERA_RT_OK,
          "elements that do not move");
  return true;
}

std::vector<std::string> requestExamples() {
  std::vector<std::string> examples;
  for (uint32_t kind : {0, 1, 2, 3, 4})
    for (uint32_t value : {0, 1, 2}) {
      tessera::serve::Request request{kind, value, 2, 7, 1};
      examples.emplace_back(reinterpret_cast<const char *>(&request),
                            sizeof(request));
    }
  return examples;
}

bool readSums(const std::string &input) {
  FileSums sums;
  if (!parseSums(input, sums).empty())
    return false;
  require(describeSums(sums) == input, "sums are as they were read");
  return true;
}
} // namespace

std::vector<Subject> tessera::fuzz::getSubjects() {
  return {{"json", readJson, jsonExamples},
          {"npy", readNpy, npyExamples},
          {"weights", readWeights, weightExamples},
          {"state", readState, stateExamples},
          {"folder", readFolder, stateExamples},
          {"manifest", readManifest,
           [] {
             return std::vector<std::string>{manifestExample, pipelineExample};
           }},
          {"checkpoint", readCheckpoint, checkpointExamples},
          {"request", serveRequest, requestExamples},
          {"sums", readSums, sumsExamples},
          {"tokens", readTokens, tokenExamples},
          {"options", readOptions, optionExamples},
          {"environment", readVariables, variableExamples},
          {"tune", readTune, tuneExamples}};
}
