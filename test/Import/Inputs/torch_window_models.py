"""Modules with pools, resizing and convolutions; `make...` return a module and its example
arguments, `refuse...` those of one that cannot be imported."""

import torch
from torch import nn
from torch.nn import functional

from torch_op_models import Results, make_each

IMAGES = (torch.arange(432.0) ** 2 * 0.37).sin().reshape(2, 3, 8, 9)
# Every window has several equal elements.
TIES = (torch.arange(432.0) % 3).reshape(2, 3, 8, 9)
VOLUMES = (torch.arange(480.0) ** 2 * 0.37).sin().reshape(2, 2, 5, 6, 4)


POOLS = [
    lambda x: functional.max_pool2d(x, 3, 2, 1), lambda x: functional.max_pool2d(x, 2),
    lambda x: functional.max_pool2d(x, (3, 2), (2, 1), (1, 0), (2, 1)),
    lambda x: functional.max_pool2d(x, 3, 2, 1, 1, True),
    lambda x: functional.max_pool2d(x[0], 2, ceil_mode=True),
    lambda x: functional.max_pool2d(x, 2, return_indices=True)[0],
    lambda x: functional.max_pool1d(x[0], 3, 2),
    lambda x: functional.max_pool1d(x.flatten(2), 25, 3, 4),
    lambda x: functional.max_pool1d(x.flatten(2), 17, 1, 0, 2),
    lambda x: functional.avg_pool2d(x, 3, 2, 1),
    lambda x: functional.avg_pool2d(x, 3, 2, 1, True, False),
    lambda x: functional.avg_pool2d(x, 3, 1, 1, False, False),
    lambda x: functional.avg_pool2d(x, 2, ceil_mode=True),
    lambda x: functional.avg_pool2d(x, (2, 3), 1, (1, 0), divisor_override=5),
    lambda x: functional.avg_pool1d(x[0], 4),
    lambda x: functional.avg_pool1d(x.flatten(2), 20, 3, 5),
    lambda x: functional.lp_pool2d(x, 2, 2), lambda x: functional.adaptive_avg_pool2d(x, 1),
    lambda x: functional.adaptive_avg_pool2d(x, (2, 3)),
    lambda x: functional.adaptive_avg_pool2d(x, (3, 5)),
    lambda x: functional.adaptive_avg_pool2d(x, (None, 12)),
    lambda x: functional.adaptive_avg_pool1d(x[0], 4),
    lambda x: functional.adaptive_max_pool2d(x, (3, 5)),
    lambda x: functional.adaptive_max_pool2d(x, (4, 3)),
    lambda x: functional.adaptive_max_pool2d(x, (5, 12)),
    lambda x: functional.adaptive_max_pool1d(x.flatten(2), 1),
    lambda x: functional.unfold(x, (2, 3)), lambda x: functional.unfold(x, 3, 2, 1, 2),
    lambda x: functional.unfold(x[0], 2)]


def make_pools():
    return make_each(POOLS, IMAGES)


def make_ties():
    """Of equal elements the first one has the gradient."""
    return make_each(POOLS, TIES)


def make_extreme_pools():
    """Windows with elements that are not finite."""
    numbers = IMAGES.clone()
    numbers[0, 0, 2, 3], numbers[0, 1, 4, 4], numbers[1, 2, 0, 0] = \
        float("nan"), float("inf"), float("-inf")
    return Results(POOLS[:9], numbers).eval(), torch.ones(1)


RESIZED = [
    lambda x: functional.interpolate(x, scale_factor=2),
    lambda x: functional.interpolate(x, scale_factor=3, mode="nearest-exact"),
    lambda x: functional.interpolate(x, size=(5, 20)),
    lambda x: functional.interpolate(x, scale_factor=(0.5, 1.7)),
    lambda x: functional.interpolate(x, scale_factor=1.3, recompute_scale_factor=True),
    lambda x: functional.interpolate(x, size=(16, 4), mode="nearest-exact"),
    lambda x: functional.interpolate(x.flatten(2), scale_factor=1.5, mode="nearest-exact"),
    lambda x: functional.interpolate(x.flatten(2), size=80),
    lambda x: functional.pixel_shuffle(x[:, :, None].expand(2, 3, 4, 8, 9).flatten(1, 2), 2),
    lambda x: functional.pixel_unshuffle(x[..., :8], 4),
    lambda x: functional.interpolate(x, (5, 20), mode="bilinear", antialias=True),
    lambda x: functional.interpolate(x, (3, 4), mode="bicubic", antialias=True),
    lambda x: functional.interpolate(x, (4, 13), mode="bicubic", align_corners=True,
                                     antialias=True),
    lambda x: functional.interpolate(x, scale_factor=(0.4, 1.7), mode="bilinear", antialias=True)]


