"""Raw files under `snapshots/`, compared byte for byte with what the examples compile to."""

from pathlib import Path

from syrupy.data import Snapshot, SnapshotCollection
from syrupy.extensions.base import AbstractSyrupyExtension
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation
from syrupy.types import SnapshotIndex

SNAPSHOTS = Path(__file__).parent.parent / "snapshots"
TEST = "test_example_compiles_to_its_snapshots"


class CompiledFile(SingleFileSnapshotExtension):
    """One file of a compiled example; the index within the test is the file's path below `snapshots/`."""

    # Text mode would change a carriage return inside a script.
    _write_mode = WriteMode.BINARY
    file_extension = ""

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        return str(SNAPSHOTS)

    @classmethod
    def discovery_dirname(cls, *, test_location: PyTestLocation) -> str:
        return str(SNAPSHOTS)

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: SnapshotIndex = 0) -> str:
        return AbstractSyrupyExtension.get_snapshot_name(test_location=test_location, index=index)

    @classmethod
    def get_location(cls, *, test_location: PyTestLocation, index: SnapshotIndex) -> str:
        return str(SNAPSHOTS / str(index))

    @classmethod
    def matches_test_location(cls, *, test_location: PyTestLocation, snapshot_location: str) -> bool:
        return test_location.methodname == TEST and Path(snapshot_location).is_relative_to(SNAPSHOTS)

    def is_snapshot_location(self, *, location: str) -> bool:
        return Path(location).is_relative_to(SNAPSHOTS)

    def read_snapshot_collection(self, *, snapshot_location: str) -> SnapshotCollection:
        path = Path(snapshot_location).relative_to(SNAPSHOTS)
        collection = SnapshotCollection(location=snapshot_location)
        collection.add(Snapshot(name=f"{TEST}[{path.parts[0]}][{path}]"))
        return collection
