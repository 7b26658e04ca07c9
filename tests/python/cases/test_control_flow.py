"""The cases of tilec_cases.control_flow on the CPU executor."""

from tilec_cases.control_flow import *  # noqa: F403
