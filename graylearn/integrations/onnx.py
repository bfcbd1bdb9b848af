"""ONNX: a fitted GrayClassifier of rows as one file, encoding included, for runtimes without torch or Python.

save_model(classifier, "model.onnx")
onnxruntime.InferenceSession("model.onnx").run(None, inputs)    # class, probabilities, ood_score, rejected

A classifier of arrays reads one input, X (N, columns) of float64. One of frames reads an input a column, (N,)
each: float64 for numbers and bools, text for words, in capitals or not; NaN and "" are missing. As in the
classifier, features are rounded to float32 and all else is float64, so that the answers agree to the last
digits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import graylearn
from graylearn.data.column_kinds import split_kind
from graylearn.data.encode import HUGE, TableEncoder
from graylearn.data.written import writing
from graylearn.errors import SettingsError
from graylearn.estimator import GrayClassifier
from graylearn.estimator.models import is_model
from graylearn.estimator.rejection import REJECT_AT, limit_at
from graylearn.lazy import require
from graylearn.training.mlp import mlp_layers

KIND = "ONNX model"
OUTPUTS = ("class", "probabilities", "ood_score", "rejected")
_OPSETS = {"": 18, "ai.onnx.ml": 3}
_IR_VERSION = 8
"""What opset 18 came with: runtimes since 2023 read it."""


def save_model(classifier: GrayClassifier, path: str | Path, *, reject_at: float = REJECT_AT) -> None:
    """Write the classifier as an ONNX file with four outputs.

    class (N,) is the most probable one, probabilities is (N, K) in the order of `classes_`, ood_score (N,) as
    the classifier's, and rejected (N,) whether it exceeds the limit that `reject_at` stands for in `predict`.
    """
    onnx = require("onnx", "serve")
    layers = _layers(classifier)
    limit = limit_at(reject_at, classifier.reference_["quantiles"], "reject_at")
    graph = _Graph(onnx)
    features = _encoded(graph, classifier)
    hidden = graph.double(graph.add("Cast", features, to=graph.kinds.FLOAT))
    for weight, bias in layers[:-1]:
        hidden = graph.add("Relu", graph.linear(hidden, weight, bias))
    logits = graph.linear(hidden, *layers[-1])
    best = graph.add("ArgMax", logits, axis=1, keepdims=0)
    graph.add("Gather", graph.constant(_plain(classifier.classes_)), best, name="class")
    graph.add("Softmax", logits, axis=1, name="probabilities")
    _score(graph, logits, hidden, classifier.reference_)
    graph.add("Greater", "ood_score", graph.constant(np.float64(limit)), name="rejected")
    model = graph.model(_plain(classifier.classes_).dtype)
    about = {"graylearn": graylearn.__version__, "reject_at": str(reject_at)}
    onnx.helper.set_model_props(model, about)
    onnx.checker.check_model(model)
    with writing(path, KIND) as partial:
        partial.write_bytes(model.SerializeToString())


class _Graph:
    """A graph that grows node by node; each gives the name of what it makes."""

    def __init__(self, onnx: Any) -> None:
        self.onnx, self.helper, self.kinds = onnx, onnx.helper, onnx.TensorProto
        self.inputs: list[Any] = []
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def input(self, name: str, kind: int, *shape: int) -> str:
        """Something that is given for each sample."""
        if name in OUTPUTS:
            raise SettingsError(f"a column is called {name!r}, as an output of the model is: rename it")
        if not name or name.startswith("/"):  # as what is made inside the model is called
            raise SettingsError(f"a column is called {name!r}, which no input of a model may be: rename it")
        self.inputs.append(self.helper.make_tensor_value_info(name, kind, ["N", *shape]))
        return name

    def constant(self, values: Any) -> str:
        """Numbers or texts that are the same for all samples."""
        name = f"/constant {len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def add(self, operator: str, *given: str, name: str = "", domain: str = "", **options: Any) -> str:
        """What an operator makes of what is given."""
        made = name or f"/{operator} {len(self.nodes)}"
        self.nodes.append(self.helper.make_node(operator, list(given), [made], domain=domain, **options))
        return made

    def double(self, given: str) -> str:
        """The same in float64."""
        return self.add("Cast", given, to=self.kinds.DOUBLE)

    def linear(self, rows: str, weight: NDArray[Any], bias: NDArray[Any]) -> str:
        """A linear layer; its weights are kept in the type they have."""
        return self.add(
            "Gemm", rows, self.double(self.constant(weight)), self.double(self.constant(bias)), transB=1
        )

    def column(self, rows: str) -> str:
        """(N,) -> (N, 1)."""
        return self.add("Unsqueeze", rows, self.constant(np.array([1])))

    def total(self, rows: str, keepdims: int = 0) -> str:
        """The sum of each row."""
        return self.add("ReduceSum", rows, self.constant(np.array([1])), keepdims=keepdims)

    def model(self, classes: np.dtype[Any]) -> Any:
        """The whole, with its outputs."""
        texts = classes.kind == "O"
        kind = self.kinds.STRING if texts else self.helper.np_dtype_to_tensor_dtype(classes)
        kinds = (kind, self.kinds.DOUBLE, self.kinds.DOUBLE, self.kinds.BOOL)
        outputs = [
            self.helper.make_tensor_value_info(name, kind, ["N", *(["K"] if name == "probabilities" else [])])
            for name, kind in zip(OUTPUTS, kinds, strict=True)
        ]
        graph = self.helper.make_graph(self.nodes, "graylearn", self.inputs, outputs, self.constants)
        opsets = [self.helper.make_opsetid(domain, version) for domain, version in _OPSETS.items()]
        return self.helper.make_model(
            graph, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="graylearn"
        )


def _layers(classifier: GrayClassifier) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Weight and bias of each layer, or a sentence why the classifier cannot be exported."""
    if is_model(classifier.network):
        raise SettingsError(
            "the classifier's network is trees or another scikit-learn model, which this does not export:"
            " use its own way to ONNX, or a network by name"
        )
    if classifier.encoder_.kind != "rows":
        raise SettingsError(
            "the classifier is of images, which this does not export: torch.onnx.export writes network_ alone"
        )
    network = classifier.network_
    found = mlp_layers(network)
    if found is None:
        raise SettingsError(
            f"the network is a {type(network).__name__}, and only linear layers with ReLU between are"
            " exported: torch.onnx.export writes network_ alone, which reads what encoder_ makes"
        )
    linears: list[Any] = [network.get_submodule(layer.linear) for layer in found]
    return [(each.weight.detach().cpu().numpy(), each.bias.detach().cpu().numpy()) for each in linears]


