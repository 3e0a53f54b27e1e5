/*
 * The handshake: how a region gets from the process that writes it to the collector.
 *
 * A collector listens on a SOCK_SEQPACKET unix socket with an abstract name, so that nothing is
 * left in the file system and a target in a chroot still finds it. The target learns the name from
 * its environment. At its first allocation a client makes its region, connects, sends ONE message
 * (the hello below, with the region's memfd as SCM_RIGHTS) and closes the socket and the memfd: it
 * waits for no answer and keeps no descriptor. A message that was sent on a connection outlives its
 * sender, so a process that ends at once is still profiled.
 *
 * Without a collector's name in its environment, a client looks for a daemon, at most at three
 * paths (HS_ENV_SOCKET, HS_ENV_RUNTIME_FOLDER, HS_CTL_SYSTEM_SOCKET). It makes one attempt each,
 * and accepts only a daemon that runs as root or as the client's own user. It sends the same hello
 * there, usually with HS_HELLO_DORMANT: the client then records nothing until a session of the
 * daemon selects its process. A program that is to be recorded from its first allocation cannot
 * wait for an answer. Therefore a daemon keeps a startup hint file beside its socket, which says
 * whether a program begins to record at once.
 *
 * A bound process (HS_HELLO_BOUND) records whether there is a daemon or not, and keeps a descriptor
 * of the region. It sends its hello when it finds a daemon. A daemon that takes the region locks it
 * (HS_REGION_LOCK_OFFSET); the kernel drops the lock when neither the daemon nor its fd holder
 * lives, and the process looks for the next daemon when it finds no lock.
 *
 * Each program image sends one hello. exec gives the same pid a new image, hence a second hello,
 * which tells the collector that the first image is final.
 *
 * Ensures   little-endian, naturally aligned; unknown flags and reserved fields are 0.
 * Trust     the collector checks the peer's credentials, takes its pid from the kernel, and treats
 *           every byte of the hello as hostile. A client treats its environment as untrusted text:
 *           a name longer than HS_CTL_NAME_MAX, or a failed connect, means "no session".
 * See       region_layout.h for the contents of the memfd; docs/FORMAT.md.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Environment of a profiled program. */
#define HS_ENV_COLLECTOR "HEAPSCOPE_COLLECTOR" /* abstract socket name, without the leading NUL */
#define HS_ENV_INTERVAL  "HEAPSCOPE_INTERVAL"  /* mean bytes between samples, decimal, >= 1 */
/* Which heaps are recorded: PATTERN=BYTES,PATTERN=BYTES ..., at most 32 of them besides * and
 * libc.malloc; * and ? stand for any characters and for one; the first that matches counts; 0: not
 * recorded; without =BYTES as HS_ENV_INTERVAL says, which always has the interval of libc.malloc.
 * Heaps that nothing matches are recorded. Nothing behind the pattern * counts. If it begins with
 * HS_HEAPS_LIFETIMES, the lifetimes of freed blocks are recorded, too; with HS_HEAPS_NATIVE_ONLY
 * there or behind it, stacks have native code only. */
#define HS_ENV_HEAPS         "HEAPSCOPE_HEAPS"
#define HS_HEAPS_LIFETIMES   "+lifetimes"
#define HS_HEAPS_NATIVE_ONLY "+native-only"
/* Of the longest such text that heapscope writes, with the NUL. */
#define HS_CTL_HEAPS_BYTES 2960U
#define HS_ENV_FOLLOW      "HEAPSCOPE_FOLLOW" /* "0": only HS_ENV_FOLLOW_PID records; else "1" */
#define HS_ENV_FOLLOW_PID  "HEAPSCOPE_FOLLOW_PID" /* decimal, as the target sees itself */
#define HS_ENV_SEED        "HEAPSCOPE_SEED"       /* the user's, for repeatable runs */

/* The interval of a process that records without a session (HS_HELLO_BOUND), unless HS_ENV_INTERVAL
 * or the program says another one. */
#define HS_INTERVAL_BOUND_BYTES 4096U

