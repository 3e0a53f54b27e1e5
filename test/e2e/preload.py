"""Names for libraries that LD_PRELOAD can contain: the loader splits it at blanks and colons, and
has no quoting.

With these names, the tests also pass in a folder whose path contains such a character.
"""

import atexit
import functools
import os
import pathlib
import re
import shutil
import tempfile


@functools.cache
def _linked(folder):
    """A link to this folder, which is removed when the tests end."""
    place = tempfile.mkdtemp(prefix="heapscope-tests-", dir="/tmp")
    os.chmod(place, 0o755)  # programs of other users load it too
    link = pathlib.Path(place) / "folder"
    link.symlink_to(folder)
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return link


def preloadable(library):
    path = pathlib.Path(library)
    return _linked(path.parent) / path.name if re.search("[ :]", str(path)) else path
