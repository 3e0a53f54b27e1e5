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

#include "trace/trace_scan.h"

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

/* --- the order of writing --------------------------------------------------------------------- */

/* Unpacking a state keeps the order within each list, but not between a list and the drops from it.
 * A cursor finds that order in the packed state, which has been unpacked without an error. */
struct cursor {
    const uint8_t *packed;
    size_t off, bytes;
};

enum field {
    FIELD_JOBS = 1,
    FIELD_TARGETS = 2,
    FIELD_PROGRESS = 3,
    FIELD_DROPPED_JOBS = 4,
    FIELD_DROPPED_TARGETS = 5,
};

/* Finds the next value of this field. Returns its place; SIZE_MAX: there is none any more. */
static size_t next_place(struct cursor *cursor, enum field field)
{
    while (cursor->off < cursor->bytes) {
        struct hs_trace_field found;
        size_t place = cursor->off;
        size_t taken = hs_trace_scan_field(cursor->packed + place, cursor->bytes - place, &found);
        if (taken == 0) {
            break;
        }
        cursor->off += taken;
        if (found.number == field) {
            return place;
        }
    }
    cursor->off = cursor->bytes;
    return SIZE_MAX;
}

/* --- what holds ------------------------------------------------------------------------------- */

/* A message of a state or, with NULL, that its number was dropped; and its place in the order of
 * writing. */
struct numbered {
    uint64_t number;
    size_t place;
    ProtobufCMessage *message;
};

static int by_number(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    if (x->number != y->number) {
        return x->number > y->number ? 1 : -1;
    }
    return x->place > y->place ? 1 : -1;
}

/* Adds the dropped numbers to the `count` messages. Then leaves the last message of each number,
 * sorted, unless the number was dropped later; frees the others. Returns how many are left. */
static size_t keep_last(struct numbered *list, size_t count, struct cursor state,
                        enum field dropped_field, const uint64_t *dropped, size_t dropped_count)
{
    size_t kept = 0;
    for (size_t i = 0; i < dropped_count; i++) {
        list[count++] = (struct numbered){ dropped[i], next_place(&state, dropped_field), NULL };
    }
    qsort(list, count, sizeof(list[0]), by_number);
    for (size_t i = 0; i < count; i++) {
        bool is_last = i + 1 == count || list[i + 1].number != list[i].number;
        if (is_last && list[i].message) {
            list[kept++] = list[i];
        } else if (list[i].message) {
            protobuf_c_message_free_unpacked(list[i].message, NULL);
        }
    }
    return kept;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void reduce_jobs(Hs__Ctl__KeptState *kept, const struct cursor *state, struct numbered *room)
{
    struct cursor at = *state;
    for (size_t i = 0; i < kept->n_jobs; i++) {
        Hs__Ctl__KeptJob *job = kept->jobs[i];
        room[i] = (struct numbered){ job->number, next_place(&at, FIELD_JOBS), &job->base };
        kept->last_job = larger(kept->last_job, job->number);
    }
    kept->n_jobs = keep_last(room, kept->n_jobs, *state, FIELD_DROPPED_JOBS, kept->dropped_jobs,
                             kept->n_dropped_jobs);
    for (size_t i = 0; i < kept->n_jobs; i++) {
        kept->jobs[i] = (Hs__Ctl__KeptJob *)(void *)room[i].message;
    }
}

static void reduce_targets(Hs__Ctl__KeptState *kept, const struct cursor *state,
                           struct numbered *room)
{
    struct cursor at = *state;
    for (size_t i = 0; i < kept->n_targets; i++) {
        Hs__Ctl__KeptTarget *target = kept->targets[i];
        room[i] =
            (struct numbered){ target->number, next_place(&at, FIELD_TARGETS), &target->base };
        kept->last_target = larger(kept->last_target, target->number);
    }
    kept->n_targets = keep_last(room, kept->n_targets, *state, FIELD_DROPPED_TARGETS,
                                kept->dropped_targets, kept->n_dropped_targets);
    for (size_t i = 0; i < kept->n_targets; i++) {
        kept->targets[i] = (Hs__Ctl__KeptTarget *)(void *)room[i].message;
    }
}

/* Gives each job its last progress. Jobs and progress are sorted by number. */
static void reduce_progress(Hs__Ctl__KeptState *kept, const struct cursor *state,
                            struct numbered *room)
{
    struct cursor at = *state;
    size_t job = 0;
    for (size_t i = 0; i < kept->n_progress; i++) {
        Hs__Ctl__KeptProgress *one = kept->progress[i];
        room[i] = (struct numbered){ one->job, next_place(&at, FIELD_PROGRESS), &one->base };
    }
    size_t count = keep_last(room, kept->n_progress, *state, FIELD_DROPPED_JOBS, kept->dropped_jobs,
                             kept->n_dropped_jobs);
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

static int reduce(Hs__Ctl__KeptState *kept, const struct cursor *state)
{
    size_t most = larger(larger(kept->n_jobs, kept->n_targets), kept->n_progress) +
                  larger(kept->n_dropped_jobs, kept->n_dropped_targets);
    struct numbered *room = malloc((most + 1) * sizeof(*room));
    if (!room) {
        return -ENOMEM;
    }
    reduce_jobs(kept, state, room);
    reduce_targets(kept, state, room);
    reduce_progress(kept, state, room);
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
    const struct cursor whole = { .packed = packed, .bytes = state->bytes };
    int r = kept ? reduce(kept, &whole) : -EBADMSG;
    free(packed);
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
