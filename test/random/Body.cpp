//===- Body.cpp - The body of a linalg op ---------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Body.h"

using namespace tessera::test;

int Body::addArgument(Elem elem) {
  elems.push_back(elem);
  return numArguments++;
}

int Body::addPosition(int dim, Elem elem) {
  Line line;
  line.position = dim;
  lines.push_back(line);
  elems.push_back(elem);
  return size() - 1;
}

int Body::addConstant(Elem elem, const Number &number) {
  Line line;
  line.constant = number;
  lines.push_back(line);
  elems.push_back(elem);
  return size() - 1;
}

int Body::add(const ScalarOp &op, std::vector<int> operands, Random &random) {
  Elem in = elems[operands.back()];
  if (op.guard != Guard::None) {
    GuardOp guard = getGuardOp(op.guard, in);
    int constant = addConstant(in, makeInt(guard.constant, in));
    operands[1] = add(*guard.op, {operands[1], constant}, random);
  }
  Line line;
  line.op = &op;
  line.operands = std::move(operands);
  lines.push_back(line);
  elems.push_back(chooseResult(op, in, random));
  return size() - 1;
}

int Body::find(Elem elem, Random &random, int first) const {
  std::vector<int> found;
  for (int local = first; local < size(); ++local)
    if (elems[local] == elem && !hidden.count(local))
      found.push_back(local);
  return found.empty() ? -1 : random.pick(found);
}

int Body::addRandom(Random &random) {
  for (int tries = 0; tries < 20; ++tries) {
    const ScalarOp &op = random.pick(getScalarOps());
    int local = static_cast<int>(random.below(size()));
    Elem elem = elems[local];
    if (!accepts(op, elem) || hidden.count(local))
      continue;
    std::vector<int> operands;
    if (op.form == Form::Select) {
      int condition = find(Elem::I1, random);
      if (condition < 0)
        continue;
      operands = {condition, find(elem, random), local};
    } else {
      for (int i = 0; i < op.arity; ++i)
        operands.push_back(find(elem, random));
      operands[random.below(op.arity)] = local;
    }
    return add(op, operands, random);
  }
  return static_cast<int>(random.below(size()));
}

int Body::getFactor(int yield, int running) const {
  static const ScalarOp &product = findScalarOp("arith.mulf");
  if (yield < numArguments || lines[yield - numArguments].op != &product)
    return -1;
  const std::vector<int> &operands = lines[yield - numArguments].operands;
  return operands[0] == running   ? operands[1]
         : operands[1] == running ? operands[0]
                                  : -1;
}

std::string Body::print(const std::string &indent) const {
  std::string text = indent + "^bb0(";
  for (int i = 0; i < numArguments; ++i)
    text += (i ? ", " : "") + nameOf(i) + ": " + getInfo(elems[i]).name;
  text += "):\n";
  for (size_t i = 0; i < lines.size(); ++i) {
    const Line &line = lines[i];
    int local = numArguments + static_cast<int>(i);
    std::string elem = getInfo(elems[local]).name;
    std::string start = indent + "  " + nameOf(local);
    if (line.position >= 0) {
      text += start + "p = linalg.index " + std::to_string(line.position) +
              " : index\n" + start + " = arith.index_cast " + nameOf(local) +
              "p : index to " + elem + "\n";
    } else if (!line.op) {
      text += start + " = arith.constant " +
              printLiteral(line.constant, elems[local]) +
              (elems[local] == Elem::I1 ? "" : " : " + elem) + "\n";
    } else {
      std::vector<std::string> names;
      for (int operand : line.operands)
        names.push_back(nameOf(operand));
      std::string in = getInfo(elems[line.operands.back()]).name;
      text += start + " = " + printScalarOp(*line.op, names, "", in, elem, "") +
              "\n";
    }
  }
  return text;
}

bool Body::run(std::vector<Number> &locals, const Shape &index) const {
  locals.resize(elems.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    const Line &line = lines[i];
    Number &result = locals[numArguments + i];
    Elem out = elems[numArguments + i];
    if (line.position >= 0) {
      result = makeInt(index[line.position], out);
    } else if (!line.op) {
      result = line.constant;
    } else {
      Number x[3];
      for (size_t k = 0; k < line.operands.size(); ++k)
        x[k] = locals[line.operands[k]];
      if (line.op->guard == Guard::Divisor && (!x[1].isKnown() || x[1].i == 0))
        return false;
      result = evaluate(*line.op, x, elems[line.operands.back()], out);
    }
  }
  return true;
}
