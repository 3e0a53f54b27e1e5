/*
 * The decision of a seccomp filter, compared with the kernel, which gets the same filters and
 * calls.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/remote.h"
#include "inject/seccomp/seccomp_eval.h"
#include "rt/base.h"
#include "rt/sys.h"

/* No such system call exists: the kernel returns ENOSYS if the filter lets it pass. */
#define NUMBER                 4000
#define ROUNDS                 1500U
#define CALLS                  16U
#define FILTERS_MAX            3U
#define BODY_MAX               40U
#define NOT_MADE               INT32_MIN
#define RET(value)             BPF_STMT(BPF_RET | BPF_K, (value))
#define LOAD(word)             BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4U * (word))
#define EVAL(code, input, ret) hs_seccomp_eval(code, HS_COUNT_OF(code), input, ret)

struct filter {
    struct sock_filter code[BODY_MAX + 16];
    size_t count;
};

struct round {
    struct filter filters[FILTERS_MAX];
    size_t filter_count;
    uint64_t args[CALLS][HS_SECCOMP_ARGS];
};

static uint64_t seed = 20251122;

static uint32_t draw(uint32_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33) % below;
}

/* Small numbers, which are equal more often. */
static uint32_t draw_bits(void)
{
    static const uint32_t some[] = { 0, 1, 2, 7, 16, 31, 32, 0x7fffffff, 0x80000000, UINT32_MAX };
    return draw(3) ? some[draw(HS_COUNT_OF(some))] : draw(INT32_MAX) * 2 + draw(2);
}

static uint32_t draw_result(void)
{
    return draw(3) ? SECCOMP_RET_ERRNO | (1 + draw(200)) : SECCOMP_RET_ALLOW;
}

static void put(struct filter *filter, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
    filter->code[filter->count++] = (struct sock_filter){ code, jt, jf, k };
}

static void draw_alu(struct filter *filter)
{
    static const uint16_t operations[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_AND,
                                           BPF_OR,  BPF_XOR, BPF_LSH, BPF_RSH };
    uint16_t operation = operations[draw(HS_COUNT_OF(operations))];
    uint16_t from = draw(2) ? BPF_K : BPF_X;
    uint32_t k = draw_bits();
    k = operation == BPF_DIV && k == 0 ? 3 : k;
    k = operation == BPF_LSH || operation == BPF_RSH ? k % 32 : k;
    put(filter, (uint16_t)(BPF_ALU | operation | from), 0, 0, from == BPF_X ? 0 : k);
}

/* Not behind the end: the last instruction is a result. */
static void draw_jump(struct filter *filter, uint32_t left)
{
    static const uint16_t operations[] = { BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET };
    uint32_t reach = left < 8 ? left : 8;
    if (draw(8) == 0) {
        put(filter, BPF_JMP | BPF_JA, 0, 0, draw(reach));
        return;
    }
    uint16_t from = draw(2) ? BPF_K : BPF_X;
    put(filter, (uint16_t)(BPF_JMP | operations[draw(4)] | from), (uint8_t)draw(reach),
        (uint8_t)draw(reach), from == BPF_X ? 0 : draw_bits());
}

