/*
 * Tests of daemon/event_loop: a handler may free what it wants, a turn is bounded, and a source
 * without a handler ends it.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/event_loop.h"
#include "rt/clock.h"

#define MS UINT64_C(1000000)

/* A pipe in which a byte waits. */
struct part {
    struct hs_event_loop *loop;
    struct hs_event_source source;
    int ends[2];
    unsigned *count;
    struct part *other; /* freed by the handler, with the part itself */
};

static uint64_t now_ns(void)
{
    return hs_clock_ns(CLOCK_MONOTONIC);
}

static void part_free(struct part *part)
{
    hs_event_loop_remove(part->loop, part->ends[0]);
    close(part->ends[0]);
    close(part->ends[1]);
    free(part);
}

static void on_byte(void *of, uint64_t at_ns)
{
    struct part *part = of;
    assert_true(at_ns <= now_ns());
    (*part->count)++;
    if (part->other) {
        part_free(part->other);
        part_free(part);
    }
}

static struct part *part_new(struct hs_event_loop *loop, unsigned *count)
{
    struct part *part = calloc(1, sizeof(*part));
    assert_non_null(part);
    part->loop = loop;
    part->count = count;
    part->source = (struct hs_event_source){ on_byte, part };
    assert_int_equal(pipe2(part->ends, O_CLOEXEC), 0);
    assert_int_equal(write(part->ends[1], "x", 1), 1);
    assert_int_equal(hs_event_loop_add(loop, part->ends[0], &part->source), 0);
    return part;
}

static void test_a_handler_frees_both(void **state)
{
    (void)state;
    struct hs_event_loop loop;
    unsigned count = 0;
    assert_int_equal(hs_event_loop_open(&loop), 0);
    struct part *one = part_new(&loop, &count), *two = part_new(&loop, &count);
    one->other = two;
    two->other = one;
    hs_event_loop_turn(&loop, now_ns()); /* whichever comes first frees both */
    assert_int_equal(count, 1);
    hs_event_loop_turn(&loop, now_ns());
    assert_int_equal(count, 1);
    hs_event_loop_close(&loop);
}

static void test_a_turn_is_bounded(void **state)
{
    (void)state;
    struct hs_event_loop loop;
    unsigned count = 0;
    assert_int_equal(hs_event_loop_open(&loop), 0);
    struct part *part = part_new(&loop, &count); /* its byte is never read */
    hs_event_loop_turn(&loop, UINT64_MAX);
    assert_true(count > 1 && count < 1000);
    unsigned before = count;
    hs_event_loop_remove(&loop, part->ends[0]);
    hs_event_loop_turn(&loop, now_ns());
    assert_int_equal(count, before);

    static struct hs_event_source silent = { NULL, NULL };
    assert_int_equal(hs_event_loop_add(&loop, part->ends[0], &silent), 0);
    hs_event_loop_turn(&loop, UINT64_MAX); /* returns at once */
    assert_int_equal(count, before);
    part_free(part);
    hs_event_loop_close(&loop);
}

static void test_time(void **state)
{
    (void)state;
    struct hs_event_loop loop;
    assert_int_equal(hs_event_loop_open(&loop), 0);
    uint64_t begin_ns = now_ns();
    hs_event_loop_turn(&loop, 0); /* is over */
    hs_event_loop_turn(&loop, begin_ns + 20 * MS);
    assert_true(now_ns() >= begin_ns + 20 * MS);
    hs_event_loop_close(&loop);
    hs_event_loop_close(&loop);
    assert_int_equal(loop.epoll_fd, -1);
}

static void test_what_cannot_be_watched(void **state)
{
    (void)state;
    struct hs_event_loop loop, none = HS_EVENT_LOOP_NONE;
    unsigned count = 0;
    assert_int_equal(hs_event_loop_open(&loop), 0);
    struct part *part = part_new(&loop, &count);
    assert_int_equal(hs_event_loop_add(&loop, part->ends[0], &part->source), -EEXIST);
    assert_int_equal(hs_event_loop_add(&loop, -1, &part->source), -EBADF);
    assert_int_equal(hs_event_loop_add(&none, part->ends[0], &part->source), -EBADF);
    part_free(part);
    hs_event_loop_close(&loop);
    hs_event_loop_close(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_handler_frees_both),
        cmocka_unit_test(test_a_turn_is_bounded),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_what_cannot_be_watched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
