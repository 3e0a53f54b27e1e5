/*
 * Unpacks .gnu_debugdata with liblzma. See mini_debug.h.
 */
#include "symbol/mini_debug.h"

#include <errno.h>
#include <gelf.h>
#include <lzma.h>
#include <stdlib.h>

/* For comparison, the symbols of Chromium would take some 100 MB. */
#define UNPACKED_MAX_BYTES ((size_t)256 << 20)
#define DECODER_MAX_BYTES  (UINT64_C(128) << 20)

/* Unpacks into a growing buffer. The caller frees *ret_image. */
static int unpack(const void *packed, size_t packed_bytes, void **ret_image, size_t *ret_bytes)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&stream, DECODER_MAX_BYTES, 0) != LZMA_OK) {
        return -ENOMEM;
    }
    int err = 0;
    uint8_t *image = NULL;
    size_t capacity = 0;
    lzma_ret status = LZMA_OK;
    stream.next_in = packed;
    stream.avail_in = packed_bytes;
    while (status == LZMA_OK) {
        if (stream.total_out == capacity) {
            capacity = capacity ? capacity * 2 : packed_bytes * 4 + 65536;
            uint8_t *bigger = capacity <= UNPACKED_MAX_BYTES ? realloc(image, capacity) : NULL;
            if (!bigger) {
                err = capacity <= UNPACKED_MAX_BYTES ? -ENOMEM : -ENOEXEC;
                break;
            }
            image = bigger;
            stream.next_out = image + stream.total_out;
            stream.avail_out = capacity - stream.total_out;
        }
        status = lzma_code(&stream, LZMA_FINISH);
    }
    if (err == 0 && status != LZMA_STREAM_END) {
        err = status == LZMA_MEM_ERROR ? -ENOMEM : -ENOEXEC;
    }
    size_t bytes = stream.total_out;
    lzma_end(&stream);
    if (err != 0) {
        free(image);
        return err;
    }
    *ret_image = image;
    *ret_bytes = bytes;
    return 0;
}

int hs_mini_debug_open(const struct hs_elf_file *file, struct hs_elf_file *ret_mini)
{
    Elf_Scn *scn = hs_elf_file_section(file, ".gnu_debugdata");
    Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;
    if (!data || !data->d_buf || data->d_size == 0) {
        return -ENOENT;
    }
    if (data->d_size > UNPACKED_MAX_BYTES) {
        return -ENOEXEC;
    }
    void *image;
    size_t image_bytes;
    int err = unpack(data->d_buf, data->d_size, &image, &image_bytes);
    if (err != 0) {
        return err;
    }
    return hs_elf_file_open_image(image, image_bytes, file->path, ret_mini);
}
