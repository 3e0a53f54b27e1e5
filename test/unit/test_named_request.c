/*
 * Tests of collect/named_request, and of the registry that passes requests on: messages that are
 * none, senders that are not the process, and senders that do not wait.
 */
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
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/named_request.h"
#include "collect/registry.h"
#include "region_writer.h"

#define START_NS 1000

static struct hs_named_snapshot_v1 make_message(const char *name)
{
    struct hs_named_snapshot_v1 message = { .magic = HS_NAMED_SNAPSHOT_MAGIC,
                                            .version = HS_NAMED_SNAPSHOT_VERSION,
                                            .message_bytes = sizeof(message),
                                            .pid = (uint32_t)getpid(),
                                            .start_mono_ns = START_NS };
    message.name_bytes = (uint32_t)strlen(name);
    memcpy(message.name, name, strlen(name));
    return message;
}

static void test_messages(void **state)
{
    (void)state;
    struct hs_named_request request;
    char longest[64] = { 0 };
    memset(longest, '\xfe', 63);
    struct hs_named_snapshot_v1 good = make_message(longest);
    assert_int_equal(hs_named_request_parse(&good, sizeof(good), &request), 0);
    assert_string_equal(request.name, longest);
    assert_true(request.inner_pid == (uint32_t)getpid() && request.start_mono_ns == START_NS);
    assert_true(request.pid == 0 && request.pidfd == -1);
    good.message_bytes = 200; /* a later version's */
    good.version = 2;
    assert_int_equal(hs_named_request_parse(&good, sizeof(good), &request), 0);

    struct hs_named_snapshot_v1 bad[9];
    for (size_t i = 0; i < 9; i++) {
        bad[i] = make_message("name");
    }
    bad[0].magic++;
    bad[1].version = 0;
    bad[2].message_bytes = 127;
    bad[3].name_bytes = 0;
    bad[4].name_bytes = 3;
    bad[5].name_bytes = 5;
    bad[6].name_bytes = 64;
    memset(bad[6].name, 'x', 64);
    bad[7].name[1] = '\0';
    bad[8].name_bytes = UINT32_MAX;
    for (size_t i = 0; i < 9; i++) {
        assert_int_equal(hs_named_request_parse(&bad[i], sizeof(bad[i]), &request), -EINVAL);
    }
    for (size_t bytes = 0; bytes < sizeof(good); bytes++) {
        assert_int_equal(hs_named_request_parse(&good, bytes, &request), -EINVAL);
    }
}

/* --- the registry ----------------------------------------------------------------------------- */

struct fixture {
    struct region_writer w;
    struct hs_registry registry;
    unsigned named_count, stranger_count;
    char name[64];
    int answer; /* what the owner answers; 1: nothing */
    int answer_result;
};

static void on_end(void *ctx, struct hs_target *target)
{
    (void)ctx;
    hs_target_close(target);
}

