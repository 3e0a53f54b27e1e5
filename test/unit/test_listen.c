/* Tests of collect/listen and collect/target: hellos as a client sends them, and invalid ones. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/listen.h"
#include "collect/registry.h"
#include "collect/target.h"
#include "region_writer.h"

static struct hs_listener open_listener(void)
{
    struct hs_listener listener;
    assert_int_equal(hs_listener_open(&listener), 0);
    return listener;
}

static int connect_to(const struct hs_listener *listener)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    size_t len = strlen(listener->name);
    memcpy(addr.sun_path + 1, listener->name, len);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
    if (connect(fd, (struct sockaddr *)&addr, bytes) != 0) {
        abort();
    }
    return fd;
}

static struct hs_hello_v1 make_hello(uint64_t region_bytes)
{
    return (struct hs_hello_v1){ .magic = HS_HELLO_MAGIC,
                                 .version = HS_HELLO_VERSION,
                                 .hello_bytes = sizeof(struct hs_hello_v1),
                                 .pid = (uint32_t)getpid(),
                                 .region_bytes = region_bytes };
}

static void send_hello(int sock, const struct hs_hello_v1 *hello, size_t bytes, const int *fds,
                       size_t fd_count)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(8 * sizeof(int))];
    } control = { 0 };
    struct iovec iov = { .iov_base = (void *)hello, .iov_len = bytes };
    struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
    if (fd_count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
        memcpy(CMSG_DATA(c), fds, fd_count * sizeof(int));
    }
    assert_int_equal(sendmsg(sock, &message, MSG_NOSIGNAL), bytes);
}

static unsigned count_fds(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < 256; fd++) {
        count += fcntl(fd, F_GETFD) >= 0;
    }
    return count;
}

/* Sends one message, closes the connection, and receives the message. */
static int exchange(const void *data, size_t bytes, const int *fds, size_t fd_count,
                    struct hs_pending_client *ret_pending)
{
    struct hs_listener listener = open_listener();
    int connection;
    int sock = connect_to(&listener);
    send_hello(sock, data, bytes, fds, fd_count);
    close(sock);
    assert_int_equal(hs_listener_accept(&listener, &connection), 0);
    assert_true(fcntl(connection, F_GETFD) & FD_CLOEXEC);
    int r = hs_pending_client_receive(&listener, connection, ret_pending);
    close(connection);
    assert_int_equal(hs_listener_accept(&listener, &connection), -EAGAIN);
    hs_listener_close(&listener);
    return r;
}

static void test_hello_arrives_after_its_sender_hung_up(void **state)
{
    (void)state;
    struct region_writer w;
    struct hs_pending_client pending;
    struct hs_target *target;
    struct hs_snapshot *snap;
    const char *why = "";
    region_writer_init(&w, &(struct region_plan){ 64, 4096 });
    struct hs_hello_v1 hello = make_hello(w.file_bytes);
    hello.flags = HS_HELLO_OWN_MALLOC;
    unsigned before = count_fds();
    assert_int_equal(exchange(&hello, sizeof(hello), &w.fd, 1, &pending), 0);
    assert_int_equal(pending.pid, getpid());
    assert_true(pending.pidfd >= 0 && !pending.is_gone);
    assert_true(fcntl(pending.region_fd, F_GETFD) & FD_CLOEXEC);
    prctl(PR_GET_NAME, w.header->comm);       /* it still executes the program that says hello */
    w.header->start_boot_ns = UINT64_MAX / 2; /* the process would be older than its region */
    assert_int_equal(hs_target_open(&pending, 1000, &target, &why), 0);
    assert_false(target->process.has_ended);
    assert_int_equal(hs_target_capture(target, 2000, false, &snap), 0);
    assert_true(snap->has_own_malloc && !snap->is_final && snap->rss_bytes > 0);
    assert_int_equal(snap->exit_kind, HS_EXIT_RUNNING);
    hs_snapshot_free(snap);
    hs_target_process_end(&target->process, 3000, HS_EXIT_CODE, 7);
    hs_target_process_end(&target->process, 4000, HS_EXIT_UNKNOWN,
                          0); /* a process ends only once */
    assert_int_equal(hs_target_capture(target, 5000, true, &snap), 0);
    assert_true(snap->is_final && snap->rss_bytes == 0 && snap->rss_peak_bytes > 0);
    assert_int_equal(snap->exit_kind, HS_EXIT_CODE);
    assert_int_equal(snap->exit_value, 7);
    assert_int_equal(snap->time_mono_ns, 3000);
    hs_snapshot_free(snap);
    hs_target_close(target);
    assert_int_equal(count_fds(), before);
    region_writer_deinit(&w);
}

