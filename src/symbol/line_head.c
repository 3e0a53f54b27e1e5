/*
 * Reads the head of a line number program: its parameters, folders and files. DWARF 5, sections
 * 6.2.4 and 6.2.5.
 */
#include "symbol/line_head.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

/* The most attributes of an entry in a table of a DWARF 5 head; no compiler writes more. */
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

/* The text at offset `off` in a section; NULL when it has no end there. */
static const char *text_at(const struct hs_line_bytes *section, uint64_t off)
{
    if (off >= section->count || !memchr(section->bytes + off, 0, section->count - off)) {
        return NULL;
    }
    return (const char *)section->bytes + off;
}

const char *hs_line_read_text(struct hs_cursor *at)
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
    int err = hs_array_reserve(&program->folders, &program->folder_capacity,
                               program->folder_count + 1, sizeof(*program->folders));
    if (err < 0) {
        return err;
    }
    program->folders[program->folder_count++] = path;
    return 0;
}

static int add_file(struct hs_line_program *program, const char *name, uint64_t folder_idx)
{
    int err = hs_array_reserve(&program->files, &program->file_capacity, program->file_count + 1,
                               sizeof(*program->files));
    if (err < 0) {
        return err;
    }
    program->files[program->file_count++] = (struct hs_line_file){ name, folder_idx };
    return 0;
}

int hs_line_read_file(struct hs_line_program *program, struct hs_cursor *at, const char *name)
{
    uint64_t folder_idx = hs_cursor_uleb(at);
    hs_cursor_uleb(at);
    hs_cursor_uleb(at);
    return add_file(program, name, folder_idx);
}

/*
 * Reads the tables of DWARF 2 to 4: lists of texts, each ended by an empty text. Numbers begin with
 * 1; folder 0 is the unit's, file 0 means none.
 */
static int read_old_tables(struct head *head, struct hs_line_program *program)
{
    const char *text;
    int err = add_folder(program, NULL);
    while (err == 0 && (text = hs_line_read_text(&head->at)) && *text) {
        err = add_folder(program, text);
    }
    if (err == 0) {
        err = add_file(program, NULL, 0);
    }
    while (err == 0 && (text = hs_line_read_text(&head->at)) && *text) {
        err = hs_line_read_file(program, &head->at, text);
    }
    return err;
}

/* The size of a form with a fixed size; 0 for other forms. */
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

/* Reads the value of one attribute. False: a form of unknown length. */
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
        *ret_text = hs_line_read_text(&head->at);
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

/* Reads one attribute of an entry. */
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

/*
 * Reads a table of DWARF 5, which says what its entries consist of. Every attribute takes a byte or
 * more, so that a wrong number of entries ends with the bytes.
 */
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

/* Reads the length of the program; the cursor then ends where the program ends. */
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
        hs_cursor_skip(&head->at, 2); /* the sizes of an address and of a segment */
    }
    uint64_t head_bytes = hs_cursor_uint(&head->at, head->offset_bytes);
    if (head->at.is_bad || head_bytes > hs_cursor_left(&head->at)) {
        return -EBADMSG;
    }
    program->insns = head->at;
    program->insns.at += head_bytes;
    head->at.end = program->insns.at;
    program->min_insn_bytes = hs_cursor_u8(&head->at);
    /* More than one operation in an instruction, as on Itanium, is not supported. */
    if (head->version >= 4 && hs_cursor_u8(&head->at) > 1) {
        return -ENOTSUP;
    }
    hs_cursor_skip(&head->at, 1); /* default_is_stmt, for debuggers */
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
