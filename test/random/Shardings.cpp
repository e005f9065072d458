//===- Shardings.cpp - Draws a mesh and annotations -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shardings.h"
#include <utility>

using namespace tessera::test;

using Mesh = std::vector<std::pair<std::string, int>>;

static Mesh drawMesh(Random &random) {
  static const std::vector<Mesh> meshes = {
      {{"x", 2}},           {{"x", 3}},
      {{"x", 4}},           {{"x", 8}},
      {{"x", 2}, {"y", 2}}, {{"x", 2}, {"y", 3}},
      {{"x", 3}, {"y", 2}}, {{"x", 2}, {"y", 4}},
      {{"x", 4}, {"y", 2}}, {{"x", 2}, {"y", 2}, {"z", 2}},
      {{"x", 6}},           {{"x", 1}, {"y", 2}},
      {{"x", 5}},           {{"x", 3}, {"y", 4}}};
  return meshes[random.below(meshes.size())];
}

/// Parts of axes to hand out, in random order: whole axes, or both parts of
/// one.
static std::vector<std::string> drawParts(Random &random, const Mesh &mesh) {
  std::vector<std::string> parts;
  for (const auto &[name, size] : mesh) {
    std::string quoted = '"' + name + '"';
    if (size % 2 == 0 && size > 2 && random.oneIn(4)) {
      parts.push_back(quoted + ":(1)2");
      parts.push_back(quoted + ":(2)" + std::to_string(size / 2));
    } else {
      parts.push_back(quoted);
    }
  }
  for (size_t i = parts.size(); i > 1; --i)
    std::swap(parts[i - 1], parts[random.below(i)]);
  return parts;
}

static std::string join(const std::vector<std::string> &texts) {
  std::string joined;
  for (const std::string &text : texts)
    joined += (joined.empty() ? "" : ", ") + text;
  return joined;
}

/// Two parts of an axis in order would have to be written as one.
static bool follows(const std::vector<std::string> &dim,
                    const std::string &part) {
  return !dim.empty() && dim.back().find(":(1)") != std::string::npos &&
         dim.back().substr(0, 3) == part.substr(0, 3);
}

static std::string drawSharding(Random &random, const Mesh &mesh, size_t rank,
                                bool mayBePartial) {
  std::vector<std::vector<std::string>> dims(rank);
  std::vector<std::string> kept, partial;
  for (const std::string &part : drawParts(random, mesh)) {
    size_t dim = random.below(rank);
    if (rank && random.percent(65) && !follows(dims[dim], part))
      dims[dim].push_back(part);
    else if (random.oneIn(12) && kept.empty())
      kept.push_back(part);
    else if (mayBePartial && random.oneIn(8) && partial.empty())
      partial.push_back(part);
  }
  std::vector<std::string> texts;
  bool isOpen = random.percent(40);
  for (std::vector<std::string> &dim : dims) {
    if (isOpen && random.oneIn(2))
      dim.push_back("?");
    std::string text = "{" + join(dim) + "}";
    if (!dim.empty() && dim[0] != "?" && random.oneIn(15))
      text += "p" + std::to_string(random.below(3));
    texts.push_back(text);
  }
  std::string text = "#dist.sharding<@mesh, [" + join(texts) + "]";
  if (!kept.empty())
    text += ", replicated={" + join(kept) + "}";
  if (!partial.empty())
    text += ", unreduced={" + join(partial) + "}";
  return text + ">";
}

static std::string drawAttribute(Random &random, const Mesh &mesh,
                                 const Type &type, size_t percent,
                                 bool mayBePartial) {
  if (!type.isTensor || !random.percent(percent))
    return "";
  return "dist.sharding = " +
         drawSharding(random, mesh, type.shape.size(), mayBePartial);
}

void tessera::test::drawShardings(Random &random, Program &program) {
  Mesh mesh = drawMesh(random);
  std::vector<std::string> axes;
  for (const auto &[name, size] : mesh) {
    axes.push_back('"' + name + "\"=" + std::to_string(size));
    program.numDevices *= size;
  }
  program.mesh = join(axes);
  Block &block = program.block;
  for (size_t i = 0; i < block.arguments.size(); ++i)
    program.arguments[i].attributes =
        drawAttribute(random, mesh, block.types[block.arguments[i]], 65, true);
  for (int result : block.results)
    program.resultAttributes.push_back(
        drawAttribute(random, mesh, block.types[result], 40, true));
  for (Op &op : block.ops) {
    if (!random.oneIn(10) || (op.text.find("$A") == std::string::npos &&
                              op.text.find("$B") == std::string::npos))
      continue;
    std::vector<std::string> shardings;
    for (int result : op.results)
      if (block.types[result].isTensor)
        shardings.push_back(drawSharding(
            random, mesh, block.types[result].shape.size(), false));
    if (shardings.size() == op.results.size())
      op.attributes = "{dist.shardings = [" + join(shardings) + "]}";
  }
}
