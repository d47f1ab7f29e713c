"""A file appears complete or not at all."""

from __future__ import annotations

import os

import pytest

import alldags as ad
from alldags.files import remove_unfinished, replacing, write_text


def fail_half_way(target):
    with replacing(target) as temporary:
        temporary.write_text("half")
        raise RuntimeError("no more power")


def test_an_error_half_way_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "a.txt"
    write_text(target, "old\n")
    with pytest.raises(RuntimeError, match="no more power"):
        fail_half_way(target)
    assert target.read_bytes() == b"old\n"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_the_new_file_takes_the_old_ones_place_whole(tmp_path):
    target = tmp_path / "a.txt"
    write_text(target, "old")
    with target.open() as reader:
        write_text(str(target), "new, with an ä\r\n")
        assert reader.read() == "old"
    assert target.read_bytes() == "new, with an ä\r\n".encode()


def test_a_symbolic_link_stays_one(tmp_path):
    (tmp_path / "far").mkdir()
    link = tmp_path / "link.txt"
    link.symlink_to(tmp_path / "far" / "a.txt")
    write_text(link, "x")
    assert link.is_symlink()
    assert (tmp_path / "far" / "a.txt").read_text() == "x"


def test_a_name_as_long_as_the_system_allows_can_be_written(tmp_path):
    target = tmp_path / ("x" * 251 + ".txt")
    write_text(target, "x")
    assert target.read_text() == "x"


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path):
    for name in (".a.csv.123.tmp", "a.csv", "b.tmp"):
        (tmp_path / name).write_text("")
    remove_unfinished(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "b.tmp"]


def test_a_picture_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from alldags.show.plots.save import save_figure

    axes = ad.CandidateGraph.from_order(["a", "b"]).plot()
    save_figure(axes, tmp_path / "a.PNG")
    assert (tmp_path / "a.PNG").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(FileNotFoundError):
        save_figure(axes, tmp_path / "no such folder" / "a.png")
    assert os.listdir(tmp_path) == ["a.PNG"]
