"""Modules with one op after the other, each with a parameter and a result of its own; `make...`
return a module and its example arguments. The parameters have the numbers at which pieces of an
op meet."""

import math

import torch
from torch import nn
from torch.nn import functional

CORNERS = torch.tensor([[-3.0, -1.0, 0.0, 0.5, 1.0, 3.0], [6.0, 2.0, -0.5, -2.0, -6.0, 2.0]])
# Numbers that lie on no corner.
BETWEEN = torch.tensor([[0.3, -1.7, 2.4, -0.2, 5.1, 0.9], [-2.6, 1.3, 0.7, -4.2, 3.8, -0.6]])
# Summands of a row that make numbers that are not finite.
EXTREME = torch.tensor([math.nan, math.inf, -math.inf, 0.0, 0.0, 0.0])
POSITIVE = torch.tensor([[0.2, 0.4, 0.1, 0.9, 0.6, 0.3], [0.75, 0.5, 0.8, 0.25, 0.35, 0.95]])


class Each(nn.Module):
    """Returns a weighted sum of the results of functions, and the results: function I has the
    parameter I."""

    def __init__(self, functions, numbers):
        super().__init__()
        self.functions = functions
        self.weights = nn.ParameterList(nn.Parameter(numbers.clone()) for _ in functions)

    def forward(self, scale, *more):
        loss, results = 0, []
        for function, weight in zip(self.functions, self.weights):
            y = function(weight, *more)
            y = y if y.dim() else y[None]
            number = y.to(scale.dtype)
            slopes = torch.linspace(0.5, 1.5, y.numel(), dtype=scale.dtype).reshape(y.shape)
            loss = loss + (number * slopes * scale).sum() + 1e-2 * weight.sum() * scale.sum()
            results.append(y)
        return loss.sum(), *results


def make_each(functions, numbers=CORNERS, *more):
    return Each(functions, numbers).eval(), torch.ones(1), *more


ACTIVATIONS = [
    functional.relu6, functional.hardtanh, lambda x: functional.hardtanh(x, -2, 0.5),
    functional.hardsigmoid, functional.hardswish, functional.mish, functional.logsigmoid,
    functional.selu, functional.celu, lambda x: functional.celu(x, 0.5), functional.elu,
    functional.glu, lambda x: functional.glu(x, 0), functional.hardshrink,
    lambda x: functional.hardshrink(x, 1), functional.softshrink,
    lambda x: functional.softshrink(x, 2), lambda x: functional.threshold(x, 0.5, 3),
    functional.rrelu, lambda x: functional.prelu(x, torch.tensor([0.3]).to(x)),
    lambda x: functional.prelu(x.T, torch.tensor([0.3, -0.2]).to(x)),
    lambda x: functional.prelu(torch.tensor([[1.0, -2.0]]).to(x), x[0, :2]), functional.softsign,
    functional.tanhshrink, lambda x: functional.softmin(x, 0), nn.RReLU().eval(),
    nn.Threshold(-0.5, 2)]


def make_activations():
    return make_each(ACTIVATIONS)


def make_far_activations():
    """Activations of numbers at which exponentials overflow or vanish."""
    far = torch.tensor([[-300.0, -90.0, -40.0], [30.0, 100.0, 300.0]])
    return make_each([functional.mish, functional.logsigmoid, functional.selu, functional.celu,
                      functional.hardswish, functional.softplus, torch.sigmoid], far)


ELEMENTWISE = [
    torch.sign, torch.sgn, torch.trunc, torch.frac, torch.tan, torch.sinh, torch.cosh, torch.atan,
    torch.exp2, torch.absolute, torch.negative, torch.positive, torch.deg2rad, torch.rad2deg,
    lambda x: torch.nan_to_num(x + EXTREME, 3.0, 7.0, -9.0), lambda x: torch.isnan(x / x),
    lambda x: torch.isinf(1 / x), lambda x: torch.isfinite(1 / x),
    lambda x: torch.fmax(x, x.flip(1)), lambda x: torch.fmin(x, torch.tensor(2.0)),
    lambda x: torch.fmax(x, torch.tensor(math.nan)), lambda x: torch.atan2(x, x.flip(0)),
    lambda x: torch.atan2(x, x),
    lambda x: (x.abs() + 1) ** torch.tensor([0.0, 1.0, 2.0, -1.0, 0.5, -0.5]),
    lambda x: torch.xlogy(x, 2.0), lambda x: torch.xlogy(x, torch.tensor(0.7)),
    lambda x: torch.lerp(x, 2 * x + 1, 0.3), lambda x: torch.lerp(x, x * x, 0.8),
    lambda x: torch.lerp(x, x * x, x), lambda x: torch.addcmul(x, x, x + 1, value=0.5),
    lambda x: torch.addcdiv(x, x, x + 10, value=-2), lambda x: x.clamp_max(2),
    lambda x: torch.clip(x, -1, 2),
    lambda x: torch.clamp(x, torch.tensor(-1.0), torch.full((6,), 2.0)),
    lambda x: torch.clamp(x, torch.tensor(1.0), torch.tensor(-1.0)),
    lambda x: torch.clamp_min(torch.tensor(0.5), x), lambda x: torch.clamp(x, max=x.flip(0)),
    lambda x: torch.logical_xor(x > 0, x > 1), lambda x: (x > 0) ^ (x > 1),
    lambda x: torch.special.expit(x), lambda x: torch.true_divide(x, 3),
    lambda x: torch.isclose(x, torch.round(x)), lambda x: torch.float_power(x, 2),
    lambda x: torch.multiply(x, 2) - torch.subtract(x, 1), lambda x: torch.arctan2(x, x + 9)]


