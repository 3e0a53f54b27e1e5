/*
 * Reads jitdumps record by record: see jitdump.h.
 *
 * The addresses are sorted and the records are not, so the addresses are searched for each record.
 * What a later record says of an address replaces what an earlier one said. For MOVE, the places of
 * all LOAD records are kept: only their code index is stated.
 */
#include "symbol/jitdump.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rt/base.h"
#include "symbol/pc_search.h"
#include "util/array.h"

#define MAGIC             0x4A695444U /* "JiTD", in the byte order of the machine */
#define MACHINE_X86_64    62U
#define MACHINE_AARCH64   183U
#define FLAG_ARCH_CLOCK   UINT64_C(1) /* times are of the processor's counter */
#define HEADER_BYTES      40U
#define RECORD_BYTES      16U
#define LOAD_BYTES        40U /* behind the head, before the name */
#define MOVE_BYTES        48U
#define DEBUG_BYTES       16U
#define DEBUG_ENTRY_BYTES 16U /* before the file's name */
#define NAME_MAX_BYTES    4096U
#define DEBUG_MAX_BYTES   (16U << 20)
#define LOADS_MAX         (1U << 20)
/* V8 states the addresses of lines as if an ELF header preceded the code: the line at which a
 * function begins is that of the code's start plus 0x40 (node 18 to 24). */
#define V8_LINE_SHIFT 0x40U

enum record_id { RECORD_LOAD = 0, RECORD_MOVE = 1, RECORD_DEBUG_INFO = 2 };

/* Where a record is in the file. */
struct extent {
    uint64_t off;
    uint32_t bytes;
};

struct load {
    uint64_t code_index;
    struct extent record;
    struct extent debug; /* of the DEBUG_INFO before it; 0 bytes: none */
};

/* What is known of an address. */
struct found {
    uint64_t time_ns; /* code that was made later replaces nothing; UINT64_MAX: it does */
    char *name;
    char *file;
    uint32_t line;
};

struct reader {
    struct hs_symbol_builder *builder;
    int fd;
    const struct hs_symbol_jit_times *times;
    bool has_times;      /* those of the file are of CLOCK_MONOTONIC */
    uint64_t time_ns;    /* of the record */
    struct found *found; /* by address */
    struct load *loads;
    size_t load_count, load_capacity;
    struct extent debug; /* of the last DEBUG_INFO, whose code is at debug_va */
    uint64_t debug_va;
};

static uint32_t get32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}

static uint64_t get64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}

/* Reads up to `bytes` bytes. The number that there were, or -errno. */
static ssize_t read_at(int fd, uint64_t off, void *out, size_t bytes)
{
    size_t done = 0;
    while (done < bytes) {
        ssize_t got = pread(fd, (char *)out + done, bytes - done, (off_t)(off + done));
        if (got < 0 && errno != EINTR) {
            return -errno;
        }
        if (got == 0) {
            break;
        }
        done += got > 0 ? (size_t)got : 0;
    }
    return (ssize_t)done;
}

static void forget(struct found *found)
{
    free(found->name);
    free(found->file);
    *found = (struct found){ .time_ns = found->time_ns };
}

/* The line of an address in the entries of a DEBUG_INFO: that of the last entry at or before it. An
 * entry of the same file as the one before has "\xff" in place of its name. */
static void find_line(const uint8_t *data, size_t bytes, uint64_t pc, struct found *found)
{
    uint64_t count = get64(data + 8);
    const char *file = NULL, *best = NULL;
    uint64_t best_va = 0;
    size_t at = DEBUG_BYTES;
    for (uint64_t i = 0; i < count && bytes - at > DEBUG_ENTRY_BYTES; i++) {
        uint64_t va = get64(data + at);
        const char *name = (const char *)data + at + DEBUG_ENTRY_BYTES;
        const char *end = memchr(name, '\0', bytes - at - DEBUG_ENTRY_BYTES);
        if (!end) {
            break;
        }
        file = strcmp(name, "\xff") == 0 ? file : name;
        if (va <= pc && (!best || va >= best_va)) {
            best = file;
            best_va = va;
            found->line = get32(data + at + 8);
        }
        at = (size_t)(end + 1 - (const char *)data);
    }
    found->file = best && best[0] ? strndup(best, NAME_MAX_BYTES) : NULL;
    found->line = found->file ? found->line : 0;
}

/* V8 begins a name with the kind of the function. What follows, in `*ret_rest`, begins with that of
 * the code. */
