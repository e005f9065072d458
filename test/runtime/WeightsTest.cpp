//===- WeightsTest.cpp - Published weights --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Headers of safetensors files, good and bad; views of tensors; the layout of a
// save.
//
//===----------------------------------------------------------------------===//

#include "Programs.h"

#include "runtime/src/data/SavedWeights.h"
#include "runtime/src/data/StagedFolder.h"
#include "runtime/src/data/Weights.h"
#include "runtime/src/support/Support.h"

#include <filesystem>

using namespace tessera::rt;
namespace fs = std::filesystem;

namespace {

/// A file with this header and `bytes` bytes of elements.
std::string fileOf(const std::string &header, size_t bytes) {
  uint64_t length = header.size();
  return std::string(reinterpret_cast<const char *>(&length), 8) + header +
         std::string(bytes, '\0');
}

std::string errorOf(const std::string &file) {
  SafetensorsHeader header;
  return parseSafetensors(reinterpret_cast<const uint8_t *>(file.data()),
                          int64_t(file.size()), header);
}

/// The error of a header with a tensor "a" of [2] and one more, and 16 bytes.
std::string errorWith(const std::string &more, size_t bytes = 16) {
  return errorOf(fileOf("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],"
                        "\"data_offsets\":[0,8]}," +
                            more + "}",
                        bytes));
}

void expectIn(const std::string &part, const std::string &text) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

} // namespace