def make_elementwise():
    return make_each(ELEMENTWISE)


# Other names of ops, and their forms.
NAMES = [
    torch.arctan, torch.fix, lambda x: torch.clip(x, torch.tensor(-1.0), torch.tensor(2.0)),
    lambda x: torch.divide(x, 2), lambda x: torch.divide(x, x + 9),
    lambda x: torch.divide(x, 2, rounding_mode="floor") * x,
    lambda x: torch.divide(x, x + 9.5, rounding_mode="trunc") * x,
    lambda x: torch.float_power(2.0, x), lambda x: torch.float_power(x.abs() + 1, torch.ones(6)),
    lambda x: torch.greater(x, 1) ^ torch.less(x, 0), lambda x: torch.greater(x, x.flip(1)),
    lambda x: torch.greater_equal(x, 1) ^ torch.less_equal(x, 0),
    lambda x: torch.greater_equal(x, x.flip(1)), lambda x: torch.less_equal(x, x.flip(1)),
    lambda x: torch.less(x, x.flip(1)), lambda x: torch.not_equal(x, 1),
    lambda x: torch.not_equal(x, x.flip(1)), lambda x: torch.subtract(x, x.flip(1)),
    lambda x: torch.multiply(x, x.flip(1)), lambda x: torch.special.expm1(x),
    lambda x: torch.special.log1p(x.abs()), lambda x: torch.special.log_softmax(x, 1),
    lambda x: torch.special.softmax(x, 0), lambda x: torch.special.logit(x / 20 + 0.5),
    lambda x: torch.true_divide(x, x + 9), lambda x: torch.std_mean(x)[0],
    lambda x: torch.var_mean(x)[1], torch.msort, torch.atleast_1d, torch.atleast_2d,
    lambda x: torch.concat([x, x]), lambda x: torch.concatenate([x, 2 * x], 1),
    lambda x: x[None].dsplit(2)[1], torch.flipud, lambda x: x.H,
    lambda x: torch.meshgrid(x[0], x[1])[0], lambda x: torch.moveaxis(x, 0, -1),
    lambda x: x[None].moveaxis((0, 1), (2, 0)), lambda x: x[None].movedim((0, 1), (2, 0)),
    lambda x: x.vsplit(2)[1], lambda x: torch.unsafe_chunk(x, 3, 1)[2]]


def make_names():
    return make_each(NAMES)


class Results(Each):
    """The results alone, which may be NaN or infinite."""

    def forward(self, *more):
        return super().forward(*more)[1:]


def make_extremes():
    functions = [
        lambda x: torch.clamp(x, min=EXTREME), lambda x: torch.clamp(x, max=EXTREME),
        lambda x: x // 0, lambda x: torch.div(x, 0, rounding_mode="floor"), lambda x: x % 0,
        lambda x: torch.fmod(x, 0), lambda x: x // math.inf, lambda x: x % math.inf,
        lambda x: torch.div(x, 0, rounding_mode="trunc"), lambda x: (x + EXTREME).sign(),
        lambda x: (x + EXTREME).max(0)[0], lambda x: (x + EXTREME).argmin(1),
        lambda x: (x + EXTREME).sort(stable=True, descending=True)[1],
        lambda x: torch.fmin(x, x + EXTREME), lambda x: torch.xlogy(x, EXTREME),
        lambda x: functional.hardshrink(x + EXTREME), lambda x: functional.hardtanh(x + EXTREME),
        lambda x: functional.relu6(x + EXTREME), lambda x: functional.softshrink(x + EXTREME),
        lambda x: functional.logsigmoid(x + EXTREME),
        lambda x: functional.threshold(x + EXTREME, 1, 2),
        lambda x: functional.nll_loss(x, torch.tensor([-100, -100])), torch.logit,
        lambda x: (x + EXTREME).prod(1), lambda x: x ** EXTREME,
        lambda x: torch.atan2(0 * x, 0 * x)]
    return Results(functions, CORNERS), torch.ones(1)


def make_positive():
    """Functions of numbers between 0 and 1."""
    return make_each([torch.log2, torch.log10, torch.logit, lambda x: torch.logit(x, 0.25),
                      lambda x: torch.xlogy(x, x), lambda x: x.norm(math.inf),
                      lambda x: functional.pairwise_distance(x, x.flip(1))], POSITIVE)


