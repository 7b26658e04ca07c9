import numpy as np
import pytest

from tilec.execute import execute


def run_scalar(ir, body, stop, grid=8):
    """Run a body that makes the i64 scalar %r from %stop and %c (this program's number)."""
    y = np.full(grid, -99, np.int64)
    part = ir.partition_type(y, (1,))
    text = f"""
  %ci = tile.index %y : {part} -> index
  %c = arith.index_cast %ci : index to i64
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
{body}
  %t = tile.splat %r : i64 -> tensor<1xi64>
  tile.store %t, %y : tensor<1xi64>, {part}"""
    execute(ir.kernel({"y": part, "stop": "i64"}, text), [y, stop])
    return y


@pytest.mark.parametrize("stop", [0, 1, 2, 3, 4])
def test_if_in_loop_changes_a_carried_scalar(ir, stop):
    body = """
  %r = scf.for %i = %zero to %stop step %one iter_args(%v = %c) -> i64 : i64 {
    %more = arith.cmpi sgt, %v, %i : i64
    %n = scf.if %more -> i64 {
      %next = arith.addi %i, %one : i64
      %less = arith.subi %v, %next : i64
      scf.yield %less : i64
    } else {
      scf.yield %v : i64
    }
    scf.yield %n : i64
  }"""
    expected = []
    for value in range(8):
        for i in range(stop):
            if value > i:
                value -= i + 1
        expected.append(value)
    np.testing.assert_array_equal(run_scalar(ir, body, stop), expected)


def test_while_runs_until_its_condition_fails(ir):
    body = """
  %n, %r = scf.while (%v = %c, %count = %zero) : (i64, i64) -> (i64, i64) {
    %goes_on = arith.cmpi slt, %v, %stop : i64
    scf.condition(%goes_on) %v, %count : i64, i64
  } do {
  ^bb0(%v: i64, %count: i64):
    %two = arith.constant 3 : i64
    %tripled = arith.muli %v, %two : i64
    %w = arith.addi %tripled, %one : i64
    %m = arith.addi %count, %one : i64
    scf.yield %w, %m : i64, i64
  }"""
    expected = []
    for value in range(8):
        count = 0
        while value < 100:
            value, count = 3 * value + 1, count + 1
        expected.append(count)
    np.testing.assert_array_equal(run_scalar(ir, body, 100), expected)


def test_nested_loops_carry_two_tiles(ir):
    x = np.zeros(2, np.int32)
    body = """
  %lo = arith.constant 0 : index
  %hi = arith.constant 5 : index
  %st = arith.constant 1 : index
  %one = arith.constant dense<1> : tensor<2xi32>
  %a, %b = scf.for %i = %lo to %hi step %st iter_args(%p = %x0, %q = %one)
      -> (tensor<2xi32>, tensor<2xi32>) {
    %a1, %b1 = scf.for %j = %lo to %hi step %hi iter_args(%u = %p, %v = %q)
        -> (tensor<2xi32>, tensor<2xi32>) {
      %s = arith.addi %u, %v : tensor<2xi32>
      scf.yield %v, %s : tensor<2xi32>, tensor<2xi32>
    }
    scf.yield %a1, %b1 : tensor<2xi32>, tensor<2xi32>
  }
  %ten = arith.constant dense<10> : tensor<2xi32>
  %scaled = arith.muli %a, %ten : tensor<2xi32>
  %r = arith.addi %scaled, %b : tensor<2xi32>"""
    np.testing.assert_array_equal(ir.evaluate(body, x), [5 * 10 + 8] * 2)


def test_if_without_else_and_result_stores_conditionally(ir):
    y = np.full(4, -1.0)
    part = ir.partition_type(y, (1,))
    body = f"""
  %i = tile.index %y : {part} -> index
  %two = arith.constant 2 : index
  %low = arith.cmpi ult, %i, %two : index
  scf.if %low {{
    %t = arith.constant dense<7.0> : tensor<1xf64>
    tile.store %t, %y : tensor<1xf64>, {part}
  }}"""
    execute(ir.kernel({"y": part}, body), [y])
    np.testing.assert_array_equal(y, [7, 7, -1, -1])


def test_index_switch_takes_the_matching_case(ir):
    body = """
  %r = scf.index_switch %ci -> i64
  case 2 {
    %v = arith.constant 20 : i64
    scf.yield %v : i64
  }
  case 5 {
    %v = arith.constant 50 : i64
    scf.yield %v : i64
  }
  default {
    scf.yield %stop : i64
  }"""
    expected = [-3, -3, 20, -3, -3, 50, -3, -3]
    np.testing.assert_array_equal(run_scalar(ir, body, -3), expected)


def test_loop_with_unsigned_comparison_reads_bounds_as_unsigned(ir):
    body = """
  %lo8 = arith.constant 120 : i8
  %hi8 = arith.constant -126 : i8
  %st8 = arith.constant 5 : i8
  %r = scf.for unsigned %i = %lo8 to %hi8 step %st8 iter_args(%v = %zero) -> i64 : i8 {
    %w = arith.addi %v, %one : i64
    scf.yield %w : i64
  }"""
    assert run_scalar(ir, body, 0, grid=1)[0] == len(range(120, 130, 5))
