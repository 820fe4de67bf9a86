"""Model files unpacked, changed and packed again."""

import hashlib
import io
import json
import zipfile

import numpy as np
import pytest

from toprank.files import ModelFileError


def refused(reason):
    """Expect that payments.toprank is not loaded, for this reason."""
    return pytest.raises(
        ModelFileError, match=f"(?s)^payments.toprank cannot be loaded: .*{reason}"
    )


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(path, members, compression=zipfile.ZIP_DEFLATED):
    """Write a zip of `members`, pairs of name and bytes, as they are."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, raw in members:
            archive.writestr(zipfile.ZipInfo(name), raw, compression)


def rewrite(path, change):
    """Change the members of a file, then make its sizes and hashes right again."""
    members = members_of(path)
    manifest = json.loads(members.pop("manifest.json"))
    change(manifest, members)
    pack(path, [("manifest.json", listing(manifest, members)), *members.items()])


def listing(manifest, members):
    manifest["members"] = {
        name: {"sha256": hashlib.sha256(raw).hexdigest(), "bytes": len(raw)}
        for name, raw in members.items()
    }
    return json.dumps(manifest).encode()


def with_member(name, raw):
    def change(manifest, members):
        members[name] = raw

    return change


def npy_of(array, **options):
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def bomb(path, members, declared):
    """Make center.npy inflate to 50 MB of zeros while every header says `declared` bytes."""
    manifest = json.loads(members["manifest.json"])
    manifest["members"]["center.npy"]["bytes"] = declared
    zeros = bytes(50_000_000)
    members = members | {"manifest.json": json.dumps(manifest).encode(), "center.npy": zeros}
    pack(path, members.items())
    said, true = (size.to_bytes(4, "little") for size in (declared, len(zeros)))
    path.write_bytes(path.read_bytes().replace(true, said))
