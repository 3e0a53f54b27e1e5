/*
 * peer_user.h: the user of a real connection, from netlink and from /proc; rows that must not
 * count.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "http/peer_user.h"

#define HEAD "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
#define ROW(local, peer, state, uid, inode)                                                        \
    "   7: " local " " peer " " state " 00000000:00000000 00:00000000 00000000  " uid              \
    "        0 " inode " 1 0000000000000000 20 4 0 10 -1\n"

static struct sockaddr_in at(uint16_t port)
{
    return (struct sockaddr_in){ .sin_family = AF_INET,
                                 .sin_port = htons(port),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static void rows(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int result;
    } cases[] = {
        { HEAD ROW("0100007F:1000", "0100007F:2000", "01", "1000", "4711"), 0 },
        { HEAD ROW("0100007F:2000", "0100007F:1000", "01", "0", "4712")
              ROW("0100007F:1000", "0100007F:2000", "01", "1000", "4711"),
          0 },
        { ROW("0100007F:1000", "0100007F:2000", "01", "1000", "0"), -ENOENT },    /* closed */
        { ROW("0100007F:1000", "0100007F:2000", "04", "1000", "4711"), -ENOENT }, /* FIN_WAIT1 */
        { ROW("0100007F:2000", "0100007F:1000", "01", "1000", "4711"), -ENOENT }, /* our own end */
        { ROW("0100007F:1000", "0100007F:2001", "01", "1000", "4711"), -ENOENT },
        { ROW("0200007F:1000", "0100007F:2000", "01", "1000", "4711"), -ENOENT },
        { ROW("0100007F:1000", "00000000:0000", "0A", "1000", "4711"), -ENOENT },
        { HEAD, -ENOENT },
        { "", -ENOENT },
        { "   7: 0100007F:1000 0100007F:2000 01", -ENOENT },
        { "\n\n   7: zzzz\n", -ENOENT },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sockaddr_in peer = at(0x1000), own = at(0x2000);
        uid_t uid = 77;
        assert_int_equal(
            hs_peer_user_parse(cases[i].text, strlen(cases[i].text), &peer, &own, &uid),
            cases[i].result);
        assert_int_equal(uid, cases[i].result == 0 ? 1000 : 77);
    }
}

struct pair {
    int listener, client, server;
    struct sockaddr_in peer, own;
};

static void connect_pair(struct pair *pair)
{
    socklen_t bytes = sizeof(pair->own);
    pair->own = at(0);
    pair->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pair->client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(pair->listener, (struct sockaddr *)(void *)&pair->own, bytes), 0);
    assert_int_equal(listen(pair->listener, 1), 0);
    assert_int_equal(getsockname(pair->listener, (struct sockaddr *)(void *)&pair->own, &bytes), 0);
    assert_int_equal(connect(pair->client, (struct sockaddr *)(void *)&pair->own, bytes), 0);
    pair->server = accept(pair->listener, (struct sockaddr *)(void *)&pair->peer, &bytes);
    assert_true(pair->server >= 0);
}

static void real_connection(void **state)
{
    (void)state;
    struct pair pair;
    uid_t uid = (uid_t)-1;
    connect_pair(&pair);
    assert_int_equal(hs_peer_user(&pair.peer, &pair.own, &uid), 0);
    assert_int_equal(uid, geteuid());
    uid = (uid_t)-1;
    assert_int_equal(hs_peer_user_from_proc(&pair.peer, &pair.own, &uid), 0);
    assert_int_equal(uid, geteuid());
    /* The kernel says user 0 of a socket whose process has closed it. */
    close(pair.client);
    uid = 77;
    assert_true(hs_peer_user(&pair.peer, &pair.own, &uid) < 0);
    assert_true(hs_peer_user_from_proc(&pair.peer, &pair.own, &uid) < 0);
    assert_int_equal(uid, 77);
    close(pair.server);
    close(pair.listener);
}

/* Fails like that of a kernel: -ENOENT without tcp_diag. 0: works. */
static int failure;

ssize_t __real_recv(int sock, void *data, size_t bytes, int flags);
ssize_t __wrap_recv(int sock, void *data, size_t bytes, int flags);
ssize_t __wrap_recv(int sock, void *data, size_t bytes, int flags)
{
    ssize_t got = __real_recv(sock, data, bytes, flags);
    if (failure == 0 || got < 0) {
        return got;
    }
    struct nlmsghdr head = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct nlmsgerr)),
                             .nlmsg_type = NLMSG_ERROR };
    struct nlmsgerr error = { .error = failure };
    memcpy(data, &head, sizeof(head));
    memcpy((char *)data + NLMSG_HDRLEN, &error, sizeof(error));
    return (ssize_t)head.nlmsg_len;
}

static void without_sock_diag(void **state)
{
    (void)state;
    static const int failures[] = { -ENOENT, -EPERM, -EINVAL };
    struct pair pair;
    connect_pair(&pair);
    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
        uid_t uid = (uid_t)-1;
        failure = failures[i];
        int r = hs_peer_user(&pair.peer, &pair.own, &uid);
        failure = 0;
        assert_int_equal(r, 0);
        assert_int_equal(uid, geteuid());
    }
    close(pair.client);
    close(pair.server);
    close(pair.listener);
}

/* What the kernel says is about the socket, not about us: that of another user shows it. */
static void another_user(void **state)
{
    (void)state;
    struct pair pair;
    uid_t uid = (uid_t)-1;
    if (geteuid() != 0) {
        skip(); /* only root can become another user */
    }
    assert_int_equal(seteuid(65534), 0);
    connect_pair(&pair);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(hs_peer_user(&pair.peer, &pair.own, &uid), 0);
    assert_int_equal(uid, 65534);
    uid = (uid_t)-1;
    assert_int_equal(hs_peer_user_from_proc(&pair.peer, &pair.own, &uid), 0);
    assert_int_equal(uid, 65534);
    close(pair.client);
    close(pair.server);
    close(pair.listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),
        cmocka_unit_test(real_connection),
        cmocka_unit_test(without_sock_diag),
        cmocka_unit_test(another_user),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
