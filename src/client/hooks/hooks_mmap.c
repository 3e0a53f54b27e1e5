/*
 * The hooks of the functions that map memory, and of syscall() where it makes such a call.
 *
 * Each hook jumps to the real function unless something may have to be recorded. Calls that the C
 * library and the loader make inside themselves (malloc's, those for stacks of threads) do not come
 * here: that memory is not the program's own. A call through syscall() goes on to the
 * real syscall(), not to the function of its name, because an interposed function of that name may
 * have made it; if both are seen, the range is recorded once.
 *
 * The names are given in assembler, because the headers rename some functions and declare others
 * with fewer arguments.
 *
 * Threads   any; also signal handlers, and children of vfork.
 * Fails     only as the real functions fail; errno is theirs.
 * See       mapping.h
 */
#include <assert.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "client/hooks/hooks.h"
#include "client/hooks/mapping.h"
#include "client/host/memfd.h"
#include "client/host/readable_pages.h"
#include "client/host/real.h"

#define ACCESS (PROT_READ | PROT_WRITE | PROT_EXEC)

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

/* Where a mapping consists of huge pages, the kernel rounds its length up to their size. The
 * default size may be another one; 2 MiB is what x86-64 has unless it was changed at boot. */
static size_t whole_pages(size_t len_bytes, int flags)
{
    unsigned shift = (unsigned)flags >> 26 & 63U;
    if (!(flags & MAP_HUGETLB)) {
        return len_bytes;
    }
    size_t page_bytes = (size_t)1 << (shift ? shift : 21U);
    return hs_align_up(len_bytes, page_bytes);
}

static bool has_failed(const void *ptr)
{
    return ptr == MAP_FAILED;
}

/* After a call that was to take the chain's memory away. */
static void settle(struct hs_mapped_chain *chain, bool is_done)
{
    if (is_done) {
        hs_mapping_drop(chain);
    } else {
        hs_mapping_put_back(chain);
    }
}

/* --- mmap ------------------------------------------------------------------------------------- */

struct mmap_args {
    void *addr;
    size_t len_bytes;
    int prot, flags, fd;
    long off;
    bool is_syscall;
};

static void *real_mmap(const struct mmap_args *args)
{
    return args->is_syscall
               ? (void *)hs_real.syscall(SYS_mmap, (long)args->addr, (long)args->len_bytes,
                                         args->prot, args->flags, args->fd, args->off)
               : hs_real.mmap(args->addr, args->len_bytes, args->prot, args->flags, args->fd,
                              args->off);
}

static void *map(const struct mmap_args *args, const struct hs_regs *regs)
{
    struct hs_mapped_chain old = { 0 };
    bool does_replace = (args->flags & MAP_FIXED) && !(args->flags & MAP_FIXED_NOREPLACE);
    if (does_replace) {
        hs_mapping_take((uint64_t)args->addr, args->len_bytes, &old);
    }
    void *ptr = real_mmap(args);
    if (does_replace) {
        hs_readable_note_closed();
    }
    settle(&old, !has_failed(ptr));
    if (has_failed(ptr)) {
        return ptr;
    }
    if ((args->flags & MAP_ANONYMOUS) || hs_memfd_is(args->fd)) {
        const struct hs_mapping_new mapping = {
            .start_va = (uint64_t)ptr,
            .len_bytes = whole_pages(args->len_bytes, args->flags),
            .is_open = (args->prot & ACCESS) != 0,
            .is_shared = (args->flags & MAP_SHARED) != 0, /* also MAP_SHARED_VALIDATE */
        };
        hs_mapping_add(&mapping, regs);
    } else if (!does_replace && hs_mapped_has_any()) {
        /* What may still be known of these addresses was unmapped in a way that no hook sees. */
        hs_mapping_take((uint64_t)ptr, args->len_bytes, &old);
        hs_mapping_drop(&old);
    }
    return ptr;
}