static bool is_of_v8(const char *name, const char **ret_rest)
{
    static const char *const kinds[] = { "JS:", "Function:", "LazyCompile:", "Eval:", "Script:" };
    for (size_t i = 0; i < HS_COUNT_OF(kinds); i++) {
        if (strncmp(name, kinds[i], strlen(kinds[i])) == 0) {
            *ret_rest = name + strlen(kinds[i]);
            return true;
        }
    }
    return false;
}

/* Are the lines of a piece of V8's code right? Those of code that is not optimized (interpreted:
 * '~', baseline: '^') have positions in the bytecode in place of addresses. */
static bool has_right_lines(const char *rest)
{
    return rest[0] != '~' && rest[0] != '^';
}

/* Some versions of V8 write other bytes in place of a file's name. The name of the code contains
 * the file, between a blank and a colon, so a place in another file is dropped. */
static void check_file(struct found *found)
{
    size_t bytes = found->file ? strlen(found->file) : 0;
    const char *at = found->file ? strstr(found->name, found->file) : NULL;
    while (at && !(at > found->name && at[-1] == ' ' && at[bytes] == ':')) {
        at = strstr(at + 1, found->file);
    }
    if (!at) {
        free(found->file);
        found->file = NULL;
        found->line = 0;
    }
}

/* Reads the body of a DEBUG_INFO. NULL: there is none, or it is too long. */
static uint8_t *read_debug(const struct reader *reader, const struct extent *debug)
{
    size_t bytes = debug->bytes;
    uint8_t *data = bytes >= DEBUG_BYTES && bytes <= DEBUG_MAX_BYTES ? malloc(bytes) : NULL;
    if (data && read_at(reader->fd, debug->off, data, bytes) != (ssize_t)bytes) {
        free(data);
        data = NULL;
    }
    return data;
}

/* Names the addresses of a piece of code that a LOAD describes, and that is at `start_va` now. */
static int name_code(struct reader *reader, const struct load *load, uint64_t start_va)
{
    const struct hs_symbol_builder *builder = reader->builder;
    uint8_t head[LOAD_BYTES + NAME_MAX_BYTES + 1];
    size_t first = hs_pc_first(builder->pcs, builder->pc_count, start_va);
    if (first == builder->pc_count) {
        return 0;
    }
    size_t want = load->record.bytes < sizeof(head) - 1 ? load->record.bytes : sizeof(head) - 1;
    ssize_t got = read_at(reader->fd, load->record.off, head, want);
    if (got < (ssize_t)LOAD_BYTES) {
        return got < 0 ? (int)got : 0;
    }
    head[got] = '\0'; /* a longer name is cut */
    uint64_t code_va = get64(head + 16), code_bytes = get64(head + 24);
    const char *name = (const char *)head + LOAD_BYTES;
    if (!name[0] || builder->pcs[first] - start_va >= code_bytes) {
        return 0;
    }
    const char *rest;
    uint64_t shift = is_of_v8(name, &rest) ? V8_LINE_SHIFT : 0;
    uint8_t *debug = shift == 0 || has_right_lines(rest) ? read_debug(reader, &load->debug) : NULL;
    int err = 0;
    for (size_t i = first;
         err == 0 && i < builder->pc_count && builder->pcs[i] - start_va < code_bytes; i++) {
        struct found *found = &reader->found[i];
        if (found->name && reader->has_times && reader->time_ns > found->time_ns) {
            continue;
        }
        forget(found);
        found->name = strdup(name);
        err = found->name ? 0 : -ENOMEM;
        if (debug) {
            find_line(debug, load->debug.bytes, builder->pcs[i] - start_va + code_va + shift,
                      found);
        }
        if (shift != 0) {
            check_file(found);
        }
    }
    free(debug);
    return err;
}

static int take_load(struct reader *reader, const uint8_t *body, const struct extent *record)
{
    struct load load = { .code_index = get64(body + 32), .record = *record };
    uint64_t code_va = get64(body + 16);
    if (reader->debug.bytes > 0 && reader->debug_va == code_va) {
        load.debug = reader->debug;
    }
    reader->debug.bytes = 0;
    if (reader->load_count < LOADS_MAX) {
        int err = hs_array_reserve(&reader->loads, &reader->load_capacity, reader->load_count + 1,
                                   sizeof(reader->loads[0]));
        if (err < 0) {
            return err;
        }
        reader->loads[reader->load_count++] = load;
    }
    return name_code(reader, &load, code_va);
}

static int take_move(struct reader *reader, const uint8_t *body)
{
    uint64_t new_va = get64(body + 24), code_index = get64(body + 40);
    const struct hs_symbol_builder *builder = reader->builder;
    size_t first = hs_pc_first(builder->pcs, builder->pc_count, new_va);
    if (first == builder->pc_count || builder->pcs[first] - new_va >= get64(body + 32)) {
        return 0;
    }
    for (size_t i = reader->load_count; i > 0; i--) {
        if (reader->loads[i - 1].code_index == code_index) {
            return name_code(reader, &reader->loads[i - 1], new_va);
        }
    }
    return 0;
}

