/*
 * The machine that runs seccomp's classic BPF, with values that may be unknown: see seccomp_eval.h.
 */
#include "inject/seccomp/seccomp_eval.h"

#include <assert.h>
#include <linux/seccomp.h>
#include <string.h>

#include "rt/base.h"

/* The paths that are still to be followed. A filter tests few arguments. */
#define PATHS_MAX 64U
/* The step limit over all paths: sixteen times the longest program. */
#define STEPS_MAX 65536U

struct value {
    uint32_t bits;
    bool is_known;
};

struct machine {
    uint32_t pc;
    struct value a, x;
    struct value memory[BPF_MEMWORDS];
};

struct run {
    const struct sock_filter *code;
    size_t count;
    const struct hs_seccomp_input *input;
    uint32_t steps_left;
    struct machine paths[PATHS_MAX];
    size_t path_count;
    uint32_t strictest;
};

enum step { STEP_ON, STEP_END, STEP_BAD };

static struct value known(uint32_t bits)
{
    return (struct value){ bits, true };
}

/* --- one instruction -------------------------------------------------------------------------- */

static enum step load(const struct run *run, const struct machine *m, const struct sock_filter *at,
                      struct value *ret_value)
{
    switch (BPF_MODE(at->code)) {
    case BPF_IMM:
        *ret_value = known(at->k);
        return STEP_ON;
    case BPF_LEN:
        *ret_value = known((uint32_t)sizeof(struct seccomp_data));
        return STEP_ON;
    case BPF_MEM:
        if (at->k >= BPF_MEMWORDS) {
            return STEP_BAD;
        }
        *ret_value = m->memory[at->k];
        return STEP_ON;
    case BPF_ABS:
        if (BPF_CLASS(at->code) != BPF_LD || at->k % 4 != 0 ||
            at->k >= sizeof(struct seccomp_data)) {
            return STEP_BAD;
        }
        *ret_value = (struct value){ run->input->words[at->k / 4],
                                     (run->input->known >> at->k / 4 & 1) != 0 };
        return STEP_ON;
    default:
        return STEP_BAD;
    }
}

static uint32_t compute(uint16_t operation, uint32_t a, uint32_t b)
{
    switch (operation) {
    case BPF_ADD:
        return a + b;
    case BPF_SUB:
        return a - b;
    case BPF_MUL:
        return a * b;
    case BPF_DIV:
        return a / b;
    case BPF_AND:
        return a & b;
    case BPF_OR:
        return a | b;
    case BPF_XOR:
        return a ^ b;
    case BPF_LSH:
        return a << (b & 31);
    default:
        return a >> (b & 31);
    }
}

static void note_result(struct run *run, uint32_t result)
{
    run->strictest = hs_seccomp_stricter(run->strictest, result);
}

static enum step calculate(struct run *run, struct machine *m, const struct sock_filter *at)
{
    uint16_t operation = BPF_OP(at->code);
    bool has_constant = BPF_SRC(at->code) == BPF_K;
    struct value b = has_constant ? known(at->k) : m->x;
    if (operation == BPF_NEG) {
        m->a.bits = -m->a.bits;
        return has_constant ? STEP_ON : STEP_BAD;
    }
    if (operation > BPF_XOR || operation == BPF_MOD) {
        return STEP_BAD;
    }
    if ((operation == BPF_LSH || operation == BPF_RSH) && has_constant && at->k >= 32) {
        return STEP_BAD;
    }
    if (operation == BPF_DIV && (!b.is_known || b.bits == 0)) {
        /* The kernel ends a program that divides by 0 with the result 0, which kills the thread. It
         * does not accept a program that divides by a constant 0. */
        note_result(run, SECCOMP_RET_KILL_THREAD);
        m->a.is_known = false;
        return has_constant ? STEP_BAD : b.is_known ? STEP_END : STEP_ON;
    }
    bool is_zero =
        operation == BPF_AND && ((b.is_known && b.bits == 0) || (m->a.is_known && m->a.bits == 0));
    m->a = is_zero ? known(0)
                   : (struct value){ compute(operation, m->a.bits, b.bits),
                                     m->a.is_known && b.is_known };
    return STEP_ON;
}

static enum step jump(struct run *run, struct machine *m, const struct sock_filter *at)
{
    struct value b = BPF_SRC(at->code) == BPF_K ? known(at->k) : m->x;
    bool is_true = false;
    switch (BPF_OP(at->code)) {
    case BPF_JA:
        if (BPF_SRC(at->code) != BPF_K || at->k >= run->count) {
            return STEP_BAD;
        }
        m->pc += at->k;
        return STEP_ON;
    case BPF_JEQ:
        is_true = m->a.bits == b.bits;
        break;
    case BPF_JGT:
        is_true = m->a.bits > b.bits;
        break;
    case BPF_JGE:
        is_true = m->a.bits >= b.bits;
        break;
    case BPF_JSET:
        is_true = (m->a.bits & b.bits) != 0;
        break;
    default:
        return STEP_BAD;
    }
    if (!(m->a.is_known && b.is_known) && at->jt != at->jf) {
        if (run->path_count == PATHS_MAX) {
            return STEP_BAD;
        }
        struct machine *other = &run->paths[run->path_count++];
        *other = *m;
        other->pc += at->jf;
        is_true = true;
    }
    m->pc += is_true ? at->jt : at->jf;
    return STEP_ON;
}

