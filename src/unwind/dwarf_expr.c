/*
 * The interpreter of DW_OP expressions.
 */
#include "unwind/dwarf_expr.h"

#include "rt/check.h"

enum dw_op {
    DW_OP_ADDR = 0x03,
    DW_OP_DEREF = 0x06,
    DW_OP_CONST1U = 0x08,
    DW_OP_CONST1S,
    DW_OP_CONST2U,
    DW_OP_CONST2S,
    DW_OP_CONST4U,
    DW_OP_CONST4S,
    DW_OP_CONST8U,
    DW_OP_CONST8S,
    DW_OP_CONSTU,
    DW_OP_CONSTS,
    DW_OP_DUP,
    DW_OP_DROP,
    DW_OP_OVER,
    DW_OP_PICK,
    DW_OP_SWAP,
    DW_OP_ROT,
    DW_OP_ABS = 0x19,
    DW_OP_AND,
    DW_OP_DIV,
    DW_OP_MINUS,
    DW_OP_MOD,
    DW_OP_MUL,
    DW_OP_NEG,
    DW_OP_NOT,
    DW_OP_OR,
    DW_OP_PLUS,
    DW_OP_PLUS_UCONST,
    DW_OP_SHL,
    DW_OP_SHR,
    DW_OP_SHRA,
    DW_OP_XOR,
    DW_OP_BRA,
    DW_OP_EQ,
    DW_OP_GE,
    DW_OP_GT,
    DW_OP_LE,
    DW_OP_LT,
    DW_OP_NE,
    DW_OP_SKIP,
    DW_OP_LIT0 = 0x30,
    DW_OP_LIT31 = 0x4f,
    DW_OP_BREG0 = 0x70,
    DW_OP_BREG31 = 0x8f,
    DW_OP_BREGX = 0x92,
    DW_OP_DEREF_SIZE = 0x94,
    DW_OP_NOP = 0x96,
};

struct vm {
    struct hs_cursor c;
    const uint8_t *start;
    const struct hs_frame *frame;
    struct hs_stack_reader *reader;
    enum hs_frame_step failure; /* HS_FRAME_STEPPED: no failure */
    uint32_t depth;
    uint64_t stack[HS_EXPR_DEPTH_MAX];
};

static void fail(struct vm *vm, enum hs_frame_step why)
{
    if (vm->failure == HS_FRAME_STEPPED) {
        vm->failure = why;
    }
}

static void push(struct vm *vm, uint64_t value)
{
    if (vm->depth == HS_EXPR_DEPTH_MAX) {
        fail(vm, HS_FRAME_BAD_INFO);
        return;
    }
    vm->stack[vm->depth++] = value;
}

static uint64_t pop(struct vm *vm)
{
    if (vm->depth == 0) {
        fail(vm, HS_FRAME_BAD_INFO);
        return 0;
    }
    return vm->stack[--vm->depth];
}

/* The element `n` below the top. */
static uint64_t peek(struct vm *vm, uint64_t n)
{
    if (n >= vm->depth) {
        fail(vm, HS_FRAME_BAD_INFO);
        return 0;
    }
    return vm->stack[vm->depth - 1 - (uint32_t)n];
}

static void push_reg(struct vm *vm, uint64_t reg)
{
    uint64_t off = (uint64_t)hs_cursor_sleb(&vm->c);
    if (!hs_frame_has(vm->frame, reg)) {
        fail(vm, HS_FRAME_UNKNOWN);
        return;
    }
    push(vm, vm->frame->reg[reg] + off);
}

static void deref(struct vm *vm, unsigned count_bytes)
{
    uint64_t va = pop(vm), word;
    if (vm->failure != HS_FRAME_STEPPED) {
        return;
    }
    if (count_bytes == 0 || count_bytes > 8) {
        fail(vm, HS_FRAME_BAD_INFO);
    } else if (!hs_stack_read(vm->reader, va, &word)) {
        fail(vm, HS_FRAME_UNREADABLE);
    } else {
        push(vm, count_bytes == 8 ? word : word & ((UINT64_C(1) << 8 * count_bytes) - 1));
    }
}

