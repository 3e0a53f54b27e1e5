/*
 * Every form of C++'s operator new and delete, and what happens when they fail.
 *
 * Sizes of aligned forms are multiples of their alignment. The C++ runtime rounds other sizes up
 * before it calls the allocator, and the client then records the rounded size.
 */
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "truth.h"

constexpr std::align_val_t ALIGN{ 64 };

/* With -DREPLACED the program has operators of its own, which the library's other forms call. */
static unsigned made, released;

#ifdef REPLACED
void *operator new(size_t n)
{
    void *p = malloc(n ? n : 1);
    if (!p) {
        std::new_handler handler = std::get_new_handler();
        if (!handler) {
            throw std::bad_alloc();
        }
        handler();
        return operator new(n);
    }
    made++;
    return p;
}

void operator delete(void *p) noexcept
{
    released += p != nullptr;
    free(p);
}
#endif

SITE(site_new, ::operator new(n))
SITE(site_new_array, ::operator new[](n))
SITE(site_new_nothrow, ::operator new(n, std::nothrow))
SITE(site_new_array_nothrow, ::operator new[](n, std::nothrow))
SITE(site_new_aligned, ::operator new(n, ALIGN))
SITE(site_new_array_aligned, ::operator new[](n, ALIGN))
SITE(site_new_aligned_nothrow, ::operator new(n, ALIGN, std::nothrow))
SITE(site_new_array_aligned_nothrow, ::operator new[](n, ALIGN, std::nothrow))

static void *kept[64];

template <typename Release> static void use(void *(*site)(size_t), Release release, size_t step)
{
    static unsigned row;
    for (unsigned i = 1; i <= 50; i++) {
        void *p = site(i * step);
        if (i % 2) {
            release(p, i * step);
        } else {
            kept[row++ % 64] = p;
        }
    }
}

#define RELEASE(site, call)                                                                        \
    [](void *p, size_t n) {                                                                        \
        (void)n;                                                                                   \
        SITE_LOST(site, n);                                                                        \
        call;                                                                                      \
    }

static void operators()
{
    use(site_new, RELEASE(site_new, ::operator delete(p)), 7);
    use(site_new, RELEASE(site_new, ::operator delete(p, n)), 11);
    use(site_new_array, RELEASE(site_new_array, ::operator delete[](p)), 13);
    use(site_new_array, RELEASE(site_new_array, ::operator delete[](p, n)), 17);
    use(site_new_nothrow, RELEASE(site_new_nothrow, ::operator delete(p, std::nothrow)), 19);
    use(site_new_array_nothrow,
        RELEASE(site_new_array_nothrow, ::operator delete[](p, std::nothrow)), 23);
    use(site_new_aligned, RELEASE(site_new_aligned, ::operator delete(p, ALIGN)), 64);
    use(site_new_aligned, RELEASE(site_new_aligned, ::operator delete(p, n, ALIGN)), 128);
    use(site_new_array_aligned, RELEASE(site_new_array_aligned, ::operator delete[](p, ALIGN)), 64);
    use(site_new_array_aligned, RELEASE(site_new_array_aligned, ::operator delete[](p, n, ALIGN)),
        192);
    use(site_new_aligned_nothrow,
        RELEASE(site_new_aligned_nothrow, ::operator delete(p, ALIGN, std::nothrow)), 64);
    use(site_new_array_aligned_nothrow,
        RELEASE(site_new_array_aligned_nothrow, ::operator delete[](p, ALIGN, std::nothrow)), 64);
    ::operator delete(nullptr);
    ::operator delete[](nullptr);
}

/* --- failures --------------------------------------------------------------------------------- */

static unsigned thrown;

template <typename Call> static void expect_bad_alloc(Call call)
{
    try {
        call();
        abort();
    } catch (const std::bad_alloc &) {
        thrown++;
    }
}

static void failures()
{
    volatile size_t huge = PTRDIFF_MAX;
    for (int i = 0; i < 3; i++) {
        expect_bad_alloc([&] { kept[0] = ::operator new(huge); });
        expect_bad_alloc([&] { kept[0] = ::operator new[](huge); });
        expect_bad_alloc([&] { kept[0] = ::operator new(huge, ALIGN); });
        expect_bad_alloc([&] { kept[0] = ::operator new[](huge, ALIGN); });
        if (::operator new(huge, std::nothrow) || ::operator new[](huge, std::nothrow) ||
            ::operator new(huge, ALIGN, std::nothrow) ||
            ::operator new[](huge, ALIGN, std::nothrow)) {
            abort();
        }
    }
}

/* A new_handler that frees memory, once. */
static unsigned handled;

static void handler()
{
    if (++handled == 3) {
        std::set_new_handler(nullptr);
    }
}

/* --- exceptions through frames that allocate -------------------------------------------------- */

SITE(site_thrower, malloc(n))
SITE(site_raii, ::operator new(n))

struct owner {
    void *p = site_raii(48);
    ~owner()
    {
        SITE_LOST(site_raii, 48);
        ::operator delete(p);
    }
};

NOINLINE static void throw_from(int depth)
{
    owner o;
    site_thrower(8);
    if (depth == 0) {
        throw std::string(100, 'x');
    }
    throw_from(depth - 1);
    __asm__ volatile("");
}

int main(int argc, char **)
{
    if (argc > 1) {
        failures(); /* before anything else, so that the first call of each form fails */
    }
    operators();
    failures();
    std::set_new_handler(handler);
    expect_bad_alloc([] {
        volatile size_t huge = PTRDIFF_MAX;
        kept[0] = ::operator new(huge);
    });
    for (int i = 0; i < 100; i++) {
        try {
            throw_from(i % 10);
        } catch (const std::string &) {
            thrown++;
        }
    }
    printf("%u thrown, handler called %u times, own operators %u and %u\n", thrown, handled, made,
           released);
    return 0;
}
