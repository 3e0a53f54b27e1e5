/*
 * Writes, reads and compacts the state that a daemon keeps for the next one: see kept_state.h.
 */
#include "daemon/handover/kept_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HS_STATE_BYTES_MAX   (UINT64_C(1) << 28)
#define HS_STATE_STALE_BYTES (UINT64_C(1) << 16) /* a shorter state is not worth compacting */
#define HS_STATE_STALE_TIMES 4

/* --- the file --------------------------------------------------------------------------------- */

static int write_at(int fd, const void *data, size_t bytes, uint64_t off)
{
    ssize_t put = pwrite(fd, data, bytes, (off_t)off);
    return put == (ssize_t)bytes ? 0 : put < 0 ? -errno : -ENOSPC;
}

static int write_head(int fd, uint64_t bytes)
{
    const struct hs_kept_state_head head = { .version = HS_KEPT_STATE_VERSION, .bytes = bytes };
    return write_at(fd, &head, sizeof(head), 0);
}

int hs_kept_state_new(struct hs_kept_state *ret_state)
{
    int fd = memfd_create("heapscope-state", MFD_CLOEXEC);
    int r = fd < 0 ? -errno : write_head(fd, 0);
    if (r < 0) {
        if (fd >= 0) {
            close(fd);
        }
        return r;
    }
    *ret_state = (struct hs_kept_state){ .fd = fd };
    return 0;
}

int hs_kept_state_open(int fd, struct hs_kept_state *ret_state)
{
    struct hs_kept_state_head head;
    struct stat st;
    if (fstat(fd, &st) != 0 || pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head)) {
        return -EBADMSG;
    }
    if (head.version != HS_KEPT_STATE_VERSION) {
        return -EPROTONOSUPPORT;
    }
    if (head.bytes > HS_STATE_BYTES_MAX || head.bytes > (uint64_t)st.st_size - sizeof(head)) {
        return -EBADMSG;
    }
    *ret_state = (struct hs_kept_state){ .fd = fd, .bytes = head.bytes };
    return 0;
}

void hs_kept_state_close(struct hs_kept_state *state)
{
    if (state->fd >= 0) {
        close(state->fd);
    }
    *state = HS_KEPT_STATE_NONE;
}

int hs_kept_state_append(struct hs_kept_state *state, const Hs__Ctl__KeptState *change)
{
    size_t bytes = hs__ctl__kept_state__get_packed_size(change);
    if (state->bytes + bytes > HS_STATE_BYTES_MAX) {
        return -EFBIG;
    }
    uint8_t *packed = malloc(bytes + 1);
    if (!packed) {
        return -ENOMEM;
    }
    hs__ctl__kept_state__pack(change, packed);
    int r = write_at(state->fd, packed, bytes, sizeof(struct hs_kept_state_head) + state->bytes);
    free(packed);
    r = r < 0 ? r : write_head(state->fd, state->bytes + bytes);
    if (r == 0) {
        state->bytes += bytes;
    }
    return r;
}

/* --- what holds ------------------------------------------------------------------------------- */

/* A message of a state, with its number and its place in the order of writing. */
struct numbered {
    uint64_t number;
    size_t idx;
    ProtobufCMessage *message;
};

static int by_number(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    if (x->number != y->number) {
        return x->number > y->number ? 1 : -1;
    }
    return x->idx > y->idx ? 1 : -1;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x == y ? 0 : x > y ? 1 : -1;
}

static bool is_in(uint64_t number, const uint64_t *sorted, size_t count)
{
    return count > 0 && bsearch(&number, sorted, count, sizeof(number), by_value) != NULL;
}

/* Leaves the last message of each number in `messages`, sorted, without the numbers in `dropped`;
 * frees the others. Returns how many are left. */
