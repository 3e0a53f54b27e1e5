/*
 * See module_file.h.
 */
#include "collect/unwind_tables/module_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rt/base.h"
#include "unwind/eh_find.h"
#include "unwind/eh_pointer.h"
#include "util/array.h"

#define HEADERS_MAX  128U
#define SECTIONS_MAX 128U
/* An .eh_frame that is longer than this is not a few rules of the start-up code. */
#define EH_FRAME_MAX_BYTES (UINT64_C(64) << 20)
/* Behind the start of the last FDE. */
#define FDE_MAX_BYTES 65536U
#define HDR_MAX_BYTES (UINT64_C(32) << 20)
/* The linker's and the C library's own pieces have no rules either. */
#define GAP_PERCENT 5U

/* Between functions. */
#define PADDING_BYTES 64U
/* Of a module with so much code, .eh_frame is not read if its header names a function for every so
 * many bytes of it, and all but a few are near the next one. */
#define LARGE_CODE_BYTES (UINT64_C(4) << 20)
#define DENSE_EACH_BYTES 1024U
#define FAR_BYTES        65536

struct headers {
    Elf64_Phdr items[HEADERS_MAX];
    unsigned count;
    Elf64_Ehdr elf;
};

int hs_module_file_open(pid_t pid, const char *path, uint64_t inode, char *ret_path,
                        size_t ret_path_bytes)
{
    int err = -ENOENT;
    if (path[0] != '/') {
        return err;
    }
    /* The plain path first: debug files are searched beside it. */
    for (unsigned is_rooted = 0; is_rooted < 2; is_rooted++) {
        struct stat status;
        int bytes = is_rooted
                        ? snprintf(ret_path, ret_path_bytes, "/proc/%d/root%s", (int)pid, path)
                        : snprintf(ret_path, ret_path_bytes, "%s", path);
        int fd = bytes >= 0 && (size_t)bytes < ret_path_bytes
                     ? open(ret_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
                     : -1;
        if (fd < 0) {
            continue;
        }
        if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_ino == inode) {
            return fd;
        }
        close(fd);
        err = -ESTALE;
    }
    return err;
}

/* Reads exactly `bytes`. */
static bool read_at(int fd, uint64_t off, void *ret_data, size_t bytes)
{
    return off <= INT64_MAX && pread(fd, ret_data, bytes, (off_t)off) == (ssize_t)bytes;
}

static int read_headers(int fd, struct headers *ret_headers)
{
    Elf64_Ehdr elf = { .e_shnum = 0 };
    if (!read_at(fd, 0, &elf, sizeof(elf)) || memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
        elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_ident[EI_DATA] != ELFDATA2LSB ||
        elf.e_phentsize != sizeof(Elf64_Phdr) || elf.e_phnum > HEADERS_MAX ||
        !read_at(fd, elf.e_phoff, ret_headers->items, elf.e_phnum * sizeof(Elf64_Phdr))) {
        return -ENOEXEC;
    }
    ret_headers->count = elf.e_phnum;
    ret_headers->elf = elf;
    return 0;
}

static void read_build_id(int fd, const Elf64_Phdr *header, struct hs_module_file *file)
{
    uint8_t notes[4096];
    size_t bytes = header->p_filesz < sizeof(notes) ? header->p_filesz : sizeof(notes);
    uint64_t off = 0;
    if (!read_at(fd, header->p_offset, notes, bytes)) {
        return;
    }
    while (off + sizeof(Elf64_Nhdr) <= bytes) {
        Elf64_Nhdr note;
        memcpy(&note, notes + off, sizeof(note));
        uint64_t name_off = off + sizeof(note);
        uint64_t desc_off = name_off + hs_align_up(note.n_namesz, 4);
        uint64_t next_off = desc_off + hs_align_up(note.n_descsz, 4);
        if (next_off > bytes) {
            return;
        }
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(notes + name_off, "GNU", 4) == 0) {
            size_t id_bytes =
                note.n_descsz < sizeof(file->build_id) ? note.n_descsz : sizeof(file->build_id);
            memcpy(file->build_id, notes + desc_off, id_bytes);
            file->build_id_bytes = (uint8_t)id_bytes;
            return;
        }
        off = next_off;
    }
}

static int compare(const void *a, const void *b)
{
    const struct hs_code_range *left = a, *right = b;
    return (left->start_sva > right->start_sva) - (left->start_sva < right->start_sva);
}

static void take_code(uint64_t sva, uint64_t bytes, struct hs_module_file *file)
{
    uint64_t end_sva;
    if (bytes > 0 && !__builtin_add_overflow(sva, bytes, &end_sva) &&
        file->code_count < HS_MODULE_FILE_CODES_MAX) {
        file->codes[file->code_count++] = (struct hs_code_range){ sva, end_sva };
        file->code_bytes += bytes;
    }
}

