/*
 * Opens and leaves processes: see top.h.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "cli/top/top.h"

/* A process is detached from at a safe point, which may take a while to come. */
#define DETACH_MS 20000

int hs_top_open_pid(struct hs_top *top, uint32_t pid, struct hs_buf *ret_why)
{
    static struct hs_endpoints endpoints;
    int r = hs_endpoints_find(true, &endpoints) < 0 ? -EINVAL : -ESRCH;
    for (size_t i = 0; r != -EINVAL && i < endpoints.count; i++) {
        struct hs_buf why = HS_BUF_INIT;
        int one = hs_top_source_watch(&endpoints.items[i], pid, top->options.interval_ms,
                                      &top->source, &why);
        if (one == 0) {
            hs_buf_deinit(&why);
            hs_buf_clear(ret_why);
            return 0;
        }
        /* Its words say more than an error of another one; an old one may not be meant at all. */
        if (one == -EREMOTEIO || (ret_why->bytes == 0 && (one == -EPROTO || one == -ECONNRESET))) {
            hs_buf_clear(ret_why);
            hs_buf_str(ret_why, hs_buf_text(&why));
        }
        hs_buf_deinit(&why);
    }
    return r;
}

int hs_top_attach(struct hs_top *top, uint32_t pid)
{
    char text[16];
    const char *args[] = { "attach", "--quiet", "--no-symbolize", "--output", "-", text, NULL };
    snprintf(text, sizeof(text), "%u", pid);
    int r = hs_helper_start(&top->attach, args);
    top->awaited_pid = r == 0 ? pid : 0;
    return r;
}

int hs_top_await(struct hs_top *top)
{
    struct hs_buf why = HS_BUF_INIT;
    if (hs_helper_take(&top->attach)) {
        top->awaited_pid = 0;
        return -ECANCELED;
    }
    int r = hs_top_open_pid(top, top->awaited_pid, &why);
    hs_buf_deinit(&why);
    if (r < 0) {
        return 0;
    }
    top->awaited_pid = 0;
    return 1;
}

void hs_top_leave(struct hs_top *top)
{
    hs_top_source_end(&top->source);
    top->awaited_pid = 0;
    hs_helper_signal(&top->attach, SIGINT);
    hs_helper_end(&top->attach, DETACH_MS);
}
