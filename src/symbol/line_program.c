/*
 * The head of a line number program, and running it. See line_program.h; DWARF 5, section 6.2.
 */
#include "symbol/line_program.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/pc_search.h"

/* What the tables of a DWARF 5 head may say of an entry; more is no compiler's. */
#define FORMATS_MAX 16U

struct head {
    const struct hs_line_sections *sections;
    struct hs_cursor at;
    unsigned version;
    unsigned offset_bytes; /* 4, or 8 in 64-bit DWARF */
};

struct entry_format {
    uint64_t content; /* DW_LNCT_ */
    uint64_t form;    /* DW_FORM_ */
};

struct entry {
    const char *path;
    uint64_t folder_idx;
};

/* The text that begins `off` bytes into a section; NULL when it has no end there. */
static const char *text_at(const struct hs_line_bytes *section, uint64_t off)
{
    if (off >= section->count || !memchr(section->bytes + off, 0, section->count - off)) {
        return NULL;
    }
    return (const char *)section->bytes + off;
}

/* A text that stands right here. */
static const char *read_text(struct hs_cursor *at)
{
    const uint8_t *end = memchr(at->at, 0, hs_cursor_left(at));
    const char *text = (const char *)at->at;
    if (!end) {
        hs_cursor_skip(at, hs_cursor_left(at));
        at->is_bad = true;
        return NULL;
    }
    at->at = end + 1;
    return text;
}

static int add_folder(struct hs_line_program *program, const char *path)
{
    if (program->folder_count == program->folder_capacity) {
        size_t capacity = program->folder_capacity ? program->folder_capacity * 2 : 16;
        const char **folders = realloc(program->folders, capacity * sizeof(*folders));
        if (!folders) {
            return -ENOMEM;
        }
        program->folders = folders;
        program->folder_capacity = capacity;
    }
    program->folders[program->folder_count++] = path;
    return 0;
}

static int add_file(struct hs_line_program *program, const char *name, uint64_t folder_idx)
{
    if (program->file_count == program->file_capacity) {
        size_t capacity = program->file_capacity ? program->file_capacity * 2 : 64;
        struct hs_line_file *files = realloc(program->files, capacity * sizeof(*files));
        if (!files) {
            return -ENOMEM;
        }
        program->files = files;
        program->file_capacity = capacity;
    }
    program->files[program->file_count++] = (struct hs_line_file){ name, folder_idx };
    return 0;
}

/* Folder, time and size follow the name of a file in the older tables. */
static int read_old_file(struct hs_line_program *program, struct hs_cursor *at, const char *name)
{
    uint64_t folder_idx = hs_cursor_uleb(at);
    hs_cursor_uleb(at);
    hs_cursor_uleb(at);
    return add_file(program, name, folder_idx);
}

/* DWARF 2 to 4: texts, ended by an empty one; numbers begin with 1, folder 0 is the unit's, file 0 none. */
static int read_old_tables(struct head *head, struct hs_line_program *program)
{
    const char *text;
    int err = add_folder(program, NULL);
    while (err == 0 && (text = read_text(&head->at)) && *text) {
        err = add_folder(program, text);
    }
    if (err == 0) {
        err = add_file(program, NULL, 0);
    }
    while (err == 0 && (text = read_text(&head->at)) && *text) {
        err = read_old_file(program, &head->at, text);
    }
    return err;
}

/* Forms that take the same number of bytes each time; 0: not one of them. */
static unsigned form_bytes(const struct head *head, uint64_t form)
{
    switch (form) {
    case DW_FORM_data1:
    case DW_FORM_strx1:
    case DW_FORM_flag:
        return 1;
    case DW_FORM_data2:
    case DW_FORM_strx2:
        return 2;
    case DW_FORM_strx3:
        return 3;
    case DW_FORM_data4:
    case DW_FORM_strx4:
        return 4;
    case DW_FORM_data8:
        return 8;
    case DW_FORM_data16:
        return 16;
    case DW_FORM_sec_offset:
    case DW_FORM_strp_sup:
        return head->offset_bytes;
    default:
        return 0;
    }
}

