/*
 * Allocates sizes that are not multiples of their alignment, at sites that are each called once and
 * then again. Also makes allocations that fail; their exceptions allocate.
 */
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <new>

#include "truth.h"

constexpr std::align_val_t ALIGN{ 64 };
constexpr std::align_val_t WIDE{ 4096 };

static void *by_posix_memalign(size_t n)
{
    void *p = nullptr;
    return posix_memalign(&p, 64, n) == 0 ? p : nullptr;
}

SITE(site_new, ::operator new(n))
SITE(site_new_array, ::operator new[](n))
SITE(site_new_nothrow, ::operator new(n, std::nothrow))
SITE(site_aligned, ::operator new(n, ALIGN))
SITE(site_aligned_again, ::operator new(n, ALIGN))
SITE(site_aligned_wide, ::operator new(n, WIDE))
SITE(site_aligned_array, ::operator new[](n, ALIGN))
SITE(site_aligned_nothrow, ::operator new(n, ALIGN, std::nothrow))
SITE(site_aligned_array_nothrow, ::operator new[](n, ALIGN, std::nothrow))
SITE(site_memalign, memalign(64, n))
SITE(site_aligned_alloc, aligned_alloc(64, n))
SITE(site_posix_memalign, by_posix_memalign(n))
SITE(site_valloc, valloc(n))
SITE(site_pvalloc, pvalloc(n))

static unsigned thrown;

template <typename Call> static void fails(Call call)
{
    try {
        if (call()) {
            abort();
        }
    } catch (const std::bad_alloc &) {
        thrown++;
    }
}

static void fail()
{
    volatile size_t huge = PTRDIFF_MAX;
    fails([&] { return ::operator new(huge); });
    fails([&] { return ::operator new[](huge); });
    fails([&] { return ::operator new(huge, ALIGN); });
    fails([&] { return ::operator new[](huge, ALIGN); });
    fails([&] { return ::operator new(huge, std::nothrow); });
    fails([&] { return ::operator new(huge, ALIGN, std::nothrow); });
    fails([&] { return ::operator new(huge, std::align_val_t(24)); }); /* 24 is not a valid
                                                                        * alignment */
}

int main(int argc, char **argv)
{
    unsigned count = argc > 1 ? static_cast<unsigned>(atoi(argv[1])) : 5;
    fail();
    void *(*const sites[])(size_t) = {
        site_aligned,     site_new,           site_aligned_array,   site_new_array,
        site_new_nothrow, site_aligned_wide,  site_aligned_nothrow, site_aligned_array_nothrow,
        site_memalign,    site_aligned_alloc, site_posix_memalign,  site_valloc,
        site_pvalloc,     site_aligned_again,
    };
    for (unsigned i = 0; i < count; i++) {
        for (void *(*site)(size_t) : sites) {
            if (!site(40 + i)) {
                abort();
            }
        }
        void *p = site_aligned(0);
        SITE_LOST(site_aligned, 0);
        ::operator delete(p, ALIGN);
        fail();
    }
    printf("%u thrown\n", thrown);
    return 0;
}
