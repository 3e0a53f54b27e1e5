/*
 * Parses CIEs and FDEs, and finds the FDE for an address.
 *
 *   length  u32 (or 0xffffffff and u64)
 *   id      .eh_frame: 0 in a CIE, otherwise the distance back to the CIE;
 *           .debug_frame: all ones in a CIE, otherwise the CIE's offset in the section
 *   CIE:    version, augmentation string, alignments, return register, [blob], instructions
 *   FDE:    start, length, [blob], instructions
 */
#include "unwind/eh_find.h"

#include <errno.h>

#include "arch/regs.h"
#include "rt/atomic.h"
#include "rt/check.h"
#include "unwind/eh_pointer.h"

/* One section, and how its entries refer to each other. */
struct section {
    struct hs_cursor all;
    bool is_debug;
    uint64_t abs_bias;
};

struct entry {
    const uint8_t *at;     /* its length */
    struct hs_cursor body; /* behind the id */
    struct hs_cursor cie;  /* in an FDE: where its CIE starts; reaches to the end of the section */
    bool is_cie;
    bool is_end; /* the zero length that ends .eh_frame */
};

/* Reads the head of the entry at *c, and moves *c behind the entry. */
static int read_entry(const struct section *s, struct hs_cursor *c, struct entry *ret_entry)
{
    *ret_entry = (struct entry){ .at = c->at };
    uint64_t length_bytes = hs_cursor_u32(c);
    unsigned id_bytes = 4;
    if (length_bytes == 0xffffffff) {
        length_bytes = hs_cursor_uint(c, 8);
        id_bytes = s->is_debug ? 8 : 4; /* the LSB says that it stays short in .eh_frame */
    }
    if (c->is_bad) {
        return -EBADMSG;
    }
    if (length_bytes == 0) {
        ret_entry->is_end = true;
        return 0;
    }
    if (length_bytes > hs_cursor_left(c) || length_bytes < id_bytes) {
        return -EBADMSG;
    }
    struct hs_cursor body = *c;
    body.end = c->at + length_bytes;
    c->at = body.end;

    const uint8_t *id_at = body.at;
    uint64_t id = hs_cursor_uint(&body, id_bytes);
    uint64_t cie_id = s->is_debug ? (id_bytes == 8 ? ~UINT64_C(0) : 0xffffffff) : 0;
    HS_ASSERT(body.at <= body.end && body.end <= s->all.end);
    ret_entry->body = body;
    if (id == cie_id) {
        ret_entry->is_cie = true;
        return 0;
    }
    uint64_t id_off = (uint64_t)(id_at - s->all.at);
    uint64_t cie_off = s->is_debug ? id : id_off - id;
    if (cie_off >= (uint64_t)(s->all.end - s->all.at)) {
        return -EBADMSG;
    }
    ret_entry->cie = s->all;
    ret_entry->cie.at += cie_off;
    return 0;
}

/* Reads the letters behind a leading 'z', each of which has its data in `blob`. */
static void read_augmentation(const struct section *s, const char *letters, struct hs_cursor *blob,
                              struct hs_cfi_cie *cie)
{
    /* The letters end before the blob; bytes that change meanwhile may have lost their NUL. */
    const char *letters_end = (const char *)blob->at;
    for (const char *p = letters; p < letters_end && *p; p++) {
        switch (*p) {
        case 'R':
            cie->pointer_enc = hs_cursor_u8(blob);
            break;
        case 'P': {
            uint8_t encoding = hs_cursor_u8(blob);
            /* The pointer is only skipped, so its base does not matter; but padding does. */
            if ((encoding & HS_EH_PE_BASE_MASK) == HS_EH_PE_ALIGNED) {
                hs_cursor_pointer(blob, HS_EH_PE_ALIGNED, s->abs_bias, 0);
            } else {
                hs_cursor_pointer_raw(blob, encoding);
            }
            break;
        }
        case 'L':
            hs_cursor_u8(blob);
            break;
        case 'S':
            cie->is_signal = true;
            break;
        case 'B': /* return addresses are signed: on another architecture */
            break;
        default:
            /* Letters come in the order of their data, whose length is known: the rest can be
             * skipped without being understood. */
            return;
        }
    }
}

