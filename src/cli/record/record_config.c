/*
 * The TraceConfig of `record`: see record_config.h.
 */
#include "cli/record/record_config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/message.h"
#include "config/textproto.h"
#include "config/trace_config.h"
#include "rt/text.h"
#include "util/parse.h"

static void say(void *ctx, const char *text)
{
    (void)ctx;
    hs_message_info("%s", text);
}

const struct hs_trace_config_notes hs_record_notes = { .say = say };

/* --- flags as text ---------------------------------------------------------------------------- */

/* Returns the word that begins at *at and ends at a comma or the end of the text, without the
 * blanks around it; *at moves behind the comma, or becomes NULL. */
static const char *next_word(const char **at, size_t *ret_bytes)
{
    const char *word = *at;
    size_t bytes = strcspn(word, ",");
    *at = word[bytes] ? word + bytes + 1 : NULL;
    while (bytes > 0 && isspace((unsigned char)word[0])) {
        word++;
        bytes--;
    }
    while (bytes > 0 && isspace((unsigned char)word[bytes - 1])) {
        bytes--;
    }
    *ret_bytes = bytes;
    return word;
}

/* Adds a line "field: word" for each word that is not empty. */
static void put_words(struct hs_buf *buf, const char *field, const char *words)
{
    while (words) {
        size_t bytes;
        const char *word = next_word(&words, &bytes);
        if (bytes > 0) {
            hs_buf_printf(buf, "      %s: ", field);
            hs_textproto_quote(buf, word, bytes);
            hs_buf_char(buf, '\n');
        }
    }
}

static int put_pids(struct hs_buf *buf, const char *pids)
{
    while (pids) {
        char word[32];
        uint64_t pid = 0;
        size_t bytes;
        const char *at = next_word(&pids, &bytes);
        snprintf(word, sizeof(word), "%.*s", (int)(bytes < 31 ? bytes : 31), at);
        if (hs_parse_number(word, &pid) < 0 || pid == 0 || pid > INT_MAX) {
            hs_message("--pid: '%s' is not a process id", word);
            return HS_EXIT_STATUS_FAILED;
        }
        hs_buf_printf(buf, "      pid: %llu\n", (unsigned long long)pid);
    }
    return HS_ARGS_GO_ON;
}

/* The interval of the next heap: from -i if that is a list, from NAME=BYTES, or the one interval.
 * 0: it is none; *list becomes NULL behind the last one. */
static uint64_t next_interval(const struct hs_record_flags *f, const char **list, const char *own,
                              size_t own_bytes)
{
    char word[32];
    uint64_t interval_bytes = 0;
    size_t bytes = own_bytes;
    const char *text = f->interval_list ? next_word(list, &bytes) : own;
    if (!text) {
        return f->interval_bytes;
    }
    snprintf(word, sizeof(word), "%.*s", (int)(bytes < 31 ? bytes : 31), text);
    return hs_parse_size(word, &interval_bytes) == 0 && interval_bytes <= HS_INTERVAL_BYTES_MAX
               ? interval_bytes
               : 0;
}

static int fail_list(void)
{
    hs_message("--interval is a list: it must have one interval for each name of --heaps, and no "
               "name its own");
    return HS_EXIT_STATUS_FAILED;
}

/* Writes the heaps and, if any has an interval of its own, all intervals. */
static int put_heaps(struct hs_buf *buf, const struct hs_record_flags *f)
{
    const char *list = f->interval_list, *heaps = f->heaps;
    bool has_intervals = list != NULL || (heaps && strchr(heaps, '='));
    while (heaps) {
        size_t bytes;
        const char *word = next_word(&heaps, &bytes);
        const char *equals = bytes > 0 ? memchr(word, '=', bytes) : NULL;
        size_t name_bytes = equals ? (size_t)(equals - word) : bytes;
        if (bytes == 0) {
            continue;
        }
        if (f->interval_list && (!list || equals)) {
            return fail_list();
        }
        uint64_t interval_bytes = next_interval(f, &list, equals ? equals + 1 : NULL,
                                                equals ? bytes - name_bytes - 1 : 0);
        if (interval_bytes == 0) {
            hs_message("--heaps: '%.*s' has no interval of 1 to 1T bytes", (int)bytes, word);
            return HS_EXIT_STATUS_FAILED;
        }
        hs_buf_str(buf, "      heaps: ");
        hs_textproto_quote(buf, word, name_bytes);
        hs_buf_char(buf, '\n');
        if (has_intervals) {
            hs_buf_printf(buf, "      heap_sampling_intervals: %llu\n",
                          (unsigned long long)interval_bytes);
        }
    }
    put_words(buf, "exclude_heaps", f->excluded_heaps);
    return list ? fail_list() : HS_ARGS_GO_ON;
}

