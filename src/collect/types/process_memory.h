/*
 * The memory of a running process, for the search for types (type_memory.h).
 *
 * Reading changes nothing in the process: a page is read where it is resident. A page of a module
 * that the process has not touched is as the module's file has it, and is read there. Pages in swap
 * are not read. Of a process that has pages in common with another one since a fork, /proc/PID/mem
 * is read instead of process_vm_readv (remote_window.h).
 *
 * Threads   one.
 * Trust     the process's memory and its files are hostile; see vtable_symbols.h.
 * Fails     as remote_window.h, and -errno of opening the pagemap.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/ledger/address_space.h"
#include "collect/ledger/remote_window.h"
#include "collect/ledger/residency.h"
#include "collect/types/type_memory.h"
#include "collect/types/vtable_symbols.h"

#define HS_PROCESS_PAGE_STATES 1024U
#define HS_PROCESS_MODULES_MAX 256U
/* The files whose symbols are read have this many bytes in all at most, so that a process cannot
 * make the search take minutes. */
#define HS_PROCESS_FILE_BYTES_MAX (UINT64_C(4) << 30)

enum hs_page_state {
    HS_PAGE_UNKNOWN,
    HS_PAGE_RESIDENT,
    HS_PAGE_UNTOUCHED, /* neither resident nor in swap */
    HS_PAGE_SWAPPED,
};

struct hs_process_page {
    uint64_t page; /* address / page size */
    enum hs_page_state state;
};

/* The symbols of a module that was asked for. */
struct hs_process_module {
    const struct hs_mapping *mapping; /* one of its mappings */
    struct hs_vtable_symbols symbols;
};

struct hs_process_memory {
    pid_t pid;
    const struct hs_address_space *space;
    uint8_t *places; /* enum hs_type_place of each mapping */
    struct hs_type_chunks constants;
    const struct hs_mapping *last;
    struct hs_remote_window window;
    int pagemap_fd;
    struct hs_residency residency; /* of the range in which blocks were read last */
    struct hs_process_page pages[HS_PROCESS_PAGE_STATES]; /* by the lowest bits of `page` */
    struct hs_process_module *modules;                    /* HS_PROCESS_MODULES_MAX elements */
    unsigned module_count;
    uint64_t file_bytes_left;
};

/* Opens the memory. `space` must outlive it. */
int hs_process_memory_open(pid_t pid, const struct hs_address_space *space,
                           struct hs_process_memory *ret_process);
void hs_process_memory_close(struct hs_process_memory *process);

/* What the search for types calls. The process must outlive it. */
void hs_process_memory_view(struct hs_process_memory *process, struct hs_type_memory *ret_memory);
