"""Modules that compute in complex numbers, and an exported program. `make...` return a module and
its example arguments, `refuse...` those of modules that cannot be imported; as a program, exports
into a folder."""

import sys

import torch
from torch import fft, nn
from torch_op_models import BETWEEN, make_each

# Two points with parts of both signs, zeros among them, in the last dimension.
POINTS = torch.tensor([[[0.3, -1.7], [2.4, 0.0], [0.0, 0.0]],
                       [[-2.6, 1.3], [0.0, -4.2], [3.8, 0.6]]])
# Sizes at which squares overflow or vanish.
FAR = torch.tensor([[[3e25, -4e25], [5e-30, 0.0]], [[0.0, 0.0], [1e20, 2e-20]]])
TURNS = torch.polar(torch.ones(3), torch.tensor([0.0, 1.0, 2.5]))


def pairs_of(y):
    return torch.view_as_real(y.resolve_conj())


def of_points(function):
    """A function of complex numbers as one of pairs."""
    def real(x, *more):
        y = function(torch.view_as_complex(x), *more)
        return pairs_of(y) if y.is_complex() else y
    return real


ELEMENTWISE = [of_points(function) for function in (
    lambda x: x + x.conj(), lambda x: x - 2 * x.conj(), lambda x: x - 1j, lambda x: 3 - x,
    lambda x: 1j - x, lambda x: torch.add(x, x.conj(), alpha=2), lambda x: x + x.real,
    lambda x: x.real - x, lambda x: -x, lambda x: x * x, lambda x: x * (1 + 2j), lambda x: 0.5 * x,
    lambda x: x * TURNS, lambda x: TURNS * x.real, lambda x: x * x.imag, lambda x: x.square(),
    lambda x: x / (x.conj() + 9), lambda x: x / 3, lambda x: x / (x.real + 9),
    lambda x: 2 / (x + 9j), lambda x: x.real / (x + 9), lambda x: (x + 9j).reciprocal(),
    lambda x: x.exp(),
    lambda x: x.abs(), lambda x: x.angle() * x.real, lambda x: x.real, lambda x: x.imag,
    lambda x: torch.polar(x.real, x.imag), lambda x: torch.complex(x.imag, x.real),
    lambda x: torch.where(x.real > 0, x, x.conj()), lambda x: torch.where(x.real > 0, x, 1j),
    lambda x: x.real.to(torch.complex64) * x, lambda x: x.detach() * x, lambda x: x.conj_physical(),
    lambda x: (x.conj() * x).real)]


def make_elementwise():
    return make_each(ELEMENTWISE, POINTS)


def make_far():
    return make_each([of_points(lambda x: x.abs()), of_points(lambda x: 1 / (x + 1e-8))], FAR)


SHAPES = [of_points(function) for function in (
    lambda x, i: x.reshape(3, 2), lambda x, i: x[None].expand(2, -1, -1), lambda x, i: x.T,
    lambda x, i: x.permute(1, 0), lambda x, i: x[:, 1:], lambda x, i: x[1],
    lambda x, i: x.unsqueeze(1).squeeze(1), lambda x, i: x.flatten(), lambda x, i: x.repeat(2, 1),
    lambda x, i: x.split(2, 1)[0], lambda x, i: x.unbind(0)[1], lambda x, i: x.chunk(3, 1)[2],
    lambda x, i: torch.cat([x, x.conj(), x.real], 1), lambda x, i: torch.stack([x, 1j * x], 1),
    lambda x, i: x.flip(1), lambda x, i: x.roll(1, 1), lambda x, i: x.sum(), lambda x, i: x.sum(1),
    lambda x, i: x.mean((0, 1), keepdim=True), lambda x, i: x.clone().contiguous(),
    lambda x, i: x[:, i], lambda x, i: TURNS[i] * x[:, :2], lambda x, i: x.index_select(1, i),
    lambda x, i: x.view(2, 3, 1).transpose(0, 2), lambda x, i: x @ x.T, lambda x, i: x @ x[0],
    lambda x, i: torch.einsum("ab,ab->b", x, x),
    lambda x, i: torch.einsum("ab,cb->ac", x, TURNS[None].to(x)),
    lambda x, i: x[None] @ x.T[None], lambda x, i: nn.functional.pad(x, (1, 2)))]


def make_shapes():
    return make_each(SHAPES, POINTS, torch.tensor([2, 0]))


