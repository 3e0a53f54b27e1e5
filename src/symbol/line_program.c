/*
 * Runs a line number program. See line_program.h; DWARF 5, section 6.2.5.
 */
#include <dwarf.h>
#include <string.h>

#include "symbol/line_head.h"
#include "symbol/pc_search.h"

/* What a special instruction adds to the address and the line before it emits a row. */
struct special {
    uint32_t advance_bytes;
    uint32_t line_delta; /* modulo 2^32 */
};

/* The state machine that the instructions drive. */
struct machine {
    struct special specials[256]; /* by opcode; only special ones */
    struct hs_line_program *program;
    uint64_t code_sva;
    const uint64_t *pcs;
    size_t pc_count;
    struct hs_line_row *rows;
    size_t next; /* the first address that is not below `last` */
    struct hs_line_row last;
    bool has_last; /* within a sequence: `last` is valid */
    uint64_t sva;
    uint64_t file_idx;
    uint32_t line;
    int err;
};

static void begin_sequence(struct machine *m)
{
    m->has_last = false;
    m->sva = 0;
    m->file_idx = 1;
    m->line = 1;
}

/* Ends the last row here, and gives it to the addresses in it. */
static inline void end_row(struct machine *m)
{
    while (m->next < m->pc_count && m->pcs[m->next] < m->sva) {
        struct hs_line_row *row = &m->rows[m->next++];
        if (m->last.sva >= m->code_sva && (!row->is_found || row->sva <= m->last.sva)) {
            *row = m->last;
        }
    }
}

static inline void list_row(struct machine *m)
{
    if (m->has_last && m->sva >= m->last.sva) {
        end_row(m);
    } else {
        m->next = hs_pc_first(m->pcs, m->pc_count, m->sva);
    }
    m->last = (struct hs_line_row){ m->sva, m->file_idx, m->line, true };
    m->has_last = true;
}

static void end_sequence(struct machine *m)
{
    if (m->has_last) {
        end_row(m);
    }
    begin_sequence(m);
}

static void run_extended(struct machine *m, struct hs_cursor *at)
{
    uint64_t bytes = hs_cursor_uleb(at);
    struct hs_cursor insn = *at;
    hs_cursor_skip(at, bytes);
    if (at->is_bad || bytes == 0) {
        return;
    }
    insn.end = at->at;
    switch (hs_cursor_u8(&insn)) {
    case DW_LNE_end_sequence:
        end_sequence(m);
        break;
    case DW_LNE_set_address:
        if (bytes - 1 <= 8) {
            m->sva = hs_cursor_uint(&insn, (unsigned)bytes - 1);
        }
        break;
    case DW_LNE_define_file: {
        const char *name = hs_line_read_text(&insn);
        m->err = name ? hs_line_read_file(m->program, &insn, name) : 0;
        break;
    }
    default:
        break;
    }
}

static uint64_t special_advance(const struct hs_line_program *program, unsigned opcode)
{
    unsigned step = opcode - program->opcode_base;
    return (uint64_t)(step / program->line_range) * program->min_insn_bytes;
}

/* Precomputes special instructions: most instructions are special, and division is slow. */
static void prepare_specials(struct machine *m)
{
    const struct hs_line_program *program = m->program;
    for (unsigned opcode = program->opcode_base; opcode < 256; opcode++) {
        unsigned step = opcode - program->opcode_base;
        m->specials[opcode].advance_bytes = (uint32_t)special_advance(program, opcode);
        m->specials[opcode].line_delta =
            (uint32_t)(program->line_base + (int)(step % program->line_range));
    }
}

static void run_standard(struct machine *m, struct hs_cursor *at, uint8_t opcode)
{
    const struct hs_line_program *program = m->program;
    switch (opcode) {
    case DW_LNS_copy:
        list_row(m);
        break;
    case DW_LNS_advance_pc:
        m->sva += hs_cursor_uleb(at) * program->min_insn_bytes;
        break;
    case DW_LNS_advance_line:
        m->line += (uint32_t)hs_cursor_sleb(at);
        break;
    case DW_LNS_set_file:
        m->file_idx = hs_cursor_uleb(at);
        break;
    case DW_LNS_const_add_pc:
        m->sva += special_advance(program, 255);
        break;
    case DW_LNS_fixed_advance_pc:
        m->sva += hs_cursor_uint(at, 2);
        break;
    default: /* without effect on lines, or unknown: only operands are skipped */
        for (unsigned i = 0; i < program->operand_counts[opcode - 1]; i++) {
            hs_cursor_uleb(at);
        }
        break;
    }
}

static inline void run_special(struct machine *m, uint8_t opcode)
{
    m->sva += m->specials[opcode].advance_bytes;
    m->line += m->specials[opcode].line_delta;
    list_row(m);
}

int hs_line_program_find(struct hs_line_program *program, uint64_t code_sva, const uint64_t *pcs,
                         size_t pc_count, struct hs_line_row *rows)
{
    struct machine m = {
        .program = program,
        .code_sva = code_sva,
        .pcs = pcs,
        .pc_count = pc_count,
        .rows = rows,
    };
    struct hs_cursor at = program->insns;
    if (pc_count > 0) {
        memset(rows, 0, pc_count * sizeof(*rows));
    }
    prepare_specials(&m);
    begin_sequence(&m);
    while (hs_cursor_left(&at) > 0 && m.err == 0) {
        uint8_t opcode = hs_cursor_u8(&at);
        if (opcode >= program->opcode_base) {
            run_special(&m, opcode);
        } else if (opcode == 0) {
            run_extended(&m, &at);
        } else {
            run_standard(&m, &at, opcode);
        }
    }
    return m.err;
}
