/*
 * The mappings of another process, each with what of it is resident: /proc/PID/smaps as an array.
 *
 * Ensures   the sums over all mappings are those of the kernel's smaps_rollup, except for mappings
 *           that change while the file is read. Mappings are in the order of their addresses and do
 *           not overlap.
 * Threads   one.
 * Fails     -errno of reading: -EACCES when heapscope may not, -ESRCH when the process is gone;
 *           -ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/buf.h"

struct hs_mapping {
    uint64_t start_va, end_va;
    uint64_t file_off;
    uint64_t inode; /* 0: no file */
    bool is_readable, is_writable, is_executable, is_shared;
    size_t path_off; /* in the text; see hs_mapping_path() */
    uint64_t rss_bytes, pss_bytes, swap_bytes, swap_pss_bytes;
    uint64_t huge_bytes;      /* resident, in huge pages of anonymous memory */
    uint64_t hugetlb_bytes;   /* in huge pages of the system's pool, which are not resident */
    uint64_t anonymous_bytes; /* resident pages that no file has, or that differ from the file */
};

struct hs_address_space {
    struct hs_mapping *items;
    size_t count;
    size_t capacity;
    struct hs_buf paths; /* each with its NUL */
    bool has_no_figures; /* only where the mappings are is known */
};

/* Reads the mappings of `pid`. Returns 0, or see Fails. */
int hs_address_space_read(pid_t pid, struct hs_address_space *ret_space);
/* The same without figures, which the kernel has to count: it takes a fraction of the time. */
int hs_address_space_read_places(pid_t pid, struct hs_address_space *ret_space);
/* The same from an open file with such a text. */
int hs_address_space_read_file(int fd, struct hs_address_space *ret_space);
/* The same from text of that form. */
int hs_address_space_parse(const char *text, size_t text_bytes, struct hs_address_space *ret_space);
/* Frees the arrays. */
void hs_address_space_deinit(struct hs_address_space *space);

/* "/usr/lib/libc.so.6", "[heap]", "" for anonymous memory without a name; with " (deleted)" where
 * the kernel writes it. */
const char *hs_mapping_path(const struct hs_address_space *space, const struct hs_mapping *mapping);

/* Does the process have anonymous private pages in common with another one? It has, from a fork on,
 * until either writes to them. */
bool hs_address_space_is_forked(const struct hs_address_space *space);

/* Is it memory without a file, or that of a memfd? */
bool hs_mapping_is_anonymous(const struct hs_address_space *space,
                             const struct hs_mapping *mapping);
/* Is it private anonymous memory, with no name in the kernel but that of brk(2)? */
bool hs_mapping_is_plain(const struct hs_address_space *space, const struct hs_mapping *mapping);

/* The first mapping that ends behind `va`; the end of the array: there is none; NULL: the array is
 * empty. */
const struct hs_mapping *hs_address_space_from(const struct hs_address_space *space, uint64_t va);
/* The mapping that contains `va`. NULL: there is none. */
const struct hs_mapping *hs_address_space_find(const struct hs_address_space *space, uint64_t va);
