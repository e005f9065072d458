//===- InputTest.cpp - Options, manifests, files and environment ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bad input gives a message that names what was expected and what was found.
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"
#include "TemporaryFolder.h"

#include "runtime/src/data/Npy.h"
#include "runtime/src/data/ShardRuns.h"
#include "runtime/src/data/Tokens.h"
#include "runtime/src/support/Json.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>

using namespace tessera::rt;

namespace {
std::string optionsError(std::vector<std::string> arguments) {
  std::vector<char *> argv = {const_cast<char *>("prog")};
  for (std::string &argument : arguments)
    argv.push_back(&argument[0]);
  Options options;
  std::string error;
  return parseOptions(int(argv.size()), argv.data(), options, error)
             ? std::string()
             : error;
}

std::string manifestError(const std::string &text) {
  Manifest manifest;
  std::string error;
  return parseManifest(text.c_str(), manifest, error) ? std::string() : error;
}

/// A file in the test's temporary directory.
std::string writeFile(const std::string &name, const std::string &content) {
  std::string path = temporary(name);
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}
} // namespace

TEST(options, mistakes_are_named) {
  EXPECT_EQ(optionsError({"--ranks", "4", "--seed=3", "--quiet"}), "");
  EXPECT_TRUE(has(optionsError({"--ranks", "0"}), "but got '0'"));
  EXPECT_TRUE(has(optionsError({"--ranks", "4x"}), "but got '4x'"));
  EXPECT_TRUE(has(optionsError({"--ranks="}), "but got ''"));
  EXPECT_TRUE(has(optionsError({"--ranks"}), "but got nothing"));
  EXPECT_TRUE(has(optionsError({"--threads", "-1"}), "--threads expects"));
  EXPECT_TRUE(has(optionsError({"--steps", "99999999999999999999"}), "steps"));
  EXPECT_TRUE(has(optionsError({"--timeout", "0"}), "more than 0"));
  EXPECT_TRUE(has(optionsError({"--timeout", "nan"}), "more than 0"));
  EXPECT_TRUE(has(optionsError({"--report", "xml"}), "text or json"));
  EXPECT_TRUE(has(optionsError({"--speed", "3"}), "unknown option '--speed'"));
}

TEST(options, one_timeout_is_for_all_waits) {
  constexpr int64_t gigabyte = 1000000000;
  Options options;
  EXPECT_GT(options.timeouts.saveOf(gigabyte), options.timeouts.saveOf(0));
  char name[] = "prog", argument[] = "--timeout=2.5";
  char *argv[] = {name, argument};
  std::string error;
  ASSERT_TRUE(parseOptions(2, argv, options, error)) << error;
  for (double timeout :
       {options.timeouts.join, options.timeouts.firstStep,
        options.timeouts.step, options.timeouts.saveOf(gigabyte)})
    EXPECT_EQ(timeout, 2.5);
}

TEST(json, values_and_mistakes) {
  Json json;
  std::string error;
  ASSERT_TRUE(parseJson("{\"a\": [1, -2.5e1, true, null, \"x\\u00e9\\n\"]}",
                        json, error));
  const std::vector<Json> &items = json.getArray("a");
  ASSERT_EQ(items.size(), 5u);
  EXPECT_EQ(items[0].integer, 1);
  EXPECT_FALSE(items[1].isInteger);
  EXPECT_EQ(items[1].number, -25);
  EXPECT_TRUE(items[2].boolean);
  EXPECT_EQ(items[4].string, "x\xc3\xa9\n");
  for (const char *bad :
       {"", "{", "[1,]", "{\"a\" 1}", "\"x", "1 2", "{\"a\":\"\\u12\"}", "tru"})
    EXPECT_FALSE(parseJson(bad, json, error)) << bad;
  EXPECT_FALSE(parseJson(std::string(5000, '['), json, error));
}

TEST(json, has_no_infinity_and_no_nan) {
  EXPECT_EQ(numberJson(-0.25), "-0.25");
  EXPECT_EQ(numberJson(2.0 / 3, "%.4f"), "0.6667");
  EXPECT_EQ(numberJson(INFINITY), "null");
  EXPECT_EQ(numberJson(-INFINITY), "null");
  EXPECT_EQ(numberJson(NAN), "null");
}

/// The beginning of a manifest.
static const std::string ofVersion =
    "{\"version\":" + std::to_string(TESSERA_RT_ABI_VERSION);

