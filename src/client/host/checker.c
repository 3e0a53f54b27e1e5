/*
 * Finding tools that check memory accesses. See checker.h.
 */
#include "client/host/checker.h"

#include <stddef.h>

#include "client/host/linkmap.h"
#include "rt/base.h"
#include "rt/sys.h"

/* Does the kernel say what can be read? An emulated one may not check. Page 0 cannot be read. */
static bool can_ask_kernel(void)
{
    return !hs_sys_is_readable(4096 - 8);
}

/* Is there a tool that checks memory accesses? A sanitizer's runtime library hands out memory
 * before it is ready for anything else, and has a shadow for what the program may touch, but not
 * for the client. (The client never calls one inside the executable.) A valgrind tool may replace
 * malloc: memcheck reports it as an error, and as the program's, when the kernel is asked about
 * memory. */
static bool has_checker(void)
{
    static const char *const names[] = { "__asan_init", "__hwasan_init", "__msan_init",
                                         "__tsan_init", "_vgr10010ZU_libcZdsoZa_malloc" };
    const struct link_map *map;
    for (unsigned i = 0; i < HS_COUNT_OF(names); i++) {
        if (hs_linkmap_search(NULL, NULL, names[i], &map) && map != hs_linkmap_first()) {
            return true;
        }
    }
    return false;
}

bool hs_checker_is_there(void)
{
    return has_checker() || !can_ask_kernel();
}
