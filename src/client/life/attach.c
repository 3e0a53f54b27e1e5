/*
 * The functions that a collector calls in a running process to attach and to detach: see
 * fmt/ctl_layout.h.
 *
 * They are called on a borrowed thread of the program, at a place where it holds no lock of the
 * allocator or the loader, with its signals blocked. The order matters. To attach: first the client
 * becomes able to record, then the program's calls are redirected to the hooks. To detach: first
 * the calls are released, then the tables go. Our code stays loaded: threads may still be inside
 * it, and the program may have kept a pointer to a hook.
 *
 * Threads   one call at a time.
 * Fails     -errno; nothing has changed then.
 */
#include <errno.h>
#include <sys/stat.h>

#include "client/host/env.h"
#include "client/host/linkmap.h"
#include "client/host/real.h"
#include "client/host/sandbox.h"
#include "client/life/api_table.h"
#include "client/life/lifecycle.h"
#include "client/life/python_heap.h"
#include "client/life/register.h"
#include "client/patch/exports.h"
#include "client/patch/loader_lock.h"
#include "client/patch/patch.h"
#include "client/tables/region.h"
#include "fmt/ctl_layout.h"
#include "rt/base.h"
#include "rt/sys.h"

int heapscope_attach_v1(void *arg);
int heapscope_detach_v1(void *arg);
int heapscope_refresh_v1(void *arg);

/* The region's descriptor that was handed over. The collector that takes it closes it in this
 * process, unless it is killed before it can. */
static struct {
    int fd;
    uint64_t inode; /* 0: none */
} handed;

static uint64_t inode_of(int fd)
{
    struct stat st = { .st_ino = 0 };
    return hs_sys_fstat(fd, &st) == 0 ? st.st_ino : 0;
}

static void note_handed(int fd)
{
    handed.fd = fd;
    handed.inode = inode_of(fd);
}

static void close_if_left(void)
{
    if (handed.inode != 0 && inode_of(handed.fd) == handed.inode) {
        hs_sys_close(handed.fd);
    }
    handed.inode = 0;
}

static int detach(struct hs_detach_v1 *args)
{
    struct hs_patch_counts counts = { 0, 0 };
    bool was_quiet = false;
    close_if_left();
    hs_python_heap_leave();
    if (!hs_real.is_preloaded) {
        hs_exports_restore();
        if (!hs_patch_undo(&counts)) {
            args->slot_count = 0;
            args->was_quiet = false; /* to be tried again */
            return 0;
        }
    }
    int err = hs_lifecycle_detach(&was_quiet);
    args->slot_count = counts.changed;
    args->was_quiet = was_quiet;
    return counts.changed > 0 ? 0 : err;
}

/* Where the client was preloaded, this is not under the loader's lock, and objects that come and go
 * must not be read. It need not be: the library of such an object finds the client by itself. */
static void find_tables(void)
{
    if (hs_real.is_preloaded) {
        hs_api_table_find();
    } else {
        hs_api_table_find_all();
    }
}

static void find_python(void)
{
    if (hs_real.is_preloaded) {
        hs_python_heap_find_late(); /* we are not under the loader's lock */
    } else {
        hs_python_heap_find();
    }
}