TEST(manifest, mistakes_are_named) {
  std::string head = ofVersion + ",\"ranks\":2,\"arena_bytes\":64,"
                                 "\"mesh\":[{\"name\":\"x\",\"size\":2}]";
  auto argument = [&](const std::string &text) {
    return manifestError(head + ",\"arguments\":[{\"name\":\"a\"," + text +
                         "}]}");
  };
  std::string good = "\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[4],"
                     "\"local_shape\":[2],\"offset\":0,\"bytes\":8,"
                     "\"sharding\":[[{\"stride\":1,\"size\":2}]]";
  EXPECT_EQ(argument(good), "");
  EXPECT_TRUE(has(manifestError("{\"version\":1}"),
                  "expects version " + std::to_string(TESSERA_RT_ABI_VERSION)));
  EXPECT_TRUE(has(manifestError(ofVersion + ",\"ranks\":3,\"arena_bytes\":1,"
                                            "\"mesh\":[]}"),
                  "3 ranks, a mesh of 1"));
  EXPECT_TRUE(has(argument("\"role\":\"weight\""), "but got 'weight'"));
  auto with = [&](const char *from, const char *to) {
    std::string text = good;
    text.replace(text.find(from), strlen(from), to);
    return argument(text);
  };
  EXPECT_TRUE(has(with("f32", "f31"), "expects a dtype"));
  EXPECT_TRUE(has(with("\"offset\":0", "\"offset\":60"), "within the arena"));
  EXPECT_TRUE(has(with("\"bytes\":8", "\"bytes\":9"), "expects 8 bytes"));
  EXPECT_TRUE(has(with("[2]", "[3]"), "in 2 shards"));
  EXPECT_TRUE(has(with("\"size\":2", "\"size\":0"), "divide the ranks"));
  EXPECT_TRUE(has(with("\"shape\":[4]", "\"shape\":[-4]"), "of 0 or more"));
  // Products that overflow: 2^32 * 2^32 is no stride to divide by.
  EXPECT_TRUE(has(with("\"stride\":1,\"size\":2",
                       "\"stride\":4294967296,\"size\":4294967296"),
                  "divide the ranks"));
  EXPECT_TRUE(has(with("[2]", "[4611686018427387904]"), "fewer elements"));
  EXPECT_TRUE(has(with("[2]", "[288230376151711744]"), "in 2 shards"));
  EXPECT_TRUE(
      has(manifestError(ofVersion + ",\"ranks\":2,"
                                    "\"arena_bytes\":1,\"mesh\":["
                                    "{\"name\":\"x\",\"size\":4294967296},"
                                    "{\"name\":\"y\",\"size\":8589934592}]}"),
          "2 ranks, a mesh of 0"));
  std::string tiled = "\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[2,6],"
                      "\"offset\":0,\"bytes\":48,\"logical_shape\":[3,4],"
                      "\"tiles\":";
  EXPECT_EQ(argument(tiled + "[1,2]"), "");
  for (const char *tiles : {"[1]", "[1,3]", "[1,0]", "[1,1]", "[3,1]"})
    EXPECT_TRUE(has(argument(tiled + tiles), "expects tiles that divide"))
        << tiles;
}

TEST(manifest, a_control_is_one_f32) {
  auto read = [](const std::string &members) {
    return manifestError(ofVersion +
                         ",\"ranks\":1,\"arena_bytes\":64,\"arguments\":[{"
                         "\"name\":\"loss_limit\",\"role\":\"control\"," +
                         members + "}]}");
  };
  std::string rest = "\"shape\":[],\"offset\":0,\"bytes\":4";
  EXPECT_EQ(read("\"dtype\":\"f32\"," + rest), "");
  for (const std::string &wrong :
       {"\"dtype\":\"i32\"," + rest, "\"dtype\":\"f32\",\"donate\":0," + rest,
        std::string("\"dtype\":\"f32\",\"shape\":[1],\"offset\":0,"
                    "\"bytes\":4")})
    EXPECT_TRUE(has(read(wrong), "expects a control of one f32")) << wrong;
}

