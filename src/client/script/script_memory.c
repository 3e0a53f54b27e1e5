/*
 * The memory of this process. See script_memory.h.
 */
#include "client/script/script_memory.h"

#include "client/host/readable_pages.h"

#define BYTES_MAX 4096U

/* A text of no bytes is somewhere, too. */
static const void *look(struct hs_script_memory *memory, uint64_t va, uint32_t bytes)
{
    return bytes <= BYTES_MAX ? hs_readable_pages_at(memory->pages, va, bytes ? bytes : 1) : NULL;
}

void hs_script_memory_init(struct hs_script_memory *memory, struct hs_readable_pages *pages)
{
    memory->look = look;
    memory->pages = pages;
}
