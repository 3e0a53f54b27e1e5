/*
 * Reading the kernel's list of mappings. See mapped_check.h.
 */
#include "client/tables/mapped_check.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "client/host/sandbox.h"
#include "rt/sys.h"
#include "rt/text.h"

#define TEXT_BYTES 16384U /* more than the longest line */

/* A line of the list. */
struct line {
    uint64_t start_va, end_va;
    bool is_file;
    bool is_open; /* some access is permitted */
};

static const char *parse_hex(const char *at, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (;; at++) {
        unsigned digit = (unsigned)(*at >= 'a' ? *at - 'a' + 10 : *at - '0');
        if (digit > 15) {
            break;
        }
        value = value << 4 | digit;
    }
    *ret_value = value;
    return at;
}

/* Passes over a word and the blanks behind it. */
static const char *skip_word(const char *at)
{
    while (*at != ' ' && *at != '\n') {
        at++;
    }
    while (*at == ' ') {
        at++;
    }
    return at;
}

/* Shared anonymous memory has a file of the kernel's own, and so has that of memfd_create. */
static bool is_anonymous_name(const char *name)
{
    return hs_text_starts_with(name, "/dev/zero (deleted)") ||
           hs_text_starts_with(name, "/anon_hugepage (deleted)") ||
           hs_text_starts_with(name, "/memfd:");
}

/* `at`: START-END PERMISSIONS OFFSET DEVICE INODE NAME, ended by a newline. */
static void parse(const char *at, struct line *ret_line)
{
    at = parse_hex(at, &ret_line->start_va);
    at = parse_hex(*at == '-' ? at + 1 : at, &ret_line->end_va);
    at = skip_word(at); /* its end, up to the blank */
    ret_line->is_open = at[0] != '\n' && (at[0] != '-' || at[1] != '-' || at[2] != '-');
    at = skip_word(skip_word(skip_word(at)));
    bool has_inode = *at != '0' || (at[1] != ' ' && at[1] != '\n');
    at = skip_word(at);
    ret_line->is_file = has_inode && !is_anonymous_name(at);
}

static void remove_between(struct hs_thread *thread, uint64_t start_va, uint64_t end_va)
{
    struct hs_mapped_chain gone = { 0 };
    if (start_va < end_va) {
        hs_mapped_take(thread, start_va, end_va, &gone);
        hs_mapped_drop(&gone);
    }
}

static void close_between(struct hs_thread *thread, uint64_t start_va, uint64_t end_va)
{
    struct hs_mapped_chain closed = { 0 };
    hs_mapped_take(thread, start_va, end_va, &closed);
    hs_mapped_put_back(thread, &closed, true);
}

static void open_between(const struct hs_mapped_opener *opener, const struct line *line)
{
    uint64_t start_va = line->start_va > opener->start_va ? line->start_va : opener->start_va;
    uint64_t end_va = line->end_va < opener->end_va ? line->end_va : opener->end_va;
    if (start_va < end_va) {
        hs_mapped_open(&opener->origin, start_va, end_va);
    }
}

static void compare(const struct hs_mapped_opener *opener, const struct line *line,
                    uint64_t *end_va)
{
    struct hs_thread *thread = opener->origin.thread;
    if (line->end_va <= *end_va || line->start_va >= line->end_va) {
        return; /* the list has changed while it was read */
    }
    remove_between(thread, *end_va, line->is_file ? line->end_va : line->start_va);
    if (!line->is_file && !line->is_open) {
        close_between(thread, line->start_va, line->end_va);
    } else if (!line->is_file) {
        open_between(opener, line);
    }
    *end_va = line->end_va;
}

size_t hs_mapped_check_text(const struct hs_mapped_opener *opener, const char *text, size_t bytes,
                            uint64_t *end_va)
{
    size_t used = 0;
    for (size_t i = 0; i < bytes; i++) {
        struct line line;
        if (text[i] == '\n') {
            parse(text + used, &line);
            compare(opener, &line, end_va);
            used = i + 1;
        }
    }
    return used;
}

void hs_mapped_check(const struct hs_mapped_opener *opener)
{
    static char text[TEXT_BYTES]; /* used under the lock */
    uint64_t end_va = 0;
    size_t bytes = 0;
    long fd = hs_sandbox_is_tight() ? -1 : hs_sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    long got = hs_sys_read((int)fd, text, sizeof(text));
    while (got > 0) {
        bytes += (size_t)got;
        size_t used = hs_mapped_check_text(opener, text, bytes, &end_va);
        memmove(text, text + used, bytes - used);
        bytes -= used;
        got = bytes < sizeof(text) ? hs_sys_read((int)fd, text + bytes, sizeof(text) - bytes) : 0;
    }
    if (got == 0 && bytes == 0 && end_va != 0) {
        remove_between(opener->origin.thread, end_va, UINT64_MAX);
    }
    hs_sys_close((int)fd);
}