TEST(manifest, values_of_some_pp_ranks) {
  std::string head =
      ofVersion +
      ",\"ranks\":4,\"arena_bytes\":256,"
      "\"mesh\":[{\"name\":\"pp\",\"size\":2},{\"name\":\"tp\",\"size\":2}],";
  auto value = [](const std::string &name, const std::string &offset) {
    return "{\"name\":\"" + name +
           "\",\"role\":\"state\",\"dtype\":\"f32\","
           "\"shape\":[4],\"bytes\":16,\"offset\":" +
           offset + ",\"init\":{\"kind\":\"zeros\"}";
  };
  std::string axis = "\"pp_axis\":{\"stride\":2,\"size\":2},";
  auto read = [&](const std::string &axis, const std::string &argument,
                  const std::string &result) {
    return head + axis + "\"arguments\":[" + argument +
           ",\"donate\":0}],\"results\":[" + result + "}]}";
  };
  Manifest manifest;
  std::string error;
  ASSERT_TRUE(parseManifest(
      read(axis, value("w", "[-1,64]"), value("r", "[-1,128]")).c_str(),
      manifest, error))
      << error;
  const Value &w = manifest.arguments[0];
  EXPECT_FALSE(w.isOn(1));
  EXPECT_EQ(w.offsetOn(2), 64);
  EXPECT_EQ(blockOwners(w, 4), std::vector<int>{2});
  auto mistake = [&](const std::string &axis, const std::string &argument,
                     const std::string &result) {
    return manifestError(read(axis, value("w", argument), value("r", result)));
  };
  EXPECT_TRUE(has(mistake(axis, "[64]", "[64,64]"), "each of 2 pp ranks"));
  EXPECT_TRUE(has(mistake(axis, "[-1,-1]", "[64,64]"), "on some pp rank"));
  EXPECT_TRUE(has(mistake(axis, "[-2,64]", "[64,64]"), "within the arena"));
  EXPECT_TRUE(has(mistake(axis, "[-1,64]", "[64,64]"), "same pp ranks"));
  EXPECT_TRUE(has(mistake("", "-1", "64"), "within the arena"));
  EXPECT_TRUE(has(
      mistake("\"pp_axis\":{\"stride\":1,\"size\":3},", "[0,0,0]", "[0,0,0]"),
      "expects a pp_axis that divides 4 ranks"));
}

TEST(manifest, what_lists_are) {
  auto read = [](const std::string &pipeline, Manifest &manifest) {
    std::string text = ofVersion +
                       ",\"ranks\":2,\"arena_bytes\":256,"
                       "\"mesh\":[{\"name\":\"pp\",\"size\":2}],"
                       "\"pp_axis\":{\"stride\":1,\"size\":2},"
                       "\"pipeline\":{" +
                       pipeline + "}}";
    std::string error;
    bool isRead = parseManifest(text.c_str(), manifest, error);
    EXPECT_EQ(isRead, error.empty());
    return error;
  };
  std::string counts = "\"stages\":4,\"micro_batches\":8,\"entries\":70";
  Manifest manifest;
  EXPECT_EQ(read("\"schedule\":\"1f1b\",\"bubble\":0.25," + counts, manifest),
            "");
  EXPECT_EQ(manifest.pipeline.schedule, "1f1b");
  EXPECT_EQ(manifest.pipeline.stages, 4);
  EXPECT_EQ(manifest.pipeline.microBatches, 8);
  EXPECT_EQ(manifest.pipeline.entries, 70);
  EXPECT_EQ(manifest.pipeline.bubble, 0.25);
  Manifest other;
  EXPECT_EQ(read(counts, other), "");
  EXPECT_TRUE(std::isnan(other.pipeline.bubble));
  for (const char *wrong :
       {"", "\"stages\":0,\"micro_batches\":8,\"entries\":70",
        "\"stages\":4,\"micro_batches\":8",
        "\"stages\":4,\"micro_batches\":8,\"entries\":1000000000000",
        "\"stages\":4,\"micro_batches\":8,\"entries\":7,\"bubble\":1.5"}) {
    Manifest none;
    EXPECT_TRUE(
        has(read(wrong, none), "expects a pipeline of at least 1 stage"))
        << wrong;
  }
}

