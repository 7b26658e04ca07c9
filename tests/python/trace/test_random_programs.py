"""Random programs of nested control flow do on the CPU executor what Python does."""

import random

import numpy as np
import pytest

VARIABLES = ("a", "b", "d")


class Generator:
    """Writes the body of a function of two integers ``c`` and ``n``; loops are all bounded."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.counter = 0

    def emit(self, depth, text):
        self.lines.append("    " * depth + text)

    def expression(self):
        pick = self.random.choice
        a, b = pick((*VARIABLES, "c", "n")), pick((*VARIABLES, "c", "n", "1", "2", "7"))
        return pick(
            [
                f"{a} + {b}",
                f"{a} - {b}",
                f"{a} * 3 - {b}",
                f"{a} % 5",
                f"({a} if {self.condition()} else {b})",
                f"max({a}, {b})",
                b,
            ]
        )

    def condition(self):
        pick = self.random.choice
        a, b = pick((*VARIABLES, "c", "n")), pick((*VARIABLES, "n", "3"))
        simple = f"{a} {pick(['<', '<=', '==', '!=', '>'])} {b}"
        return pick(
            [
                simple,
                simple,
                f"not {simple}",
                f"{simple} and {a} % 2 == 0",
                f"({simple} or {b} > 1)",
                f"0 <= {a} < {b}",
                "flag",
            ]
        )

    def block(self, depth, in_loop, budget):
        for _ in range(self.random.randint(1, 3)):
            self.statement(depth, in_loop, budget)

    def statement(self, depth, in_loop, budget):
        kinds = ["assign", "assign", "augment", "swap", "flag"]
        if budget > 0:
            kinds += ["if", "if", "for", "while", "unrolled"]
            kinds += ["jump", "jump"] if in_loop else []
            kinds += ["return"]
        getattr(self, self.random.choice(kinds))(depth, in_loop, budget - 1)

    def assign(self, depth, in_loop, budget):
        self.emit(depth, f"{self.random.choice(VARIABLES)} = ({self.expression()}) % 1000")

    def augment(self, depth, in_loop, budget):
        self.emit(depth, f"{self.random.choice(VARIABLES)} += {self.expression()}")

    def swap(self, depth, in_loop, budget):
        self.emit(depth, "a, b = b, a")

    def flag(self, depth, in_loop, budget):
        self.emit(depth, f"flag = {self.random.choice(['not flag', 'a > b', 'c == 2'])}")

    def jump(self, depth, in_loop, budget):
        self.emit(depth, f"if {self.condition()}:")
        if self.random.random() < 0.3:
            self.assign(depth + 1, in_loop, 0)
        self.emit(depth + 1, self.random.choice(["break", "continue"]))

    def _return(self, depth):
        self.emit(depth, f"return {self.expression()}")

    def __getattr__(self, name):
        return {"if": self.branch, "for": self.loop, "while": self.wait, "return": self.leave}[name]

    def leave(self, depth, in_loop, budget):
        self.emit(depth, f"if {self.condition()}:")
        self._return(depth + 1)

    def branch(self, depth, in_loop, budget):
        self.emit(depth, f"if {self.condition()}:")
        self.block(depth + 1, in_loop, budget)
        if self.random.random() < 0.3:
            self.emit(depth, f"elif {self.condition()}:")
            self.block(depth + 1, in_loop, budget)
        if self.random.random() < 0.6:
            self.emit(depth, "else:")
            self.block(depth + 1, in_loop, budget)

    def _else(self, depth, in_loop, budget):
        if self.random.random() < 0.3:
            self.emit(depth, "else:")
            self.block(depth + 1, in_loop, budget)

    def loop(self, depth, in_loop, budget):
        self.counter += 1
        bounds = self.random.choice(["n", "n + 1", "1, n", "n, 0, -1", "0, n * 2, 2", "c"])
        variable = f"i{self.counter}"
        self.emit(depth, f"for {variable} in range({bounds}):")
        self.emit(depth + 1, f"a += {variable}")
        self.block(depth + 1, True, budget)
        self._else(depth, in_loop, budget)

    def unrolled(self, depth, in_loop, budget):
        self.counter += 1
        variable = f"i{self.counter}"
        self.emit(depth, f"for {variable} in {self.random.choice(['range(3)', '(2, 1)'])}:")
        self.emit(depth + 1, f"b -= {variable}")
        self.block(depth + 1, True, budget)
        self._else(depth, in_loop, budget)

    def wait(self, depth, in_loop, budget):
        self.counter += 1
        variable = f"k{self.counter}"
        self.emit(depth, f"{variable} = {self.random.choice(['0', 'c'])}")
        condition = self.random.choice([f"{variable} < n", f"{variable} < 4 and a != 3", "True"])
        self.emit(depth, f"while {condition}:")
        self.emit(depth + 1, f"{variable} += 1")
        self.emit(depth + 1, f"if {variable} > 5:")
        self.emit(depth + 2, "break")
        self.block(depth + 1, True, budget)
        self._else(depth, in_loop, budget)

    def source(self):
        self.emit(0, "def function(c, n):")
        self.emit(1, "a, b, d = 0, c, n + 1")
        self.emit(1, "flag = False")
        for _ in range(3):
            self.statement(1, False, 3)
        self.emit(1, "return a * 10000 + b * 100 + d")
        return "\n".join(self.lines) + "\n"


@pytest.mark.parametrize("seed", range(60))
def test_random_program_as_python(tools, tmp_path, seed):
    path = tmp_path / f"program_{seed}.py"
    path.write_text(Generator(seed).source())
    namespace = {"__name__": f"program_{seed}"}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    function = namespace["function"]

    def kernel(y, n):
        y.store(function(y.index[0], n))

    for n in (0, 1, 3, 4):
        y = np.full(5, -99, np.int64)
        tools.run(kernel, tools.part(y, (1,)), n)
        assert y.tolist() == [function(c, n) for c in range(5)]
