/*
 * See trace_input.h.
 */
#include "trace/trace_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/tar.h"

#define WINDOW_BYTES_MIN (256U * 1024U)
#define EXPANSION_MAX    2000U

/* The most that is read of a stream, which may never end: half of the machine's memory. */
static size_t stream_bytes_max(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? (size_t)pages / 2 * (size_t)page_bytes : SIZE_MAX / 4;
}

static int read_all(int fd, uint8_t **ret_data, size_t *ret_bytes)
{
    const size_t max_bytes = stream_bytes_max();
    uint8_t *data = NULL;
    size_t bytes = 0, capacity = 0;
    for (;;) {
        if (bytes == capacity) {
            capacity = capacity ? capacity * 2 : 64U * 1024U;
            uint8_t *bigger = capacity <= max_bytes ? realloc(data, capacity) : NULL;
            if (!bigger) {
                free(data);
                return capacity <= max_bytes ? -ENOMEM : -EFBIG;
            }
            data = bigger;
        }
        ssize_t got = read(fd, data + bytes, capacity - bytes);
        if (got == 0) {
            break;
        }
        if (got < 0 && errno != EINTR) {
            int err = -errno;
            free(data);
            return err;
        }
        bytes += got > 0 ? (size_t)got : 0;
    }
    *ret_data = data;
    *ret_bytes = bytes;
    return 0;
}

/* Makes bytes of a mapped file writable; what is written stays in memory. */
static bool make_writable(void *at, size_t bytes)
{
    uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = (uintptr_t)at & -page_bytes;
    return mprotect((void *)begin, (uintptr_t)at + bytes - begin, PROT_READ | PROT_WRITE) == 0;
}

/* Makes one trace of a bundle. */
static void join_bundle(struct hs_trace_input *input)
{
    if (!hs_tar_is(input->file, input->file_bytes)) {
        return;
    }
    struct hs_tar_part part = hs_tar_join((void *)(uintptr_t)input->file, input->file_bytes,
                                          input->is_mapped ? make_writable : NULL);
    if (part.bytes > 0) {
        input->lead_bytes = part.off;
        input->tail_bytes = input->file_bytes - part.off - part.bytes;
        input->file += part.off;
        input->file_bytes = part.bytes;
    }
}

static int map_or_read(struct hs_trace_input *input, int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0) {
        return -errno;
    }
    if (S_ISDIR(st.st_mode)) {
        return -EISDIR;
    }
    if (S_ISREG(st.st_mode) && st.st_size > 0) {
        void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data != MAP_FAILED) {
            (void)madvise(data, (size_t)st.st_size, MADV_SEQUENTIAL);
            hs_trace_input_init(input, data, (size_t)st.st_size);
            input->is_mapped = true;
            join_bundle(input);
            return 0;
        }
    }
    uint8_t *data = NULL;
    size_t bytes = 0;
    int err = read_all(fd, &data, &bytes);
    if (err == 0) {
        hs_trace_input_init(input, data, bytes);
        input->is_owned = true;
        join_bundle(input);
    }
    return err;
}

