/*
 * See writer_compress.h.
 */
#include "trace/writer_compress.h"

#include <libdeflate.h>
#include <stdlib.h>

#include "trace/writer_state.h"
#include "util/array.h"

#define LEVEL 1
/* Far more than the 32 KiB that zlib looks back. A reader needs memory for all of it at once. */
#define ENOUGH_BYTES     (256U * 1024)
#define COMPRESSED_FIELD 50U

struct hs_writer_compress {
    struct hs_buf in;
    struct libdeflate_compressor *compressor;
    uint8_t *pressed;
    size_t pressed_capacity;
};

struct hs_writer_compress *hs_writer_compress_new(void)
{
    struct hs_writer_compress *press = calloc(1, sizeof(*press));
    if (press) {
        press->compressor = libdeflate_alloc_compressor(LEVEL);
    }
    return press && press->compressor ? press : hs_writer_compress_free(press);
}

struct hs_writer_compress *hs_writer_compress_free(struct hs_writer_compress *press)
{
    if (press) {
        if (press->compressor) {
            libdeflate_free_compressor(press->compressor);
        }
        hs_buf_deinit(&press->in);
        free(press->pressed);
        free(press);
    }
    return NULL;
}

struct hs_buf *hs_writer_compress_in(struct hs_writer_compress *press)
{
    return &press->in;
}

/* Writes TracePacket.compressed_packets in Trace.packet by hand, because only two lengths have to
 * be encoded. */
static void put_packet(struct hs_buf *out, const uint8_t *data, size_t bytes)
{
    uint8_t field[16], packet[HS_PACKET_HEAD_BYTES];
    size_t field_bytes = hs_put_varint(field, COMPRESSED_FIELD << 3 | 2U);
    field_bytes += hs_put_varint(field + field_bytes, bytes);
    size_t packet_bytes = hs_put_packet_head(packet, field_bytes + bytes);
    hs_buf_add(out, packet, packet_bytes);
    hs_buf_add(out, field, field_bytes);
    hs_buf_add(out, data, bytes);
}

int hs_writer_compress(struct hs_writer_compress *press, bool is_last, struct hs_buf *out)
{
    struct hs_buf *in = &press->in;
    if (in->err != 0 || in->bytes == 0 || (!is_last && in->bytes < ENOUGH_BYTES)) {
        return in->err;
    }
    int r = hs_array_reserve(&press->pressed, &press->pressed_capacity,
                             libdeflate_zlib_compress_bound(press->compressor, in->bytes), 1);
    if (r < 0) {
        return r;
    }
    size_t bytes = libdeflate_zlib_compress(press->compressor, in->data, in->bytes, press->pressed,
                                            press->pressed_capacity);
    put_packet(out, press->pressed, bytes);
    hs_buf_clear(in);
    return out->err;
}
