/*
 * Tests of daemon/peer: who is accepted, who is disconnected, and what a waiting peer may do.
 */
#include <sys/socket.h>

#include "peer_fixture.h"

#define SECOND UINT64_C(1000000000)

static unsigned request_count;
static int request_result;

static int on_request(void *ctx, struct hs_peer *peer, struct hs_ctl_message *message)
{
    (void)ctx;
    (void)peer;
    assert_int_equal(message->kind, HS_CTL_LIST);
    request_count++;
    return request_result;
}

static void peers_init(struct hs_peers *peers, struct parts *parts)
{
    parts_init(parts);
    memset(peers, 0, sizeof(*peers));
    peers->loop = &parts->loop;
    peers->uid = getuid();
    peers->on_request = on_request;
    request_count = 0;
    request_result = 0;
}

static void request(int sock)
{
    Hs__Ctl__List list = HS__CTL__LIST__INIT;
    assert_int_equal(hs_ctl_send(sock, HS_CTL_LIST, &list.base, NULL, 0), 0);
}

static void test_requests_and_their_ends(void **state)
{
    (void)state;
    static struct hs_peers peers;
    struct parts parts;
    peers_init(&peers, &parts);
    int one = connect_peer(&peers), two = connect_peer(&peers), three = connect_peer(&peers);
    assert_int_equal(peers.count, 3);
    assert_true(hs_peer_is_root(peers.list[0])); /* of its own daemon */
    assert_int_equal(peers.list[0]->pid, getpid());
    request(one);
    hs_event_loop_turn(&parts.loop, 0);
    assert_int_equal(request_count, 1);
    request_result = -EPROTO;
    request(one);
    assert_int_equal(send(two, "no message", 10, 0), 10);
    close(three);
    hs_event_loop_turn(&parts.loop, 0);
    assert_int_equal(request_count, 2);
    assert_int_equal(peers.count, 0);
    close(one);
    close(two);
    parts_deinit(&parts);
}

static void test_who_is_refused(void **state)
{
    (void)state;
    static struct hs_peers peers;
    struct parts parts;
    peers_init(&peers, &parts);
    peers.uid = getuid() + 1;
    int one = connect_peer(&peers);
    /* root is served by every daemon */
    assert_int_equal(peers.count, getuid() == 0);
    assert_true(getuid() == 0 || is_refused(one, "serves another user"));
    hs_peers_drop_all(&peers);
    close(one);
    parts_deinit(&parts);
}

static void test_a_waiting_peer(void **state)
{
    (void)state;
    static struct hs_peers peers;
    struct parts parts;
    uint64_t now_ns = hs_clock_ns(CLOCK_MONOTONIC);
    peers_init(&peers, &parts);
    struct hs_recording_job *job = add_job(&parts, "x");
    int waiting = connect_peer(&peers), silent = connect_peer(&peers);
    struct hs_peer *peer = peers.list[0];
    hs_peer_await(peer, job);
    assert_int_equal(job->waiting_count, 1);
    /* Only the silent one is disconnected. */
    assert_true(hs_peers_expire(&peers, now_ns) > now_ns + 9 * SECOND);
    assert_int_equal(peers.count, 2);
    assert_int_equal(hs_peers_expire(&peers, now_ns + 11 * SECOND), UINT64_MAX);
    assert_int_equal(peers.count, 1);
    hs_peer_end_await(peer, now_ns + 11 * SECOND);
    assert_int_equal(job->waiting_count, 0);
    assert_true(hs_peers_expire(&peers, now_ns + 12 * SECOND) == now_ns + 21 * SECOND);
    /* A request before the answer ends the connection, and the waiting. */
    hs_peer_await(peer, job);
    request(waiting);
    hs_event_loop_turn(&parts.loop, 0);
    assert_int_equal(request_count, 0);
    assert_int_equal(peers.count, 0);
    assert_int_equal(job->waiting_count, 0);
    close(waiting);
    close(silent);
    remove_file(&parts, ".x");
    parts_deinit(&parts);
}

/* When all connections are in use, the peer that was silent for longest makes room, unless all
 * wait for the end of a session. */
static void test_all_in_use(void **state)
{
    (void)state;
    static struct hs_peers peers;
    struct parts parts;
    int socks[160];
    peers_init(&peers, &parts);
    struct hs_recording_job *job = add_job(&parts, "x");
    for (size_t i = 0; i < HS_COUNT_OF(socks); i++) {
        socks[i] = connect_peer(&peers);
        peers.list[peers.count - 1]->rights.uid = 7;
        peers.list[peers.count - 1]->heard_ns = i + 1;
    }
    size_t count = peers.count;
    peers.count = HS_PEERS_MAX; /* the others: copies of the last one, which is the youngest */
    for (size_t i = count; i < HS_PEERS_MAX; i++) {
        peers.list[i] = peers.list[count - 1];
    }
    char byte;
    int next = connect_peer(&peers);
    assert_int_equal(recv(socks[0], &byte, 1, MSG_DONTWAIT), 0); /* the oldest is disconnected */
    assert_int_equal(recv(socks[1], &byte, 1, MSG_DONTWAIT), -1);
    assert_int_equal(peers.count, HS_PEERS_MAX);
    for (size_t i = 0; i < HS_PEERS_MAX; i++) {
        peers.list[i]->awaited = job;
    }
    int refused = connect_peer(&peers);
    assert_true(is_refused(refused, "too many connections"));
    for (size_t i = 0; i < HS_PEERS_MAX; i++) {
        peers.list[i]->awaited = NULL;
    }
    struct hs_peer *newest = peers.list[HS_PEERS_MAX - 1];
    peers.list[0] = newest; /* it replaced the oldest */
    peers.count = count;
    hs_peers_drop_all(&peers);
    for (size_t i = 0; i < HS_COUNT_OF(socks); i++) {
        close(socks[i]);
    }
    close(next);
    close(refused);
    remove_file(&parts, ".x");
    parts_deinit(&parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_and_their_ends),
        cmocka_unit_test(test_who_is_refused),
        cmocka_unit_test(test_a_waiting_peer),
        cmocka_unit_test(test_all_in_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