/* The entry of mmap's slow half (src/arch); it passes the registers on the stack. */
void *hs_entry_mmap(void *addr, size_t len_bytes, int prot, int flags, int fd, long off);
void *hs_slow_mmap(void *addr, size_t len_bytes, int prot, int flags, int fd, long off,
                   const struct hs_regs *regs);

void *hs_slow_mmap(void *addr, size_t len_bytes, int prot, int flags, int fd, long off,
                   const struct hs_regs *regs)
{
    const struct mmap_args args = { addr, len_bytes, prot, flags, fd, off, false };
    return map(&args, regs);
}

void *hs_hook_mmap(void *addr, size_t len_bytes, int prot, int flags, int fd,
                   long off) __asm__("mmap");

HS_EXPORT void *hs_hook_mmap(void *addr, size_t len_bytes, int prot, int flags, int fd, long off)
{
    return hs_mapping_may_matter() ? hs_entry_mmap(addr, len_bytes, prot, flags, fd, off)
                                   : hs_real.mmap(addr, len_bytes, prot, flags, fd, off);
}

/* On 64-bit machines it is the same function. */
void *hs_hook_mmap64(void *addr, size_t len_bytes, int prot, int flags, int fd,
                     long off) __asm__("mmap64");

HS_EXPORT void *hs_hook_mmap64(void *addr, size_t len_bytes, int prot, int flags, int fd, long off)
{
    return hs_mapping_may_matter() ? hs_entry_mmap(addr, len_bytes, prot, flags, fd, off)
                                   : hs_real.mmap(addr, len_bytes, prot, flags, fd, off);
}

/* --- munmap ----------------------------------------------------------------------------------- */

/* Without any range of which something is known. */
static HS_COLD int unmap_unknown(void *addr, size_t len_bytes)
{
    int err = hs_real.munmap(addr, len_bytes);
    hs_readable_note_closed();
    return err;
}

static HS_COLD int unmap(void *addr, size_t len_bytes, bool is_syscall)
{
    struct hs_mapped_chain old = { 0 };
    hs_mapping_take((uint64_t)addr, len_bytes, &old);
    int err = is_syscall ? (int)hs_real.syscall(SYS_munmap, (long)addr, (long)len_bytes, 0, 0, 0, 0)
                         : hs_real.munmap(addr, len_bytes);
    hs_readable_note_closed();
    settle(&old, err == 0);
    return err;
}

int hs_hook_munmap(void *addr, size_t len_bytes) __asm__("munmap");

HS_EXPORT int hs_hook_munmap(void *addr, size_t len_bytes)
{
    return hs_mapped_has_any() ? unmap(addr, len_bytes, false) : unmap_unknown(addr, len_bytes);
}

/* --- mremap ----------------------------------------------------------------------------------- */

struct mremap_args {
    void *addr;
    size_t old_bytes, new_bytes;
    int flags;
    void *new_addr;
    bool is_syscall;
};

static void *real_mremap(const struct mremap_args *args)
{
    void *ptr =
        args->is_syscall
            ? (void *)hs_real.syscall(SYS_mremap, (long)args->addr, (long)args->old_bytes,
                                      (long)args->new_bytes, args->flags, (long)args->new_addr, 0)
            : hs_real.mremap(args->addr, args->old_bytes, args->new_bytes, args->flags,
                             args->new_addr);
    hs_readable_note_closed();
    return ptr;
}

/* A mapping that becomes shorter where it is: only its end goes. */
static void *shrink(const struct mremap_args *args)
{
    struct hs_mapped_chain tail = { 0 };
    uint64_t from = hs_align_up(args->new_bytes, HS_MAPPED_PAGE_BYTES);
    uint64_t end = hs_align_up(args->old_bytes, HS_MAPPED_PAGE_BYTES);
    if (from < end) {
        hs_mapping_take((uint64_t)args->addr + from, end - from, &tail);
    }
    void *ptr = real_mremap(args);
    settle(&tail, !has_failed(ptr));
    return ptr;
}