static void jump(struct vm *vm, int64_t distance)
{
    int64_t to = vm->c.at - vm->start + distance;
    if (to < 0 || to > vm->c.end - vm->start) {
        fail(vm, HS_FRAME_BAD_INFO);
        return;
    }
    vm->c.at = vm->start + to;
}

static void exec_const(struct vm *vm, uint8_t op)
{
    switch (op) {
    case DW_OP_CONSTU:
        push(vm, hs_cursor_uleb(&vm->c));
        break;
    case DW_OP_CONSTS:
        push(vm, (uint64_t)hs_cursor_sleb(&vm->c));
        break;
    case DW_OP_ADDR:
        push(vm, hs_cursor_uint(&vm->c, 8));
        break;
    default: {
        /* 1u 1s 2u 2s 4u 4s 8u 8s */
        unsigned count_bytes = 1U << (op - DW_OP_CONST1U) / 2;
        bool is_signed = (op - DW_OP_CONST1U) & 1;
        push(vm, is_signed ? (uint64_t)hs_cursor_sint(&vm->c, count_bytes)
                           : hs_cursor_uint(&vm->c, count_bytes));
    }
    }
}

static void exec_shuffle(struct vm *vm, uint8_t op)
{
    uint64_t a, b, c;
    switch (op) {
    case DW_OP_DUP:
        push(vm, peek(vm, 0));
        break;
    case DW_OP_DROP:
        pop(vm);
        break;
    case DW_OP_OVER:
        push(vm, peek(vm, 1));
        break;
    case DW_OP_PICK:
        push(vm, peek(vm, hs_cursor_u8(&vm->c)));
        break;
    case DW_OP_SWAP:
        a = pop(vm);
        b = pop(vm);
        push(vm, a);
        push(vm, b);
        break;
    default: /* DW_OP_ROT: the top becomes the third */
        a = pop(vm);
        b = pop(vm);
        c = pop(vm);
        push(vm, a);
        push(vm, c);
        push(vm, b);
    }
}

static void exec_unary(struct vm *vm, uint8_t op)
{
    uint64_t a = pop(vm);
    switch (op) {
    case DW_OP_ABS:
        push(vm, (int64_t)a < 0 ? -a : a);
        break;
    case DW_OP_NEG:
        push(vm, -a);
        break;
    case DW_OP_NOT:
        push(vm, ~a);
        break;
    default: /* DW_OP_PLUS_UCONST */
        push(vm, a + hs_cursor_uleb(&vm->c));
    }
}

static uint64_t divide(struct vm *vm, int64_t a, int64_t b)
{
    if (b == 0) {
        fail(vm, HS_FRAME_BAD_INFO);
        return 0;
    }
    return b == -1 ? -(uint64_t)a : (uint64_t)(a / b);
}

static uint64_t modulo(struct vm *vm, uint64_t a, uint64_t b)
{
    if (b == 0) {
        fail(vm, HS_FRAME_BAD_INFO);
        return 0;
    }
    return a % b;
}

static uint64_t shift_right_signed(uint64_t a, uint64_t count)
{
    return (uint64_t)((int64_t)a >> (count > 63 ? 63 : count));
}