/* Takes the record at `off`, whose head and first bytes are in `data`. */
static int take_record(struct reader *reader, uint64_t off, const uint8_t *data, size_t data_bytes,
                       uint32_t record_bytes)
{
    uint64_t time_max_ns = reader->has_times ? reader->times->time_max_ns : 0;
    const uint8_t *body = data + RECORD_BYTES;
    const struct extent extent = { off + RECORD_BYTES, record_bytes - RECORD_BYTES };
    size_t body_bytes = data_bytes - RECORD_BYTES;
    body_bytes = body_bytes < extent.bytes ? body_bytes : extent.bytes;
    reader->time_ns = get64(data + 8);
    if (time_max_ns != 0 && reader->time_ns > time_max_ns) {
        return 0;
    }
    switch (get32(data)) {
    case RECORD_LOAD:
        return body_bytes >= LOAD_BYTES ? take_load(reader, body, &extent) : 0;
    case RECORD_MOVE:
        return body_bytes >= MOVE_BYTES ? take_move(reader, body) : 0;
    case RECORD_DEBUG_INFO:
        if (body_bytes >= DEBUG_BYTES) {
            reader->debug = extent;
            reader->debug_va = get64(body);
        }
        return 0;
    default:
        return 0;
    }
}

static int read_records(struct reader *reader)
{
    uint8_t data[RECORD_BYTES + MOVE_BYTES];
    ssize_t got = read_at(reader->fd, 0, data, HEADER_BYTES);
    if (got < 0) {
        return (int)got;
    }
    uint32_t machine = got == HEADER_BYTES ? get32(data + 12) : 0;
    if (got != HEADER_BYTES || get32(data) != MAGIC || get32(data + 4) != 1 ||
        get32(data + 8) < HEADER_BYTES ||
        (machine != MACHINE_X86_64 && machine != MACHINE_AARCH64)) {
        return -ENOEXEC;
    }
    reader->has_times = (get64(data + 32) & FLAG_ARCH_CLOCK) == 0;
    for (uint64_t off = get32(data + 8); off < HS_JITDUMP_BYTES_MAX;) {
        got = read_at(reader->fd, off, data, sizeof(data));
        if (got < (ssize_t)RECORD_BYTES) {
            return got < 0 ? (int)got : 0;
        }
        uint32_t bytes = get32(data + 4);
        if (bytes < RECORD_BYTES) {
            return 0; /* not written yet, or broken: what follows cannot be found */
        }
        int err = take_record(reader, off, data, (size_t)got, bytes);
        if (err < 0) {
            return err;
        }
        off += bytes;
    }
    return 0;
}

static void keep_found(struct hs_symbol_builder *builder, size_t i, const struct found *found)
{
    if (found->name && !hs_symbol_builder_has(builder, i)) {
        uint32_t off = hs_symbol_builder_string(builder, found->name);
        uint32_t file_off = hs_symbol_builder_string(builder, found->file);
        hs_symbol_builder_line(builder, i, (struct hs_symbol_name){ off, off }, file_off,
                               found->line);
        hs_symbol_builder_source(builder, HS_SYMBOL_SOURCE_JITDUMP);
    }
}

/* Both lists of addresses are sorted. */
static void take_times(struct reader *reader)
{
    const struct hs_symbol_builder *builder = reader->builder;
    const struct hs_symbol_jit_times *times = reader->times;
    for (size_t i = 0, k = 0; reader->found && i < builder->pc_count; i++) {
        while (k < times->of_pc_count && times->of_pcs[k].pc < builder->pcs[i]) {
            k++;
        }
        bool is_known = k < times->of_pc_count && times->of_pcs[k].pc == builder->pcs[i];
        reader->found[i].time_ns = is_known ? times->of_pcs[k].time_ns : UINT64_MAX;
    }
}

int hs_jitdump_names_fd(struct hs_symbol_builder *builder, int fd,
                        const struct hs_symbol_jit_times *times)
{
    struct reader reader = { .builder = builder, .fd = fd, .times = times };
    reader.found = calloc(builder->pc_count + 1, sizeof(*reader.found));
    take_times(&reader);
    int err = reader.found ? read_records(&reader) : -ENOMEM;
    for (size_t i = 0; reader.found && i < builder->pc_count; i++) {
        if (err == 0) {
            keep_found(builder, i, &reader.found[i]);
        }
        forget(&reader.found[i]);
    }
    free(reader.found);
    free(reader.loads);
    return err != 0 ? err : builder->err;
}
