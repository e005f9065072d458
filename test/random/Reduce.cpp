//===- Reduce.cpp - Makes a program smaller -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reduce.h"
#include <set>

using namespace tessera::test;

/// Erases unused ops and arguments.
static void dropUnused(Program &program) {
  Block &block = program.block;
  block.dropUnused();
  std::set<int> used(block.results.begin(), block.results.end());
  for (const Op &op : block.ops)
    used.insert(op.operands.begin(), op.operands.end());
  std::vector<int> values;
  std::vector<Argument> arguments;
  for (size_t i = 0; i < block.arguments.size(); ++i)
    if (used.count(block.arguments[i])) {
      values.push_back(block.arguments[i]);
      arguments.push_back(program.arguments[i]);
    }
  block.arguments = values;
  program.arguments = arguments;
}

static bool isIndex(const Type &type) { return type.elem == Elem::Index; }

/// Replaces the results of an op by arguments; false if arguments cannot have
/// their types.
static bool cutOp(Program &program, size_t i) {
  Op op = program.block.ops[i];
  for (int result : op.results)
    if (isIndex(program.block.types[result]))
      return false;
  program.block.ops.erase(program.block.ops.begin() + i);
  for (int result : op.results) {
    program.block.arguments.push_back(result);
    program.arguments.push_back({});
  }
  dropUnused(program);
  return true;
}

static void dropResult(Program &program, size_t i) {
  program.block.results.erase(program.block.results.begin() + i);
  program.resultAttributes.erase(program.resultAttributes.begin() + i);
  dropUnused(program);
}

/// The texts of all annotations.
static std::vector<std::string *> getAnnotations(Program &program) {
  std::vector<std::string *> texts;
  for (Argument &argument : program.arguments)
    texts.push_back(&argument.attributes);
  for (std::string &attributes : program.resultAttributes)
    texts.push_back(&attributes);
  for (Op &op : program.block.ops)
    texts.push_back(&op.attributes);
  return texts;
}

namespace {

class Reducer {
public:
  Reducer(Program program, const std::function<bool(const Program &)> &isWanted)
      : program(std::move(program)), isWanted(isWanted) {}
  Program run() {
    while (dropResults() || cutOps() || dropAnnotations())
      ;
    return program;
  }

private:
  bool accept(const Program &smaller) {
    if (!isWanted(smaller))
      return false;
    program = smaller;
    return true;
  }
  bool dropResults() {
    bool changed = false;
    for (size_t i = program.block.results.size();
         i-- > 0 && program.block.results.size() > 1;) {
      Program smaller = program;
      dropResult(smaller, i);
      changed |= accept(smaller);
    }
    return changed;
  }
  bool cutOps() {
    bool changed = false;
    for (size_t i = 0; i < program.block.ops.size();) {
      Program smaller = program;
      if (cutOp(smaller, i) && accept(smaller))
        changed = true;
      else
        ++i;
    }
    // Moves results up: the operands of an op become results instead of its
    // result.
    for (size_t i = 0; i < program.block.results.size(); ++i)
      changed |= moveResult(i);
    return changed;
  }
  /// Replaces a result by an operand of its op.
  bool moveResult(size_t i) {
    for (const Op &op : program.block.ops)
      for (int result : op.results)
        if (result == program.block.results[i])
          for (int operand : op.operands) {
            if (!program.block.types[operand].isTensor)
              continue;
            Program smaller = program;
            smaller.block.results[i] = operand;
            smaller.resultAttributes[i].clear();
            dropUnused(smaller);
            if (accept(smaller))
              return true;
          }
    return false;
  }
  bool dropAnnotations() {
    bool changed = false;
    for (size_t i = 0, n = getAnnotations(program).size(); i < n; ++i) {
      Program smaller = program;
      std::string &text = *getAnnotations(smaller)[i];
      if (text.empty())
        continue;
      text.clear();
      changed |= accept(smaller);
    }
    return changed;
  }

  Program program;
  const std::function<bool(const Program &)> &isWanted;
};

} // namespace

Program
tessera::test::reduce(Program program,
                      const std::function<bool(const Program &)> &isWanted) {
  return Reducer(std::move(program), isWanted).run();
}
