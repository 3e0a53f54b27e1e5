/*
 * For tests of session/hub: a hub, the traces of its sessions, and processes. A process is a region
 * of a plain second writer, adopted under the pid of a sleeping child.
 */
#pragma once

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "profile/read/load.h"
#include "region_writer.h"
#include "session/hub.h"
#include "util/buf.h"

#define SECOND UINT64_C(1000000000)

static inline uint64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * SECOND + (uint64_t)ts.tv_nsec;
}

/* --- a process -------------------------------------------------------------------------------- */

struct process {
    struct region_writer w;
    pid_t pid;
    bool has_switched_off; /* it records since its start, and has switched itself off */
};

static inline void process_init(struct process *p, const char *name, uint64_t interval_bytes)
{
    int ready[2];
    char byte;
    p->has_switched_off = false;
    assert_int_equal(pipe(ready), 0);
    p->pid = fork();
    if (p->pid == 0) {
        prctl(PR_SET_NAME, name);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (write(ready[1], "x", 1) != 1) {
            _exit(1);
        }
        for (;;) {
            pause();
        }
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    region_writer_init(&p->w, &(struct region_plan){ 64, 4096 });
    p->w.control->interval_bytes = interval_bytes;
    p->w.header->interval_count =
        interval_bytes ? 2 : 1; /* dormant: it takes its first interval when needed */
    p->w.header->pid = (uint32_t)p->pid;
    p->w.header->is_from_startup = 1;
    snprintf(p->w.header->comm, sizeof(p->w.header->comm), "%s", name);
    p->w.header->start_boot_ns = UINT64_MAX / 2;
    p->w.header->start_mono_ns = now_ns();
}

/* A process that has recorded, by a player of its own: room for 64 blocks. Returns the first of its
 * stacks. */
static inline uint32_t process_init_playing(struct process *p, struct player *player,
                                            const char *name, uint32_t stack_count)
{
    process_init(p, name, 4096);
    p->w.header->interval_bytes[1] = 4096;
    player_init(player, &p->w, 1, 0, 64);
    p->w.header->sections[HS_SECTION_RECORDS].count = 64;
    return region_writer_stacks(&p->w, stack_count);
}

/* One that has one block, of 5000 bytes. */
static inline void process_init_with_block(struct process *p, struct player *player)
{
    uint32_t stack = process_init_playing(p, player, "prog", 1);
    player_birth(player, stack, 5000, 0);
}

static inline void process_end(struct process *p)
{
    kill(p->pid, SIGKILL);
    waitpid(p->pid, NULL, 0);
}

static inline void process_deinit(struct process *p)
{
    process_end(p);
    region_writer_deinit(&p->w);
}

/* `flags`: enum hs_hello_flag. */
static inline int announce_with(struct hs_hub *hub, const struct process *p, pid_t pid, uid_t uid,
                                uint32_t flags)
{
    struct hs_pending_client pending = {
        .hello = { .magic = HS_HELLO_MAGIC, .flags = flags, .region_bytes = p->w.file_bytes },
        .region_fd = region_writer_dup(&p->w),
        .pidfd = pid ? (int)syscall(SYS_pidfd_open, pid, 0) : -1,
        .pid = pid,
        .uid = uid,
    };
    return hs_hub_take_client(hub, &pending, now_ns());
}

static inline int try_announce(struct hs_hub *hub, const struct process *p, pid_t pid, uid_t uid)
{
    bool is_dormant = !p->w.control->interval_bytes && !p->has_switched_off;
    return announce_with(hub, p, pid, uid, is_dormant ? HS_HELLO_DORMANT : 0);
}

static inline void announce_as(struct hs_hub *hub, struct process *p, uid_t uid)
{
    assert_int_equal(try_announce(hub, p, p->pid, uid), 0);
}

static inline void announce(struct hs_hub *hub, struct process *p)
{
    announce_as(hub, p, 0);
}

/* --- a hub, and the output of its sessions ---------------------------------------------------- */

struct world {
    struct hs_hub *hub;
    unsigned over_count;
    unsigned answers[HS_HUB_ANSWER_N];
    int attach_result;
    pid_t attach_pid;
    uid_t forbidden_uid; /* see authorize() */
    bool is_keeping_back;
    struct hs_target *kept;
};

struct trace {
    struct hs_buf bytes;
    struct hs_profile *profile; /* loaded when the session is over */
};

static inline int keep(void *ctx, const void *data, size_t bytes)
{
    struct trace *trace = ctx;
    hs_buf_add(&trace->bytes, data, bytes);
    return trace->bytes.err;
}

static inline void on_over(void *ctx, struct hs_session *session)
{
    struct world *world = ctx;
    struct trace *trace = session->owner;
    world->over_count++;
    assert_int_equal(hs_session_finish(session), 0);
    assert_int_equal(
        hs_profile_load_memory(trace->bytes.data, trace->bytes.bytes, &trace->profile, NULL), 0);
    hs_session_free(session);
}

static inline void say(void *ctx, const struct hs_hub_verdict *verdict)
{
    struct world *world = ctx;
    world->answers[verdict->answer]++;
}

static inline int attach(void *ctx, struct hs_session *session,
                         const struct hs_process_facts *process)
{
    struct world *world = ctx;
    (void)session;
    world->attach_pid = process->facts.pid;
    return world->attach_result;
}

static inline bool keep_back(void *ctx, struct hs_target *target)
{
    struct world *world = ctx;
    world->kept = world->is_keeping_back ? target : NULL;
    return world->is_keeping_back;
}

static inline void world_init_with(struct world *world, bool is_taking_hidden)
{
    *world = (struct world){ .attach_result = -ENOSYS };
    const struct hs_hub_config config = { .listener.fd = -1,
                                          .on_over = on_over,
                                          .attach = attach,
                                          .keep_back = keep_back,
                                          .is_taking_hidden = is_taking_hidden,
                                          .ctx = world };
    assert_int_equal(hs_hub_new(&config, &world->hub), 0);
}

static inline void world_init(struct world *world)
{
    world_init_with(world, false);
}

static inline struct hs_session *start(struct world *world, struct trace *trace,
                                       const struct hs_session_settings *with, const char *name,
                                       pid_t pid)
{
    struct hs_session_settings settings = *with;
    struct hs_session *session;
    *trace = (struct trace){ 0 };
    settings.interval_bytes = settings.interval_bytes ? settings.interval_bytes : 4096;
    if (name) {
        assert_int_equal(hs_session_settings_add_name(&settings, name), 0);
    }
    if (pid) {
        assert_int_equal(hs_session_settings_add_pid(&settings, pid), 0);
    }
    assert_null(hs_session_settings_check(&settings));
    assert_int_equal(hs_session_new(&settings, keep, trace, now_ns(), &session), 0);
    session->owner = trace;
    memset(world->answers, 0, sizeof(world->answers));
    assert_int_equal(hs_hub_start(world->hub, session, now_ns(), say, world), 0);
    return session;
}

static inline uint64_t startup_interval(const struct world *world)
{
    struct hs_startup startup;
    hs_hub_find_startup(world->hub, NULL, &startup);
    return startup.interval_bytes;
}

static inline void trace_deinit(struct trace *trace)
{
    hs_profile_free(trace->profile);
    hs_buf_deinit(&trace->bytes);
}

static const struct hs_session_settings everything = { .is_taking_startup = true,
                                                       .is_taking_running = true,
                                                       .is_any_uid = true };
