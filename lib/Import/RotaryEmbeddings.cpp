//===- RotaryEmbeddings.cpp - Rotary embeddings of a config.json ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the keys of rotary embeddings and computes their frequencies, as
// transformers' modeling_rope_utils.py does.
//
//===----------------------------------------------------------------------===//

#include "ConfigReader.h"
#include "ModelFamilies.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include <cmath>

using namespace tessera;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

namespace {

constexpr StringRef kPartialKey = "partial_rotary_factor";
constexpr StringRef kContextKey = "original_max_position_embeddings";
/// The original context of families that have its key at the top level.
constexpr int64_t kDefaultContext = 4096;

/// Keys of all kinds of rotary embeddings, and of some.
constexpr StringRef kRopeRead[] = {
    "factor",    "high_freq_factor", "low_freq_factor",
    kContextKey, "rope_theta",       "rope_type",
    "type"};
constexpr StringRef kYarnRead[] = {"attention_factor", "beta_fast",
                                   "beta_slow",        "mscale",
                                   "mscale_all_dim",   "truncate"};
constexpr StringRef kLongRead[] = {"attention_factor", "long_factor",
                                   "short_factor"};

/// The rule for stretching frequencies.
enum class RopeRule { Default, Linear, Dynamic, Yarn, LongRope, Llama3 };

/// A value of "rope_type".
struct RopeKind {
  StringRef name;
  RopeRule rule;
  /// The keys that the others do not have.
  ArrayRef<StringRef> keys = {};
};
constexpr RopeKind kRopes[] = {{"default", RopeRule::Default},
                               {"linear", RopeRule::Linear},
                               {"dynamic", RopeRule::Dynamic},
                               {"yarn", RopeRule::Yarn, kYarnRead},
                               {"longrope", RopeRule::LongRope, kLongRead},
                               {"llama3", RopeRule::Llama3}};
constexpr RopeKind kLatentRopes[] = {{"default", RopeRule::Default},
                                     {"yarn", RopeRule::Yarn, kYarnRead}};
/// Names of LongRoPE in families with the original context at the top level.
constexpr RopeKind kLongRopes[] = {{"default", RopeRule::Default},
                                   {"longrope", RopeRule::LongRope, kLongRead},
                                   {"su", RopeRule::LongRope, kLongRead},
                                   {"yarn", RopeRule::LongRope, kLongRead}};

/// Reads the number of rotated elements per head from the top level (older
/// files) or from "rope_parameters".
void readRotaryWidth(ConfigReader &reader, ModelConfig &config,
                     std::optional<double> byDefault = std::nullopt) {
  const json::Value *value = reader.find(kPartialKey);
  if (!value && !byDefault)
    return;
  double factor = reader.positive(kPartialKey, byDefault);
  auto width = static_cast<int64_t>(factor * double(config.headDim));
  if (factor > 1.0 || width < 2 || width % 2 != 0)
    reader.fail(kPartialKey,
                "expects at most 1, and an even number of a head's " +
                    Twine(config.headDim) + " elements, but got " +
                    printShort(value ? *value : json::Value(factor)));
  config.rotaryWidth = width < config.headDim ? width : 0;
}

/// Reads a number above 0, or 0 for none.
double readOptional(ConfigReader &reader, StringRef key) {
  const json::Value *value = reader.find(key);
  bool isOff = !value || value->getAsNumber() == 0.0;
  return isOff ? 0.0 : reader.positive(key);
}

/// Reads the keys of one rotary embedding, "rope_scaling" or "rope_parameters"
/// (newer files, which also have rope_theta there).
class RopeReader {
public:
  /// `context` is the original context without a key.
  RopeReader(const ModelFamily &family, ConfigReader &rope, int64_t context,
             ModelConfig &config, RotaryEmbedding &embedding)
      : family(family), rope(rope), context(context), config(config),
        embedding(embedding) {}