static void draw_instruction(struct filter *filter, uint32_t left)
{
    static const uint8_t words[] = { 0, 1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    switch (draw(10)) {
    case 0:
    case 1:
        put(filter, BPF_LD | BPF_W | BPF_ABS, 0, 0, 4U * words[draw(HS_COUNT_OF(words))]);
        break;
    case 2:
        put(filter, draw(2) ? BPF_LD | BPF_IMM : BPF_LDX | BPF_IMM, 0, 0, draw_bits());
        break;
    case 3:
        put(filter, draw(2) ? BPF_LD | BPF_MEM : BPF_LDX | BPF_MEM, 0, 0, draw(4));
        break;
    case 4:
        put(filter, draw(2) ? BPF_ST : BPF_STX, 0, 0, draw(4));
        break;
    case 5:
        put(filter, draw(2) ? BPF_MISC | BPF_TAX : BPF_MISC | BPF_TXA, 0, 0, 0);
        break;
    case 6:
        put(filter, draw(2) ? BPF_ALU | BPF_NEG : BPF_LDX | BPF_W | BPF_LEN, 0, 0, 0);
        break;
    case 7:
        draw_jump(filter, left);
        break;
    default:
        draw_alu(filter);
        break;
    }
}

/*
 * Calls that the child needs are allowed. Memory is written before it is read, as the kernel
 * requires.
 */
static void draw_filter(struct filter *filter)
{
    filter->count = 0;
    put(filter, BPF_LD | BPF_W | BPF_ABS, 0, 0, 0);
    put(filter, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, NUMBER);
    put(filter, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
    for (uint32_t i = 0; i < 4; i++) {
        put(filter, BPF_ST, 0, 0, i);
    }
    for (uint32_t left = draw(BODY_MAX); left > 0; left--) {
        draw_instruction(filter, left);
        if (draw(12) == 0) {
            put(filter, BPF_RET | BPF_K, 0, 0, draw_result());
            left -= left > 1;
        }
    }
    if (draw(2)) { /* a computed result */
        put(filter, BPF_ALU | BPF_AND | BPF_K, 0, 0, 0xff);
        put(filter, BPF_ALU | BPF_OR | BPF_K, 0, 0, SECCOMP_RET_ERRNO);
        put(filter, BPF_RET | BPF_A, 0, 0, 0);
    } else {
        put(filter, BPF_RET | BPF_K, 0, 0, draw_result());
    }
}

static bool install(const struct filter *filter)
{
    struct sock_fprog program = { (unsigned short)filter->count,
                                  (struct sock_filter *)filter->code };
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

/*
 * Asks the kernel about each call, and whether it killed the child; false: the kernel does not
 * accept these filters.
 */
static bool ask_kernel(const struct round *round, volatile int32_t *results)
{
    int status = 0;
    for (unsigned i = 0; i < CALLS; i++) {
        results[i] = NOT_MADE;
    }
    pid_t child = fork();
    if (child == 0) {
        for (size_t i = 0; i < round->filter_count; i++) {
            if (!install(&round->filters[i])) {
                _exit(1);
            }
        }
        for (unsigned i = 0; i < CALLS; i++) {
            const uint64_t *a = round->args[i];
            results[i] = (int32_t)hs_arch_syscall(NUMBER, (long)a[0], (long)a[1], (long)a[2],
                                                  (long)a[3], (long)a[4], (long)a[5]);
        }
        _exit(0);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status) || WTERMSIG(status) == SIGSYS);
    return !WIFEXITED(status) || WEXITSTATUS(status) == 0;
}

/* Evaluates all filters, the oldest first. */
static bool ask_us(const struct round *round, const struct hs_seccomp_input *input, uint32_t *ret)
{
    uint32_t strictest = SECCOMP_RET_ALLOW, result = 0;
    for (size_t i = 0; i < round->filter_count; i++) {
        if (!hs_seccomp_eval(round->filters[i].code, round->filters[i].count, input, &result)) {
            return false;
        }
        strictest = hs_seccomp_stricter(strictest, result);
    }
    *ret = strictest;
    return true;
}

/* With less known, the answer must be as strict or stricter. */
static void check_unknown(const struct round *round, const uint64_t *args, uint32_t exact)
{
    uint32_t result = 0;
    struct hs_seccomp_input input = hs_seccomp_input_of(HS_REMOTE_AUDIT_ARCH, NUMBER, args, 0x3f);
    for (unsigned i = 0; i < 8; i++) {
        input.known = (uint16_t)(3U | draw(0x1000) << 4);
        if (ask_us(round, &input, &result)) {
            assert_int_equal(hs_seccomp_stricter(exact, result) & SECCOMP_RET_ACTION_FULL,
                             result & SECCOMP_RET_ACTION_FULL);
        }
    }
}

static void check_call(const struct round *round, const uint64_t *args, int32_t kernel)
{
    struct hs_seccomp_input input = hs_seccomp_input_of(HS_REMOTE_AUDIT_ARCH, NUMBER, args, 0x3f);
    uint32_t result = 0;
    assert_true(ask_us(round, &input, &result));
    check_unknown(round, args, result);
    switch (result & SECCOMP_RET_ACTION_FULL) {
    case SECCOMP_RET_ALLOW:
        assert_int_equal(kernel, -ENOSYS);
        break;
    case SECCOMP_RET_ERRNO:
        assert_int_equal(kernel, -(int32_t)(result & SECCOMP_RET_DATA));
        break;
    default:
        assert_int_equal(result, SECCOMP_RET_KILL_THREAD);
        assert_int_equal(kernel, NOT_MADE);
        break;
    }
}

static void test_like_the_kernel(void **state)
{
    static struct round round;
    volatile int32_t *results =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    unsigned allowed = 0, refused = 0, killed = 0, taken = 0;
    (void)state;
    assert_true(results != MAP_FAILED);
    for (unsigned i = 0; i < ROUNDS; i++) {
        round.filter_count = 1 + draw(FILTERS_MAX);
        for (size_t f = 0; f < round.filter_count; f++) {
            draw_filter(&round.filters[f]);
        }
        for (unsigned c = 0; c < CALLS * HS_SECCOMP_ARGS; c++) {
            round.args[c / HS_SECCOMP_ARGS][c % HS_SECCOMP_ARGS] =
                (uint64_t)draw_bits() << 32 | draw_bits();
        }
        if (!ask_kernel(&round, results)) {
            continue;
        }
        taken++;
        bool is_dead = false;
        for (unsigned c = 0; c < CALLS && !is_dead; c++) {
            check_call(&round, round.args[c], results[c]);
            is_dead = results[c] == NOT_MADE;
            allowed += results[c] == -ENOSYS;
            refused += results[c] != -ENOSYS && !is_dead;
            killed += is_dead;
        }
    }
    munmap((void *)results, 4096);
    assert_true(taken > ROUNDS * 9 / 10);
    assert_true(allowed > 1000 && refused > 1000 && killed > 10);
}

/* --- what is not known ------------------------------------------------------------------------ */

static const uint64_t no_args[HS_SECCOMP_ARGS];

static void test_unknown_goes_both_ways(void **state)
{
    const struct sock_filter code[] = {
        LOAD(4), /* the first argument */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 5, 0, 1),
        RET(SECCOMP_RET_KILL_PROCESS),
        RET(SECCOMP_RET_ALLOW),
    };
    uint32_t result = 0;
    struct hs_seccomp_input input = hs_seccomp_input_of(1, 2, no_args, 1);
    (void)state;
    assert_true(EVAL(code, &input, &result));
    assert_int_equal(result, SECCOMP_RET_ALLOW);
    input = hs_seccomp_input_of(1, 2, no_args, 0);
    assert_true(EVAL(code, &input, &result));
    assert_int_equal(result, SECCOMP_RET_KILL_PROCESS);
}

static void test_instruction_is_not_known(void **state)
{
    const struct sock_filter code[] = {
        LOAD(3),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 0x7000, 0, 1),
        RET(SECCOMP_RET_TRAP),
        RET(SECCOMP_RET_ALLOW),
    };
    uint32_t result = 0;
    struct hs_seccomp_input input = hs_seccomp_input_of(1, 2, no_args, 0x3f);
    (void)state;
    assert_true(EVAL(code, &input, &result));
    assert_int_equal(result, SECCOMP_RET_TRAP);
}