static void on_named(void *ctx, struct hs_target *target, const struct hs_named_request *request)
{
    struct fixture *fx = ctx;
    fx->stranger_count += target == NULL;
    if (!target) {
        hs_named_request_answer(request, -EAGAIN);
        return;
    }
    assert_ptr_equal(target, fx->registry.targets[0]);
    fx->named_count++;
    strcpy(fx->name, request->name);
    if (fx->answer != 1) {
        fx->answer_result = hs_named_request_answer(request, fx->answer);
    }
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

/* A registry that has this process as its target. `pid` 0: as one of another PID namespace. */
static void open_fixture(struct fixture *fx, pid_t pid)
{
    *fx = (struct fixture){ .answer = 0 };
    struct hs_registry_config config = {
        .on_end = on_end, .on_named = on_named, .is_taking_hidden = true, .ctx = fx
    };
    region_writer_init(&fx->w, &(struct region_plan){ 64, 4096 });
    fx->w.header->start_boot_ns = UINT64_MAX / 2;
    fx->w.header->start_mono_ns = START_NS;
    fx->w.header->pid = (uint32_t)getpid();
    assert_int_equal(hs_listener_open(&config.listener), 0);
    assert_int_equal(hs_registry_open_with(&fx->registry, &config), 0);
    struct hs_pending_client pending = { .hello = { .magic = HS_HELLO_MAGIC,
                                                    .region_bytes = fx->w.file_bytes },
                                         .region_fd = region_writer_dup(&fx->w),
                                         .pidfd = -1,
                                         .pid = pid,
                                         .uid = geteuid() };
    assert_int_equal(hs_registry_take(&fx->registry, &pending, 1), 0);
}

static void close_fixture(struct fixture *fx)
{
    hs_registry_close(&fx->registry);
    region_writer_deinit(&fx->w);
}

/* The error in the answer; 1: none came. */
static int answer_of(int sock)
{
    struct hs_named_answer_v1 answer;
    if (recv(sock, &answer, sizeof(answer), MSG_DONTWAIT) != (ssize_t)sizeof(answer)) {
        return 1;
    }
    assert_true(answer.magic == HS_NAMED_SNAPSHOT_MAGIC && answer.answer_bytes == sizeof(answer));
    return answer.error;
}

static int ask(struct fixture *fx, const struct hs_named_snapshot_v1 *message, size_t bytes)
{
    int sock = connect_to(&fx->registry.listener);
    assert_int_equal(send(sock, message, bytes, MSG_NOSIGNAL), bytes);
    hs_registry_turn(&fx->registry, 2);
    int r = answer_of(sock);
    close(sock);
    return r;
}

static void test_passed_on(void **state)
{
    (void)state;
    struct fixture fx;
    open_fixture(&fx, getpid());
    struct hs_named_snapshot_v1 message = make_message("after load");
    assert_int_equal(ask(&fx, &message, sizeof(message)), 0);
    assert_int_equal(fx.named_count, 1);
    assert_string_equal(fx.name, "after load");
    fx.answer = -ENOTCONN;
    assert_int_equal(ask(&fx, &message, sizeof(message)), -ENOTCONN);
    /* The message may come later than the connection. */
    fx.answer = 0;
    int sock = connect_to(&fx.registry.listener);
    hs_registry_turn(&fx.registry, 2);
    assert_int_equal(fx.named_count, 2);
    assert_int_equal(send(sock, &message, sizeof(message), MSG_NOSIGNAL), sizeof(message));
    hs_registry_turn(&fx.registry, 3);
    assert_true(fx.named_count == 3 && answer_of(sock) == 0);
    close(sock);
    assert_int_equal(fx.registry.bad_count, 0);
    close_fixture(&fx);
}

static void test_refused(void **state)
{
    (void)state;
    struct fixture fx;
    open_fixture(&fx, getpid());
    struct hs_named_snapshot_v1 message = make_message("x");
    message.start_mono_ns++; /* a region whose hello has not come yet */
    assert_int_equal(ask(&fx, &message, sizeof(message)), -EAGAIN);
    message = make_message("x");
    message.pid++;
    assert_int_equal(ask(&fx, &message, sizeof(message)), -EACCES);
    message = make_message("x");
    assert_int_equal(ask(&fx, &message, sizeof(message) - 1), -EINVAL);
    message.name_bytes = 0;
    assert_int_equal(ask(&fx, &message, sizeof(message)), -EINVAL);
    assert_int_equal(fx.registry.bad_count, 2);
    /* Another process of the same user, in our name: the kernel knows better. */
    message = make_message("x");
    pid_t child = fork();
    if (child == 0) {
        int sock = connect_to(&fx.registry.listener);
        struct pollfd fd = { .fd = sock, .events = POLLIN };
        bool is_sent = send(sock, &message, sizeof(message), MSG_NOSIGNAL) == sizeof(message);
        _exit(is_sent && poll(&fd, 1, 10000) == 1 && answer_of(sock) == -EAGAIN ? 0 : 1);
    }
    int status = -1;
    struct pollfd fd = { .fd = hs_registry_fd(&fx.registry), .events = POLLIN };
    while (waitpid(child, &status, WNOHANG) == 0) {
        poll(&fd, 1, 10);
        hs_registry_turn(&fx.registry, 4);
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(fx.named_count == 0 && fx.stranger_count == 1);
    close_fixture(&fx);
}

static void test_those_that_do_not_wait(void **state)
{
    (void)state;
    struct fixture fx;
    struct hs_named_snapshot_v1 message = make_message("x");
    open_fixture(&fx, getpid());
    int sock = connect_to(&fx.registry.listener);
    assert_int_equal(send(sock, &message, sizeof(message), MSG_NOSIGNAL), sizeof(message));
    close(sock);
    hs_registry_turn(&fx.registry, 2);
    assert_int_equal(fx.named_count, 1);
    assert_int_equal(fx.answer_result, -ECANCELED); /* it lives, and has gone on */
    close_fixture(&fx);

    open_fixture(&fx, getpid());
    fx.answer_result = -1;
    pid_t child = fork();
    if (child == 0) {
        sock = connect_to(&fx.registry.listener);
        raise(send(sock, &message, sizeof(message), MSG_NOSIGNAL) > 0 ? SIGKILL : SIGABRT);
    }
    waitpid(child, NULL, 0);
    fx.registry.targets[0]->process.pid = child;
    hs_registry_turn(&fx.registry, 2);
    assert_int_equal(fx.named_count, 1);
    /* It has died while it waited. The pidfd tells so only where the kernel still gives one. */
    assert_true(fx.answer_result == 0 || fx.answer_result == -ECANCELED);
    close_fixture(&fx);
}

static void test_hidden_process(void **state)
{
    (void)state;
    struct fixture fx;
    struct hs_named_request request;
    struct hs_named_snapshot_v1 message = make_message("x");
    open_fixture(&fx, 0);
    const struct hs_target *target = fx.registry.targets[0];
    assert_int_equal(hs_named_request_parse(&message, sizeof(message), &request), 0);
    request.uid = geteuid();
    assert_int_equal(hs_named_request_is_of(&request, target), 0);
    request.uid++;
    assert_int_equal(hs_named_request_is_of(&request, target), -ENOENT);
    request.uid--;
    request.start_mono_ns++;
    assert_int_equal(hs_named_request_is_of(&request, target), -ENOENT);
    request.start_mono_ns--;
    request.inner_pid++;
    assert_int_equal(hs_named_request_is_of(&request, target), -ENOENT);
    request.inner_pid--;
    request.pid = getpid(); /* a visible process is not a hidden one */
    assert_int_equal(hs_named_request_is_of(&request, target), -ENOENT);
    close_fixture(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),       cmocka_unit_test(test_passed_on),
        cmocka_unit_test(test_refused),        cmocka_unit_test(test_those_that_do_not_wait),
        cmocka_unit_test(test_hidden_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