static void test_recording_is_switched_off_as_clients_expect(void **state)
{
    (void)state;
    struct region_writer w;
    struct hs_pending_client pending;
    struct hs_target *target;
    region_writer_init(&w, &(struct region_plan){ 64, 4096 });
    struct hs_hello_v1 hello = make_hello(w.file_bytes);
    assert_int_equal(exchange(&hello, sizeof(hello), &w.fd, 1, &pending), 0);
    assert_int_equal(hs_target_open(&pending, 1000, &target, NULL), 0);
    hs_target_end_session(target);
    assert_int_equal(w.control->interval_bytes, HS_INTERVAL_OFF);
    assert_int_equal(w.control->generation, 1);
    assert_true(w.control->floor_bytes == HS_FLOOR_STEP);
    hs_target_close(target);
    region_writer_deinit(&w);
}

static void test_the_dead_are_heard(void **state)
{
    (void)state;
    struct region_writer w;
    struct hs_pending_client pending;
    struct hs_target *target;
    struct hs_listener listener = open_listener();
    int connection;
    region_writer_init(&w, &(struct region_plan){ 64, 4096 });
    pid_t pid = fork();
    if (pid == 0) {
        struct hs_hello_v1 hello = make_hello(w.file_bytes);
        send_hello(connect_to(&listener), &hello, sizeof(hello), &w.fd, 1);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(hs_listener_accept(&listener, &connection), 0);
    assert_int_equal(hs_pending_client_receive(&listener, connection, &pending), 0);
    close(connection);
    assert_int_equal(pending.pid, pid);
    assert_int_equal(hs_target_open(&pending, 1000, &target, NULL), 0);
    /* Its end is known at once, or can be read from a descriptor. */
    if (!target->process.has_ended) {
        struct pollfd end = { .fd = target->process.pidfd, .events = POLLIN };
        assert_int_equal(poll(&end, 1, 0), 1);
    }
    hs_target_close(target);
    hs_listener_close(&listener);
    region_writer_deinit(&w);
}

static void test_what_is_no_hello(void **state)
{
    (void)state;
    struct hs_pending_client pending;
    struct hs_hello_v1 hello = make_hello(4096);
    char long_text[300];
    int fds[8];
    memset(long_text, 'x', sizeof(long_text));
    for (size_t i = 0; i < 8; i++) {
        fds[i] = STDIN_FILENO;
    }
    unsigned before = count_fds();
    assert_int_equal(exchange(&hello, sizeof(hello), NULL, 0, &pending), -EPROTO); /* the region
                                                                                    * is missing */
    assert_int_equal(exchange(&hello, 63, fds, 1, &pending), -EPROTO);
    assert_int_equal(exchange(long_text, sizeof(long_text), fds, 8, &pending), -EPROTO);
    hello.magic++;
    assert_int_equal(exchange(&hello, sizeof(hello), fds, 8, &pending), -EPROTO);
    assert_int_equal(count_fds(), before);
    /* More descriptors than expected: the first is the region, the others are closed. */
    hello.magic--;
    assert_int_equal(exchange(&hello, sizeof(hello), fds, 8, &pending), 0);
    close(pending.region_fd);
    close(pending.pidfd);
    assert_int_equal(count_fds(), before);
}

static void test_silence_and_hanging_up(void **state)
{
    (void)state;
    struct hs_listener listener = open_listener();
    struct hs_pending_client pending;
    int connection;
    int sock = connect_to(&listener);
    assert_int_equal(hs_listener_accept(&listener, &connection), 0);
    assert_int_equal(hs_pending_client_receive(&listener, connection, &pending), -EAGAIN);
    close(sock);
    assert_int_equal(hs_pending_client_receive(&listener, connection, &pending), -ECONNRESET);
    close(connection);
    hs_listener_close(&listener);
}

/* A zombie, and a process that was waited for. */
static void test_killed_before_its_hello(void **state)
{
    (void)state;
    struct hs_listener listener = open_listener();
    unsigned before = count_fds();
    for (int is_reaped = 0; is_reaped <= 1; is_reaped++) {
        struct hs_pending_client pending;
        siginfo_t info;
        int connection;
        pid_t pid = fork();
        if (pid == 0) {
            connect_to(&listener);
            raise(SIGKILL);
        }
        assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | (is_reaped ? 0 : WNOWAIT)), 0);
        assert_int_equal(hs_listener_accept(&listener, &connection), 0);
        assert_int_equal(hs_pending_client_receive(&listener, connection, &pending), -ENODATA);
        close(connection);
        assert_int_equal(is_reaped ? pid : waitpid(pid, NULL, 0), pid);
    }
    assert_int_equal(count_fds(), before);
    hs_listener_close(&listener);
}

