"""A training step of GPT-2 with torch.distributed.pipelining. pipeline.py starts it on two
processes:

    pipeline_peer.py CONFIG.json BATCH SEQ MICRO_BATCHES BLOCKS_OF_FIRST STEPS

Runs Schedule1F1B over gloo, then AdamW. The head has its own weights, since the last stage cannot
share them with the first. Prints the seconds of each step of both processes, from one barrier to
the next, as JSON."""

import json
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        batch, seq, d = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, seq, 3, self.heads, d // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(o.transpose(1, 2).reshape(batch, seq, d))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Embedding(nn.Module):
    def __init__(self, vocab, positions, d):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab, d), nn.Embedding(positions, d)

    def forward(self, ids):
        return self.tokens(ids) + self.positions.weight[:ids.shape[1]]


def make_stage(config, rank, blocks_of_first):
    d, vocab = config["n_embd"], config["vocab_size"]
    blocks = blocks_of_first if rank == 0 else config["n_layer"] - blocks_of_first
    layers = [Block(d, config["n_head"]) for _ in range(blocks)]
    if rank == 0:
        return nn.Sequential(Embedding(vocab, config["n_positions"], d), *layers)
    return nn.Sequential(*layers, nn.LayerNorm(d), nn.Linear(d, vocab, bias=False))


def main():
    with open(sys.argv[1]) as file:
        config = json.load(file)
    batch, seq, micro_batches, blocks_of_first, steps = map(int, sys.argv[2:7])
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rank = dist.get_rank()
    module = make_stage(config, rank, blocks_of_first)
    optimizer = torch.optim.AdamW(module.parameters(), fused=True)
    tokens = torch.randint(0, config["vocab_size"], (batch, seq))
    stage = PipelineStage(module, rank, 2, torch.device("cpu"))
    schedule = Schedule1F1B(stage, micro_batches,
                            loss_fn=lambda x, y: F.cross_entropy(x.flatten(0, 1), y.flatten()))

    def step():
        optimizer.zero_grad()
        if rank == 0:
            schedule.step(tokens)
        else:
            schedule.step(target=tokens)
        optimizer.step()
        dist.barrier()

    step()
    seconds = []
    for _ in range(steps):
        begin = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - begin)
    if rank == 0:
        print(json.dumps({"version": torch.__version__, "seconds": seconds}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
