/*
 * Facts of a profile in words, the same in every view.
 *
 * Threads   pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

struct hs_buf;

/* "exited with status 0", "killed by signal 9 (SIGKILL)", "still running at the last snapshot". */
void hs_describe_end(const struct hs_profile *profile, uint32_t process, struct hs_buf *buf);

/* Its exit_value is an exit status, or a signal; neither when it runs or nobody saw its end. */
bool hs_describe_has_status(const struct hs_profile_process *process);
bool hs_describe_has_signal(const struct hs_profile_process *process);
/* Did it become another program? Then its pid has another entry. */
bool hs_describe_has_executed(const struct hs_profile_process *process);

/* Did it end by itself, with status 0? */
bool hs_describe_is_end_good(const struct hs_profile *profile, uint32_t process);

/* "interval raised from 4.00 KiB to 16.0 KiB after 12.0 s: memory budget of 64.0 MiB". */
void hs_describe_change(const struct hs_profile *profile, const struct hs_profile_change *change,
                        struct hs_buf *buf);
/* "memory", "overhead", "collector_cpu", "eased", "unknown". */
const char *hs_describe_change_reason(const struct hs_profile_change *change);

/* The file name of a module, "" when it is unknown or there is none (any index is fine). */
const char *hs_describe_module(const struct hs_profile *profile, uint32_t module);

/* The name under which a process is matched with others: of the program in its command line, without folder
 * and arguments, else its own. */
void hs_describe_process(const struct hs_profile *profile, uint32_t process, struct hs_buf *buf);
