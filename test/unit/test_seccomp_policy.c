/* Which lists of calls a thread's filters allow, and how the message describes it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "inject/seccomp/seccomp_policy.h"
#include "rt/base.h"

#define CALL_ONE   77
#define RET(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define LOAD(word) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4U * (word))
#define ONLY(n)    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (n), 1, 0), RET(SECCOMP_RET_ALLOW)
#define ADD(s, c)  add(s, c, HS_COUNT_OF(c))
#define ARG_THREE  8

static const struct hs_seccomp_call must[] = { { .name = "one", .number = CALL_ONE } };
static const struct hs_seccomp_call may[] = {
    { .name = "one", .number = CALL_ONE, .may_fail = true }
};
static const struct hs_seccomp_calls must_list = HS_SECCOMP_CALLS(must);
static const struct hs_seccomp_calls may_list = HS_SECCOMP_CALLS(may);

static struct hs_seccomp_stack *new_stack(void)
{
    struct hs_seccomp_stack *stack = calloc(1, sizeof(*stack));
    assert_non_null(stack);
    return stack;
}

static void add(struct hs_seccomp_stack *stack, const struct sock_filter *code, size_t count)
{
    memcpy(stack->insns + stack->insn_count, code, count * sizeof(*code));
    stack->insn_count += count;
    stack->counts[stack->filter_count++] = (uint16_t)count;
}

static void add_answer(struct hs_seccomp_stack *stack, uint32_t answer)
{
    const struct sock_filter code[] = { LOAD(0), ONLY(CALL_ONE), RET(answer) };
    ADD(stack, code);
}

static void assert_says(uint32_t answer, const struct hs_seccomp_calls *calls, const char *words)
{
    struct hs_seccomp_stack *stack = new_stack();
    struct hs_seccomp_why why;
    add_answer(stack, answer);
    hs_seccomp_ask(stack, calls, &why);
    assert_string_equal(why.text, words);
    free(stack);
}

static void test_answers(void **state)
{
    (void)state;
    assert_says(SECCOMP_RET_ALLOW, &must_list, "");
    assert_says(SECCOMP_RET_LOG, &must_list, "");
    assert_says(SECCOMP_RET_ERRNO | EPERM, &must_list,
                "it does not allow one: Operation not permitted");
    assert_says(SECCOMP_RET_ERRNO | EPERM, &may_list, "");
    /* The call would report success although nothing was done. */
    assert_says(SECCOMP_RET_ERRNO, &may_list, "it does not allow one: Success");
    assert_says(SECCOMP_RET_TRAP, &may_list, "it does not allow one: SIGSYS");
    assert_says(SECCOMP_RET_USER_NOTIF, &may_list, "it asks another process about one");
    assert_says(SECCOMP_RET_TRACE, &may_list, "it asks a tracer about one");
    assert_says(SECCOMP_RET_KILL_THREAD, &may_list, "it kills the process for one");
    assert_says(SECCOMP_RET_KILL_PROCESS, &may_list, "it kills the process for one");
    assert_says(0x12340000, &may_list, "it kills the process for one");
}

static void test_the_strictest_of_all(void **state)
{
    struct hs_seccomp_stack *stack = new_stack();
    struct hs_seccomp_why why;
    (void)state;
    add_answer(stack, SECCOMP_RET_ALLOW);
    add_answer(stack, SECCOMP_RET_TRAP);
    add_answer(stack, SECCOMP_RET_ERRNO | EACCES);
    hs_seccomp_ask(stack, &may_list, &why);
    assert_string_equal(why.text, "it does not allow one: SIGSYS");
    free(stack);
}

