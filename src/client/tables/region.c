/*
 * Creating the region and extending its views. See region.h.
 */
#include "client/tables/region.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "client/host/memfd.h"
#include "client/host/own_ranges.h"
#include "client/host/pages.h"
#include "client/host/sandbox.h"
#include "client/tables/unwind_tables.h"
#include "rt/sys.h"

struct hs_region hs_region;
union hs_control_page hs_control_page __attribute__((aligned(HS_CONTROL_PAGE_BYTES)));

/* First views are small; each later one is eight times as long. */
#define VIEW_GROWTH_SHIFT 3

#define HEADER_BYTES      HS_REGION_HEADER_PAGES_BYTES

struct section_plan {
    uint64_t max_count;
    uint32_t first_count;
};

static const struct section_plan plans[HS_SECTION_N] = {
    [HS_SECTION_BLOCKS] = { UINT64_C(1) << 20, 64 },
    [HS_SECTION_THREADS] = { HS_THREAD_ID_MAX + 1, 512 },
    [HS_SECTION_MODULES] = { UINT64_C(1) << 16, 256 },
    [HS_SECTION_BYTES] = { UINT64_C(1) << 30, 65536 },
    [HS_SECTION_FRAMES] = { UINT64_C(1) << 28, 4096 },
    [HS_SECTION_FRAME_IDS] = { UINT64_C(1) << 32, 32768 },
    [HS_SECTION_STACKS] = { UINT64_C(1) << 26, 2048 },
    [HS_SECTION_RECORDS] = { UINT64_C(1) << 31, 8192 },
    [HS_SECTION_HEAPS] = { HS_REGION_HEAPS, HS_REGION_HEAPS },
    [HS_SECTION_TYPES] = { HS_TYPES_MAX, 128 },
    [HS_SECTION_SCOPES] = { UINT64_C(1) << 18, 128 },
    [HS_SECTION_LIFETIMES] = { UINT64_C(1) << 26, 128 },
    [HS_SECTION_UNWIND_TABLES] = { UINT64_C(1) << 28, 0 },
    [HS_SECTION_CODE_NAMES] = { HS_CODE_NAMES_MAX, 128 },
};

static bool is_error(long result)
{
    return result < 0 && result > -4096;
}

/* Lays out the sections in the file and returns its size. Each step of `shift` halves the sections,
 * for processes whose file size is limited. The unwind tables come first, right behind the header:
 * see unwind_tables.c. */
static uint64_t lay_out(struct hs_section_v1 *sections, unsigned shift)
{
    uint64_t off = HS_REGION_HEADER_OFF + hs_align_up(sizeof(struct hs_region_header_v2), 4096);
    for (unsigned place = 0; place < HS_SECTION_N; place++) {
        unsigned i = place == 0                          ? HS_SECTION_UNWIND_TABLES
                     : place <= HS_SECTION_UNWIND_TABLES ? place - 1
                                                         : place;
        uint64_t count = plans[i].max_count >> shift;
        uint32_t elem_bytes = hs_section_elem_bytes(i);
        if (count < plans[i].first_count) {
            count = plans[i].first_count;
        }
        sections[i].file_off = off;
        sections[i].elem_bytes = elem_bytes;
        sections[i].max_count = count;
        off += hs_align_up(count * elem_bytes, 65536);
    }
    return off;
}

/* A file larger than RLIMIT_FSIZE would raise SIGXFSZ in the program. */
static uint64_t lay_out_within_limit(struct hs_section_v1 *sections)
{
    uint64_t limit[2] = { UINT64_MAX, UINT64_MAX };
    hs_sys_getrlimit(RLIMIT_FSIZE, limit);
    for (unsigned shift = 0; shift < 20; shift++) {
        uint64_t bytes = lay_out(sections, shift);
        if (bytes <= limit[0]) {
            return bytes;
        }
    }
    return 0;
}