TRANSFORMS = [of_points(function) for function in (
    fft.fft, fft.ifft, lambda x: fft.fft(x, dim=0), lambda x: fft.fft(x, norm="ortho"),
    lambda x: fft.ifft(x, norm="forward"), lambda x: fft.fft(x, n=5), lambda x: fft.fft(x, n=2),
    fft.fftn, fft.ifftn, lambda x: fft.fft2(x, norm="ortho"), lambda x: fft.ifft2(x),
    lambda x: fft.irfft(x), lambda x: fft.irfft(x, n=5, norm="ortho"),
    lambda x: fft.irfft(x, n=4, dim=0), lambda x: fft.irfftn(x), lambda x: fft.irfft2(x, (3, 5)),
    lambda x: fft.hfft(x), lambda x: fft.fftshift(x), lambda x: fft.ifftshift(x, 1))] + [
    lambda x: pairs_of(fft.rfft(x)), lambda x: pairs_of(fft.rfft(x, dim=1)),
    lambda x: pairs_of(fft.rfft(x, n=7, dim=1, norm="forward")),
    lambda x: pairs_of(fft.rfftn(x, norm="ortho")), lambda x: fft.fftn(x, dim=(1, 2)).real,
    lambda x: fft.fft(fft.fft(x, dim=-1), dim=-2).real, lambda x: pairs_of(fft.ihfft(x)),
    lambda x: pairs_of(fft.ifft(x)), lambda x: pairs_of(fft.rfft2(x)),
    lambda x: fft.fftshift(x, 1), lambda x: fft.irfft2(fft.rfft2(x, s=(4, 6)) * TURNS[1], s=(4, 6))]


def make_transforms():
    return make_each(TRANSFORMS, POINTS)


class Rotated(nn.Module):
    """Attention whose queries and keys are turned by a table of complex numbers, and a loss."""

    def __init__(self, width=32, heads=4, positions=16, vocabulary=24):
        super().__init__()
        self.heads = heads
        self.embedding = nn.Embedding(vocabulary, width)
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.head = nn.Linear(width, vocabulary, bias=False)
        size = width // heads
        frequencies = 1 / 10000 ** (torch.arange(0, size, 2).float() / size)
        angles = torch.outer(torch.arange(positions).float(), frequencies)
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles))

    def turn(self, x):
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        turns = self.turns[:x.shape[1]].view(1, x.shape[1], 1, -1)
        return torch.view_as_real(pairs * turns).flatten(3).type_as(x)

    def forward(self, tokens, labels):
        x = self.embedding(tokens)
        q, k, v = (w(x).view(*x.shape[:2], self.heads, -1) for w in (self.wq, self.wk, self.wv))
        q, k, v = (y.transpose(1, 2) for y in (self.turn(q), self.turn(k), v))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        logits = self.head(x + self.wo(y.transpose(1, 2).flatten(2)))
        return nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())


def make_rotated():
    torch.manual_seed(0)
    ids = torch.zeros(4, 8, dtype=torch.long)
    return Rotated(), ids, ids.clone()


class Mixed(nn.Module):
    """Layers that mix tokens by Fourier transforms: real parts of one, and a filter with weights of
    complex numbers."""

    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)
        self.filter = nn.Parameter(torch.randn(4, 8, 2))

    def forward(self, x):
        x = x + fft.fftn(x, dim=(1, 2)).real
        x = x + self.down(nn.functional.gelu(self.up(x)))
        mixed = fft.rfft(x, dim=1, norm="ortho") * torch.view_as_complex(self.filter)
        return fft.irfft(mixed, n=x.shape[1], dim=1, norm="ortho").square().mean()


def make_mixed():
    torch.manual_seed(0)
    return Mixed(), torch.randn(4, 6, 8)


def refuse(function):
    return make_each([of_points(function)], POINTS)


def refuse_op():
    return refuse(lambda x: x.tanh().real)


def refuse_write():
    return refuse(lambda x: (x + 1).mul_(2).real)


def refuse_cast():
    return refuse(lambda x: x.to(torch.float32))


def refuse_pad():
    return refuse(lambda x: nn.functional.pad(torch.stack([x, x]), (1, 0), value=2.0).real)


def refuse_half():
    return make_each([lambda x: torch.view_as_complex(x.half()).real], POINTS)


def refuse_factor():
    return refuse(lambda x: torch.add(x, x.conj(), alpha=2j).real)


def refuse_three():
    return refuse(lambda x: torch.einsum("ab,ab,ab->a", x, x, x).real)


def refuse_size():
    return make_each([lambda x: fft.rfft(x, n=5000).real], BETWEEN)


class Result(nn.Module):
    def forward(self, x):
        return torch.view_as_complex(x)


def refuse_result():
    return Result(), POINTS


if __name__ == "__main__":
    module, *examples = make_transforms()
    program = torch.export.export(module, tuple(examples), strict=False)
    torch.export.save(program.run_decompositions(), f"{sys.argv[1]}/Transforms.pt2")