int hs_trace_input_open(struct hs_trace_input *input, const char *path)
{
    *input = (struct hs_trace_input){ 0 };
    if (strcmp(path, "-") == 0) {
        return map_or_read(input, STDIN_FILENO);
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    int err = map_or_read(input, fd);
    close(fd);
    return err;
}

void hs_trace_input_init(struct hs_trace_input *input, const void *data, size_t bytes)
{
    uint64_t max_bytes = (uint64_t)bytes * EXPANSION_MAX;
    *input = (struct hs_trace_input){
        .file = data,
        .file_bytes = bytes,
        .is_whole = true, /* no run has started yet */
        .expanded_max_bytes = max_bytes > HS_TRACE_EXPANDED_MIN ? max_bytes : HS_TRACE_EXPANDED_MIN,
    };
}

void hs_trace_input_deinit(struct hs_trace_input *input)
{
    hs_trace_decoder_free(input->coding, input->decoder);
    free(input->window);
    void *memory = input->file ? (void *)(uintptr_t)(input->file - input->lead_bytes) : NULL;
    if (input->is_mapped) {
        munmap(memory, input->lead_bytes + input->file_bytes + input->tail_bytes);
    } else if (input->is_owned) {
        free(memory);
    }
    *input = (struct hs_trace_input){ 0 };
}

enum hs_trace_coding hs_trace_coding_of(const uint8_t *data, size_t bytes)
{
    if (bytes >= 4 && data[0] == 0x1f && data[1] == 0x8b && data[2] == 8) {
        return HS_TRACE_GZIP;
    }
    if (bytes >= 4 && data[0] == 0x28 && data[1] == 0xb5 && data[2] == 0x2f && data[3] == 0xfd) {
        return HS_TRACE_ZSTD;
    }
    return HS_TRACE_PLAIN;
}

bool hs_trace_input_next_run(struct hs_trace_input *input)
{
    size_t left = input->file_bytes - input->file_at;
    if (left == 0) {
        return false;
    }
    const uint8_t *at = input->file + input->file_at;
    hs_trace_decoder_free(input->coding, input->decoder);
    input->decoder = NULL;
    input->coding = hs_trace_coding_of(at, left);
    if (input->coding == HS_TRACE_PLAIN) {
        input->at = at;
        input->avail = left;
        input->is_whole = true;
        input->file_at = input->file_bytes;
    } else {
        input->at = input->window;
        input->avail = 0;
        input->is_whole = false;
    }
    return true;
}

void hs_trace_input_skip(struct hs_trace_input *input, size_t bytes)
{
    input->at += bytes;
    input->avail -= bytes;
}

void hs_trace_input_cut(struct hs_trace_input *input)
{
    input->file_at = (size_t)(input->at - input->file);
    input->avail = 0;
}

/* --- compressed runs --- */

/* Moves the rest of the window to its start, and makes the window at least `bytes` large. */
static int make_room(struct hs_trace_input *input, size_t bytes)
{
    if (bytes <= input->window_bytes) {
        if (input->avail > 0) {
            memmove(input->window, input->at, input->avail);
        }
        input->at = input->window;
        return 0;
    }
    size_t window_bytes = input->window_bytes ? input->window_bytes : WINDOW_BYTES_MIN;
    while (window_bytes < bytes) {
        window_bytes *= 2;
    }
    uint8_t *window = malloc(window_bytes);
    if (!window) {
        return -ENOMEM;
    }
    if (input->avail > 0) {
        memcpy(window, input->at, input->avail);
    }
    free(input->window);
    input->window = window;
    input->window_bytes = window_bytes;
    input->at = window;
    return 0;
}

/* Ends the run; the next one starts at `file_at`. */
static void end_run(struct hs_trace_input *input, size_t file_at)
{
    hs_trace_decoder_free(input->coding, input->decoder);
    input->decoder = NULL;
    input->is_whole = true;
    input->file_at = file_at;
}

/* Expands one more piece of the member. */
static int expand_more(struct hs_trace_input *input)
{
    const uint8_t *from = input->file + input->file_at;
    size_t from_bytes = input->file_bytes - input->file_at;
    if (!input->decoder) {
        enum hs_trace_coding coding = hs_trace_coding_of(from, from_bytes);
        if (coding == HS_TRACE_PLAIN) {
            end_run(input, input->file_at);
            return 0;
        }
        input->coding = coding;
        input->member_at = input->file_at;
        input->decoder = hs_trace_decoder_new(coding);
        if (!input->decoder) {
            return -ENOMEM;
        }
    }
    struct hs_trace_step step = {
        .in = from,
        .in_bytes = from_bytes,
        .out = input->window + input->avail,
        .out_bytes = input->window_bytes - input->avail,
    };
    enum hs_trace_step_result result = hs_trace_decoder_step(input->coding, input->decoder, &step);
    input->file_at += step.in_used;
    input->avail += step.out_used;
    input->expanded_bytes += step.out_used;
    if (result == HS_TRACE_STEP_BAD) {
        /* This may not have been a compressed member at all, or the next member may be intact. */
        input->has_bad_compression = true;
        end_run(input, input->member_at + 1);
    } else if (input->expanded_bytes > input->expanded_max_bytes) {
        input->is_too_big = true;
        end_run(input, input->file_bytes);
    } else if (result == HS_TRACE_STEP_END) {
        /* Another member may follow. */
        hs_trace_decoder_free(input->coding, input->decoder);
        input->decoder = NULL;
    } else if (step.in_used == 0 && step.out_used == 0) {
        input->is_truncated = true;
        end_run(input, input->file_bytes);
    }
    return 0;
}

int hs_trace_input_want(struct hs_trace_input *input, size_t bytes)
{
    if (input->is_whole || input->avail >= bytes) {
        return 0;
    }
    int err = make_room(input, bytes < WINDOW_BYTES_MIN ? WINDOW_BYTES_MIN : bytes);
    while (err == 0 && !input->is_whole && input->avail < bytes) {
        err = expand_more(input);
    }
    return err;
}

int hs_trace_expand(enum hs_trace_coding coding, const uint8_t *data, size_t bytes,
                    size_t max_bytes, uint8_t **ret_data, size_t *ret_bytes)
{
    void *decoder = hs_trace_decoder_new(coding);
    size_t capacity = bytes < 1024 ? 4096 : bytes * 4;
    capacity = capacity < max_bytes ? capacity : max_bytes;
    uint8_t *out = malloc(capacity);
    int err = decoder && out ? 0 : -ENOMEM;
    size_t used = 0;
    enum hs_trace_step_result result = HS_TRACE_STEP_MORE;
    while (err == 0 && result == HS_TRACE_STEP_MORE) {
        if (used == capacity) {
            size_t wanted = capacity < max_bytes / 2 ? capacity * 2 : max_bytes;
            uint8_t *bigger = wanted > capacity ? realloc(out, wanted) : NULL;
            if (!bigger) {
                err = wanted > capacity ? -ENOMEM : -EBADMSG;
                break;
            }
            out = bigger;
            capacity = wanted;
        }
        struct hs_trace_step step = {
            .in = data, .in_bytes = bytes, .out = out + used, .out_bytes = capacity - used
        };
        result = hs_trace_decoder_step(coding, decoder, &step);
        data += step.in_used;
        bytes -= step.in_used;
        used += step.out_used;
        if (result == HS_TRACE_STEP_BAD || (step.in_used == 0 && step.out_used == 0)) {
            err = result == HS_TRACE_STEP_END ? 0 : -EBADMSG;
        }
    }
    hs_trace_decoder_free(coding, decoder);
    if (err == -ENOMEM) {
        free(out);
        return err;
    }
    *ret_data = out;
    *ret_bytes = used;
    return err;
}
