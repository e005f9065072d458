//===- Control.cpp - scf and func -----------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The region of an op is a separate block, whose arguments are the values from
// outside.
//
//===----------------------------------------------------------------------===//

#include "Generator.h"

using namespace tessera::test;

namespace {

/// A block that is drawn for a region.
struct Region {
  Block block;
  /// Its text and the names of its results.
  std::string text;
  std::vector<std::string> results;
};

} // namespace

/// Draws a few ops on arguments of these types, and results.
static Region drawRegion(Generator &g, const std::vector<Type> &arguments,
                         const std::vector<std::string> &names,
                         const std::vector<Type> &results, int numOps) {
  Region region;
  for (const Type &type : arguments)
    region.block.arguments.push_back(region.block.addValue(type));
  Generator inner = g.makeInner(region.block);
  inner.addOps(numOps);
  for (const Type &type : results)
    region.block.results.push_back(inner.get(type));
  if (!g.random.oneIn(10))
    region.block.dropUnused();
  Printer printer(g.drawPrefix());
  region.text = printer.print(region.block, names, "    ", region.results);
  return region;
}

static std::string join(const std::vector<std::string> &texts) {
  std::string joined;
  for (const std::string &text : texts)
    joined += (joined.empty() ? "" : ", ") + text;
  return joined;
}

static std::string printTypes(const std::vector<Type> &types) {
  std::vector<std::string> texts;
  for (const Type &type : types)
    texts.push_back(type.print());
  return join(texts);
}

static std::string printYield(const Region &region,
                              const std::vector<Type> &types) {
  return "    scf.yield " + join(region.results) + " : " + printTypes(types) +
         "\n";
}

static bool isPlainTensor(const Type &type) {
  return type.isTensor && type.elem != Elem::Index;
}

/// Draws some tensors of the block; also returns their types.
static std::vector<int> pickTensors(Generator &g, int count,
                                    std::vector<Type> &types) {
  std::vector<int> values;
  for (int i = 0; i < count; ++i) {
    int value = g.pickTensor(isPlainTensor);
    if (value >= 0) {
      values.push_back(value);
      types.push_back(g.typeOf(value));
    }
  }
  return values;
}

/// `$first`, `$first+1`, ...
static std::vector<std::string> makeNames(size_t first, size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i)
    names.push_back("$" + std::to_string(first + i));
  return names;
}

//===----------------------------------------------------------------------===//
// if
//===----------------------------------------------------------------------===//

