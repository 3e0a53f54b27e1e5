/*
 * From a request to a session's settings: the part of `start` that believes nothing.
 *
 * Threads   pure, but for memory.
 * Fails     -ENOMEM; -EINVAL with what is wrong, in a few words.
 */
#pragma once

#include "ctl/ctl.pb-c.h"
#include "session/session.h"

/* Users and rights are the caller's to fill in. */
int hs_start_settings(const Hs__Ctl__Start *request, struct hs_session_settings *ret_settings,
                      const char **ret_why);

/* May this be the name of a file in a folder? */
bool hs_start_is_file_name(const char *name);
