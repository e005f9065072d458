"""Small models of architectures of transformers; `make_NAME` returns a module and its example
arguments. As a program, python torch_architectures.py COMPILER decoders|others|convolutions:
imports each with --check and partitions it."""

import pathlib
import re
import subprocess
import sys
import tempfile

import torch
import transformers

IDS = torch.zeros(2, 24, dtype=torch.long)
SIZES = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
         "intermediate_size": 96, "vocab_size": 259}
GROUPS = {**SIZES, "num_key_value_heads": 2}
HEADS = {**GROUPS, "head_dim": 12, "pad_token_id": 0}
# Class and sizes: decoders return logits, encoders their last state.
DECODERS = {
    "mistral": ("Mistral", {**GROUPS, "sliding_window": 8}),
    "qwen2": ("Qwen2", GROUPS),
    "qwen3": ("Qwen3", {**GROUPS, "head_dim": 12}),
    "gemma": ("Gemma", HEADS),
    "gemma2": ("Gemma2", HEADS),
    "phi": ("Phi", SIZES),
    "phi3": ("Phi3", {**GROUPS, "pad_token_id": 0}),
    "gpt_neox": ("GPTNeoX", SIZES),
    "opt": ("OPT", {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
                    "ffn_dim": 96, "vocab_size": 259, "word_embed_proj_dim": 48,
                    "max_position_embeddings": 64}),
    # Several masks, and a window in every second layer.
    "gpt_neo": ("GPTNeo", {"hidden_size": 48, "num_layers": 2, "num_heads": 4, "vocab_size": 259,
                           "attention_types": [[["global", "local"], 1]], "window_size": 8,
                           "max_position_embeddings": 64}),
    "falcon": ("Falcon", {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
                          "vocab_size": 259}),
    # Queries, key and value of each group are adjacent.
    "falcon_groups": ("Falcon", {"hidden_size": 48, "num_hidden_layers": 2,
                                 "num_attention_heads": 4, "num_kv_heads": 2, "alibi": False,
                                 "new_decoder_architecture": True, "vocab_size": 259}),
    "bloom": ("Bloom", {"hidden_size": 48, "n_layer": 2, "n_head": 4, "vocab_size": 259}),
    # Batch and heads are merged in matmuls, and the lowest number bounds the scores.
    "xglm": ("XGLM", {"d_model": 48, "num_layers": 2, "attention_heads": 4, "ffn_dim": 96,
                      "vocab_size": 259, "max_position_embeddings": 64}),
    # Latent keys whose parts are written next to each other.
    "minicpm3": ("MiniCPM3", {**SIZES, "num_key_value_heads": 4, "kv_lora_rank": 16,
                              "q_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 12,
                              "v_head_dim": 12, "head_dim": 12, "pad_token_id": 0}),
    # Rotary positions of neighbours in a part of a head, and in a model with a fused MLP.
    "gptj": ("GPTJ", {"n_embd": 48, "n_layer": 2, "n_head": 4, "rotary_dim": 8, "vocab_size": 259,
                      "n_positions": 64, "bos_token_id": 0, "eos_token_id": 0}),
    "glm": ("Glm", {**GROUPS, "head_dim": 12, "pad_token_id": 0}),
}
ENCODERS = {
    "bert": ("BertModel", "BertConfig", SIZES),
    "roberta": ("RobertaModel", "RobertaConfig", SIZES),
    "distilbert": ("DistilBertModel", "DistilBertConfig",
                   {"dim": 48, "n_layers": 2, "n_heads": 4, "hidden_dim": 96, "vocab_size": 259}),
    "modernbert": ("ModernBertModel", "ModernBertConfig",
                   {**SIZES, **{f"{name}_token_id": 0 for name in
                                ("pad", "bos", "eos", "cls", "sep")}}),
    # A narrow table, and one layer's weights for all layers.
    "albert": ("AlbertModel", "AlbertConfig", {**SIZES, "embedding_size": 24}),
    # The sequence before the batch, and scores by distances.
    "xlnet": ("XLNetModel", "XLNetConfig", {"d_model": 48, "n_layer": 2, "n_head": 4,
                                            "d_inner": 96, "vocab_size": 259}),
    "t5": ("T5EncoderModel", "T5Config", {"d_model": 48, "num_layers": 2, "num_heads": 4,
                                          "d_kv": 12, "d_ff": 96, "vocab_size": 259}),
}
PATCHES = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
           "intermediate_size": 96, "image_size": 32, "patch_size": 8}
IMAGES = {"clip_vision": ("CLIPVisionModel", "CLIPVisionConfig", PATCHES),
          "vit": ("ViTModel", "ViTConfig", PATCHES),
          "siglip": ("SiglipVisionModel", "SiglipVisionConfig", PATCHES),
          "dinov2": ("Dinov2Model", "Dinov2Config", PATCHES)}

