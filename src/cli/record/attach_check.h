/*
 * Checks the processes that `attach` was asked for by pid, before it touches any of them.
 *
 * See       collect/inspect/eligibility.h
 */
#pragma once

#include <stdbool.h>

#include "session/session.h"

/* Prints which processes cannot be attached to, and why, and removes them from the list of pids;
 * the others are recorded. False: no process is left. Processes that are meant by name are reported
 * one by one, later. */
bool hs_attach_check(struct hs_session_settings *settings);