static bool read_block(struct hs_cursor *at, uint64_t form)
{
    switch (form) {
    case DW_FORM_block:
        hs_cursor_skip(at, hs_cursor_uleb(at));
        return true;
    case DW_FORM_block1:
        hs_cursor_skip(at, hs_cursor_u8(at));
        return true;
    case DW_FORM_block2:
        hs_cursor_skip(at, hs_cursor_uint(at, 2));
        return true;
    case DW_FORM_block4:
        hs_cursor_skip(at, hs_cursor_uint(at, 4));
        return true;
    default:
        return false;
    }
}

/* The value of one attribute. False: a form of unknown length. */
static bool read_form(struct head *head, uint64_t form, const char **ret_text, uint64_t *ret_number)
{
    unsigned bytes = form_bytes(head, form);
    *ret_text = NULL;
    *ret_number = 0;
    if (bytes > 8) {
        hs_cursor_skip(&head->at, bytes);
        return true;
    }
    if (bytes > 0) {
        *ret_number = hs_cursor_uint(&head->at, bytes);
        return true;
    }
    switch (form) {
    case DW_FORM_string:
        *ret_text = read_text(&head->at);
        return true;
    case DW_FORM_line_strp:
        *ret_text =
            text_at(&head->sections->line_str, hs_cursor_uint(&head->at, head->offset_bytes));
        return true;
    case DW_FORM_strp:
        *ret_text = text_at(&head->sections->str, hs_cursor_uint(&head->at, head->offset_bytes));
        return true;
    case DW_FORM_udata:
    case DW_FORM_sdata:
    case DW_FORM_strx:
        *ret_number = hs_cursor_uleb(&head->at);
        return true;
    default:
        return read_block(&head->at, form);
    }
}

/* One attribute of an entry. */
static bool read_attribute(struct head *head, const struct entry_format *format,
                           struct entry *entry)
{
    const char *text;
    uint64_t number;
    if (!read_form(head, format->form, &text, &number)) {
        return false;
    }
    if (format->content == DW_LNCT_path) {
        entry->path = text;
    } else if (format->content == DW_LNCT_directory_index) {
        entry->folder_idx = number;
    }
    return true;
}

/* A table of DWARF 5 says of what its entries consist. Every attribute takes a byte or more, so that a false number
 * of entries ends with the bytes. */
static int read_table(struct head *head, struct hs_line_program *program, bool is_files)
{
    struct entry_format formats[FORMATS_MAX];
    uint8_t format_count = hs_cursor_u8(&head->at);
    if (format_count > FORMATS_MAX) {
        return -ENOTSUP;
    }
    for (unsigned i = 0; i < format_count; i++) {
        formats[i].content = hs_cursor_uleb(&head->at);
        formats[i].form = hs_cursor_uleb(&head->at);
    }
    uint64_t count = hs_cursor_uleb(&head->at);
    int err = 0;
    for (uint64_t i = 0; i < count && format_count > 0 && err == 0; i++) {
        struct entry entry = { 0 };
        for (unsigned k = 0; k < format_count; k++) {
            if (!read_attribute(head, &formats[k], &entry)) {
                return -ENOTSUP;
            }
        }
        if (head->at.is_bad) {
            return -EBADMSG;
        }
        err = is_files ? add_file(program, entry.path, entry.folder_idx)
                       : add_folder(program, entry.path);
    }
    return err;
}

static int read_tables(struct head *head, struct hs_line_program *program)
{
    if (head->version < 5) {
        return read_old_tables(head, program);
    }
    int err = read_table(head, program, false);
    return err != 0 ? err : read_table(head, program, true);
}