static void exec_binary(struct vm *vm, uint8_t op)
{
    uint64_t b = pop(vm), a = pop(vm);
    int64_t sa = (int64_t)a, sb = (int64_t)b;
    uint64_t r = 0;
    switch (op) {
    case DW_OP_AND:
        r = a & b;
        break;
    case DW_OP_DIV:
        r = divide(vm, sa, sb);
        break;
    case DW_OP_MINUS:
        r = a - b;
        break;
    case DW_OP_MOD:
        r = modulo(vm, a, b);
        break;
    case DW_OP_MUL:
        r = a * b;
        break;
    case DW_OP_OR:
        r = a | b;
        break;
    case DW_OP_PLUS:
        r = a + b;
        break;
    case DW_OP_SHL:
        r = b > 63 ? 0 : a << b;
        break;
    case DW_OP_SHR:
        r = b > 63 ? 0 : a >> b;
        break;
    case DW_OP_SHRA:
        r = shift_right_signed(a, b);
        break;
    case DW_OP_XOR:
        r = a ^ b;
        break;
    case DW_OP_EQ:
        r = sa == sb;
        break;
    case DW_OP_GE:
        r = sa >= sb;
        break;
    case DW_OP_GT:
        r = sa > sb;
        break;
    case DW_OP_LE:
        r = sa <= sb;
        break;
    case DW_OP_LT:
        r = sa < sb;
        break;
    case DW_OP_NE:
        r = sa != sb;
        break;
    default:
        fail(vm, HS_FRAME_BAD_INFO);
    }
    push(vm, r);
}

static void exec_branch(struct vm *vm, uint8_t op)
{
    int64_t distance = hs_cursor_sint(&vm->c, 2);
    if (op == DW_OP_SKIP || pop(vm) != 0) {
        jump(vm, distance);
    }
}

static void exec(struct vm *vm, uint8_t op)
{
    if (op >= DW_OP_LIT0 && op <= DW_OP_LIT31) {
        push(vm, op - DW_OP_LIT0);
    } else if (op >= DW_OP_BREG0 && op <= DW_OP_BREG31) {
        push_reg(vm, op - DW_OP_BREG0);
    } else if (op == DW_OP_BREGX) {
        push_reg(vm, hs_cursor_uleb(&vm->c));
    } else if (op == DW_OP_DEREF) {
        deref(vm, 8);
    } else if (op == DW_OP_DEREF_SIZE) {
        deref(vm, hs_cursor_u8(&vm->c));
    } else if (op == DW_OP_ADDR || (op >= DW_OP_CONST1U && op <= DW_OP_CONSTS)) {
        exec_const(vm, op);
    } else if (op >= DW_OP_DUP && op <= DW_OP_ROT) {
        exec_shuffle(vm, op);
    } else if (op == DW_OP_ABS || op == DW_OP_NEG || op == DW_OP_NOT || op == DW_OP_PLUS_UCONST) {
        exec_unary(vm, op);
    } else if (op == DW_OP_BRA || op == DW_OP_SKIP) {
        exec_branch(vm, op);
    } else if (op >= DW_OP_AND && op <= DW_OP_NE) {
        exec_binary(vm, op);
    } else if (op != DW_OP_NOP) {
        fail(vm, HS_FRAME_BAD_INFO);
    }
}

enum hs_frame_step hs_expr_eval(struct hs_cursor expr, const struct hs_frame *frame,
                                struct hs_stack_reader *reader, const uint64_t *initial,
                                uint64_t *ret_value)
{
    struct vm vm;
    vm.c = expr;
    vm.start = expr.at;
    vm.frame = frame;
    vm.reader = reader;
    vm.failure = HS_FRAME_STEPPED;
    vm.depth = 0;
    if (initial) {
        push(&vm, *initial);
    }
    for (uint32_t step = 0; vm.c.at < vm.c.end; step++) {
        if (step == HS_EXPR_STEPS_MAX) {
            return HS_FRAME_BAD_INFO;
        }
        HS_ASSERT(vm.depth <= HS_EXPR_DEPTH_MAX && vm.c.at >= vm.start);
        exec(&vm, hs_cursor_u8(&vm.c));
        if (vm.c.is_bad) {
            return HS_FRAME_BAD_INFO;
        }
        if (vm.failure != HS_FRAME_STEPPED) {
            return vm.failure;
        }
    }
    uint64_t value = pop(&vm);
    if (vm.c.is_bad || vm.failure != HS_FRAME_STEPPED) {
        return HS_FRAME_BAD_INFO;
    }
    *ret_value = value;
    return HS_FRAME_STEPPED;
}