static int put_heap_config(struct hs_buf *buf, const struct hs_record_flags *f, const char *program)
{
    hs_buf_printf(buf, "      shmem_size_bytes: %llu\n      sampling_interval_bytes: %llu\n",
                  (unsigned long long)f->shmem_bytes, (unsigned long long)f->interval_bytes);
    if (!f->has_no_block) {
        hs_buf_str(buf, "      block_client: true\n");
    }
    if (f->block_timeout_us != HS_RECORD_NOT_GIVEN) {
        hs_buf_printf(buf, "      block_client_timeout_us: %llu\n",
                      (unsigned long long)f->block_timeout_us);
    }
    const struct {
        bool is_set;
        const char *field;
    } bools[] = { { f->has_no_startup, "no_startup" },
                  { f->has_no_running, "no_running" },
                  { f->has_dump_at_max, "dump_at_max" },
                  { f->has_disable_fork_teardown, "disable_fork_teardown" },
                  { f->has_all_heaps, "all_heaps" } };
    for (size_t i = 0; i < sizeof(bools) / sizeof(bools[0]); i++) {
        if (bools[i].is_set) {
            hs_buf_printf(buf, "      %s: true\n", bools[i].field);
        }
    }
    int status = put_pids(buf, f->pids);
    if (program && !f->names) {
        hs_buf_str(buf, "      process_cmdline: ");
        hs_textproto_quote(buf, hs_text_base_name(program), strlen(hs_text_base_name(program)));
        hs_buf_char(buf, '\n');
    }
    put_words(buf, "process_cmdline", f->names);
    status = status == HS_ARGS_GO_ON ? put_heaps(buf, f) : status;
    if (f->continuous_ms != HS_RECORD_NOT_GIVEN && f->continuous_ms > 0) {
        hs_buf_printf(buf,
                      "      continuous_dump_config {\n        dump_phase_ms: 0\n"
                      "        dump_interval_ms: %llu\n      }\n",
                      (unsigned long long)f->continuous_ms);
    }
    return status;
}

static int put_config(struct hs_buf *buf, const struct hs_record_flags *f, const char *program)
{
    hs_buf_str(buf, "buffers {\n  size_kb: 63488\n}\n\ndata_sources {\n  config {\n"
                    "    name: \"android.heapprofd\"\n    heapprofd_config {\n");
    int status = put_heap_config(buf, f, program);
    uint64_t duration_ms = f->duration_ms == HS_RECORD_NOT_GIVEN ? 0 : f->duration_ms;
    hs_buf_printf(buf,
                  "    }\n  }\n}\n\nduration_ms: %llu\nwrite_into_file: true\n"
                  "flush_timeout_ms: 30000\nflush_period_ms: 604800000\n",
                  (unsigned long long)duration_ms);
    return status;
}

/* --- configs from files ----------------------------------------------------------------------- */

static int read_file(const char *path, struct hs_buf *buf)
{
    char block[65536];
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    int r = fd < 0 ? -errno : 0;
    while (r == 0) {
        ssize_t got = read(fd, block, sizeof(block));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            r = got < 0 ? -errno : 0;
            break;
        }
        hs_buf_add(buf, block, (size_t)got);
        r = buf->bytes > HS_TRACE_CONFIG_BYTES_MAX ? -EFBIG : buf->err;
    }
    if (fd >= 0 && !is_stdin) {
        close(fd);
    }
    return r;
}

/* --duration and --interval replace the values of a config. */
static void replace(const struct hs_record_flags *f, Hs__Pb__TraceConfig *config)
{
    if (f->duration_ms != HS_RECORD_NOT_GIVEN) {
        config->has_duration_ms = true;
        config->duration_ms = (uint32_t)f->duration_ms;
    }
    for (size_t i = 0; i < config->n_data_sources && f->interval_bytes != HS_RECORD_NOT_GIVEN;
         i++) {
        const Hs__Pb__DataSourceConfig *source = config->data_sources[i]->config;
        Hs__Pb__HeapprofdConfig *heap = source ? source->heapprofd_config : NULL;
        if (heap) {
            heap->has_sampling_interval_bytes = true;
            heap->sampling_interval_bytes = f->interval_bytes;
            heap->n_heap_sampling_intervals = 0;
        }
    }
}

static int read_config(const struct hs_record_flags *f, const char *name, struct hs_buf *text,
                       Hs__Pb__TraceConfig **ret_config)
{
    struct hs_trace_config_error error;
    int r = hs_trace_config_read(name, hs_buf_text(text), text->bytes, &hs_record_notes, ret_config,
                                 &error);
    if (r != 0) {
        hs_message("%s%s%s", r > 0 ? error.text : name, r > 0 ? "" : ": ",
                   r > 0 ? "" : strerror(-r));
        return HS_EXIT_STATUS_FAILED;
    }
    if (f->config) {
        replace(f, *ret_config);
    }
    return HS_ARGS_GO_ON;
}

static int print(struct hs_buf *text)
{
    return fwrite(hs_buf_text(text), 1, text->bytes, stdout) == text->bytes
               ? hs_args_finish_output()
               : HS_EXIT_STATUS_FAILED;
}

int hs_record_config_make(const struct hs_record_flags *f, const char *program,
                          Hs__Pb__TraceConfig **ret_config)
{
    struct hs_buf text = HS_BUF_INIT;
    const char *name = !f->config                    ? "the flags"
                       : strcmp(f->config, "-") == 0 ? "standard input"
                                                     : f->config;
    int status = HS_ARGS_GO_ON;
    int r = f->config ? read_file(f->config, &text) : 0;
    if (r < 0) {
        hs_message("%s: %s", name, strerror(-r));
        status = HS_EXIT_STATUS_FAILED;
    } else if (!f->config) {
        status = put_config(&text, f, program);
    }
    if (status == HS_ARGS_GO_ON) {
        status = read_config(f, name, &text, ret_config);
    }
    if (status == HS_ARGS_GO_ON && f->is_printing) {
        if (f->config) {
            hs_buf_clear(&text);
            hs_textproto_write(&(*ret_config)->base, &text);
        }
        status = print(&text);
    }
    hs_buf_deinit(&text);
    return status;
}
