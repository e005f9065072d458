//===- VerifyData.cpp - Files of tessera verify ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyData.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "runtime/include/tessera_weights.h"
#include "tessera/Interpreter/InputDomain.h"
#include "tessera/Interpreter/Npy.h"
#include "tessera/Training/FlatState.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <set>

using namespace tessera;
using namespace tessera::interp;
using llvm::StringRef;

/// The shape of argument `i` in files, which is its logical shape.
static llvm::SmallVector<int64_t> getFileShape(mlir::func::FuncOp function,
                                               unsigned i) {
  if (auto shape = function.getArgAttrOfType<mlir::DenseI64ArrayAttr>(
          i, nn::NNDialect::kLogicalShapeAttr);
      shape && getFlatIndices(function, i))
    return llvm::SmallVector<int64_t>(shape.asArrayRef());
  auto tensor =
      mlir::dyn_cast<mlir::RankedTensorType>(function.getArgumentTypes()[i]);
  return llvm::SmallVector<int64_t>(tensor ? tensor.getShape()
                                           : llvm::ArrayRef<int64_t>());
}

/// Converts the value of argument `i` to its logical shape.
static Tensor toLogical(mlir::func::FuncOp function, unsigned i,
                        const Tensor &tensor) {
  auto indices = getFlatIndices(function, i);
  if (!indices)
    return tensor;
  Tensor logical(tensor.getElementType(), getFileShape(function, i));
  for (auto [number, index] : llvm::enumerate(*indices))
    logical[number] = tensor[index];
  return logical;
}

/// Converts the contents of a file to the layout of argument `i`.
static Tensor fromLogical(mlir::func::FuncOp function, unsigned i,
                          const Tensor &logical) {
  auto indices = getFlatIndices(function, i);
  if (!indices)
    return logical;
  Tensor tensor(function.getArgumentTypes()[i]);
  for (auto [number, index] : llvm::enumerate(*indices))
    tensor[index] = logical[number];
  return tensor;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Names of the .npy files of a folder, without the extension.
static llvm::Expected<std::set<std::string>> listFiles(StringRef folder) {
  std::set<std::string> names;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator file(folder, code), end;
       !code && file != end; file.increment(code)) {
    StringRef name = llvm::sys::path::filename(file->path());
    if (name.consume_back(".npy"))
      names.insert(name.str());
  }
  if (code)
    return llvm::createStringError("--inputs '" + folder +
                                   "' cannot be read: " + code.message());
  return names;
}

/// Formats the indices of an element as "[0, 3]".
static std::string describeElement(llvm::ArrayRef<int64_t> shape,
                                   int64_t element) {
  llvm::SmallVector<std::string> indices(shape.size());
  for (size_t dim = shape.size(); dim-- > 0; element /= shape[dim])
    indices[dim] = std::to_string(element % shape[dim]);
  return "[" + llvm::join(indices, ", ") + "]";
}

/// True for an argument that a run sets: it has no file.
static bool isControl(mlir::func::FuncOp function, unsigned i) {
  return bool(function.getArgAttr(i, nn::NNDialect::kControlAttr));
}

/// True if files have the integers of argument `i` without a sign.
static bool isUnsigned(mlir::func::FuncOp function, unsigned i) {
  return bool(function.getArgAttr(i, nn::NNDialect::kUnsignedAttr));
}

/// Describes the first element that is not a valid id for the uses of an
/// argument; empty if there is none.
static std::string checkIds(mlir::BlockArgument argument,
                            const Tensor &tensor) {
  if (!llvm::isa<mlir::IntegerType>(
          mlir::getElementTypeOrSelf(argument.getType())))
    return {};
  IntegerDomain ids = findIds(argument);
  bool unsignedIds = isUnsigned(
      llvm::cast<mlir::func::FuncOp>(argument.getOwner()->getParentOp()),
      argument.getArgNumber());
  for (int64_t i = 0; ids.limit && i < tensor.getNumElements(); ++i) {
    int64_t id = tensor[i].i;
    // Beyond the ids either way.
    if (unsignedIds && id < 0)
      id = int64_t(std::min<uint64_t>(tensor.getElementType().toUnsigned(id),
                                      INT64_MAX));
    if ((id >= 0 && id < *ids.limit) || id == ids.ignored)
      continue;
    return "expects ids from 0 to " + std::to_string(*ids.limit - 1) +
           (ids.ignored
                ? " or " + std::to_string(*ids.ignored) + ", which has no loss"
                : "") +
           ", but got " + std::to_string(id) + " at " +
           describeElement(tensor.getShape(), i);
  }
  return {};
}

