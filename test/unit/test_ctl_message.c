/*
 * Tests of ctl/ctl_message and daemon/start_settings: valid and invalid datagrams, bodies in files,
 * descriptors, and which requests are allowed.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "ctl/ctl.pb-c.h"
#include "ctl/ctl_collectors.h"
#include "ctl/ctl_message.h"
#include "daemon/recording_file.h"
#include "daemon/start_settings.h"

static void make_pair(int ends[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
}

static void close_pair(const int ends[2])
{
    close(ends[0]);
    close(ends[1]);
}

static unsigned count_fds(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < 256; fd++) {
        count += fcntl(fd, F_GETFD) >= 0;
    }
    return count;
}

static void test_there_and_back(void **state)
{
    (void)state;
    int ends[2], fds[2];
    unsigned before = count_fds();
    struct hs_ctl_message message;
    Hs__Ctl__Stop stop = HS__CTL__STOP__INIT;
    make_pair(ends);
    stop.session = (char *)"nightly";
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(hs_ctl_send(ends[0], HS_CTL_STOP, &stop.base, fds, 2), 0);
    assert_int_equal(hs_ctl_receive(ends[1], false, &message), 0);
    assert_int_equal(message.kind, HS_CTL_STOP);
    assert_int_equal(message.fd_count, 2);
    ProtobufCMessage *body = hs_ctl_unpack(&message, &hs__ctl__stop__descriptor);
    assert_non_null(body);
    assert_string_equal(((Hs__Ctl__Stop *)(void *)body)->session, "nightly");
    protobuf_c_message_free_unpacked(body, NULL);
    int taken = hs_ctl_take_fd(&message, 1);
    assert_true(fcntl(taken, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(hs_ctl_take_fd(&message, 1), -1);
    assert_int_equal(hs_ctl_take_fd(&message, 2), -1);
    close(taken);
    hs_ctl_message_deinit(&message);
    assert_int_equal(hs_ctl_receive(ends[1], false, &message), -EAGAIN);
    close(ends[0]);
    assert_int_equal(hs_ctl_receive(ends[1], false, &message), -ECONNRESET);
    close(ends[1]);
    close(fds[0]);
    close(fds[1]);
    assert_int_equal(count_fds(), before);
}

/* A list of ten thousand clients does not fit in a datagram. */
static void test_a_long_answer_comes_in_a_file(void **state)
{
    (void)state;
    enum { COUNT = 10000 };
    int ends[2];
    unsigned before = count_fds();
    struct hs_ctl_message message;
    Hs__Ctl__Listed listed = HS__CTL__LISTED__INIT;
    Hs__Ctl__Client *clients = calloc(COUNT, sizeof(*clients));
    Hs__Ctl__Client **pointers = calloc(COUNT, sizeof(*pointers));
    make_pair(ends);
    for (unsigned i = 0; i < COUNT; i++) {
        hs__ctl__client__init(&clients[i]);
        clients[i].has_pid = true;
        clients[i].pid = i;
        clients[i].process = (char *)"a program";
        pointers[i] = &clients[i];
    }
    listed.n_clients = COUNT;
    listed.clients = pointers;
    assert_int_equal(hs_ctl_send(ends[0], HS_CTL_LISTED, &listed.base, NULL, 0), 0);
    assert_int_equal(hs_ctl_receive(ends[1], true, &message), 0);
    assert_int_equal(message.fd_count, 0);
    ProtobufCMessage *body = hs_ctl_unpack(&message, &hs__ctl__listed__descriptor);
    assert_non_null(body);
    assert_int_equal(((Hs__Ctl__Listed *)(void *)body)->n_clients, COUNT);
    assert_int_equal(((Hs__Ctl__Listed *)(void *)body)->clients[COUNT - 1]->pid, COUNT - 1);
    protobuf_c_message_free_unpacked(body, NULL);
    hs_ctl_message_deinit(&message);
    close_pair(ends);
    free(clients);
    free(pointers);
    assert_int_equal(count_fds(), before);
}

/* The other end does not read: sending fails and does not wait. */
static void test_a_full_socket(void **state)
{
    (void)state;
    int ends[2];
    Hs__Ctl__List list = HS__CTL__LIST__INIT;
    int r = 0;
    make_pair(ends);
    for (unsigned i = 0; r == 0 && i < 100000; i++) {
        r = hs_ctl_send(ends[0], HS_CTL_LIST, &list.base, NULL, 0);
    }
    assert_int_equal(r, -EAGAIN);
    close(ends[1]);
    assert_int_equal(hs_ctl_send(ends[0], HS_CTL_LIST, &list.base, NULL, 0), -ECONNRESET);
    close(ends[0]);
}