DIVISIONS = [
    lambda x: x % 2, lambda x: x % -1.5, lambda x: torch.remainder(torch.tensor(5.5), x + 0.25),
    lambda x: torch.remainder(x * 3, x.flip(1) + 0.25), lambda x: torch.fmod(x, 2),
    lambda x: torch.fmod(x * 3, x.flip(1) + 0.25), lambda x: torch.fmod(x, -1.5),
    lambda x: 5 % (x.detach() + 0.25) * x, lambda x: x.detach() // 2 * x,
    lambda x: x.detach() // -0.75 * x, lambda x: 5 // (x.detach() + 0.25) * x,
    lambda x: torch.div(x, 0.375, rounding_mode="floor") * x,
    lambda x: torch.div(x, 0.375, rounding_mode="trunc") * x,
    lambda x: torch.div(x, x.flip(1) + 0.25, rounding_mode=None),
    lambda x: torch.div(x, x.flip(1) + 0.25, rounding_mode="floor") * x,
    lambda x: torch.div(x, -0.375, rounding_mode="trunc") * x]


def make_divisions():
    return make_each(DIVISIONS)


def make_close_divisions():
    """Quotients next to whole numbers, where f64 and f32 differ: dividends are sums of powers of 2.
    """
    return make_each(DIVISIONS, BETWEEN.mul(64).round() / 64)


WHOLE = torch.tensor([[-7, -6, -1, 0, 1, 7], [6, 5, -5, 3, -3, 2]])
DIVISORS = torch.tensor([[2, -4, 3, 5, -2, -7], [4, -3, 2, -1, 7, 1]])
INTEGERS = [
    lambda w, x, y: x // y, lambda w, x, y: x // 3, lambda w, x, y: x // -3, lambda w, x, y: x % y,
    lambda w, x, y: x % -4, lambda w, x, y: 7 % y, lambda w, x, y: torch.fmod(x, y),
    lambda w, x, y: torch.fmod(x, 4), lambda w, x, y: x / y,
    lambda w, x, y: torch.div(x, y, rounding_mode="floor"),
    lambda w, x, y: torch.div(x, y, rounding_mode="trunc"), lambda w, x, y: x.abs(),
    lambda w, x, y: x.sign(), lambda w, x, y: x.prod(), lambda w, x, y: x.prod(0),
    lambda w, x, y: torch.floor(x), lambda w, x, y: x ^ y,
    lambda w, x, y: functional.one_hot(x + 7, 15), lambda w, x, y: x.int().flip(0),
    lambda w, x, y: x.count_nonzero(), lambda w, x, y: x.clamp_max(2),
    lambda w, x, y: (x > 0).any(0), lambda w, x, y: (x < 9).all(),
    lambda w, x, y: x[:, [5, -6, 2]],
    lambda w, x, y: x.int().argmax(1), lambda w, x, y: x.int().min(0)[0],
    lambda w, x, y: (x > 1).int().argmax(-1), lambda w, x, y: x[[[0], [-1]], [[1, 2], [3, 3]]],
    lambda w, x, y: x.gather(0, (y > 0).long()[:1])]


def make_integers():
    return make_each(INTEGERS, CORNERS, WHOLE, DIVISORS)


REDUCTIONS = [
    lambda x: x.std((0, 1), keepdim=True), lambda x: torch.std(x, 1, correction=0),
    lambda x: x.std(), lambda x: x.std(unbiased=False), lambda x: (x * 0 + 1).std(1) + x.var(1),
    lambda x: torch.var(x, (0, 1), correction=3, keepdim=True),
    lambda x: torch.cat([v.flatten() for v in torch.std_mean(x, 1)]),
    lambda x: torch.cat([v.flatten() for v in torch.var_mean(x, (0, 1), correction=0)]),
    lambda x: x.prod(), lambda x: x.prod(-1), lambda x: x.prod(0, keepdim=True),
    lambda x: (x * x[:1]).prod(-1), lambda x: x.max(1).values, lambda x: x.min(-1, True)[0],
    lambda x: x.clamp(-2, 2).max(1)[0], lambda x: x.clamp(-2, 2).min(1)[0],
    lambda x: x.clamp(-2, 2).sort(dim=1, stable=True)[0], lambda x: x.clamp(-2, 2).argmax(1),
    lambda x: x.clamp(-2, 2).repeat(1, 9).min(1)[0], lambda x: x.max(0)[1],
    lambda x: x.argmax(1, keepdim=True), lambda x: x.argmin(-1),
    lambda x: x.argmax(), lambda x: x.T.argmin(), lambda x: x.norm(1, 1),
    lambda x: x.norm(math.inf, 1), lambda x: torch.linalg.norm(x, dim=0),
    lambda x: functional.normalize(x, p=1.0), lambda x: x.sort(stable=True).values,
    lambda x: x.sort(0, descending=True)[0], lambda x: x.argsort(dim=1, stable=True),
    lambda x: x.topk(1, 0).values, lambda x: x[0, 0].max(0)[0], lambda x: torch.trapezoid(x),
    lambda x: torch.linalg.vector_norm(x, 1, keepdim=True)]