static void take_segment(const Elf64_Phdr *header, struct hs_module_file *file)
{
    if (file->exec_bytes == 0) {
        file->exec_off = header->p_offset;
        file->exec_sva = header->p_vaddr;
        file->exec_bytes = header->p_memsz;
    }
    take_code(header->p_vaddr, header->p_memsz, file);
}

/* Sections say it more precisely: a segment with code may have read-only data, too. */
static void take_sections(int fd, const Elf64_Ehdr *elf, struct hs_module_file *file)
{
    Elf64_Shdr sections[SECTIONS_MAX];
    struct hs_module_file with_sections = { .code_count = 0 };
    if (elf->e_shentsize != sizeof(sections[0]) || elf->e_shnum > SECTIONS_MAX ||
        !read_at(fd, elf->e_shoff, sections, elf->e_shnum * sizeof(sections[0]))) {
        return;
    }
    for (unsigned i = 0; i < elf->e_shnum; i++) {
        const uint64_t flags = SHF_ALLOC | SHF_EXECINSTR;
        if (sections[i].sh_type == SHT_PROGBITS && (sections[i].sh_flags & flags) == flags) {
            take_code(sections[i].sh_addr, sections[i].sh_size, &with_sections);
        }
    }
    if (with_sections.code_count > 0 && with_sections.code_count < HS_MODULE_FILE_CODES_MAX) {
        memcpy(file->codes, with_sections.codes, sizeof(file->codes));
        file->code_count = with_sections.code_count;
        file->code_bytes = with_sections.code_bytes;
        qsort(file->codes, file->code_count, sizeof(file->codes[0]), compare);
    }
}

/* Is this a small part of the module's code? */
static bool is_small(const struct hs_module_file *file, uint64_t bytes)
{
    return bytes / GAP_PERCENT <= file->code_bytes / 100;
}

/* --- .eh_frame -------------------------------------------------------------------------------- */

/* A part of the file in memory. */
struct part {
    uint8_t *bytes;
    struct hs_span span;
};

/* Reads at most `bytes_max` bytes at a link-time address; less if the segment ends before. */
static bool read_part(int fd, const struct headers *headers, uint64_t sva, uint64_t bytes_max,
                      struct part *ret_part)
{
    for (unsigned i = 0; i < headers->count; i++) {
        const Elf64_Phdr *header = &headers->items[i];
        uint64_t off = sva - header->p_vaddr;
        if (header->p_type != PT_LOAD || off >= header->p_filesz) {
            continue;
        }
        uint64_t bytes = header->p_filesz - off < bytes_max ? header->p_filesz - off : bytes_max;
        uint8_t *room = malloc(bytes);
        if (!room || !read_at(fd, header->p_offset + off, room, bytes)) {
            free(room);
            return false;
        }
        *ret_part = (struct part){ room, { .bytes = room, .va = sva, .size_bytes = bytes } };
        return true;
    }
    return false;
}

/* What the header of .eh_frame says. */
struct eh_hdr {
    uint64_t frame_sva;
    uint64_t last_sva; /* no FDE begins behind this; UINT64_MAX: there is no table */
    uint64_t count;
    uint64_t far_bytes; /* the distances between functions that are far from each other */
};

static bool read_eh_hdr(const struct hs_span *hdr, struct eh_hdr *ret_hdr)
{
    struct hs_cursor c = hs_cursor_over(hdr);
    uint8_t version = hs_cursor_u8(&c);
    uint8_t frame_enc = hs_cursor_u8(&c);
    uint8_t count_enc = hs_cursor_u8(&c);
    uint8_t table_enc = hs_cursor_u8(&c);
    *ret_hdr = (struct eh_hdr){ .frame_sva = hs_cursor_pointer(&c, frame_enc, 0, hdr->va),
                                .last_sva = UINT64_MAX };
    if (c.is_bad || version != 1 || frame_enc == HS_EH_PE_OMIT) {
        return false;
    }
    if (count_enc == HS_EH_PE_OMIT || table_enc != (HS_EH_PE_DATAREL | HS_EH_PE_SDATA4)) {
        return true;
    }
    uint64_t count = hs_cursor_pointer(&c, count_enc, 0, 0);
    uint64_t last_sva = ret_hdr->frame_sva;
    int64_t before = 0;
    for (uint64_t i = 0; i < count && !c.is_bad; i++) {
        int64_t start = hs_cursor_sint(&c, 4);
        uint64_t fde_sva = hdr->va + (uint64_t)hs_cursor_sint(&c, 4);
        last_sva = fde_sva > last_sva ? fde_sva : last_sva;
        bool is_far = i > 0 && start - before > FAR_BYTES;
        ret_hdr->far_bytes += is_far ? (uint64_t)(start - before) : 0;
        before = start;
    }
    ret_hdr->last_sva = c.is_bad ? UINT64_MAX : last_sva;
    ret_hdr->count = c.is_bad ? 0 : count;
    return true;
}

