/*
 * The handshake: how a region gets from the process that writes it to the collector.
 *
 * A collector listens on a SOCK_SEQPACKET unix socket with an abstract name, so that nothing is left
 * in the file system and a target in a chroot still finds it. The target learns the name from its
 * environment. At its first allocation a client makes its region, connects, sends ONE message (the
 * hello below, with the region's memfd as SCM_RIGHTS) and closes socket and memfd: it waits for no
 * answer and keeps no descriptor. What was sent on a connection outlives its sender, so a process
 * that dies at once is still profiled.
 *
 * Without a collector's name in its environment a client looks for a daemon, at most at three paths
 * (HS_ENV_SOCKET, HS_ENV_RUNTIME_FOLDER, HS_CTL_SYSTEM_SOCKET): one try each, and only one whose
 * daemon runs as root or as the client's own user. It sends the same hello there, usually with
 * HS_HELLO_DORMANT: it records nothing until a session of the daemon begins on it. A program that is
 * to be recorded from its first allocation cannot wait for an answer: so a daemon keeps a board beside
 * its socket, which says whether to begin at once.
 *
 * A process image is one hello. exec gives the same pid a new image, hence a second hello, which
 * tells the collector that the first image is final.
 *
 * Holds     little-endian, naturally aligned; unknown flags and reserved fields are 0.
 * Trust     the collector checks the peer's credentials, believes the kernel about its pid, and
 *           treats every byte of the hello as hostile. A client treats its environment as untrusted
 *           text: a name longer than HS_CTL_NAME_MAX, or a failed connect, means "no session".
 * See       region_layout.h for what the memfd holds; docs/FORMAT.md.
 */
#pragma once

#include <stdint.h>

/* Environment of a profiled program. */
#define HS_ENV_COLLECTOR  "HEAPSCOPE_COLLECTOR"  /* abstract socket name, without the leading NUL */
#define HS_ENV_INTERVAL   "HEAPSCOPE_INTERVAL"   /* mean bytes between samples, decimal, >= 1 */
#define HS_ENV_FOLLOW     "HEAPSCOPE_FOLLOW"     /* "0": only HS_ENV_FOLLOW_PID records; else "1" */
#define HS_ENV_FOLLOW_PID "HEAPSCOPE_FOLLOW_PID" /* decimal, as the target sees itself */
#define HS_ENV_SEED       "HEAPSCOPE_SEED"       /* the user's, for repeatable runs */

/* Where a daemon may listen: a socket of this path, else below this folder, else at a fixed place. */
#define HS_ENV_SOCKET         "HEAPSCOPE_SOCKET"
#define HS_ENV_RUNTIME_FOLDER "XDG_RUNTIME_DIR"
#define HS_CTL_SOCKET_NAME    "heapscope.sock"
#define HS_CTL_SYSTEM_SOCKET  "/run/heapscope/heapscope.sock"
#define HS_CTL_PATH_MAX       107U /* bytes of a path, which begins with '/'; abstract names do not */
/* "0" (no, off, false): this process does not announce itself, and is not attached to; "1" (yes, on, true): it agrees
 * to be profiled by its user though it is not dumpable. Not believed of what runs with more rights than who started
 * it. `heapscope run` takes the variable away from the program that it is told to start. */
#define HS_ENV_PROFILEABLE "HEAPSCOPE_PROFILEABLE"

/* Names of sockets of collectors that are no daemon, and behind it 32 hexadecimal digits. */
#define HS_CTL_COLLECTOR_PREFIX "heapscope-"
#define HS_CTL_NAME_MAX         64U /* bytes of an abstract name, without its leading NUL */
#define HS_CTL_CONNECT_MAX      64U /* tries of a client to connect while the queue is full */
#define HS_CTL_HELLO_FDS        1U  /* descriptors that come with a hello: the region */

#define HS_HELLO_MAGIC          UINT64_C(0x31304f4c4c454853) /* "SHELLO01" read as little-endian */
#define HS_HELLO_VERSION        1U

enum hs_hello_flag {
    /* The executable itself defines malloc: its allocations don't pass through the client. */
    HS_HELLO_OWN_MALLOC = 1U << 0,
    /* Nothing is recorded so far: it waits for a session. */
    HS_HELLO_DORMANT = 1U << 1,
    /* The client was loaded into a process that ran already: it can be let go of. */
    HS_HELLO_LATE = 1U << 2,
    /* HS_ENV_PROFILEABLE is "1": it agrees, also where its user alone would not be enough. */
    HS_HELLO_WILLING = 1U << 3,
    /* With HS_HELLO_OWN_MALLOC: it waits on this connection, see HS_WAITING_SYMBOL. */
    HS_HELLO_WAITS = 1U << 4,
};

