/*
 * Fuzz target: any bytes as a config in text form.
 *
 * Writing the parsed config, parsing that text and writing it again must give the same text. An
 * error must have a position in the text.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config/textproto.h"
#include "trace/proto/config.pb-c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_known(void *ctx, const char *message, const char *field)
{
    (void)ctx;
    (void)message;
    return field[0] == 'x';
}

static ProtobufCMessage *read_text(const char *text, size_t bytes)
{
    const struct hs_textproto_reader reader = { .is_known = is_known };
    struct hs_textproto_error error = { 0 };
    ProtobufCMessage *message = NULL;
    int r = hs_textproto_read(&hs__pb__trace_config__descriptor, &reader, text, bytes, &message,
                              &error);
    if (r > 0 && (error.line == 0 || error.column == 0 || error.text[0] == 0)) {
        abort();
    }
    return r == 0 ? message : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_buf once = HS_BUF_INIT, twice = HS_BUF_INIT;
    ProtobufCMessage *message = read_text(size ? (const char *)data : "", size);
    if (message) {
        hs_textproto_write(message, &once);
        protobuf_c_message_free_unpacked(message, NULL);
        message = read_text(hs_buf_text(&once), once.bytes);
        if (!message) {
            abort();
        }
        hs_textproto_write(message, &twice);
        protobuf_c_message_free_unpacked(message, NULL);
        if (strcmp(hs_buf_text(&once), hs_buf_text(&twice)) != 0) {
            abort();
        }
    }
    hs_buf_deinit(&once);
    hs_buf_deinit(&twice);
    return 0;
}