/* A second mapping of the same shared pages. */
static void *duplicate(const struct mremap_args *args, const struct hs_regs *regs)
{
    enum hs_range_kind kind = HS_RANGE_RESERVED;
    bool is_known = hs_mapping_kind((uint64_t)args->addr, &kind);
    void *ptr = real_mremap(args);
    if (is_known && !has_failed(ptr)) {
        const struct hs_mapping_new mapping = {
            .start_va = (uint64_t)ptr,
            .len_bytes = args->new_bytes,
            .is_open = kind != HS_RANGE_RESERVED,
            .is_shared = true,
        };
        hs_mapping_add(&mapping, regs);
    }
    return ptr;
}

/* A mapping that becomes longer or moves is a new one, as a block is that was given to realloc().
 * It is followed if the old one was. */
static void *move(const struct mremap_args *args, const struct hs_regs *regs)
{
    struct hs_mapped_chain old = { 0 }, target = { 0 };
    hs_mapping_take((uint64_t)args->addr, args->old_bytes, &old);
    if (args->flags & MREMAP_FIXED) {
        hs_mapping_take((uint64_t)args->new_addr, args->new_bytes, &target);
    }
    void *ptr = real_mremap(args);
    /* When several mappings move at once (Linux 6.17), what is where a gap between them would move
     * to stays. */
    settle(&target,
           !has_failed(ptr) && hs_mapping_is_whole(&old, (uint64_t)args->addr, args->old_bytes));
    bool is_same = ptr == args->addr && hs_align_up(args->old_bytes, HS_MAPPED_PAGE_BYTES) ==
                                            hs_align_up(args->new_bytes, HS_MAPPED_PAGE_BYTES);
    if (!is_same && !has_failed(ptr)) {
        const struct hs_mapping_move moved = { (uint64_t)args->addr, args->old_bytes, (uint64_t)ptr,
                                               args->new_bytes, (args->flags & MREMAP_FIXED) != 0 };
        hs_mapping_add_moved(&old, &moved, regs);
    }
    settle(&old, !is_same && !has_failed(ptr) && !(args->flags & MREMAP_DONTUNMAP));
    return ptr;
}

static void *remap(const struct mremap_args *args, const struct hs_regs *regs)
{
    if (!hs_mapped_has_any()) {
        return real_mremap(args);
    }
    if (args->old_bytes == 0) {
        return duplicate(args, regs);
    }
    bool is_shorter = args->new_bytes <= args->old_bytes && args->new_bytes > 0;
    return is_shorter && !(args->flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) ? shrink(args)
                                                                            : move(args, regs);
}

void *hs_entry_mremap(void *addr, size_t old_bytes, size_t new_bytes, int flags, void *new_addr);
void *hs_slow_mremap(void *addr, size_t old_bytes, size_t new_bytes, int flags, void *new_addr,
                     const struct hs_regs *regs);

void *hs_slow_mremap(void *addr, size_t old_bytes, size_t new_bytes, int flags, void *new_addr,
                     const struct hs_regs *regs)
{
    const struct mremap_args args = { addr, old_bytes, new_bytes, flags, new_addr, false };
    return remap(&args, regs);
}

static HS_COLD void *remap_unknown(void *addr, size_t old_bytes, size_t new_bytes, int flags,
                                   void *new_addr)
{
    const struct mremap_args args = { addr, old_bytes, new_bytes, flags, new_addr, false };
    return real_mremap(&args);
}

/* Without MREMAP_FIXED the last argument is what happens to be in its register. */
void *hs_hook_mremap(void *addr, size_t old_bytes, size_t new_bytes, int flags,
                     void *new_addr) __asm__("mremap");

HS_EXPORT void *hs_hook_mremap(void *addr, size_t old_bytes, size_t new_bytes, int flags,
                               void *new_addr)
{
    return hs_mapped_has_any() ? hs_entry_mremap(addr, old_bytes, new_bytes, flags, new_addr)
                               : remap_unknown(addr, old_bytes, new_bytes, flags, new_addr);
}