  void read() {
    const RopeKind &kind = readKind();
    constexpr StringRef partialKey[] = {kPartialKey};
    ArrayRef<StringRef> partial = partialKey;
    rope.checkKeys({kRopeRead, kind.keys,
                    family.has(kPartialKey) ? partial : ArrayRef<StringRef>()},
                   {}, "of rotary embeddings");
    embedding.theta = rope.positive("rope_theta", embedding.theta);
    readRotaryWidth(rope, config);
    switch (kind.rule) {
    case RopeRule::Default:
      return;
    case RopeRule::Linear:
    case RopeRule::Llama3:
      embedding.scaling = readScaling(kind.rule == RopeRule::Llama3);
      return;
    case RopeRule::Dynamic:
      embedding.dynamic = readDynamic();
      return;
    case RopeRule::Yarn:
      embedding.yarn = readYarn();
      return;
    case RopeRule::LongRope:
      embedding.longScaling = readLongScaling();
      return;
    }
  }

private:
  const RopeKind &readKind() {
    // Older files say "type".
    StringRef key =
        rope.find("type") && !rope.find("rope_type") ? "type" : "rope_type";
    ArrayRef<RopeKind> kinds = kRopes;
    if (config.latent)
      kinds = kLatentRopes;
    else if (family.has(kContextKey))
      kinds = kLongRopes;
    SmallVector<StringRef> names;
    for (const RopeKind &kind : kinds)
      names.push_back(kind.name);
    return kinds[rope.choice(key, names)];
  }

  /// Reads the positions that the model was trained on before stretching.
  int64_t readContext() {
    return family.has(kContextKey) ? context : rope.size(kContextKey, context);
  }

  /// Reads the factor of the context, which a null makes the quotient of both
  /// contexts.
  double readContextFactor(int64_t originalContext, bool isRequired) {
    if (rope.find("factor") || (isRequired && !rope.isNull("factor")))
      return rope.positive("factor");
    return double(config.maxPositions) / double(originalContext);
  }

  RopeScaling readScaling(bool byFrequency) {
    RopeScaling scaling;
    scaling.factor = rope.positive("factor");
    if (!byFrequency)
      return scaling;
    scaling.lowFreqFactor = rope.positive("low_freq_factor");
    scaling.highFreqFactor = rope.positive("high_freq_factor");
    scaling.originalContext = readContext();
    if (scaling.highFreqFactor <= scaling.lowFreqFactor)
      rope.fail("high_freq_factor",
                "expects more than low_freq_factor = " +
                    printShort(json::Value(scaling.lowFreqFactor)) +
                    " but got " +
                    printShort(json::Value(scaling.highFreqFactor)));
    return scaling;
  }

  DynamicScaling readDynamic() {
    // Theta grows with the exponent n / (n - 2).
    if (config.rotatedElements() <= 2)
      rope.fail("rope_type", "expects more than 2 rotated elements of a head "
                             "for \"dynamic\" but got " +
                                 Twine(config.rotatedElements()));
    return {rope.positive("factor"), config.maxPositions};
  }

  /// Returns YaRN's factor for the magnitude of attention (Peng et al. 2023,
  /// section 3.4), with DeepSeek's multiple of the logarithm.
  static double yarnMagnitude(double factor, double multiple) {
    return factor <= 1.0 ? 1.0 : 0.1 * multiple * std::log(factor) + 1.0;
  }

  YarnScaling readYarn() {
    YarnScaling yarn;
    yarn.originalContext = readContext();
    yarn.factor = readContextFactor(yarn.originalContext, /*isRequired=*/true);
    yarn.betaFast = rope.positive("beta_fast", yarn.betaFast);
    yarn.betaSlow = rope.positive("beta_slow", yarn.betaSlow);
    yarn.truncated = rope.boolean("truncate", yarn.truncated);
    // The published classes do not look for it there.
    if (!yarn.truncated && config.windowRope)
      rope.fail("truncate", "expects true of rotary embeddings by layer_types "
                            "but got false");
    double rotated = readOptional(rope, "mscale");
    double all = readOptional(rope, "mscale_all_dim");
    yarn.rotatedFactor = rotated != 0.0 && all != 0.0
                             ? yarnMagnitude(yarn.factor, rotated) /
                                   yarnMagnitude(yarn.factor, all)
                             : yarnMagnitude(yarn.factor, 1.0);
    yarn.rotatedFactor = rope.positive("attention_factor", yarn.rotatedFactor);
    // DeepSeek alone has a factor of all scores.
    if (all != 0.0 && config.latent)
      yarn.scoreFactor = std::pow(yarnMagnitude(yarn.factor, all), 2);
    return yarn;
  }