/* Filters that MemoryDenyWriteExecute= makes. */
static void test_arguments(void **state)
{
    const struct sock_filter code[] = {
        LOAD(0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
        LOAD(ARG_THREE),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
        RET(SECCOMP_RET_ERRNO | EPERM),
        RET(SECCOMP_RET_ALLOW),
    };
    const struct hs_seccomp_call data[] = { HS_SECCOMP_THIRD(mprotect, PROT_READ | PROT_WRITE) };
    const struct hs_seccomp_call text[] = { HS_SECCOMP_THIRD(mprotect, PROT_READ | PROT_EXEC) };
    const struct hs_seccomp_call any[] = { HS_SECCOMP_CALL(mprotect) };
    const struct hs_seccomp_calls lists[] = { HS_SECCOMP_CALLS(data), HS_SECCOMP_CALLS(text),
                                              HS_SECCOMP_CALLS(any) };
    struct hs_seccomp_stack *stack = new_stack();
    struct hs_seccomp_why why;
    (void)state;
    ADD(stack, code);
    hs_seccomp_ask(stack, &lists[0], &why);
    assert_string_equal(why.text, "");
    hs_seccomp_ask(stack, &lists[1], &why);
    assert_string_equal(why.text, "it does not allow mprotect: Operation not permitted");
    hs_seccomp_ask(stack, &lists[2], &why);
    assert_string_equal(why.text, "it does not allow mprotect: Operation not permitted");
    free(stack);
}

static void test_not_understood(void **state)
{
    const struct sock_filter code[] = { LOAD(4), BPF_STMT(BPF_RET | BPF_A, 0) };
    struct hs_seccomp_stack *stack = new_stack();
    struct hs_seccomp_why why;
    (void)state;
    ADD(stack, code);
    hs_seccomp_ask(stack, &may_list, &why);
    assert_string_equal(why.text, "its rule for one cannot be understood");
    free(stack);
}

/* Every byte counts, and so does where one filter ends. */
static void test_known_again(void **state)
{
    static struct hs_seccomp_policies policies;
    const struct hs_seccomp_wants wants = { .threads = must_list, .optional = may_list };
    struct hs_seccomp_stack *a = new_stack(), *b = new_stack(), *c = new_stack();
    (void)state;
    add_answer(a, SECCOMP_RET_ERRNO | EPERM);
    add_answer(b, SECCOMP_RET_ERRNO | EACCES);
    const struct sock_filter twice[] = { RET(SECCOMP_RET_ALLOW), RET(SECCOMP_RET_ALLOW) };
    ADD(c, twice);
    assert_null(hs_seccomp_policies_find(&policies, a));
    const struct hs_seccomp_policy *policy = hs_seccomp_policies_add(&policies, a, &wants);
    assert_non_null(policy);
    assert_string_equal(policy->not_threads.text, "it does not allow one: Operation not permitted");
    assert_string_equal(policy->not_optional.text, "");
    assert_string_equal(policy->not_holding.text, "");
    assert_ptr_equal(hs_seccomp_policies_find(&policies, a), policy);
    assert_null(hs_seccomp_policies_find(&policies, b));
    assert_non_null(hs_seccomp_policies_add(&policies, c, &wants));
    c->filter_count = 2;
    c->counts[0] = c->counts[1] = 1;
    assert_null(hs_seccomp_policies_find(&policies, c));
    while (hs_seccomp_policies_add(&policies, b, &wants)) {
        b->insns[3].k++;
    }
    assert_int_equal(policies.count, HS_SECCOMP_POLICIES);
    hs_seccomp_policies_deinit(&policies);
    free(a);
    free(b);
    free(c);
}

/* What holding forks takes is asked for by itself: it is optional. */
static void test_forks_are_held(void **state)
{
    static struct hs_seccomp_policies policies;
    const struct hs_seccomp_wants wants = { .threads = must_list };
    const struct sock_filter code[] = {
        LOAD(0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_nanosleep, 0, 1),
        RET(SECCOMP_RET_KILL_PROCESS),
        RET(SECCOMP_RET_ALLOW),
    };
    struct hs_seccomp_stack *stack = new_stack();
    (void)state;
    ADD(stack, code);
    const struct hs_seccomp_policy *policy = hs_seccomp_policies_add(&policies, stack, &wants);
    assert_non_null(policy);
    assert_string_equal(policy->not_holding.text, "it kills the process for nanosleep");
    assert_string_equal(policy->not_loading.text, "");
    hs_seccomp_policies_deinit(&policies);
    free(stack);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),     cmocka_unit_test(test_the_strictest_of_all),
        cmocka_unit_test(test_arguments),   cmocka_unit_test(test_not_understood),
        cmocka_unit_test(test_known_again), cmocka_unit_test(test_forks_are_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
