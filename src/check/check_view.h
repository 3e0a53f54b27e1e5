/*
 * What is written of verdicts: text for the reader of a log, JSON for programs, JUnit's XML for what shows
 * tests.
 *
 * The text and the JSON go file by file to where they belong. JUnit's head counts what is in it, so the
 * suites are kept until the end.
 *
 * Holds     one document of each, well-formed whatever names are in the profiles.
 * Threads   one writer.
 * Fails     as the buffers do.
 * See       docs/man/heapscope-check.1 for what is in them
 */
#pragma once

#include "check/judge.h"
#include "util/buf.h"
#include "util/json.h"

/* --- text -------------------------------------------------------------------------------------- */

/* A line for each row; below what is not kept, its stacks. Nothing of a file that could not be read. */
void hs_check_write_text(const struct hs_check *check, struct hs_buf *buf);
/* The stacks alone, each line after `indent` blanks. */
void hs_check_write_stacks(const struct hs_check *check, const struct hs_check_row *row,
                           size_t indent, struct hs_buf *buf);
/* LeakSanitizer's table of what was used, and what was not. Nothing without suppressions. */
void hs_check_write_suppressions(const struct hs_suppressions *suppressions, struct hs_buf *buf);

/* --- JSON -------------------------------------------------------------------------------------- */

void hs_check_json_begin(struct hs_json *json, const struct hs_limits *limits);
void hs_check_json_file(struct hs_json *json, const struct hs_check *check);
void hs_check_json_end(struct hs_json *json, const struct hs_suppressions *suppressions,
                       int exit_status);

/* --- JUnit ------------------------------------------------------------------------------------- */

struct hs_check_junit {
    struct hs_buf suites;
    unsigned test_count, failure_count, error_count;
    double seconds;
};

/* Zero-initialised is empty. */
void hs_check_junit_file(struct hs_check_junit *junit, const struct hs_check *check);
/* The document. */
void hs_check_junit_write(const struct hs_check_junit *junit, struct hs_buf *buf);
void hs_check_junit_deinit(struct hs_check_junit *junit);