TEST(npy, round_trip) {
  std::string path = temporary("round-trip.npy");
  const float values[6] = {1, 2, 3, 4, 5, 6};
  for (const std::vector<int64_t> &shape :
       {std::vector<int64_t>{2, 3}, {6}, {1, 1, 6}}) {
    ASSERT_EQ(writeNpy(path, TESSERA_RT_F32, shape, values), "");
    NpyArray array;
    ASSERT_EQ(array.open(path), "");
    EXPECT_EQ(array.dtype, TESSERA_RT_F32);
    EXPECT_EQ(array.shape, shape);
    EXPECT_EQ(memcmp(array.elements, values, sizeof(values)), 0);
  }
  uint16_t half[1] = {floatToBf16(1.5f)};
  ASSERT_EQ(writeNpy(path, TESSERA_RT_BF16, {}, half), "");
  NpyArray scalar;
  ASSERT_EQ(scalar.open(path), "");
  EXPECT_EQ(scalar.dtype, TESSERA_RT_F32);
  EXPECT_TRUE(scalar.shape.empty());
  EXPECT_EQ(*reinterpret_cast<const float *>(scalar.elements), 1.5f);
}

TEST(npy, truncated_or_strange_files) {
  std::string path = temporary("whole.npy");
  std::vector<int32_t> values(100, 7);
  ASSERT_EQ(writeNpy(path, TESSERA_RT_I32, {100}, values.data()), "");
  std::ifstream in(path, std::ios::binary);
  std::string whole((std::istreambuf_iterator<char>(in)),
                    std::istreambuf_iterator<char>());
  // Truncated at every length: an error, never a crash.
  for (size_t length = 0; length < whole.size();
       length += length < 140 ? 1 : 23) {
    NpyArray array;
    EXPECT_NE(array.open(writeFile("truncated.npy", whole.substr(0, length))),
              "");
  }
  NpyArray truncated;
  EXPECT_TRUE(
      has(truncated.open(writeFile("truncated.npy", whole.substr(0, 300))),
          "the file is truncated"));
  // A file without bytes; an array without elements, whatever its other sizes.
  NpyArray nothing, empty;
  EXPECT_TRUE(has(nothing.open(writeFile("nothing.npy", "")), "it is empty"));
  std::string flat = temporary("flat.npy");
  ASSERT_EQ(writeNpy(flat, TESSERA_RT_I32, {100000, 0}, nullptr), "");
  EXPECT_EQ(empty.open(flat), "");
  EXPECT_EQ(empty.shape, (std::vector<int64_t>{100000, 0}));
  NpyArray missing;
  EXPECT_TRUE(has(missing.open("/nonexistent/x.npy"), "cannot open"));
  auto replaced = [&](const char *from, const char *to) {
    std::string text = whole;
    text.replace(text.find(from), strlen(from), to);
    NpyArray array;
    return array.open(writeFile("odd.npy", text));
  };
  EXPECT_TRUE(has(replaced("<i4", ">i4"), "got '>i4'"));
  EXPECT_TRUE(has(replaced("False", "True "), "C order"));
  EXPECT_NE(replaced("(100,)", "(-10,)"), "");
  EXPECT_NE(replaced("(100,), }", "(9999999999,9999999999,9999), }"), "");
}

TEST(npy, nothing_is_left_of_a_failed_write) {
  const float value = 1;
  EXPECT_TRUE(has(writeNpy("/nonexistent/x.npy", TESSERA_RT_F32, {}, &value),
                  "cannot create"));
}

namespace {
Value dataValue(Role role, std::vector<int64_t> shape, int64_t vocab = 0) {
  Value value;
  value.name = role == Role::Tokens ? "tokens" : "labels";
  value.role = role;
  value.dtype = TESSERA_RT_I32;
  value.shape = std::move(shape);
  value.vocab = vocab;
  return value;
}

std::vector<int32_t> read(const TokenSource &source, const Value &value,
                          int64_t sequence, bool isHeldOut = false) {
  std::vector<int32_t> ids(size_t(value.shape.back()));
  source.fill(value, isHeldOut, sequence, 0, value.shape.back(), ids.data());
  return ids;
}
} // namespace