static void test_heads(void **state)
{
    (void)state;
    static const struct {
        struct hs_ctl_head_v1 head;
        size_t follows;
        int result;
    } cases[] = {
        { { HS_CTL_MAGIC, HS_CTL_VERSION, HS_CTL_LIST, 0, 0 }, 0, 0 },
        { { HS_CTL_MAGIC, HS_CTL_VERSION, HS_CTL_LIST, 5, 0 }, 5, 0 },
        { { HS_CTL_MAGIC, HS_CTL_VERSION, HS_CTL_ERROR, 0, 0 }, 0, 0 },
        { { HS_CTL_MAGIC, HS_CTL_VERSION, HS_CTL_LISTED, 1000000, HS_CTL_IN_FILE }, 0, 0 },
        { { HS_CTL_MAGIC, HS_CTL_VERSION, HS_CTL_LIST, 1000000, HS_CTL_IN_FILE }, 0, -EPROTO },
        { { HS_CTL_MAGIC, HS_CTL_VERSION, HS_CTL_LISTED, 1, HS_CTL_IN_FILE }, 1, -EPROTO },
        { { HS_CTL_MAGIC, HS_CTL_VERSION, HS_CTL_LISTED, 0x7fffffff, HS_CTL_IN_FILE }, 0, -EPROTO },
        { { HS_CTL_MAGIC + 1, HS_CTL_VERSION, HS_CTL_LIST, 0, 0 }, 0, -EPROTO },
        { { HS_CTL_MAGIC, 2, HS_CTL_LIST, 0, 0 }, 0, -EPROTONOSUPPORT },
        { { HS_CTL_MAGIC, 0, 99, 7, 0 }, 0, -EPROTONOSUPPORT },
        { { HS_CTL_MAGIC, HS_CTL_VERSION_HEAPS, HS_CTL_START, 0, 0 }, 0, 0 },
        { { HS_CTL_MAGIC, HS_CTL_VERSION_HEAPS + 1, HS_CTL_START, 0, 0 }, 0, -EPROTONOSUPPORT },
        { { HS_CTL_MAGIC, HS_CTL_VERSION, 1, 0, 0 }, 0, -EPROTO },
        { { HS_CTL_MAGIC, HS_CTL_VERSION, HS_CTL_KIND_N, 0, 0 }, 0, -EPROTO },
        { { HS_CTL_MAGIC, HS_CTL_VERSION, HS_CTL_LIST, 4, 0 }, 5, -EPROTO },
        { { HS_CTL_MAGIC, HS_CTL_VERSION, HS_CTL_LIST, 6, 0 }, 5, -EPROTO },
        { { HS_CTL_MAGIC, HS_CTL_VERSION, HS_CTL_LIST, UINT32_MAX, 0 }, 5, -EPROTO },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t datagram[64] = { 0 };
        struct hs_ctl_head_v1 head;
        memcpy(datagram, &cases[i].head, sizeof(head));
        if (hs_ctl_parse(datagram, sizeof(head) + cases[i].follows, &head) != cases[i].result) {
            fail_msg("case %zu", i);
        }
        for (size_t cut = 0; cut < sizeof(head); cut++) {
            assert_int_equal(hs_ctl_parse(datagram, cut, &head), -EPROTO);
        }
    }
}

static void test_a_body_in_what_is_no_file(void **state)
{
    (void)state;
    int ends[2], fds[2];
    unsigned before = count_fds();
    struct hs_ctl_message message;
    const struct hs_ctl_head_v1 head = { HS_CTL_MAGIC, HS_CTL_VERSION, HS_CTL_LISTED, 100,
                                         HS_CTL_IN_FILE };
    make_pair(ends);
    assert_int_equal(send(ends[0], &head, sizeof(head), 0), sizeof(head));
    assert_int_equal(hs_ctl_receive(ends[1], false, &message), -EPROTO); /* the descriptor is
                                                                          * missing */
    assert_int_equal(pipe(fds), 0);
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = { .align = { .cmsg_len = CMSG_LEN(sizeof(int)),
                             .cmsg_level = SOL_SOCKET,
                             .cmsg_type = SCM_RIGHTS } };
    memcpy(CMSG_DATA(&control.align), &fds[0], sizeof(int));
    struct iovec iov = { .iov_base = (void *)(uintptr_t)&head, .iov_len = sizeof(head) };
    struct msghdr out = { .msg_iov = &iov,
                          .msg_iovlen = 1,
                          .msg_control = &control,
                          .msg_controllen = sizeof(control.bytes) };
    assert_int_equal(sendmsg(ends[0], &out, 0), sizeof(head));
    assert_int_equal(hs_ctl_receive(ends[1], false, &message),
                     -EPROTO); /* a pipe: receiving does not wait for it */
    close_pair(ends);
    close_pair(fds);
    assert_int_equal(count_fds(), before);
}