static void test_unknown_and_nothing_is_known(void **state)
{
    const struct sock_filter code[] = {
        LOAD(4),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0),
        BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_LOG),
        BPF_STMT(BPF_RET | BPF_A, 0),
    };
    uint32_t result = 0;
    struct hs_seccomp_input input = hs_seccomp_input_of(1, 2, no_args, 0);
    (void)state;
    assert_true(EVAL(code, &input, &result));
    assert_int_equal(result, SECCOMP_RET_LOG);
}

static void test_not_understood(void **state)
{
    const struct sock_filter bad[][2] = {
        { LOAD(4), BPF_STMT(BPF_RET | BPF_A, 0) }, /* a result that is unknown */
        { LOAD(16), RET(SECCOMP_RET_ALLOW) },
        { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 2), RET(SECCOMP_RET_ALLOW) },
        { BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0), RET(SECCOMP_RET_ALLOW) },
        { BPF_STMT(BPF_LD | BPF_MEM, 16), RET(SECCOMP_RET_ALLOW) },
        { BPF_STMT(BPF_ST, 16), RET(SECCOMP_RET_ALLOW) },
        { BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, 2), RET(SECCOMP_RET_ALLOW) },
        { BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0), RET(SECCOMP_RET_ALLOW) },
        { BPF_STMT(BPF_JMP | BPF_JA, UINT32_MAX), RET(SECCOMP_RET_ALLOW) },
        { BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 9, 9), RET(SECCOMP_RET_ALLOW) },
        { BPF_STMT(0xffff, 0), RET(SECCOMP_RET_ALLOW) },
        { LOAD(0), LOAD(0) }, /* the end is missing */
    };
    uint32_t result = 0;
    struct hs_seccomp_input input = hs_seccomp_input_of(1, 2, no_args, 0);
    (void)state;
    for (size_t i = 0; i < HS_COUNT_OF(bad); i++) {
        assert_false(EVAL(bad[i], &input, &result));
    }
    assert_false(hs_seccomp_eval(bad[0], 0, &input, &result));
}

