/*
 * Finding commands that record processes themselves (run, attach): by the abstract names of their sockets, which
 * the kernel lists.
 *
 * Anybody may have a socket of such a name: who is behind it, the connection tells (hs_ctl_socket_peer). Only the
 * sockets of our own network namespace are listed, and can be reached.
 *
 * Threads   none.
 * Fails     -errno: there is no such list.
 * See       collect/listen.h, unix(7)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "fmt/ctl_layout.h"

#define HS_CTL_COLLECTORS_MAX 256

/* A line of /proc/net/unix: is it of such a socket? Then its name, without '@'. */
bool hs_ctl_collector_parse(const char *line, char ret_name[HS_CTL_NAME_MAX + 1]);

/* Their names; returns how many, at most HS_CTL_COLLECTORS_MAX. */
int hs_ctl_collectors_find(char (*ret_names)[HS_CTL_NAME_MAX + 1]);

/* A connection, which must not block yet: -EAGAIN its queue is full. */
int hs_ctl_collector_connect(const char *name);
