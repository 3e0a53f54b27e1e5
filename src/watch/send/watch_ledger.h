/*
 * Hands a ledger to a watch worker: the collector reads one of each recorded process now and then,
 * and the workers pass it on to their viewers.
 *
 * The message on the line between both is an update that has only a ledger.
 *
 * Threads   one.
 * Fails     sending: -ENOMEM, and -errno of the socket; -EAGAIN: the worker has not taken the
 *           earlier ones. Taking: -ECONNRESET: the collector has closed the line; -EPROTO.
 * See       collect/ledger/ledger_watch.h
 */
#pragma once

#include "ctl/ctl.pb-c.h"
#include "trace/ledger.h"

/* Sends a ledger, without waiting. 0, or see Fails. */
int hs_watch_ledger_send(int line_fd, const struct hs_ledger *ledger);
/* Takes the next message, which the caller frees. 0, or see Fails; -EAGAIN: there is none. */
int hs_watch_ledger_take(int line_fd, Hs__Ctl__Update **ret_update);
