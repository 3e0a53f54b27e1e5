/*
 * A look at the processes that `attach` was asked for by pid, before any of them is touched.
 *
 * See       collect/eligibility.h
 */
#pragma once

#include <stdbool.h>

#include "session/session.h"

/* Says which processes cannot be attached to, and why, and takes them off the list of pids: the others are recorded.
 * False: nothing is left. Processes that are meant by name are told one by one, later. */
bool hs_attach_check(struct hs_session_settings *settings);
