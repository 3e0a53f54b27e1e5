/*
 * Fuzz target: any bytes as a TraceConfig, binary or text, as `record -c` reads it.
 *
 * A refused config must have a message. An accepted config must be within its limits, and its text
 * form must parse to the same config.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config/textproto.h"
#include "config/trace_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_note(void *ctx, const char *text)
{
    (void)ctx;
    if (text[0] == '\0' || strchr(text, '\n')) {
        abort(); /* a note must be one line */
    }
}

static const struct hs_trace_config_notes notes = { .say = check_note };

static Hs__Pb__TraceConfig *read_config(const void *data, size_t bytes)
{
    Hs__Pb__TraceConfig *config = NULL;
    struct hs_trace_config_error error = { 0 };
    int r = hs_trace_config_read("input", data, bytes, &notes, &config, &error);
    if (r == HS_TRACE_CONFIG_E_WRONG && error.text[0] == '\0') {
        abort();
    }
    return r == 0 ? config : NULL;
}

static int take(const Hs__Pb__TraceConfig *config, struct hs_trace_wishes *wishes)
{
    struct hs_trace_config_error error = { 0 };
    struct hs_sources_settings settings;
    int r = hs_trace_config_take(config, &notes, wishes, &error);
    if ((r == HS_TRACE_CONFIG_E_WRONG && error.text[0] == '\0') ||
        (r == 0 && wishes->interval_bytes == 0)) {
        abort();
    }
    hs_trace_config_sources(config, &settings);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Hs__Pb__TraceConfig *config = read_config(size ? (const void *)data : "", size);
    if (!config) {
        return 0;
    }
    struct hs_trace_wishes wishes = { 0 }, again_wishes = { 0 };
    int r = take(config, &wishes);
    struct hs_buf text = HS_BUF_INIT;
    hs_textproto_write(&config->base, &text);
    Hs__Pb__TraceConfig *again = read_config(hs_buf_text(&text), text.bytes);
    /*
     * The text form escapes bytes that are not text, so it must parse as text whatever the config
     * contained.
     */
    if (!again || take(again, &again_wishes) != r ||
        (r == 0 && (wishes.interval_bytes != again_wishes.interval_bytes ||
                    wishes.name_count != again_wishes.name_count ||
                    wishes.pid_count != again_wishes.pid_count ||
                    wishes.duration_ns != again_wishes.duration_ns))) {
        abort();
    }
    hs__pb__trace_config__free_unpacked(again, NULL);
    hs__pb__trace_config__free_unpacked(config, NULL);
    hs_buf_deinit(&text);
    return 0;
}
