/*
 * Instruction lengths by tables. See insn.h.
 */
#include "arch/insn.h"

#include <string.h>

/* What follows an opcode. */
enum shape {
    NONE,
    M,       /* ModRM, and what it requires */
    MB,      /* the same, and one byte */
    MZ,      /* the same, and four bytes or two */
    B,       /* one byte */
    W,       /* two bytes */
    Z,       /* four bytes or two */
    V,       /* eight bytes, four or two */
    WB,      /* three bytes */
    A,       /* an address of eight bytes or four */
    TB,      /* a target of one byte */
    TZ,      /* a target of four bytes */
    TEST_B,  /* ModRM, and one byte if it is TEST */
    TEST_Z,  /* ModRM, and four bytes or two if it is TEST */
    PREFIX,  /* of operand or address size, lock, repeat */
    SEGMENT, /* a segment prefix */
    ESCAPE,  /* 0f */
    VEX2,    /* c5 */
    VEX3,    /* c4 */
    EVEX,    /* 62 */
    BAD,
};

#define X4(a)     a, a, a, a
#define X8(a)     X4(a), X4(a)
#define X16(a)    X8(a), X8(a)
#define ALU(last) M, M, M, M, B, Z, BAD, last

static const uint8_t one_byte[256] = {
    /* 00 */ ALU(BAD),
    M,
    M,
    M,
    M,
    B,
    Z,
    BAD,
    ESCAPE,
    /* 10 */ ALU(BAD),
    ALU(BAD),
    /* 20 */ M,
    M,
    M,
    M,
    B,
    Z,
    SEGMENT,
    BAD,
    M,
    M,
    M,
    M,
    B,
    Z,
    SEGMENT,
    BAD,
    /* 30 */ M,
    M,
    M,
    M,
    B,
    Z,
    SEGMENT,
    BAD,
    M,
    M,
    M,
    M,
    B,
    Z,
    SEGMENT,
    BAD,
    /* 40 */ X16(BAD), /* REX, which is looked at before */
    /* 50 */ X16(NONE),
    /* 60 */ BAD,
    BAD,
    EVEX,
    M,
    SEGMENT,
    SEGMENT,
    PREFIX,
    PREFIX,
    Z,
    MZ,
    B,
    MB,
    X4(NONE),
    /* 70 */ X16(TB),
    /* 80 */ MB,
    MZ,
    BAD,
    MB,
    X4(M),
    X8(M),
    /* 90 */ X8(NONE),
    NONE,
    NONE,
    BAD,
    NONE,
    X4(NONE),
    /* a0 */ X4(A),
    X4(NONE),
    B,
    Z,
    NONE,
    NONE,
    X4(NONE),
    /* b0 */ X8(B),
    X8(V),
    /* c0 */ MB,
    MB,
    W,
    NONE,
    VEX3,
    VEX2,
    MB,
    MZ,
    WB,
    NONE,
    W,
    NONE,
    NONE,
    B,
    BAD,
    NONE,
    /* d0 */ X4(M),
    BAD,
    BAD,
    BAD,
    NONE,
    X8(M),
    /* e0 */ X4(TB),
    X4(B),
    TZ,
    TZ,
    BAD,
    TB,
    X4(NONE),
    /* f0 */ PREFIX,
    NONE,
    PREFIX,
    PREFIX,
    NONE,
    NONE,
    TEST_B,
    TEST_Z,
    X4(NONE),
    NONE,
    NONE,
    M,
    M,
};

/* Opcodes behind 0f. 38 and 3a lead to further tables, in which every instruction has ModRM, and
 * behind 3a one byte too. */
static const uint8_t two_bytes[256] = {
    /* 00 */ X4(M),
    BAD,
    NONE,
    NONE,
    NONE,
    NONE,
    NONE,
    BAD,
    NONE,
    BAD,
    M,
    NONE,
    BAD,
    /* 10 */ X16(M),
    /* 20 */ X4(M),
    X4(BAD),
    X8(M),
    /* 30 */ X4(NONE),
    NONE,
    NONE,
    BAD,
    NONE,
    M,
    BAD,
    MB,
    BAD,
    X4(BAD),
    /* 40 */ X16(M),
    /* 50 */ X16(M),
    /* 60 */ X16(M),
    /* 70 */ X4(MB),
    M,
    M,
    M,
    NONE,
    X8(M),
    /* 80 */ X16(TZ),
    /* 90 */ X16(M),
    /* a0 */ NONE,
    NONE,
    NONE,
    M,
    MB,
    M,
    BAD,
    BAD,
    NONE,
    NONE,
    NONE,
    M,
    MB,
    M,
    M,
    M,
    /* b0 */ X8(M),
    M,
    M,
    MB,
    M,
    X4(M),
    /* c0 */ M,
    M,
    MB,
    M,
    MB,
    MB,
    MB,
    M,
    X8(NONE),
    /* d0 */ X16(M),
    /* e0 */ X16(M),
    /* f0 */ X16(M),
};