llvm::Expected<RankTensors> tessera::readInputs(mlir::func::FuncOp function,
                                                StringRef folder) {
  auto files = listFiles(folder);
  if (!files)
    return files.takeError();
  RankTensors inputs(function.getNumArguments());
  std::vector<std::string> faults;
  if (files->empty())
    faults.push_back("expects .npy files but got none");
  for (unsigned i = 0; i < inputs.size(); ++i) {
    std::string name = getArgumentName(function, i);
    if (isControl(function, i) || !files->erase(name))
      continue;
    auto tensor = readNpy(
        (folder + "/" + name + ".npy").str(),
        ElementType(mlir::getElementTypeOrSelf(function.getArgumentTypes()[i])),
        getFileShape(function, i), isUnsigned(function, i));
    if (!tensor) {
      faults.push_back(llvm::toString(tensor.takeError()));
      continue;
    }
    std::string wrong = checkIds(function.getArgument(i), *tensor);
    if (!wrong.empty())
      faults.push_back("'" + name + ".npy': " + wrong);
    inputs[i] = std::make_shared<Tensor>(fromLogical(function, i, *tensor));
  }
  for (const std::string &name : *files)
    faults.push_back("extra: '" + name +
                     ".npy', which the program has no argument for");
  if (!faults.empty())
    return llvm::createStringError(
        "--inputs '" + folder +
        "' does not fit the program: " + llvm::join(faults, "\n  "));
  return inputs;
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

namespace {

/// A parameter and its view of a tensor in a weights file.
struct Parameter {
  std::string name, tensor;
  llvm::SmallVector<int64_t> shape, tensorShape, strides;
  int64_t offset = 0;

  Parameter(mlir::func::FuncOp function, unsigned i);
  tessera_rt_weight toWeight() const {
    return {name.c_str(),
            tensor.c_str(),
            tensorShape.data(),
            int64_t(tensorShape.size()),
            offset,
            shape.data(),
            strides.data(),
            int64_t(shape.size())};
  }
};

struct CloseWeights {
  void operator()(tessera_rt_weights *files) const {
    tessera_rt_weights_close(files);
  }
};

} // namespace

/// The default without nn.source is the whole tensor with the parameter's name.
Parameter::Parameter(mlir::func::FuncOp function, unsigned i)
    : name(getArgumentName(function, i)), tensor(name),
      shape(getFileShape(function, i)), tensorShape(shape),
      strides(shape.size(), 1) {
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  auto source =
      function.getArgAttrOfType<nn::SourceAttr>(i, nn::NNDialect::kSourceAttr);
  if (!source)
    return;
  tensor = source.getTensor().str();
  tensorShape.assign(source.getShape().begin(), source.getShape().end());
  strides.assign(source.getStrides().begin(), source.getStrides().end());
  offset = source.getOffset();
}

/// The name of the parameter that initializes an argument: the argument itself,
/// or the parameter whose master copy it is; empty if it is neither.
static std::string getInitializingParameter(mlir::func::FuncOp function,
                                            unsigned i) {
  if (function.getArgAttr(i, nn::NNDialect::kParamAttr))
    return getArgumentName(function, i);
  auto of =
      function.getArgAttrOfType<mlir::StringAttr>(i, nn::NNDialect::kOfAttr);
  return of && function.getArgAttr(i, nn::NNDialect::kMasterAttr) ? of.str()
                                                                  : "";
}

llvm::Error tessera::readWeights(mlir::func::FuncOp function, StringRef path,
                                 RankTensors &given) {
  std::vector<Parameter> parameters;
  llvm::StringMap<int64_t> numbers;
  for (unsigned i = 0; i < given.size(); ++i)
    if (function.getArgAttr(i, nn::NNDialect::kParamAttr)) {
      numbers[getArgumentName(function, i)] = parameters.size();
      parameters.emplace_back(function, i);
    }
  std::vector<tessera_rt_weight> weights;
  for (const Parameter &parameter : parameters)
    weights.push_back(parameter.toWeight());
  std::unique_ptr<tessera_rt_weights, CloseWeights> files(
      tessera_rt_weights_open(path.str().c_str(), weights.data(),
                              weights.size()));
  if (StringRef error = tessera_rt_weights_error(files.get()); !error.empty())
    return llvm::createStringError(error);
  for (int64_t i = 0;
       const char *remark = tessera_rt_weights_remark(files.get(), i); ++i)
    llvm::errs() << "remark: " << remark << "\n";
  for (unsigned i = 0; i < given.size(); ++i) {
    auto number = numbers.find(getInitializingParameter(function, i));
    if (given[i] || number == numbers.end())
      continue;
    Tensor logical(
        ElementType(mlir::getElementTypeOrSelf(function.getArgumentTypes()[i])),
        getFileShape(function, i));
    std::vector<float> elements(logical.getNumElements());
    tessera_rt_weights_read(files.get(), number->second, elements.data());
    for (auto [at, element] : llvm::enumerate(elements))
      logical[at] = logical.getElementType().round(floatCell(element));
    given[i] = std::make_shared<Tensor>(fromLogical(function, i, logical));
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

llvm::Error tessera::writeData(mlir::func::FuncOp original,
                               const VerifyReport &report, StringRef folder) {
  std::string expected = (folder + "/expected").str();
  if (std::error_code code = llvm::sys::fs::create_directories(expected))
    return llvm::createStringError(expected +
                                   ": cannot be made: " + code.message());
  for (auto [i, tensor] : llvm::enumerate(report.inputs)) {
    if (isControl(original, i))
      continue;
    if (llvm::Error error = writeNpy(
            (folder + "/" + getArgumentName(original, i) + ".npy").str(),
            toLogical(original, i, *tensor), isUnsigned(original, i)))
      return error;
  }
  llvm::DenseMap<int64_t, unsigned> donors;
  for (unsigned i = 0; i < original.getNumArguments(); ++i)
    if (auto donated = original.getArgAttrOfType<mlir::IntegerAttr>(
            i, dist::DistDialect::kDonateAttr))
      donors[donated.getInt()] = i;
  for (auto [i, tensor] : llvm::enumerate(report.expected)) {
    auto donor = donors.find(i);
    if (llvm::Error error = writeNpy(
            expected + "/" + getResultName(original, i) + ".npy",
            donor == donors.end() ? *tensor
                                  : toLogical(original, donor->second, *tensor),
            bool(original.getResultAttr(i, nn::NNDialect::kUnsignedAttr))))
      return error;
  }
  return llvm::Error::success();
}
