//===- Program.cpp - A program and what it means --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include <cctype>
#include <set>

using namespace tessera::test;

//===----------------------------------------------------------------------===//
// Types and data
//===----------------------------------------------------------------------===//

int64_t Type::size() const {
  int64_t size = 1;
  for (int64_t each : shape)
    size *= each;
  return size;
}

std::string Type::print() const {
  std::string text;
  for (int64_t each : shape)
    text += std::to_string(each) + "x";
  text += getInfo(elem).name;
  return isTensor ? "tensor<" + text + ">" : text;
}

int64_t tessera::test::flatten(const Shape &shape, const Shape &index) {
  int64_t flat = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    flat = flat * shape[d] + index[d];
  return flat;
}

Number &Data::at(const Shape &index) {
  return numbers[flatten(type.shape, index)];
}
const Number &Data::at(const Shape &index) const {
  return numbers[flatten(type.shape, index)];
}

void tessera::test::forEachIndex(const Shape &shape,
                                 const std::function<void(const Shape &)> &fn) {
  Shape index(shape.size(), 0);
  for (int64_t size : shape)
    if (size == 0)
      return;
  while (true) {
    fn(index);
    int64_t d = static_cast<int64_t>(shape.size()) - 1;
    for (; d >= 0 && ++index[d] == shape[d]; --d)
      index[d] = 0;
    if (d < 0)
      return;
  }
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

int Block::addValue(Type type) {
  types.push_back(std::move(type));
  return static_cast<int>(types.size()) - 1;
}

void Block::dropUnused() {
  std::set<int> used(results.begin(), results.end());
  std::vector<Op> kept;
  for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
    bool isUsed = false;
    for (int result : op->results)
      isUsed |= used.count(result) > 0;
    if (!isUsed)
      continue;
    used.insert(op->operands.begin(), op->operands.end());
    kept.push_back(std::move(*op));
  }
  ops.assign(kept.rbegin(), kept.rend());
}

bool Block::evaluate(const Inputs &inputs, std::vector<Data> &out) const {
  std::vector<Data> made(types.size());
  Inputs values(types.size(), nullptr);
  for (size_t i = 0; i < arguments.size(); ++i)
    values[arguments[i]] = inputs[i];
  for (const Op &op : ops) {
    Inputs operands;
    for (int operand : op.operands)
      operands.push_back(values[operand]);
    std::vector<Data> results;
    for (int result : op.results)
      results.emplace_back(types[result]);
    if (!op.meaning(operands, results))
      return false;
    for (size_t i = 0; i < results.size(); ++i) {
      made[op.results[i]] = std::move(results[i]);
      values[op.results[i]] = &made[op.results[i]];
    }
  }
  out.clear();
  for (int result : results)
    out.push_back(*values[result]);
  return true;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Replaces `$0`, `$A`, `$B` and `$F`.
static std::string expand(const std::string &text,
                          const std::vector<std::string> &operands,
                          const std::string &attributes,
                          const std::string &function) {
  std::string expanded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      expanded += text[i];
      continue;
    }
    char kind = text[++i];
    if (kind == 'A') {
      expanded += attributes.empty() ? "" : " " + attributes;
    } else if (kind == 'B') {
      expanded += attributes.empty() ? "" : " attrs = " + attributes;
    } else if (kind == 'F') {
      expanded += function;
    } else {
      size_t number = 0;
      for (; i < text.size() && isdigit(text[i]); ++i)
        number = number * 10 + (text[i] - '0');
      --i;
      expanded += operands[number];
    }
  }
  return expanded;
}

std::string Printer::print(const Block &block,
                           const std::vector<std::string> &names,
                           const std::string &indent,
                           std::vector<std::string> &resultNames) {
  std::vector<std::string> all(block.types.size());
  for (size_t i = 0; i < names.size(); ++i)
    all[block.arguments[i]] = names[i];
  std::string text;
  for (const Op &op : block.ops) {
    std::vector<std::string> operands;
    for (int operand : op.operands)
      operands.push_back(all[operand]);
    std::string line = indent;
    for (size_t i = 0; i < op.results.size(); ++i) {
      all[op.results[i]] = prefix + std::to_string(count++);
      line += (i ? ", " : "") + all[op.results[i]];
    }
    std::string function;
    if (!op.callee.empty()) {
      function = "@f" + std::to_string(count++);
      callees += expand(op.callee, {}, "", function);
    }
    text += line + " = " + expand(op.text, operands, op.attributes, function) +
            "\n";
  }
  resultNames.clear();
  for (int result : block.results)
    resultNames.push_back(all[result]);
  return text;
}

static std::string join(const std::vector<std::string> &texts) {
  std::string joined;
  for (const std::string &text : texts)
    joined += (joined.empty() ? "" : ", ") + text;
  return joined;
}

static std::string withAttributes(const std::string &type,
                                  const std::string &attributes) {
  return attributes.empty() ? type : type + " {" + attributes + "}";
}

std::string Program::print() const {
  Printer printer;
  std::vector<std::string> names, arguments, results, types, resultTypes;
  for (size_t i = 0; i < block.arguments.size(); ++i) {
    names.push_back("%arg" + std::to_string(i));
    arguments.push_back(names.back() + ": " +
                        withAttributes(block.types[block.arguments[i]].print(),
                                       this->arguments[i].attributes));
  }
  std::string body = printer.print(block, names, "  ", results);
  for (size_t i = 0; i < block.results.size(); ++i) {
    types.push_back(block.types[block.results[i]].print());
    resultTypes.push_back(withAttributes(types.back(), resultAttributes[i]));
  }
  std::string text = mesh.empty() ? "" : "dist.mesh @mesh [" + mesh + "]\n";
  text += printer.callees;
  text += "func.func @main(" + join(arguments) + ")\n    -> (" +
          join(resultTypes) + ") {\n" + body + "  return " + join(results) +
          " : " + join(types) + "\n}\n";
  return text;
}
