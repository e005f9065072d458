"""Models of timm and torchvision, for imported_models.py --table vision: a small one of each
architecture, in eval mode, on two images. Parameters whose elements are equal, such as those of
norms and biases, are moved by random numbers, and so are the moments of batch norms: a zero hides
what it multiplies."""

CLASSES = 10
# Sizes of small transformers, of patches of small images, and of models in four stages.
SMALL = {"embed_dim": 64, "depth": 2, "num_heads": 4}
PATCHES = {"img_size": 32, "patch_size": 8}
DIMS, ONCE = (16, 32, 48, 64), (1, 1, 1, 1)
MIXER = {**PATCHES, "num_blocks": 2, "embed_dim": 64}
SWIN = {"img_size": 32, "window_size": 4, "embed_dim": 32, "depths": (2, 2), "num_heads": (2, 4)}


def create(name, size=32, **sizes):
    """A model of timm or torchvision by its name, and the size of its images."""
    def make_model(package):
        if package.__name__ == "timm":
            return package.create_model(name, num_classes=CLASSES, **sizes)
        return getattr(package.models, name)(num_classes=CLASSES, **sizes)
    return size, make_model


def build(path, size=32, **sizes):
    """A model by its class, where the named models have fixed sizes. Texts that begin with a dot
    are classes, too."""
    def find(package, name):
        for part in name.strip(".").split("."):
            package = getattr(package, part)
        return package

    def make_model(package):
        given = {key: find(package.models, value)
                 if isinstance(value, str) and value.startswith(".") else value
                 for key, value in sizes.items()}
        return find(package.models, path)(num_classes=CLASSES, **given)
    return size, make_model


def make_mvit(timm):
    kind = timm.models.mvitv2
    return kind.MultiScaleVit(kind.MultiScaleVitCfg(depths=ONCE, embed_dim=16), img_size=64,
                              num_classes=CLASSES)


def make_convnext(torchvision):
    kind = torchvision.models.convnext
    stages = [kind.CNBlockConfig(*sizes) for sizes in ((16, 32, 1), (32, 48, 1), (48, None, 1))]
    return kind.ConvNeXt(stages, num_classes=CLASSES)


def make_vgg(torchvision):
    """A VGG-11 with classifiers of width 64."""
    import torch
    model = torchvision.models.vgg11_bn()
    model.classifier = torch.nn.Sequential(
        torch.nn.Linear(512 * 7 * 7, 64), torch.nn.ReLU(), torch.nn.Dropout(),
        torch.nn.Linear(64, CLASSES))
    return model