/* Where a daemon may listen: at the path in HS_ENV_SOCKET, in this folder, or at a fixed path. */
#define HS_ENV_SOCKET         "HEAPSCOPE_SOCKET"
#define HS_ENV_RUNTIME_FOLDER "XDG_RUNTIME_DIR"
#define HS_CTL_SOCKET_NAME    "heapscope.sock"
#define HS_CTL_SYSTEM_SOCKET  "/run/heapscope/heapscope.sock"
#define HS_CTL_PATH_MAX       107U /* bytes of a path; it begins with '/', abstract names do not */
/* "0" (no, off, false): this process does not announce itself, and is not attached to. "1" (yes,
 * on, true): it agrees to be profiled by its user though it is not dumpable. The variable is
 * ignored in a process that runs with more rights than the process that started it. `heapscope run`
 * removes the variable from the environment of the program that it starts. */
#define HS_ENV_PROFILEABLE "HEAPSCOPE_PROFILEABLE"

/* Prefix of the socket names of collectors that are not daemons; 32 hexadecimal digits follow. */
#define HS_CTL_COLLECTOR_PREFIX "heapscope-"
#define HS_CTL_NAME_MAX         64U /* bytes of an abstract name, without its leading NUL */
#define HS_CTL_CONNECT_MAX      64U /* attempts of a client to connect while the queue is full */
#define HS_CTL_HELLO_FDS        1U  /* descriptors that come with a hello: the region */

#define HS_HELLO_MAGIC          UINT64_C(0x31304f4c4c454853) /* "SHELLO01" read as little-endian */
#define HS_HELLO_VERSION        1U

/* What a hello says about its process. */
enum hs_hello_flag {
    /* The executable itself defines malloc: its allocations do not pass through the client. */
    HS_HELLO_OWN_MALLOC = 1U << 0,
    /* Nothing is recorded yet: the process waits for a session. */
    HS_HELLO_DORMANT = 1U << 1,
    /* The client was loaded into a process that was already running: it can be detached. */
    HS_HELLO_LATE = 1U << 2,
    /* HS_ENV_PROFILEABLE is "1": the process agrees, also where the same user alone would not be
     * enough. */
    HS_HELLO_WILLING = 1U << 3,
    /* With HS_HELLO_OWN_MALLOC: the process waits on this connection, see HS_WAITING_SYMBOL. */
    HS_HELLO_WAITS = 1U << 4,
    /* The process is bound: it records without a session, and goes on when a session ends. It may
     * have begun long before this hello, and another daemon may have had it. With HS_HELLO_DORMANT:
     * the policy of such a daemon has switched it off. */
    HS_HELLO_BOUND = 1U << 5,
};

/* The byte of the region's file that a collector locks (F_OFD_SETLK, F_WRLCK) as long as it has the
 * region of a bound process. It opens the file anew for that: locks belong to an open file, and the
 * descriptor that came with the hello is the process's open file, too. */
#define HS_REGION_LOCK_OFFSET 0

/* The hello: the only message from a client to a collector. */
struct hs_hello_v1 {
    uint64_t magic;
    uint32_t version;
    uint32_t hello_bytes;  /* sizeof(struct hs_hello_v1); a later version may be longer */
    uint32_t pid;          /* as the target sees it; in a pid namespace it differs from ours */
    uint32_t flags;        /* enum hs_hello_flag */
    uint64_t region_bytes; /* size of the memfd */
    uint64_t reserved[4];
};

_Static_assert(sizeof(struct hs_hello_v1) == 64, "layout v1");

/* A named snapshot: a recorded process asks its collector for a snapshot of itself, to be kept
 * under a name. It connects as for a hello, sends this one message, and waits for the answer,
 * which says that the cut is open (see region_layout.h): the snapshot is exact at that moment, and
 * the process does not wait until it is read. The collector knows from the kernel which process
 * asks. */
#define HS_NAMED_SNAPSHOT_MAGIC    UINT64_C(0x3130504e53454d4e) /* "NMESNP01", little-endian */
#define HS_NAMED_SNAPSHOT_VERSION  1U
#define HS_NAMED_SNAPSHOT_NAME_MAX 63U   /* bytes of a name, without its NUL */
#define HS_NAMED_SNAPSHOT_WAIT_MS  2000U /* the process waits no longer than this for the answer */
/* Exported by the client: int f(const char *name), as hs_named_snapshot_take(). */
#define HS_TAKE_SNAPSHOT_ENTRY "heapscope_take_snapshot_v1"