struct hs_hello_v1 {
    uint64_t magic;
    uint32_t version;
    uint32_t hello_bytes;  /* sizeof(struct hs_hello_v1); a later version may be longer */
    uint32_t pid;          /* as the target sees itself; another one in a pid namespace */
    uint32_t flags;        /* enum hs_hello_flag */
    uint64_t region_bytes; /* size of the memfd */
    uint64_t reserved[4];
};

_Static_assert(sizeof(struct hs_hello_v1) == 64, "layout v1");

/*
 * Attaching: a process that runs already is made to call these functions of the client library, each
 * `int f(void *)`, by whoever attaches to it. 0, or -errno: -EBUSY: somebody else records it; -EAGAIN: a thread is
 * in the middle of recording for who was there before, a moment later will do.
 * A library of another version knows other names.
 */
#define HS_ATTACH_ENTRY "heapscope_attach_v1" /* begin to record; struct hs_attach_v1 */
#define HS_DETACH_ENTRY "heapscope_detach_v1" /* stop, and undo; struct hs_detach_v1 */
#define HS_REFRESH_ENTRY                                                                           \
    "heapscope_refresh_v1" /* libraries were loaded since; struct hs_refresh_v1 */

enum hs_attach_flag {
    HS_ATTACH_TAKE_OVER = 1U << 0, /* whoever records it is gone */
    HS_ATTACH_FOLLOW = 1U << 1,    /* forked children announce themselves at `collector` */
    HS_ATTACH_SANDBOX = 1U << 2,   /* it runs below a seccomp filter already */
    HS_ATTACH_IMPATIENT =
        1U << 3, /* no more -EAGAIN: a thread that records still may make an odd record */
};

struct hs_attach_v1 {
    uint32_t attach_bytes; /* sizeof(struct hs_attach_v1) */
    uint32_t flags;        /* enum hs_attach_flag */
    uint64_t interval_bytes;
    uint64_t seed;                       /* 0: a random one */
    char collector[HS_CTL_PATH_MAX + 1]; /* as hs_register_connect() wants it: name or path */
    /* Answers. */
    int32_t region_fd; /* a descriptor of the target's, to be taken and closed; -1: none */
    uint64_t region_bytes;
    uint32_t hello_flags; /* enum hs_hello_flag */
    uint32_t slot_count;  /* pointers that lead to the client now; 0: it was preloaded */
    uint32_t left_count;  /* that would not be changed: they lead elsewhere */
    /* Who attaches, as it sees itself. With -EBUSY, who records it, as the control page says; 0: unknown. */
    uint32_t collector_pid;
    uint64_t collector_start_ticks;
    uint32_t reserved[6];
};

struct hs_detach_v1 {
    uint32_t detach_bytes;
    uint32_t flags;
    /* Answers. */
    uint32_t slot_count; /* pointers that lead where they did before */
    uint32_t was_quiet;  /* 1: the tables are gone; 0: a thread is still at it, call again */
    uint32_t reserved[12];
};

struct hs_refresh_v1 {
    uint32_t refresh_bytes;
    uint32_t flags;
    /* Answers. */
    uint32_t slot_count; /* pointers that lead to the client now, in addition */
    uint32_t left_count;
    uint32_t reserved[12];
};

/*
 * An allocator that is part of the executable is called there without a pointer that could be changed: the entries
 * of its functions are (arch/detour.h). Whoever attaches makes up the code for it, from outside, and has it put in
 * its place by this function of the client, which then calls the allocator by it; only then, with all threads stopped, the
 * entries are changed. It comes in pieces, one a call, the first of which begins anew. 0, or -errno: -EEXIST: there is
 * something at slots_va; -EPERM: the kernel allows no new code; -EALREADY: there are detours, and they stay as they are
 * for as long as the process lives. With no rows at all: nothing is done.
 */
#define HS_DETOUR_ENTRY "heapscope_detour_v1" /* struct hs_detour_request_v1 */
/* What is there, for who comes later: struct hs_detours_v1, to be read from outside. */
#define HS_DETOURS_SYMBOL "heapscope_detours_v1"
/* The hooks of fmt/allocator_functions.h, in its order: their number (8 bytes), and the address of each. */
#define HS_OWN_HOOKS_SYMBOL    "heapscope_own_hooks_v1"
#define HS_DETOUR_ROWS_MAX     128U
#define HS_DETOUR_NAME_BYTES   40U
#define HS_DETOUR_CHANGE_BYTES 8U

struct hs_detour_row_v1 {
    char name[HS_DETOUR_NAME_BYTES]; /* cut; with a NUL at its end */
    uint64_t entry_va;               /* several names may have one */
    uint64_t real_va;                /* what to call instead of it */
    uint8_t was[HS_DETOUR_CHANGE_BYTES];
    uint8_t now[HS_DETOUR_CHANGE_BYTES];
    uint32_t change_bytes; /* of these */
    /* 1 + the number of its hook, see fmt/allocator_functions.h. 0: its name is that of a hook, and of what the process calls by it */
    uint32_t own_number;
};

