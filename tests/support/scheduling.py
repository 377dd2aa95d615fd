"""Which tests go to one worker."""

from xdist.scheduler import LoadScopeScheduling

# Their tests share something that is made once for the file.
FILES = (
    "test_demo.py",
    "test_docs.py",
    "test_run.py",
    "test_upgrade.py",
)


class Scheduling(LoadScopeScheduling):  # type: ignore[misc] # it has no types
    """Sends these files to one worker each, as a whole, and any other test to whichever is free.

    `--dist loadgroup` with marks is meant for this, but pytest-xdist 3.8 ignores the marks with
    pytest 9.2.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return file if file.endswith(FILES) else nodeid
