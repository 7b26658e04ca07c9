"""Cases that run on the CPU executor and on a GPU alike: same inputs, same checks.

A test takes the fixture ``place``, which says where its arrays live; tests/python collects the
modules here with a place on the CPU, tests/gpu with one on a GPU.
"""
