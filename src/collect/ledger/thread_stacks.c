/*
 * Finds stacks by the descriptors of their threads: see thread_stacks.h.
 */
#include "collect/ledger/thread_stacks.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/ledger/residency.h"
#include "util/array.h"
#include "util/parse.h"
#include "util/proc.h"

/* A descriptor, with the thread's variables before it, is this near to the end of a stack. */
#define PAGE_BYTES       UINT64_C(4096)
#define SEARCH_BYTES     (UINT64_C(64) << 10)
#define DESCRIPTOR_ALIGN 64U
/* tcbhead_t: the descriptor's address, and once more in `self`. */
#define SELF_OFF 16U
/* The thread's id is in one of the words that follow. */
#define TID_OFF_MAX 1024U

struct threads {
    uint32_t *tids; /* sorted */
    size_t count;
    size_t capacity;
};

static int compare(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

static int list_threads(pid_t pid, struct threads *threads)
{
    char path[64];
    int r = 0;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    if (!dir) {
        return errno == ENOENT ? -ESRCH : -errno;
    }
    for (struct dirent *entry; r == 0 && (entry = readdir(dir));) {
        uint64_t tid = strtoull(entry->d_name, NULL, 10);
        if (tid == 0 || tid == (uint64_t)pid) {
            continue;
        }
        r = hs_array_reserve(&threads->tids, &threads->capacity, threads->count + 1,
                             sizeof(threads->tids[0]));
        if (r == 0) {
            threads->tids[threads->count++] = (uint32_t)tid;
        }
    }
    closedir(dir);
    if (threads->count > 1) {
        qsort(threads->tids, threads->count, sizeof(threads->tids[0]), compare);
    }
    return r;
}

/* The thread whose descriptor is at `va`; 0: no descriptor is there. `bytes` are those from `va`
 * on. */
static uint32_t descriptor_tid(const uint8_t *bytes, size_t byte_count, uint64_t va,
                               const struct threads *threads)
{
    uint64_t words[3];
    uint32_t tid;
    if (byte_count < sizeof(words)) {
        return 0;
    }
    memcpy(words, bytes, sizeof(words));
    if (words[0] != va || words[SELF_OFF / sizeof(words[0])] != va) {
        return 0;
    }
    for (size_t off = sizeof(words); off + sizeof(tid) <= byte_count && off < TID_OFF_MAX;
         off += 4) {
        memcpy(&tid, bytes + off, sizeof(tid));
        if (tid != 0 &&
            bsearch(&tid, threads->tids, threads->count, sizeof(threads->tids[0]), compare)) {
            return tid;
        }
    }
    return 0;
}

static bool may_be_stack(const struct hs_mapping *mapping)
{
    return mapping->inode == 0 && !mapping->is_shared && mapping->is_readable &&
           mapping->is_writable && mapping->rss_bytes + mapping->swap_bytes > 0;
}

static int add(pid_t pid, uint64_t start_va, uint64_t end_va, uint32_t tid,
               struct hs_thread_stacks *stacks)
{
    char file[64], text[64];
    size_t bytes;
    int r = hs_array_reserve(&stacks->items, &stacks->capacity, stacks->count + 1,
                             sizeof(stacks->items[0]));
    if (r < 0) {
        return r;
    }
    struct hs_thread_stack *stack = &stacks->items[stacks->count++];
    *stack = (struct hs_thread_stack){ .start_va = start_va, .end_va = end_va, .tid = tid };
    snprintf(file, sizeof(file), "task/%u/comm", (unsigned)tid);
    if (hs_proc_read(pid, file, text, sizeof(text), &bytes) == 0) {
        hs_proc_parse_comm(text, bytes, stack->name, sizeof(stack->name));
    }
    return 0;
}

/* Searches the upper end of [start_va, end_va). Returns the address of the descriptor; 0: there is
 * none. */
static uint64_t find_descriptor(const struct hs_remote_window *window, uint64_t start_va,
                                uint64_t end_va, const struct threads *threads, uint32_t *ret_tid)
{
    uint8_t bytes[SEARCH_BYTES];
    size_t byte_count =
        end_va - start_va < SEARCH_BYTES ? (size_t)(end_va - start_va) : SEARCH_BYTES;
    uint64_t first_va = end_va - byte_count;
    if (!hs_remote_window_peek(window, first_va, bytes, byte_count)) {
        return 0;
    }
    for (size_t off = byte_count & ~(size_t)(DESCRIPTOR_ALIGN - 1); off >= DESCRIPTOR_ALIGN;) {
        off -= DESCRIPTOR_ALIGN;
        *ret_tid = descriptor_tid(bytes + off, byte_count - off, first_va + off, threads);
        if (*ret_tid != 0) {
            return first_va + off;
        }
    }
    return 0;
}

/* The start of the resident pages at the end of a mapping, as far as a descriptor can be from
 * it. */
static uint64_t resident_end(int pagemap_fd, const struct hs_mapping *mapping)
{
    uint64_t va = mapping->end_va;
    uint64_t least_va =
        va - mapping->start_va > SEARCH_BYTES ? va - SEARCH_BYTES : mapping->start_va;
    while (va > least_va && hs_residency_is_resident(pagemap_fd, va - 1)) {
        va -= va - least_va < PAGE_BYTES ? va - least_va : PAGE_BYTES;
    }
    return va;
}

int hs_thread_stacks_find(pid_t pid, struct hs_remote_window *window, int pagemap_fd,
                          const struct hs_address_space *space, struct hs_thread_stacks *stacks)
{
    struct threads threads = { 0 };
    int r = list_threads(pid, &threads);
    stacks->count = 0;
    for (size_t i = 1; i < space->count && r == 0 && stacks->count < threads.count; i++) {
        const struct hs_mapping *guard = &space->items[i - 1], *mapping = &space->items[i];
        uint32_t tid;
        if (!may_be_stack(mapping) || guard->end_va != mapping->start_va || guard->is_readable) {
            continue;
        }
        uint64_t start_va = resident_end(pagemap_fd, mapping);
        if (start_va < mapping->end_va &&
            find_descriptor(window, start_va, mapping->end_va, &threads, &tid) != 0) {
            r = add(pid, mapping->start_va, mapping->end_va, tid, stacks);
        }
    }
    free(threads.tids);
    return r;
}

void hs_thread_stacks_deinit(struct hs_thread_stacks *stacks)
{
    free(stacks->items);
    *stacks = (struct hs_thread_stacks){ 0 };
}
