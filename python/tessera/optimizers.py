"""The optimizers of a training step, as options of `tessera compile`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Union

from .errors import CompileError


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings that torch's optimizers lack, by name alone."""
    #: The largest norm of all gradients; 0: any.
    clip: float = 0.0
    #: The learning rate after the warm-up: "constant" or "cosine".
    lr_schedule: str = "constant"
    #: Steps until the full learning rate.
    warmup: int = 0
    #: The step at which cosine reaches `min_lr`.
    total_steps: int = 0
    min_lr: float = 0.0
    #: "PATTERN:lr=FACTOR:decay=X", separated by ';': what parameters of such names are trained
    #: with. The first match holds.
    groups: Optional[str] = None


@dataclass(frozen=True)
class AdamW(Settings):
    """torch.optim.AdamW with its names and defaults: all parameters decay, and no gradient is
    clipped."""
    lr: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 1e-2

    def arguments(self) -> list[str]:
        """Options of the compiler."""
        betas = tuple(self.betas)
        if len(betas) != 2:
            raise CompileError(f"betas: expects two numbers but got {len(betas)}")
        return ["--optimizer", "adamw", *write("--beta1", betas[0]), *write("--beta2", betas[1]),
                *write("--eps", self.eps), *common_arguments(self)]


@dataclass(frozen=True)
class SGD(Settings):
    """torch.optim.SGD with its names and defaults; no gradient is clipped."""
    lr: float = 1e-3
    momentum: float = 0.0
    weight_decay: float = 0.0

    def arguments(self) -> list[str]:
        """Options of the compiler."""
        return ["--optimizer", "sgd", *write("--momentum", self.momentum),
                *common_arguments(self)]


Optimizer = Union[AdamW, SGD]


def common_arguments(optimizer: Optimizer) -> list[str]:
    # The compiler's own decay is of matrices alone; a group's is of all that match.
    groups = [group if ":decay=" in group else f"{group}:decay={number(optimizer.weight_decay)}"
              for group in (optimizer.groups or "").split(";") if group]
    groups.append(f"*:decay={number(optimizer.weight_decay)}")
    return [*write("--lr", optimizer.lr), *write("--weight-decay", optimizer.weight_decay),
            *write("--clip", optimizer.clip), "--lr-schedule", str(optimizer.lr_schedule),
            *write("--warmup", optimizer.warmup), *write("--total-steps", optimizer.total_steps),
            *write("--min-lr", optimizer.min_lr), "--groups", ";".join(groups)]


def write(option: str, value: float) -> list[str]:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise CompileError(f"{option.lstrip('-').replace('-', '_')}: expects a number but got "
                           f"{type(value).__name__}")
    return [option, number(value)]


def number(value: float) -> str:
    return repr(value)