def make_reductions():
    return make_each(REDUCTIONS)


IMAGES = (torch.arange(96.0) ** 2).sin().reshape(2, 6, 2, 4)
def moments(x):
    return torch.arange(6.0).to(x), torch.arange(1, 7.0).to(x)


NORMS = [
    lambda x: functional.group_norm(x, 3),
    lambda x: functional.group_norm( x, 2, 1 + x[0, :, 0, 0], x[1, :, 1, 1], 0.1),
    lambda x: functional.group_norm(x[:, :, 0, 0], 2), functional.instance_norm,
    lambda x: functional.instance_norm(x, weight=x[0, :, 0, 0], bias=x[1, :, 0, 1]),
    lambda x: functional.instance_norm(x[:, :, 0], *moments(x), use_input_stats=False),
    lambda x: functional.batch_norm(x, *moments(x), x[0, :, 0, 0], x[1, :, 0, 1]),
    lambda x: functional.batch_norm(x[:, :, 0, 0], *moments(x)),
    lambda x: functional.batch_norm(x, None, None, x[0, :, 0, 0], training=True),
    lambda x: functional.layer_norm(x, (2, 4), x[0, 0], x[1, 1]),
    lambda x: functional.layer_norm(x, (6, 2, 4)), lambda x: functional.rms_norm(x, (2, 4)),
    lambda x: functional.rms_norm(x, (2, 4), x[0, 0], 0.1),
    lambda x: functional.pixel_shuffle(x[:, :4], 2), lambda x: functional.pixel_unshuffle(x, 2),
    lambda x: functional.channel_shuffle(x, 3),
    lambda x: functional.conv1d(x[:, :, 0], x[0, :, :, :2].transpose(0, 1), x[0, :2, 0, 0], 2),
    lambda x: functional.conv1d(x[:, :, 0], x[:, :, 0, :1]),
    lambda x: functional.conv1d(x[:, :, 0], x[:, :3, 0, :2].reshape(3, 2, 2), None, 2, groups=3),
    lambda x: functional.conv2d(x, x[:, :3].reshape(6, 1, 2, 4)[:, :, :, :2], x[0, :, 0, 0], 2,
                                groups=6)]


def make_norms():
    return make_each(NORMS, IMAGES)


SHAPES = [
    lambda x: x.flip(1), lambda x: x.flip(0, -1), lambda x: x.roll(1), lambda x: x.roll(-3, 1),
    lambda x: x.roll((1, 2), (0, 1)), lambda x: x.repeat_interleave(2, -1),
    lambda x: x.repeat_interleave(3), lambda x: torch.repeat_interleave(x, 2, 0),
    lambda x: functional.pad(x[None], (2, 1), "reflect"),
    lambda x: functional.pad(x[None], (2, 1), "replicate"),
    lambda x: functional.pad(x[None], (2, 1), "circular"), lambda x: x.unfold(1, 2, 2),
    lambda x: x.unfold(1, 3, 1), lambda x: x.unfold(-1, 2, 3), lambda x: x.diagonal(),
    lambda x: x.diagonal(2), lambda x: x[None].diagonal(-1, 2, 0), lambda x: x.diagonal(-1),
    torch.diag_embed, lambda x: x.movedim(0, 1), lambda x: x.swapdims(0, 1),
    lambda x: x.narrow(1, -4, 3), lambda x: x.tensor_split(4, 1)[1],
    lambda x: x.tensor_split((1, 4), 1)[2], lambda x: x.hsplit(2)[1],
    lambda x: torch.hstack([x, x]), lambda x: torch.vstack([x, 2 * x]),
    lambda x: torch.dstack([x, x]), lambda x: torch.column_stack([x[:, 0], x]),
    lambda x: torch.meshgrid(x[0], x[1], indexing="xy")[1],
    lambda x: torch.cartesian_prod(x[0], x[1]), lambda x: torch.diff(x), torch.ravel,
    lambda x: torch.broadcast_tensors(x[:, None], x)[0], torch.atleast_3d, lambda x: x.adjoint(),
    lambda x: torch.fliplr(x), lambda x: torch.diag(x), lambda x: torch.diag(x[0]),
    lambda x: functional.interpolate(x[None], scale_factor=2.0),
    lambda x: functional.interpolate(x[None, None], size=(3, 4), mode="nearest"),
    lambda x: functional.interpolate(x[None], size=9, mode="linear"),
    lambda x: functional.interpolate(x[None, None], size=(3, 4), mode="bilinear"),
    lambda x: functional.interpolate(x[None, None], scale_factor=2, mode="bicubic"),
    lambda x: functional.adaptive_avg_pool1d(x, 1),
    lambda x: functional.adaptive_avg_pool2d(x[None], 1),
    lambda x: x.as_strided((3, 2, 2), (2, 6, 1)), lambda x: x.as_strided((2, 4), (0, 1), 1),
    lambda x: x.as_strided((2, 2, 4), (6, 2, 1)), lambda x: (x + 1).as_strided((5, 3), (2, 1), 1),
    lambda x: torch.slice_scatter(x, x[:, :2] * 2, 1, -3, 5),
    lambda x: torch.slice_scatter(x, x[:, :3] * 2, -1, 0, 9, 2),
    lambda x: torch.slice_scatter(x, x * 2, 1), lambda x: torch.select_scatter(x, x[0] * 2, 0, 1),
    lambda x: torch.select_scatter(x, x[:, 0] * 2, 1, -1)]


