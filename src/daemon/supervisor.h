/*
 * What systemd wants from a service, without its library: two environment variables each.
 *
 *     LISTEN_PID, LISTEN_FDS   sockets that it made for us, from descriptor 3 on
 *     NOTIFY_SOCKET            where to send "READY=1", "STOPPING=1"
 *
 * Threads   one.
 * Fails     quietly: without a supervisor nothing is to be told.
 * See       sd_listen_fds(3), sd_notify(3)
 */
#pragma once

/* The socket that was made for us; -ENOENT: none was; -EINVAL: something that is not one of ours. Forgets the
 * variables, which are for this process only. */
int hs_supervisor_take_socket(void);

/* `state` as sd_notify(3) has it. */
void hs_supervisor_tell(const char *state);
