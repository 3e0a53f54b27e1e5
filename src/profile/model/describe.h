/*
 * Writes facts of a profile as human-readable text, the same text in every view.
 *
 * Threads   pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/model/profile.h"

struct hs_buf;

/*
 * Writes how a process ended: "exited with status 0", "killed by signal 9 (SIGKILL)", "still
 * running at the last snapshot".
 */
void hs_describe_end(const struct hs_profile *profile, uint32_t process, struct hs_buf *buf);

/* Writes the same as the predicate of a sentence that goes on with a time: "exited with status 0",
 * "was killed by signal 9 (SIGKILL)", "was still running at the last snapshot,". */
void hs_describe_end_predicate(const struct hs_profile *profile, uint32_t process,
                               struct hs_buf *buf);

/* True when the recording ended before the process. Files of other profilers do not tell. */
bool hs_describe_is_running(const struct hs_profile_process *process);

/*
 * True when exit_value is an exit status. This and the next function are both false when the
 * process still runs or its end was not seen.
 */
bool hs_describe_has_status(const struct hs_profile_process *process);
/* True when exit_value is a signal. */
bool hs_describe_has_signal(const struct hs_profile_process *process);
/* True when the process executed another program. Its pid then has another entry. */
bool hs_describe_has_executed(const struct hs_profile_process *process);

/* True when the process exited with status 0. */
bool hs_describe_is_end_good(const struct hs_profile *profile, uint32_t process);

/*
 * Writes a change: "sampling interval raised from 4.00 KiB to 16.0 KiB after 12.0 s, to stay within
 * the memory budget of 64.0 MiB".
 */
void hs_describe_change(const struct hs_profile *profile, const struct hs_profile_change *change,
                        struct hs_buf *buf);
/* The reason of a change: "memory", "overhead", "collector_cpu", "eased" or "unknown". */
const char *hs_describe_change_reason(const struct hs_profile_change *change);

/* The file name of a module; "" when it is unknown or no module has this index. */
const char *hs_describe_module(const struct hs_profile *profile, uint32_t module);

/*
 * Writes a scope, given by its index + 1, with those that it lies in: "request > tenant=a". 0:
 * "(none)".
 */
void hs_describe_scope(const struct hs_profile *profile, uint32_t scope, struct hs_buf *buf);
/*
 * Writes the name by which processes are matched: that of the program in the command line, without
 * folder and arguments; without a command line, the process's own name.
 */
void hs_describe_process(const struct hs_profile *profile, uint32_t process, struct hs_buf *buf);
