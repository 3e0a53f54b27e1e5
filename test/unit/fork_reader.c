/*
 * See fork_reader.h.
 */
#include "fork_reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/listen.h"
#include "collect/region/capture.h"
#include "collect/region/region_reader.h"

static struct hs_listener listener;

const char *fork_reader_open(void)
{
    return hs_listener_open(&listener) == 0 ? listener.name : NULL;
}

struct hs_snapshot *fork_reader_receive(void)
{
    int fd;
    struct hs_pending_client pending;
    struct hs_region region;
    struct hs_snapshot *snap = NULL;
    const char *why;
    /* A `heapscope list` on this machine may connect here too. */
    int r;
    do {
        assert_int_equal(hs_listener_accept(&listener, &fd), 0);
        r = hs_pending_client_receive(&listener, fd, &pending);
        close(fd);
    } while (r < 0);
    if (pending.pidfd >= 0) {
        close(pending.pidfd);
    }
    assert_int_equal(hs_region_open(pending.region_fd, pending.hello.region_bytes, &region, &why),
                     0);
    assert_int_equal(hs_capture(&region, true, 1, &snap), 0);
    hs_region_close(&region);
    assert_int_equal(snap->bad_count, 0);
    assert_int_equal(snap->forked_from_pid, getpid());
    return snap;
}