def _plain(classes: NDArray[Any]) -> NDArray[Any]:
    """The classes in a type that ONNX has: whole numbers, floats, bools or texts."""
    kind = classes.dtype.kind
    if kind in "iu":
        return classes.astype(np.int64)
    if kind in "fb":
        return classes
    if all(isinstance(name, str) for name in classes.tolist()):
        return classes.astype(object)
    raise SettingsError("the classes are neither numbers nor texts, which ONNX cannot answer: fit on texts")


def unexportable(classifier: GrayClassifier) -> str | None:
    """Why the classifier cannot be exported, as far as what it was fitted on tells; None where it can."""
    table = classifier.encoder_.table
    if table is None:
        return None
    try:
        for name, kind in table.kinds_.items():
            _exportable(name, kind, table)
    except SettingsError as error:
        return str(error)
    return None


def _encoded(graph: _Graph, classifier: GrayClassifier) -> str:
    """(N, D) what the encoder makes of the inputs."""
    table = classifier.encoder_.table
    assert table is not None
    kinds = {name: _exportable(name, kind, table) for name, kind in table.kinds_.items()}
    measured = [name for name, kind in kinds.items() if kind != "category"]
    parts = []
    if not hasattr(classifier, "feature_names_in_") and len(measured) == len(kinds):
        given = graph.input("X", graph.kinds.DOUBLE, classifier.n_features_in_)
        index = [classifier.encoder_.names.index(name) for name in measured]
        matrix = graph.add("Gather", given, graph.constant(np.array(index)), axis=1)
    else:
        columns = {
            name: graph.input(name, graph.kinds.STRING if kind == "category" else graph.kinds.DOUBLE)
            for name, kind in kinds.items()
        }
        matrix = ""
        if measured:
            matrix = graph.add("Concat", *[graph.column(columns[name]) for name in measured], axis=1)
    if measured:
        parts += _numbers(graph, matrix, table, np.array([kinds[name] == "bool" for name in measured]))
    for name, plan in table.categories_.items():
        parts += _category(graph, columns[name], name, plan)
    return graph.add("Concat", *parts, axis=1)


def _exportable(name: str, kind: str, table: TableEncoder) -> str:
    """number, bool or category, or a sentence why the column cannot be exported."""
    plain, writing = split_kind(kind)
    why = ""
    if plain == "date":
        why = "holds dates: fit on numbers made of them"
    elif writing:
        why = "holds numbers written as text: fit on the numbers"
    elif plain == "category" and table.categories_[name]["hashed"]:
        why = "holds too many different words, of which the letters are read: group them, or leave it out"
    if why:
        raise SettingsError(f"the classifier cannot be exported to ONNX, because column {name!r} {why}")
    return plain


