/*
 * The loop of a watch worker, and its start and end: see watch_worker.h.
 */
#include "watch/send/watch_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ctl/ctl_message.h"
#include "rt/atomic.h"
#include "rt/clock.h"
#include "util/proc.h"
#include "watch/send/watch_ledger.h"
#include "watch/send/watch_pace.h"
#include "watch/send/watch_types.h"
#include "watch/send/watch_update.h"

#define CONTROL_BYTES 4096U /* one page */

struct memory {
    uint64_t rss_bytes, anon_bytes, swap_bytes;
};

/* In the worker. */
struct work {
    struct hs_region region;
    pid_t pid;
    int viewer_fd, line_fd;
    struct hs_watch_page *page; /* written here, read by the collector */
    struct hs_watch_look look;
    struct hs_watch_sent sent;
    struct hs_watch_types types;
    Hs__Ctl__Update *ledger; /* has the newest ledger; NULL: none that is to be sent */
    struct hs_watch_pace pace;
    struct memory memory; /* as in the last update */
    bool is_asked;        /* the viewer wants an update */
    bool has_more;        /* of the last look */
    bool has_news;        /* the last look has not been sent yet */
    bool is_over;         /* the next update is the last one */
    uint64_t next_ns;     /* when the next look may begin */
    uint64_t over_ns;     /* when to end, if is_over */
};

uint32_t hs_watch_interval_ms(uint32_t asked_ms)
{
    uint32_t ms = asked_ms ? asked_ms : HS_WATCH_INTERVAL_MS;
    ms = ms > HS_WATCH_INTERVAL_MIN_MS ? ms : HS_WATCH_INTERVAL_MIN_MS;
    return ms < HS_WATCH_INTERVAL_MAX_MS ? ms : HS_WATCH_INTERVAL_MAX_MS;
}

/* --- the worker: a look ----------------------------------------------------------------------- */

/* Reads the resident memory. True: it is not as it was in the last update. */
static bool read_memory(struct work *work)
{
    struct hs_proc_status status;
    struct memory now = { 0 };
    if (work->pid > 0 && !work->is_over && hs_proc_read_status(work->pid, &status) == 0) {
        now = (struct memory){ status.vm_rss_bytes, status.rss_anon_bytes, status.vm_swap_bytes };
    }
    bool is_new = now.rss_bytes != work->memory.rss_bytes ||
                  now.anon_bytes != work->memory.anon_bytes ||
                  now.swap_bytes != work->memory.swap_bytes;
    work->memory = now;
    return is_new;
}

/* Looks at the process. -errno: the region cannot be read. */
static int look(struct work *work, uint64_t now_ns)
{
    pid_t pid = work->is_over ? 0 : work->pid;
    if (hs_watch_types_read(&work->types, pid, &work->region, now_ns)) {
        work->look.has_settled = false; /* the records are read, also if no counter has moved */
    }
    int r = hs_watch_look(&work->look, &work->region, now_ns);
    bool is_memory_new = read_memory(work);
    work->has_news |= r > 0 || is_memory_new || work->ledger;
    work->types.is_due |= r > 0 && work->types.is_wanted;
    hs_store_relaxed(&work->page->look_count, work->page->look_count + 1);
    return r < 0 ? r : 0;
}

static void say_memory(const struct work *work, Hs__Ctl__WatchedProcess *process)
{
    process->has_host_pid = process->has_rss_bytes = process->has_rss_anon_bytes =
        process->has_swap_bytes = true;
    process->host_pid = (uint32_t)work->pid;
    process->rss_bytes = work->memory.rss_bytes;
    process->rss_anon_bytes = work->memory.anon_bytes;
    process->swap_bytes = work->memory.swap_bytes;
}

static void drop_ledger(struct work *work)
{
    if (work->ledger) {
        hs__ctl__update__free_unpacked(work->ledger, NULL);
        work->ledger = NULL;
    }
}