static int parse_cie(const struct section *s, struct hs_cursor at, struct hs_cfi_cie *ret_cie)
{
    struct entry entry;
    int err = read_entry(s, &at, &entry);
    if (err) {
        return err;
    }
    if (!entry.is_cie) {
        return -EBADMSG;
    }
    struct hs_cfi_cie cie = { 0 };
    struct hs_cursor c = entry.body;
    uint8_t version = hs_cursor_u8(&c);
    const char *letters = (const char *)c.at;
    while (hs_cursor_u8(&c)) {
    }
    if (c.is_bad || (version != 1 && version != 3 && version != 4)) {
        return -EBADMSG;
    }
    if (version == 4) {
        uint8_t address_bytes = hs_cursor_u8(&c);
        uint8_t segment_bytes = hs_cursor_u8(&c);
        if (address_bytes != 8 || segment_bytes != 0) {
            return -EBADMSG;
        }
    }
    cie.code_align = hs_cursor_uleb(&c);
    cie.data_align = hs_cursor_sleb(&c);
    uint64_t ra_reg = version == 1 ? hs_cursor_u8(&c) : hs_cursor_uleb(&c);
    if (ra_reg != HS_DWARF_RA) {
        return -EBADMSG;
    }
    if (letters[0] == 'z') {
        cie.has_aug_data = true;
        struct hs_cursor blob = c;
        uint64_t blob_bytes = hs_cursor_uleb(&blob);
        c = blob;
        hs_cursor_skip(&c, blob_bytes);
        if (c.is_bad) {
            return -EBADMSG;
        }
        blob.end = c.at;
        read_augmentation(s, letters + 1, &blob, &cie);
        if (blob.is_bad) {
            return -EBADMSG;
        }
    } else if (letters[0] != '\0') {
        /* An obsolete augmentation ("eh"): the layout of what follows is unknown. */
        return -EBADMSG;
    }
    if (c.is_bad) {
        return -EBADMSG;
    }
    cie.insns = c;
    *ret_cie = cie;
    return 0;
}

/* Reads the range of an FDE. The length has the format of the start, but no base. */
static void read_range(const struct section *s, struct hs_cursor *c, const struct hs_cfi_cie *cie,
                       uint64_t *ret_start_va, uint64_t *ret_length_bytes)
{
    *ret_start_va = hs_cursor_pointer(c, cie->pointer_enc, s->abs_bias, 0);
    *ret_length_bytes = hs_cursor_pointer_raw(c, cie->pointer_enc & HS_EH_PE_FORMAT_MASK);
}

/* Reads the range of an FDE, whose CIE is already parsed, and, when the range covers va, all of the
 * FDE. */
static int parse_fde(const struct section *s, const struct entry *entry,
                     const struct hs_cfi_cie *cie, uint64_t va, struct hs_cfi_fde *ret_fde)
{
    struct hs_cursor c = entry->body;
    uint64_t start_va, length_bytes;
    read_range(s, &c, cie, &start_va, &length_bytes);
    if (c.is_bad) {
        return -EBADMSG;
    }
    if (va < start_va || va - start_va >= length_bytes) {
        return -ENOENT;
    }
    if (cie->has_aug_data) {
        uint64_t blob_bytes = hs_cursor_uleb(&c);
        hs_cursor_skip(&c, blob_bytes);
    }
    if (c.is_bad) {
        return -EBADMSG;
    }
    HS_ASSERT(c.at >= s->all.at && c.at <= c.end && c.end <= s->all.end);
    HS_ASSERT(cie->insns.at >= s->all.at && cie->insns.at <= cie->insns.end &&
              cie->insns.end <= s->all.end);
    *ret_fde = (struct hs_cfi_fde){ .start_va = start_va,
                                    .end_va = start_va + length_bytes,
                                    .cie = *cie,
                                    .insns = c,
                                    .abs_bias = s->abs_bias,
                                    .section = s->all };
    return 0;
}

