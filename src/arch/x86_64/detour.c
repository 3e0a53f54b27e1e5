/*
 * Moving the first instructions of a function. See detour.h.
 */
#include "arch/detour.h"

#include <stdbool.h>
#include <string.h>

#include "arch/insn.h"

#define JUMP_BYTES   5U
#define BRANCH_BYTES 6U

static const char *const words[HS_DETOUR_ERROR_N] = {
    [HS_DETOUR_DONE] = "nothing is wrong with it",
    [HS_DETOUR_SHORT] = "it is too short",
    [HS_DETOUR_UNKNOWN] = "it has an instruction that we do not know",
    [HS_DETOUR_CALLS] = "it begins with a call by way of a register",
    [HS_DETOUR_LOOPS] = "it jumps back to its first instructions",
    [HS_DETOUR_FAR] = "what it uses is too far away",
};

const char *hs_detour_error_words(int error)
{
    return error >= 0 && error < HS_DETOUR_ERROR_N ? words[error] : "an unknown error";
}

struct moving {
    const uint8_t *code;
    uint64_t entry_va;
    uint64_t slot_va;
    uint8_t *slot;
    size_t at; /* offset in the slot */
};

/* Writes the distance to `target_va` at `at`; the distance counts from `end`. False: out of
 * reach. */
static bool put_distance(struct moving *m, size_t at, size_t end, uint64_t target_va)
{
    int64_t distance = (int64_t)(target_va - (m->slot_va + end));
    int32_t low = (int32_t)(uint32_t)(uint64_t)distance;
    memcpy(m->slot + at, &low, sizeof(low));
    return distance == low;
}

static bool has_target(const struct hs_insn *insn)
{
    return insn->kind == HS_INSN_JUMP || insn->kind == HS_INSN_BRANCH ||
           insn->kind == HS_INSN_BRANCH_ODD || insn->kind == HS_INSN_CALL;
}

static int put_jump(struct moving *m, const struct hs_insn *insn, uint64_t target_va)
{
    if (insn->kind == HS_INSN_BRANCH) {
        m->slot[m->at] = 0x0f;
        m->slot[m->at + 1] = (uint8_t)(0x80U | insn->condition);
        m->at += BRANCH_BYTES;
    } else {
        m->slot[m->at] = 0xe9;
        m->at += JUMP_BYTES;
    }
    return put_distance(m, m->at - 4, m->at, target_va) ? HS_DETOUR_DONE : HS_DETOUR_FAR;
}

/* Moves a call. It must return into the function itself, behind the overwritten bytes, so that no
 * return address ever lies in a slot. Therefore it becomes a push of that return address, which is
 * stored at the slot's end, and a jump. */
static int put_call(struct moving *m, const struct hs_insn *insn, size_t off)
{
    uint64_t end_va = m->entry_va + off + insn->length_bytes;
    const uint8_t *code = m->code + off;
    size_t literal_at = HS_DETOUR_SLOT_BYTES - sizeof(end_va);
    bool is_by_pointer = insn->kind == HS_INSN_CALL_INDIRECT && insn->memory_off == 2 &&
                         insn->length_bytes == 6 && code[1] == 0x15; /* call *pointer(%rip) */
    if (off + insn->length_bytes < HS_DETOUR_PATCH_BYTES ||
        (insn->kind == HS_INSN_CALL_INDIRECT && !is_by_pointer)) {
        return HS_DETOUR_CALLS;
    }
    memcpy(m->slot + literal_at, &end_va, sizeof(end_va));
    m->slot[m->at] = 0xff; /* push literal(%rip) */
    m->slot[m->at + 1] = 0x35;
    m->at += BRANCH_BYTES;
    if (!put_distance(m, m->at - 4, m->at, m->slot_va + literal_at)) {
        return HS_DETOUR_FAR;
    }
    if (!is_by_pointer) {
        return put_jump(m, insn, end_va + (uint64_t)(int64_t)insn->target_off);
    }
    int32_t memory_off;
    memcpy(&memory_off, code + insn->memory_off, sizeof(memory_off));
    m->slot[m->at] = 0xff; /* jmp *pointer(%rip) */
    m->slot[m->at + 1] = 0x25;
    m->at += BRANCH_BYTES;
    return put_distance(m, m->at - 4, m->at, end_va + (uint64_t)(int64_t)memory_off)
               ? HS_DETOUR_DONE
               : HS_DETOUR_FAR;
}

