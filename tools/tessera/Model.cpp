//===- Model.cpp - tessera model ------------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options, the summary on stderr, and the graph on a file or stdout. lib/Import
// builds the model.
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "tessera/Import/ModelBuilder.h"
#include "tessera/Support/Share.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tessera;
using llvm::StringRef;

namespace {

constexpr OptionSpec kOptions[] = {
    {"--batch", "N", "sequences in a batch (default 1)"},
    {"--seq", "N",
     "tokens in a sequence (default: the config's n_positions or\n"
     "max_position_embeddings)"},
    choice("f32|bf16|f16",
           {"--dtype", "TYPE",
            "type of parameters and activations: f32 (default), bf16, f16"}),
    {"--layers", "N", "build N layers instead of the config's number"},
    {"--train", "",
     "take labels, return the loss (mean, sum, and the number\n"
     "of labels) instead of logits"},
    {"--eod", "ID",
     "the token that ends a document: a token sees its own\n"
     "document alone, and predicts none of the next"},
    {"--aux-loss", "A",
     "add A times the balance loss of each router, of each\n"
     "sequence, to what --train minimizes (default 0)"},
    {"--z-loss", "C",
     "add C times each token's squared logarithm of a router's\n"
     "sum of exponentials (default 0)"},
    {"--mtp-weight", "W",
     "train the config's prediction modules too: their losses,\n"
     "on labels.1, ..., count W (default 0: the graph has none)"},
    {"--capacity", "F",
     "drop an expert's choices of a sequence beyond F times an\n"
     "even share, rounded up, those of the lowest score first"},
    {"--ignore-key", "LIST",
     "keys of the config, separated by commas, that would be an\n"
     "error since they are not known: they change nothing"},
    {"--params-only", "",
     "print the number of parameters and stop: no graph is built"},
    {"--quiet", "", "no summary on stderr"},
    {"-o", "FILE", "write the graph there (default: stdout)",
     /*isOutput=*/true},
};

constexpr CommandSpec kCommand = {
    "model",
    "CONFIG.json [options]",
    "Builds the forward graph of a model from its Hugging Face config.json.",
    "CONFIG.json is a file as it is published, or a name of share/models, as\n"
    "gpt2; model_type is gpt2, llama, qwen2, qwen3, mistral, phi3, gemma2,\n"
    "gemma3_text, olmo2, granite, cohere, stablelm, starcoder2, glm4,\n"
    "mixtral, qwen3_moe, deepseek_v2 or deepseek_v3. The graph is MLIR: a\n"
    "function @forward on tensors of static global shape, of nn and dialects\n"
    "of MLIR. Its arguments are tokens (i32\n"
    "[batch, seq]), with --train also labels (the same; -100 does not count),\n"
    "with --eod the starts of documents (the same), then every parameter "
    "under\n"
    "its lasting name, such as blocks.3.attn.wq. It says nothing of devices:\n"
    "tessera compile does that. Dropout is left out.",
    kOptions,
    "  tessera model gpt2 --batch 4 --seq 256 -o gpt2.mlir\n"
    "  tessera model llama3-8b --seq 4096 --dtype bf16 --layers 2 --train\n"
    "  tessera model llama3-405b --params-only",
    Section::None,
    "",
    /*choices=*/"",
    /*shared=*/"models"};

/// Reads a number of an option, none if it is not given.
llvm::Expected<std::optional<double>> readNumber(const ParsedOptions &parsed,
                                                 StringRef name) {
  double number = 0.0;
  if (!parsed.has(name))
    return std::optional<double>();
  if (parsed.get(name).getAsDouble(number))
    return llvm::createStringError(name + " expects a number but got '" +
                                   parsed.get(name) + "'");
  return number;
}

/// Reads the options, after the config: the config has the default of --seq.
llvm::Expected<ModelOptions> readOptions(const ParsedOptions &parsed,
                                         const ModelConfig &config) {
  ModelOptions options;
  auto batch = parsed.getInteger("--batch", 1);
  if (!batch)
    return batch.takeError();
  auto seq = parsed.getInteger("--seq", 1);
  if (!seq)
    return seq.takeError();
  auto layers = parsed.getInteger("--layers", 1);
  if (!layers)
    return layers.takeError();
  auto eod = parsed.getInteger("--eod", 0);
  if (!eod)
    return eod.takeError();
  auto dtype = parsed.getChoice("--dtype", "f32");
  if (!dtype)
    return dtype.takeError();
  options.batch = batch->value_or(1);
  options.seq = seq->value_or(config.maxPositions);
  options.layers = *layers;
  constexpr ModelDType kDTypes[] = {ModelDType::F32, ModelDType::BF16,
                                    ModelDType::F16};
  options.dtype = kDTypes[*dtype];
  options.train = parsed.has("--train");
  auto auxLoss = readNumber(parsed, "--aux-loss");
  if (!auxLoss)
    return auxLoss.takeError();
  auto zLoss = readNumber(parsed, "--z-loss");
  if (!zLoss)
    return zLoss.takeError();
  auto capacity = readNumber(parsed, "--capacity");
  if (!capacity)
    return capacity.takeError();
  auto predictionWeight = readNumber(parsed, "--mtp-weight");
  if (!predictionWeight)
    return predictionWeight.takeError();
  options.predictionWeight = predictionWeight->value_or(0.0);
  options.auxLoss = auxLoss->value_or(0.0);
  options.zLoss = zLoss->value_or(0.0);
  options.capacity = *capacity;
  options.eod = *eod;
  return options;
}

/// Formats bytes as "497.8 MB" (10^6).
std::string readableBytes(double bytes) {
  constexpr StringRef kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  size_t unit = 0;
  for (; bytes >= 1000.0 && unit + 1 < std::size(kUnits); ++unit)
    bytes /= 1000.0;
  return llvm::formatv("{0:f1} {1}", bytes, kUnits[unit]);
}

/// Prints the summary, one screen. `config` has the number of layers to build,
/// `layers` is the number in the file.
void printSummary(const ModelConfig &config, const ModelOptions &options,
                  int64_t layers, llvm::raw_ostream &os) {
  auto row = [&](StringRef name, const llvm::Twine &text) {
    os << llvm::formatv("{0,-12} {1}\n", name, text.str());
  };
  int64_t parameters = countParameters(config);
  StringRef dtype = options.dtype == ModelDType::F32    ? "f32"
                    : options.dtype == ModelDType::BF16 ? "bf16"
                                                        : "f16";
  int64_t bytes = options.dtype == ModelDType::F32 ? 4 : 2;

  row("model", config.name + " (" + config.family + ")");
  row("layers", withSeparators(config.layers) +
                    (config.layers == layers
                         ? ""
                         : " (" + withSeparators(layers) + " in the config)"));
  row("width",
      withSeparators(config.hidden) + ", ffn " + withSeparators(config.ffn));
  row("heads",
      withSeparators(config.heads) + " of width " +
          withSeparators(config.headDim) +
          (config.kvHeads == config.heads
               ? ""
               : ", key/value heads " + withSeparators(config.kvHeads)));
  row("vocabulary",
      withSeparators(config.vocab) + (config.tiedHead ? ", tied head" : ""));
  row("parameters", withSeparators(parameters) + " (" + dtype + ", " +
                        readableBytes(double(parameters) * bytes) + ")");
  row("batch", withSeparators(options.batch) + " x " +
                   withSeparators(options.seq) + " = " +
                   withSeparators(options.batch * options.seq) + " tokens");
  row("returns", options.train
                     ? "loss, f32"
                     : "logits, " + dtype + " [" + llvm::Twine(options.batch) +
                           ", " + llvm::Twine(options.seq) + ", " +
                           llvm::Twine(config.vocab) + "]");
}

} // namespace