static int parse_fde_at(const struct section *s, uint64_t fde_va, uint64_t va,
                        struct hs_cfi_fde *ret_fde)
{
    uint64_t off = fde_va - hs_cursor_va(&s->all);
    if (off >= hs_cursor_left(&s->all)) {
        return -EBADMSG;
    }
    struct hs_cursor c = s->all;
    c.at += off;
    struct entry entry;
    struct hs_cfi_cie cie;
    int err = read_entry(s, &c, &entry);
    if (err) {
        return err;
    }
    if (entry.is_cie || entry.is_end) {
        return -EBADMSG;
    }
    err = parse_cie(s, entry.cie, &cie);
    return err ? err : parse_fde(s, &entry, &cie, va, ret_fde);
}

/* A pass over the entries of a section. */
struct pass {
    struct hs_cursor from;
    const uint8_t *cie_at; /* FDEs of one CIE come in long runs */
    struct hs_cfi_cie cie; /* of the last FDE */
};

/* Reads on to the next FDE whose CIE is understood. 1: there is one; 0: no more; or -EBADMSG. */
static int next_fde(const struct section *s, struct pass *pass, struct entry *ret_entry)
{
    while (hs_cursor_left(&pass->from) > 0) {
        int err = read_entry(s, &pass->from, ret_entry);
        if (err) {
            return err;
        }
        if (ret_entry->is_end && !s->is_debug) {
            break;
        }
        if (ret_entry->is_end || ret_entry->is_cie) {
            continue;
        }
        if (ret_entry->cie.at != pass->cie_at) {
            pass->cie_at = NULL;
            if (parse_cie(s, ret_entry->cie, &pass->cie) != 0) {
                continue; /* a CIE that is not understood may belong to other FDEs only */
            }
            pass->cie_at = ret_entry->cie.at;
        }
        return 1;
    }
    return 0;
}

/* Reads entries, beginning at `from`, until one covers va. */
static int scan(const struct section *s, struct hs_cursor from, uint64_t va,
                struct hs_cfi_fde *ret_fde)
{
    struct pass pass = { .from = from };
    struct entry entry;
    int r;
    while ((r = next_fde(s, &pass, &entry)) > 0) {
        int err = parse_fde(s, &entry, &pass.cie, va, ret_fde);
        if (err != -ENOENT) {
            return err;
        }
    }
    return r < 0 ? r : -ENOENT;
}

int hs_eh_each(const struct hs_span *section, bool is_debug, hs_eh_each_fn *on_fde, void *ctx)
{
    struct section s = { .all = hs_cursor_over(section), .is_debug = is_debug };
    struct pass pass = { .from = s.all };
    struct entry entry;
    int r = 0;
    while (r == 0) {
        r = next_fde(&s, &pass, &entry);
        if (r <= 0) {
            break;
        }
        struct hs_cursor c = entry.body;
        uint64_t start_sva, length_bytes;
        read_range(&s, &c, &pass.cie, &start_sva, &length_bytes);
        r = c.is_bad ? -EBADMSG
                     : on_fde(ctx, start_sva, length_bytes, (uint64_t)(entry.at - s.all.at));
    }
    return r;
}

/* Searches pairs of 32-bit offsets (code, FDE), sorted by code, for the one whose code begins at
 * `wanted`, or last before it. */