/* The request. */
struct hs_named_snapshot_v1 {
    uint64_t magic;
    uint32_t version;
    uint32_t message_bytes; /* sizeof(struct hs_named_snapshot_v1); a later version may be longer */
    uint32_t pid;           /* as the target sees itself */
    uint32_t name_bytes;    /* 1 to HS_NAMED_SNAPSHOT_NAME_MAX */
    uint64_t start_mono_ns; /* of the region's header: which region is meant */
    char name[HS_NAMED_SNAPSHOT_NAME_MAX + 1]; /* no NUL in it, NULs behind it; mostly UTF-8 */
    uint64_t reserved[4];
};

/* The answer. */
struct hs_named_answer_v1 {
    uint64_t magic; /* HS_NAMED_SNAPSHOT_MAGIC */
    uint32_t answer_bytes;
    int32_t error; /* 0: the cut is open; otherwise -errno, and there is no snapshot */
};

_Static_assert(sizeof(struct hs_named_snapshot_v1) == 128 &&
                   sizeof(struct hs_named_answer_v1) == 16,
               "layout v1");

/* Attaching: a collector makes a process that is already running call these functions of the client
 * library, each of them `int f(void *)`. They return 0 or -errno. -EBUSY: another collector records
 * the process; -EAGAIN: a thread is still recording for the previous collector, so try again a
 * moment later. A library of another version has other names. */
#define HS_ATTACH_ENTRY "heapscope_attach_v1" /* begin to record; struct hs_attach_v1 */
#define HS_DETACH_ENTRY "heapscope_detach_v1" /* stop, and undo; struct hs_detach_v1 */
/* Redirect the slots of libraries that were loaded since; struct hs_refresh_v1. */
#define HS_REFRESH_ENTRY "heapscope_refresh_v1"

/* How to attach. */
enum hs_attach_flag {
    HS_ATTACH_TAKE_OVER = 1U << 0, /* the process that was recording it is gone */
    HS_ATTACH_FOLLOW = 1U << 1,    /* forked children announce themselves at `collector` */
    HS_ATTACH_SANDBOX = 1U << 2,   /* it already runs under a seccomp filter */
    /* No -EAGAIN: a thread that is still recording may write one wrong record. */
    HS_ATTACH_IMPATIENT = 1U << 3,
    /* Begin without recording: the collector writes unwind tables into the region, and then sets
     * the interval in the control page. */
    HS_ATTACH_PAUSED = 1U << 4,
};

/* Argument of HS_ATTACH_ENTRY. */
struct hs_attach_v1 {
    uint32_t attach_bytes; /* sizeof(struct hs_attach_v1) */
    uint32_t flags;        /* enum hs_attach_flag */
    uint64_t interval_bytes;
    uint64_t seed;                       /* 0: a random one */
    char collector[HS_CTL_PATH_MAX + 1]; /* as hs_register_connect() expects it: name or path */
    /* Answers of the client. */
    int32_t region_fd; /* a descriptor of the target's, to be taken and closed; -1: none */
    uint64_t region_bytes;
    uint32_t hello_flags; /* enum hs_hello_flag */
    uint32_t slot_count;  /* slots that lead to the client now; 0: it was preloaded */
    uint32_t left_count;  /* slots that were not changed: they lead elsewhere */
    /* The attaching process, as it sees itself. With -EBUSY the client stores the process that
     * records it, as the control page says; 0: unknown. */
    uint32_t collector_pid;
    uint64_t collector_start_ticks;
    uint32_t reserved[6];
    char heaps[HS_CTL_HEAPS_BYTES]; /* which heaps are recorded: as HS_ENV_HEAPS; "": all */
};

/* A collector whose argument is shorter reads regions of version 1 only: its argument ends before
 * `heaps`. For -EINVAL such a collector says that the client is of another version. */
#define HS_ATTACH_BYTES_MIN 3152U

/* Argument of HS_DETACH_ENTRY. */
struct hs_detach_v1 {
    uint32_t detach_bytes;
    uint32_t flags;
    /* Answers of the client. */
    uint32_t slot_count; /* slots that were released */
    uint32_t was_quiet;  /* 1: the tables are gone; 0: a thread is still recording, call again */
    uint32_t reserved[12];
};

