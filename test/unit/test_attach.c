/*
 * Attaching without ptrace: processes that load the client late, call its entry points themselves
 * and hand over the region. The test knows their heaps.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/listen.h"
#include "collect/region/capture.h"
#include "collect/region/region_reader.h"
#include "fmt/ctl_layout.h"
#include "rt/atomic.h"

#if defined(__SANITIZE_ADDRESS__)
#define IS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_ASAN 1
#endif
#endif
#ifndef IS_ASAN
#define IS_ASAN 0
#endif
#define EXIT_SKIPPED 77

/* --- in the target ---------------------------------------------------------------------------- */

#define BLOCKS_MAX 64

struct order {
    char what;
    uint32_t number;
    char collector[HS_CTL_NAME_MAX + 1];
};

struct answer {
    int64_t value;
    struct hs_attach_v1 attach;
};

static int (*entry_attach)(void *), (*entry_detach)(void *), (*entry_refresh)(void *);
static char *blocks[BLOCKS_MAX];
static int busy_stop;

static void load(void)
{
    void *library = dlopen(HS_CLIENT_PATH, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        _exit(9);
    }
    entry_attach = (int (*)(void *))dlsym(library, HS_ATTACH_ENTRY);
    entry_detach = (int (*)(void *))dlsym(library, HS_DETACH_ENTRY);
    entry_refresh = (int (*)(void *))dlsym(library, HS_REFRESH_ENTRY);
}

/* 1000 bytes in all. */
static __attribute__((noinline)) void allocate_some(void)
{
    blocks[0] = malloc(100);
    blocks[1] = calloc(10, 20);
    blocks[2] = realloc(malloc(50), 300);
    blocks[3] =
        strdup("0123456789012345678901234567890123456789012345678901234567890123456789012345"
               "67890123456789012"); /* 94 with its NUL; */
    blocks[4] = memalign(64, 206);
    blocks[5] = malloc(100);
    free(malloc(77));
}

static __attribute__((noinline)) void free_some(void)
{
    for (unsigned i = 0; i < 6; i++) {
        free(blocks[i]);
    }
}

static void *keep_busy(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;
    void *kept[64] = { NULL };
    while (!__atomic_load_n(&busy_stop, __ATOMIC_RELAXED)) {
        unsigned i = (seed = seed * 1103515245 + 12345) >> 16 & 63;
        free(kept[i]);
        kept[i] = malloc(16 + (seed >> 8 & 1023));
        memset(kept[i], (int)i, 16);
    }
    for (unsigned i = 0; i < 64; i++) {
        free(kept[i]);
    }
    return NULL;
}

static int64_t count_mappings(void)
{
    static char text[1 << 20];
    FILE *maps = fopen("/proc/self/maps", "r");
    size_t bytes = fread(text, 1, sizeof(text), maps);
    int64_t count = 0;
    for (size_t i = 0; i < bytes; i++) {
        count += text[i] == '\n';
    }
    fclose(maps);
    return count;
}

static int64_t allocate_in_plugin(void)
{
    void *plugin = dlopen(HS_PLUGIN_PATH, RTLD_NOW | RTLD_LOCAL);
    void *(*make)(size_t) = (void *(*)(size_t))dlsym(plugin, "plugin_make");
    if (!make) {
        return -1;
    }
    make(12345);
    return 0;
}

static int64_t carry_out(const struct order *order, struct answer *answer)
{
    static pthread_t threads[8];
    struct hs_detach_v1 detach = { .detach_bytes = sizeof(detach) };
    switch (order->what) {
    case 'A':
        answer->attach = (struct hs_attach_v1){ .attach_bytes = sizeof(answer->attach),
                                                .interval_bytes = order->number };
        memcpy(answer->attach.collector, order->collector, sizeof(order->collector));
        return entry_attach(&answer->attach);
    case 'T':
        answer->attach = (struct hs_attach_v1){ .attach_bytes = sizeof(answer->attach),
                                                .flags = HS_ATTACH_TAKE_OVER,
                                                .interval_bytes = order->number };
        return entry_attach(&answer->attach);
    case 'O': /* a collector that reads regions of version 1 only */
        answer->attach =
            (struct hs_attach_v1){ .attach_bytes = offsetof(struct hs_attach_v1, heaps),
                                   .interval_bytes = order->number };
        return entry_attach(&answer->attach);
    case 'D': {
        int err = entry_detach(&detach);
        answer->attach.slot_count = detach.slot_count;
        answer->attach.left_count = detach.was_quiet;
        return err;
    }
    case 'a':
        allocate_some();
        return 0;
    case 'f':
        free_some();
        return 0;
    case 'm':
        return count_mappings();
    case 'p':
        return allocate_in_plugin();
    case 'b':
        busy_stop = 0;
        for (uintptr_t i = 0; i < order->number; i++) {
            pthread_create(&threads[i], NULL, keep_busy, (void *)(i + 1));
        }
        return 0;
    case 'e':
        __atomic_store_n(&busy_stop, 1, __ATOMIC_RELAXED);
        for (uint32_t i = 0; i < order->number; i++) {
            pthread_join(threads[i], NULL);
        }
        return 0;
    default:
        _exit(0);
    }
}