struct decoder {
    const uint8_t *code;
    size_t cap_bytes;
    size_t at;
    bool has_operand_size; /* 66 */
    bool has_address_size; /* 67 */
    bool is_wide;          /* REX.W */
    bool is_vector;        /* encoded with VEX or EVEX */
    unsigned map;          /* 0: one byte; 1: 0f; 2: 0f 38; 3: 0f 3a */
    uint8_t opcode;
    uint8_t modrm;
    struct hs_insn *insn;
};

static bool take(struct decoder *d, uint8_t *ret_byte)
{
    if (d->at >= d->cap_bytes || d->at >= HS_INSN_BYTES_MAX) {
        return false;
    }
    *ret_byte = d->code[d->at++];
    return true;
}

static bool skip(struct decoder *d, size_t bytes)
{
    d->at += bytes;
    return d->at <= d->cap_bytes && d->at <= HS_INSN_BYTES_MAX;
}

/* Immediate operands come last. So a displacement that counts from the instruction's end is found
 * before that end is known. */
static bool take_modrm(struct decoder *d)
{
    uint8_t sib = 0;
    if (!take(d, &d->modrm)) {
        return false;
    }
    unsigned mode = d->modrm >> 6, base = d->modrm & 7U;
    /* Moves to and from control registers only have register operands, whatever the mode says. */
    if (mode == 3 || (d->map == 1 && !d->is_vector && d->opcode >= 0x20 && d->opcode <= 0x23)) {
        return true;
    }
    if (base == 4) {
        if (!take(d, &sib)) {
            return false;
        }
        return skip(d, mode == 1 ? 1 : mode == 2 || (sib & 7U) == 5 ? 4 : 0);
    }
    if (mode == 0 && base == 5) {
        if (d->has_address_size) {
            return false; /* relative to the low half of an address */
        }
        d->insn->memory_off = (uint8_t)d->at;
        return skip(d, 4);
    }
    return skip(d, mode == 1 ? 1 : mode == 2 ? 4 : 0);
}

static bool take_target(struct decoder *d, size_t bytes)
{
    struct hs_insn *insn = d->insn;
    size_t at = d->at;
    /* Processors differ in how they truncate a 16-bit target; a REX.W makes it a full one (calls of
     * __tls_get_addr). */
    if ((d->has_operand_size && !d->is_wide) || d->has_address_size || !skip(d, bytes)) {
        return false;
    }
    if (bytes == 1) {
        insn->target_off = d->code[at] - (d->code[at] < 0x80 ? 0 : 0x100);
    } else {
        memcpy(&insn->target_off, d->code + at, sizeof(insn->target_off));
    }
    if (d->map == 1 || (d->opcode & 0xf0U) == 0x70) {
        insn->kind = HS_INSN_BRANCH;
        insn->condition = d->opcode & 0x0fU;
    } else if (d->opcode == 0xe8) {
        insn->kind = HS_INSN_CALL;
    } else {
        insn->kind = d->opcode >= 0xe9 ? HS_INSN_JUMP : HS_INSN_BRANCH_ODD;
    }
    return true;
}

static bool take_shape(struct decoder *d, uint8_t shape)
{
    size_t z_bytes = d->has_operand_size && !d->is_wide ? 2 : 4;
    switch (shape) {
    case NONE:
        return true;
    case M:
        return take_modrm(d);
    case MB:
        return take_modrm(d) && skip(d, 1);
    case MZ:
        return take_modrm(d) && skip(d, z_bytes);
    case B:
        return skip(d, 1);
    case W:
        return skip(d, 2);
    case WB:
        return skip(d, 3);
    case Z:
        return skip(d, z_bytes);
    case V:
        return skip(d, d->is_wide ? 8 : z_bytes);
    case A:
        return skip(d, d->has_address_size ? 4 : 8);
    case TB:
        return take_target(d, 1);
    case TZ:
        return take_target(d, 4);
    case TEST_B:
        return take_modrm(d) && skip(d, (d->modrm & 0x38U) <= 8 ? 1 : 0);
    case TEST_Z:
        return take_modrm(d) && skip(d, (d->modrm & 0x38U) <= 8 ? z_bytes : 0);
    default:
        return false;
    }
}