static void close_at_end(void *ctx, struct hs_target *target)
{
    *(unsigned *)ctx += 1;
    hs_target_close(target);
}

static void open_registry(struct hs_registry *registry, unsigned *end_count)
{
    struct hs_registry_config config = { .on_end = close_at_end, .ctx = end_count };
    assert_int_equal(hs_listener_open(&config.listener), 0);
    assert_int_equal(hs_registry_open_with(registry, &config), 0);
}

/* The 65th connection takes the place of the first one, whose hello has arrived in the meantime. */
static void test_late_hello_of_one_that_gives_way(void **state)
{
    (void)state;
    struct region_writer w;
    struct hs_registry registry;
    int socks[HS_SILENT_CONNECTIONS_MAX + 2];
    unsigned end_count = 0;
    region_writer_init(&w, &(struct region_plan){ 64, 4096 });
    struct hs_hello_v1 hello = make_hello(w.file_bytes);
    unsigned before = count_fds();
    open_registry(&registry, &end_count);
    for (size_t i = 0; i < HS_SILENT_CONNECTIONS_MAX; i++) {
        socks[i] = connect_to(&registry.listener);
    }
    hs_registry_turn(&registry, 1);
    assert_true(registry.image_count == 0 && registry.bad_count == 0);
    send_hello(socks[0], &hello, sizeof(hello), &w.fd, 1);
    for (size_t i = HS_SILENT_CONNECTIONS_MAX; i < HS_SILENT_CONNECTIONS_MAX + 2; i++) {
        socks[i] = connect_to(&registry.listener);
    }
    hs_registry_turn(&registry, 2);
    assert_true(registry.image_count == 1); /* the first hello was received */
    assert_true(registry.bad_count == 1);   /* the second was not */
    for (size_t i = 0; i < HS_SILENT_CONNECTIONS_MAX + 2; i++) {
        close(socks[i]);
    }
    hs_registry_end(&registry, getpid(), 3, HS_EXIT_UNKNOWN, 0);
    assert_int_equal(end_count, 1);
    hs_registry_close(&registry);
    assert_int_equal(count_fds(), before);
    region_writer_deinit(&w);
}

/*
 * Two images of this process in both orders, such as a shell's child and the program that it
 * executes.
 */
static unsigned ends_of_first_image(uint64_t gap_ns, uint32_t forked_from_pid, bool is_late)
{
    struct region_writer writers[2];
    struct hs_registry registry;
    unsigned end_count = 0;
    open_registry(&registry, &end_count);
    for (unsigned i = 0; i < 2; i++) {
        region_writer_init(&writers[i], &(struct region_plan){ 64, 4096 });
        writers[i].header->start_boot_ns = UINT64_MAX / 2;
        writers[i].header->start_mono_ns = 1000 + i * gap_ns;
        writers[i].header->forked_from_pid = i == 0 ? forked_from_pid : 0;
    }
    for (unsigned i = 0; i < 2; i++) {
        struct region_writer *w = &writers[is_late ? 1 - i : i];
        struct hs_hello_v1 hello = make_hello(w->file_bytes);
        int sock = connect_to(&registry.listener);
        send_hello(sock, &hello, sizeof(hello), &w->fd, 1);
        close(sock);
        hs_registry_turn(&registry, 1);
    }
    assert_int_equal(registry.image_count, 2);
    assert_int_equal(registry.target_count, 1);
    assert_int_equal(registry.targets[0]->region.header.start_mono_ns, 1000 + gap_ns);
    hs_registry_close(&registry);
    region_writer_deinit(&writers[0]);
    region_writer_deinit(&writers[1]);
    return end_count;
}

static void test_forked_to_execute(void **state)
{
    (void)state;
    unsigned before = count_fds();
    for (int is_late = 0; is_late < 2; is_late++) {
        assert_int_equal(ends_of_first_image(500000000, 4321, is_late), 0);
        assert_int_equal(ends_of_first_image(1500000000, 4321, is_late), 1);
        assert_int_equal(ends_of_first_image(500000000, 0, is_late), 1);
    }
    assert_int_equal(count_fds(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hello_arrives_after_its_sender_hung_up),
        cmocka_unit_test(test_recording_is_switched_off_as_clients_expect),
        cmocka_unit_test(test_the_dead_are_heard),
        cmocka_unit_test(test_what_is_no_hello),
        cmocka_unit_test(test_silence_and_hanging_up),
        cmocka_unit_test(test_killed_before_its_hello),
        cmocka_unit_test(test_late_hello_of_one_that_gives_way),
        cmocka_unit_test(test_forked_to_execute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