def make_shapes():
    return make_each(SHAPES, BETWEEN)


LOOKUPS = [
    lambda x, i, j: x[[-1, 0]], lambda x, i, j: x[:, [5, -6, 2]],
    lambda x, i, j: x[[0, 1, 0], [-1, 3, 3]], lambda x, i, j: x[torch.arange(2), i],
    lambda x, i, j: x[torch.arange(2), i - 6], lambda x, i, j: x[:, i], lambda x, i, j: x.T[i],
    lambda x, i, j: x[j[:, None], i], lambda x, i, j: x[..., j],
    lambda x, i, j: x.reshape(2, 3, 2)[j], lambda x, i, j: x.reshape(2, 3, 2)[:, j - 2, :],
    lambda x, i, j: x.reshape(2, 3, 2)[j, :, j], lambda x, i, j: x.reshape(2, 3, 2)[:, j, j],
    lambda x, i, j: x.reshape(2, 3, 2)[[1, 0], :, [-1, 0]], lambda x, i, j: x.index_select(1, i),
    lambda x, i, j: x.index_select(1, torch.tensor([5, 0])),
    lambda x, i, j: x.take(torch.tensor([[0, -1], [7, 2]])), lambda x, i, j: x.take(i * 2),
    lambda x, i, j: x.take_along_dim(i[:, None], 1),
    lambda x, i, j: x.take_along_dim(j[None, :1], 0),
    lambda x, i, j: x.gather(1, torch.stack([i, i, i - 1], 1)),
    lambda x, i, j: x.gather(0, j[None]), lambda x, i, j: x.gather(1, i[:1, None]),
    lambda x, i, j: x[:, torch.arange(20) % 6], lambda x, i, j: x.repeat(1, 4).flip(1),
    lambda x, i, j: functional.one_hot(i, 6) * x]


def make_lookups():
    return make_each(LOOKUPS, BETWEEN, torch.tensor([4, 1]), torch.tensor([1, 0, 1]))


def written(write, take=lambda x: x.clone()):
    """A function that writes a value of its own in place."""
    def function(x, i, j):
        y = take(x)
        write(y, x, i, j)
        return y
    return function


def fill(y, x, i, j):
    y[:, i] = x[:, 2:4]


def fill_below(y, x, i, j):
    y[x < 0] = 0.5


def fill_rows(y, x, i, j):
    y[(x > 0)[:, 0]] = x[0]


def count(y, x, i, j):
    y[j[1:]] += 1


WRITES = [
    lambda x, i, j: x.index_add(1, i, x[:, :2] * 2),
    lambda x, i, j: x.index_add(0, j, torch.cat([x, x[:1]]), alpha=-0.5),
    lambda x, i, j: x.index_copy(1, i, x[:, 2:4]), lambda x, i, j: x.index_copy(1, i[0], x[:, 3:4]),
    lambda x, i, j: x.index_fill(1, i, 3), lambda x, i, j: x.index_fill(0, j, x[0, 0].detach()),
    lambda x, i, j: x.scatter(1, i[:, None], x[:, :1]),
    lambda x, i, j: x.scatter(0, j[None], x[:1, :3] * 2),
    lambda x, i, j: x.scatter(1, i[:, None], 7.0),
    lambda x, i, j: x.scatter(1, i[:, None].expand(2, 3), 7.0),
    lambda x, i, j: x.scatter(1, torch.tensor([[1, 3], [0, 5]]), x[:, :3].detach()),
    lambda x, i, j: x.detach().scatter(1, i[:, None], x[:, :1].detach(), reduce="add"),
    lambda x, i, j: x.detach().scatter(1, i[:, None], 2.0, reduce="add"),
    lambda x, i, j: x.scatter_add(1, torch.stack([i, i, i - 1], 1), x[:, :3]),
    lambda x, i, j: x.scatter_add(0, j[:, None].expand(3, 6), torch.cat([x, x[:1]])),
    lambda x, i, j: x.scatter_add(0, j[:, None].expand(3, 4), torch.cat([x, x[:1]])[:, 2:]),
    lambda x, i, j: x.reshape(2, 3, 2).scatter_add(
        1, i[:, None, None].expand(2, 3, 2) % 3, x.reshape(2, 3, 2)),
    lambda x, i, j: x.scatter_reduce(1, torch.stack([i, i, j[1:]], 1), x[:, :3], "sum"),
    lambda x, i, j: x.scatter_reduce(1, torch.stack([i, i, j[1:]], 1), x[:, :3], "sum",
                                     include_self=False),
    lambda x, i, j: x[0, 0].scatter_add(0, i[0] * 0, x[0, 1]),
    lambda x, i, j: x.index_put((j - 2, torch.tensor([0, 3, 5])), x[0, :3]),
    lambda x, i, j: x.index_put((j,), x[:1] * 3, accumulate=True),
    lambda x, i, j: x.index_put((j[:, None], i), x[0, :1], accumulate=True),
    lambda x, i, j: x.index_put((torch.tensor([[1, 0]]), torch.tensor([2, 5])), x[0, :2]),
    lambda x, i, j: x.index_put((x > 0,), x[0, 1], accumulate=True),
    lambda x, i, j: torch.zeros(2, 6, dtype=torch.int64).scatter_add(
        1, torch.stack([i, i, i - 1], 1), torch.full((2, 3), -(1 << 40))),
    lambda x, i, j: torch.zeros(6, dtype=torch.int32).index_add(0, i, j[:2].int()),
    lambda x, i, j: (x > 0).scatter(1, i[:, None], True) * x,
    written(fill), written(fill_below), written(fill_rows), written(count),
    written(lambda y, x, i, j: y[0].scatter_(0, i, x[1, :2])),
    written(lambda y, x, i, j: y.scatter_add_(1, i[:, None], x[:, :1])),
    written(lambda y, x, i, j: y.index_put_((i % 2, i), x[0, 0])),
    written(lambda y, x, i, j: y.index_put_((j[:1], j[1:, None]), x[:2, :1, None]),
            lambda x: x.reshape(2, 3, 2) * 2),
    written(lambda y, x, i, j: y[:, 1].index_copy_(0, i % 2 * 2, x[0, :2]),
            lambda x: torch.stack([x, x, x], 0).sum(2))]