/* --- mprotect --------------------------------------------------------------------------------- */

enum how { BY_NAME, BY_SYSCALL, WITH_KEY };

struct protect_args {
    void *addr;
    size_t len_bytes;
    int prot, pkey;
    enum how how;
};

static int real_protect(const struct protect_args *args)
{
    int err = args->how == BY_SYSCALL
                  ? (int)hs_real.syscall(SYS_mprotect, (long)args->addr, (long)args->len_bytes,
                                         args->prot, 0, 0, 0)
              : args->how == WITH_KEY
                  ? hs_real.pkey_mprotect(args->addr, args->len_bytes, args->prot, args->pkey)
                  : hs_real.mprotect(args->addr, args->len_bytes, args->prot);
    if (args->how == WITH_KEY || !(args->prot & PROT_READ)) {
        hs_readable_note_closed();
    }
    return err;
}

static int protect(const struct protect_args *args, const struct hs_regs *regs)
{
    struct hs_mapped_chain closed = { 0 };
    if (args->prot & ACCESS) {
        int err = real_protect(args);
        if (err == 0) {
            hs_mapping_open((uint64_t)args->addr, args->len_bytes, regs);
        } else {
            hs_mapping_open_partly((uint64_t)args->addr, args->len_bytes, regs);
        }
        return err;
    }
    hs_mapping_take((uint64_t)args->addr, args->len_bytes, &closed);
    int err = real_protect(args);
    if (err == 0) {
        hs_mapping_close(&closed);
    } else {
        hs_mapping_put_back(&closed);
    }
    return err;
}

int hs_entry_mprotect(void *addr, size_t len_bytes, int prot);
int hs_slow_mprotect(void *addr, size_t len_bytes, int prot, const struct hs_regs *regs);
int hs_entry_pkey_mprotect(void *addr, size_t len_bytes, int prot, int pkey);
int hs_slow_pkey_mprotect(void *addr, size_t len_bytes, int prot, int pkey,
                          const struct hs_regs *regs);

int hs_slow_mprotect(void *addr, size_t len_bytes, int prot, const struct hs_regs *regs)
{
    const struct protect_args args = { addr, len_bytes, prot, 0, BY_NAME };
    return protect(&args, regs);
}

int hs_slow_pkey_mprotect(void *addr, size_t len_bytes, int prot, int pkey,
                          const struct hs_regs *regs)
{
    const struct protect_args args = { addr, len_bytes, prot, pkey, WITH_KEY };
    return protect(&args, regs);
}

static HS_COLD int protect_unknown(void *addr, size_t len_bytes, int prot, int pkey, enum how how)
{
    const struct protect_args args = { addr, len_bytes, prot, pkey, how };
    return real_protect(&args);
}

int hs_hook_mprotect(void *addr, size_t len_bytes, int prot) __asm__("mprotect");
int hs_hook_pkey_mprotect(void *addr, size_t len_bytes, int prot,
                          int pkey) __asm__("pkey_mprotect");

HS_EXPORT int hs_hook_mprotect(void *addr, size_t len_bytes, int prot)
{
    return hs_mapped_has_any() ? hs_entry_mprotect(addr, len_bytes, prot)
                               : protect_unknown(addr, len_bytes, prot, 0, BY_NAME);
}

HS_EXPORT int hs_hook_pkey_mprotect(void *addr, size_t len_bytes, int prot, int pkey)
{
    return hs_mapped_has_any() ? hs_entry_pkey_mprotect(addr, len_bytes, prot, pkey)
                               : protect_unknown(addr, len_bytes, prot, pkey, WITH_KEY);
}

/* --- brk -------------------------------------------------------------------------------------- */

static uint64_t page_end(uint64_t va)
{
    return hs_align_up(va, HS_MAPPED_PAGE_BYTES);
}

/* Before the end of the data moves down to `to`. */
static void take_data(uint64_t from, uint64_t to, struct hs_mapped_chain *chain)
{
    if (page_end(to) < page_end(from)) {
        hs_mapping_take(page_end(to), page_end(from) - page_end(to), chain);
    }
}

