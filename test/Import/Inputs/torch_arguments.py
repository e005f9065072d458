"""Modules whose `make...` return example arguments in each form, and in forms that are errors."""

import numpy
import torch
from torch import nn

TOKENS, LABELS = torch.zeros(2, 6, dtype=torch.long), torch.zeros(2, 6, dtype=torch.long)


class Loss(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table, self.head = nn.Embedding(11, 8), nn.Linear(8, 11)

    def forward(self, tokens, labels, mode="sum"):
        logits = self.head(self.table(tokens))
        return nn.functional.cross_entropy(logits.view(-1, 11), labels.view(-1), reduction=mode)


class Pair(Loss):
    """Takes a tuple, or a dict, as one argument."""

    def forward(self, batch):
        tokens, labels = batch if isinstance(batch, (list, tuple)) else batch.values()
        return super().forward(tokens, labels)


def make_tuple():
    return Loss(), (TOKENS, LABELS)


def make_list():
    return [Loss(), [TOKENS, LABELS, "mean"]]


def make_dict():
    return Loss(), {"labels": LABELS, "tokens": TOKENS}


def make_mixed():
    return Loss(), (TOKENS, {"labels": LABELS})


def make_last():
    return Loss(), TOKENS, {"labels": LABELS}


def make_pair():
    return Pair(), (TOKENS, LABELS)


def make_batch():
    return Pair(), {"ids": TOKENS, "targets": LABELS}


def make_missing():
    return Loss(), TOKENS


def make_misspelt():
    return Loss(), {"tokens": TOKENS, "label": LABELS}


def make_arrays():
    return Loss(), numpy.zeros((2, 6), dtype=int), LABELS


def make_alone():
    return Loss()


def make_reversed():
    return TOKENS, Loss()