TEST(weights, header_there_and_back) {
  SafetensorsHeader header, again;
  header.metadata = {{"format", "pt"}};
  header.entries = {{"a\"\n", "F32", {2, 3}, 0, 24}, {"b", "BF16", {}, 24, 26}};
  std::string text = describeSafetensors(header);
  EXPECT_EQ(text.size() % 8, 0u);
  text += std::string(26, '\0');
  ASSERT_EQ(parseSafetensors(reinterpret_cast<const uint8_t *>(text.data()),
                             int64_t(text.size()), again),
            "");
  ASSERT_EQ(again.entries.size(), 2u);
  EXPECT_EQ(again.entries[0].name, "a\"\n");
  EXPECT_EQ(again.entries[0].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(again.entries[1].type, "BF16");
  EXPECT_EQ(again.metadata, header.metadata);
  EXPECT_EQ(again.elements + 26, int64_t(text.size()));
}

TEST(weights, headers_that_are_refused) {
  auto tensor = [](const char *name, const char *rest) {
    return format("\"%s\":{\"dtype\":\"F32\",\"shape\":[2],%s}", name, rest);
  };
  EXPECT_EQ(errorWith(tensor("b", "\"data_offsets\":[8,16]")), "");
  expectIn("at least 8 bytes", errorOf("123"));
  expectIn("a header of at most 2 bytes",
           errorOf(std::string("\xff\0\0\0\0\0\0\0{}", 10)));
  uint64_t huge = 100000001;
  expectIn("a header of at most",
           errorOf(std::string(reinterpret_cast<const char *>(&huge), 8) +
                   std::string(100, ' ')));
  expectIn("in the header", errorOf(fileOf("{", 0)));
  expectIn("a JSON object", errorOf(fileOf("[]", 0)));
  expectIn("'a' comes twice",
           errorWith(tensor("a", "\"data_offsets\":[8,16]")));
  expectIn("overlap", errorWith(tensor("b", "\"data_offsets\":[4,12]"), 12));
  expectIn("leave a hole",
           errorWith(tensor("b", "\"data_offsets\":[12,20]"), 20));
  expectIn("have 8 bytes", errorWith(tensor("b", "\"data_offsets\":[8,17]")));
  expectIn("expects 16 bytes of tensors, but the file has 17",
           errorWith(tensor("b", "\"data_offsets\":[8,16]"), 17));
  expectIn("expects 16 bytes of tensors, but the file has 15",
           errorWith(tensor("b", "\"data_offsets\":[8,16]"), 15));
  expectIn("two data_offsets", errorWith(tensor("b", "\"data_offsets\":[8]")));
  expectIn("unknown dtype 'F33'",
           errorWith("\"b\":{\"dtype\":\"F33\",\"shape\":[2],"
                     "\"data_offsets\":[8,16]}"));
  expectIn("tensor 'b'", errorWith("\"b\":[8,16]"));
  expectIn("tensor 'b'", errorWith("\"b\":{\"dtype\":\"F32\",\"shape\":[-2],"
                                   "\"data_offsets\":[8,16]}"));
  expectIn("tensor 'b'",
           errorWith("\"b\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,"
                     "8],\"data_offsets\":[8,16]}"));
  expectIn("strings in __metadata__", errorWith("\"__metadata__\":{\"x\":1}"));
}

TEST(weights, elements_of_a_view) {
  // The last two of six columns, transposed, of 5 rows.
  std::vector<float> matrix(30);
  for (size_t i = 0; i < matrix.size(); ++i)
    matrix[i] = float(i) + 0.5f;
  WeightTensor tensor{TESSERA_RT_F32,
                      "F32",
                      {5, 6},
                      reinterpret_cast<const uint8_t *>(matrix.data())};
  WeightView view{{"w", {5, 6}, 4, {1, 6}}, {"w"}, {&tensor}};
  for (int64_t first = 0; first < 10; ++first)
    for (int64_t count = 0; first + count <= 10; ++count) {
      std::vector<float> out(10, -1);
      std::vector<uint16_t> narrow(10, 0);
      readElements(view, {2, 5}, TESSERA_RT_F32, first, count,
                   reinterpret_cast<uint8_t *>(out.data()));
      readElements(view, {2, 5}, TESSERA_RT_BF16, first, count,
                   reinterpret_cast<uint8_t *>(narrow.data()));
      for (int64_t i = 0; i < 10; ++i) {
        int64_t at = first + i;
        float expected =
            i < count ? matrix[size_t(4 + at / 5 + at % 5 * 6)] : -1;
        EXPECT_EQ(out[size_t(i)], expected);
        if (i < count)
          EXPECT_EQ(narrow[size_t(i)], floatToBf16(expected));
      }
    }
}

TEST(weights, a_tensor_for_each_index) {
  // Three tensors of 2 x 4; the parameter has their transposes.
  std::vector<float> elements(24);
  for (size_t i = 0; i < elements.size(); ++i)
    elements[i] = float(i);
  std::vector<WeightTensor> tensors;
  for (size_t i = 0; i < 3; ++i)
    tensors.push_back(
        {TESSERA_RT_F32,
         "F32",
         {2, 4},
         reinterpret_cast<const uint8_t *>(elements.data() + 8 * i)});
  Source source{"experts.*.w", {2, 4}, 0, {0, 1, 4}};
  EXPECT_EQ(source.names({3, 4, 2}).back(), "experts.2.w");
  WeightView view{
      source, source.names({3, 4, 2}), {&tensors[0], &tensors[1], &tensors[2]}};
  for (int64_t first = 0; first < 24; ++first) {
    int64_t count = 24 - first;
    std::vector<float> out(size_t(count), -1);
    readElements(view, {3, 4, 2}, TESSERA_RT_F32, first, count,
                 reinterpret_cast<uint8_t *>(out.data()));
    for (int64_t i = 0; i < count; ++i) {
      int64_t at = first + i;
      EXPECT_EQ(out[size_t(i)], float(at / 8 * 8 + at % 2 * 4 + at / 2 % 4));
    }
  }
}

TEST(weights, files_of_a_folder) {
  std::string folder = temporary("weights");
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::string file = fileOf(
      "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8);
  auto write = [&](const char *name, const std::string &content) {
    std::ofstream(folder + "/" + name, std::ios::binary) << content;
  };
  auto open = [&](const std::string &path) {
    WeightFiles files;
    return files.open(path);
  };
  expectIn("expects .safetensors files", open(folder));
  write("x.safetensors", file);
  EXPECT_EQ(open(folder), "");
  EXPECT_EQ(open(folder + "/x.safetensors"), "");
  write("y.safetensors", file);
  expectIn("tensor 'a' is in more than one file", open(folder));
  // A file of that name is used alone, and an index has priority over it.
  write("model.safetensors", file);
  EXPECT_EQ(open(folder), "");
  std::string index = "model.safetensors.index.json";
  write(index.c_str(), "{\"weight_map\":{\"a\":\"x.safetensors\"}}");
  EXPECT_EQ(open(folder), "");
  EXPECT_EQ(open(folder + "/" + index), "");
  write(index.c_str(), "{\"weight_map\":{\"b\":\"x.safetensors\"}}");
  expectIn("names tensor 'b', which 'x.safetensors' does not have",
           open(folder));
  write(index.c_str(), "{\"weight_map\":{\"a\":\"../x.safetensors\"}}");
  expectIn("a file beside it for 'a'", open(folder));
  write(index.c_str(), "{}");
  expectIn("expects a \"weight_map\"", open(folder));
  expectIn("cannot open", open(folder + "/none"));
}

TEST(weights, layout_of_a_save) {
  auto parameter = [](const char *name, Source source) {
    Value value;
    value.name = name;
    value.role = Role::Param;
    value.dtype = TESSERA_RT_F32;
    value.shape = value.logicalShape = {2, 3};
    value.source = std::move(source);
    return value;
  };
  Manifest manifest;
  manifest.arguments = {parameter("q", {"qk", {2, 6}, 0, {6, 1}}),
                        parameter("k", {"qk", {2, 6}, 3, {6, 1}}),
                        parameter("w", {"w", {3, 2}, 0, {1, 2}})};
  WeightsLayout layout;
  ASSERT_EQ(layout.plan(manifest), "");
  ASSERT_EQ(layout.tensors().size(), 2u);
  EXPECT_EQ(layout.tensors()[1].begin, 48);
  // Each file has at least one tensor.
  WeightsLayout parts;
  ASSERT_EQ(parts.plan(manifest, 50), "");
  EXPECT_EQ(parts.tensors()[1].file, 1u);
  EXPECT_EQ(parts.tensors()[1].begin, 0);
  std::string folder = temporary("parts");
  fs::create_directories(folder);
  ASSERT_EQ(parts.create(folder), "");
  EXPECT_TRUE(fs::exists(folder + "/model-00002-of-00002.safetensors"));
  expectIn("\"w\": \"model-00002-of-00002.safetensors\"",
           readFile(folder + "/model.safetensors.index.json"));
  auto planned = [&] {
    WeightsLayout again;
    return again.plan(manifest);
  };
  manifest.arguments[1].dtype = TESSERA_RT_BF16;
  expectIn("one type and shape for the tensor 'qk'", planned());
  manifest.arguments.erase(manifest.arguments.begin() + 1);
  expectIn("for all 12 elements of tensor 'qk', but they have 6", planned());
  manifest.arguments[0].dtype = TESSERA_RT_F64;
  expectIn("expects parameters of f32, bf16 or f16, but 'q' is f64", planned());
}

TEST(weights, only_saved_weights_are_replaced) {
  std::string folder = temporary("replaced-weights");
  fs::remove_all(folder);
  auto save = [&](const std::string &name) {
    StagedFolder staged(StagedFolder::Weights);
    std::string error = staged.open(folder, 100);
    if (error.empty())
      std::ofstream(stagingPath(folder) + "/" + name)
          << fileOf("{\"__metadata__\":{\"saved_by\":\"tessera\"}}", 0);
    return error.empty() ? staged.publish() : error;
  };
  EXPECT_EQ(save("model.safetensors"), "");
  EXPECT_EQ(save("model.safetensors"), "");
  // A save does not replace another program's files.
  std::ofstream(folder + "/model.safetensors") << fileOf("{}", 0);
  expectIn("does not say that a run saved it", save("model.safetensors"));
  fs::remove(folder + "/model.safetensors");
  std::ofstream(folder + "/config.json") << "{}";
  expectIn("but got 'config.json' in it", save("model.safetensors"));
  EXPECT_TRUE(fs::exists(folder + "/config.json"));
}