/* Argument of HS_REFRESH_ENTRY. */
struct hs_refresh_v1 {
    uint32_t refresh_bytes;
    uint32_t flags;
    /* Answers of the client. */
    uint32_t slot_count; /* slots that lead to the client now, in addition */
    uint32_t left_count;
    uint32_t reserved[12];
};

/* An allocator that is part of the executable is called without a pointer that could be changed;
 * its functions' entries can be changed instead (arch/detour.h). The collector that attaches makes
 * the code for that from outside, and has this function of the client put the code into place. From
 * then on the client calls the allocator through that code. Only after that, with all threads
 * stopped, the collector changes the entries. The code comes in pieces, one in each call; the first
 * piece begins anew. 0, or -errno: -EEXIST: there is something at slots_va; -EPERM: the kernel
 * allows no new code; -EALREADY: there are detours, and they stay for as long as the process lives.
 * A call without rows does nothing. */
#define HS_DETOUR_ENTRY "heapscope_detour_v1" /* struct hs_detour_request_v1 */
/* The existing detours, for a later collector: struct hs_detours_v1, to be read from outside. */
#define HS_DETOURS_SYMBOL "heapscope_detours_v1"
/* The hooks of fmt/allocator_functions.h, in its order: how many there are (8 bytes), and the
 * address of each. */
#define HS_OWN_HOOKS_SYMBOL    "heapscope_own_hooks_v1"
#define HS_DETOUR_ROWS_MAX     128U
#define HS_DETOUR_NAME_BYTES   40U
#define HS_DETOUR_CHANGE_BYTES 8U

/* One function that has a detour. */
struct hs_detour_row_v1 {
    char name[HS_DETOUR_NAME_BYTES]; /* truncated; with a NUL at its end */
    uint64_t entry_va;               /* several names may have the same entry */
    uint64_t real_va;                /* the code to call instead of it */
    uint8_t was[HS_DETOUR_CHANGE_BYTES];
    uint8_t now[HS_DETOUR_CHANGE_BYTES];
    uint32_t change_bytes; /* bytes of `was` and `now` in use */
    /* 1 + the number of its hook, see fmt/allocator_functions.h. 0: `name` is the name of a hook,
     * and of the function that the process calls. */
    uint32_t own_number;
};

/* The detours of a process. */
struct hs_detours_v1 {
    uint32_t detours_bytes; /* sizeof(struct hs_detours_v1) */
    uint32_t count;
    uint64_t slots_va; /* whole pages, which stay for good */
    struct hs_detour_row_v1 rows[HS_DETOUR_ROWS_MAX];
};

/*
 * The collector does not attach to a program that is recorded from its start and has such an
 * allocator: the client is already there. It sends HS_HELLO_WAITS, keeps the connection, and waits
 * until the collector closes it, HS_WAITING_MAX_MS at most. Meanwhile the collector writes a
 * request into the program's memory, at this symbol, and sends a datagram of one byte. The client
 * does what HS_DETOUR_ENTRY would do with the request, and answers with that function's result, an
 * int32_t. Then the collector changes the entries.
 *
 * A request is code. It comes through memory, where the kernel checks who may trace whom, and not
 * over the connection. That proves that its sender could have put the code anywhere. The byte alone
 * has no effect.
 */
#define HS_WAITING_SYMBOL         "heapscope_waiting_v1" /* struct hs_detour_request_v1 */
#define HS_WAITING_MAX_MS         2000U

#define HS_DETOUR_SLOTS_BYTES_MAX 8192U
/* Limits of one piece. */
#define HS_DETOUR_PIECE_ROWS        32U
#define HS_DETOUR_PIECE_SLOTS_BYTES 2048U

enum hs_detour_flag {
    HS_DETOUR_CARVED = 1U << 0, /* allocators with a prefix take their memory from other heaps */
};

/* One piece of the code of detours: argument of HS_DETOUR_ENTRY. */
struct hs_detour_request_v1 {
    uint32_t request_bytes; /* sizeof(struct hs_detour_request_v1) */
    uint32_t is_last;
    uint32_t row_first; /* this many rows came before */
    uint32_t row_count;
    uint64_t slots_va;
    uint32_t slots_all_bytes; /* of all pieces together */
    uint32_t slots_off;
    uint32_t slots_bytes;
    uint32_t flags; /* enum hs_detour_flag */
    struct hs_detour_row_v1 rows[HS_DETOUR_PIECE_ROWS];
    uint8_t slots[HS_DETOUR_PIECE_SLOTS_BYTES];
};