/* Finds instructions that continue elsewhere, or nowhere, without naming a target. */
static void find_kind(struct decoder *d)
{
    struct hs_insn *insn = d->insn;
    unsigned which = d->modrm >> 3 & 7U;
    if (d->map == 0) {
        switch (d->opcode) {
        case 0xc7: /* xbegin: the target continues a failed transaction */
            if (d->modrm == 0xf8 && d->at >= 6) {
                memcpy(&insn->target_off, d->code + d->at - 4, sizeof(insn->target_off));
                insn->kind = HS_INSN_BRANCH_ODD;
            }
            break;
        case 0xff:
            if (which == 2 || which == 3) {
                insn->kind = HS_INSN_CALL_INDIRECT;
            } else if (which == 4 || which == 5) {
                insn->kind = HS_INSN_JUMP_INDIRECT;
            }
            break;
        case 0xc2:
        case 0xc3:
        case 0xca:
        case 0xcb:
        case 0xcc:
        case 0xcf:
        case 0xf4:
            insn->kind = HS_INSN_END;
            break;
        default:
            break;
        }
    } else if (d->map == 1 &&
               (d->opcode == 0x0b || d->opcode == 0x07 || d->opcode == 0xff || d->opcode == 0xb9)) {
        insn->kind = HS_INSN_END;
    }
}

/* --- vectors: a prefix of two to four bytes holds REX and the map ----------------------------- */

/* All but one have ModRM. One byte follows in the third map, and behind a few opcodes of the
 * first. */
static bool take_vector(struct decoder *d)
{
    if (d->map == 0 || d->map > 3 || !take(d, &d->opcode)) {
        return false;
    }
    d->is_vector = true;
    if (d->map == 1 && d->opcode == 0x77) {
        return true;
    }
    bool has_byte = d->map == 3 || (d->map == 1 && two_bytes[d->opcode] == MB);
    return take_modrm(d) && skip(d, has_byte ? 1 : 0);
}

static bool take_vex(struct decoder *d, uint8_t shape)
{
    uint8_t byte = 0;
    if (d->has_operand_size || !take(d, &byte)) {
        return false;
    }
    d->map = shape == VEX2 ? 1 : byte & (shape == EVEX ? 7U : 31U);
    size_t rest = shape == VEX2 ? 0 : shape == VEX3 ? 1 : 2;
    return skip(d, rest) && take_vector(d);
}

static bool take_escaped(struct decoder *d)
{
    uint8_t unused = 0;
    if (!take(d, &d->opcode)) {
        return false;
    }
    d->map = 1;
    uint8_t shape = two_bytes[d->opcode];
    if (d->opcode == 0x38 || d->opcode == 0x3a) {
        d->map = d->opcode == 0x38 ? 2 : 3;
        if (!take(d, &unused)) {
            return false;
        }
    }
    return take_shape(d, shape);
}

bool hs_insn_decode(const uint8_t *code, size_t cap_bytes, struct hs_insn *ret_insn)
{
    struct hs_insn insn = { .kind = HS_INSN_PLAIN };
    struct decoder d = { .code = code, .cap_bytes = cap_bytes, .insn = &insn };
    bool has_rex = false, is_known = false;
    uint8_t shape;
    do {
        if (!take(&d, &d.opcode)) {
            return false;
        }
        shape = one_byte[d.opcode];
        d.has_operand_size = d.has_operand_size || d.opcode == 0x66;
        d.has_address_size = d.has_address_size || d.opcode == 0x67;
    } while (shape == PREFIX || shape == SEGMENT);
    if ((d.opcode & 0xf0U) == 0x40) {
        has_rex = true;
        d.is_wide = (d.opcode & 8U) != 0;
        if (!take(&d, &d.opcode)) {
            return false;
        }
        shape = one_byte[d.opcode];
    }
    if (shape == ESCAPE) {
        is_known = take_escaped(&d);
    } else if (shape == VEX2 || shape == VEX3 || shape == EVEX) {
        is_known = !has_rex && take_vex(&d, shape);
    } else {
        is_known = take_shape(&d, shape);
    }
    bool is_xop = d.map == 0 && !d.is_vector && d.opcode == 0x8f && (d.modrm & 0x38U) != 0;
    if (!is_known || is_xop) {
        return false;
    }
    if (insn.kind == HS_INSN_PLAIN && !d.is_vector) {
        find_kind(&d);
    }
    insn.length_bytes = (uint8_t)d.at;
    *ret_insn = insn;
    return true;
}