struct covering {
    struct hs_module_file *file;
    size_t capacity;
};

static int take_range(void *ctx, uint64_t start_sva, uint64_t length_bytes, uint64_t fde_off)
{
    struct covering *covering = ctx;
    struct hs_module_file *file = covering->file;
    uint64_t end_sva;
    (void)fde_off;
    if (length_bytes == 0 || __builtin_add_overflow(start_sva, length_bytes, &end_sva)) {
        return 0;
    }
    int err = hs_array_reserve(&file->covered, &covering->capacity, file->covered_count + 1,
                               sizeof(*file->covered));
    if (err == 0) {
        file->covered[file->covered_count++] = (struct hs_code_range){ start_sva, end_sva };
    }
    return err;
}

/* What cannot be read covers nothing. */
static int read_eh_frame(int fd, const struct headers *headers, const Elf64_Phdr *eh_header,
                         struct hs_module_file *file)
{
    struct part hdr, frame;
    struct eh_hdr eh;
    uint64_t hdr_bytes = eh_header->p_memsz < HDR_MAX_BYTES ? eh_header->p_memsz : HDR_MAX_BYTES;
    if (!read_part(fd, headers, eh_header->p_vaddr, hdr_bytes, &hdr)) {
        return 0;
    }
    bool is_found = read_eh_hdr(&hdr.span, &eh);
    free(hdr.bytes);
    file->is_dense = is_found && file->code_bytes >= LARGE_CODE_BYTES &&
                     eh.count >= file->code_bytes / DENSE_EACH_BYTES &&
                     is_small(file, eh.far_bytes);
    uint64_t bytes = eh.last_sva - eh.frame_sva < EH_FRAME_MAX_BYTES
                         ? eh.last_sva - eh.frame_sva + FDE_MAX_BYTES
                         : EH_FRAME_MAX_BYTES;
    if (!is_found || file->is_dense || !read_part(fd, headers, eh.frame_sva, bytes, &frame)) {
        return 0;
    }
    struct covering covering = { .file = file };
    int err = hs_eh_each(&frame.span, false, take_range, &covering);
    free(frame.bytes);
    if (file->covered_count > 0) {
        qsort(file->covered, file->covered_count, sizeof(*file->covered), compare);
    }
    return err == -ENOMEM ? err : 0;
}

int hs_module_file_read(int fd, struct hs_module_file *ret_file)
{
    struct headers headers;
    struct hs_module_file file = { .code_count = 0 };
    const Elf64_Phdr *eh_header = NULL;
    int err = read_headers(fd, &headers);
    for (unsigned i = 0; err == 0 && i < headers.count; i++) {
        const Elf64_Phdr *header = &headers.items[i];
        if (header->p_type == PT_LOAD && header->p_flags & PF_X) {
            take_segment(header, &file);
        } else if (header->p_type == PT_NOTE && file.build_id_bytes == 0) {
            read_build_id(fd, header, &file);
        } else if (header->p_type == PT_GNU_EH_FRAME) {
            eh_header = header;
        }
    }
    if (err == 0) {
        take_sections(fd, &headers.elf, &file);
    }
    if (err == 0 && eh_header) {
        err = read_eh_frame(fd, &headers, eh_header, &file);
    }
    if (err) {
        hs_module_file_deinit(&file);
        return err;
    }
    *ret_file = file;
    return 0;
}

void hs_module_file_deinit(struct hs_module_file *file)
{
    free(file->covered);
    file->covered = NULL;
    file->covered_count = 0;
}

bool hs_module_file_has_gaps(const struct hs_module_file *file)
{
    uint64_t gap_bytes = 0;
    size_t next = 0;
    for (uint32_t i = 0; i < file->code_count && !file->is_dense; i++) {
        uint64_t at = file->codes[i].start_sva, end = file->codes[i].end_sva;
        for (; next < file->covered_count && file->covered[next].start_sva < end; next++) {
            const struct hs_code_range *covered = &file->covered[next];
            if (covered->start_sva > at && covered->start_sva - at > PADDING_BYTES) {
                gap_bytes += covered->start_sva - at;
            }
            at = covered->end_sva > at ? covered->end_sva : at;
        }
        gap_bytes += end > at ? end - at : 0;
    }
    return !is_small(file, gap_bytes);
}

bool hs_module_file_is_covered(const struct hs_module_file *file, uint64_t sva)
{
    size_t first = 0, n = file->covered_count;
    while (n > 0) {
        size_t half = n / 2;
        if (file->covered[first + half].start_sva <= sva) {
            first += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return first > 0 && sva < file->covered[first - 1].end_sva;
}