TEST(tokens, sequences_of_bytes) {
  Value tokens = dataValue(Role::Tokens, {2, 3});
  Value labels = dataValue(Role::Labels, {1, 2, 3});
  BatchShape shape;
  ASSERT_EQ(findBatchShape({&tokens, &labels}, shape), "");
  EXPECT_EQ(shape.rows, 2);
  EXPECT_EQ(shape.length, 3);
  TokenSource source;
  // Five sequences, a label, and one remaining byte.
  ASSERT_EQ(source.openFile(writeFile("text", "abcdefghijklmnopq"), "", shape),
            "");
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(source.training(), 5);
  EXPECT_EQ(read(source, tokens, 3), (Ids{'j', 'k', 'l'}));
  EXPECT_EQ(read(source, labels, 3), (Ids{'k', 'l', 'm'}));
  EXPECT_EQ(read(source, labels, 4), (Ids{'n', 'o', 'p'}));
  // A loss that shifts labels itself gets the tokens as labels.
  Value own = labels;
  own.shift = 0;
  EXPECT_EQ(read(source, own, 3), (Ids{'j', 'k', 'l'}));
  // After the last sequence the data restarts at the first.
  EXPECT_EQ(read(source, tokens, 5), (Ids{'a', 'b', 'c'}));
  EXPECT_FALSE(source.wrapsIn(0));
  EXPECT_FALSE(source.wrapsIn(2));
  EXPECT_TRUE(source.wrapsIn(4));
  EXPECT_FALSE(source.wrapsIn(6));
  EXPECT_FALSE(source.wrapsIn(8));
  EXPECT_TRUE(source.wrapsIn(10));
  // Held-out sequences are not used for training.
  ASSERT_EQ(source.holdOut(2), "");
  EXPECT_EQ(source.training(), 3);
  EXPECT_EQ(read(source, tokens, 3), (Ids{'a', 'b', 'c'}));
  EXPECT_EQ(read(source, tokens, 0, true), (Ids{'j', 'k', 'l'}));
  EXPECT_TRUE(has(source.holdOut(4), "at least 6 sequences of 3"));
}

TEST(tokens, starts_of_documents) {
  Value starts = dataValue(Role::Starts, {2, 5});
  starts.eod = '|';
  TokenSource source;
  // A row whose first document began before it; an empty document.
  ASSERT_EQ(source.openFile(writeFile("documents", "abc|de|f||ghijk."), "",
                            {2, 5, 0}),
            "");
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(read(source, starts, 0), (Ids{0, 0, 0, 0, 4}));
  EXPECT_EQ(read(source, starts, 1), (Ids{0, 0, 2, 2, 4}));
  EXPECT_EQ(read(source, starts, 2), (Ids{0, 0, 0, 0, 0}));
  // A shard of a row.
  int32_t part[2];
  source.fill(starts, false, 1, 3, 2, part);
  EXPECT_EQ(part[0], 2);
  EXPECT_EQ(part[1], 4);
}

TEST(tokens, flat_files) {
  TokenSource words;
  std::string path = writeFile("data.u16", std::string("\1\1\2\0\3\0", 6));
  ASSERT_EQ(words.openFile(path, "", {1, 2, 0}), "");
  Value tokens = dataValue(Role::Tokens, {1, 2});
  EXPECT_EQ(read(words, tokens, 0), (std::vector<int32_t>{257, 2}));
  TokenSource bytes;
  ASSERT_EQ(bytes.openFile(path, "bytes", {1, 2, 0}), "");
  EXPECT_EQ(read(bytes, tokens, 1), (std::vector<int32_t>{2, 0}));
}

TEST(tokens, mistakes_are_named) {
  TokenSource source;
  std::string path = writeFile("short.u16", std::string(6, '\0'));
  EXPECT_TRUE(has(source.openFile(path, "", {1, 3, 0}),
                  "at least 4 tokens (1 sequences of 3, and one), but got 3"));
  path = writeFile("odd.u16", "abc");
  EXPECT_TRUE(has(source.openFile(path, "", {1, 1, 0}), "ids of 2 bytes"));
  EXPECT_TRUE(has(source.openFile("/nonexistent", "", {1, 1, 0}), "cannot"));
  EXPECT_TRUE(has(source.openFile("/", "", {1, 1, 0}), "to be a file"));
  Value tokens = dataValue(Role::Tokens, {2, 3});
  Value labels = dataValue(Role::Labels, {2, 4});
  BatchShape shape;
  EXPECT_TRUE(has(findBatchShape({&tokens, &labels}, shape),
                  "'labels' expects 2 sequences of 3"));
}

