from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tangere.geometry.disk_cache import cached, content_hash, read_arrays, write_arrays, write_whole


def test_arrays_come_back_with_type_and_shape(tmp_path: Path) -> None:
    arrays = {
        "a": np.arange(6, dtype=np.int32).reshape(2, 3),
        "empty": np.zeros((0, 3), dtype=np.float32),
        "turned": np.arange(6.0).reshape(2, 3).T,
    }
    write_arrays(tmp_path / "x.npz", arrays)
    back = read_arrays(tmp_path / "x.npz")
    assert back is not None
    assert back.keys() == arrays.keys()
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        assert back[name].shape == array.shape
        assert np.array_equal(back[name], array)


def test_missing_file_and_file_without_digest_count_as_none(tmp_path: Path) -> None:
    assert read_arrays(tmp_path / "none.npz") is None
    np.savez(tmp_path / "bare.npz", a=np.ones(3))
    assert read_arrays(tmp_path / "bare.npz") is None
    np.savez(tmp_path / "wrong.npz", a=np.ones(3), digest=np.zeros(32, dtype=np.uint8))
    assert read_arrays(tmp_path / "wrong.npz") is None


def test_hash_tells_contents_apart() -> None:
    ones = np.ones(4)
    seen = {
        content_hash(contents)
        for contents in (
            (ones,),
            (ones, 1),
            (ones, 1.0),
            (ones.reshape(2, 2),),
            (ones.astype(np.float32),),
            (np.ones(2), np.ones(2)),
            ("ones",),
        )
    }
    assert len(seen) == 7
    assert content_hash((ones, 2)) == content_hash((ones.copy(), 2))


def test_computes_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANGERE_CACHE_DIR", str(tmp_path))
    done: list[int] = []

    def compute() -> dict[str, np.ndarray]:
        done.append(1)
        return {"x": np.arange(3.0)}

    for _ in range(2):
        assert cached("things", ("key", 1), compute)["x"].tolist() == [0.0, 1.0, 2.0]
    assert len(done) == 1
    assert [path.suffix for path in (tmp_path / "things").iterdir()] == [".npz"]


def test_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_whole(path, b"old")
    with pytest.raises(TypeError):
        write_whole(path, "text")  # type: ignore[arg-type]
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