  LongScaling readLongScaling() {
    LongScaling scaling;
    int64_t pairs = config.rotatedElements() / 2;
    scaling.shortFactors = rope.positives("short_factor", pairs);
    scaling.longFactors = rope.positives("long_factor", pairs);
    scaling.originalContext = readContext();
    double factor =
        readContextFactor(scaling.originalContext, /*isRequired=*/false);
    if (factor > 1.0)
      scaling.rotatedFactor = std::sqrt(
          1 + std::log(factor) / std::log(double(scaling.originalContext)));
    scaling.rotatedFactor =
        rope.positive("attention_factor", scaling.rotatedFactor);
    return scaling;
  }

  const ModelFamily &family;
  ConfigReader &rope;
  int64_t context;
  ModelConfig &config;
  RotaryEmbedding &embedding;
};

/// Keys of rotary embeddings in older files.
struct OlderRope {
  ConfigReader &file;
  /// The keys of theta and of scaling; null if there are none.
  StringRef thetaKey;
  std::optional<ConfigReader> scaling;
  /// The original context without a key.
  int64_t context;

  /// Returns the number of `key` at the top level or in the scaling.
  std::optional<double> find(StringRef key) const {
    const json::Value *value = scaling ? scaling->find(key) : nullptr;
    value = value ? value : file.find(key == "rope_theta" ? thetaKey : key);
    return value ? value->getAsNumber() : std::nullopt;
  }
};

/// Reads a newer file's rotary embeddings, `rope`. Fails if older keys of the
/// same file contradict it.
void readNewerRope(const ModelFamily &family, const OlderRope &older,
                   ConfigReader &rope, ModelConfig &config,
                   RotaryEmbedding &embedding) {
  RotaryEmbedding before = embedding;
  int64_t widthBefore = config.rotaryWidth;
  embedding = RotaryEmbedding();
  embedding.theta = before.theta;
  RopeReader(family, rope, older.context, config, embedding).read();
  auto expectSame = [&](StringRef key, StringRef olderKey, bool isSame) {
    if (!isSame)
      rope.fail(key, "expects what " + olderKey +
                         " says, or only one of both, but they differ");
  };
  expectSame("rope_theta", older.thetaKey,
             !older.find("rope_theta") || !rope.find("rope_theta") ||
                 before.theta == embedding.theta);
  expectSame(kPartialKey, "another partial_rotary_factor",
             !older.find(kPartialKey) || widthBefore == config.rotaryWidth);
  expectSame("rope_type", "rope_scaling",
             !older.scaling || before.isStretchedLike(embedding));
}

} // namespace

/// Reads the rotary embeddings of a config. Newer files have those of window
/// layers beside the others in "rope_parameters", by the type of layer.
void tessera::readRopes(const ModelFamily &family, ConfigReader &reader,
                        ModelConfig &config) {
  // Prices need the number of rotated elements, and no frequencies.
  if (reader.use == ConfigUse::Price)
    return;
  config.rope.theta = reader.positive("rope_theta", config.rope.theta);
  if (family.has(kPartialKey))
    readRotaryWidth(reader, config, family.rotaryFactor);
  int64_t context = family.has(kContextKey)
                        ? reader.size(kContextKey, kDefaultContext)
                        : config.maxPositions;
  OlderRope older{reader, "rope_theta", reader.nested("rope_scaling"), context};
  if (older.scaling)
    RopeReader(family, *older.scaling, context, config, config.rope).read();
  std::optional<ConfigReader> ropes = reader.nested("rope_parameters");
  if (!config.windowRope) {
    if (ropes)
      readNewerRope(family, older, *ropes, config, config.rope);
    return;
  }
  OlderRope window{reader, "rope_local_base_freq", std::nullopt, context};
  config.windowRope->theta =
      reader.positive(window.thetaKey, config.windowRope->theta);
  if (!ropes)
    return;
  ropes->checkKeys({kLayerTypes}, {}, "of rotary embeddings by layer_types");
  RotaryEmbedding *embeddings[] = {&config.rope, &*config.windowRope};
  const OlderRope *known[] = {&older, &window};
  for (auto [type, embedding, said] : llvm::zip(kLayerTypes, embeddings, known))
    if (std::optional<ConfigReader> rope = ropes->nested(type))
      readNewerRope(family, *said, *rope, config, *embedding);
}