static void send_answer(int sock, const struct answer *answer, int fd)
{
    struct iovec iov = { .iov_base = (void *)answer, .iov_len = sizeof(*answer) };
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = { .header = { .cmsg_len = CMSG_LEN(sizeof(int)),
                              .cmsg_level = SOL_SOCKET,
                              .cmsg_type = SCM_RIGHTS } };
    memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
    struct msghdr message = { .msg_iov = &iov,
                              .msg_iovlen = 1,
                              .msg_control = fd >= 0 ? control.bytes : NULL,
                              .msg_controllen = fd >= 0 ? sizeof(control.bytes) : 0 };
    sendmsg(sock, &message, 0);
}

static void be_target(int sock)
{
    static struct answer answer;
    struct order order;
    load();
    while (recv(sock, &order, sizeof(order), 0) == (ssize_t)sizeof(order)) {
        answer.attach.region_fd = -1;
        answer.value = carry_out(&order, &answer);
        send_answer(sock, &answer, answer.attach.region_fd);
        if (answer.attach.region_fd >= 0) {
            close(answer.attach.region_fd);
        }
    }
    _exit(0);
}

/* --- from outside ----------------------------------------------------------------------------- */

struct target {
    pid_t pid;
    int sock;
    int fd; /* the region of the last answer; -1: none */
    struct answer answer;
    struct hs_region region;
    char collector[HS_CTL_NAME_MAX + 1]; /* to which the target announces itself */
};

static void start(struct target *t)
{
    int socks[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, socks), 0);
    *t = (struct target){ .sock = socks[0], .fd = -1, .region = { .fd = -1 } };
    t->pid = fork();
    if (t->pid == 0) {
        close(socks[0]);
        be_target(socks[1]);
    }
    close(socks[1]);
}

static int64_t tell(struct target *t, char what, uint32_t number)
{
    struct order order = { .what = what, .number = number };
    memcpy(order.collector, t->collector, sizeof(order.collector));
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec iov = { .iov_base = &t->answer, .iov_len = sizeof(t->answer) };
    struct msghdr message = { .msg_iov = &iov,
                              .msg_iovlen = 1,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof(control.bytes) };
    assert_int_equal(send(t->sock, &order, sizeof(order), 0), sizeof(order));
    assert_int_equal(recvmsg(t->sock, &message, MSG_CMSG_CLOEXEC), sizeof(t->answer));
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    t->fd = -1;
    if (c) {
        memcpy(&t->fd, CMSG_DATA(c), sizeof(t->fd));
    }
    return t->answer.value;
}

static void attach(struct target *t, char how, uint32_t interval_bytes)
{
    hs_region_close(&t->region);
    while (tell(t, how, interval_bytes) == -EAGAIN) {
        how = 'A';
    }
    assert_int_equal(t->answer.value, 0);
    assert_true(t->fd >= 0);
    assert_int_equal(hs_region_open(t->fd, t->answer.attach.region_bytes, &t->region, NULL), 0);
}

static uint64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static struct hs_snapshot *look(struct target *t)
{
    struct hs_snapshot *snap;
    assert_int_equal(hs_capture(&t->region, false, now_ns(), &snap), 0);
    return snap;
}

static void assert_live(struct target *t, double bytes, double count)
{
    struct hs_snapshot *snap = look(t);
    assert_false(snap->is_from_startup);
    assert_true(snap->live.bytes == bytes);
    assert_true(snap->live.count == count);
    hs_snapshot_free(snap);
}

