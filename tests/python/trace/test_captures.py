import dataclasses
import enum
import functools
import math
import os
import subprocess
import sys
import textwrap
import types

import numpy as np
import pytest

from tilec.lang.dtypes import float32
from tilec.trace.captures import captures, value_digest
from tilec.trace.code import code_digest, loaded_names
from tilec.trace.signature import ConstantSpec, Signature

NO_ARGUMENTS = Signature(())


def take(function, *constants):
    return captures(function, Signature(tuple(map(ConstantSpec, constants))))


def digest(function, *constants):
    found = take(function, *constants)
    assert found.reason is None
    return found.digest


def scope(source, **names):
    """Run source as a module of its own; return its namespace."""
    namespace = {"__name__": "user_module", **names}
    exec(textwrap.dedent(source), namespace)
    return namespace


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass(frozen=True)
class Config:
    width: int = 3

    def doubled(self):
        return self.width * 2


VALUES = [
    (123, 1234),
    (1, 1.0),
    (1, True),
    (0.0, -0.0),
    ("a", "b"),
    (b"a", "a"),
    (None, 0),
    ((1, 2), (2, 1)),
    ([1, 2], (1, 2)),
    ({"a": 1}, {"a": 2}),
    ({1, 2}, frozenset({1, 2})),
    (Color.RED, Color.BLUE),
    (Config(1), Config(2)),
    (float32, "float32"),
    (np.float32(1), np.float64(1)),
    (np.dtype("i4"), np.dtype("i8")),
    (math.sin, math.cos),
    (np.sin, np.cos),
    (range, list),
    (functools.partial(max, 1), functools.partial(max, 2)),
]


@pytest.mark.parametrize(("first", "second"), VALUES)
def test_captures_global_of_another_value_has_another_digest(first, second):
    module = scope("def kernel(): return VAL", VAL=first)
    before = digest(module["kernel"])
    module["VAL"] = second
    assert digest(module["kernel"]) != before
    module["VAL"] = first
    assert digest(module["kernel"]) == before


@pytest.mark.parametrize(("first", "second"), VALUES)
def test_captures_cell_of_another_value_has_another_digest(first, second):
    def make(value):
        def kernel():
            return value

        return kernel

    assert digest(make(first)) == digest(make(first))
    assert digest(make(first)) != digest(make(second))


@pytest.mark.parametrize(("first", "second"), VALUES)
def test_captures_constant_of_another_value_has_another_digest(first, second):
    def kernel(x):
        return x

    assert digest(kernel, first) == digest(kernel, first)
    assert digest(kernel, first) != digest(kernel, second)


def test_captures_default_of_a_helper_counts():
    source = "def helper(x, k={}): return x\ndef kernel(): return helper(1)"
    assert digest(scope(source.format(1))["kernel"]) != digest(scope(source.format(2))["kernel"])
    source = "def helper(x, *, k={}): return x\ndef kernel(): return helper(1)"
    assert digest(scope(source.format(1))["kernel"]) != digest(scope(source.format(2))["kernel"])


def test_captures_helpers_of_helpers_count():
    source = """
        LIMIT = {}
        def inner(x): return x + LIMIT
        def outer(x): return [inner(v) for v in x]
        def kernel(): return (lambda: outer([1]))()
    """
    assert digest(scope(source.format(1))["kernel"]) == digest(scope(source.format(1))["kernel"])
    assert digest(scope(source.format(1))["kernel"]) != digest(scope(source.format(2))["kernel"])


def test_captures_unrelated_global_does_not_count():
    module = scope("VAL = 1\nOTHER = 1\ndef kernel(): return VAL")
    before = digest(module["kernel"])
    module["OTHER"] = 2
    assert digest(module["kernel"]) == before


def test_captures_moved_and_respaced_source_is_the_same():
    plain = scope("VAL = 1\ndef helper(x): return x+VAL\ndef kernel(y): return helper(y)")
    moved = scope(
        """
        # a comment

        VAL = 1


        def helper(x):
            return x + VAL  # another


        def kernel(y):
            return helper(
                y
            )
        """
    )
    assert digest(plain["kernel"]) == digest(moved["kernel"])
    assert code_digest(plain["kernel"].__code__) == code_digest(moved["kernel"].__code__)


def test_captures_attribute_of_a_module_counts_alone(monkeypatch):
    module = types.ModuleType("user_constants")
    module.VAL, module.OTHER = 1, 1
    monkeypatch.setitem(sys.modules, "user_constants", module)
    kernel = scope("def kernel(): return m.VAL", m=module)["kernel"]
    before = digest(kernel)
    module.OTHER = 2
    assert digest(kernel) == before
    module.VAL = 2
    assert digest(kernel) != before


def test_captures_attribute_of_a_class_counts():
    namespace = scope("class C:\n  VAL = 1\n  def f(): return 1\ndef kernel(): return C.VAL")
    before = digest(namespace["kernel"])
    namespace["C"].VAL = 2
    assert digest(namespace["kernel"]) != before


def test_captures_method_of_a_frozen_instance_counts():
    source = """
        import dataclasses
        @dataclasses.dataclass(frozen=True)
        class C:
            n: int = 1
            def scaled(self): return self.n * {}
        c = C()
        def kernel(): return c.scaled()
    """
    assert digest(scope(source.format(2))["kernel"]) == digest(scope(source.format(2))["kernel"])
    assert digest(scope(source.format(2))["kernel"]) != digest(scope(source.format(3))["kernel"])