static enum step store(struct machine *m, const struct sock_filter *at, struct value value)
{
    if (at->k >= BPF_MEMWORDS) {
        return STEP_BAD;
    }
    m->memory[at->k] = value;
    return STEP_ON;
}

/* Does the kernel accept this instruction in a seccomp filter? It does not accept all of BPF. */
static bool is_accepted(uint16_t code)
{
    switch (BPF_CLASS(code)) {
    case BPF_LD:
    case BPF_LDX:
        return BPF_SIZE(code) == BPF_W && code < 256;
    case BPF_ST:
    case BPF_STX:
        return code == BPF_CLASS(code);
    case BPF_RET:
        return code == (BPF_RET | BPF_K) || code == (BPF_RET | BPF_A);
    case BPF_MISC:
        return code == (BPF_MISC | BPF_TAX) || code == (BPF_MISC | BPF_TXA);
    default:
        return code < 256;
    }
}

/* Executes one instruction. m->pc points behind it already. */
static enum step execute(struct run *run, struct machine *m, const struct sock_filter *at)
{
    if (!is_accepted(at->code)) {
        return STEP_BAD;
    }
    switch (BPF_CLASS(at->code)) {
    case BPF_LD:
        return load(run, m, at, &m->a);
    case BPF_LDX:
        return load(run, m, at, &m->x);
    case BPF_ST:
        return store(m, at, m->a);
    case BPF_STX:
        return store(m, at, m->x);
    case BPF_ALU:
        return calculate(run, m, at);
    case BPF_JMP:
        return jump(run, m, at);
    case BPF_RET:
        if (BPF_RVAL(at->code) == BPF_A && !m->a.is_known) {
            return STEP_BAD;
        }
        note_result(run, BPF_RVAL(at->code) == BPF_A ? m->a.bits : at->k);
        return STEP_END;
    default: /* BPF_MISC */
        if (at->code == (BPF_MISC | BPF_TAX)) {
            m->x = m->a;
        } else {
            m->a = m->x;
        }
        return STEP_ON;
    }
}

/* --- all paths -------------------------------------------------------------------------------- */

static bool follow_path(struct run *run, struct machine m)
{
    enum step step = STEP_ON;
    while (step == STEP_ON) {
        if (m.pc >= run->count || run->steps_left == 0) {
            return false;
        }
        run->steps_left--;
        const struct sock_filter *at = &run->code[m.pc++];
        step = execute(run, &m, at);
    }
    return step == STEP_END;
}

bool hs_seccomp_eval(const struct sock_filter *code, size_t count,
                     const struct hs_seccomp_input *input, uint32_t *ret_result)
{
    struct run run;
    if (count == 0 || count > HS_SECCOMP_FILTER_MAX) {
        return false;
    }
    run.code = code;
    run.count = count;
    run.input = input;
    run.steps_left = STEPS_MAX;
    run.strictest = SECCOMP_RET_ALLOW;
    run.path_count = 1;
    run.paths[0] = (struct machine){ .a = known(0), .x = known(0) };
    for (size_t i = 0; i < BPF_MEMWORDS; i++) {
        run.paths[0].memory[i] = known(0);
    }
    bool is_ok = true;
    while (is_ok && run.path_count > 0) {
        is_ok = follow_path(&run, run.paths[--run.path_count]);
    }
    if (is_ok) {
        *ret_result = run.strictest;
    }
    return is_ok;
}

uint32_t hs_seccomp_stricter(uint32_t older, uint32_t newer)
{
    int32_t a = (int32_t)(older & SECCOMP_RET_ACTION_FULL);
    int32_t b = (int32_t)(newer & SECCOMP_RET_ACTION_FULL);
    return b <= a ? newer : older;
}

struct hs_seccomp_input hs_seccomp_input_of(uint32_t arch, int64_t number,
                                            const uint64_t args[HS_SECCOMP_ARGS],
                                            unsigned known_args)
{
    struct hs_seccomp_input input = { .known = 3 };
    struct seccomp_data data = { .nr = (int)number, .arch = arch };
    static_assert(sizeof(data) == sizeof(input.words), "sixteen words");
    static_assert(offsetof(struct seccomp_data, args) == 16, "four words before the arguments");
    for (unsigned i = 0; i < HS_SECCOMP_ARGS; i++) {
        bool is_known = (known_args >> i & 1) != 0;
        data.args[i] = is_known ? args[i] : 0;
        input.known |= (uint16_t)(is_known ? 3U << (4 + 2 * i) : 0U);
    }
    memcpy(input.words, &data, sizeof(data));
    return input;
}