# Encoders with decoders: losses that shift the labels to the right themselves.
PAIRS = {
    "bart": ("Bart", {"d_model": 48, "encoder_layers": 2, "decoder_layers": 2,
                      "encoder_attention_heads": 4, "decoder_attention_heads": 4,
                      "encoder_ffn_dim": 96, "decoder_ffn_dim": 96, "vocab_size": 259,
                      "max_position_embeddings": 64, "dropout": 0.0, "use_cache": False}),
    "t5_pairs": ("T5", {"d_model": 48, "num_layers": 2, "num_heads": 4, "d_kv": 12, "d_ff": 96,
                        "vocab_size": 259, "decoder_start_token_id": 0, "dropout_rate": 0.0,
                        "use_cache": False}),
}
STAGES = {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1], "num_labels": 5}
# Losses of images and sounds: class, sizes, the name of the input and its shape, and the labels.
CONVOLUTIONS = {
    # ResNet-18, with batch norms by fixed moments.
    "resnet": ("ResNetForImageClassification", "ResNetConfig",
               {**STAGES, "embedding_size": 8, "depths": [2, 2, 2, 2], "layer_type": "basic"},
               "pixel_values", (2, 3, 64, 64), (2,)),
    "convnext": ("ConvNextForImageClassification", "ConvNextConfig", STAGES, "pixel_values",
                 (2, 3, 64, 64), (2,)),
    "whisper": ("WhisperForConditionalGeneration", "WhisperConfig",
                {**PAIRS["bart"][1], "num_mel_bins": 8, "max_source_positions": 16,
                 "max_target_positions": 16, "pad_token_id": 0, "bos_token_id": 1,
                 "eos_token_id": 2, "decoder_start_token_id": 1},
                "input_features", (2, 8, 32), (2, 10)),
    # Weights with a norm of their own, and a group norm.
    "wav2vec2": ("Wav2Vec2ForSequenceClassification", "Wav2Vec2Config",
                 {**SIZES, "conv_dim": [12, 12, 12], "conv_kernel": [10, 3, 2],
                  "conv_stride": [5, 2, 2], "num_feat_extract_layers": 3,
                  "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4,
                  "classifier_proj_size": 16, "num_labels": 5},
                 "input_values", (2, 600), (2,)),
}


class Loss(torch.nn.Module):
    def __init__(self, model, name="input_ids"):
        super().__init__()
        self.model, self.name = model, name

    def forward(self, x, labels):
        return self.model(**{self.name: x}, labels=labels).loss


class Result(torch.nn.Module):
    def __init__(self, model, name, options):
        super().__init__()
        self.model, self.name, self.options = model, name, options

    def forward(self, x):
        return getattr(self.model(x, **self.options), self.name)


def make(name):
    torch.manual_seed(0)
    if name in PAIRS:
        kind, sizes = PAIRS[name]
        config = getattr(transformers, f"{kind}Config")(**sizes)
        model = getattr(transformers, f"{kind}ForConditionalGeneration")(config)
        return Loss(model), IDS[:, :12].clone(), IDS[:, :10].clone()
    if name in CONVOLUTIONS:
        kind, config, sizes, given, shape, labels = CONVOLUTIONS[name]
        model = getattr(transformers, kind)(getattr(transformers, config)(**sizes)).eval()
        return Loss(model, given), torch.zeros(shape), torch.zeros(labels, dtype=torch.long)
    if name in DECODERS:
        kind, sizes = DECODERS[name]
        classes, result, options = (f"{kind}ForCausalLM", f"{kind}Config"), "logits", \
            {"use_cache": False}
    else:
        *classes, sizes = {**ENCODERS, **IMAGES}[name]
        result, options = "last_hidden_state", {}
    model = getattr(transformers, classes[0])(getattr(transformers, classes[1])(**sizes)).eval()
    example = torch.zeros(2, 3, 32, 32) if name in IMAGES else IDS
    return Result(model, result, options), example


for _name in [*DECODERS, *ENCODERS, *IMAGES, *PAIRS, *CONVOLUTIONS]:
    globals()[f"make_{_name}"] = lambda name=_name: make(name)


def main(compiler, group):
    """Prints a line for each model; exit status 1 if one has an unexpected result."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "python"))
    from tessera import __main__ as command, errors
    good = True
    names = {"decoders": DECODERS, "convolutions": CONVOLUTIONS,
             "others": [*ENCODERS, *IMAGES, *PAIRS]}[group]
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            graph = f"{folder}/{name}.mlir"
            options = command.make_parser().parse_args(
                ["import", f"{__file__}:make_{name}", "-o", graph, "--check"])
            print(name, end=": ", flush=True)
            try:
                good &= command.run_import(options) == 0
            except errors.ImportFailure as error:
                print(str(error).rsplit(": ", 1)[1])
                continue
            verify = subprocess.run([compiler, "verify", graph, "--mesh", "dp=2,tp=2", "--strategy",
                                     "dp,tp"], capture_output=True, text=True, check=False)
            good &= verify.returncode == 0
            print(verify.stdout.strip().splitlines()[-1], verify.stderr, flush=True)
            text = pathlib.Path(graph).read_text()
            print("nn.attention:", text.count("nn.attention "), "shapes:",
                  text.count("tensor.collapse_shape") + text.count("tensor.expand_shape"),
                  "all-reduces:", *re.findall(r"all_reduce +(\d+)", verify.stdout))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
