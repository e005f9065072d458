//===- OpMutations.cpp - Changes of what a device computes ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes operands, attributes, constants and bodies of ops that do not
// communicate, and donations.
//
//===----------------------------------------------------------------------===//

#include "Mutations.h"
#include "dialects/Dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;

namespace {

/// Pairs of ops with the same types of operands and results.
constexpr std::pair<StringLiteral, StringLiteral> kAlike[] = {
    {"arith.addf", "arith.mulf"},       {"arith.subf", "arith.addf"},
    {"arith.mulf", "arith.addf"},       {"arith.divf", "arith.mulf"},
    {"arith.maximumf", "arith.addf"},   {"arith.minimumf", "arith.maximumf"},
    {"arith.maxnumf", "arith.minnumf"}, {"arith.negf", "math.absf"},
    {"arith.addi", "arith.muli"},       {"arith.subi", "arith.addi"},
    {"arith.muli", "arith.addi"},       {"arith.maxsi", "arith.minsi"},
    {"arith.minsi", "arith.maxsi"},     {"arith.extsi", "arith.extui"},
    {"math.exp", "math.tanh"},          {"math.tanh", "math.sin"},
    {"math.sqrt", "math.rsqrt"},        {"math.rsqrt", "math.sqrt"},
    {"math.log", "math.log1p"},
};

class Maker {
public:
  explicit Maker(Operation *op) : op(op) {}

  std::vector<Mutation> take() { return std::move(list); }

  /// Exchanges two operands of equal type, and replaces each operand by an
  /// earlier value of its type.
  void addOperands() {
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      for (unsigned j = i + 1; j < op->getNumOperands(); ++j)
        if (op->getOperand(i) != op->getOperand(j) &&
            op->getOperand(i).getType() == op->getOperand(j).getType())
          add("operands " + Twine(i) + " and " + Twine(j) + " exchanged",
              [i, j](Operation *op) {
                Value first = op->getOperand(i);
                op->setOperand(i, op->getOperand(j));
                op->setOperand(j, first);
                return op;
              });
      if (findOther(op, i))
        add("operand " + Twine(i) + " another", [i](Operation *op) {
          op->setOperand(i, findOther(op, i));
          return op;
        });
    }
  }

  void addAttributes() {
    Builder b(op->getContext());
    for (StringAttr name : op->getName().getAttributeNames()) {
      Attribute value = op->getAttr(name);
      // Segment sizes describe the op's operands and cannot change.
      if (name.strref().contains("egmentSizes"))
        continue;
      if (!value || isa<UnitAttr>(value)) {
        addAttribute(name, value ? Attribute() : b.getUnitAttr());
      } else if (auto boolean = dyn_cast<BoolAttr>(value)) {
        addAttribute(name, b.getBoolAttr(!boolean.getValue()));
      } else if (auto real = dyn_cast<FloatAttr>(value)) {
        double number = real.getValueAsDouble();
        addAttribute(name, b.getFloatAttr(real.getType(),
                                          number == 0 ? 0.5 : 1.5 * number));
      } else if (auto integer = dyn_cast<IntegerAttr>(value)) {
        for (int step : {-1, 1})
          addAttribute(name, IntegerAttr::get(integer.getType(),
                                              integer.getValue() + step));
      } else if (auto array = dyn_cast<DenseI64ArrayAttr>(value)) {
        addArray(name, array);
      } else if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
        addDense(name, dense);
      } else if (auto list = dyn_cast<ArrayAttr>(value)) {
        // Indexing maps, iterators.
        SmallVector<Attribute> turned(list.getValue());
        if (turned.size() > 1 && turned.front() != turned.back()) {
          std::swap(turned.front(), turned.back());
          addAttribute(name, b.getArrayAttr(turned));
        }
      } else if (auto text = dyn_cast<StringAttr>(value)) {
        // The letters of an einsum's result.
        std::string turned = text.str();
        if (turned.size() > 1)
          std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
        if (turned != text)
          addAttribute(name, b.getStringAttr(turned));
      }
    }
  }

  /// Replaces the op by a similar one, for example in the body of a linalg op.
  void addAlike() {
    for (auto [name, other] : kAlike)
      if (op->getName().getStringRef() == name)
        add(other, [other = other](Operation *op) {
          OpBuilder builder(op);
          OperationState state(op->getLoc(), other, op->getOperands(),
                               op->getResultTypes());
          Operation *made = builder.create(state);
          op->replaceAllUsesWith(made);
          op->erase();
          return made;
        });
  }

  /// Exchanges the regions of two cases.
  void addRegions() {
    if (op->getNumRegions() == 2)
      add("regions exchanged", [](Operation *op) {
        Region first;
        first.takeBody(op->getRegion(0));
        op->getRegion(0).takeBody(op->getRegion(1));
        op->getRegion(1).takeBody(first);
        return op;
      });
  }

  /// Changes or removes the donations of arguments.
  void addDonations(func::FuncOp func) {
    StringRef name = dist::DistDialect::kDonateAttr;
    for (unsigned i = 0; i < func.getNumArguments(); ++i) {
      Attribute mine = func.getArgAttr(i, name);
      if (!mine)
        continue;
      add(
          "no donation of argument " + Twine(i),
          [i, name](Operation *op) {
            cast<func::FuncOp>(op).removeArgAttr(i, name);
            return op;
          },
          /*steps=*/2);
      for (unsigned j = i + 1; j < func.getNumArguments(); ++j) {
        Attribute other = func.getArgAttr(j, name);
        if (!other ||
            func.getArgument(i).getType() != func.getArgument(j).getType())
          continue;
        add(
            "donations of arguments " + Twine(i) + " and " + Twine(j) +
                " exchanged",
            [=](Operation *op) {
              auto func = cast<func::FuncOp>(op);
              func.setArgAttr(i, name, other);
              func.setArgAttr(j, name, mine);
              return op;
            },
            /*steps=*/2);
        break;
      }
    }
  }