def make_writes():
    return make_each(WRITES, BETWEEN, torch.tensor([4, 1]), torch.tensor([1, 0, 1, 0, 1, 1])[:3])


def refuse_largest():
    return make_each([lambda x, i: x.scatter_reduce(1, i, x, "amax")], BETWEEN,
                     torch.tensor([[4, 1], [0, 2]]))


def refuse_added():
    return make_each([lambda x, i: x.scatter(1, i[:, None], x[:, :1], reduce="add")], BETWEEN,
                     torch.tensor([4, 1]))


def refuse_masked_scatter():
    return make_each([lambda x, i: x.masked_scatter(x > 0, x)], BETWEEN, torch.tensor([4, 1]))


MATMULS = [
    lambda x: torch.addmm(x[:, :2], x, x.T, beta=0.5, alpha=2),
    lambda x: torch.addmm(x[0, :2], x, x.T, alpha=-1),
    lambda x: torch.addmm( torch.full((2, 2), math.nan).to(x), x, x.T, beta=0),
    lambda x: torch.addmm(x[0, :2], x, x.T),
    lambda x: torch.baddbmm(x[:, :2], x[None], x.T[None], beta=3, alpha=0.5),
    lambda x: torch.addbmm(x[:, :2], x.view(3, 2, 2), x.view(3, 2, 2), beta=0.5, alpha=2),
    lambda x: torch.addmv(x[:, 0], x, x[1], beta=2, alpha=3),
    lambda x: torch.addr(x, x[:, 0], x[0], beta=0.5, alpha=2), lambda x: x @ x[0],
    lambda x: x[:, 0] @ x, lambda x: x[0] @ x[1], lambda x: torch.dot(x[0], x[1]),
    lambda x: torch.outer(x[0], x[1]), lambda x: torch.inner(x, x),
    lambda x: torch.tensordot(x, x, ([1], [1])), lambda x: torch.kron(x, x[:, :2]),
    lambda x: x[None] @ x.T[None, None], lambda x: x.view(3, 2, 2) @ x[0, :2],
    lambda x: x[0, :2] @ x.view(3, 2, 2), lambda x: torch.linalg.multi_dot([x, x.T, x]),
    lambda x: functional.bilinear(x, x[:, :3], x.view(2, 6)[:, :, None].expand(2, 6, 3), x[0, :2]),
    lambda x: torch.einsum("bi,bj,bk->bijk", x, x, x[:, :2]),
    lambda x: torch.einsum("ij,jk,kl", x, x.T, x), lambda x: torch.einsum("bi->b", x),
    lambda x: torch.einsum("bi,bi", x, x), lambda x: torch.einsum("...i,...j->...ij", x, x),
    lambda x: torch.einsum("bi,bj", x, x), lambda x: torch.einsum("ba", x),
    lambda x: torch.einsum("b...,bij->...j", x, x.view(2, 3, 2)),
    lambda x: torch.einsum("bi,cj->bc", x, x), lambda x: torch.einsum("bi,bj->ij", x[:1], x),
    lambda x: torch.einsum("i,i,i->i", x[0], x[1], x[0]),
    lambda x: torch.einsum("...ij,...jk->...ik", x.view(3, 1, 2, 2), x.view(3, 2, 2)),
    lambda x: torch.einsum("abc,cd,ade->be", x.view(2, 3, 2), x[:, :3], x.view(2, 3, 2))]