/* --- what a request may ask for --------------------------------------------------------------- */

static const char *why_not(const Hs__Ctl__Start *request)
{
    struct hs_session_settings settings;
    const char *why = NULL;
    int r = hs_start_settings(request, &settings, &why);
    if (r == 0) {
        hs_session_settings_deinit(&settings);
        return NULL;
    }
    assert_int_equal(r, -EINVAL);
    return why;
}

static void test_requests(void **state)
{
    (void)state;
    char long_name[5000];
    char *names[] = { (char *)"nginx", (char *)"*.py" };
    char *long_names[] = { long_name };
    uint32_t pid = 12;
    Hs__Ctl__Start good = HS__CTL__START__INIT;
    good.n_name = 2;
    good.name = names;
    good.n_pid = 1;
    good.pid = &pid;
    good.interval_bytes = 512;
    good.is_without_startup = true;
    good.dump_every_ns = 1000000000;
    good.session = (char *)"mine";
    good.max_memory_bytes = UINT64_C(64) << 20;
    good.max_overhead_ppm = 10000;
    good.max_cpu_ns = 3000000000;
    struct hs_session_settings settings;
    const char *why;
    assert_int_equal(hs_start_settings(&good, &settings, &why), 0);
    assert_int_equal(settings.pids[0], 12);
    assert_string_equal(settings.names[1], "*.py");
    assert_true(settings.is_taking_running && !settings.is_taking_startup &&
                settings.is_symbolizing && settings.is_compressing);
    assert_string_equal(settings.name, "mine");
    assert_true(settings.limits.memory_bytes == UINT64_C(64) << 20 &&
                settings.limits.overhead_ppm == 10000 && settings.limits.cpu_ns == 3000000000);
    hs_session_settings_deinit(&settings);

    memset(long_name, 'x', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    Hs__Ctl__Start bad[12];
    for (size_t i = 0; i < 12; i++) {
        bad[i] = good;
    }
    bad[0].interval_bytes = 0;
    bad[1].interval_bytes = UINT64_MAX;
    bad[2].duration_ns = UINT64_MAX;
    bad[3].dump_every_ns = 1;
    bad[4].session = (char *)"../x";
    bad[5].name = long_names;
    bad[5].n_name = 1;
    bad[6].n_pid = bad[6].n_name = 0;
    bad[7].is_without_running = true;
    uint32_t huge = UINT32_MAX;
    bad[8].pid = &huge;
    bad[9].max_memory_bytes = 4096;
    bad[10].max_overhead_ppm = 1000001;
    bad[11].max_cpu_ns = UINT64_MAX;
    for (size_t i = 0; i < 12; i++) {
        if (!why_not(&bad[i])) {
            fail_msg("request %zu", i);
        }
    }
    assert_true(hs_recording_file_is_name("a.pftrace"));
    assert_false(hs_recording_file_is_name("a/b") || hs_recording_file_is_name("..") ||
                 hs_recording_file_is_name("") || hs_recording_file_is_name(NULL) ||
                 hs_recording_file_is_name(long_name));
}

/* A daemon that does not know selections must not take the request for one without. */
static void test_selection_of_heaps(void **state)
{
    (void)state;
    int ends[2];
    char *names[] = { (char *)"nginx" }, *patterns[] = { (char *)"arena", (char *)"po?l*" };
    uint64_t intervals[] = { 64, HS_INTERVAL_OFF };
    Hs__Ctl__Heaps heaps = HS__CTL__HEAPS__INIT;
    Hs__Ctl__Start start = HS__CTL__START__INIT;
    start.n_name = 1;
    start.name = names;
    start.has_interval_bytes = true;
    start.interval_bytes = 512;
    make_pair(ends);
    for (unsigned round = 0; round < 3; round++) {
        struct {
            struct hs_ctl_head_v1 head;
            uint8_t body[512];
        } datagram;
        start.heaps = round ? &heaps : NULL;
        heaps.has_is_without_others = heaps.is_without_others =
            true; /* malloc's alone is what an older daemon records */
        heaps.n_pattern = heaps.n_interval_bytes = round == 2 ? 2 : 0;
        heaps.pattern = patterns;
        heaps.interval_bytes = intervals;
        assert_int_equal(hs_ctl_send(ends[0], HS_CTL_START, &start.base, NULL, 0), 0);
        assert_true(recv(ends[1], &datagram, sizeof(datagram), MSG_PEEK) > 0);
        assert_int_equal(datagram.head.version, round == 2 ? HS_CTL_VERSION_HEAPS : HS_CTL_VERSION);
        struct hs_ctl_message message;
        struct hs_session_settings settings;
        const char *why;
        assert_int_equal(hs_ctl_receive(ends[1], false, &message), 0);
        ProtobufCMessage *body = hs_ctl_unpack(&message, &hs__ctl__start__descriptor);
        assert_int_equal(hs_start_settings((void *)body, &settings, &why), 0);
        char text[HS_CTL_HEAPS_BYTES];
        hs_heap_selection_text(&settings.heaps, text);
        assert_string_equal(text, round == 0   ? ""
                                  : round == 1 ? "libc.malloc,*=0"
                                               : "libc.malloc,arena=64,po?l*=0,*=0");
        hs_session_settings_deinit(&settings);
        protobuf_c_message_free_unpacked(body, NULL);
        hs_ctl_message_deinit(&message);
    }
    close_pair(ends);
    intervals[1] = HS_INTERVAL_BYTES_MAX + 1;
    assert_non_null(why_not(&start));
    intervals[1] = 1;
    assert_null(why_not(&start));
    heaps.n_interval_bytes = 1;
    assert_non_null(why_not(&start));
    heaps.n_pattern = heaps.n_interval_bytes = 0;
    heaps.is_without_malloc = true; /* nothing is left */
    assert_non_null(why_not(&start));
    heaps.is_without_others = false;
    heaps.other_interval_bytes = UINT64_MAX;
    assert_non_null(why_not(&start));
}

/* --- sockets of collectors -------------------------------------------------------------------- */

#define HEX32 "0123456789abcdef0123456789abcdef"

static void test_collectors_in_the_kernels_list(void **state)
{
    (void)state;
    char name[HS_CTL_NAME_MAX + 1] = "";
    static const char good[] =
        "0000000000000000: 00000002 00000000 00010000 0005 01 86613 @heapscope-" HEX32 "\n";
    static const char *const bad[] = {
        "Num       RefCount Protocol Flags    Type St Inode Path\n",
        "",
        "\n",
        "0: 2 0 10000 0005 01 1\n",
        "0: 2 0 10000 0005 01 1 \n",
        "0: 2 0 10000 0005 01 1 @\n",
        "0: 2 0 10000 0005 01 1 heapscope-" HEX32 "\n",   /* path socket */
        "0: 2 0 00000 0005 03 1 @heapscope-" HEX32 "\n",  /* connected socket */
        "0: 2 0 10000 0001 01 1 @heapscope-" HEX32 "\n",  /* stream socket */
        "0: 2 0 10000 0005 01 1 @heapscope-" HEX32 "x\n", /* 'x' is no digit */
        "0: 2 0 10000 0005 01 1 @heapscope-" HEX32 HEX32 "\n",
        "0: 2 0 10000 0005 01 1 @other-" HEX32 "\n",
    };
    assert_true(hs_ctl_collector_parse(good, name));
    assert_string_equal(name, "heapscope-" HEX32);
    for (size_t i = 0; i < HS_COUNT_OF(bad); i++) {
        if (hs_ctl_collector_parse(bad[i], name)) {
            fail_msg("taken: %s", bad[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_a_long_answer_comes_in_a_file),
        cmocka_unit_test(test_a_full_socket),
        cmocka_unit_test(test_heads),
        cmocka_unit_test(test_a_body_in_what_is_no_file),
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_selection_of_heaps),
        cmocka_unit_test(test_collectors_in_the_kernels_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