static int make_file(uint64_t bytes, int *ret_fd)
{
    int fd = (int)hs_sys_memfd_create("heapscope", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        return fd;
    }
    long err = hs_sys_ftruncate(fd, bytes);
    if (!err) {
        err = hs_sys_fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    }
    if (err) {
        hs_sys_close(fd);
        return (int)err;
    }
    hs_memfd_note(fd);
    *ret_fd = fd;
    return 0;
}

/* `va` NULL: at any address. Returns the address, or an error. */
static long map_file(void *va, uint64_t bytes, int fd, uint64_t off)
{
    long mapped =
        hs_sys_mmap(va, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (va ? MAP_FIXED : 0), fd, off);
    if (!is_error(mapped)) {
        hs_sandbox_advise((void *)mapped, bytes, MADV_DONTDUMP);
    }
    return mapped;
}

/* The view of a section without room, and of the one that unwind_tables.c maps: no id is below its
 * count. */
static struct hs_region_view no_view;

static int map_sections(int fd, const struct hs_section_v1 *sections)
{
    for (unsigned i = 0; i < HS_SECTION_N; i++) {
        struct hs_region_view *views = hs_region.views[i];
        if (sections[i].max_count == 0 || i == HS_SECTION_UNWIND_TABLES) {
            hs_region.current[i] = &no_view;
            continue;
        }
        for (unsigned v = 0; v < HS_REGION_VIEWS; v++) {
            uint64_t count = (uint64_t)plans[i].first_count << (VIEW_GROWTH_SHIFT * v);
            views[v].count = count < sections[i].max_count ? count : sections[i].max_count;
        }
        long va = map_file(NULL, hs_region_view_bytes(i, 0), fd, sections[i].file_off);
        if (is_error(va)) {
            return (int)va;
        }
        views[0].base = (uint8_t *)va;
        hs_region.current[i] = &views[0];
    }
    return 0;
}

void hs_region_describe_process(struct hs_region_header_v2 *header)
{
    header->pid = hs_sys_getpid();
    header->ppid = hs_sys_getppid();
    header->start_mono_ns = hs_sys_clock_ns(CLOCK_MONOTONIC);
    header->start_real_ns = hs_sys_clock_ns(CLOCK_REALTIME);
    header->start_boot_ns = hs_sys_clock_ns(CLOCK_BOOTTIME);
    hs_sys_thread_name(header->comm);
}

/* Fills the control page and the header, which are zero before. */
static void start_head(struct hs_region_control_v1 *control, struct hs_region_header_v2 *header)
{
    header->magic = HS_REGION_MAGIC;
    header->version = HS_REGION_VERSION;
    header->header_bytes = sizeof(*header);
    hs_region_describe_process(header);
    header->page_bytes = HS_CONTROL_PAGE_BYTES;
    header->interval_count = 1;
    header->own_ranges_va = (uint64_t)(uintptr_t)&hs_own_ranges;
    for (unsigned i = 0; i < HS_SECTION_N; i++) {
        *hs_region_section(header, i) = hs_region.layout[i];
    }
    /* Entry 0 of each of these means "none". */
    header->sections[HS_SECTION_BYTES].count = 1;
    header->sections[HS_SECTION_THREADS].count = 1;
    header->sections[HS_SECTION_HEAPS].count = 1; /* malloc's */
    header->sections[HS_SECTION_SCOPES].count = HS_SCOPE_OTHER + 1;
    header->sections[HS_SECTION_TYPES].count = HS_TYPE_OTHER + 1;
    hs_region_section(header, HS_SECTION_CODE_NAMES)->count = 1;
    header->python_state = hs_region.python_state;
    header->python_version = hs_region.python_version;
    __builtin_memcpy(header->script_states, hs_region.script_states, 8);
    control->heap_selection.other_interval_bytes = HS_INTERVAL_SAME;
    control->epoch = 2;
    control->magic = HS_REGION_MAGIC;
}

static void note_start(void)
{
    hs_region.start_ms = (int64_t)(hs_region.header->start_mono_ns / 1000000);
}

