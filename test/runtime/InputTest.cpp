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

#include "Json.h"
#include "Npy.h"
#include "Tokens.h"

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
  std::string path = testing::TempDir() + "/tessera-input-" + name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

bool has(const std::string &text, const char *part) {
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
  EXPECT_TRUE(has(optionsError({"--deadline", "0"}), "more than 0"));
  EXPECT_TRUE(has(optionsError({"--deadline", "nan"}), "more than 0"));
  EXPECT_TRUE(has(optionsError({"--report", "xml"}), "text or json"));
  EXPECT_TRUE(has(optionsError({"--speed", "3"}), "unknown option '--speed'"));
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

TEST(manifest, mistakes_are_named) {
  std::string head = "{\"version\":1,\"ranks\":2,\"arena_bytes\":64,"
                     "\"mesh\":[{\"name\":\"x\",\"size\":2}]";
  auto argument = [&](const std::string &text) {
    return manifestError(head + ",\"arguments\":[{\"name\":\"a\"," + text +
                         "}]}");
  };
  std::string good = "\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[4],"
                     "\"local_shape\":[2],\"offset\":0,\"bytes\":8,"
                     "\"sharding\":[[{\"stride\":1,\"size\":2}]]";
  EXPECT_EQ(argument(good), "");
  EXPECT_TRUE(has(manifestError("{\"version\":2}"), "expects version 1"));
  EXPECT_TRUE(has(manifestError("{\"version\":1,\"ranks\":3,\"arena_bytes\":1,"
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
  EXPECT_TRUE(has(with("[2]", "[3]"), "in 2 parts"));
  EXPECT_TRUE(has(with("\"size\":2", "\"size\":0"), "divide the ranks"));
}

TEST(npy, round_trip) {
  std::string path = testing::TempDir() + "/tessera-round-trip.npy";
  const float values[6] = {1, 2, 3, 4, 5, 6};
  for (std::vector<int64_t> shape :
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
  std::string path = testing::TempDir() + "/tessera-whole.npy";
  std::vector<int32_t> values(100, 7);
  ASSERT_EQ(writeNpy(path, TESSERA_RT_I32, {100}, values.data()), "");
  std::ifstream in(path, std::ios::binary);
  std::string whole((std::istreambuf_iterator<char>(in)),
                    std::istreambuf_iterator<char>());
  // Cut at every length: an error, never a crash.
  for (size_t length = 0; length < whole.size();
       length += length < 140 ? 1 : 23) {
    NpyArray array;
    EXPECT_NE(array.open(writeFile("cut.npy", whole.substr(0, length))), "");
  }
  NpyArray cut;
  EXPECT_TRUE(has(cut.open(writeFile("cut.npy", whole.substr(0, 300))),
                  "the file is cut"));
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

TEST(tokens, bytes_and_flat_files) {
  Value value;
  value.role = Role::Tokens;
  value.dtype = TESSERA_RT_I32;
  value.shape = {2, 3};
  Options options;
  options.data = writeFile("text", "abcdefghijklmnopq");
  TokenSource source;
  ASSERT_EQ(source.open(options), "");
  int32_t ids[3];
  ASSERT_EQ(source.fill(value, 1, 1, 0, 3, ids), "");
  EXPECT_EQ(ids[0], 'j');
  value.role = Role::Labels;
  ASSERT_EQ(source.fill(value, 1, 1, 1, 2, ids), "");
  EXPECT_EQ(ids[0], 'l');
  // The data wraps; the last label still exists.
  for (int64_t step = 0; step < 50; ++step)
    ASSERT_EQ(source.fill(value, step, 1, 0, 3, ids), "");
  value.vocab = 100;
  EXPECT_TRUE(
      has(source.fill(value, 0, 1, 0, 3, ids), "expects ids below 100"));

  Options flat;
  flat.data = writeFile("data.u16", std::string("\x01\x01\x02\x00\x03\x00", 6));
  TokenSource words;
  ASSERT_EQ(words.open(flat), "");
  value.shape = {1, 2};
  value.vocab = 0;
  value.role = Role::Tokens;
  ASSERT_EQ(words.fill(value, 0, 0, 0, 2, ids), "");
  EXPECT_EQ(ids[0], 257);
  EXPECT_EQ(ids[1], 2);
  value.shape = {1, 3};
  EXPECT_TRUE(has(words.fill(value, 0, 0, 0, 3, ids), "at least 4 tokens"));
  flat.data = writeFile("odd.u16", "abc");
  TokenSource odd;
  EXPECT_TRUE(has(odd.open(flat), "ids of 2 bytes"));
}

TEST(environment, families) {
  auto read = [](std::vector<std::pair<const char *, const char *>> set,
                 Environment &found) {
    for (auto &variable : set)
      setenv(variable.first, variable.second, 1);
    std::string error = readEnvironment(found);
    for (auto &variable : set)
      unsetenv(variable.first);
    return error;
  };
  Environment none, torchrun, open, both, bad, machines;
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
  EXPECT_TRUE(
      has(read({{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"LOCAL_WORLD_SIZE", "2"}},
               machines),
          "several machines"));
}
