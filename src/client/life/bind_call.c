/*
 * heapscope_bind(): see bind_call.h.
 */
#include "client/life/bind_call.h"

#include <errno.h>

#include "client/host/sandbox.h"
#include "client/life/bind.h"
#include "client/life/lifecycle.h"
#include "client/life/python_heap.h"
#include "client/tables/region.h"
#include "rt/atomic.h"
#include "rt/sys.h"

static int bind_now(const struct hs_api_bind_v1 *request)
{
    bool is_on = hs_lifecycle_is_on() || (hs_life_state_is_waiting() && hs_lifecycle_follow_fork());
    if (hs_bind_is_on()) {
        return is_on ? hs_bind_change(request) : -ENOTSUP;
    }
    uint64_t interval_bytes = hs_load_relaxed(&hs_control_page.control.interval_bytes);
    if (is_on && (interval_bytes != HS_INTERVAL_OFF || hs_lifecycle_collector()[0] != '/')) {
        return -EBUSY;
    }
    int err = hs_bind_ask(request);
    if (!err) {
        err = is_on ? hs_lifecycle_bind_dormant(hs_bind_interval()) : hs_lifecycle_bind_idle();
    }
    if (err) {
        hs_bind_give_up();
    } else {
        hs_python_heap_find_late();
    }
    return err;
}

int hs_bind_call(const struct hs_api_bind_v1 *request)
{
    static uint32_t is_called;
    uint32_t was_called = 0;
    if (!hs_cas_relaxed(&is_called, &was_called, 1)) {
        return -EALREADY;
    }
    uint64_t old_mask = hs_sys_block_signals();
    int err = hs_sandbox_is_tight() ? -EPERM : bind_now(request);
    hs_sys_restore_signals(old_mask);
    if (err) {
        hs_store_relaxed(&is_called, 0);
    }
    return err;
}