static void stop(struct target *t)
{
    hs_region_close(&t->region);
    close(t->sock);
    assert_int_equal(waitpid(t->pid, NULL, 0), t->pid);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_is_exact(void **state)
{
    (void)state;
    struct target t;
    start(&t);
    tell(&t, 'a', 0); /* allocated before the attach, so it does not count */
    attach(&t, 'A', 1);
    assert_true(t.answer.attach.slot_count >= 10);
    assert_live(&t, 0, 0);
    tell(&t, 'f', 0);
    assert_live(&t, 0, 0);
    tell(&t, 'a', 0);
    assert_live(&t, 1000, 6);
    tell(&t, 'f', 0);
    assert_live(&t, 0, 0);
    struct hs_snapshot *snap = look(&t);
    assert_true(snap->alloc.bytes == 1000 + 50 + 77);
    assert_true(snap->peak.bytes == 1000 + 77);
    hs_snapshot_free(snap);
    stop(&t);
}

/* An older heapscope gets the error for which it tells its user to restart the program. */
static void test_older_collector(void **state)
{
    (void)state;
    struct target t;
    start(&t);
    assert_int_equal(tell(&t, 'O', 1), -EINVAL);
    assert_int_equal(t.answer.attach.slot_count, 0);
    assert_int_equal(tell(&t, 'D', 0), -ENOENT); /* nothing has changed */
    attach(&t, 'A', 1);
    tell(&t, 'a', 0);
    assert_live(&t, 1000, 6);
    stop(&t);
}

static void test_once_at_a_time(void **state)
{
    (void)state;
    struct target t;
    start(&t);
    assert_int_equal(tell(&t, 'D', 0), -ENOENT);
    attach(&t, 'A', 1);
    assert_int_equal(tell(&t, 'A', 1), -EBUSY);
    tell(&t, 'a', 0);
    assert_live(&t, 1000, 6);
    attach(&t, 'T', 1); /* the previous collector is gone */
    assert_live(&t, 0, 0);
    tell(&t, 'f', 0);
    tell(&t, 'a', 0);
    assert_live(&t, 1000, 6);
    assert_int_equal(tell(&t, 'D', 0), 0);
    assert_int_equal(tell(&t, 'D', 0), -ENOENT);
    stop(&t);
}

static void test_again_and_again(void **state)
{
    (void)state;
    struct target t;
    start(&t);
    attach(&t, 'A', 1);
    uint32_t slot_count = t.answer.attach.slot_count;
    tell(&t, 'a', 0);
    tell(&t, 'f', 0);
    assert_int_equal(tell(&t, 'D', 0), 0);
    assert_int_equal(t.answer.attach.slot_count, slot_count);
    int64_t mappings = tell(&t, 'm', 0);
    for (unsigned i = 0; i < 100; i++) {
        attach(&t, 'A', 1);
        assert_int_equal(t.answer.attach.slot_count, slot_count);
        tell(&t, 'a', 0);
        assert_live(&t, 1000, 6);
        if (i % 2 == 0) {
            tell(&t, 'f', 0);
            assert_live(&t, 0, 0);
        }
        assert_int_equal(tell(&t, 'D', 0), 0);
        assert_int_equal(t.answer.attach.slot_count, slot_count);
        assert_int_equal(t.answer.attach.left_count, 1); /* no thread was inside the client */
        if (i % 2 == 1) {
            tell(&t, 'f', 0);
        }
    }
    assert_int_equal(tell(&t, 'm', 0), mappings);
    stop(&t);
}

static void test_under_fire(void **state)
{
    (void)state;
    struct target t;
    int64_t mappings = 0;
    start(&t);
    tell(&t, 'b', 4);
    for (unsigned i = 0; i < 150; i++) {
        attach(&t, 'A', i % 3 == 0 ? 1 : i % 3 == 1 ? 64 : 4096);
        if (i % 4 == 0) {
            usleep(2000);
        }
        struct hs_snapshot *snap = look(&t);
        assert_true(snap->live.bytes <= 4.0 * 64 * 1040 * (i % 3 == 0 ? 1 : 8) + 1e6);
        assert_int_equal(snap->bad_count, 0);
        hs_snapshot_free(snap);
        assert_int_equal(tell(&t, 'D', 0), 0);
        while (t.answer.attach.left_count == 0) {
            assert_int_equal(tell(&t, 'D', 0), 0);
        }
        if (i == 20) {
            mappings = tell(&t, 'm', 0);
        }
    }
    assert_true(tell(&t, 'm', 0) <= mappings + 4); /* the allocator may make arenas */
    attach(&t, 'A', 1);
    tell(&t, 'e', 4);
    tell(&t, 'a', 0);
    assert_live(&t, 1000, 6);
    stop(&t);
}

/* Begins another session, as a collector does. */
static void begin_session(struct target *t, uint64_t interval_bytes)
{
    struct hs_region_control_v1 *control = t->region.control;
    hs_store_relaxed(&control->interval_bytes, interval_bytes);
    /* ORDER session: its interval before it. */
    hs_store_release(&control->session, control->session + 1);
    /* ORDER settings: all of them before their generation. */
    hs_store_release(&control->generation, hs_load_relaxed(&control->generation) + 1);
    hs_add_relaxed(&control->floor_bytes, HS_FLOOR_STEP);
}

/*
 * Receives the next connection that sends a hello: a `heapscope list` on this machine may connect
 * here too.
 */
static void receive_pending(struct hs_listener *listener, struct hs_pending_client *ret_pending)
{
    int fd, r;
    uint64_t end_ns = now_ns() + 10000000000;
    do {
        while ((r = hs_listener_accept(listener, &fd)) == -EAGAIN && now_ns() < end_ns) {
            usleep(1000);
        }
        assert_int_equal(r, 0);
        while ((r = hs_pending_client_receive(listener, fd, ret_pending)) == -EAGAIN &&
               now_ns() < end_ns) {
            usleep(1000); /* it has connected but not sent anything yet */
        }
        close(fd);
    } while (r < 0 && now_ns() < end_ns);
    assert_int_equal(r, 0);
}

static void take_over_region(struct target *t, struct hs_listener *listener)
{
    struct hs_pending_client pending;
    receive_pending(listener, &pending);
    assert_int_equal(pending.pid, t->pid);
    close(pending.pidfd);
    hs_region_close(&t->region);
    assert_int_equal(
        hs_region_open(pending.region_fd, pending.hello.region_bytes, &t->region, NULL), 0);
}

static void test_another_session(void **state)
{
    (void)state;
    struct target t;
    struct hs_listener listener;
    assert_int_equal(hs_listener_open(&listener), 0);
    start(&t);
    memcpy(t.collector, listener.name, sizeof(listener.name));
    attach(&t, 'A', 1);
    tell(&t, 'a', 0);
    assert_live(&t, 1000, 6);
    int64_t mappings = 0;
    for (unsigned i = 0; i < 30; i++) {
        begin_session(&t, 1);
        tell(&t, 'f', 0); /* allocated in the previous session */
        tell(&t, 'a', 0);
        take_over_region(&t, &listener);
        assert_int_equal(t.region.control->session, i + 1);
        assert_live(&t, 1000, 6);
        if (i == 5) {
            mappings = tell(&t, 'm', 0);
            tell(&t, 'f', 0);
            tell(&t, 'a', 0);
        }
    }
    tell(&t, 'b', 4);
    for (unsigned i = 0; i < 30; i++) {
        usleep(1000);
        begin_session(&t, i % 2 ? 1 : 4096);
        take_over_region(&t, &listener);
        struct hs_snapshot *snap = look(&t);
        assert_int_equal(snap->bad_count, 0);
        assert_true(snap->interval_bytes == (i % 2 ? 1 : 4096));
        hs_snapshot_free(snap);
    }
    tell(&t, 'e', 4);
    tell(&t, 'f', 0);
    begin_session(&t, 1);
    tell(&t, 'a', 0);
    take_over_region(&t, &listener);
    assert_live(&t, 1000, 6);
    assert_true(tell(&t, 'm', 0) <= mappings + 20); /* mappings of four threads */
    hs_listener_close(&listener);
    stop(&t);
}

static void test_later_library(void **state)
{
    (void)state;
    struct target t;
    start(&t);
    attach(&t, 'A', 1);
    assert_int_equal(tell(&t, 'p', 0), 0);
    struct hs_snapshot *snap = look(&t);
    double found = 0;
    for (uint32_t i = 0; i < snap->stack_count; i++) {
        found += snap->stacks[i].live.bytes == 12345;
    }
    assert_true(found == 1);
    hs_snapshot_free(snap);
    stop(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_exact),        cmocka_unit_test(test_once_at_a_time),
        cmocka_unit_test(test_older_collector), cmocka_unit_test(test_again_and_again),
        cmocka_unit_test(test_under_fire),      cmocka_unit_test(test_later_library),
        cmocka_unit_test(test_another_session),
    };
    if (IS_ASAN) {
        puts("skipped: the client leaves programs with AddressSanitizer alone");
        return EXIT_SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