/* Moves one instruction. `off`: its offset in the function. */
static int move(struct moving *m, const struct hs_insn *insn, size_t off)
{
    uint64_t end_va = m->entry_va + off + insn->length_bytes;
    if (m->at + insn->length_bytes + 2 * BRANCH_BYTES + JUMP_BYTES + 8 > HS_DETOUR_SLOT_BYTES) {
        return HS_DETOUR_UNKNOWN; /* longer than any four meaningful instructions */
    }
    switch (insn->kind) {
    case HS_INSN_CALL:
    case HS_INSN_CALL_INDIRECT:
        return put_call(m, insn, off);
    case HS_INSN_BRANCH_ODD:
        return HS_DETOUR_UNKNOWN;
    case HS_INSN_BRANCH:
    case HS_INSN_JUMP:
        return put_jump(m, insn, end_va + (uint64_t)(int64_t)insn->target_off);
    default:
        break;
    }
    memcpy(m->slot + m->at, m->code + off, insn->length_bytes);
    size_t start = m->at;
    int32_t memory_off;
    m->at += insn->length_bytes;
    if (insn->memory_off == 0) {
        return HS_DETOUR_DONE;
    }
    memcpy(&memory_off, m->code + off + insn->memory_off, sizeof(memory_off));
    return put_distance(m, start + insn->memory_off, m->at, end_va + (uint64_t)(int64_t)memory_off)
               ? HS_DETOUR_DONE
               : HS_DETOUR_FAR;
}

/* Looks through the whole function for jumps into the overwritten bytes. A jump to the function's
 * start would run the hook once more, so it counts too. */
static int look_for_loops(const uint8_t *code, size_t size_bytes)
{
    struct hs_insn insn;
    for (size_t off = 0; off < size_bytes; off += insn.length_bytes) {
        if (!hs_insn_decode(code + off, size_bytes - off, &insn)) {
            return HS_DETOUR_UNKNOWN;
        }
        if (has_target(&insn)) {
            int64_t target = (int64_t)(off + insn.length_bytes) + insn.target_off;
            int64_t first = insn.kind == HS_INSN_CALL ? 1 : 0;
            if (target >= first && target < (int64_t)HS_DETOUR_PATCH_BYTES) {
                return HS_DETOUR_LOOPS;
            }
        }
    }
    return HS_DETOUR_DONE;
}

/* Moves all instructions that begin within the patch. *ret_off is the offset of the next one; 0: it
 * is never reached. */
static int move_all(struct moving *m, size_t size_bytes, size_t *ret_off)
{
    struct hs_insn insn;
    size_t off = 0;
    bool is_ended = false;
    while (off < HS_DETOUR_PATCH_BYTES) {
        if (is_ended || off >= size_bytes) {
            return HS_DETOUR_SHORT;
        }
        if (!hs_insn_decode(m->code + off, size_bytes - off, &insn)) {
            return HS_DETOUR_UNKNOWN;
        }
        int r = move(m, &insn, off);
        if (r != HS_DETOUR_DONE) {
            return r;
        }
        off += insn.length_bytes;
        is_ended = insn.kind == HS_INSN_JUMP || insn.kind == HS_INSN_JUMP_INDIRECT ||
                   insn.kind == HS_INSN_CALL || insn.kind == HS_INSN_CALL_INDIRECT ||
                   insn.kind == HS_INSN_END;
    }
    *ret_off = is_ended ? 0 : off;
    return HS_DETOUR_DONE;
}

int hs_detour_make(const uint8_t *code, size_t size_bytes, uint64_t entry_va, uint64_t slot_va,
                   uint64_t hook_va, struct hs_detour *ret_detour)
{
    static const uint8_t jump_to_hook[] = { 0xff, 0x25, 2, 0, 0, 0, 0x0f, 0x0b };
    struct hs_detour detour;
    struct moving m = { code, entry_va, slot_va, detour.slot, HS_DETOUR_REAL_OFF };
    const struct hs_insn back = { .kind = HS_INSN_JUMP };
    size_t off = 0;
    memset(detour.slot, 0xcc, sizeof(detour.slot));
    memcpy(detour.slot, jump_to_hook, sizeof(jump_to_hook));
    memcpy(detour.slot + sizeof(jump_to_hook), &hook_va, sizeof(hook_va));
    int r = move_all(&m, size_bytes, &off);
    r = r == HS_DETOUR_DONE ? look_for_loops(code, size_bytes) : r;
    if (r == HS_DETOUR_DONE && off > 0) {
        r = put_jump(&m, &back, entry_va + off);
    }
    int64_t distance = (int64_t)(slot_va - (entry_va + JUMP_BYTES));
    int32_t low = (int32_t)(uint32_t)(uint64_t)distance;
    if (r == HS_DETOUR_DONE && distance != low) {
        r = HS_DETOUR_FAR;
    }
    if (r == HS_DETOUR_DONE) {
        detour.patch[0] = 0xe9;
        memcpy(detour.patch + 1, &low, sizeof(low));
        *ret_detour = detour;
    }
    return r;
}