/* After it has moved up. */
static void add_data(uint64_t from, uint64_t to, const struct hs_regs *regs)
{
    if (page_end(from) < page_end(to)) {
        const struct hs_mapping_new mapping = { page_end(from), page_end(to) - page_end(from), true,
                                                false };
        hs_mapping_add(&mapping, regs);
    }
}

int hs_entry_brk(void *end);
int hs_slow_brk(void *end, const struct hs_regs *regs);
void *hs_entry_sbrk(long change_bytes);
void *hs_slow_sbrk(long change_bytes, const struct hs_regs *regs);

int hs_slow_brk(void *end, const struct hs_regs *regs)
{
    struct hs_mapped_chain gone = { 0 };
    void *old = hs_real.sbrk(0);
    take_data((uint64_t)old, (uint64_t)end, &gone);
    int err = hs_real.brk(end);
    hs_readable_note_closed();
    settle(&gone, err == 0);
    if (err == 0) {
        add_data((uint64_t)old, (uint64_t)end, regs);
    }
    return err;
}

void *hs_slow_sbrk(long change_bytes, const struct hs_regs *regs)
{
    struct hs_mapped_chain gone = { 0 };
    void *before = hs_real.sbrk(0);
    if (change_bytes < 0) {
        take_data((uint64_t)before, (uint64_t)before + (uint64_t)change_bytes, &gone);
    }
    void *old = hs_real.sbrk(change_bytes);
    hs_readable_note_closed();
    settle(&gone, !has_failed(old));
    if (!has_failed(old) && change_bytes > 0) {
        add_data((uint64_t)old, (uint64_t)old + (uint64_t)change_bytes, regs);
    }
    return old;
}

int hs_hook_brk(void *end) __asm__("brk");
void *hs_hook_sbrk(long change_bytes) __asm__("sbrk");

HS_EXPORT int hs_hook_brk(void *end)
{
    return hs_mapping_may_matter() ? hs_entry_brk(end) : hs_real.brk(end);
}

HS_EXPORT void *hs_hook_sbrk(long change_bytes)
{
    return change_bytes != 0 && hs_mapping_may_matter() ? hs_entry_sbrk(change_bytes)
                                                        : hs_real.sbrk(change_bytes);
}

/* --- syscall() -------------------------------------------------------------------------------- */

long hs_slow_map_syscall(long number, long arg1, long arg2, long arg3, long arg4, long arg5,
                         const struct hs_regs *regs);

/* Called for SYS_mmap, SYS_munmap, SYS_mremap and SYS_mprotect. The sixth argument of mmap lies
 * where the caller has put it. */
long hs_slow_map_syscall(long number, long arg1, long arg2, long arg3, long arg4, long arg5,
                         const struct hs_regs *regs)
{
    hs_real_resolve();
    if (number == SYS_mmap) {
        const struct mmap_args args = { (void *)arg1, (size_t)arg2, (int)arg3,
                                        (int)arg4,    (int)arg5,    *(const long *)regs->sp,
                                        true };
        return (long)map(&args, regs);
    }
    if (number == SYS_munmap) {
        return unmap((void *)arg1, (size_t)arg2, true);
    }
    if (number == SYS_mremap) {
        const struct mremap_args args = { (void *)arg1, (size_t)arg2, (size_t)arg3,
                                          (int)arg4,    (void *)arg5, true };
        return (long)remap(&args, regs);
    }
    const struct protect_args args = { (void *)arg1, (size_t)arg2, (int)arg3, 0, BY_SYSCALL };
    return protect(&args, regs);
}

HS_HOOK_NAME(mmap)
HS_HOOK_NAME(mmap64)
HS_HOOK_NAME(munmap)
HS_HOOK_NAME(mremap)
HS_HOOK_NAME(mprotect)
HS_HOOK_NAME(pkey_mprotect)
HS_HOOK_NAME(brk)
HS_HOOK_NAME(sbrk)