uint32_t hs_region_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    int64_t ms =
        now.tv_sec * 1000 + (int64_t)((uint32_t)now.tv_nsec / 1000000) - hs_region.start_ms;
    return ms > 0 ? (uint32_t)ms : 1;
}

int hs_region_create(int *ret_fd)
{
    uint64_t file_bytes = lay_out_within_limit(hs_region.layout);
    if (file_bytes == 0) {
        return -EFBIG;
    }
    int fd = -1;
    long err = make_file(file_bytes, &fd);
    if (err) {
        return (int)err;
    }
    err = map_sections(fd, hs_region.layout);
    if (!err) {
        long va = map_file(NULL, HEADER_BYTES, fd, HS_REGION_HEADER_OFF);
        long page = map_file(&hs_control_page, HS_CONTROL_PAGE_BYTES, fd, HS_REGION_CONTROL_OFF);
        err = is_error(va) ? va : is_error(page) ? page : 0;
        if (!err) {
            hs_region.header = (struct hs_region_header_v2 *)va;
            hs_region.file_bytes = file_bytes;
            start_head(&hs_control_page.control, hs_region.header);
            note_start();
            *ret_fd = fd;
            return 0;
        }
    }
    hs_sys_close(fd);
    return (int)err;
}

int hs_region_create_file(int *ret_fd)
{
    uint64_t limit[2] = { UINT64_MAX, UINT64_MAX };
    hs_sys_getrlimit(RLIMIT_FSIZE, limit);
    return hs_region.file_bytes > limit[0] ? -EFBIG : make_file(hs_region.file_bytes, ret_fd);
}

/* Maps the control page and the header together, as they lie in the file. */
static int write_head(int fd)
{
    uint64_t bytes = HS_REGION_HEADER_OFF + HEADER_BYTES;
    long va = map_file(NULL, bytes, fd, 0);
    if (is_error(va)) {
        return (int)va;
    }
    struct hs_region_control_v1 *control = (void *)va;
    control->floor_bytes = hs_region.old_floor_bytes + 2 * HS_FLOOR_STEP;
    control->generation = hs_region.old_generation + 1;
    control->session = hs_region.session;
    start_head(control, (void *)(va + (long)HS_REGION_HEADER_OFF));
    control->flags = hs_region.old_flags;
    control->heap_selection = hs_region.old_selection;
    hs_sys_munmap((void *)va, bytes);
    return 0;
}

int hs_region_renew(int *ret_fd)
{
    int fd = -1;
    int err = hs_region_create_file(&fd);
    if (err) {
        return err;
    }
    err = write_head(fd);
    err = err ? err : hs_region_replace(fd);
    if (err) {
        hs_sys_close(fd);
        return err;
    }
    *ret_fd = fd;
    return 0;
}

/* Populates the used part of a section's current view; otherwise each page would be a fault of its
 * own. */
static void populate_used(enum hs_section_id section)
{
    const struct hs_section_v1 *info = hs_region_section(hs_region.header, section);
    const struct hs_region_view *view = hs_load_relaxed(&hs_region.current[section]);
    uint64_t count = info->count < view->count ? info->count : view->count;
    if (count > 0 && section != HS_SECTION_LIFETIMES) { /* which has holes */
        hs_pages_populate(view->base, hs_align_up(count * info->elem_bytes, 4096));
    }
}

int hs_region_replace(int fd)
{
    hs_store_relaxed(&hs_region.is_at_limit, false);
    hs_unwind_tables_change_region();
    /* The control page is replaced last: it tells threads that something has changed. */
    const struct hs_section_v1 *sections = hs_region.layout;
    for (unsigned i = 0; i < HS_SECTION_N; i++) {
        for (unsigned v = 0; v < HS_REGION_VIEWS; v++) {
            uint8_t *base = hs_load_relaxed(&hs_region.views[i][v].base);
            long va =
                base ? map_file(base, hs_region_view_bytes(i, v), fd, sections[i].file_off) : 0;
            if (is_error(va)) {
                return (int)va;
            }
        }
    }
    long va = map_file(hs_region.header, HEADER_BYTES, fd, HS_REGION_HEADER_OFF);
    long page = map_file(&hs_control_page, HS_CONTROL_PAGE_BYTES, fd, HS_REGION_CONTROL_OFF);
    for (unsigned i = 0; i < HS_SECTION_N && !is_error(va); i++) {
        populate_used(i);
    }
    if (is_error(va) || is_error(page)) {
        return is_error(va) ? (int)va : (int)page;
    }
    note_start();
    return 0;
}