/* Sends the next update. */
static int send_update(struct work *work)
{
    struct hs_watch_update update;
    int r = hs_watch_update_fill(&work->sent, &work->region, &work->look, &update);
    if (r < 0) {
        return r;
    }
    work->has_more = update.message.has_more;
    update.message.has_interval_ms = update.message.has_look_cpu_ns = true;
    update.message.interval_ms = (uint32_t)work->page->interval_ms;
    update.message.look_cpu_ns = work->page->look_cpu_ns;
    update.message.has_end = work->is_over && !work->has_more;
    update.message.end = update.message.has_end ? HS_WATCH_END_PROCESS : HS_WATCH_GOES_ON;
    update.message.ledger = work->ledger ? work->ledger->ledger : NULL;
    say_memory(work, &update.process);
    r = hs_ctl_send(work->viewer_fd, HS_CTL_UPDATE, &update.message.base, NULL, 0);
    hs_watch_update_deinit(&update);
    drop_ledger(work);
    work->is_asked = work->has_news = false;
    return r;
}

/* Tells the viewer that the region cannot be read. */
static void send_failure(const struct work *work)
{
    Hs__Ctl__Update update = HS__CTL__UPDATE__INIT;
    update.has_end = true;
    update.end = HS_WATCH_END_FAILED;
    hs_ctl_send(work->viewer_fd, HS_CTL_UPDATE, &update.base, NULL, 0);
}

/* Does what the viewer has asked for, if it is due. False: the worker ends. */
static bool answer(struct work *work)
{
    uint64_t begin_ns = hs_clock_ns(CLOCK_MONOTONIC);
    uint64_t begin_cpu_ns = hs_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    bool is_looking = !work->has_more && (begin_ns >= work->next_ns || work->is_over);
    if (!work->is_asked || (!is_looking && !work->has_more)) {
        return true;
    }
    int r = is_looking ? look(work, begin_ns) : 0;
    if (r < 0) {
        send_failure(work);
        return false;
    }
    if (work->has_news || work->has_more || work->is_over) {
        r = send_update(work);
    }
    uint64_t now_ns = hs_clock_ns(CLOCK_MONOTONIC);
    uint64_t cpu_ns = hs_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_cpu_ns;
    work->next_ns = hs_watch_pace_spend(&work->pace, begin_ns, now_ns, cpu_ns);
    hs_store_relaxed(&work->page->look_cpu_ns, cpu_ns);
    hs_store_relaxed(&work->page->interval_ms, (work->next_ns - begin_ns) / 1000000);
    return r == 0 && !(work->is_over && !work->has_more);
}

/* --- the worker: its loop --------------------------------------------------------------------- */

/* Takes what the viewer sends. False: it has closed the connection, or sends something else. */
static bool take_request(struct work *work)
{
    struct hs_ctl_message message;
    int r = hs_ctl_receive(work->viewer_fd, false, &message);
    if (r == -EAGAIN) {
        return true;
    }
    bool is_next = r == 0 && message.kind == HS_CTL_NEXT;
    if (r == 0) {
        hs_ctl_message_deinit(&message);
    }
    work->is_asked = true;
    return is_next;
}

/* The process is recorded no more, or the collector has ended. */
static void begin_end(struct work *work)
{
    if (!work->is_over) {
        work->is_over = true;
        work->over_ns = hs_clock_ns(CLOCK_MONOTONIC) + HS_WATCH_LAST_MS * UINT64_C(1000000);
    }
}

/* Takes what the collector sends: a newer ledger, or the end. */
static void take_line(struct work *work)
{
    Hs__Ctl__Update *update;
    int r = hs_watch_ledger_take(work->line_fd, &update);
    if (r == 0) {
        drop_ledger(work);
        work->ledger = update;
    } else if (r != -EAGAIN) {
        begin_end(work);
    }
}

/* How long to wait, in ms; -1: until something happens. */
static int waiting_ms(const struct work *work)
{
    uint64_t now_ns = hs_clock_ns(CLOCK_MONOTONIC), until_ns = UINT64_MAX;
    if (work->is_over) {
        until_ns = work->over_ns;
    } else if (work->is_asked) {
        until_ns = work->next_ns;
    }
    if (until_ns == UINT64_MAX) {
        return -1;
    }
    return until_ns > now_ns ? (int)((until_ns - now_ns) / 1000000 + 1) : 0;
}