TEST(tokens, ids_beyond_the_vocabulary) {
  // Ids 0..999, except for two that are too large.
  std::string content;
  for (int i = 0; i < 1000; ++i)
    content += {char(i == 700 || i == 401 ? 99 : i % 50), '\0'};
  std::string path = writeFile("large.u16", content);
  ThreadPool pool(3, 0);
  TokenSource source;
  ASSERT_EQ(source.openFile(path, "", {2, 10, 50}), "");
  EXPECT_TRUE(
      has(source.check(pool, 0, 99), "ids below 50, the vocabulary, in '"));
  EXPECT_TRUE(has(source.check(pool, 0, 99), "but got 99 at token 401"));
  // Only ids that are read count: sequence 40 has the bad token 401; sequence
  // 39 with its last label does not.
  EXPECT_EQ(source.check(pool, 0, 40), "");
  EXPECT_NE(source.check(pool, 0, 41), "");
  EXPECT_EQ(source.check(pool, 41, 28), "");
  EXPECT_TRUE(has(source.check(pool, 60, 12), "at token 700"));
  EXPECT_NE(source.check(pool, 95, 10), "") << "it wraps";
  // The label of the last token counts too.
  content[2 * 400] = 99;
  TokenSource label;
  ASSERT_EQ(label.openFile(writeFile("label.u16", content), "", {2, 10, 50}),
            "");
  EXPECT_TRUE(has(label.check(pool, 0, 40), "at token 400"));
}

TEST(environment, families) {
  auto read = [](const std::vector<std::pair<const char *, const char *>> &set,
                 Environment &found) {
    for (auto &variable : set)
      setenv(variable.first, variable.second, 1);
    std::string error = readEnvironment(found);
    for (auto &variable : set)
      unsetenv(variable.first);
    return error;
  };
  Environment none, torchrun, open, both, bad;
  EXPECT_EQ(read({}, none), "");
  EXPECT_EQ(none.family, nullptr);
  EXPECT_EQ(read({{"RANK", "1"}, {"WORLD_SIZE", "4"}}, torchrun), "");
  EXPECT_EQ(torchrun.rank, 1);
  EXPECT_EQ(torchrun.ranks, 4);
  EXPECT_EQ(read({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "3"}},
                 open),
            "");
  EXPECT_EQ(open.rank, 2);
  EXPECT_TRUE(has(read({{"RANK", "1"},
                        {"WORLD_SIZE", "4"},
                        {"PMI_RANK", "2"},
                        {"PMI_SIZE", "4"}},
                       both),
                  "torchrun says rank 1 of 4, but PMI says rank 2 of 4"));
  EXPECT_TRUE(has(read({{"RANK", "4"}, {"WORLD_SIZE", "4"}}, bad), "RANK"));
  // A torchrun on each node that srun has started.
  Environment inner;
  EXPECT_EQ(read({{"RANK", "1"},
                  {"WORLD_SIZE", "4"},
                  {"TORCHELASTIC_RUN_ID", "7"},
                  {"SLURM_PROCID", "0"},
                  {"SLURM_NTASKS", "2"},
                  {"SLURM_STEP_ID", "0"}},
                 inner),
            "");
  EXPECT_EQ(inner.ranks, 4);
  EXPECT_STREQ(inner.family, "torchrun");
}

namespace {
using Variables = std::vector<std::pair<const char *, const char *>>;

/// Finds the place of a process of a program of `ranks` ranks that has these
/// variables.
std::string findPlace(const Variables &variables, const Options &options,
                      int ranks, Placement &place) {
  for (auto &variable : variables)
    setenv(variable.first, variable.second, 1);
  Environment environment;
  std::string error = readEnvironment(environment);
  if (error.empty())
    error = findPlacement(environment, options, ranks, place);
  for (auto &variable : variables)
    unsetenv(variable.first);
  return error;
}
} // namespace

