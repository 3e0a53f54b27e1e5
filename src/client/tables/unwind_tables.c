/*
 * Maps the section UNWIND_TABLES and searches it. See unwind_tables.h.
 */
#include "client/tables/unwind_tables.h"

#include <sys/mman.h>

#include "client/host/sandbox.h"
#include "rt/sys.h"
#include "rt/text.h"
#include "unwind/unwind_table.h"

/* A mapping is this long, or eight times as long, and so on. */
#define MAPPED_MIN_BYTES (UINT64_C(1) << 20)
#define GROWTH_SHIFT     3
/* Of one region there are at most four. Each generation of forked children may add its own. */
#define MAPPINGS_MAX 32U

/* The section, as far as it was mapped and in use then. */
struct mapping {
    uint8_t *base; /* of the header, before the section; NULL: the place was never used */
    uint64_t mapped_bytes;
    const uint8_t *section;
    uint64_t used_bytes;
};

uint64_t hs_unwind_tables_seen_bytes;
static struct mapping mappings[MAPPINGS_MAX];
static uint32_t mapping_count;
static bool has_own; /* the last one is of the present region */

/* Where the section begins, counted from the header, which is mapped. */
static uint64_t section_off(void)
{
    return hs_region.layout[HS_SECTION_UNWIND_TABLES].file_off - HS_REGION_HEADER_OFF;
}

/* Maps the header again, and the section behind it. Needs no descriptor, like a longer view. The
 * address space of an abandoned mapping is used again. */
static bool map(uint64_t bytes)
{
    struct mapping *mapping = &mappings[mapping_count];
    uint64_t mapped_bytes = MAPPED_MIN_BYTES;
    while (mapped_bytes < section_off() + bytes) {
        mapped_bytes <<= GROWTH_SHIFT;
    }
    uint64_t end_bytes =
        section_off() + hs_align_up(hs_region.layout[HS_SECTION_UNWIND_TABLES].max_count, 4096);
    mapped_bytes = mapped_bytes < end_bytes ? mapped_bytes : end_bytes;
    if (mapping_count == MAPPINGS_MAX) {
        return false;
    }
    bool is_again = mapping->base && mapping->mapped_bytes >= mapped_bytes;
    mapped_bytes = is_again ? mapping->mapped_bytes : mapped_bytes;
    long va = is_again ? hs_sys_mremap_to(hs_region.header, 0, mapped_bytes,
                                          MREMAP_MAYMOVE | MREMAP_FIXED, mapping->base)
                       : hs_sys_mremap(hs_region.header, 0, mapped_bytes, MREMAP_MAYMOVE);
    if (va < 0 && va > -4096) {
        return false;
    }
    hs_sandbox_advise((void *)va, mapped_bytes, MADV_DONTDUMP);
    *mapping = (struct mapping){ .base = (uint8_t *)va,
                                 .mapped_bytes = mapped_bytes,
                                 .section = (uint8_t *)va + section_off() };
    mapping_count++;
    has_own = true;
    return true;
}

void hs_unwind_tables_look(void)
{
    /* ORDER unwind-tables: the tables before their size. */
    uint64_t bytes = hs_load_acquire(&hs_control_page.control.unwind_tables_bytes);
    uint64_t max_bytes = hs_region.layout[HS_SECTION_UNWIND_TABLES].max_count;
    struct mapping *own = has_own ? &mappings[mapping_count - 1] : NULL;
    hs_store_relaxed(&hs_unwind_tables_seen_bytes, bytes);
    bytes = bytes < max_bytes ? bytes : max_bytes;
    if (bytes == 0) {
        return;
    }
    if (!own || own->mapped_bytes - section_off() < bytes) {
        if (!map(bytes)) {
            return;
        }
        own = &mappings[mapping_count - 1];
    }
    own->used_bytes = bytes;
}

static bool is_of(const struct hs_unwind_table_v2 *head, const struct hs_module_v1 *module)
{
    return head->bias_va == module->bias_va && head->exec_sva == module->exec_sva &&
           head->exec_bytes == module->exec_bytes && module->exec_bytes != 0 &&
           head->build_id_bytes == module->build_id_bytes &&
           hs_text_has_same_bytes(head->build_id, module->build_id, head->build_id_bytes);
}

static bool find_in(const struct mapping *mapping, struct hs_module_v1 *module,
                    struct hs_unwind_table *ret_table)
{
    struct hs_unwind_table_v2 head;
    for (uint64_t off = 0; hs_unwind_table_head(mapping->section, mapping->used_bytes, off, &head);
         off += head.table_bytes) {
        if (is_of(&head, module) &&
            hs_unwind_table_open(mapping->section + off, &head, ret_table)) {
            module->table_source = head.source;
            return true;
        }
    }
    return false;
}

bool hs_unwind_tables_find(struct hs_module_v1 *module, struct hs_unwind_table *ret_table)
{
    for (uint32_t i = mapping_count; i > 0; i--) {
        if (find_in(&mappings[i - 1], module, ret_table)) {
            return true;
        }
    }
    return false;
}

void hs_unwind_tables_change_region(void)
{
    has_own = false;
    hs_store_relaxed(&hs_unwind_tables_seen_bytes, 0);
}

void hs_unwind_tables_abandon(void)
{
    for (uint32_t i = 0; i < mapping_count; i++) {
        mappings[i].used_bytes = 0;
        hs_sys_mmap(mappings[i].base, mappings[i].mapped_bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    }
    mapping_count = 0;
    hs_unwind_tables_change_region();
}
