/*
 * Reads the counters of a JVM: see jvm_perf_data.h.
 */
#include "collect/ledger/jvm_perf_data.h"

#include <string.h>

#include "rt/base.h"

#define ENTRIES_MAX   10000U
#define LITTLE_ENDIAN 1U
#define MAJOR_VERSION 2U
#define TYPE_LONG     'J'

static const uint8_t magic[] = { 0xca, 0xfe, 0xc0, 0xc0 };

struct prologue {
    uint8_t magic[4];
    uint8_t byte_order, major_version, minor_version, is_accessible;
    uint32_t used_bytes, overflow_bytes;
    uint64_t modified;
    uint32_t entries_off, entry_count;
};

struct entry {
    uint32_t entry_bytes; /* with the name and the data */
    uint32_t name_off;    /* from the entry's start; the name ends with a NUL */
    uint32_t vector_count;
    uint8_t type, flags, unit, variability;
    uint32_t data_off;
};

static void take(const char *name, size_t name_bytes, uint64_t value, struct hs_jvm_perf_data *data)
{
    const struct {
        const char *name;
        uint64_t *figure;
    } known[] = {
        { "sun.gc.generation.0.maxCapacity", &data->generation_max_bytes[0] },
        { "sun.gc.generation.1.maxCapacity", &data->generation_max_bytes[1] },
        { "sun.gc.metaspace.capacity", &data->metaspace_bytes },
        { "sun.gc.compressedclassspace.capacity", &data->class_space_bytes },
        { "sun.gc.compressedclassspace.maxCapacity", &data->class_space_max_bytes },
    };
    for (size_t i = 0; i < HS_COUNT_OF(known); i++) {
        if (strlen(known[i].name) == name_bytes && memcmp(known[i].name, name, name_bytes) == 0) {
            *known[i].figure = value;
        }
    }
}

/* An entry that lies in `bytes` whole. */
static void take_entry(const uint8_t *bytes, const struct entry *entry,
                       struct hs_jvm_perf_data *data)
{
    uint64_t value;
    if (entry->type != TYPE_LONG || entry->vector_count != 0 ||
        entry->name_off >= entry->entry_bytes || entry->data_off > entry->entry_bytes ||
        entry->entry_bytes - entry->data_off < sizeof(value)) {
        return;
    }
    const char *name = (const char *)bytes + entry->name_off;
    const char *end = memchr(name, '\0', entry->entry_bytes - entry->name_off);
    if (end) {
        memcpy(&value, bytes + entry->data_off, sizeof(value));
        take(name, (size_t)(end - name), value, data);
    }
}

bool hs_jvm_perf_data_parse(const uint8_t *bytes, size_t byte_count,
                            struct hs_jvm_perf_data *ret_data)
{
    struct prologue prologue;
    struct entry entry;
    *ret_data = (struct hs_jvm_perf_data){ .metaspace_bytes = 0 };
    if (byte_count < sizeof(prologue)) {
        return false;
    }
    memcpy(&prologue, bytes, sizeof(prologue));
    if (memcmp(prologue.magic, magic, sizeof(magic)) != 0 || prologue.byte_order != LITTLE_ENDIAN ||
        prologue.major_version != MAJOR_VERSION || prologue.is_accessible != 1) {
        return false;
    }
    size_t off = prologue.entries_off;
    for (uint32_t i = 0; i < prologue.entry_count && i < ENTRIES_MAX; i++) {
        if (off > byte_count || byte_count - off < sizeof(entry)) {
            break;
        }
        memcpy(&entry, bytes + off, sizeof(entry));
        if (entry.entry_bytes < sizeof(entry) || entry.entry_bytes > byte_count - off) {
            break;
        }
        take_entry(bytes + off, &entry, ret_data);
        off += entry.entry_bytes;
    }
    return true;
}
