//===- ConfigReader.h - Values of a config.json by key ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_IMPORT_CONFIGREADER_H
#define TESSERA_LIB_IMPORT_CONFIGREADER_H

#include "tessera/Import/ModelConfig.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <limits>
#include <optional>
#include <string>

namespace tessera {

/// Upper limit of a size: far above any model, and low enough that nothing
/// overflows.
constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();

/// Keys for graphs that are not supported. They must be null, false, 0 or an
/// empty list or object.
inline constexpr llvm::StringRef kMustBeOff[] = {
    "add_cross_attention", "is_encoder_decoder", "pruned_heads",
    "rope_interleaved"};

/// The key of the format of a checkpoint's weights in less than 16 bits: off
/// for a graph, of no influence on a price.
inline constexpr llvm::StringRef kWeightFormat[] = {"quantization_config"};

/// Prints a value for an error, at most its first 40 characters.
std::string printShort(const llvm::json::Value &value);

/// Unknown keys that the user wants ignored, and the ones found in a file.
struct IgnoredKeys {
  llvm::ArrayRef<llvm::StringRef> wanted;
  llvm::SmallVector<llvm::StringRef> found;
};

/// Reads the values of one object and keeps the first error. After an error,
/// all values are defaults.
class ConfigReader {
public:
  /// Errors print `path` before keys: "rope_scaling.".
  ConfigReader(const llvm::json::Object &object, llvm::StringRef file,
               ConfigUse use, IgnoredKeys &ignored, llvm::Error &error,
               std::string path = "")
      : use(use), object(object), file(file), path(std::move(path)),
        ignored(ignored), error(error) {}

  const ConfigUse use;

  void fail(llvm::StringRef key, const llvm::Twine &text);

  /// Returns the value of a key; null if it is absent or a JSON null.
  const llvm::json::Value *find(llvm::StringRef key) const;

  /// True if the key has a JSON null.
  bool isNull(llvm::StringRef key) const;

  /// Reads an integer of 1 or more; required without a default.
  int64_t size(llvm::StringRef key,
               std::optional<int64_t> byDefault = std::nullopt,
               int64_t limit = kMaxSize);

  /// Reads an integer of 0 or more.
  int64_t count(llvm::StringRef key, int64_t byDefault);

  /// Reads a finite number above 0; required without a default.
  double positive(llvm::StringRef key,
                  std::optional<double> byDefault = std::nullopt);

  bool boolean(llvm::StringRef key, bool byDefault);

  /// Reads one of a few strings and returns its index. With `areNames`, an
  /// error suggests the nearest one.
  size_t choice(llvm::StringRef key, llvm::ArrayRef<llvm::StringRef> choices,
                std::optional<size_t> byDefault = std::nullopt,
                bool areNames = false);

  /// Reads a list of `length` strings, each one of the choices, and returns
  /// their indices; empty if the key is absent.
  llvm::SmallVector<size_t> list(llvm::StringRef key,
                                 llvm::ArrayRef<llvm::StringRef> choices,
                                 int64_t length);

  /// Reads a list of integers from `least` to `limit`; empty if the key is
  /// absent.
  llvm::SmallVector<int64_t> integers(llvm::StringRef key, int64_t least,
                                      int64_t limit);

  /// Reads a list of `length` numbers above 0; required.
  std::vector<double> positives(llvm::StringRef key, int64_t length);

  /// Returns a reader of a nested object; none if it is absent.
  std::optional<ConfigReader> nested(llvm::StringRef key);

  /// Checks that `by` divides `size`. `what` names `by` in errors.
  void checkDivides(llvm::StringRef key, int64_t size, llvm::StringRef what,
                    int64_t by);

  /// Checks that every key is in a `known` list, in an `off` list with the
  /// value null, false, 0 or empty, or ignored. An error suggests the nearest
  /// known key.
  void checkKeys(llvm::ArrayRef<llvm::ArrayRef<llvm::StringRef>> known,
                 llvm::ArrayRef<llvm::ArrayRef<llvm::StringRef>> off,
                 const llvm::Twine &where);

  /// Reads an integer from `least` to `limit`; `expected` describes the range
  /// in errors.
  int64_t integer(llvm::StringRef key, std::optional<int64_t> byDefault,
                  int64_t least, int64_t limit, llvm::StringRef expected);

private:
  const llvm::json::Value *get(llvm::StringRef key, llvm::StringRef expected,
                               bool required);

  void wrong(llvm::StringRef key, llvm::StringRef expected,
             const llvm::json::Value &value);

  const llvm::json::Object &object;
  llvm::StringRef file;
  std::string path;
  IgnoredKeys &ignored;
  llvm::Error &error;
};

} // namespace tessera

#endif // TESSERA_LIB_IMPORT_CONFIGREADER_H