const CommandSpec &tessera::getModelSpec() { return kCommand; }

int tessera::runModel(Arguments arguments) {
  if (std::optional<int> status = showHelp(kCommand, arguments))
    return *status;
  auto fail = [](auto &&error) {
    return reportError(kCommand.name, std::forward<decltype(error)>(error));
  };
  auto parsed = parseOptions(kCommand, arguments);
  if (!parsed)
    return fail(parsed.takeError());
  if (parsed->positional.size() != 1)
    return fail("expects one CONFIG.json but got " +
                llvm::Twine(parsed->positional.size()) +
                "; see tessera model --help");
  auto path = resolveShared("models", parsed->positional[0], "CONFIG.json");
  if (!path)
    return fail(path.takeError());
  auto config = readModelConfig(*path, parsed->getList("--ignore-key"));
  if (!config)
    return fail(config.takeError());
  auto options = readOptions(*parsed, *config);
  if (!options)
    return fail(options.takeError());
  ModelConfig effective = applyOptions(*config, *options);

  if (parsed->has("--params-only")) {
    if (llvm::Error error =
            writeOutput(parsed->get("-o"), [&](llvm::raw_ostream &os) {
              os << countParameters(effective) << "\n";
            }))
      return fail(std::move(error));
    return 0;
  }

  if (llvm::Error error = checkOptions(*config, *options))
    return fail(std::move(error));
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = buildModel(context, *config, *options);
  if (!module)
    return 1;
  if (llvm::Error error = writeOutput(
          parsed->get("-o"), [&](llvm::raw_ostream &os) { module->print(os); }))
    return fail(std::move(error));
  if (!parsed->has("--quiet"))
    printSummary(effective, *options, config->layers, llvm::errs());
  return 0;
}