def make_resized():
    return make_each(RESIZED, IMAGES)


IN_VOLUMES = [
    lambda x: functional.max_pool3d(x, 2), lambda x: functional.max_pool3d(x, 3, 2, 1),
    lambda x: functional.avg_pool3d(x, (1, 2, 2)),
    lambda x: functional.avg_pool3d(x, 2, 1, 1, False, False),
    lambda x: functional.adaptive_avg_pool3d(x, (2, 3, 1)),
    lambda x: functional.adaptive_avg_pool3d(x[0], 1),
    lambda x: functional.adaptive_max_pool3d(x, (3, 2, 2)),
    lambda x: functional.interpolate(x, scale_factor=(1, 2, 3)),
    lambda x: functional.interpolate(x, size=(3, 4, 9), mode="nearest-exact"),
    lambda x: functional.interpolate(x, size=(3, 4, 5), mode="trilinear")]


def make_in_volumes():
    return make_each(IN_VOLUMES, VOLUMES)


def taps(x, *shape, start=0):
    """A weight with elements of x."""
    count = torch.Size(shape).numel()
    return x.flatten()[start:start + count].reshape(shape)


# Windows that have no element in common.
PATCHES = [
    lambda x: functional.conv2d(x, taps(x, 4, 3, 2, 3), x[0, 0, 0, :4], (2, 3)),
    lambda x: functional.conv2d(x, taps(x, 4, 3, 3, 2), None, (3, 2)),
    lambda x: functional.conv2d(x, taps(x, 4, 3, 1, 1), None, 2),
    lambda x: functional.conv2d(x, taps(x, 6, 1, 1, 2), x[0, 0, 0, :6], (1, 2), groups=3),
    lambda x: functional.conv2d(x[0], taps(x, 2, 3, 8, 9)),
    lambda x: functional.conv1d(x.flatten(2), taps(x, 2, 3, 5), None, 5),
    lambda x: functional.conv3d(x[:, None], taps(x, 4, 1, 1, 2, 3), None, (1, 2, 3)),
    lambda x: functional.conv_transpose2d(x, taps(x, 3, 2, 2, 1), x[0, 0, 0, :2], (2, 1)),
    lambda x: functional.conv_transpose1d(x.flatten(2), taps(x, 3, 2, 3), None, 3, groups=3),
    lambda x: torch.ops.aten.convolution(x, taps(x, 4, 3, 2, 3), None, (2, 3), (0, 0), (1, 1),
                                         False, (0, 0), 1)]


def make_patches():
    return make_each(PATCHES, IMAGES)


CONVOLUTIONS = [
    lambda x: functional.conv2d(x, taps(x, 4, 3, 3, 3), x[0, 0, 0, :4], 1, 1),
    lambda x: functional.conv2d(x, taps(x, 2, 3, 3, 2), None, (2, 1), (2, 1), (1, 2)),
    lambda x: functional.conv2d(x, taps(x, 6, 1, 3, 3), None, 2, 1, 1, 3),
    lambda x: functional.conv2d(x, taps(x, 4, 3, 4, 3), None, 1, "same", (1, 2)),
    lambda x: functional.conv2d(x, taps(x, 4, 3, 4, 3), None, 2, "valid"),
    lambda x: functional.conv2d(x, taps(x, 4, 3, 2, 2), None, 3),
    lambda x: functional.conv2d(x[0], taps(x, 4, 3, 2, 2), None, 1, 1),
    lambda x: functional.conv1d(x.flatten(2), taps(x, 4, 3, 5), x[0, 0, 0, :4], 2, 2),
    lambda x: functional.conv1d(x.flatten(2), taps(x, 3, 1, 4), None, 1, "same", 1, 3),
    lambda x: functional.conv3d(x[:, None], taps(x, 2, 1, 2, 3, 2), None, (1, 2, 2), 1),
    lambda x: functional.conv_transpose2d(x, taps(x, 3, 4, 3, 3), x[0, 0, 0, :4], 2, 1, 1),
    lambda x: functional.conv_transpose2d(x, taps(x, 3, 2, 2, 3), None, (1, 3), (2, 0), 0, 3),
    lambda x: functional.conv_transpose2d(x, taps(x, 3, 2, 2, 3), None, 2, 3, 1, 1, 2),
    lambda x: functional.conv_transpose1d(x.flatten(2), taps(x, 3, 2, 4), None, 2, 1),
    lambda x: functional.conv_transpose3d(x[:, None], taps(x, 1, 2, 2, 3, 2), None, 2, 1),
    lambda x: torch.ops.aten.convolution(x, taps(x, 4, 3, 2, 3), None, (2, 3), (1, 1), (2, 1),
                                         False, (0, 0), 1),
    lambda x: torch.ops.aten.convolution(x, taps(x, 3, 2, 2, 3), None, (2, 3), (1, 1), (1, 1),
                                         True, (1, 0), 1)]