_Static_assert(sizeof(struct hs_detour_row_v1) == 80 && sizeof(struct hs_detour_request_v1) == 4648,
               "layout v1");

_Static_assert(offsetof(struct hs_attach_v1, heaps) == 192 &&
                   sizeof(struct hs_attach_v1) == HS_ATTACH_BYTES_MIN &&
                   sizeof(struct hs_detach_v1) == 64 && sizeof(struct hs_refresh_v1) == 64,
               "layout v1");

/* The startup hint file: a file beside a daemon's socket, SOCKET.board. It is replaced as a whole
 * (rename), and trusted when it belongs to root or to the client's own user. */
#define HS_STARTUP_HINT_SUFFIX  ".board"
#define HS_STARTUP_HINT_MAGIC   UINT64_C(0x3130445241424853) /* "SHBARD01" read as little-endian */
#define HS_STARTUP_HINT_VERSION 1U

/* The content of the startup hint file. */
struct hs_startup_hint_v1 {
    uint64_t magic;
    uint32_t version;
    uint32_t hint_bytes; /* sizeof(struct hs_startup_hint_v1); a later version may be longer */
    /* Programs that start now record at once, with this interval: the smallest of all sessions that
     * wait for programs to start. 0: no session does. A program that no session matches is
     * switched off right after its hello. */
    uint64_t startup_interval_bytes;
    /* Behind this structure are that many bytes, less than HS_CTL_HEAPS_BYTES: which heaps such a
     * program records, as in HS_ENV_HEAPS. 0: all. */
    uint32_t heaps_bytes;
    uint32_t reserved0;
    uint64_t reserved[4];
};

_Static_assert(sizeof(struct hs_startup_hint_v1) == 64, "layout v1");

/* What heapscope's commands and a daemon send each other, on the same socket: one message is one
 * datagram, this head and behind it a protobuf message of src/ctl/ctl.proto. A body longer than
 * HS_CTL_BODY_MAX comes in a memfd of its own, the last descriptor of the datagram. */
#define HS_CTL_MAGIC   UINT64_C(0x31304c5443534548) /* "HESCTL01" read as little-endian */
#define HS_CTL_VERSION 1U
/* Of a Start that selects heaps: an older daemon, which would record malloc's alone, refuses it.
 * The answer has version 1. */
#define HS_CTL_VERSION_HEAPS 2U
#define HS_CTL_BODY_MAX      32768U
#define HS_CTL_FILE_MAX      (UINT64_C(64) << 20) /* bytes of a body in a file */

/* The head of a message. */
struct hs_ctl_head_v1 {
    uint64_t magic;
    uint32_t version;
    uint32_t kind;       /* enum hs_ctl_kind; the answer's kind is the request's + 1, or an error */
    uint32_t body_bytes; /* of what follows, or of the file */
    uint32_t flags;      /* enum hs_ctl_flag */
};

/* Kinds of messages. */
enum hs_ctl_kind {
    HS_CTL_ERROR,
    HS_CTL_START = 2,
    HS_CTL_STARTED,
    HS_CTL_STOP,
    HS_CTL_STOPPED,
    HS_CTL_LIST,
    HS_CTL_LISTED,
    HS_CTL_SNAPSHOT,
    HS_CTL_SNAPPED,
    HS_CTL_DUMP,
    HS_CTL_DUMPED,
    HS_CTL_WATCH,
    HS_CTL_WATCHED,
    HS_CTL_NEXT, /* these two on the connection of a watch only */
    HS_CTL_UPDATE,
    HS_CTL_KIND_N,
};

/* Why an update is the last one. */
enum hs_watch_end {
    HS_WATCH_GOES_ON,
    HS_WATCH_END_PROCESS, /* the process ended, executed another program, or is recorded no more */
    HS_WATCH_END_FAILED,  /* the region could not be read */
    HS_WATCH_END_N,
};

/* Flags of a message. */
enum hs_ctl_flag {
    HS_CTL_IN_FILE = 1U << 0, /* the body is in the last descriptor */
};

_Static_assert(sizeof(struct hs_ctl_head_v1) == 24, "layout v1");