/* How long the program is: the cursor then ends with it. */
static int read_length(struct head *head)
{
    uint64_t bytes = hs_cursor_u32(&head->at);
    head->offset_bytes = 4;
    if (bytes == UINT32_MAX) {
        bytes = hs_cursor_uint(&head->at, 8);
        head->offset_bytes = 8;
    }
    if (head->at.is_bad || bytes > hs_cursor_left(&head->at)) {
        return -EBADMSG;
    }
    head->at.end = head->at.at + bytes;
    return 0;
}

static int read_head(struct head *head, struct hs_line_program *program)
{
    int err = read_length(head);
    if (err != 0) {
        return err;
    }
    head->version = (unsigned)hs_cursor_uint(&head->at, 2);
    if (head->version < 2 || head->version > 5) {
        return -ENOTSUP;
    }
    if (head->version >= 5) {
        hs_cursor_skip(&head->at, 2); /* sizes of an address and of a segment */
    }
    uint64_t head_bytes = hs_cursor_uint(&head->at, head->offset_bytes);
    if (head->at.is_bad || head_bytes > hs_cursor_left(&head->at)) {
        return -EBADMSG;
    }
    program->insns = head->at;
    program->insns.at += head_bytes;
    head->at.end = program->insns.at;
    program->min_insn_bytes = hs_cursor_u8(&head->at);
    /* More than one operation in an instruction: Itanium. */
    if (head->version >= 4 && hs_cursor_u8(&head->at) > 1) {
        return -ENOTSUP;
    }
    hs_cursor_skip(&head->at, 1); /* may a debugger stop there? */
    program->line_base = (int8_t)hs_cursor_u8(&head->at);
    program->line_range = hs_cursor_u8(&head->at);
    program->opcode_base = hs_cursor_u8(&head->at);
    program->operand_counts = head->at.at;
    if (program->line_range == 0 || program->opcode_base == 0) {
        return -EBADMSG;
    }
    hs_cursor_skip(&head->at, program->opcode_base - 1U);
    return head->at.is_bad ? -EBADMSG : read_tables(head, program);
}

int hs_line_program_open(const struct hs_line_sections *sections, uint64_t off,
                         struct hs_line_program *ret_program)
{
    struct hs_line_program program = { 0 };
    struct head head = { .sections = sections };
    if (off >= sections->line.count) {
        return -EBADMSG;
    }
    head.at.at = sections->line.bytes + off;
    head.at.end = sections->line.bytes + sections->line.count;
    int err = read_head(&head, &program);
    if (err != 0) {
        hs_line_program_close(&program);
        return err;
    }
    *ret_program = program;
    return 0;
}

void hs_line_program_close(struct hs_line_program *program)
{
    free(program->folders);
    free(program->files);
    *program = (struct hs_line_program){ 0 };
}

/* What a special instruction adds to address and line, before it lists a row. */
struct special {
    uint32_t advance_bytes;
    uint32_t line_delta; /* modulo 2^32 */
};

/* The machine that the instructions are written for. */
struct machine {
    struct special specials[256]; /* by opcode; not for the others */
    struct hs_line_program *program;
    uint64_t code_sva;
    const uint64_t *pcs;
    size_t pc_count;
    struct hs_line_row *rows;
    size_t next; /* the first address that is not below `last` */
    struct hs_line_row last;
    bool has_last; /* within a sequence: `last` was listed */
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

/* The last row ends here: gives it to the addresses in it. */
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
        const char *name = read_text(&insn);
        m->err = name ? read_old_file(m->program, &insn, name) : 0;
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

/* Most instructions are special ones, and division is slow. */
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
    default: /* of no consequence for lines, or not known: only operands */
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
    memset(rows, 0, pc_count * sizeof(*rows));
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

bool hs_line_program_file(const struct hs_line_program *program, uint64_t file_idx,
                          const char **ret_folder, const char **ret_name)
{
    if (file_idx >= program->file_count || !program->files[file_idx].name) {
        return false;
    }
    const struct hs_line_file *file = &program->files[file_idx];
    *ret_name = file->name;
    *ret_folder =
        file->folder_idx < program->folder_count ? program->folders[file->folder_idx] : NULL;
    return true;
}
