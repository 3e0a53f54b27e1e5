/*
 * Putting the detours' code in its place, on request. See detours.h.
 */
#include "client/patch/detours.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

#include "client/host/real.h"
#include "client/patch/own_hook_table.h"
#include "rt/atomic.h"
#include "rt/base.h"
#include "rt/sys.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S  UINT64_C(1000000000)

int heapscope_detour_v1(void *arg);

/* The collector writes it from outside. */
HS_EXPORT struct hs_detour_request_v1 heapscope_waiting_v1;

bool hs_detours_are_carved;

/* What has arrived so far, and is not called yet. */
static struct {
    uint64_t slots_va; /* 0: nothing */
    uint64_t bytes;
    uint32_t row_count;
} pending;

static void drop_pending(void)
{
    if (pending.slots_va != 0) {
        hs_sys_munmap((void *)pending.slots_va, pending.bytes);
        pending.slots_va = 0;
    }
}

static int begin(const struct hs_detour_request_v1 *request)
{
    drop_pending(); /* left by a collector that was killed */
    void *wanted = (void *)(uintptr_t)request->slots_va;
    uint64_t bytes = hs_align_up(request->slots_all_bytes, 4096);
    long va = hs_sys_mmap(wanted, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (va < 0 && va > -4096) {
        return (int)va;
    }
    if (va != (long)wanted) { /* a kernel before 4.17 ignores the flag */
        hs_sys_munmap((void *)va, bytes);
        return -EEXIST;
    }
    pending.slots_va = request->slots_va;
    pending.bytes = bytes;
    pending.row_count = 0;
    return 0;
}

static void take(const struct hs_detour_request_v1 *request)
{
    struct hs_detour_row_v1 *rows = heapscope_detours_v1.rows + request->row_first;
    memcpy(rows, request->rows, request->row_count * sizeof(*rows));
    for (uint32_t i = 0; i < request->row_count; i++) {
        rows[i].name[HS_DETOUR_NAME_BYTES - 1] = '\0';
    }
    memcpy((char *)pending.slots_va + request->slots_off, request->slots, request->slots_bytes);
    pending.row_count = request->row_first + request->row_count;
    hs_detours_are_carved = (request->flags & HS_DETOUR_CARVED) != 0;
}

/* Makes the pages executable and the table valid. They are never writable and executable at
 * once. */
static int finish(void)
{
    struct hs_detours_v1 *detours = &heapscope_detours_v1;
    if (hs_sys_mprotect((void *)pending.slots_va, pending.bytes, PROT_READ | PROT_EXEC) != 0) {
        drop_pending();
        return -EPERM;
    }
    for (uint32_t i = 0; i < pending.row_count; i++) {
        const struct hs_detour_row_v1 *row = &detours->rows[i];
        if (row->own_number != 0 &&
            !(hs_own_hook_table_set && hs_own_hook_table_set(row->own_number - 1, row->real_va))) {
            drop_pending();
            return -EINVAL;
        }
    }
    detours->slots_va = pending.slots_va;
    pending.slots_va = 0;
    hs_store_relaxed(&detours->count, pending.row_count);
    hs_real_resolve_again();
    if (hs_own_hook_table_bind_libc) {
        hs_own_hook_table_bind_libc();
    }
    return 0;
}

static int add(const struct hs_detour_request_v1 *request)
{
    if (heapscope_detours_v1.count > 0) {
        return -EALREADY;
    }
    bool is_first = request->row_first == 0 && request->slots_off == 0;
    int err = is_first ? begin(request) : 0;
    if (err == 0 &&
        (pending.slots_va != request->slots_va || pending.row_count != request->row_first ||
         (uint64_t)request->slots_off + request->slots_bytes > pending.bytes)) {
        err = -EINVAL;
    }
    if (err) {
        return err;
    }
    take(request);
    return request->is_last ? finish() : 0;
}

static bool is_in_bounds(const struct hs_detour_request_v1 *request)
{
    return request->request_bytes == sizeof(*request) &&
           request->row_count <= HS_DETOUR_PIECE_ROWS && request->row_first <= HS_DETOUR_ROWS_MAX &&
           request->row_first + request->row_count <= HS_DETOUR_ROWS_MAX &&
           request->slots_bytes <= HS_DETOUR_PIECE_SLOTS_BYTES &&
           request->slots_all_bytes <= HS_DETOUR_SLOTS_BYTES_MAX;
}

int hs_detours_add(const struct hs_detour_request_v1 *request)
{
    if (!is_in_bounds(request)) {
        return -EINVAL;
    }
    hs_real_resolve();
    return request->row_count > 0 ? add(request) : 0;
}

/* Called on a borrowed thread, like heapscope_attach_v1. */
HS_EXPORT int heapscope_detour_v1(void *arg)
{
    int old_errno = errno;
    hs_real_resolve();
    /* If the client was preloaded, what operators call inside is known already, and would be
     * different afterwards. */
    int err = hs_real.is_preloaded ? -ENOTSUP : hs_detours_add(arg);
    errno = old_errno;
    return err;
}

/* --- while the program waits ------------------------------------------------------------------ */

/* Does data arrive before `end_ns`? */
static bool is_spoken_to(int sock, uint64_t end_ns)
{
    struct pollfd fd = { .fd = sock, .events = POLLIN };
    long r = -EINTR;
    while (r == -EINTR) {
        uint64_t now_ns = hs_sys_clock_ns(CLOCK_MONOTONIC);
        uint64_t left_ns = now_ns < end_ns ? end_ns - now_ns : 0;
        struct timespec left = { .tv_sec = (time_t)(left_ns / NS_PER_S),
                                 .tv_nsec = (long)(left_ns % NS_PER_S) };
        r = hs_arch_syscall(SYS_ppoll, (long)&fd, 1, (long)&left, 0, 0, 0);
    }
    return r == 1 && (fd.revents & POLLIN) != 0;
}

void hs_detours_serve(int sock)
{
    uint64_t end_ns = hs_sys_clock_ns(CLOCK_MONOTONIC) + HS_WAITING_MAX_MS * NS_PER_MS;
    char word;
    while (is_spoken_to(sock, end_ns) &&
           hs_arch_syscall(SYS_recvfrom, sock, (long)&word, 1, MSG_DONTWAIT, 0, 0) == 1) {
        int32_t answer = hs_detours_add(&heapscope_waiting_v1);
        if (hs_arch_syscall(SYS_sendto, sock, (long)&answer, sizeof(answer),
                            MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0) != (long)sizeof(answer)) {
            return;
        }
    }
}
