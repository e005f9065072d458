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

namespace {

/// An axis or a sub-axis: `size` blocks after `pre` larger ones.
struct Part {
  std::string axis;
  int pre, size;
  bool isWhole;

  std::string print() const {
    return isWhole
               ? axis
               : axis + ":(" + std::to_string(pre) + ")" + std::to_string(size);
  }
};

struct Drawing {
  Random &random;
  Mesh mesh;
  /// True if axes are split at any factor, else at 2.
  bool anyParts;
};

} // namespace

/// Draws sub-axes to distribute, in random order: whole axes, or both parts of
/// one.
static std::vector<Part> drawParts(const Drawing &drawing) {
  Random &random = drawing.random;
  std::vector<Part> parts;
  for (const auto &[name, size] : drawing.mesh) {
    std::string quoted = '"' + name + '"';
    if (size % 2 == 0 && size > 2 && random.oneIn(4)) {
      std::vector<int> factors{2};
      for (int factor = 3; drawing.anyParts && factor < size; ++factor)
        if (size % factor == 0)
          factors.push_back(factor);
      int factor = factors.size() > 1 ? random.pick(factors) : factors[0];
      parts.push_back({quoted, 1, factor, false});
      parts.push_back({quoted, factor, size / factor, false});
    } else {
      parts.push_back({quoted, 1, size, true});
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

/// True if the part follows the last one of a dimension: both would have to be
/// merged.
static bool follows(const std::vector<Part> &dim, const Part &part) {
  return !dim.empty() && dim.back().axis == part.axis &&
         dim.back().pre * dim.back().size == part.pre;
}

static std::string drawSharding(const Drawing &drawing, size_t rank,
                                bool mayBePartial) {
  Random &random = drawing.random;
  std::vector<std::vector<Part>> parts(rank);
  std::vector<std::string> kept, partial;
  for (const Part &part : drawParts(drawing)) {
    size_t dim = random.below(rank);
    if (rank && random.percent(65) && !follows(parts[dim], part))
      parts[dim].push_back(part);
    else if (random.oneIn(12) && kept.empty())
      kept.push_back(part.print());
    else if (mayBePartial && random.oneIn(8) && partial.empty())
      partial.push_back(part.print());
  }
  std::vector<std::vector<std::string>> dims;
  for (const std::vector<Part> &dim : parts) {
    dims.emplace_back();
    for (const Part &part : dim)
      dims.back().push_back(part.print());
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

static std::string drawAttribute(const Drawing &drawing, const Type &type,
                                 size_t percent, bool mayBePartial) {
  if (!type.isTensor || !drawing.random.percent(percent))
    return "";
  return "dist.sharding = " +
         drawSharding(drawing, type.shape.size(), mayBePartial);
}

void tessera::test::drawShardings(Random &random, Program &program,
                                  bool anyParts) {
  Drawing drawing{random, drawMesh(random), anyParts};
  std::vector<std::string> axes;
  for (const auto &[name, size] : drawing.mesh) {
    axes.push_back('"' + name + "\"=" + std::to_string(size));
    program.numDevices *= size;
  }
  program.mesh = join(axes);
  Block &block = program.block;
  for (size_t i = 0; i < block.arguments.size(); ++i)
    program.arguments[i].attributes =
        drawAttribute(drawing, block.types[block.arguments[i]], 65, true);
  for (int result : block.results)
    program.resultAttributes.push_back(
        drawAttribute(drawing, block.types[result], 40, true));
  for (Op &op : block.ops) {
    if (!random.oneIn(10) || (op.text.find("$A") == std::string::npos &&
                              op.text.find("$B") == std::string::npos))
      continue;
    std::vector<std::string> shardings;
    for (int result : op.results)
      if (block.types[result].isTensor)
        shardings.push_back(
            drawSharding(drawing, block.types[result].shape.size(), false));
    if (shardings.size() == op.results.size())
      op.attributes = "{dist.shardings = [" + join(shardings) + "]}";
  }
}
