import os

from tilec.compiler.build import _identity, _present, _recorded, compiler_build, whole_build

RECORD = """\
tilec/__init__.py,sha256=aaa,10
tilec/lang/dtypes.py,sha256=bbb,20
tilec/lang/__pycache__/dtypes.cpython-312.pyc,,
tilec/_mlir/_mlir_libs/_tilec.so,sha256=ccc,30
tilec-0.1.0.dist-info/METADATA,sha256=ddd,40
../../../bin/tilec,sha256=eee,50
"""


def package(tmp_path):
    place = tmp_path / "tilec"
    (place / "lang").mkdir(parents=True)
    (place / "lang" / "dtypes.py").write_text("one")
    return place


def test_build_of_an_installed_package_is_its_record(tmp_path):
    place = package(tmp_path)
    (tmp_path / "tilec-0.1.0.dist-info").mkdir()
    (tmp_path / "tilec-0.1.0.dist-info" / "RECORD").write_text(RECORD)
    assert _recorded(place, ("lang",)) == ["tilec/lang/dtypes.py,sha256=bbb,20"]
    assert _recorded(place, ("_mlir/_mlir_libs", "lang")) == [
        "tilec/lang/dtypes.py,sha256=bbb,20",
        "tilec/_mlir/_mlir_libs/_tilec.so,sha256=ccc,30",
    ]


def test_build_of_a_checkout_changes_with_its_files(tmp_path):
    place = package(tmp_path)
    assert _recorded(place, ("lang",)) == []
    before = _present(place, ("lang",))
    assert _present(place, ("lang",)) == before
    os.utime(place / "lang" / "dtypes.py", (1, 1))
    assert _present(place, ("lang",)) != before


def test_build_of_the_whole_covers_more_than_the_compiler():
    assert compiler_build() == _identity(("_mlir/_mlir_libs", "compiler"))
    assert whole_build() != compiler_build()
    assert len(whole_build()) == 64