TEST(environment, a_process_per_rank_finds_its_node) {
  struct Case {
    Variables variables;
    int node, nodes, perNode;
  };
  for (const Case &c :
       std::vector<Case>{{{{"RANK", "5"}, {"WORLD_SIZE", "8"}}, 0, 1, 8},
                         {{{"RANK", "5"},
                           {"WORLD_SIZE", "8"},
                           {"LOCAL_RANK", "1"},
                           {"LOCAL_WORLD_SIZE", "4"}},
                          1,
                          2,
                          4},
                         {{{"OMPI_COMM_WORLD_RANK", "6"},
                           {"OMPI_COMM_WORLD_SIZE", "8"},
                           {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                           {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}},
                          3,
                          4,
                          2},
                         {{{"PMI_RANK", "7"},
                           {"PMI_SIZE", "8"},
                           {"MPI_LOCALRANKID", "3"},
                           {"MPI_LOCALNRANKS", "4"}},
                          1,
                          2,
                          4},
                         {{{"SLURM_PROCID", "3"},
                           {"SLURM_NTASKS", "8"},
                           {"SLURM_LOCALID", "1"},
                           {"SLURM_NNODES", "4"},
                           {"SLURM_STEP_ID", "0"}},
                          1,
                          4,
                          2}}) {
    Placement place;
    EXPECT_EQ(findPlace(c.variables, {}, 8, place), "");
    EXPECT_EQ(place.node, c.node);
    EXPECT_EQ(place.nodes, c.nodes);
    EXPECT_EQ(place.perNode, c.perNode);
  }
}

TEST(environment, a_process_per_node_finds_its_number) {
  Options options;
  options.localRanks = 4;
  Placement place;
  EXPECT_EQ(findPlace({{"SLURM_PROCID", "1"},
                       {"SLURM_NTASKS", "2"},
                       {"SLURM_NNODES", "2"},
                       {"SLURM_STEP_ID", "0"}},
                      options, 8, place),
            "");
  EXPECT_EQ(place.node, 1);
  EXPECT_EQ(place.firstRank(), 4);
  EXPECT_EQ(place.ranks(), 8);
  EXPECT_EQ(findPlace({{"JOB_COMPLETION_INDEX", "1"}}, options, 8, place), "");
  EXPECT_EQ(place.node, 1);
  // The only node is number 0.
  EXPECT_EQ(findPlace({}, options, 4, place), "");
  EXPECT_EQ(place.nodes, 1);
  options.node = 2;
  EXPECT_EQ(findPlace({}, options, 12, place), "");
  EXPECT_EQ(place.node, 2);
}

TEST(environment, places_that_do_not_fit_are_refused) {
  Placement place;
  Variables uneven = {
      {"RANK", "1"}, {"WORLD_SIZE", "7"}, {"LOCAL_WORLD_SIZE", "4"}};
  EXPECT_TRUE(has(findPlace(uneven, {}, 7, place),
                  "as many ranks on each node, but torchrun starts 4 of 7 "
                  "ranks on this one; see its --nproc-per-node"));
  Variables slurm = {{"SLURM_PROCID", "1"},
                     {"SLURM_NTASKS", "7"},
                     {"SLURM_NNODES", "2"},
                     {"SLURM_STEP_ID", "0"}};
  EXPECT_TRUE(has(findPlace(slurm, {}, 7, place),
                  "SLURM starts 7 on 2 nodes; see its --ntasks-per-node"));
  Variables cyclic = {{"RANK", "1"},
                      {"WORLD_SIZE", "8"},
                      {"LOCAL_RANK", "0"},
                      {"LOCAL_WORLD_SIZE", "4"}};
  EXPECT_TRUE(has(findPlace(cyclic, {}, 8, place),
                  "consecutive ranks on each node, but torchrun makes rank 1 "
                  "number 0 of the 4 on its node"));
  EXPECT_TRUE(has(findPlace(cyclic, {}, 4, place),
                  "torchrun starts 8 ranks, but this program was compiled for "
                  "4"));
  Options options;
  options.node = 1;
  EXPECT_TRUE(
      has(findPlace({}, options, 8, place), "--node expects --local-ranks N"));
  options.localRanks = 3;
  EXPECT_TRUE(has(findPlace({}, options, 8, place),
                  "--local-ranks expects a number that divides the 8 ranks"));
  options.localRanks = 4;
  options.node = 5;
  EXPECT_TRUE(has(findPlace({}, options, 8, place),
                  "expects the number of this one, from 0 to 1"));
  options.node = -1;
  EXPECT_TRUE(has(findPlace({}, options, 8, place), "but got none"));
  EXPECT_TRUE(has(findPlace({}, {}, 2048, place),
                  "at most 1024 ranks on a node, but this program has 2048: "
                  "see --local-ranks"));
  EXPECT_TRUE(
      has(findPlace({{"RANK", "1"}, {"WORLD_SIZE", "8"}}, options, 8, place),
          "expects a process on each of 2 nodes, for the 8 ranks of "
          "this program, but torchrun starts 8"));
  options.node = 0;
  EXPECT_TRUE(
      has(findPlace({{"RANK", "1"}, {"WORLD_SIZE", "2"}}, options, 8, place),
          "--node says 0, but torchrun says 1"));
}
