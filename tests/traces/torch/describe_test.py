#!/usr/bin/python3
"""paceline_describe on models of torch, and paceline on what it wrote.

Usage: describe_test.py --paceline PROGRAM. Exits with 77 where there is no torch.
"""
import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"  # the one that has Debian's torch
MISSING = 77
asked = None  # the arguments

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError:
    if os.path.realpath(sys.executable) != os.path.realpath(PYTHON) and os.path.exists(PYTHON):
        os.execv(PYTHON, [PYTHON] + sys.argv)
    print("no torch here")
    sys.exit(MISSING)
sys.path.insert(0, os.path.join(HERE, "../../../traces/torch"))
from paceline_describe import describe  # noqa: E402


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 1, groups=2), nn.BatchNorm2d(width)

    def forward(self, value):
        made = F.relu(self.bn1(self.conv1(value)))
        return F.relu(value + self.bn2(self.conv2(made)))


class Language(nn.Module):
    """A head that shares the embedding's weight; an encoder; positions as a parameter."""

    def __init__(self, vocabulary=50, width=16, length=6, layers=3):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.positions = nn.Parameter(torch.zeros(1, length, width))
        self.blocks = nn.ModuleList([
            nn.TransformerEncoderLayer(width, 4, 4 * width, batch_first=True)
            for _ in range(layers)])
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens=None):
        value = self.embed(tokens) + self.positions
        for block in self.blocks:
            value = block(value)
        return {"logits": self.head(value)}


@dataclasses.dataclass
class Output:
    first: "torch.Tensor"
    rest: tuple


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared, self.unused = nn.Linear(8, 8), nn.Linear(3, 3)
        self.frozen = nn.Linear(8, 4)
        self.frozen.weight.requires_grad_(False)

    def forward(self, value):
        value = self.shared(torch.tanh(self.shared(value)))
        return Output(self.frozen(value), (value,))


