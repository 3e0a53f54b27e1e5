/*
 * Tests of daemon/requests: stop and dump, also when no finalizer can be started, and what is no
 * request.
 */
#include <sys/socket.h>

#include "daemon/requests.h"
#include "failing_calls.h"
#include "peer_fixture.h"

struct world {
    struct parts parts;
    struct hs_peers peers;
    struct hs_requests requests;
};

static struct world world;

/* In the place of the fixture's: answers the peers that wait. */
static void answer(void *ctx, struct hs_recording_job *job)
{
    on_done(ctx, job);
    hs_request_answer_waiting(&world.peers, job);
}

static void world_init(void)
{
    memset(&world, 0, sizeof(world));
    parts_init(&world.parts);
    world.parts.jobs.on_done = answer;
    world.requests =
        (struct hs_requests){ .hub = world.parts.hub, .jobs = &world.parts.jobs, .uid = getuid() };
    world.peers.loop = &world.parts.loop;
    world.peers.uid = getuid();
    world.peers.on_request = hs_request_handle;
    world.peers.ctx = &world.requests;
}

static void world_deinit(void)
{
    hs_peers_drop_all(&world.peers);
    parts_deinit(&world.parts);
}

static void stop(int sock, const char *session)
{
    Hs__Ctl__Stop request = HS__CTL__STOP__INIT;
    request.session = (char *)(uintptr_t)session;
    assert_int_equal(hs_ctl_send(sock, HS_CTL_STOP, &request.base, NULL, 0), 0);
    hs_event_loop_turn(&world.parts.loop, 0);
}

/* The error in the answer to a stop; "": there is a file. Fails if there is no answer. */
static void assert_stopped(int sock, const char *session, const char *error)
{
    struct hs_ctl_message message;
    assert_int_equal(hs_ctl_receive(sock, false, &message), 0);
    assert_int_equal(message.kind, HS_CTL_STOPPED);
    Hs__Ctl__Stopped *stopped =
        (Hs__Ctl__Stopped *)(void *)hs_ctl_unpack(&message, &hs__ctl__stopped__descriptor);
    assert_non_null(stopped);
    assert_string_equal(stopped->session, session);
    assert_string_equal(stopped->error ? stopped->error : "", error);
    hs__ctl__stopped__free_unpacked(stopped, NULL);
    hs_ctl_message_deinit(&message);
}

static void test_which_session(void **state)
{
    (void)state;
    world_init();
    int sock = connect_peer(&world.peers);
    stop(sock, NULL);
    assert_true(is_refused(sock, "no session is running"));
    stop(sock, "x");
    assert_true(is_refused(sock, "there is no session 'x'; running: none"));
    stop(sock, "a/b");
    assert_true(is_refused(sock, "not the name of a session"));
    struct hs_recording_job *one = add_job(&world.parts, "one");
    add_job(&world.parts, "two");
    stop(sock, NULL);
    assert_true(is_refused(sock, "name one: one two"));
    one->session->process_count = 1;
    stop(sock, "one");
    wait_for_done(&world.parts, 1);
    assert_stopped(sock, "one", "");
    stop(sock, "one"); /* it is remembered */
    assert_stopped(sock, "one", "");
    Hs__Ctl__Dump dump = HS__CTL__DUMP__INIT;
    char name[] = "one";
    dump.session = name;
    assert_int_equal(hs_ctl_send(sock, HS_CTL_DUMP, &dump.base, NULL, 0), 0);
    hs_event_loop_turn(&world.parts.loop, 0);
    assert_true(is_refused(sock, "session one has ended"));
    close(sock);
    remove_file(&world.parts, "one");
    remove_file(&world.parts, ".two");
    world_deinit();
}

/* The peer is answered, and stays connected; the job is not forgotten while it is answered. */
static void test_stop_without_a_finalizer(void **state)
{
    (void)state;
    char name[16];
    world_init();
    int sock = connect_peer(&world.peers);
    add_job(&world.parts, "oldest");
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "y%d", i);
        const struct hs_recording_job *job = add_job(&world.parts, name);
        failing_calls.fork_error = EAGAIN;
        stop_job(&world.parts, job);
        failing_calls.fork_error = 0;
        snprintf(name, sizeof(name), ".y%d", i);
        remove_file(&world.parts, name);
    }
    failing_calls.fork_error = EAGAIN;
    stop(sock, "oldest");
    failing_calls.fork_error = 0;
    assert_stopped(sock, "oldest", strerror(EAGAIN));
    assert_int_equal(world.peers.count, 1);
    stop(sock, "oldest");
    assert_stopped(sock, "oldest", strerror(EAGAIN));
    close(sock);
    remove_file(&world.parts, ".oldest");
    world_deinit();
}

static void test_what_is_no_request(void **state)
{
    (void)state;
    world_init();
    Hs__Ctl__List list = HS__CTL__LIST__INIT;
    int sock = connect_peer(&world.peers);
    assert_int_equal(hs_ctl_send(sock, HS_CTL_STOPPED, &list.base, NULL, 0), 0); /* an answer */
    hs_event_loop_turn(&world.parts.loop, 0);
    assert_int_equal(world.peers.count, 0);
    close(sock);
    world_deinit();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_session),
        cmocka_unit_test(test_stop_without_a_finalizer),
        cmocka_unit_test(test_what_is_no_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
