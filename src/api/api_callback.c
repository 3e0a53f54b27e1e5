/*
 * Callbacks. The table's callback is a function of the library's, which calls the program's if that
 * is still possible: in the process that set it (not in a forked child), and if its code has not
 * been unloaded.
 *
 * Ensures   errno is as it was before the callback.
 * Threads   any; the client calls them outside its locks.
 * See       api/code_place.h.
 */
#include <heapscope/heap_profile.h>

#include "api/api_heap.h"
#include "api/code_place.h"
#include "api/heap_table.h"
#include "rt/sys.h"

typedef void (*enabled_fn)(void *data, const AHeapProfileEnableCallbackInfo *session);
typedef void (*disabled_fn)(void *data, const AHeapProfileDisableCallbackInfo *session);
typedef void (*own_enabled_fn)(void *data, uint64_t interval_bytes);
typedef void (*own_disabled_fn)(void *data);
typedef void (*any_fn)(void);

/* A callback of the program. The function has one of the types above: `run` knows which. */
struct callback {
    any_fn function;
    void *data;
    uint32_t pid; /* of the process that set it */
    struct hs_code_place place;
};

/* Those of each heap; 0: enabled, 1: disabled. */
static struct callback callbacks[HS_API_HEAPS][2];

static bool may_run(const struct callback *callback)
{
    return hs_load_relaxed(&hs_heap_table.is_child) == 0 && callback->pid == hs_sys_getpid() &&
           hs_code_place_is_same(&callback->place);
}

static void run_enabled(void *data, const void *info)
{
    const struct callback *callback = data;
    if (may_run(callback)) {
        int kept_errno = errno;
        ((enabled_fn)callback->function)(callback->data, info);
        errno = kept_errno;
    }
}

static void run_disabled(void *data, const void *info)
{
    const struct callback *callback = data;
    if (may_run(callback)) {
        int kept_errno = errno;
        ((disabled_fn)callback->function)(callback->data, info);
        errno = kept_errno;
    }
}

static void run_own_enabled(void *data, const void *info)
{
    const struct callback *callback = data;
    if (may_run(callback)) {
        int kept_errno = errno;
        const struct hs_api_callback_info_v1 *session = info;
        ((own_enabled_fn)callback->function)(callback->data, session->interval_bytes);
        errno = kept_errno;
    }
}

static void run_own_disabled(void *data, const void *info)
{
    (void)info;
    const struct callback *callback = data;
    if (may_run(callback)) {
        int kept_errno = errno;
        ((own_disabled_fn)callback->function)(callback->data);
        errno = kept_errno;
    }
}

/* Keeps the program's function; returns what stands for it in the table. */
static void *keep(struct callback *callback, any_fn function, void *data)
{
    *callback = (struct callback){
        .function = function,
        .data = data,
        .pid = hs_sys_getpid(),
        .place = hs_code_place_of(function),
    };
    return callback;
}

static void set_enabled(uint32_t id, void (*run)(void *, const void *), any_fn function, void *data)
{
    struct hs_api_heap_v1 *slot = &hs_heap_table.heaps[id];
    slot->on_enabled = function ? run : NULL;
    slot->enabled_data = function ? keep(&callbacks[id][0], function, data) : NULL;
}

static void set_disabled(uint32_t id, void (*run)(void *, const void *), any_fn function,
                         void *data)
{
    struct hs_api_heap_v1 *slot = &hs_heap_table.heaps[id];
    slot->on_disabled = function ? run : NULL;
    slot->disabled_data = function ? keep(&callbacks[id][1], function, data) : NULL;
}

AHeapInfo *AHeapInfo_setEnabledCallback(AHeapInfo *info, enabled_fn callback, void *data)
{
    uint32_t id;
    if (hs_api_heap_changeable(info, &id) != 0) {
        return NULL;
    }
    set_enabled(id, run_enabled, (any_fn)callback, data);
    return info;
}

AHeapInfo *AHeapInfo_setDisabledCallback(AHeapInfo *info, disabled_fn callback, void *data)
{
    uint32_t id;
    if (hs_api_heap_changeable(info, &id) != 0) {
        return NULL;
    }
    set_disabled(id, run_disabled, (any_fn)callback, data);
    return info;
}

int heapscope_heap_set_callbacks(heapscope_heap *heap, own_enabled_fn on_enabled,
                                 own_disabled_fn on_disabled, void *data)
{
    uint32_t id;
    int err = hs_api_heap_changeable(heap, &id);
    if (err != 0) {
        return err;
    }
    set_enabled(id, run_own_enabled, (any_fn)on_enabled, data);
    set_disabled(id, run_own_disabled, (any_fn)on_disabled, data);
    return 0;
}

uint64_t
AHeapProfileEnableCallbackInfo_getSamplingInterval(const AHeapProfileEnableCallbackInfo *session)
{
    const struct hs_api_callback_info_v1 *info = (const struct hs_api_callback_info_v1 *)session;
    return info ? info->interval_bytes : 0;
}
