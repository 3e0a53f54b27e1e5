/*
 * Turns a request for a session into the session's settings, and checks every field on the way.
 *
 * Threads   pure functions, except that they allocate memory.
 * Fails     -ENOMEM; -EINVAL with a short text that says what is wrong.
 */
#pragma once

#include "ctl/ctl.pb-c.h"
#include "session/session.h"

/* Makes the settings; the caller fills in the user (uid, is_any_uid). Returns 0, -EINVAL with
 * *ret_why, or -ENOMEM. */
int hs_start_settings(const Hs__Ctl__Start *request, struct hs_session_settings *ret_settings,
                      const char **ret_why);