def test_captures_list_changed_in_place_is_noticed():
    module = scope("TABLE = [1, 2]\ndef kernel(): return TABLE[0]")
    before = digest(module["kernel"])
    module["TABLE"].append(3)
    assert digest(module["kernel"]) != before


def test_captures_name_bound_later_hides_a_builtin():
    module = scope("def kernel(): return len('ab')")
    before = digest(module["kernel"])
    module["len"] = lambda text: 7
    assert digest(module["kernel"]) != before


def test_captures_functions_from_one_line_differ():
    add, sub = (lambda x: x + 1), (lambda x: x - 1)

    def make(f):
        return lambda: f(1)

    assert digest(make(add)) != digest(make(sub))


def test_captures_decorated_helper_is_seen_through():
    source = """
        import functools
        @functools.lru_cache
        def helper(x): return x + {}
        def kernel(): return helper(1)
    """
    assert digest(scope(source.format(1))["kernel"]) != digest(scope(source.format(2))["kernel"])


def test_captures_recursive_functions_end():
    module = scope("def f(n): return g(n)\ndef g(n): return n and f(n - 1)")
    assert digest(module["f"]) != digest(module["g"])


def test_captures_class_made_equal_elsewhere_is_the_same():
    source = """
        import enum
        class E(enum.Enum):
            A = 1
            B = {}
        def kernel(): return E.A
    """
    assert digest(scope(source.format(2))["kernel"]) == digest(scope(source.format(2))["kernel"])
    assert digest(scope(source.format(2))["kernel"]) != digest(scope(source.format(3))["kernel"])


@pytest.mark.parametrize(
    ("value", "kind"),
    [(object(), "object"), (np.zeros(3), "ndarray"), (open(os.devnull), "TextIOWrapper")],
)
def test_captures_value_without_content_has_a_reason(value, kind):
    found = take(scope("def kernel(): return VAL", VAL=value)["kernel"])
    assert found.digest is None
    assert found.reason == f"VAL is of type {kind}, which has no content to compare"


def test_captures_module_taken_as_a_whole_has_a_reason():
    module = types.ModuleType("user_constants")
    found = take(scope("def kernel(): m2 = m; return m2.VAL", m=module)["kernel"])
    assert found.reason == "m is the module user_constants, of which no attribute is named"


def test_captures_value_that_contains_itself_has_a_reason():
    loop = []
    loop.append(loop)
    found = take(scope("def kernel(): return VAL", VAL=loop)["kernel"])
    assert found.reason == "a captured value contains itself"
    assert value_digest(loop) is None


def test_captures_file_named_like_a_standard_module_counts(tmp_path):
    """A user's file may shadow the standard library; it must not count by its name alone."""
    program = """
        import sys
        sys.path.insert(0, sys.argv[1])
        import colorsys
        from tilec.trace.captures import captures
        from tilec.trace.signature import Signature
        def kernel(): return colorsys.helper(1)
        print(captures(kernel, Signature(())).digest)
    """
    digests = set()
    for number in (1, 2):
        place = tmp_path / str(number)
        place.mkdir()
        (place / "colorsys.py").write_text(f"def helper(x): return x + {number}\n")
        (place / "main.py").write_text(textwrap.dedent(program))
        done = subprocess.run(
            [sys.executable, place / "main.py", place], capture_output=True, text=True, cwd=place
        )
        assert done.returncode == 0, done.stderr
        digests.add(done.stdout)
    assert len(digests) == 2


def test_captures_digest_is_the_same_in_another_process(tmp_path):
    program = """
        import dataclasses, enum, math
        import numpy as np
        from tilec.lang.dtypes import float32
        from tilec.trace.captures import captures
        from tilec.trace.signature import ConstantSpec, Signature

        class Mode(enum.Enum):
            A = "a"

        @dataclasses.dataclass(frozen=True)
        class Config:
            modes: frozenset = frozenset({"x", "y", "z", "long name"})

        TABLE = {"a": [1, 2], "b": {3, 4, 5}}
        def helper(x): return (x, math.pi, np.float32(1), TABLE, Mode.A, x in {"p", "q", "r"})
        def kernel(x): return [helper(v) for v in Config().modes]
        signature = Signature((ConstantSpec((Config(), Mode.A, float32)),))
        print(captures(kernel, signature).digest)
    """
    (tmp_path / "main.py").write_text(textwrap.dedent(program))
    digests = set()
    for seed in ("1", "2", "3"):
        done = subprocess.run(
            [sys.executable, tmp_path / "main.py"],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        assert done.returncode == 0, done.stderr
        digests.add(done.stdout)
    assert len(digests) == 1


def test_loaded_names_follow_attributes_and_nested_code():
    kernel = scope(
        """
        def kernel(x):
            local = x
            return [a.b.c(y, local) for y in (lambda z: z + d.e)(x)] + table
        """
    )["kernel"]
    assert loaded_names(kernel.__code__) == (("a", "b", "c"), ("d", "e"), ("table",))


@pytest.mark.parametrize("name", ["tl.assert_", "check"])
def test_function_that_asserts_counts_with_its_lines(name):
    import tilec

    def taken(lines, call):
        body = f"def kernel(x):\n    y = x\n    return [{call}(v) for v in y]\n"
        return digest(scope("\n" * lines + body, tl=tilec, check=tilec.assert_)["kernel"])

    assert taken(0, name) != taken(1, name)
    assert taken(0, name) == taken(0, name)
    assert taken(0, "tl.print") == taken(1, "tl.print")