static int search_pairs(const uint8_t *pairs, uint64_t count, int64_t wanted, int32_t *ret_fde_off)
{
    uint64_t first = 0, n = count;
    /* Invariant: pairs before `first` start at or below it; the answer is the pair before it. */
    while (n > 0) {
        uint64_t half = n / 2;
        int32_t start_off;
        memcpy(&start_off, pairs + (first + half) * 8, 4);
        if (start_off <= wanted) {
            first += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    if (first == 0) {
        return -ENOENT;
    }
    memcpy(ret_fde_off, pairs + (first - 1) * 8 + 4, 4);
    return 0;
}

static int find_by_hdr(const struct hs_unwind_module *m, const struct section *s, uint64_t va,
                       struct hs_cfi_fde *ret_fde)
{
    struct hs_cursor c = hs_cursor_over(&m->eh_hdr);
    uint8_t version = hs_cursor_u8(&c);
    uint8_t frame_enc = hs_cursor_u8(&c);
    uint8_t count_enc = hs_cursor_u8(&c);
    uint8_t table_enc = hs_cursor_u8(&c);
    if (c.is_bad || version != 1 || frame_enc == HS_EH_PE_OMIT) {
        return -EBADMSG;
    }
    uint64_t frame_va = hs_cursor_pointer(&c, frame_enc, m->eh_bias, m->eh_hdr.va);
    if (c.is_bad) {
        return -EBADMSG;
    }
    if (count_enc != HS_EH_PE_OMIT && table_enc == (HS_EH_PE_DATAREL | HS_EH_PE_SDATA4)) {
        uint64_t count = hs_cursor_pointer(&c, count_enc, 0, 0);
        int32_t fde_off;
        if (c.is_bad || count > hs_cursor_left(&c) / 8) {
            return -EBADMSG;
        }
        /* The usual table: both count from the header. */
        int err = search_pairs(c.at, count, (int64_t)(va - m->eh_hdr.va), &fde_off);
        return err ? err : parse_fde_at(s, m->eh_hdr.va + (uint64_t)(int64_t)fde_off, va, ret_fde);
    }
    /* No table, or one in an encoding that no linker produces: scan from the start of .eh_frame. */
    uint64_t off = frame_va - hs_cursor_va(&s->all);
    if (off > hs_cursor_left(&s->all)) {
        return -EBADMSG;
    }
    struct hs_cursor from = s->all;
    from.at += off;
    return scan(s, from, va, ret_fde);
}

static int find_by_table(const struct hs_unwind_table *t, uint64_t va, struct hs_cfi_fde *ret_fde)
{
    struct section s = { .all = hs_cursor_over(&t->cfi),
                         .is_debug = t->is_debug,
                         .abs_bias = t->bias };
    int32_t fde_off;
    int err = search_pairs(t->entries, t->entry_count, (int64_t)(va - t->code_va), &fde_off);
    return err ? err : parse_fde_at(&s, t->cfi.va + (uint64_t)(int64_t)fde_off, va, ret_fde);
}

int hs_eh_find(const struct hs_unwind_module *m, uint64_t va, struct hs_cfi_fde *ret_fde)
{
    int err = -ENOENT;
    if (m->eh_frame.size_bytes > 0) {
        struct section s = { .all = hs_cursor_over(&m->eh_frame), .abs_bias = m->eh_bias };
        if (m->eh_hdr.size_bytes > 0) {
            err = find_by_hdr(m, &s, va, ret_fde);
        } else {
            struct hs_cursor from = s.all;
            hs_cursor_skip(&from, m->eh_frame_va ? m->eh_frame_va - m->eh_frame.va : 0);
            err = scan(&s, from, va, ret_fde);
        }
    }
    if (err && m->debug_frame.size_bytes > 0) {
        struct section s = { .all = hs_cursor_over(&m->debug_frame),
                             .is_debug = true,
                             .abs_bias = m->bias };
        err = scan(&s, s.all, va, ret_fde);
    }
    /* ORDER unwind-table: the table before the pointer to it. */
    const struct hs_unwind_table *table = err ? hs_load_acquire(&m->table) : NULL;
    return table ? find_by_table(table, va, ret_fde) : err;
}