def _numbers(graph: _Graph, matrix: str, table: TableEncoder, is_bool: NDArray[np.bool_]) -> list[str]:
    """What `TableEncoder` makes of (N, M) numbers and bools: squashed ones, and which are missing."""
    numbers, missing = table.numbers_, graph.add("IsNaN", matrix)
    parts = []
    kept = np.flatnonzero(numbers["kept"])
    low, high, zero = (graph.constant(np.float64(value)) for value in (-HUGE, HUGE, 0.0))
    if len(kept):
        taken = graph.constant(kept)
        absent = graph.add("Gather", missing, taken, axis=1)
        filled = graph.add("Where", absent, zero, graph.add("Gather", matrix, taken, axis=1))
        away = graph.add("Sub", graph.add("Clip", filled, low, high), graph.constant(numbers["center"][kept]))
        scaled = graph.add("Clip", graph.add("Div", away, graph.constant(numbers["scale"][kept])), low, high)
        # bools are left as they are: divided by a length that is 1 whatever they are
        share = graph.add("Mul", scaled, graph.constant(np.where(is_bool[kept], 0.0, 1.0 / table.limit)))
        squared = graph.add("Add", graph.add("Mul", share, share), graph.constant(np.float64(1.0)))
        squashed = graph.add("Div", scaled, graph.add("Sqrt", squared))
        parts.append(graph.add("Where", absent, zero, squashed))
    told = np.flatnonzero(numbers["missing"])
    if len(told):
        parts.append(graph.double(graph.add("Gather", missing, graph.constant(told), axis=1)))
    return parts


def _category(graph: _Graph, words: str, name: str, plan: dict[str, Any]) -> list[str]:
    """A feature for each frequent word, one for all others, one for none."""
    values: list[str] = plan["values"]
    if "" in values:
        raise SettingsError(
            f'column {name!r} holds "" as a word, which stands for a missing one in ONNX: name it otherwise'
        )
    ways = (str.title, str.capitalize, str.upper, str)  # a runtime knows words as they are written alone
    keys = {way(value): index for way in ways for index, value in enumerate(values)} | {"": -2}
    code = graph.add(
        "LabelEncoder",
        words,
        domain="ai.onnx.ml",
        keys_strings=[*keys],
        values_int64s=[*keys.values()],
        default_int64=-1,
    )
    wanted = [*range(len(values)), *([-1] if plan["other"] else []), *([-2] if plan["missing"] else [])]
    if not wanted:
        return []
    same = graph.add("Equal", graph.column(code), graph.constant(np.array(wanted)))
    return [graph.double(same)]


def _score(graph: _Graph, logits: str, features: str, reference: dict[str, NDArray[np.float64]]) -> None:
    """`unfamiliarity`, as the output ood_score."""
    log_p = graph.add("LogSoftmax", logits, axis=1)
    entropy = graph.add("Neg", graph.total(graph.add("Mul", "probabilities", log_p)))
    signs = [_in_units(graph, entropy, reference["entropy"])]
    if "centres" in reference:
        away = graph.add("Sub", features, graph.constant(reference["mean"]))
        rows = graph.add("Div", away, graph.constant(reference["spread"]))
        length = graph.add("Sqrt", graph.total(graph.add("Mul", rows, rows), keepdims=1))
        unit = graph.add("Div", rows, graph.add("Max", length, graph.constant(np.float64(1e-9))))
        cosine = graph.add("MatMul", unit, graph.constant(np.ascontiguousarray(reference["centres"].T)))
        nearest = graph.add("ReduceMax", cosine, graph.constant(np.array([1])), keepdims=0)
        distance = graph.add("Sub", graph.constant(np.float64(1.0)), nearest)
        signs.append(_in_units(graph, distance, reference["distance"]))
        farthest, spread = (graph.constant(np.float64(value)) for value in reference["reach"])
        beyond = graph.add("Sub", graph.total(length), farthest)
        beyond = graph.add("Max", beyond, graph.constant(np.float64(0.0)))
        signs.append(graph.add("Div", beyond, spread))
    graph.add("Sum", *signs, name="ood_score")


def _in_units(graph: _Graph, values: str, middle_and_spread: NDArray[np.float64]) -> str:
    """arcsinh of values away from the middle in spreads; by logarithms, which runtimes have in float64."""
    middle, spread = (graph.constant(np.float64(value)) for value in middle_and_spread)
    away = graph.add("Div", graph.add("Sub", values, middle), spread)
    far = graph.add("Abs", away)
    root = graph.add("Sqrt", graph.add("Add", graph.add("Mul", far, far), graph.constant(np.float64(1.0))))
    return graph.add("Mul", graph.add("Sign", away), graph.add("Log", graph.add("Add", far, root)))
