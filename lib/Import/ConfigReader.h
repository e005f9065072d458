//===- ConfigReader.h - Values of a config.json by key ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_IMPORT_CONFIGREADER_H
#define TESSERA_LIB_IMPORT_CONFIGREADER_H

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

/// Keys that would change the graph into one that is not built: null, false or
/// an empty list or object leaves it as it is.
inline constexpr llvm::StringRef kMustBeOff[] = {
    "add_cross_attention", "is_encoder_decoder", "pruned_heads",
    "quantization_config", "rope_interleaved"};

/// A value for an error, its first 40 characters at most.
std::string printShort(const llvm::json::Value &value);

/// Unknown keys that the user wants ignored, and those of them that a file has.
struct IgnoredKeys {
  llvm::ArrayRef<llvm::StringRef> wanted;
  llvm::SmallVector<llvm::StringRef> found;
};

/// Reads the values of one object and keeps the first error; after an error
/// whatever is read is a default.
class ConfigReader {
public:
  /// `path` goes before keys in errors: "rope_scaling.".
  ConfigReader(const llvm::json::Object &object, llvm::StringRef file,
               IgnoredKeys &ignored, llvm::Error &error, std::string path = "")
      : object(object), file(file), path(std::move(path)), ignored(ignored),
        error(error) {}

  void fail(llvm::StringRef key, const llvm::Twine &text);

  /// The value of a key; null when it is absent or a JSON null.
  const llvm::json::Value *find(llvm::StringRef key) const;

  /// The key is there with a JSON null.
  bool isNull(llvm::StringRef key) const;

  /// An integer of 1 or more; required without a default.
  int64_t size(llvm::StringRef key,
               std::optional<int64_t> byDefault = std::nullopt,
               int64_t limit = kMaxSize);

  /// An integer of 0 or more.
  int64_t count(llvm::StringRef key, int64_t byDefault);

  /// A finite number above 0; required without a default.
  double positive(llvm::StringRef key,
                  std::optional<double> byDefault = std::nullopt);

  bool boolean(llvm::StringRef key, bool byDefault);

  /// One of a few strings, by its index. With `areNames` an error names the
  /// nearest of them.
  size_t choice(llvm::StringRef key, llvm::ArrayRef<llvm::StringRef> choices,
                std::optional<size_t> byDefault = std::nullopt,
                bool areNames = false);

  /// A list of `length` strings, each of the choices, by their indices; empty
  /// when it is absent.
  llvm::SmallVector<size_t> list(llvm::StringRef key,
                                 llvm::ArrayRef<llvm::StringRef> choices,
                                 int64_t length);

  /// A reader of a nested object; none when it is absent.
  std::optional<ConfigReader> nested(llvm::StringRef key);

  /// `what` says what `by` is.
  void checkDivides(llvm::StringRef key, int64_t size, llvm::StringRef what,
                    int64_t by);

  /// Every key must be in one of the `known` lists, in one of `off` with a
  /// value that is null, false or empty, or among those that are ignored. Names
  /// the nearest known key.
  void checkKeys(llvm::ArrayRef<llvm::ArrayRef<llvm::StringRef>> known,
                 llvm::ArrayRef<llvm::ArrayRef<llvm::StringRef>> off,
                 const llvm::Twine &where);

  /// An integer from `least` to `limit`; `expected` says so in an error.
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
