/*
 * Holds forks: see remote_hold.h.
 */
#include "inject/remote_hold.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "arch/hold_page.h"
#include "inject/remote_call.h"
#include "rt/base.h"
#include "rt/sys.h"

/* Loading and the call take about a millisecond, and up to half a second on a machine that is very
 * busy. Forks do not wait for longer if heapscope is killed, or if what it waits for waits for a
 * fork: a library's constructor that forks has the loader's lock. */
#define HOLD_NS INT64_C(1000000000)
/* What the kernel counts as links of an empty folder. */
#define FOLDER_LINKS 2U

static bool has_other_threads(const struct hs_inject_session *s)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)s->request->pid);
    return stat(path, &st) < 0 || st.st_nlink > FOLDER_LINKS + 1;
}

/* May every thread whose filters are known make the calls? */
static bool is_allowed(const struct hs_inject_session *s)
{
    for (size_t i = 0; i < s->policies.count; i++) {
        if (s->policies.items[i].not_holding.text[0]) {
            return false;
        }
    }
    return true;
}

/* Writes the page behind the library. From here on the handler, once it is registered, waits. */
static bool write_page(int fd, off_t page_off)
{
    uint8_t page[HS_HOLD_PAGE_BYTES];
    int64_t until_ns = (int64_t)hs_sys_clock_ns(CLOCK_REALTIME) + HOLD_NS;
    memcpy(page, hs_hold_page, hs_hold_page_bytes);
    memcpy(page + HS_HOLD_UNTIL_OFF, &until_ns, sizeof(until_ns));
    return pwrite(fd, page, hs_hold_page_bytes, page_off) == (ssize_t)hs_hold_page_bytes;
}

static bool is_mapped(uint64_t value)
{
    return value != (uint64_t)(uintptr_t)MAP_FAILED;
}

int hs_remote_hold_begin(struct hs_inject_session *s, int remote_fd, int fd)
{
    struct hs_remote_hold *hold = &s->hold;
    off_t page_off = (off_t)hs_align_up(s->library.size_bytes, HS_HOLD_PAGE_BYTES);
    uint64_t page_va = 0, error = 0;
    if (hold->mmap_va == 0 || hold->register_va == 0 || !has_other_threads(s) || !is_allowed(s) ||
        !write_page(fd, page_off)) {
        return HS_INJECT_DONE;
    }
    const uint64_t map[HS_REMOTE_ARGUMENTS_MAX] = {
        0,          HS_HOLD_PAGE_BYTES,  PROT_READ | PROT_EXEC,
        MAP_SHARED, (uint64_t)remote_fd, (uint64_t)page_off
    };
    int r = hs_remote_call(s, "mmap", hold->mmap_va, map, &page_va);
    if (r != HS_INJECT_DONE || !is_mapped(page_va)) {
        return r;
    }
    const uint64_t handler[HS_REMOTE_ARGUMENTS_MAX] = { page_va + HS_HOLD_HANDLER_OFF, 0, 0,
                                                        page_va };
    hold->until_off = page_off + HS_HOLD_UNTIL_OFF;
    hold->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    hold->is_on = hold->fd >= 0;
    return hold->is_on ? hs_remote_call(s, "__register_atfork", hold->register_va, handler, &error)
                       : HS_INJECT_DONE;
}

void hs_remote_hold_loaded(struct hs_inject_session *s)
{
    if (s->hold.is_locked) {
        hs_remote_hold_end(s);
    }
}

void hs_remote_hold_end(struct hs_inject_session *s)
{
    const int64_t no_wait = 0;
    struct hs_remote_hold *hold = &s->hold;
    if (hold->is_on) {
        hold->is_on = false;
        (void)!pwrite(hold->fd, &no_wait, sizeof(no_wait), hold->until_off);
        close(hold->fd);
    }
}