struct hs_detours_v1 {
    uint32_t detours_bytes; /* sizeof(struct hs_detours_v1) */
    uint32_t count;
    uint64_t slots_va; /* whole pages, for good */
    struct hs_detour_row_v1 rows[HS_DETOUR_ROWS_MAX];
};

/*
 * A program that is recorded from its start, and has such an allocator, is not attached to: the client is there. It
 * says HS_HELLO_WAITS, keeps the connection, and waits until it is hung up on, HS_WAITING_MAX_MS at most. Meanwhile
 * the collector writes a request into its memory, at this symbol, and sends a datagram of one byte. The client does
 * with it what HS_DETOUR_ENTRY would, and answers with that function's value, an int32_t. Then the entries are changed.
 *
 * A request is code. That it comes by way of memory, where the kernel asks who may trace whom, and not by the
 * connection, is the proof that it comes from somebody who could have put it anywhere: of the byte alone nothing comes.
 */
#define HS_WAITING_SYMBOL         "heapscope_waiting_v1" /* struct hs_detour_request_v1 */
#define HS_WAITING_MAX_MS         2000U

#define HS_DETOUR_SLOTS_BYTES_MAX 8192U
/* In one piece. */
#define HS_DETOUR_PIECE_ROWS        32U
#define HS_DETOUR_PIECE_SLOTS_BYTES 2048U

struct hs_detour_request_v1 {
    uint32_t request_bytes; /* sizeof(struct hs_detour_request_v1) */
    uint32_t is_last;
    uint32_t row_first; /* so many came before */
    uint32_t row_count;
    uint64_t slots_va;
    uint32_t slots_all_bytes; /* of all pieces */
    uint32_t slots_off;
    uint32_t slots_bytes;
    uint32_t reserved;
    struct hs_detour_row_v1 rows[HS_DETOUR_PIECE_ROWS];
    uint8_t slots[HS_DETOUR_PIECE_SLOTS_BYTES];
};

_Static_assert(sizeof(struct hs_detour_row_v1) == 80 && sizeof(struct hs_detour_request_v1) == 4648,
               "layout v1");

_Static_assert(sizeof(struct hs_attach_v1) == 192 && sizeof(struct hs_detach_v1) == 64 &&
                   sizeof(struct hs_refresh_v1) == 64,
               "layout v1");

/*
 * The board: a file beside a daemon's socket, SOCKET.board. It is replaced as a whole (rename), and
 * believed when it belongs to root or to the client's own user.
 */
#define HS_STARTUP_HINT_SUFFIX  ".board"
#define HS_STARTUP_HINT_MAGIC   UINT64_C(0x3130445241424853) /* "SHBARD01" read as little-endian */
#define HS_STARTUP_HINT_VERSION 1U

struct hs_startup_hint_v1 {
    uint64_t magic;
    uint32_t version;
    uint32_t board_bytes; /* sizeof(struct hs_startup_hint_v1); a later version may be longer */
    /* Programs that start now record at once, with this interval: the smallest of all sessions that
     * wait for programs to start. 0: none does. Who is not meant is told right after its hello. */
    uint64_t startup_interval_bytes;
    uint64_t reserved[5];
};

_Static_assert(sizeof(struct hs_startup_hint_v1) == 64, "layout v1");

/*
 * What heapscope's commands and a daemon say to each other, on the same socket: one message is one
 * datagram, this head and behind it a protobuf message of src/ctl/ctl.proto. A body that is longer
 * than HS_CTL_BODY_MAX comes in a memfd of its own, the last descriptor of the datagram.
 */
#define HS_CTL_MAGIC    UINT64_C(0x31304c5443534548) /* "HESCTL01" read as little-endian */
#define HS_CTL_VERSION  1U
#define HS_CTL_BODY_MAX 32768U
#define HS_CTL_FILE_MAX (UINT64_C(64) << 20) /* of a body in a file */

struct hs_ctl_head_v1 {
    uint64_t magic;
    uint32_t version;
    uint32_t kind;       /* enum hs_ctl_kind; the answer's kind is the request's + 1, or an error */
    uint32_t body_bytes; /* of what follows, or of the file */
    uint32_t flags;      /* enum hs_ctl_flag */
};

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
    HS_CTL_KIND_N,
};

enum hs_ctl_flag {
    HS_CTL_IN_FILE = 1U << 0, /* the body is in the last descriptor */
};

_Static_assert(sizeof(struct hs_ctl_head_v1) == 24, "layout v1");
