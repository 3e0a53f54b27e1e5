/*
 * Writes verdicts as JUnit XML: a suite for each file, a test for each limit. A broken limit is a
 * failure; a limit that cannot be decided is an error. See check_view.h.
 */
#include <string.h>
#include <time.h>

#include "check/check_view.h"
#include "profile/analyse/heap_sums.h"
#include "util/xml.h"

#define TIMESTAMP_BYTES 32

static void write_attribute(struct hs_buf *buf, const char *name, const char *value)
{
    hs_buf_printf(buf, " %s=\"", name);
    hs_xml_write(buf, value, strlen(value));
    hs_buf_char(buf, '"');
}

static void write_property(struct hs_buf *buf, const char *name, const char *value)
{
    hs_buf_str(buf, "      <property");
    write_attribute(buf, "name", name);
    write_attribute(buf, "value", value);
    hs_buf_str(buf, "/>\n");
}

static void write_properties(struct hs_buf *buf, const struct hs_check *check)
{
    const struct hs_limits *limits = check->limits;
    hs_buf_str(buf, "    <properties>\n");
    write_property(buf, "generator", "heapscope " HS_VERSION);
    write_property(buf, "strict", limits->is_strict ? "true" : "false");
    if (limits->against) {
        write_property(buf, "against", limits->against);
    }
    struct hs_buf heaps = HS_BUF_INIT;
    if (check->is_readable && hs_heap_sums_describe(&check->selection, &heaps) > 1) {
        write_property(buf, "heaps", hs_buf_text(&heaps));
    }
    hs_buf_deinit(&heaps);
    for (size_t i = 0; i < limits->suppression_count; i++) {
        write_property(buf, "suppressions", limits->suppression_paths[i]);
    }
    hs_buf_str(buf, "    </properties>\n");
}

/* Writes everything beyond "passed", in full, as in the log. */
static void write_verdict(struct hs_buf *buf, const struct hs_check *check,
                          const struct hs_check_row *row, const char *tag)
{
    struct hs_buf text = HS_BUF_INIT;
    hs_buf_printf(&text, "%s: %s\n", check->path, row->text);
    hs_check_write_stacks(check, row, 2, &text);
    hs_buf_printf(buf, "      <%s", tag);
    if (strcmp(tag, "system-out") != 0) {
        write_attribute(buf, "message", row->text);
        write_attribute(buf, "type", row->name);
    }
    hs_buf_char(buf, '>');
    hs_xml_write_lines(buf, hs_buf_text(&text), text.bytes);
    hs_buf_printf(buf, "</%s>\n", tag);
    buf->err = buf->err ? buf->err : text.err;
    hs_buf_deinit(&text);
}

static void write_test(struct hs_buf *buf, const struct hs_check *check,
                       const struct hs_check_row *row)
{
    struct hs_buf name = HS_BUF_INIT;
    hs_buf_printf(&name, "%s%s%s", row->name, row->subject ? " " : "",
                  row->subject ? row->subject : "");
    hs_buf_str(buf, "    <testcase");
    write_attribute(buf, "classname", check->path);
    write_attribute(buf, "name", hs_buf_text(&name));
    hs_buf_printf(buf, " time=\"%.6f\">\n", row->seconds);
    write_verdict(buf, check, row,
                  row->is_kept                         ? "system-out"
                  : row->verdict == HS_VERDICT_UNKNOWN ? "error"
                                                       : "failure");
    hs_buf_str(buf, "    </testcase>\n");
    hs_buf_deinit(&name);
}

void hs_check_junit_file(struct hs_check_junit *junit, const struct hs_check *check)
{
    struct hs_buf *buf = &junit->suites;
    unsigned failure_count = 0, error_count = 0;
    double seconds = 0;
    char timestamp[TIMESTAMP_BYTES] = "";
    time_t now = time(NULL);
    struct tm utc;
    for (size_t i = 0; i < check->row_count; i++) {
        const struct hs_check_row *row = &check->rows[i];
        bool is_error = row->verdict == HS_VERDICT_UNKNOWN;
        failure_count += !row->is_kept && !is_error;
        error_count += !row->is_kept && is_error;
        seconds += row->seconds;
    }
    if (gmtime_r(&now, &utc)) {
        strftime(timestamp, sizeof(timestamp), "%Y-%m-%dT%H:%M:%S", &utc);
    }
    hs_buf_str(buf, "  <testsuite");
    write_attribute(buf, "name", check->path);
    hs_buf_printf(buf,
                  " tests=\"%zu\" failures=\"%u\" errors=\"%u\" skipped=\"0\" time=\"%.6f\""
                  " timestamp=\"%s\">\n",
                  check->row_count, failure_count, error_count, seconds, timestamp);
    write_properties(buf, check);
    for (size_t i = 0; i < check->row_count; i++) {
        write_test(buf, check, &check->rows[i]);
    }
    hs_buf_str(buf, "  </testsuite>\n");
    junit->test_count += (unsigned)check->row_count;
    junit->failure_count += failure_count;
    junit->error_count += error_count;
    junit->seconds += seconds;
}

void hs_check_junit_write(const struct hs_check_junit *junit, struct hs_buf *buf)
{
    hs_buf_str(buf, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    hs_buf_printf(buf,
                  "<testsuites name=\"heapscope check\" tests=\"%u\" failures=\"%u\" "
                  "errors=\"%u\" skipped=\"0\" time=\"%.6f\">\n",
                  junit->test_count, junit->failure_count, junit->error_count, junit->seconds);
    hs_buf_add(buf, junit->suites.data, junit->suites.bytes);
    hs_buf_str(buf, "</testsuites>\n");
    buf->err = buf->err ? buf->err : junit->suites.err;
}

void hs_check_junit_deinit(struct hs_check_junit *junit)
{
    hs_buf_deinit(&junit->suites);
    *junit = (struct hs_check_junit){ 0 };
}
