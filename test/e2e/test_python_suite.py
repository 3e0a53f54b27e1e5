"""CPython's own tests pass and fail as without heapscope. This runs some of its modules;
python_suite.py runs them all."""

import pytest
from comparing import INTERVALS
from python_suite import all_modules, compare

# Modules that use memory, threads, processes, foreign code, and how Python starts and ends; none
# that takes a minute or more (test_signal, test_faulthandler).
MODULES = (
    "test_list test_dict test_json test_re test_struct test_bytes test_mmap test_gc test_zlib test_set test_array"
    " test_pickle test_threading test_threading_local test_subprocess test_ctypes test_exceptions test_fork1 test_posix"
    " test_resource test_atexit test_embed test_c_locale_coercion test_generators test_tracemalloc test_memoryio"
    " test_decimal test_popen test_pty"
)


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES.split())
def test_module(module):
    if not available():
        pytest.skip("libpython3.11-testsuite is not installed")
    assert module in available()
    for verdict in compare(module, INTERVALS, 300):
        assert verdict.is_good, f"{verdict}\n{verdict.text}"


def available(found=[]):
    """Determined once, because it takes a second."""
    if not found:
        found.append(all_modules())
    return found[0]