static void map_nothing(void *va, uint64_t bytes)
{
    hs_sys_mmap(va, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void hs_region_forget(void)
{
    const struct hs_region_control_v1 *control = &hs_control_page.control;
    if (control->floor_bytes > hs_region.old_floor_bytes) {
        hs_region.old_floor_bytes = control->floor_bytes;
    }
    if (control->generation > hs_region.old_generation) {
        hs_region.old_generation = control->generation;
    }
    if (control->magic == HS_REGION_MAGIC) {
        hs_region.old_flags =
            control->flags & (HS_CONTROL_NO_MALLOC | HS_CONTROL_LIFETIMES | HS_CONTROL_NATIVE_ONLY);
        hs_region.old_selection = control->heap_selection;
    }
    map_nothing(&hs_control_page, HS_CONTROL_PAGE_BYTES);
}

void hs_region_abandon(void)
{
    hs_region_forget();
    hs_unwind_tables_abandon();
    map_nothing(hs_region.header, HEADER_BYTES);
    for (unsigned i = 0; i < HS_SECTION_N; i++) {
        for (unsigned v = 0; v < HS_REGION_VIEWS; v++) {
            uint8_t *base = hs_load_relaxed(&hs_region.views[i][v].base);
            if (base) {
                map_nothing(base, hs_region_view_bytes(i, v));
            }
        }
    }
}

/* Maps view `view_no` of a section, unless another thread has done so. Returns its base, or NULL
 * without address space. */
static uint8_t *map_view(enum hs_section_id section, unsigned view_no)
{
    struct hs_region_view *view = &hs_region.views[section][view_no];
    /* ORDER region-view: another thread's base, which we may be the first to publish. */
    uint8_t *base = hs_load_acquire(&view->base);
    if (base) {
        return base;
    }
    uint64_t bytes = hs_region_view_bytes(section, view_no);
    long va = hs_sys_mremap(hs_region.views[section][0].base, 0, bytes, MREMAP_MAYMOVE);
    if (is_error(va)) {
        return NULL;
    }
    hs_sandbox_advise((void *)va, bytes, MADV_DONTDUMP);
    /* ORDER region-view: as above. */
    if (!hs_cas_acq_rel(&view->base, &base, (uint8_t *)va)) {
        hs_sys_munmap((void *)va, bytes); /* another thread was first */
        return base;
    }
    hs_store_relaxed(&hs_region.carried_bytes[section], 0);
    return (uint8_t *)va;
}

HS_COLD void *hs_region_extend(enum hs_section_id section, uint64_t id)
{
    struct hs_region_view *views = hs_region.views[section];
    unsigned view_no = 0;
    while (view_no < HS_REGION_VIEWS && id >= views[view_no].count) {
        view_no++;
    }
    if (view_no == HS_REGION_VIEWS) {
        return NULL;
    }
    uint8_t *base = map_view(section, view_no);
    if (!base) {
        return NULL;
    }
    struct hs_region_view *current = hs_load_relaxed(&hs_region.current[section]);
    while (current < &views[view_no]) {
        /* ORDER region-view: a view's base before the view. */
        if (hs_cas_acq_rel(&hs_region.current[section], &current, &views[view_no])) {
            break;
        }
    }
    return base + id * hs_section_elem_bytes(section);
}

void hs_region_note_python(uint32_t state, uint32_t version)
{
    hs_region.python_state = state;
    hs_region.python_version = version;
    if (hs_region.header) {
        hs_region.header->python_state = state;
        hs_region.header->python_version = version;
    }
}

HS_COLD uint32_t hs_region_record_id_in_any(const struct hs_record_v1 *record)
{
    for (unsigned i = 0; i < HS_REGION_VIEWS; i++) {
        const struct hs_region_view *view = &hs_region.views[HS_SECTION_RECORDS][i];
        /* ORDER region-view: a view's base before the view. */
        const uint8_t *base = hs_load_acquire(&view->base);
        uint64_t id = ((uint64_t)record - (uint64_t)base) / sizeof(*record);
        if (base && id < view->count) {
            return (uint32_t)id;
        }
    }
    return UINT32_MAX;
}

uint32_t hs_region_put_bytes(const char *bytes, uint64_t len)
{
    uint64_t off = hs_region_take(HS_SECTION_BYTES, len + 1);
    /* The last byte's view covers the first's: views start at element 0. */
    if (off == UINT64_MAX || !hs_region_at(HS_SECTION_BYTES, off + len)) {
        return 0;
    }
    char *to = hs_region_at(HS_SECTION_BYTES, off);
    for (uint64_t i = 0; i < len; i++) {
        to[i] = bytes[i];
    }
    to[len] = '\0';
    return (uint32_t)off;
}

uint32_t hs_region_interval_idx(uint64_t interval_bytes)
{
    struct hs_region_header_v2 *header = hs_region.header;
    for (uint32_t i = 1; i < HS_REGION_INTERVALS; i++) {
        uint64_t unused = 0;
        uint64_t found = hs_load_relaxed(&header->interval_bytes[i]);
        if (found == interval_bytes) {
            return i;
        }
        if (found == 0 && (hs_cas_relaxed(&header->interval_bytes[i], &unused, interval_bytes) ||
                           unused == interval_bytes)) {
            hs_store_relaxed(&header->interval_count, i + 1);
            return i;
        }
    }
    return 0;
}

void hs_region_set_interval(uint64_t interval_bytes)
{
    struct hs_region_control_v1 *control = &hs_control_page.control;
    hs_store_relaxed(&control->interval_bytes, interval_bytes);
    /* ORDER settings: the interval before its generation. */
    hs_store_release(&control->generation, hs_load_relaxed(&control->generation) + 1);
    hs_add_relaxed(&control->floor_bytes, HS_FLOOR_STEP);
}

#if HS_HAS_CHECKS

static bool is_section_valid(enum hs_section_id section)
{
    const struct hs_section_v1 *info = hs_region_section(hs_region.header, section);
    const struct hs_region_view *views = hs_region.views[section];
    const struct hs_region_view *current = hs_region.current[section];
    if (info->max_count == 0 || section == HS_SECTION_UNWIND_TABLES) {
        return info->count == 0 && current == &no_view;
    }
    bool is_valid = info->count <= info->max_count &&
                    info->elem_bytes == hs_section_elem_bytes(section) && current >= views &&
                    current < views + HS_REGION_VIEWS && current->base;
    for (unsigned v = 0; is_valid && v < HS_REGION_VIEWS; v++) {
        is_valid = views[v].count <= hs_region.layout[section].max_count &&
                   (v == 0 || views[v].count >= views[v - 1].count);
    }
    if (is_valid && info->count > 0 && info->count <= current->count) {
        uintptr_t end_va = (uintptr_t)current->base + info->count * info->elem_bytes;
        is_valid = hs_sys_is_readable((end_va - 1) & ~(uintptr_t)7);
    }
    return is_valid;
}

bool hs_region_is_valid(void)
{
    bool is_valid = hs_region.header && hs_region.header->magic == HS_REGION_MAGIC &&
                    hs_control_page.control.magic == HS_REGION_MAGIC;
    for (unsigned i = 0; is_valid && i < HS_SECTION_N; i++) {
        is_valid = is_section_valid(i);
    }
    return is_valid;
}

#endif
