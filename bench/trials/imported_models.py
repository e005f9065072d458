"""Imports models of transformers, timm and torchvision and compares them with torch.

imported_models.py [NAME...] [--build DIR] [--table TABLE] [--folder DIR] [--train]

Each model has a random config of width 64 and two layers. A decoder is imported with its loss, and
its gradients are compared (--check); others with their last state. The table vision has the models
of timm and torchvision of vision_models.py, for which requirements-vision.txt lists the packages;
it is run where it or its models are named. A graph that agrees is verified over dp=2,tp=2 and with
zero=3 over four devices. With `--train` decoders are compiled, and three steps of AdamW, in which
matrices decay by 0.1, must have torch's losses to 1e-5. Prints a line for each model: what agrees,
is proven and trained, and how much of the matrices stays whole under tp, or the line that refuses
it; then one JSON line for each table. Exit status 1 for a graph that is imported and does not
agree, is not proven, or trains otherwise, for an import that fails without a line of its own, and
for a refusal that is not in REFUSED, or is there and no longer happens."""

import json
import re
import subprocess
import sys
import warnings

import vision_models
from model_trials import (PROVEN, ROOT, find_tessera, import_model, is_bad, make_parser,
                          open_folder, prove, try_models)

# Sizes by the names that configs have; each config takes those that it knows.
SIZES = {
    "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 128, "vocab_size": 259, "head_dim": 16, "max_position_embeddings": 64,
    "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "ffn_dim": 128,
    "d_model": 64, "d_ff": 128, "d_kv": 16, "num_heads": 4, "num_layers": 2, "n_layers": 2,
    "n_heads": 4, "embedding_size": 32, "image_size": 32, "patch_size": 8,
    "max_target_positions": 64, "max_source_positions": 64, "n_positions": 64, "pad_token_id": 0,
    "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1, "attention_dropout": 0.0,
    "dropout": 0.0, "hidden_dropout": 0.0, "activation_dropout": 0.0,
}
# Decoders: the class with a loss, without "Config" the name of its config, and further sizes.
CAUSAL = "ForCausalLM"
DECODER = {"is_decoder": True, "add_cross_attention": False}
DECODERS = {
    "apertus": ("Apertus", CAUSAL, {}),
    "arcee": ("Arcee", CAUSAL, {}),
    "bart_decoder": ("Bart", CAUSAL, DECODER),
    "bert_decoder": ("Bert", "LMHeadModel", DECODER),
    "bert_generation": ("BertGeneration", "Decoder", DECODER),
    "biogpt": ("BioGpt", CAUSAL, {}),
    "blenderbot": ("Blenderbot", CAUSAL, DECODER),
    "blenderbot_small": ("BlenderbotSmall", CAUSAL, DECODER),
    "bloom": ("Bloom", CAUSAL, {}),
    "camembert": ("Camembert", CAUSAL, DECODER),
    "codegen": ("CodeGen", CAUSAL, {"rotary_dim": 8}),
    "cohere": ("Cohere", CAUSAL, {}),
    "cohere2": ("Cohere2", CAUSAL, {"sliding_window": 8}),
    "ctrl": ("CTRL", "LMHeadModel", {"dff": 128, "resid_pdrop": 0.0, "embd_pdrop": 0.0}),
    "cwm": ("Cwm", CAUSAL, {"sliding_window": 8}),
    "data2vec_text": ("Data2VecText", CAUSAL, DECODER),
    "deepseek_v2": ("DeepseekV2", CAUSAL, {
        "q_lora_rank": 16, "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8,
        "v_head_dim": 16, "num_key_value_heads": 4, "first_k_dense_replace": 2}),
    "deepseek_v2_experts": ("DeepseekV2", CAUSAL, {
        "q_lora_rank": 16, "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8,
        "v_head_dim": 16, "num_key_value_heads": 4, "first_k_dense_replace": 1,
        "n_routed_experts": 8, "num_experts_per_tok": 2, "n_shared_experts": 1, "n_group": 2,
        "topk_group": 1, "topk_method": "group_limited_greedy", "moe_intermediate_size": 32}),
    "diffllama": ("DiffLlama", CAUSAL, {}),
    "electra": ("Electra", CAUSAL, DECODER),
    "ernie": ("Ernie", CAUSAL, DECODER),
    "ernie4_5": ("Ernie4_5", CAUSAL, {}),
    "exaone4": ("Exaone4", CAUSAL, {"sliding_window": 8}),
    "falcon": ("Falcon", CAUSAL, {}),
    "gemma": ("Gemma", CAUSAL, {}),
    "gemma2": ("Gemma2", CAUSAL, {"sliding_window": 8}),
    "gemma3": ("Gemma3", CAUSAL, {"config": "Gemma3TextConfig", "sliding_window": 8}),
    "glm": ("Glm", CAUSAL, {}),
    "glm4": ("Glm4", CAUSAL, {}),
    "gpt1": ("OpenAIGPT", "LMHeadModel", {}),
    "gpt2": ("GPT2", "LMHeadModel", {}),
    "gpt_bigcode": ("GPTBigCode", CAUSAL, {}),
    "gpt_neo": ("GPTNeo", CAUSAL, {"attention_types": [[["global", "local"], 1]],
                                   "window_size": 8}),
    "gpt_neox": ("GPTNeoX", CAUSAL, {}),
    "gpt_neox_japanese": ("GPTNeoXJapanese", CAUSAL, {}),
    "gptj": ("GPTJ", CAUSAL, {"rotary_dim": 8}),
    "granite": ("Granite", CAUSAL, {}),
    "helium": ("Helium", CAUSAL, {}),
    "hunyuan": ("HunYuanDenseV1", CAUSAL, {}),
    "jais2": ("Jais2", CAUSAL, {}),
    "llama": ("Llama", CAUSAL, {}),
    "llama4": ("Llama4", CAUSAL, {"config": "Llama4TextConfig", "intermediate_size_mlp": 128,
                                  "num_local_experts": 4, "moe_layers": [1],
                                  "attention_chunk_size": 8}),
    "marian_decoder": ("Marian", CAUSAL, DECODER),
    "mbart_decoder": ("MBart", CAUSAL, DECODER),
    "megatron_bert": ("MegatronBert", CAUSAL, DECODER),
    "minicpm3": ("MiniCPM3", CAUSAL, {
        "num_key_value_heads": 4, "kv_lora_rank": 16, "q_lora_rank": 16, "qk_nope_head_dim": 8,
        "qk_rope_head_dim": 8, "v_head_dim": 16}),
    "ministral": ("Ministral", CAUSAL, {"sliding_window": 8}),
    "mistral": ("Mistral", CAUSAL, {"sliding_window": 8}),
    "modernbert_decoder": ("ModernBertDecoder", CAUSAL, {
        f"{name}_token_id": 0 for name in ("cls", "sep")}),
    "mpt": ("Mpt", CAUSAL, {"max_seq_len": 64}),
    "nanochat": ("NanoChat", CAUSAL, {}),
    "nemotron": ("Nemotron", CAUSAL, {}),
    "olmo": ("Olmo", CAUSAL, {}),
    "olmo2": ("Olmo2", CAUSAL, {}),
    "olmo3": ("Olmo3", CAUSAL, {"sliding_window": 8}),
    "opt": ("OPT", CAUSAL, {"word_embed_proj_dim": 64}),
    "pegasus_decoder": ("Pegasus", CAUSAL, DECODER),
    "persimmon": ("Persimmon", CAUSAL, {}),
    "phi": ("Phi", CAUSAL, {}),
    "phi3": ("Phi3", CAUSAL, {}),
    "qwen2": ("Qwen2", CAUSAL, {}),
    "qwen3": ("Qwen3", CAUSAL, {}),
    "rembert": ("RemBert", CAUSAL, {**DECODER, "input_embedding_size": 32,
                                    "output_embedding_size": 32}),
    "roberta": ("Roberta", CAUSAL, DECODER),
    "roformer": ("RoFormer", CAUSAL, DECODER),
    "seed_oss": ("SeedOss", CAUSAL, {}),
    "smollm3": ("SmolLM3", CAUSAL, {}),
    "stablelm": ("StableLm", CAUSAL, {"partial_rotary_factor": 0.25}),
    "starcoder2": ("Starcoder2", CAUSAL, {}),
    "vaultgemma": ("VaultGemma", CAUSAL, {"sliding_window": 8}),
    "xglm": ("XGLM", CAUSAL, {"attention_heads": 4}),
    "xlm_roberta_xl": ("XLMRobertaXL", CAUSAL, DECODER),
}
# Encoders, image and sound models, and encoders with decoders.
IMAGE, SOUND, PAIR = "pixel_values", "input_values", "pair"
IDS = "input_ids"
STAGES = {"num_stages": 4, "hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 1, 1],
          "patch_size": 4}
