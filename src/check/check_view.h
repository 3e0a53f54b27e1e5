/*
 * Writes verdicts: text for readers of a log, JSON for programs, JUnit XML for tools that show
 * tests.
 *
 * Text and JSON are written file by file. The head of a JUnit document counts what is in it, so the
 * suites are kept until the end.
 *
 * Ensures   one document of each kind, well-formed whatever names are in the profiles.
 * Threads   one writer.
 * Fails     as the buffers do.
 * See       docs/man/heapscope-check.1 for the content
 */
#pragma once

#include "check/judge.h"
#include "util/buf.h"
#include "util/json.h"

/* --- text --- */

/*
 * Writes a line for each row; below a broken limit, its stacks. Writes nothing for a file that
 * could not be read.
 */
void hs_check_write_text(const struct hs_check *check, struct hs_buf *buf);
/* Writes the stacks of a row alone, each line after `indent` blanks. */
void hs_check_write_stacks(const struct hs_check *check, const struct hs_check_row *row,
                           size_t indent, struct hs_buf *buf);
/*
 * Writes LeakSanitizer's table of the suppressions that were used, and those that were not. Nothing
 * without suppressions.
 */
void hs_check_write_suppressions(const struct hs_suppressions *suppressions, struct hs_buf *buf);

/* --- JSON --- */

/* Begins the document with the limits. */
void hs_check_json_begin(struct hs_json *json, const struct hs_limits *limits);
/* Adds the verdicts of a file. */
void hs_check_json_file(struct hs_json *json, const struct hs_check *check);
/* Ends the document with the suppressions and the exit status. */
void hs_check_json_end(struct hs_json *json, const struct hs_suppressions *suppressions,
                       int exit_status);

/* --- JUnit --- */

struct hs_check_junit {
    struct hs_buf suites;
    unsigned test_count, failure_count, error_count;
    double seconds;
};

/* Adds the suite of a file. A zero-initialized `junit` is empty. */
void hs_check_junit_file(struct hs_check_junit *junit, const struct hs_check *check);
/* Writes the document. */
void hs_check_junit_write(const struct hs_check_junit *junit, struct hs_buf *buf);
/* Frees the suites. */
void hs_check_junit_deinit(struct hs_check_junit *junit);