def make_matmuls():
    return make_each(MATMULS, BETWEEN)


def attend(*shape, **options):
    return lambda x: functional.scaled_dot_product_attention(
        x.reshape(shape), x.flip(1).reshape(shape), (x + 1).reshape(shape), **options)


SHOWN = torch.tensor([[True, False, True], [True, True, False], [False, False, True]])
ATTENTIONS = [
    attend(2, 3, 2), attend(2, 3, 2, is_causal=True), attend(3, 4),
    attend(2, 3, 2, attn_mask=SHOWN),
    attend(2, 3, 2, attn_mask=torch.stack([SHOWN, SHOWN.T | SHOWN])),
    attend(2, 3, 2, attn_mask=torch.tensor([[0.5], [-1.0], [2.0]]), scale=0.3),
    attend(1, 2, 1, 3, 2, is_causal=True), attend(2, 1, 1, 3, 2, attn_mask=SHOWN),
    attend(2, 1, 1, 3, 2, attn_mask=torch.stack([SHOWN, SHOWN.T])[:, None, None]),
    lambda x: functional.scaled_dot_product_attention(x[None], x[None, :1], x[None, :1])]


def make_attentions():
    return make_each(ATTENTIONS, BETWEEN)


TARGETS = torch.tensor([[0.1, 1.0, 0.0, 0.7, 0.4, 1.0], [0.6, 0.0, 1.0, 0.3, 0.9, 0.2]])
SIGNS = torch.tensor([[1.0, -1, 1, 1, -1, -1], [-1, 1, 1, -1, 1, -1]])
RATES = torch.tensor([0.5, 2.0, 1.0, 0.3, 1.5, 0.7])


def each_reduction(loss, *others, **options):
    """A loss with all reductions, as one tensor."""
    def run(x, *more):
        tensors = [other.to(x) for other in others]
        given = {name: option.to(x) if isinstance(option, torch.Tensor) else option
                 for name, option in options.items()}
        parts = [loss(x, *tensors, *more, reduction=kind, **given)
                 for kind in ("none", "mean", "sum")]
        return torch.cat([part.flatten() for part in parts])
    return run


LOSSES = [
    *(each_reduction(loss, TARGETS) for loss in (
        functional.l1_loss, functional.mse_loss, functional.smooth_l1_loss, functional.huber_loss,
        functional.binary_cross_entropy_with_logits, functional.poisson_nll_loss)),
    lambda x: functional.kl_div(x, TARGETS.to(x), reduction="sum"),
    lambda x: functional.kl_div(x, TARGETS.to(x), reduction="none"),
    each_reduction(functional.smooth_l1_loss, CORNERS.flip(0), beta=0.5),
    each_reduction(functional.smooth_l1_loss, CORNERS.flip(0), beta=0.0),
    each_reduction(functional.huber_loss, CORNERS.flip(0), delta=0.5),
    each_reduction(functional.l1_loss, CORNERS.flip(0)),
    each_reduction(functional.binary_cross_entropy_with_logits, TARGETS, pos_weight=RATES,
                   weight=RATES.flip(0)),
    lambda x: functional.binary_cross_entropy_with_logits(x, x.sigmoid()),
    lambda x: functional.kl_div(x, TARGETS.to(x), reduction="batchmean", log_target=True),
    lambda x: functional.kl_div(x, x.abs() + 0.5, reduction="batchmean"),
    each_reduction(functional.poisson_nll_loss, 5 * TARGETS, full=True, log_input=True),
    each_reduction(functional.hinge_embedding_loss, SIGNS),
    each_reduction(functional.soft_margin_loss, SIGNS),
    each_reduction(functional.margin_ranking_loss, CORNERS.flip(1), SIGNS, margin=2.0),
    each_reduction(functional.triplet_margin_loss, CORNERS.flip(1), CORNERS.flip(0)),
    each_reduction(functional.cosine_embedding_loss, CORNERS.flip(1), SIGNS[:, 0], margin=-0.5),
    lambda x: functional.cosine_similarity(x, x.flip(1)),
    lambda x: functional.cosine_similarity(x * 0, x, 0),
    lambda x: functional.cosine_similarity(x * 1e-4, x * 1e-4, 0, eps=1e-3),
    lambda x: functional.cosine_similarity(x[:, None], x[None], -1),
    lambda x: functional.multilabel_soft_margin_loss(x, TARGETS.to(x))]


def make_losses():
    return make_each(LOSSES)


def make_probabilities():
    """Cross entropies of probabilities, 0 and 1 among them."""
    numbers = torch.tensor([[0.0, 1.0, 0.5, 1e-20, 1.0, 0.0], [0.3, 0.9, 0.0, 1.0, 0.2, 0.6]])
    return make_each([
        each_reduction(functional.binary_cross_entropy, (TARGETS > 0.5).to(TARGETS)),
        each_reduction(functional.binary_cross_entropy, TARGETS, weight=RATES)], numbers)


