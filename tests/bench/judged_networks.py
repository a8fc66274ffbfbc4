"""Networks that published rows ran and that models/workload/zoo does not have, as text of schema paceline.network/1.

Each is checked against the number of its parameters, from the source beside it or from the shapes alone.
"""


class Network:
    """Layers in forward order, and what of parameters they have."""

    def __init__(self, name, sample):
        self.parameters = 0
        self.tensors = 0
        self.lines = [f"schema: paceline.network/1\nname: {name}\nsample: {{{sample}}}\nlayers:"]

    def layer(self, text, *tensors):
        self.lines.append(f"  - {{{text}}}")
        self.parameters += sum(tensors)
        self.tensors += len(tensors)

    def conv(self, name, inputs, outputs, kernel, stride, size, bias=False, groups=1):
        text = f"conv: {name}, in: {inputs}, out: {outputs}, kernel: {kernel}, stride: {stride}, out_size: {size}"
        text += (f", groups: {groups}" if groups > 1 else "") + (", bias: true" if bias else "")
        self.layer(text, outputs * inputs // groups * kernel**2, *([outputs] if bias else []))

    def bn(self, name, channels, size):
        self.layer(f"batchnorm: {name}, channels: {channels}, size: {size}", channels, channels)

    def relu(self, name, elements):
        self.layer(f"elementwise: {name}, elements: {elements}, keeps: output")

    def add(self, name, elements):
        self.layer(f"elementwise: {name}, elements: {elements}, inputs: 2")

    def pool(self, name, channels, size_in, size_out, keeps=""):
        self.layer(f"pool: {name}, channels: {channels}, in_size: {size_in}, out_size: {size_out}{keeps}")

    def mean(self, name, channels, size):
        self.pool(name, channels, size, 1, ", keeps: nothing")

    def linear(self, name, inputs, outputs, rows="1", bias=True):
        tail = (f", rows: {rows}" if rows != "1" else "") + ("" if bias else ", bias: false")
        self.layer(f"linear: {name}, in: {inputs}, out: {outputs}{tail}", inputs * outputs, *([outputs] if bias else []))

    def conv_relu(self, name, inputs, outputs, kernel, stride, size, groups=1):
        self.conv(name, inputs, outputs, kernel, stride, size, bias=True, groups=groups)
        self.relu(f"{name}.relu", outputs * size**2)

    def conv_bn_relu(self, name, inputs, outputs, kernel, stride, size, groups=1):
        self.conv(f"{name}.conv", inputs, outputs, kernel, stride, size, groups=groups)
        self.bn(f"{name}.bn", outputs, size)
        self.relu(f"{name}.relu", outputs * size**2)

    def text(self, parameters):
        if self.parameters != parameters:
            raise AssertionError(f"{self.lines[0]}: {self.parameters} parameters, not {parameters}")
        return "\n".join(self.lines) + "\n"


def stem(net):
    net.conv_bn_relu("conv1", 3, 64, 7, 2, 112)
    net.pool("maxpool", 64, 112, 56)


def resnet152():
    """Bottleneck blocks 3-8-36-3, as models/workload/zoo/resnet101.yaml has its own; torchvision's has 60,192,808."""
    net = Network("resnet152", "image_size: 224")
    stem(net)
    inputs = 64
    for stage, (blocks, width, size) in enumerate([(3, 64, 56), (8, 128, 28), (36, 256, 14), (3, 512, 7)], 1):
        for block in range(blocks):
            name, stride = f"layer{stage}.{block}", 2 if block == 0 and stage > 1 else 1
            net.conv_bn_relu(f"{name}.1", inputs, width, 1, 1, size * stride)
            net.conv_bn_relu(f"{name}.2", width, width, 3, stride, size)
            net.conv(f"{name}.conv3", width, 4 * width, 1, 1, size)
            net.bn(f"{name}.bn3", 4 * width, size)
            if block == 0:
                net.conv(f"{name}.downsample.0", inputs, 4 * width, 1, stride, size)
                net.bn(f"{name}.downsample.1", 4 * width, size)
            net.add(f"{name}.add", 4 * width * size**2)
            net.relu(f"{name}.relu3", 4 * width * size**2)
            inputs = 4 * width
    net.mean("avgpool", 2048, 7)
    net.linear("fc", 2048, 1000)
    return net.text(60192808)


def resnet_v2(layers):
    """Pre-activation blocks as tf_cnn_benchmarks has them (models/resnet_model.py, bottleneck_block_v2): each has a batch
    normalisation of its input, two within, and none after; convolutions without bias, a shortcut without normalisation."""
    net = Network(f"resnet{layers}_v2", "image_size: 224")
    stem(net)
    inputs, deep = 64, {50: 6, 101: 23}[layers]
    for stage, (blocks, width, size) in enumerate([(3, 64, 56), (4, 128, 28), (deep, 256, 14), (3, 512, 7)], 1):
        for block in range(blocks):
            name, stride = f"block{stage}.{block}", 2 if block == 0 and stage > 1 else 1
            net.bn(f"{name}.preact.bn", inputs, size * stride)
            net.relu(f"{name}.preact.relu", inputs * (size * stride) ** 2)
            if block == 0:
                net.conv(f"{name}.shortcut", inputs, 4 * width, 1, stride, size)
            net.conv_bn_relu(f"{name}.1", inputs, width, 1, stride, size)
            net.conv_bn_relu(f"{name}.2", width, width, 3, 1, size)
            net.conv(f"{name}.conv3", width, 4 * width, 1, 1, size)
            net.add(f"{name}.add", 4 * width * size**2)
            inputs = 4 * width
    net.bn("postnorm.bn", 2048, 7)
    net.relu("postnorm.relu", 2048 * 49)
    net.mean("mean", 2048, 7)
    net.linear("fc", 2048, 1000)
    # Convolutions and the linear layer as in version 1 (25,557,032 and 44,549,160 less its normalisations'
    # 2 x 26,560 and 2 x 52,672), and 2 x (64 of the stem, 2048 at the end, inputs and two widths a block).
    return net.text({50: 25503912 + 2 * 22784, 101: 44443816 + 2 * 48896}[layers])


def alexnet():
    """The network of 2012 with its two groups: 60,965,224 parameters in 16 tensors."""
    net = Network("alexnet", "image_size: 227")
    net.conv_relu("conv1", 3, 96, 11, 4, 55)
    net.pool("pool1", 96, 55, 27)
    net.conv_relu("conv2", 96, 256, 5, 1, 27, groups=2)
    net.pool("pool2", 256, 27, 13)
    net.conv_relu("conv3", 256, 384, 3, 1, 13)
    net.conv_relu("conv4", 384, 384, 3, 1, 13, groups=2)
    net.conv_relu("conv5", 384, 256, 3, 1, 13, groups=2)
    net.pool("pool5", 256, 13, 6)
    for name, inputs, outputs in (("fc6", 9216, 4096), ("fc7", 4096, 4096), ("fc8", 4096, 1000)):
        net.linear(name, inputs, outputs)
    return net.text(60965224)


def googlenet():
    """Inception of 2014 with both of its auxiliary classifiers: 13,378,280 parameters, 6,998,552 of them its own."""
    net = Network("googlenet", "image_size: 224")
    net.conv_relu("conv1", 3, 64, 7, 2, 112)
    net.pool("pool1", 64, 112, 56)
    net.conv_relu("conv2.reduce", 64, 64, 1, 1, 56)
    net.conv_relu("conv2", 64, 192, 3, 1, 56)
    net.pool("pool2", 192, 56, 28)
    inputs, size = 192, 28
    # 1 x 1; 3 x 3 and its reduction; 5 x 5 and its own; after the pool.
    for name, one, reduce3, three, reduce5, five, pooled in [
            ("3a", 64, 96, 128, 16, 32, 32), ("3b", 128, 128, 192, 32, 96, 64), ("4a", 192, 96, 208, 16, 48, 64),
            ("4b", 160, 112, 224, 24, 64, 64), ("4c", 128, 128, 256, 24, 64, 64), ("4d", 112, 144, 288, 32, 64, 64),
            ("4e", 256, 160, 320, 32, 128, 128), ("5a", 256, 160, 320, 32, 128, 128),
            ("5b", 384, 192, 384, 48, 128, 128)]:
        if name in ("4a", "5a"):
            net.pool(f"pool{name[0]}", inputs, size, size // 2)
            size //= 2
        net.conv_relu(f"{name}.1x1", inputs, one, 1, 1, size)
        net.conv_relu(f"{name}.3x3.reduce", inputs, reduce3, 1, 1, size)
        net.conv_relu(f"{name}.3x3", reduce3, three, 3, 1, size)
        net.conv_relu(f"{name}.5x5.reduce", inputs, reduce5, 1, 1, size)
        net.conv_relu(f"{name}.5x5", reduce5, five, 5, 1, size)
        net.pool(f"{name}.pool", inputs, size, size)
        net.conv_relu(f"{name}.pool.project", inputs, pooled, 1, 1, size)
        inputs = one + three + five + pooled
        if name in ("4a", "4d"):
            net.pool(f"{name}.aux.pool", inputs, 14, 4, ", keeps: nothing")
            net.conv_relu(f"{name}.aux.conv", inputs, 128, 1, 1, 4)
            net.linear(f"{name}.aux.fc", 2048, 1024)
            net.linear(f"{name}.aux.classifier", 1024, 1000)
    net.mean("mean", 1024, 7)
    net.linear("classifier", 1024, 1000)
    return net.text(13378280)


def rms_norm(net, name):
    """A weight, and no bias, which a layernorm would have."""
    net.layer(f"parameter: {name}.weight, count: 1600", 1600)
    net.layer(f"elementwise: {name}, elements_per_token: 1600")


def cs336_xl():
    """The XL transformer of CS336's second assignment as scenarios/library/networks/cs336-xl.yaml has it, but with the
    projections of queries, keys and values apart, which have a call each: 435 tensors, as told."""
    net = Network("cs336_xl", "sequence: 128")
    net.layer("embedding: token_embeddings, rows: 10000, columns: 1600, lookups: sequence", 16000000)
    for i in range(48):
        name = f"layers.{i}"
        rms_norm(net, f"{name}.ln1")
        for one in "qkv":
            net.linear(f"{name}.{one}_proj", 1600, 1600, rows="sequence", bias=False)
        net.layer(f"attention: {name}.attn, heads: 25, head_size: 64")
        net.linear(f"{name}.output_proj", 1600, 1600, rows="sequence", bias=False)
        net.layer(f"elementwise: {name}.add1, elements_per_token: 1600, inputs: 2")
        rms_norm(net, f"{name}.ln2")
        net.linear(f"{name}.w1", 1600, 6400, rows="sequence", bias=False)
        net.linear(f"{name}.w3", 1600, 6400, rows="sequence", bias=False)
        net.layer(f"elementwise: {name}.silu, elements_per_token: 6400")
        net.layer(f"elementwise: {name}.times, elements_per_token: 6400, inputs: 2")
        net.linear(f"{name}.w2", 6400, 1600, rows="sequence", bias=False)
        net.layer(f"elementwise: {name}.add2, elements_per_token: 1600, inputs: 2")
    rms_norm(net, "ln_final")
    net.linear("lm_head", 1600, 10000, rows="sequence", bias=False)
    net.layer("elementwise: loss, elements_per_token: 10000, keeps: fp32_output")
    assert net.tensors == 435
    # 48 x (4 x 1600^2 + 3 x 1600 x 6400 + 2 x 1600) + 1600 + 2 x 16,000,000
    return net.text(48 * (4 * 1600**2 + 3 * 1600 * 6400 + 3200) + 1600 + 32000000)


def word_language_model():
    """The transformer of PyTorch's example of that name with 4 layers of 512, 8 heads, 1,024 words, 512 tokens: an encoder
    whose layers are normalised after their sums, a decoder of its own, positions in a buffer of 5,000 x 512 fp32."""
    net = Network("word_language_model", "sequence: 512")
    net.layer("embedding: encoder, rows: 1024, columns: 512, lookups: sequence", 524288)
    net.layer("buffer: pos_encoder.pe, count: 1280000")
    net.layer("elementwise: pos_encoder, elements_per_token: 512, inputs: 2")
    for i in range(4):
        name = f"layers.{i}"
        net.linear(f"{name}.in_proj", 512, 1536, rows="sequence")
        net.layer(f"attention: {name}.attn, heads: 8, head_size: 64")
        net.linear(f"{name}.out_proj", 512, 512, rows="sequence")
        net.layer(f"elementwise: {name}.add1, elements_per_token: 512, inputs: 2")
        net.layer(f"layernorm: {name}.norm1, features: 512, rows: sequence", 512, 512)
        net.linear(f"{name}.linear1", 512, 512, rows="sequence")
        net.layer(f"elementwise: {name}.relu, elements_per_token: 512, keeps: output")
        net.linear(f"{name}.linear2", 512, 512, rows="sequence")
        net.layer(f"elementwise: {name}.add2, elements_per_token: 512, inputs: 2")
        net.layer(f"layernorm: {name}.norm2, features: 512, rows: sequence", 512, 512)
    net.linear("decoder", 512, 1024, rows="sequence")
    net.layer("elementwise: loss, elements_per_token: 1024, keeps: fp32_output")
    # Of a layer 6 x 512^2 weights, 6 x 512 biases and two normalisations.
    return net.text(1024 * 512 + 4 * (6 * 512**2 + 6 * 512 + 4 * 512) + 512 * 1024 + 1024)


ALL = {"resnet152": resnet152, "resnet50-v2": lambda: resnet_v2(50), "resnet101-v2": lambda: resnet_v2(101), "alexnet": alexnet,
       "word-language-model": word_language_model, "googlenet": googlenet, "cs336-xl": cs336_xl}
