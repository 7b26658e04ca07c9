from pathlib import Path

import pytest

from tilec.settings import Settings, from_environment


def test_settings_empty_environment_gives_defaults():
    assert from_environment({}) == Settings()
    assert from_environment({"TILEC_CACHE": ""}) == Settings()


def test_settings_every_variable_is_read():
    found = from_environment(
        {
            "TILEC_CACHE": "off",
            "TILEC_CACHE_DIR": "/data/cache",
            "TILEC_CACHE_LIMIT": "3MiB",
            "TILEC_DUMP": "/data/dump",
            "TILEC_ASSEMBLER": "ptxas",
            "TILEC_COMPILE_TIMEOUT": "2.5",
            "TILEC_CONTAINMENT": "worker",
            "TILEC_SANITIZE": "1",
        }
    )
    assert found == Settings(
        cache="off",
        cache_dir=Path("/data/cache"),
        cache_limit_bytes=3 * 2**20,
        dump_dir=Path("/data/dump"),
        assembler="ptxas",
        compile_timeout_s=2.5,
        containment="worker",
        sanitize=True,
    )


def test_settings_relative_directory_is_made_absolute():
    assert from_environment({"TILEC_DUMP": "here"}).dump_dir == Path.cwd() / "here"


@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        ("TILEC_CACHE", "yes", "TILEC_CACHE must be one of on, off, found 'yes'"),
        (
            "TILEC_CACHE_LIMIT",
            "lots",
            "TILEC_CACHE_LIMIT must be a size such as 512M or 2G, found 'lots'",
        ),
        (
            "TILEC_COMPILE_TIMEOUT",
            "-1",
            "TILEC_COMPILE_TIMEOUT must be a positive number of seconds, found '-1'",
        ),
        (
            "TILEC_COMPILE_TIMEOUT",
            "inf",
            "TILEC_COMPILE_TIMEOUT must be a positive number of seconds, found 'inf'",
        ),
    ],
)
def test_settings_bad_value_is_refused(variable, text, message):
    with pytest.raises(ValueError) as refusal:
        from_environment({variable: text})
    assert str(refusal.value) == message