static void serve(struct work *work)
{
    struct pollfd fds[] = { { .fd = work->viewer_fd, .events = POLLIN },
                            { .fd = work->line_fd, .events = POLLIN } };
    for (;;) {
        hs_store_relaxed(&work->page->is_waiting, !work->is_asked);
        fds[1].fd = work->is_over ? -1 : work->line_fd;
        if (poll(fds, HS_COUNT_OF(fds), waiting_ms(work)) < 0 && errno != EINTR) {
            return;
        }
        if (fds[1].revents) {
            take_line(work);
        }
        if (fds[0].revents && !take_request(work)) {
            return;
        }
        if (!answer(work) || (work->is_over && hs_clock_ns(CLOCK_MONOTONIC) >= work->over_ns)) {
            return;
        }
    }
}

/* The worker may outlive the command that forked it for a moment: a pipe that this command writes
 * to must not stay open. */
static int let_go_of_output(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int to = STDIN_FILENO; fd >= 0 && to <= STDERR_FILENO; to++) {
        if (dup2(fd, to) < 0) {
            return -errno;
        }
    }
    return fd < 0 ? -errno : 0;
}

static void __attribute__((noreturn))
run(const struct hs_watch_task *task, struct hs_watch_page *page, int viewer_fd, int line_fd)
{
    const int kept[] = { viewer_fd, line_fd, task->region->fd };
    uint64_t now_ns = hs_clock_ns(CLOCK_MONOTONIC);
    struct work work = { .region = *task->region,
                         .pid = task->pid,
                         .viewer_fd = viewer_fd,
                         .line_fd = line_fd,
                         .page = page,
                         .pace = { .interval_ns = task->interval_ms * UINT64_C(1000000),
                                   .share = HS_WATCH_SHARE,
                                   .free_ns = HS_WATCH_FREE_NS } };
    prctl(PR_SET_NAME, "heapscope-watch");
    hs_watch_types_begin(&work.types, task->types);
    work.sent.parts.is_wanted = work.types.is_wanted;
    if (let_go_of_output() < 0 || task->settle(task->settle_ctx, kept, HS_COUNT_OF(kept)) < 0 ||
        mprotect(work.region.control, CONTROL_BYTES, PROT_READ) != 0) {
        _exit(1);
    }
    hs_watch_pace_begin(&work.pace, now_ns);
    serve(&work);
    _exit(0);
}

/* --- the collector ---------------------------------------------------------------------------- */

static void close_pair(int fds[2])
{
    close(fds[0]);
    close(fds[1]);
}

/* Makes both connections. [0]: the worker's end. */
static int connect_both(int viewer[2], int line[2])
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, viewer) != 0) {
        return -errno;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line) != 0) {
        int r = -errno;
        close_pair(viewer);
        return r;
    }
    return 0;
}

int hs_watch_worker_start(const struct hs_watch_task *task, struct hs_watch_worker *ret_worker,
                          int *ret_viewer_fd)
{
    int viewer[2] = { -1, -1 }, line[2] = { -1, -1 };
    struct hs_watch_page *page =
        mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return -errno;
    }
    page->interval_ms = task->interval_ms;
    int r = connect_both(viewer, line);
    if (r < 0) {
        munmap(page, sizeof(*page));
        return r;
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(viewer[1]);
        close(line[1]);
        run(task, page, viewer[0], line[0]);
    }
    if (pid < 0) {
        r = -errno;
        close_pair(viewer);
        close_pair(line);
        munmap(page, sizeof(*page));
        return r;
    }
    close(viewer[0]);
    close(line[0]);
    *ret_worker = (struct hs_watch_worker){ .pid = pid, .line_fd = line[1], .page = page };
    *ret_viewer_fd = viewer[1];
    return 0;
}

void hs_watch_worker_end(struct hs_watch_worker *worker)
{
    if (worker->line_fd >= 0) {
        close(worker->line_fd);
        worker->line_fd = -1;
    }
}

/* Frees what is left of a worker that has ended. */
static void forget(struct hs_watch_worker *worker)
{
    hs_watch_worker_end(worker);
    munmap(worker->page, sizeof(*worker->page));
    *worker = (struct hs_watch_worker){ .line_fd = -1 };
}

bool hs_watch_worker_reap(struct hs_watch_worker *worker)
{
    if (waitpid(worker->pid, NULL, WNOHANG) == 0) {
        return false;
    }
    forget(worker);
    return true;
}

void hs_watch_worker_kill(struct hs_watch_worker *worker)
{
    kill(worker->pid, SIGKILL);
    while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    forget(worker);
}
