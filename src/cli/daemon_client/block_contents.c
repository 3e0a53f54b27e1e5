/*
 * Contents of blocks: see block_contents.h.
 */
#include "cli/daemon_client/block_contents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "cli/cmd.h"
#include "cli/daemon_client/contents_batch.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "profile/model/profile.h"
#include "rt/clock.h"
#include "util/human.h"

#define BATCH_BYTES (UINT64_C(128) << 20)
#define WORD_NS     UINT64_C(10000000000)
#define PIECE_BYTES (UINT64_C(16) << 20)

struct work {
    const struct hs_block_contents *contents;
    struct hs_contents_block *blocks; /* by address */
    size_t count;
    uint64_t next_word_ns; /* when to say how far it has come */
    uint8_t *buffer;
    size_t buffer_bytes;
    struct hs_contents_batch batch;
    uint64_t changed_count, unreadable_count, other_heap_count;
    bool has_ended; /* the process */
    bool is_never_written_known;
};

/* --- which blocks ----------------------------------------------------------------------------- */

/* Are the ids of this heap's blocks addresses of memory that the heap alone has? */
static bool is_memory(const char *heap)
{
    return strcmp(heap, "libc.malloc") == 0 || strcmp(heap, "python.obj") == 0;
}

static int compare_blocks(const void *a, const void *b)
{
    const struct hs_contents_block *left = a, *right = b;
    return (left->va > right->va) - (left->va < right->va);
}

/* Lists the blocks of a profile that have contents. NULL: no memory. */
static struct hs_contents_block *list_blocks(const struct hs_profile *p, struct work *work,
                                             size_t *ret_count)
{
    struct hs_contents_block *blocks = malloc((p->block_count + 1) * sizeof(blocks[0]));
    size_t count = 0, kept = 0;
    for (uint64_t i = 0; blocks && i < p->block_count; i++) {
        const struct hs_profile_block *block = &p->blocks[i];
        if (!is_memory(hs_profile_string(p, p->heaps[block->heap]))) {
            work->other_heap_count++;
        } else if (block->address == 0) {
            work->changed_count++; /* freed while the snapshot was read */
        } else {
            blocks[count++] =
                (struct hs_contents_block){ .va = block->address, .size_bytes = block->size_bytes };
        }
    }
    if (count > 0) {
        qsort(blocks, count, sizeof(blocks[0]), compare_blocks);
    }
    /* Two blocks at one address: only a damaged region has them. */
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && blocks[kept - 1].va == blocks[i].va) {
            work->unreadable_count++;
        } else {
            blocks[kept++] = blocks[i];
        }
    }
    *ret_count = kept;
    return blocks;
}

/* --- looking again ---------------------------------------------------------------------------- */