bool RopeScaling::operator==(const RopeScaling &other) const {
  return factor == other.factor && lowFreqFactor == other.lowFreqFactor &&
         highFreqFactor == other.highFreqFactor &&
         originalContext == other.originalContext;
}

bool YarnScaling::operator==(const YarnScaling &other) const {
  auto fields = [](const YarnScaling &y) {
    return std::tie(y.factor, y.betaFast, y.betaSlow, y.truncated,
                    y.originalContext, y.rotatedFactor, y.scoreFactor);
  };
  return fields(*this) == fields(other);
}

bool LongScaling::operator==(const LongScaling &other) const {
  auto fields = [](const LongScaling &l) {
    return std::tie(l.shortFactors, l.longFactors, l.originalContext,
                    l.rotatedFactor);
  };
  return fields(*this) == fields(other);
}

bool DynamicScaling::operator==(const DynamicScaling &other) const {
  return factor == other.factor && originalContext == other.originalContext;
}

bool RotaryEmbedding::isStretchedLike(const RotaryEmbedding &other) const {
  auto fields = [](const RotaryEmbedding &r) {
    return std::tie(r.scaling, r.yarn, r.longScaling, r.dynamic);
  };
  return fields(*this) == fields(other);
}

bool RotaryEmbedding::operator==(const RotaryEmbedding &other) const {
  return theta == other.theta && isStretchedLike(other);
}

double RotaryEmbedding::rotatedFactor() const {
  if (yarn)
    return yarn->rotatedFactor;
  return longScaling ? longScaling->rotatedFactor : 1.0;
}

/// Multiplies frequencies by YaRN's factors.
static void stretchByYarn(const YarnScaling &yarn, double theta,
                          std::vector<double> &frequencies) {
  double width = 2 * double(frequencies.size());
  // The index of the pair that makes so many turns in the original context.
  auto indexOf = [&](double turns) {
    return width * std::log(double(yarn.originalContext) / (turns * 2 * M_PI)) /
           (2 * std::log(theta));
  };
  double first = indexOf(yarn.betaFast), last = indexOf(yarn.betaSlow);
  if (yarn.truncated) {
    first = std::floor(first);
    last = std::ceil(last);
  }
  first = std::max(first, 0.0);
  last = std::min(last, width - 1);
  // The published code keeps the denominator from 0 so.
  last += first == last ? 0.001 : 0.0;
  for (auto [i, frequency] : llvm::enumerate(frequencies)) {
    double stretched =
        std::clamp((double(i) - first) / (last - first), 0.0, 1.0);
    frequency *= stretched / yarn.factor + (1.0 - stretched);
  }
}

std::vector<double> RotaryEmbedding::listFrequencies(int64_t width,
                                                     int64_t positions) const {
  assert(!scaling && "expects frequencies that a list says, or none");
  double base = theta, n = double(width);
  if (dynamic && positions > dynamic->originalContext)
    base *= std::pow(dynamic->factor * double(positions) /
                             double(dynamic->originalContext) -
                         (dynamic->factor - 1),
                     n / (n - 2));
  std::vector<double> frequencies(width / 2);
  for (auto [i, frequency] : llvm::enumerate(frequencies))
    frequency = std::pow(base, -2.0 * double(i) / n);
  if (yarn)
    stretchByYarn(*yarn, base, frequencies);
  if (longScaling) {
    const std::vector<double> &factors =
        positions > longScaling->originalContext ? longScaling->longFactors
                                                 : longScaling->shortFactors;
    for (auto [frequency, factor] : llvm::zip_equal(frequencies, factors))
      frequency /= factor;
  }
  return frequencies;
}
