/*
 * The settings of a recording that the page sends, as options of `heapscope start`.
 *
 *     { "pid": [4711], "interval": 4096, "dump-every": "10s", "blocks": true }
 *     ?pid=4711&interval=4096&dump-every=10s&blocks=true
 *
 * become --pid=4711 --interval=4096 --dump-every=10s --blocks. The names are those of the long
 * options, so that the page has every setting that the command has, with the command's own checks
 * and messages. Options that name files are not among them.
 *
 * Trust     the text is foreign input: its names are looked up in a table, its values have limits.
 * Threads   pure functions.
 * Fails     -EINVAL, with a message in `error`; -ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "util/buf.h"

#define HS_UI_SETTINGS_MAX       128U
#define HS_UI_SETTING_BYTES_MAX  1024U
#define HS_UI_SETTINGS_HEAD_MAX  4U /* arguments that a caller adds in front */
#define HS_UI_SETTINGS_ERROR_MAX 256

struct hs_http_request;

/* Zero-initialized is empty. */
struct hs_ui_settings {
    char *options[HS_UI_SETTINGS_MAX]; /* owned */
    size_t count;
    /* What a TraceConfig cannot say. Only `attach` can leave children out, and not `start`. */
    bool has_blocks, has_children, is_nameless, is_not_following;
    char error[HS_UI_SETTINGS_ERROR_MAX];
};

/* Reads a JSON object. */
int hs_ui_settings_read_json(struct hs_ui_settings *settings, const char *text, size_t bytes);
/* Reads the arguments of a request, but for its token. */
int hs_ui_settings_read_arguments(struct hs_ui_settings *settings,
                                  const struct hs_http_request *request);
/* Frees the options. */
void hs_ui_settings_deinit(struct hs_ui_settings *settings);

/* A command line of `start` for main(): copies of the command's name and the options that it has,
 * ended by NULL. The caller frees it with hs_ui_settings_free_line(); NULL: memory ran out. */
char **hs_ui_settings_line(const struct hs_ui_settings *settings, const char *command,
                           const char *extra_option, int *ret_count);
/* Frees it. Accepts NULL. */
void hs_ui_settings_free_line(char **line, int count);

/* The command line as a user would type it: of `start`, or of `attach`, which takes pids without an
 * option. */
void hs_ui_settings_write_command(const struct hs_ui_settings *settings, bool is_attach,
                                  struct hs_buf *out);