# Models by package and name.
MODELS = {
    "timm_beit": create("beit_base_patch16_224", **PATCHES, **SMALL),
    "timm_bit": build("resnetv2.ResNetV2", layers=ONCE, channels=(128, 128, 256, 256), stem_chs=32,
                      stem_type="fixed", conv_layer=".resnetv2.StdConv2d"),
    "timm_cait": create("cait_xxs24_224", **PATCHES, **SMALL),
    "timm_coat": create("coat_lite_tiny", 64, img_size=64, embed_dims=DIMS, serial_depths=ONCE,
                        num_heads=8),
    "timm_convit": create("convit_tiny", **PATCHES, embed_dim=16, depth=4, num_heads=4,
                          local_up_to_layer=2),
    "timm_convmixer": build("convmixer.ConvMixer", dim=32, depth=2, kernel_size=3, patch_size=4),
    "timm_convnext": create("convnext_atto", depths=ONCE, dims=DIMS),
    "timm_convnextv2": create("convnextv2_atto", depths=ONCE, dims=DIMS),
    "timm_crossvit": create("crossvit_tiny_240", 48, img_size=48, img_scale=(1.0, 32 / 48),
                            patch_size=(12, 8), embed_dim=(32, 64), depth=((1, 1, 0),),
                            num_heads=(4, 4), mlp_ratio=(2, 2, 1)),
    "timm_davit": create("davit_tiny", 64, depths=(1, 1), embed_dims=(32, 64), num_heads=(2, 4),
                         window_size=4),
    "timm_deit": create("deit_tiny_distilled_patch16_224", **PATCHES, **SMALL),
    "timm_deit3": create("deit3_small_patch16_224", **PATCHES, **SMALL),
    "timm_densenet": create("densenet121", growth_rate=8, block_config=(2, 2, 2)),
    "timm_edgenext": create("edgenext_xx_small", 64, depths=(1, 1, 2, 1), dims=DIMS),
    "timm_efficientformer": create("efficientformer_l1", 224, depths=(1, 1, 1, 2),
                                   embed_dims=DIMS),
    "timm_efficientnet": create("efficientnet_b0"),
    "timm_eva02": create("eva02_tiny_patch14_224", **PATCHES, **SMALL),
    "timm_focalnet": build("focalnet.FocalNet", embed_dim=16, depths=ONCE),
    "timm_ghostnet": create("ghostnet_050"),
    "timm_gmlp": build("mlp_mixer.MlpMixer", **MIXER, mlp_ratio=6,
                       block_layer=".mlp_mixer.SpatialGatingBlock",
                       mlp_layer=".mlp_mixer.GatedMlp"),
    "timm_hiera": create("hiera_tiny_224", 64, img_size=(64, 64), embed_dim=16, num_heads=1,
                         stages=ONCE),
    "timm_levit": create("levit_128s", 64, img_size=64, embed_dim=(32, 48, 64),
                         num_heads=(2, 3, 4), depth=(1, 1, 1), key_dim=16),
    "timm_maxvit": create("maxvit_pico_rw_256", 64, img_size=64),
    "timm_mixer": build("mlp_mixer.MlpMixer", **MIXER),
    "timm_mobilenetv3": create("mobilenetv3_small_050"),
    "timm_mobilevit": create("mobilevit_xxs", 64),
    "timm_mobilevitv2": create("mobilevitv2_050", 64),
    "timm_mvitv2": (64, make_mvit),
    "timm_naflexvit": create("naflexvit_base_patch16_gap", patch_size=8, **SMALL),
    "timm_nest": build("nest.Nest", img_size=32, patch_size=4, num_levels=2, embed_dims=(32, 64),
                       num_heads=(2, 4), depths=(1, 1)),
    "timm_pit": create("pit_ti_224", **PATCHES, stride=4, base_dims=(16, 16), depth=(1, 1),
                       heads=(2, 4)),
    "timm_poolformer": build("metaformer.MetaFormer", depths=ONCE, dims=DIMS, downsample_norm=None,
                             norm_layers=".metaformer.GroupNorm1", use_mlp_head=False),
    "timm_pvtv2": create("pvt_v2_b0", depths=ONCE, embed_dims=DIMS, num_heads=(1, 2, 3, 4)),
    "timm_regnetx": create("regnetx_002"),
    "timm_regnety": create("regnety_002"),
    "timm_resmlp": build("mlp_mixer.MlpMixer", **MIXER, mlp_ratio=4,
                         block_layer=".mlp_mixer.ResBlock",
                         norm_layer=".mlp_mixer.Affine"),
    "timm_resnet": create("resnet18", channels=DIMS),
    "timm_swin": create("swin_tiny_patch4_window7_224", **SWIN),
    "timm_swinv2": create("swinv2_tiny_window8_256", **SWIN),
    "timm_twins": create("twins_svt_small", 64, img_size=64, embed_dims=DIMS, depths=ONCE,
                         num_heads=(1, 2, 3, 4), wss=(4, 4, 4, 2)),
    "timm_visformer": create("visformer_tiny", 64, img_size=64, init_channels=16, embed_dim=64,
                             depth=(1, 1, 1), num_heads=4),
    "timm_vit": create("vit_tiny_patch16_224", **PATCHES, **SMALL),
    "timm_vit_relpos": create("vit_relpos_small_patch16_224", **PATCHES, **SMALL),
    "timm_volo": build("volo.VOLO", 64, img_size=64, layers=ONCE, embed_dims=(32, 64, 64, 64),
                       num_heads=(2, 4, 4, 4)),
    "timm_xcit": create("xcit_nano_12_p16_224", **PATCHES, **SMALL),
    "torchvision_convnext": (32, make_convnext),
    "torchvision_densenet": build("DenseNet", growth_rate=8, block_config=(2, 2, 2)),
    "torchvision_efficientnet": create("efficientnet_b0"),
    "torchvision_googlenet": create("googlenet", aux_logits=False, init_weights=False),
    "torchvision_mnasnet": create("mnasnet0_5"),
    "torchvision_mobilenetv2": create("mobilenet_v2", width_mult=0.25),
    "torchvision_mobilenetv3": create("mobilenet_v3_small"),
    "torchvision_regnety": create("regnet_y_400mf"),
    "torchvision_resnet": create("resnet18"),
    "torchvision_shufflenet": create("shufflenet_v2_x0_5"),
    "torchvision_squeezenet": create("squeezenet1_1"),
    "torchvision_swin": build("SwinTransformer", patch_size=(4, 4), embed_dim=32, depths=(2, 2),
                              num_heads=(2, 4), window_size=(4, 4)),
    "torchvision_vgg": (32, make_vgg),
    "torchvision_vit": build("VisionTransformer", image_size=32, patch_size=8, num_layers=2,
                             num_heads=4, hidden_dim=64, mlp_dim=128),
}


def import_torchvision():
    """torchvision, also where its library does not load, as one for GPUs beside a torch for
    processors: then it lacks the ops whose shapes it describes."""
    import torch
    try:
        import torchvision
    except RuntimeError:
        for name in ("nms", "qnms"):
            torch.library.define(f"torchvision::{name}", "(Tensor x, Tensor y, float z) -> Tensor")
        import torchvision
    return torchvision


def move_constants(model):
    """Adds random numbers to the parameters whose elements are equal, and to the moments of batch
    norms."""
    import torch
    with torch.no_grad():
        for parameter in model.parameters():
            if bool((parameter == parameter.flatten()[0]).all()):
                parameter.add_(torch.randn(parameter.shape), alpha=0.2)
        for name, buffer in model.named_buffers():
            if name.endswith("running_mean"):
                buffer.add_(torch.randn(buffer.shape), alpha=0.2)
            elif name.endswith("running_var"):
                buffer.add_(torch.rand(buffer.shape))


def make(name):
    """The module of a model and example images."""
    import torch
    # timm imports it, too.
    package = import_torchvision()
    if name.startswith("timm_"):
        import timm as package
    torch.manual_seed(0)
    size, make_model = MODELS[name]
    model = make_model(package).eval()
    move_constants(model)
    return model, torch.zeros(2, 3, size, size)


for _name in MODELS:
    globals()[f"make_{_name}"] = lambda name=_name: make(name)
