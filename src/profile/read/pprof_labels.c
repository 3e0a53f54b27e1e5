/*
 * See pprof_labels.h.
 */
#include "profile/read/pprof_labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "0x7f10". False: it is not an address. */
static bool read_address(const char *text, uint64_t *ret_address)
{
    char *end;
    bool has_digit = text[0] == '0' && text[1] == 'x' && strspn(text + 2, "0123456789abcdefABCDEF");
    errno = 0;
    *ret_address = has_digit ? strtoull(text, &end, 16) : 0;
    return has_digit && *end == '\0' && errno == 0;
}

/* "worker[4711]"; without brackets, the whole text is the name. */
static void read_thread(struct hs_pprof_tables *tables, const char *text,
                        struct hs_profile_block *block)
{
    const char *bracket = strrchr(text, '[');
    size_t bytes = bracket ? (size_t)(bracket - text) : strlen(text);
    block->thread_name = hs_builder_string_n(tables->source->builder, text, bytes);
    block->tid = bracket ? (uint32_t)strtoul(bracket + 1, NULL, 10) : 0;
}

static uint64_t unsigned_of(int64_t number)
{
    return number > 0 ? (uint64_t)number : 0;
}

struct hs_pprof_labels_read hs_pprof_read_labels(struct hs_pprof_tables *tables,
                                                 const Hs__Pprof__PprofSample *sample)
{
    struct hs_pprof_labels_read labels = { .is_block = false };
    char key[32], text[160];
    for (size_t i = 0; i < sample->n_label; i++) {
        const Hs__Pprof__PprofLabel *label = sample->label[i];
        hs_pprof_copy_string(tables, label->key, key, sizeof(key));
        if (strcmp(key, "pid") == 0 || strcmp(key, "process_id") == 0) {
            labels.pid = label->num > 0 ? (uint32_t)label->num : 0;
        } else if (strcmp(key, "heap") == 0) {
            labels.heap = hs_pprof_string(tables, label->str);
        } else if (strcmp(key, "process_name") == 0) {
            labels.process_name = hs_pprof_string(tables, label->str);
        } else if (strcmp(key, "address") == 0) {
            hs_pprof_copy_string(tables, label->str, text, sizeof(text));
            labels.is_block = read_address(text, &labels.block.address);
        } else if (strcmp(key, "bytes") == 0) {
            labels.block.size_bytes = unsigned_of(label->num);
        } else if (strcmp(key, "timestamp") == 0) {
            labels.block.birth_ns = unsigned_of(label->num);
        } else if (strcmp(key, "thread") == 0) {
            hs_pprof_copy_string(tables, label->str, text, sizeof(text));
            read_thread(tables, text, &labels.block);
        } else if (strcmp(key, "type") == 0) {
            labels.block.type = hs_pprof_string(tables, label->str);
        }
    }
    return labels;
}