static bool addIf(Generator &g) {
  std::vector<Type> types;
  std::vector<int> taken = pickTensors(g, 2, types);
  if (taken.empty())
    return false;
  std::vector<Type> results{types[0]};
  if (g.random.oneIn(4))
    results.push_back(types.back());
  int condition = g.get({Elem::I1, false, {}});
  std::vector<std::string> names = makeNames(1, taken.size());
  Region yes = drawRegion(g, types, names, results, 2);
  Region no = drawRegion(g, types, names, results, 1);
  std::vector<int> operands{condition};
  operands.insert(operands.end(), taken.begin(), taken.end());
  g.add("scf.if $0 -> (" + printTypes(results) + ") {\n" + yes.text +
            printYield(yes, results) + "  } else {\n" + no.text +
            printYield(no, results) + "  }",
        operands, results,
        [yes = yes.block, no = no.block](const Inputs &inputs,
                                         std::vector<Data> &made) {
          const Number &condition = (*inputs[0])[0];
          Inputs rest(inputs.begin() + 1, inputs.end());
          return condition.isKnown() &&
                 (condition.i ? yes : no).evaluate(rest, made);
        });
  return true;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Runs a body `count` times on carried values and values from outside.
static bool iterate(const Block &body, int64_t first, int64_t count,
                    int64_t step, size_t numCarried, const Inputs &values,
                    std::vector<Data> &made) {
  std::vector<Data> carried;
  for (size_t i = 0; i < numCarried; ++i)
    carried.push_back(*values[i]);
  for (int64_t n = 0; n < count; ++n) {
    Data position(Type{Elem::I32, false, {}});
    position[0] = makeInt(first + n * step, Elem::I32);
    Inputs inputs{&position};
    for (const Data &data : carried)
      inputs.push_back(&data);
    inputs.insert(inputs.end(), values.begin() + numCarried, values.end());
    std::vector<Data> next;
    if (!body.evaluate(inputs, next))
      return false;
    carried = std::move(next);
  }
  made = std::move(carried);
  return true;
}

static bool addFor(Generator &g) {
  std::vector<Type> types;
  std::vector<int> values = pickTensors(g, 3, types);
  if (values.empty())
    return false;
  size_t numCarried = values.size() > 1 && g.random.oneIn(3) ? 2 : 1;
  std::vector<Type> carried(types.begin(), types.begin() + numCarried);
  int64_t first = g.random.between(0, 1), count = g.random.between(0, 4);
  int64_t step = g.random.between(1, 2);
  std::vector<int> operands{g.addIndex(first), g.addIndex(first + count * step),
                            g.addIndex(step)};
  operands.insert(operands.end(), values.begin(), values.end());
  // The induction variable, as an integer.
  std::string prefix = g.drawPrefix();
  std::vector<std::string> names{prefix + "n"};
  std::vector<Type> arguments{{Elem::I32, false, {}}};
  std::string starts;
  for (size_t i = 0; i < values.size(); ++i) {
    bool isCarried = i < numCarried;
    std::string outside = "$" + std::to_string(i + 3);
    names.push_back(isCarried ? prefix + std::to_string(i) : outside);
    if (isCarried)
      starts += (i ? ", " : "") + names.back() + " = " + outside;
    arguments.push_back(types[i]);
  }
  Region body = drawRegion(g, arguments, names, carried, 2);
  g.add("scf.for " + prefix + "i = $0 to $1 step $2 iter_args(" + starts +
            ") -> (" + printTypes(carried) + ") {\n    " + prefix +
            "n = arith.index_cast " + prefix + "i : index to i32\n" +
            body.text + printYield(body, carried) + "  }",
        operands, carried,
        [=, body = body.block](const Inputs &inputs, std::vector<Data> &made) {
          Inputs values(inputs.begin() + 3, inputs.end());
          return iterate(body, first, count, step, numCarried, values, made);
        });
  return true;
}

static bool addWhile(Generator &g) {
  std::vector<Type> types;
  std::vector<int> values = pickTensors(g, 2, types);
  if (values.empty())
    return false;
  int64_t count = g.random.between(0, 3);
  std::vector<int> operands{g.addIndex(0), g.addIndex(1), g.addIndex(count)};
  operands.insert(operands.end(), values.begin(), values.end());
  std::string p = g.drawPrefix(), type = types[0].print();
  std::vector<std::string> names{p + "n", p + "x"};
  std::vector<Type> arguments{{Elem::I32, false, {}}, types[0]};
  if (values.size() > 1) {
    names.push_back("$4");
    arguments.push_back(types[1]);
  }
  Region body = drawRegion(g, arguments, names, {types[0]}, 2);
  std::string both = " : " + type + ", index";
  g.add("scf.while (" + p + "y = $3, " + p + "j = $0) : (" + type +
            ", index) -> (" + type + ", index) {\n    " + p +
            "c = arith.cmpi slt, " + p + "j, $2 : index\n    scf.condition(" +
            p + "c) " + p + "y, " + p + "j" + both + "\n  } do {\n  ^bb0(" + p +
            "x: " + type + ", " + p + "i: index):\n    " + p +
            "n = arith.index_cast " + p + "i : index to i32\n" + body.text +
            "    " + p + "k = arith.addi " + p + "i, $1 : index\n" +
            "    scf.yield " + body.results[0] + ", " + p + "k" + both +
            "\n  }",
        operands, {types[0], {Elem::Index, false, {}}},
        [=, body = body.block](const Inputs &inputs, std::vector<Data> &made) {
          Inputs values(inputs.begin() + 3, inputs.end());
          std::vector<Data> results;
          if (!iterate(body, 0, count, 1, 1, values, results))
            return false;
          made[0] = std::move(results[0]);
          made[1][0] = makeInt(count, Elem::Index);
          return true;
        });
  return true;
}

//===----------------------------------------------------------------------===//
// call
//===----------------------------------------------------------------------===//

static bool addCall(Generator &g) {
  std::vector<Type> types;
  std::vector<int> values = pickTensors(g, 2, types);
  if (values.empty())
    return false;
  std::vector<std::string> names;
  std::string arguments;
  for (size_t i = 0; i < values.size(); ++i) {
    names.push_back("%a" + std::to_string(i));
    arguments += (i ? ", " : "") + names.back() + ": " + types[i].print();
  }
  std::vector<Type> results{types[0]};
  Region body = drawRegion(g, types, names, results, 3);
  g.add("func.call $F(" + join(makeNames(0, values.size())) + ")$A : (" +
            printTypes(types) + ") -> " + printTypes(results),
        values, results,
        [body = body.block](const Inputs &inputs, std::vector<Data> &made) {
          return body.evaluate(inputs, made);
        });
  g.block.ops.back().callee = "func.func private $F(" + arguments + ") -> " +
                              printTypes(results) + " {\n" + body.text +
                              "    return " + join(body.results) + " : " +
                              printTypes(results) + "\n}\n";
  return true;
}

std::vector<Weighted> tessera::test::getControlFamilies() {
  return {{addIf, 2, false},
          {addFor, 2, false},
          {addWhile, 1, false},
          {addCall, 2, true}};
}