static size_t keep_last(struct numbered *messages, size_t count, const uint64_t *dropped,
                        size_t dropped_count)
{
    size_t kept = 0;
    qsort(messages, count, sizeof(messages[0]), by_number);
    for (size_t i = 0; i < count; i++) {
        bool is_last = i + 1 == count || messages[i + 1].number != messages[i].number;
        if (is_last && !is_in(messages[i].number, dropped, dropped_count)) {
            messages[kept++] = messages[i];
        } else {
            protobuf_c_message_free_unpacked(messages[i].message, NULL);
        }
    }
    return kept;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void reduce_jobs(Hs__Ctl__KeptState *kept, struct numbered *room)
{
    for (size_t i = 0; i < kept->n_jobs; i++) {
        room[i] = (struct numbered){ kept->jobs[i]->number, i, &kept->jobs[i]->base };
        kept->last_job = larger(kept->last_job, kept->jobs[i]->number);
    }
    kept->n_jobs = keep_last(room, kept->n_jobs, kept->dropped_jobs, kept->n_dropped_jobs);
    for (size_t i = 0; i < kept->n_jobs; i++) {
        kept->jobs[i] = (Hs__Ctl__KeptJob *)(void *)room[i].message;
    }
}

static void reduce_targets(Hs__Ctl__KeptState *kept, struct numbered *room)
{
    for (size_t i = 0; i < kept->n_targets; i++) {
        room[i] = (struct numbered){ kept->targets[i]->number, i, &kept->targets[i]->base };
        kept->last_target = larger(kept->last_target, kept->targets[i]->number);
    }
    kept->n_targets =
        keep_last(room, kept->n_targets, kept->dropped_targets, kept->n_dropped_targets);
    for (size_t i = 0; i < kept->n_targets; i++) {
        kept->targets[i] = (Hs__Ctl__KeptTarget *)(void *)room[i].message;
    }
}

/* Gives each job its last progress. Jobs and progress are sorted by number. */
static void reduce_progress(Hs__Ctl__KeptState *kept, struct numbered *room)
{
    size_t job = 0;
    for (size_t i = 0; i < kept->n_progress; i++) {
        room[i] = (struct numbered){ kept->progress[i]->job, i, &kept->progress[i]->base };
    }
    size_t count = keep_last(room, kept->n_progress, kept->dropped_jobs, kept->n_dropped_jobs);
    kept->n_progress = 0;
    for (size_t i = 0; i < count; i++) {
        while (job < kept->n_jobs && kept->jobs[job]->number < room[i].number) {
            job++;
        }
        Hs__Ctl__KeptProgress *last = (Hs__Ctl__KeptProgress *)(void *)room[i].message;
        if (job < kept->n_jobs && kept->jobs[job]->number == room[i].number) {
            Hs__Ctl__KeptProgress *before = kept->jobs[job]->progress;
            kept->jobs[job]->progress = last;
            last = before;
        }
        hs__ctl__kept_progress__free_unpacked(last, NULL);
    }
}

static int reduce(Hs__Ctl__KeptState *kept)
{
    size_t most = larger(larger(kept->n_jobs, kept->n_targets), kept->n_progress);
    struct numbered *room = malloc((most + 1) * sizeof(*room));
    if (!room) {
        return -ENOMEM;
    }
    if (kept->n_dropped_jobs > 0) {
        qsort(kept->dropped_jobs, kept->n_dropped_jobs, sizeof(uint64_t), by_value);
    }
    if (kept->n_dropped_targets > 0) {
        qsort(kept->dropped_targets, kept->n_dropped_targets, sizeof(uint64_t), by_value);
    }
    reduce_jobs(kept, room);
    reduce_targets(kept, room);
    reduce_progress(kept, room);
    kept->n_dropped_jobs = kept->n_dropped_targets = 0;
    kept->has_last_job = kept->has_last_target = true;
    free(room);
    return 0;
}

int hs_kept_state_read(const struct hs_kept_state *state, Hs__Ctl__KeptState **ret_kept)
{
    uint8_t *packed = malloc(state->bytes + 1);
    if (!packed) {
        return -ENOMEM;
    }
    ssize_t got = pread(state->fd, packed, state->bytes, sizeof(struct hs_kept_state_head));
    Hs__Ctl__KeptState *kept = got == (ssize_t)state->bytes
                                   ? hs__ctl__kept_state__unpack(NULL, state->bytes, packed)
                                   : NULL;
    free(packed);
    int r = kept ? reduce(kept) : -EBADMSG;
    if (r < 0) {
        hs__ctl__kept_state__free_unpacked(kept, NULL);
        return r;
    }
    *ret_kept = kept;
    return 0;
}

/* --- compacting ------------------------------------------------------------------------------- */

bool hs_kept_state_is_stale(const struct hs_kept_state *state)
{
    return state->bytes >= HS_STATE_STALE_BYTES &&
           state->bytes / HS_STATE_STALE_TIMES >= state->compact_bytes;
}

int hs_kept_state_compact(const struct hs_kept_state *state, struct hs_kept_state *ret_compact)
{
    Hs__Ctl__KeptState *kept;
    struct hs_kept_state compact = HS_KEPT_STATE_NONE;
    int r = hs_kept_state_read(state, &kept);
    if (r < 0) {
        return r;
    }
    r = hs_kept_state_new(&compact);
    r = r < 0 ? r : hs_kept_state_append(&compact, kept);
    hs__ctl__kept_state__free_unpacked(kept, NULL);
    if (r < 0) {
        hs_kept_state_close(&compact);
        return r;
    }
    compact.compact_bytes = compact.bytes;
    *ret_compact = compact;
    return 0;
}