/* Leaves out the blocks that do not live any more. The process must be the same program image. */
static int drop_changed(struct work *work, struct hs_contents_block *blocks, size_t count)
{
    struct work unused = { .count = 0 };
    size_t now_count = 0;
    struct hs_profile *now = work->contents->look(work->contents->ctx);
    const struct hs_profile *before = work->contents->profile;
    bool is_same = now && now->process_count > 0 &&
                   now->processes[0].start_ns == before->processes[0].start_ns &&
                   now->processes[0].pid == before->processes[0].pid;
    struct hs_contents_block *alive = is_same ? list_blocks(now, &unused, &now_count) : NULL;
    hs_profile_free(now);
    if (is_same && !alive) {
        return -ENOMEM;
    }
    work->has_ended |= !is_same;
    for (size_t i = 0, k = 0; i < count; i++) {
        while (k < now_count && alive[k].va < blocks[i].va) {
            k++;
        }
        bool is_alive = k < now_count && alive[k].va == blocks[i].va &&
                        alive[k].size_bytes == blocks[i].size_bytes;
        work->changed_count += !is_alive;
        work->unreadable_count += is_alive && !blocks[i].is_read;
        blocks[i].is_read = is_alive && blocks[i].is_read;
    }
    free(alive);
    return 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Adds a piece of a block to its file, with holes for what was never written; the piece begins at
 * `off_bytes` of the block. */
static int add_piece(struct work *work, const struct hs_contents_block *piece, uint64_t off_bytes,
                     const uint8_t *data)
{
    struct hs_contents_folder *folder = work->contents->folder;
    const struct hs_contents_range *ranges = work->batch.ranges + piece->range_first;
    uint64_t at = 0;
    int r = 0;
    for (size_t i = 0; i < piece->range_count && r == 0; i++) {
        r = hs_contents_folder_add(folder, data + at, ranges[i].off_bytes - at);
        r = r == 0 ? hs_contents_folder_skip(folder, ranges[i].bytes) : r;
        r = r == 0 ? hs_contents_folder_ranges_add(folder, piece->va - off_bytes,
                                                   off_bytes + ranges[i].off_bytes, ranges[i].bytes)
                   : r;
        at = ranges[i].off_bytes + ranges[i].bytes;
    }
    return r == 0 ? hs_contents_folder_add(folder, data + at, piece->size_bytes - at) : r;
}

static int write_block(struct work *work, const struct hs_contents_block *block,
                       const uint8_t *data)
{
    struct hs_contents_folder *folder = work->contents->folder;
    int r = hs_contents_folder_begin(folder);
    r = r == 0 ? add_piece(work, block, 0, data) : r;
    r = r == 0 ? hs_contents_folder_end(folder, block->va, block->size_bytes) : r;
    hs_contents_folder_drop(folder);
    return r;
}

/* Says now and then how many blocks are done. */
static void say_progress(struct work *work, size_t done_count)
{
    uint64_t now_ns = hs_clock_ns(CLOCK_MONOTONIC);
    if (now_ns >= work->next_word_ns) {
        work->next_word_ns = now_ns + WORD_NS;
        hs_message_info("contents of %s of %s blocks",
                        hs_human_exact((char[HS_HUMAN_BYTES]){ 0 }, done_count),
                        hs_human_exact((char[HS_HUMAN_BYTES]){ 0 }, work->count));
    }
}

static int do_batch(struct work *work, struct hs_contents_block *blocks, size_t count)
{
    const uint8_t *data = work->buffer;
    int r = hs_contents_batch_read(&work->batch, blocks, count, work->buffer);
    if (r == -ESRCH) {
        work->has_ended = true;
        work->changed_count += count;
        return 0;
    }
    r = r == 0 ? drop_changed(work, blocks, count) : r;
    for (size_t i = 0; i < count && r == 0; i++) {
        if (blocks[i].is_read) {
            r = write_block(work, &blocks[i], data);
            say_progress(work, (size_t)(&blocks[i] - work->blocks));
        }
        data += blocks[i].size_bytes;
    }
    return r;
}

/* Reads a block that is larger than a batch, and writes each piece at once. */
static int copy_pieces(struct work *work, struct hs_contents_block *block)
{
    int r = 0;
    block->is_read = true;
    for (uint64_t at = 0; at < block->size_bytes && block->is_read && r == 0; at += PIECE_BYTES) {
        uint64_t left = block->size_bytes - at;
        struct hs_contents_block piece = { .va = block->va + at,
                                           .size_bytes = left < PIECE_BYTES ? left : PIECE_BYTES };
        r = hs_contents_batch_read(&work->batch, &piece, 1, work->buffer);
        block->is_read = r == 0 && piece.is_read;
        if (block->is_read) {
            r = add_piece(work, &piece, at, work->buffer);
            say_progress(work, (size_t)(block - work->blocks));
        }
    }
    if (r == -ESRCH) {
        block->is_read = false;
        r = 0;
    }
    return r;
}

static int do_large(struct work *work, struct hs_contents_block *block)
{
    struct hs_contents_folder *folder = work->contents->folder;
    int r = hs_contents_folder_begin(folder);
    r = r == 0 ? copy_pieces(work, block) : r;
    r = r == 0 ? drop_changed(work, block, 1) : r;
    if (r == 0 && block->is_read) {
        r = hs_contents_folder_end(folder, block->va, block->size_bytes);
    }
    hs_contents_folder_drop(folder);
    return r;
}

static int do_blocks(struct work *work)
{
    int r = 0;
    for (size_t i = 0; i < work->count && r == 0 && !work->has_ended;) {
        size_t count = 0;
        uint64_t bytes = 0;
        while (i + count < work->count &&
               work->blocks[i + count].size_bytes <= work->buffer_bytes - bytes) {
            bytes += work->blocks[i + count++].size_bytes;
        }
        if (count == 0) {
            r = do_large(work, &work->blocks[i++]);
        } else {
            r = do_batch(work, &work->blocks[i], count);
            i += count;
        }
        work->changed_count += work->has_ended ? work->count - i : 0;
    }
    return r;
}

/* Writes all files; never-written.txt only if the kernel said of all blocks what it has to say. */
static int do_all(struct work *work)
{
    struct hs_contents_folder *folder = work->contents->folder;
    hs_contents_batch_init(&work->batch, work->contents->pid);
    int r = hs_contents_folder_ranges_begin(folder);
    r = r == 0 ? do_blocks(work) : r;
    work->is_never_written_known = work->batch.pagemap_fd >= 0;
    if (r == 0 && work->is_never_written_known && folder->file_count > 0) {
        r = hs_contents_folder_ranges_end(folder);
    }
    hs_contents_batch_deinit(&work->batch);
    return r;
}

/* --- messages --------------------------------------------------------------------------------- */

static int fail(const struct work *work, int r)
{
    const struct hs_contents_folder *folder = work->contents->folder;
    if (r == -EPERM) {
        hs_message("cannot read the memory of process %d: %s; it must be a process of your own, "
                   "and the machine must let you trace it (kernel.yama.ptrace_scope 0), or you "
                   "must be root",
                   (int)work->contents->pid, strerror(-r));
    } else {
        hs_message("cannot write the contents of blocks to %s: %s; %s of them were written",
                   folder->path, strerror(-r),
                   hs_human_exact((char[HS_HUMAN_BYTES]){ 0 }, folder->file_count));
    }
    return HS_EXIT_STATUS_FAILED;
}

static void say_done(const struct work *work)
{
    const struct hs_contents_folder *folder = work->contents->folder;
    const struct {
        uint64_t count;
        const char *words;
    } missing[] = {
        { work->changed_count, work->has_ended ? "whose process has ended, or that were freed"
                                               : "that changed (freed or replaced meanwhile)" },
        { work->unreadable_count, "that could not be read" },
        { work->other_heap_count, "of other heaps than libc.malloc and python.obj" },
    };
    hs_message_info("wrote the contents of %s blocks (%s) to %s",
                    hs_human_exact((char[HS_HUMAN_BYTES]){ 0 }, folder->file_count),
                    hs_human_bytes((char[HS_HUMAN_BYTES]){ 0 }, (double)folder->byte_count),
                    folder->path);
    if (!work->is_never_written_known) {
        hs_message("which bytes were never written is not known: the kernel does not show the "
                   "pages of the process (/proc/%d/pagemap)",
                   (int)work->contents->pid);
    }
    for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
        if (missing[i].count > 0) {
            hs_message("not written: %s blocks %s",
                       hs_human_exact((char[HS_HUMAN_BYTES]){ 0 }, missing[i].count),
                       missing[i].words);
        }
    }
}