OTHERS = {
    "albert": ("Albert", IDS, {}),
    "bart": ("Bart", PAIR, {}),
    "beit": ("Beit", IMAGE, {"use_relative_position_bias": True}),
    "bert": ("Bert", IDS, {}),
    "canine": ("Canine", IDS, {"num_hash_buckets": 64, "local_transformer_stride": 8}),
    "clip_text": ("CLIPText", IDS, {}),
    "clip_vision": ("CLIPVision", IMAGE, {}),
    "convbert": ("ConvBert", IDS, {}),
    "convnext": ("ConvNext", IMAGE, STAGES),
    "convnextv2": ("ConvNextV2", IMAGE, STAGES),
    "data2vec_vision": ("Data2VecVision", IMAGE, {}),
    "deberta": ("Deberta", IDS, {}),
    "deberta_v2": ("DebertaV2", IDS, {"relative_attention": True, "pos_att_type": ["p2c", "c2p"],
                                      "position_buckets": 8}),
    "deit": ("DeiT", IMAGE, {}),
    "dinov2": ("Dinov2", IMAGE, {}),
    "dinov2_registers": ("Dinov2WithRegisters", IMAGE, {}),
    "distilbert": ("DistilBert", IDS, {"dim": 64, "hidden_dim": 128}),
    "electra": ("Electra", IDS, {}),
    "esm": ("Esm", IDS, {"position_embedding_type": "rotary"}),
    "fnet": ("FNet", IDS, {}),
    "funnel": ("Funnel", IDS, {"block_sizes": [1, 1], "num_decoder_layers": 1, "n_head": 4,
                               "d_head": 16, "d_inner": 128}),
    "hubert": ("Hubert", SOUND, {"num_conv_pos_embeddings": 16}),
    "ijepa": ("IJepa", IMAGE, {}),
    "layoutlm": ("LayoutLM", IDS, {}),
    "m2m_100": ("M2M100", PAIR, {}),
    "mobilebert": ("MobileBert", IDS, {"intra_bottleneck_size": 32, "true_hidden_size": 32}),
    "modernbert": ("ModernBert", IDS, {f"{name}_token_id": 0 for name in ("cls", "sep")}),
    "mpnet": ("MPNet", IDS, {}),
    "mt5": ("MT5", PAIR, {}),
    "pegasus": ("Pegasus", PAIR, {}),
    "poolformer": ("PoolFormer", IMAGE, {"hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 1, 1]}),
    "pvt": ("Pvt", IMAGE, {"depths": [1, 1, 1, 1], "hidden_sizes": [16, 32, 48, 64],
                           "num_attention_heads": [1, 1, 2, 4], "patch_sizes": [4, 2, 2, 2]}),
    "resnet": ("ResNet", IMAGE, {"embedding_size": 16, "hidden_sizes": [16, 32, 48, 64],
                                 "depths": [2, 2, 2, 2], "layer_type": "basic"}),
    "roberta": ("Roberta", IDS, {}),
    "roformer": ("RoFormer", IDS, {}),
    "segformer": ("Segformer", IMAGE, {
        "depths": [1, 1, 1, 1], "hidden_sizes": [16, 32, 48, 64], "decoder_hidden_size": 64,
        "num_attention_heads": [1, 1, 2, 4]}),
    "siglip_vision": ("SiglipVision", IMAGE, {}),
    "splinter": ("Splinter", IDS, {}),
    "squeezebert": ("SqueezeBert", IDS, {"embedding_size": 64}),
    "swin": ("Swin", IMAGE, {"embed_dim": 24, "depths": [2, 2], "num_heads": [2, 4],
                             "window_size": 4, "patch_size": 4}),
    "swinv2": ("Swinv2", IMAGE, {"embed_dim": 24, "depths": [2, 2], "num_heads": [2, 4],
                                 "window_size": 4, "patch_size": 4}),
    "t5": ("T5", PAIR, {"decoder_start_token_id": 0}),
    "t5_encoder": ("T5Encoder", IDS, {"config": "T5Config"}),
    "videomae": ("VideoMAE", IMAGE, {"num_frames": 4}),
    "vit": ("ViT", IMAGE, {}),
    "vit_msn": ("ViTMSN", IMAGE, {}),
    "wav2vec2": ("Wav2Vec2", SOUND, {"num_conv_pos_embeddings": 16}),
    "whisper": ("Whisper", "input_features", {"num_mel_bins": 16, "max_source_positions": 16}),
    "xlnet": ("XLNet", IDS, {"n_head": 4, "n_layer": 2, "d_inner": 128}),
    "yolos": ("Yolos", IMAGE, {"image_size": [32, 32], "num_detection_tokens": 8}),
}
# Models whose ops the importer refuses: a GELU with a gradient of its own.
REFUSED = {"bloom"}
TABLES = {"decoders": DECODERS, "others": OTHERS, "vision": vision_models.MODELS}
LOSS, STATE = "loss", "last_hidden_state"
STEPS, RATE, BETAS, EPSILON, DECAY, CLIP = 3, 1e-3, (0.9, 0.95), 1e-8, 0.1, 1.0
TEXT = ROOT / "LICENSE"


def make_config(name, sizes):
    """A config with those of SIZES that its class knows, and sizes of its own."""
    import transformers
    kind = getattr(transformers, name)
    known = kind()
    own = {key: value for key, value in sizes.items() if key != "config"}
    # A size may have two names.
    given = {kind.attribute_map.get(key, key) for key in own}
    taken = {key: value for key, value in SIZES.items()
             if hasattr(known, key) and kind.attribute_map.get(key, key) not in given
             and not isinstance(getattr(kind, key, None), property)}
    return kind(**taken, **own)


def make(name, is_decoder):
    """The module of a table's row and its example arguments."""
    import torch
    import transformers

    class Result(torch.nn.Module):
        def __init__(self, model, result):
            super().__init__()
            self.model, self.result = model, result

        def forward(self, **arguments):
            return getattr(self.model(**arguments), self.result)

    transformers.logging.set_verbosity_error()
    torch.manual_seed(0)
    ids = torch.zeros(2, 24, dtype=torch.long)
    kind, form, sizes = (DECODERS if is_decoder else OTHERS)[name]
    config = make_config(sizes.get("config", f"{kind}Config"), sizes)
    if is_decoder or form == PAIR:
        ending = form if is_decoder else "ForConditionalGeneration"
        model = getattr(transformers, kind + ending)(config).eval()
        return Result(model, LOSS), {"input_ids": ids, "labels": ids.clone()}
    model = getattr(transformers, kind + "Model")(config).eval()
    if form == SOUND:
        return Result(model, STATE), {form: torch.zeros(2, 2000)}
    if form == "input_features":
        return Result(model.encoder, STATE), {form: torch.zeros(2, 16, 32)}
    if form == IMAGE:
        shape = (2, 4, 3, 32, 32) if kind == "VideoMAE" else (2, 3, 32, 32)
        return Result(model, STATE), {form: torch.zeros(*shape)}
    return Result(model, STATE), {form: ids}


for _table, _is_decoder in ((DECODERS, True), (OTHERS, False)):
    for _name in _table:
        globals()[f"make_{'decoder' if _is_decoder else 'other'}_{_name}"] = \
            lambda name=_name, is_decoder=_is_decoder: make(name, is_decoder)


def import_row(name, table, graph):
    """The outcome of a row's model."""
    source = f"{__file__}:make_{'decoder' if table == 'decoders' else 'other'}_{name}"
    if table == "vision":
        source = f"{vision_models.__file__}:make_{name}"
    options = ["--tokens", "input_ids", "--label-shift", "0", "--weights-out",
               str(graph.with_suffix(".safetensors"))] if table == "decoders" else []
    return import_model(source, graph, options)


def train_in_torch(name):
    """torch's losses: matrices have weight decay, norms and biases do not."""
    import torch
    model, examples = make(name, is_decoder=True)
    parameters = [p for p in model.parameters() if p.requires_grad]
    groups = [{"params": [p for p in parameters if p.dim() > 1], "weight_decay": DECAY},
              {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=BETAS, eps=EPSILON)
    text, shape, losses = TEXT.read_bytes(), examples["input_ids"].shape, []
    for step in range(STEPS):
        tokens = torch.tensor(list(text[step * shape.numel():][:shape.numel()])).view(shape)
        optimizer.zero_grad()
        loss = model(input_ids=tokens, labels=tokens)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, CLIP)
        optimizer.step()
        losses.append(loss.item())
    return losses


def train(name, graph, tessera):
    """What is different from torch in three steps; none if nothing is."""
    program = graph.with_suffix(".program")
    for command in ([tessera, "compile", graph, "--lr", RATE, "--weight-decay", DECAY, "--clip",
                     CLIP, "--quiet", "-o", program],
                    [program, "--weights", graph.with_suffix(".safetensors"), "--data", TEXT,
                     "--steps", STEPS, "--log=jsonl"]):
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                              check=False)
        if done.returncode:
            return (done.stderr or done.stdout).strip().splitlines()[-1]
    program.unlink()
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    ours = [event["loss"] for event in events if event.get("event") == "step"]
    theirs = train_in_torch(name)
    if len(ours) != STEPS or any(not abs(a - b) <= 1e-5 * b for a, b in zip(ours, theirs)):
        return f"losses are {ours} where torch's are {theirs}"
    return None


def judge(name, graph, outcome, tessera, trains):
    """The failures of an imported model, and its line with the share of its matrices that stays
    whole under tp."""
    failures = prove(tessera, graph)
    line = f"agrees, {PROVEN}"
    if trains and not failures:
        failures = [found for found in [train(name, graph, tessera)] if found]
        line += ", trains as torch"
    found = re.search(r"([\d.]+ %) of the elements of matrices stay whole.* in (\S+)",
                      outcome.notes)
    return failures, line + (f", {found[1]} whole ({found[2]}, ...)" if found else "")


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--table", choices=[*TABLES])
    parser.add_argument("--train", action="store_true", help="train decoders")
    options = parser.parse_args()
    tessera = find_tessera(options, set().union(*TABLES.values()))
    warnings.simplefilter("ignore")
    fails = False
    with open_folder(options) as folder:
        for table, models in TABLES.items():
            names = [name for name in options.names or models if name in models]
            is_asked = table != "vision" or options.names
            if not names or not (options.table == table or options.table is None and is_asked):
                continue
            trains = options.train and table == "decoders"
            counts = try_models(
                names, folder, REFUSED,
                lambda name, graph, table=table: import_row(name, table, graph),
                lambda name, graph, outcome, trains=trains: judge(name, graph, outcome, tessera,
                                                                  trains))
            print(json.dumps({"table": table, "models": len(names), **counts}), flush=True)
            fails |= is_bad(counts)
    return 1 if fails else 0


if __name__ == "__main__":
    sys.exit(main())