CLASSES = [
    each_reduction(functional.nll_loss), each_reduction(functional.nll_loss, weight=RATES),
    each_reduction(functional.nll_loss, weight=RATES, ignore_index=3),
    each_reduction(functional.cross_entropy, weight=RATES, ignore_index=1),
    each_reduction(functional.cross_entropy, label_smoothing=0.1),
    each_reduction(functional.cross_entropy, label_smoothing=0.2, weight=RATES, ignore_index=3),
    lambda x, labels: functional.nll_loss(x[0].log_softmax(-1), labels[0]),
    lambda x, labels: functional.cross_entropy(
        x.reshape(2, 3, 2), torch.stack([labels % 3, labels // 2], 1), weight=RATES[:3].to(x)),
    lambda x, labels: functional.cross_entropy(x, x.flip(0).softmax(-1)),
    lambda x, labels: functional.cross_entropy(x, x.softmax(-1), weight=RATES.to(x),
                                               label_smoothing=0.1, reduction="none")]


def make_classes():
    return make_each(CLASSES, BETWEEN, torch.tensor([3, 1]))


class Likelihood(nn.Module):
    """A mean over labels that count, as the only result."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(BETWEEN.clone())

    def forward(self, labels):
        return functional.nll_loss(self.weight.log_softmax(-1), labels, ignore_index=1)


def make_likelihood():
    return Likelihood(), torch.tensor([3, 1])


class Recurrent(nn.Module):
    """Recurrent layers of several kinds, and cells."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList([
            nn.LSTM(4, 3, 2, batch_first=True), nn.GRU(4, 3, bidirectional=True),
            nn.RNN(4, 3, nonlinearity="relu"), nn.LSTM(4, 3, bias=False, proj_size=2)])
        self.cells = nn.ModuleList([nn.LSTMCell(4, 3), nn.GRUCell(4, 3), nn.RNNCell(4, 3),
                                    nn.RNNCell(4, 3, nonlinearity="relu")])

    def forward(self, x):
        results = [layer(x)[0] for layer in self.layers]
        results += [cell(x[0]) for cell in self.cells[1:]]
        results += [self.cells[0](x[0])[1]]
        return sum(result.square().sum() for result in results), *results


def make_recurrent():
    return Recurrent(), torch.zeros(3, 2, 4)


# Ops that torch computes in f32 where their operands have 16 bits.
NARROW = [
    functional.hardswish, functional.hardsigmoid, functional.mish, functional.logsigmoid,
    functional.relu6, functional.selu, lambda x: x % 1.5, lambda x: x // 0.75,
    lambda x: torch.addcmul(x, x, x + 1, value=0.5), lambda x: x.std(1),
    lambda x: torch.var_mean(x, 1)[0], lambda x: functional.group_norm(x.view(2, 6, 1), 2),
    lambda x: functional.mse_loss(x, x.flip(1)), lambda x: x.max(1)[0],
    lambda x: x.flip(1), functional.glu, lambda x: torch.lerp(x, 2 * x, 0.25),
    lambda x: functional.huber_loss(x, x.flip(1))]


def make_narrow(dtype):
    return Results(NARROW, BETWEEN).to(dtype).eval(), torch.ones(1, dtype=dtype)


# Modules that cannot be imported.


def refuse(function, *more):
    return make_each([function], BETWEEN, *more)


def refuse_floor_divide():
    return refuse(lambda x: x // 2)


def refuse_remainder():
    return refuse(lambda x: 5 % x)


def refuse_clamp():
    return refuse(lambda x: torch.clamp(x, x.flip(0), x.flip(1)))


def refuse_power():
    return refuse(lambda x: x.abs() ** x)


def refuse_division_by_zero():
    return refuse(lambda x, i: x * (i // 0), torch.ones(6, dtype=torch.long))


def refuse_booleans():
    return refuse(lambda x: x[:, torch.arange(6) % 2 == 0].sum())


def refuse_norm():
    return refuse(lambda x: x.norm(3))


def refuse_diagonal():
    return refuse(lambda x: torch.einsum("ii->i", x[:, :2]))


def refuse_batch_norm():
    return refuse(lambda x: functional.batch_norm(x, *moments(x), training=True))


def refuse_targets():
    return refuse(lambda x: functional.binary_cross_entropy(x.sigmoid(), x.sigmoid()))


def refuse_attention():
    return refuse(lambda x: functional.scaled_dot_product_attention(
        x.view(2, 3, 2), x.view(2, 3, 2)[:1], x.view(2, 3, 2)[:1]))


def refuse_strides():
    return refuse(lambda x: x.T.as_strided((2, 2), (1, 2)))


def refuse_parts():
    """An op whose parts are refused."""
    return refuse(lambda x: torch.linalg.norm(x, 2))