static int check_process(const struct work *work)
{
    int r = hs_contents_check_process(work->contents->pid);
    if (r == -ENOENT) {
        hs_message("process %d is not there, or is not the one that is recorded (of another PID "
                   "namespace, perhaps): its memory is not read",
                   (int)work->contents->pid);
        return HS_EXIT_STATUS_FAILED;
    }
    return r == 0 ? 0 : fail(work, r == -EACCES ? -EPERM : r);
}

int hs_block_contents_write(const struct hs_block_contents *contents)
{
    struct work work = { .contents = contents };
    int status = check_process(&work);
    if (status != 0) {
        return status;
    }
    hs_progress_expect("heapscope: copying the contents of blocks ...\n");
    work.blocks = list_blocks(contents->profile, &work, &work.count);
    uint64_t total_bytes = 0;
    for (size_t i = 0; work.blocks && i < work.count; i++) {
        total_bytes += work.blocks[i].size_bytes;
    }
    work.next_word_ns = hs_clock_ns(CLOCK_MONOTONIC) + WORD_NS;
    work.buffer_bytes = total_bytes < BATCH_BYTES ? total_bytes : BATCH_BYTES;
    work.buffer_bytes = work.buffer_bytes < PIECE_BYTES ? PIECE_BYTES : work.buffer_bytes;
    void *buffer = mmap(NULL, work.buffer_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    work.buffer = buffer != MAP_FAILED ? buffer : NULL;
    int r = work.blocks && work.buffer ? do_all(&work) : -ENOMEM;
    hs_progress_over();
    if (r == 0) {
        say_done(&work);
    }
    if (work.buffer) {
        munmap(work.buffer, work.buffer_bytes);
    }
    free(work.blocks);
    return r == 0 ? 0 : fail(&work, r);
}
