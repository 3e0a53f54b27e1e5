/*
 * Putting the detours' code in its place. See detours.h.
 */
#include "client/detours.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "client/real.h"
#include "fmt/ctl_layout.h"
#include "rt/atomic.h"
#include "rt/base.h"
#include "rt/sys.h"

int heapscope_detour_v1(void *arg);

/* Read from outside. Its count is set when all else is there. */
HS_EXPORT struct hs_detours_v1 heapscope_detours_v1 = { .detours_bytes =
                                                            sizeof(struct hs_detours_v1) };

void *hs_detours_real(const char *name)
{
    const struct hs_detours_v1 *detours = &heapscope_detours_v1;
    uint32_t count = hs_load_relaxed(&detours->count);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(detours->rows[i].name, name) == 0) {
            return (void *)(uintptr_t)detours->rows[i].real_va;
        }
    }
    return NULL;
}

/* Never writable and executable at once. */
static int place(const struct hs_detour_request_v1 *request)
{
    void *wanted = (void *)(uintptr_t)request->detours.slots_va;
    uint64_t bytes = hs_align_up(request->slots_bytes, 4096);
    long va = hs_sys_mmap(wanted, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (va < 0 && va > -4096) {
        return (int)va;
    }
    if (va != (long)wanted) { /* a kernel before 4.17 takes the flag for none */
        hs_sys_munmap((void *)va, bytes);
        return -EEXIST;
    }
    memcpy(wanted, request->slots, request->slots_bytes);
    if (hs_sys_mprotect(wanted, bytes, PROT_READ | PROT_EXEC) != 0) {
        hs_sys_munmap(wanted, bytes);
        return -EPERM;
    }
    return 0;
}

static int add(const struct hs_detour_request_v1 *request)
{
    struct hs_detours_v1 *detours = &heapscope_detours_v1;
    if (detours->count > 0) {
        return -EALREADY;
    }
    int err = place(request);
    if (err) {
        return err;
    }
    memcpy(detours->rows, request->detours.rows, sizeof(detours->rows));
    for (uint32_t i = 0; i < HS_DETOUR_ROWS_MAX; i++) {
        detours->rows[i].name[HS_DETOUR_NAME_BYTES - 1] = '\0';
    }
    detours->slots_va = request->detours.slots_va;
    hs_store_relaxed(&detours->count, request->detours.count);
    hs_real_resolve_again();
    return 0;
}

int hs_detours_add(const struct hs_detour_request_v1 *request)
{
    if (request->detours.detours_bytes != sizeof(request->detours) ||
        request->detours.count > HS_DETOUR_ROWS_MAX ||
        request->slots_bytes > HS_DETOUR_SLOTS_BYTES_MAX) {
        return -EINVAL;
    }
    hs_real_resolve();
    return request->detours.count > 0 ? add(request) : 0;
}

/* On a borrowed thread, as heapscope_attach_v1. */
HS_EXPORT int heapscope_detour_v1(void *arg)
{
    int old_errno = errno;
    hs_real_resolve();
    /* Preloaded, what operators do inside is known already, and would be otherwise. */
    int err = hs_real.is_preloaded ? -ENOTSUP : hs_detours_add(arg);
    errno = old_errno;
    return err;
}