/* Two branches at each of 4000 instructions. */
static void test_is_bounded(void **state)
{
    static struct sock_filter code[HS_SECCOMP_FILTER_MAX];
    uint32_t result = 0;
    struct hs_seccomp_input input = hs_seccomp_input_of(1, 2, no_args, 0);
    (void)state;
    code[0] = (struct sock_filter)LOAD(4);
    for (uint32_t i = 1; i < HS_COUNT_OF(code) - 2; i++) {
        code[i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, i, 0, 1);
    }
    code[HS_COUNT_OF(code) - 2] = code[HS_COUNT_OF(code) - 1] =
        (struct sock_filter)RET(SECCOMP_RET_ALLOW);
    assert_false(EVAL(code, &input, &result));
    input = hs_seccomp_input_of(1, 2, no_args, 1);
    assert_true(EVAL(code, &input, &result));
    assert_int_equal(result, SECCOMP_RET_ALLOW);
}

static void test_the_strictest_counts(void **state)
{
    static const uint32_t by_strictness[] = {
        SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_THREAD, SECCOMP_RET_TRAP, SECCOMP_RET_ERRNO,
        SECCOMP_RET_USER_NOTIF,   SECCOMP_RET_TRACE,       SECCOMP_RET_LOG,  SECCOMP_RET_ALLOW,
    };
    (void)state;
    for (size_t i = 1; i < HS_COUNT_OF(by_strictness); i++) {
        assert_int_equal(hs_seccomp_stricter(by_strictness[i - 1], by_strictness[i]),
                         by_strictness[i - 1]);
        assert_int_equal(hs_seccomp_stricter(by_strictness[i], by_strictness[i - 1]),
                         by_strictness[i - 1]);
    }
    assert_int_equal(hs_seccomp_stricter(SECCOMP_RET_ERRNO | 1, SECCOMP_RET_ERRNO | 2),
                     SECCOMP_RET_ERRNO | 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_like_the_kernel),
        cmocka_unit_test(test_unknown_goes_both_ways),
        cmocka_unit_test(test_instruction_is_not_known),
        cmocka_unit_test(test_unknown_and_nothing_is_known),
        cmocka_unit_test(test_not_understood),
        cmocka_unit_test(test_is_bounded),
        cmocka_unit_test(test_the_strictest_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