class Describe(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.path = os.path.join(self.temporary.name, "network.json")

    def described(self, model, batch, **more):
        """The layers, with blocks written out."""
        describe(model, batch, self.path, **more)
        with open(self.path, encoding="utf-8") as file:
            network = json.load(file)
        layers = []
        for layer in network["layers"]:
            for i in range(layer.get("from", 0), layer.get("from", 0) + layer.get("repeat", 0)):
                layers += [{**one, "module": one["module"].replace("{i}", str(i))}
                           for one in layer["layers"]]
            if "repeat" not in layer:
                layers.append(layer)
        self.network = network
        return layers

    @staticmethod
    def parameters(layers):
        total = 0
        for layer in layers:
            total += layer.get("count", 0)
            for tensor in layer.get("parameters", []):
                total += torch.Size(tensor["shape"]).numel()
        return total

    def tensors_read(self):
        ended = subprocess.run([asked.paceline, "buckets", self.path, "--json", "-"], check=False,
                               capture_output=True, text=True)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        buckets = json.loads(ended.stdout)["buckets"]
        return sum(bucket["elements"] for bucket in buckets)

    def check_parameters(self, model, layers):
        count = sum(parameter.numel() for parameter in model.parameters())
        self.assertEqual(self.parameters(layers), count)
        self.assertEqual(self.tensors_read(), count)

    def test_convolutions_and_functions(self):
        # Of 10 x 10 images: 2 * 4 * 3 * 9 * 100, then per block 2 * 4 * 4 * 9 * 100 and, in two
        # groups, 2 * 4 * 2 * 100; 2 * 4 * 5 of the linear layer.
        model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), Residual(4), Residual(4),
                              nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 5))
        before = [buffer.clone() for buffer in model.buffers()]
        layers = self.described(model, torch.randn(3, 3, 10, 10))
        self.check_parameters(model, layers)
        self.assertEqual(sum(layer.get("flops", 0) for layer in layers),
                         21600 + 2 * (28800 + 1600) + 40)
        block = [(layer["module"], layer.get("op"), layer["kind"]) for layer in layers[1:8]]
        self.assertEqual(block, [
            ("1.conv1", None, "convolution"), ("1.bn1", None, "batchnorm"),
            ("1", "relu", "elementwise"), ("1.conv2", None, "grouped_convolution"),
            ("1.bn2", None, "batchnorm"), ("1", "add", "elementwise"), ("1", "relu", "elementwise")])
        self.assertEqual((layers[6]["in"], layers[6]["out"], layers[6]["keeps"]),
                         (800, 400, "nothing"))
        self.assertEqual(len(layers[2]["buffers"]), 3)
        for buffer, was in zip(model.buffers(), before):
            self.assertTrue(torch.equal(buffer, was))

    def test_language_model_with_a_tied_head(self):
        model, tokens = Language(), torch.zeros(2, 6, dtype=torch.long)
        layers = self.described(model, {"tokens": tokens}, sequence=6)
        self.check_parameters(model, layers)
        # 12 width^2 weights a layer and the head, 2 FLOP a token each; 4 * 6 * 6 * 16 of attention.
        self.assertEqual(sum(layer.get("flops", 0) for layer in layers),
                         3 * (2 * 6 * 12 * 256 + 4 * 36 * 16) + 2 * 6 * 16 * 50)
        self.assertEqual(layers[-1], {"module": "head", "kind": "linear", "flops": 9600, "in": 96,
                                      "out": 300, "weights": 800})
        attention = [layer for layer in layers if layer["kind"] == "attention"]
        self.assertEqual([layer["scores"] for layer in attention], [4 * 36] * 3)
        self.assertEqual([layer["repeat"] for layer in self.network["layers"]
                          if "repeat" in layer], [3])
        self.assertEqual(self.network["sample"], {"sequence": 6})
        positions = [layer["module"] for layer in layers
                     if any(tensor["name"] == "positions" for tensor in layer.get("parameters", []))]
        self.assertEqual(positions, ["add"])

    def test_module_that_is_called_twice(self):
        model = Twice()
        layers = self.described(model, (torch.zeros(4, 8),))
        self.assertEqual(self.parameters(layers), sum(one.numel() for one in model.parameters()))
        shared = [layer for layer in layers if layer.get("module") == "shared"]
        self.assertEqual(["parameters" in layer for layer in shared], [True, False])
        self.assertEqual([layer["flops"] for layer in shared], [128, 128])
        self.assertEqual(layers[-2:], [{"parameter": "unused.weight", "count": 9},
                                       {"parameter": "unused.bias", "count": 3}])
        frozen = [layer for layer in layers if layer.get("module") == "frozen"]
        self.assertEqual([tensor.get("frozen", False) for tensor in frozen[0]["parameters"]],
                         [True, False])

    def test_device_meta_and_halves(self):
        model = Language(vocabulary=50000, width=1024, length=6).to("meta").to(torch.bfloat16)
        layers = self.described(model, torch.zeros(2, 6, dtype=torch.long, device="meta"))
        self.check_parameters(model, layers)
        self.assertEqual(layers[0]["parameters"][0]["type"], "bf16")

    def test_recurrent_module_is_one_layer(self):
        model = nn.Sequential(nn.LSTM(4, 8))
        layers = self.described(model, torch.zeros(30, 2, 4))
        self.check_parameters(model, layers)
        # 32 x 4 and 32 x 8 weights, 30 steps of 2 sequences; the first length counts as samples.
        self.assertEqual([layer["flops"] for layer in layers], [2 * 2 * (128 + 256)])

    def test_resnet50_has_the_buckets_and_the_work_of_the_shipped_one(self):
        try:
            import torchvision
        except ImportError:
            self.skipTest("no torchvision")
        model = torchvision.models.resnet50()
        layers = self.described(model, torch.zeros(2, 3, 224, 224))
        self.check_parameters(model, layers)
        told = [subprocess.run([asked.paceline, "buckets", model], check=True, text=True,
                               capture_output=True).stdout.split("\n\n", maxsplit=1)[0]
                for model in ("resnet50", self.path)]
        self.assertEqual(told[0], told[1])
        # 4.09 billion multiply-adds, as torchvision's page of the model has it.
        self.assertAlmostEqual(sum(layer.get("flops", 0) for layer in layers) / 8.18e9, 1, 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--paceline", required=True)
    asked, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0]] + rest)