def sum_windows(x, sizes, *settings):
    """Windows of images, whose elements are summed where they were."""
    return functional.fold(functional.unfold(x, *settings).cumsum(1), sizes, *settings)


FOLDED = [lambda x: sum_windows(x, (8, 9), (2, 3), 1, 0, (2, 3)),
          lambda x: sum_windows(x, (8, 9), 2, 1, 0, 2), lambda x: sum_windows(x, (8, 9), 3, 2, 1, 2),
          lambda x: sum_windows(x[0], (8, 9), (2, 3), 1, (1, 0), 1)]


def make_folded():
    return make_each(FOLDED, IMAGES)


def make_convolutions():
    return make_each(CONVOLUTIONS, IMAGES)


def make_narrow(dtype=torch.bfloat16):
    """Pools and convolutions that torch computes in f32 where their operands have 16 bits."""
    pools = [POOLS[i] for i in (0, 10, 15, 19, 22)]
    return Results(pools + CONVOLUTIONS, IMAGES).to(dtype).eval(), torch.ones(1, dtype=dtype)


def norm_by_moments(op, *options):
    """A batch norm as programs of ATen's ops have it."""
    def run(x):
        mean, variance = torch.arange(3) * 0.1, torch.arange(1.0, 4.0)
        return op(x, x[0, :, 0, 0], x[1, :, 0, 0], mean.to(x), variance.to(x), *options)[0]
    return run


ATEN = torch.ops.aten
NORMS = [norm_by_moments(ATEN.native_batch_norm, False, 0.1, 1e-3),
         norm_by_moments(ATEN._native_batch_norm_legit_no_training, 0.1, 1e-3)]
# Norms that run on GPUs alone.
DEVICE_NORMS = [norm_by_moments(ATEN.cudnn_batch_norm, False, 0.1, 1e-3),
                norm_by_moments(ATEN.miopen_batch_norm, False, 0.1, 1e-3)]


def make_norms():
    return make_each(NORMS, IMAGES)


def make_device_norms():
    return make_each(DEVICE_NORMS, IMAGES)


class Weighted(nn.Module):
    """Convolutions whose weights have a norm of their own, in each form."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        norm = nn.utils.parametrizations.weight_norm
        self.layers = nn.ModuleList([
            norm(nn.Conv1d(4, 4, 2, 2), dim=2), norm(nn.Conv1d(4, 4, 2, 2)),
            norm(nn.Linear(4, 4), dim=None)])

    def forward(self, x):
        y = self.layers[1](self.layers[0](x)).transpose(1, 2)
        return self.layers[2](y).square().sum()


def make_weighted():
    return Weighted().eval(), torch.zeros(2, 4, 8)


class Pooled(nn.Module):
    """Patches, a batch norm by fixed moments, pools and a head, with a loss."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.patches = nn.Conv2d(3, 16, 2, 2)
        self.norm = nn.BatchNorm2d(16)
        self.norm.running_mean.copy_(torch.linspace(-0.2, 0.2, 16))
        self.norm.running_var.copy_(torch.linspace(0.5, 2, 16))
        self.head = nn.Linear(16, 4)

    def forward(self, images, classes):
        x = functional.relu(self.norm(self.patches(images)))
        x = functional.avg_pool2d(functional.max_pool2d(x, 3, 2, 1), 3, 1, 1)
        x = functional.interpolate(x, scale_factor=2) + functional.adaptive_max_pool2d(x, 8)
        x = functional.adaptive_avg_pool2d(x, 1).flatten(1)
        return functional.cross_entropy(self.head(x), classes)


def make_pooled():
    return Pooled().eval(), torch.zeros(4, 3, 16, 16), torch.zeros(4, dtype=torch.long)


# Modules that cannot be imported.


def refuse_positions():
    return make_each([lambda x: functional.max_pool2d(x, 2, return_indices=True)[1]], IMAGES)


def refuse_integers():
    return make_each([lambda x: x * functional.max_pool2d(x.long(), 1)], IMAGES[..., :4])


def refuse_moments():
    return make_each([lambda x: ATEN.native_batch_norm(x, None, None, None, None, True, 0.1,
                                                       1e-3)[1]], IMAGES)


def refuse_training():
    return Pooled(), torch.zeros(4, 3, 16, 16), torch.zeros(4, dtype=torch.long)