/* No child is forked while this is half done. -EAGAIN: forks are in progress. */
static int attach(struct hs_attach_v1 *args)
{
    const struct hs_env env = {
        .collector = args->collector,
        .interval_bytes = args->flags & HS_ATTACH_PAUSED ? HS_INTERVAL_OFF : args->interval_bytes,
        .seed = args->seed,
        .has_seed = args->seed != 0,
        .root_pid = hs_sys_getpid(),
        .follow_pid = args->flags & HS_ATTACH_FOLLOW ? 0 : UINT32_MAX,
        .exec_path = "",
        .heaps = args->heaps,
    };
    struct hs_patch_counts counts = { 0, 0 };
    struct hs_detach_v1 unused;
    int fd = -1;
    if (args->flags & HS_ATTACH_TAKE_OVER) {
        detach(&unused);
    }
    if (args->flags & HS_ATTACH_SANDBOX) {
        hs_store_relaxed(&hs_sandbox_is_in, true);
    }
    close_if_left();
    int err = hs_lifecycle_attach(&env, !(args->flags & HS_ATTACH_IMPATIENT), &fd);
    struct hs_region_control_v1 *control = &hs_control_page.control;
    if (err) {
        args->collector_pid = hs_load_relaxed(&control->collector_pid);
        args->collector_start_ticks = hs_load_relaxed(&control->collector_start_ticks);
        return err;
    }
    if (!hs_real.is_preloaded && !hs_patch_apply(&counts)) {
        bool was_quiet;
        hs_lifecycle_detach(&was_quiet);
        hs_sys_close(fd);
        return -EAGAIN;
    }
    find_tables();
    find_python();
    if (!hs_sandbox_is_tight()) {
        hs_exports_redirect();
    }
    if (hs_linkmap_has_namespaces()) {
        hs_lifecycle_note_unseen(HS_LOSS_UNSEEN_NAMESPACE);
    }
    /* The attaching process may die before it can say so itself. */
    hs_store_relaxed(&control->collector_start_ticks, args->collector_start_ticks);
    hs_store_relaxed(&control->collector_pid, args->collector_pid);
    note_handed(fd);
    args->region_fd = fd;
    args->region_bytes = hs_region.file_bytes;
    args->hello_flags = hs_register_flags();
    args->slot_count = counts.changed;
    args->left_count = counts.left;
    return 0;
}

/* What is done under the loader's lock: walking the list of loaded objects and changing slots. */
struct locked_call {
    struct hs_attach_v1 *args;
    struct hs_detach_v1 *detach_args;
    struct hs_patch_counts counts;
    int err;
};

static void attach_locked(void *ctx)
{
    struct locked_call *locked = ctx;
    locked->err = attach(locked->args);
}

static void detach_locked(void *ctx)
{
    struct locked_call *locked = ctx;
    locked->err = detach(locked->detach_args);
}

static void refresh_locked(void *ctx)
{
    struct locked_call *locked = ctx;
    hs_patch_apply(&locked->counts);
    find_tables();
    find_python();
}

/* These functions leave the program's errno unchanged, like all of our code. */
HS_EXPORT int heapscope_attach_v1(void *arg)
{
    struct hs_attach_v1 *args = arg;
    int old_errno = errno;
    if (args->attach_bytes < HS_ATTACH_BYTES_MIN || args->interval_bytes == 0) {
        return -EINVAL;
    }
    args->heaps[sizeof(args->heaps) - 1] = '\0';
    args->region_fd = -1;
    args->collector[sizeof(args->collector) - 1] = '\0';
    struct locked_call locked = { .args = args };
    hs_real_resolve();
    if (hs_real.is_second) {
        return -EBUSY; /* the client is the other library */
    }
    uint64_t old_mask = hs_sys_block_signals();
    hs_loader_lock_call(attach_locked, &locked);
    hs_sys_restore_signals(old_mask);
    errno = old_errno;
    return locked.err;
}

HS_EXPORT int heapscope_detach_v1(void *arg)
{
    struct hs_detach_v1 *args = arg;
    int old_errno = errno;
    if (args->detach_bytes < sizeof(*args)) {
        return -EINVAL;
    }
    struct locked_call locked = { .detach_args = args };
    uint64_t old_mask = hs_sys_block_signals();
    hs_loader_lock_call(detach_locked, &locked);
    hs_sys_restore_signals(old_mask);
    errno = old_errno;
    return locked.err;
}

HS_EXPORT int heapscope_refresh_v1(void *arg)
{
    struct hs_refresh_v1 *args = arg;
    int old_errno = errno;
    struct locked_call locked = { .err = 0 };
    if (args->refresh_bytes < sizeof(*args)) {
        return -EINVAL;
    }
    if (!hs_lifecycle_is_on()) {
        return -ENOENT;
    }
    if (!hs_real.is_preloaded) {
        uint64_t old_mask = hs_sys_block_signals();
        hs_loader_lock_call(refresh_locked, &locked);
        hs_sys_restore_signals(old_mask);
    }
    args->slot_count = locked.counts.changed;
    args->left_count = locked.counts.left;
    errno = old_errno;
    return 0;
}
