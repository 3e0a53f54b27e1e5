/*
 * The frames of a PHP script, as debug_backtrace() gives them: functions of the script, and those
 * of PHP's own that call it or are called by it.
 *
 * executor_globals has the innermost of the frames (zend_execute_data), which lead outward. A frame
 * with ZEND_CALL_TOP was begun by C code, in a run loop (execute_ex) of its own.
 *
 * Offsets are those of PHP 8.2 without threads (ZTS). They are used when the first of the
 * registered modules names the API of that version, and each frame proves them: its current
 * instruction lies among those of its function, and its file is a string.
 *
 * See       script_frames.h
 */
#pragma once

#include "client/script/script_frames.h"

/* What is known of a PHP in this process. */
struct hs_php {
    uint64_t globals_va;  /* executor_globals */
    uint64_t registry_va; /* module_registry */
};

/* Reports the frames of the thread that runs the script. Only a thread with a run loop may ask. */
enum hs_script_end hs_php_read(const struct hs_php *php, struct hs_script_memory *memory,
                               const struct hs_script_sink *sink);

/* Describes one of them. */
hs_script_describe_fn hs_php_describe;