private:
  void add(const Twine &what, std::function<Operation *(Operation *)> apply,
           unsigned steps = 1) {
    list.push_back({what.str(), std::move(apply), steps});
  }

  void addAttribute(StringAttr name, Attribute value) {
    std::string text;
    llvm::raw_string_ostream os(text);
    if (value)
      os << value;
    else
      os << "none";
    add(name.strref() + " " + StringRef(text).take_front(40),
        [=](Operation *op) {
          if (value)
            op->setAttr(name, value);
          else
            op->removeAttr(name);
          return op;
        });
  }

  void addArray(StringAttr name, DenseI64ArrayAttr array) {
    Builder b(op->getContext());
    SmallVector<int64_t> numbers(array.asArrayRef());
    if (numbers.size() > 1 && numbers.front() != numbers.back()) {
      SmallVector<int64_t> turned = numbers;
      std::swap(turned.front(), turned.back());
      addAttribute(name, b.getDenseI64ArrayAttr(turned));
    }
    for (int64_t &number : numbers) {
      ++number;
      addAttribute(name, b.getDenseI64ArrayAttr(numbers));
      --number;
    }
  }

  /// Changes one element: the first, or all of a splat of integers.
  void addDense(StringAttr name, DenseElementsAttr dense) {
    Builder b(op->getContext());
    Type element = dense.getElementType();
    if (dense.empty() || (dense.isSplat() && isa<FloatType>(element)))
      return;
    auto change = [&](Attribute old) -> Attribute {
      if (auto real = dyn_cast<FloatAttr>(old))
        return b.getFloatAttr(element, real.getValueAsDouble() + 1);
      if (auto integer = dyn_cast<IntegerAttr>(old))
        return IntegerAttr::get(element, integer.getValue() + 1);
      return {};
    };
    SmallVector<Attribute> values(dense.getValues<Attribute>());
    Attribute first = change(values.front());
    if (!first)
      return;
    if (dense.isSplat())
      values.assign(1, first);
    values.front() = first;
    addAttribute(name, DenseElementsAttr::get(dense.getType(), values));
  }

  /// The last earlier value of an operand's type in its block; null if there is
  /// only the operand.
  static Value findOther(Operation *op, unsigned index) {
    Value mine = op->getOperand(index);
    auto fits = [&](Value value) {
      return value != mine && value.getType() == mine.getType();
    };
    for (Operation *before = op->getPrevNode(); before;
         before = before->getPrevNode())
      for (Value value : llvm::reverse(before->getResults()))
        if (fits(value))
          return value;
    for (Value value : llvm::reverse(op->getBlock()->getArguments()))
      if (fits(value))
        return value;
    return {};
  }

  Operation *op;
  std::vector<Mutation> list;
};

} // namespace

std::vector<Mutation> tessera::getOpMutations(Operation *op) {
  Maker maker(op);
  if (auto func = dyn_cast<func::FuncOp>(op)) {
    maker.addDonations(func);
    return maker.take();
  }
  if (isa<dist::CollectiveOpInterface, dist::BucketOp>(op) ||
      isa_and_nonnull<dist::BucketOp>(op->getParentOp()))
    return {};
  maker.addOperands();
  maker.addAlike();
  maker.addRegions();
  if (!isa_and_nonnull<dist::DistDialect>(op->getDialect()))
    maker.addAttributes();
  return maker.take();
}
