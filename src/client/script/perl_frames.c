/*
 * Reading Perl's contexts. See perl_frames.h.
 */
#include "client/script/perl_frames.h"

/* struct interpreter, of 3768 bytes. */
#define INTERP_BYTES     3768U
#define INTERP_CURCOP    208U
#define INTERP_STACKINFO 224U
#define INTERP_COMPILING 1936U

/* COP. An op that was removed runs Perl_pp_null, and has its type in op_targ. */
#define COP_PPADDR   16U
#define COP_TARG     24U
#define COP_LINE     36U
#define COP_FILE     48U
#define OP_NEXTSTATE 195U
#define OP_DBSTATE   196U

/* PERL_SI */
#define SI_CXSTACK 8U
#define SI_PREV    16U
#define SI_CXIX    32U

/* PERL_CONTEXT */
#define CX_BYTES        104U
#define CX_TYPE         0U
#define CX_OP_TYPE      2U /* in its upper bits, the type of the op that began an eval */
#define CX_OLDCOP       16U
#define CX_RETOP        48U
#define CX_CV           72U

#define CX_TYPE_MASK    0x0fU
#define CX_NULL         0U
#define CX_SUB          9U
#define CX_FORMAT       10U
#define CX_EVAL         11U
#define CX_EVAL_BLOCK   0x40U
#define CX_SUB_RE_FAKE  0x80U
#define OP_TYPE_SHIFT   7U
#define OP_TYPE_REQUIRE 342U
#define CX_COUNT_MAX    (1U << 24)

/* SV and its bodies */
#define SV_ANY        0U
#define SV_FLAGS      12U
#define SV_U          16U
#define SV_TYPE_MASK  0xffU
#define SV_TYPE_GV    9U
#define SV_TYPE_HV    12U
#define SV_TYPE_CV    13U
#define SV_TYPE_FM    14U
#define SV_OOK        0x2000000U
#define CV_STASH      32U
#define CV_GV         56U /* or a name */
#define CV_FLAGS      92U
#define CV_FLAG_NAMED 0x8000U
#define GV_NAME       32U
#define GV_STASH      40U
#define GP_EGV        56U
#define HV_NAME       32U
#define HV_NAME_COUNT 60U
#define HEK_LEN       4U
#define HEK_KEY       8U

/* The longest parts of names and files. */
#define PART_BYTES 200U
#define FILE_BYTES 1024U

/* The stackinfos of a thread, at most: each is a call from C. */
#define STACKINFO_MAX 1024U

struct reader {
    struct hs_script_walk walk;
    uint64_t compiling_va;
    uint64_t cop_va;      /* the statement that the next frame runs */
    uint32_t catch_count; /* of the frames up to the latest eval of this entry; 0: none */
    uint32_t step_count;
};

/* Kinds of places. The statement of one with KIND_COMPILING is PL_compiling. */
enum { KIND_SUB, KIND_EVAL, KIND_REQUIRE, KIND_MAIN, KIND_COMPILING };

bool hs_perl_is_known(const struct hs_perl_identity *identity)
{
    return identity->revision == 5 && identity->version == 36 &&
           identity->interp_bytes == INTERP_BYTES;
}

/* --- names ------------------------------------------------------------------------------------ */

/* A text that ends with NUL, within a page or two. */
static struct hs_script_text c_string(struct hs_script_memory *memory, uint64_t va)
{
    for (uint32_t bytes = FILE_BYTES; va != 0 && bytes >= 16; bytes /= 2) {
        const char *text = hs_script_peek(memory, va, bytes);
        if (text) {
            uint32_t length = (uint32_t)strnlen(text, bytes);
            /* With the NUL, so that it is known to end there. */
            hs_script_at(memory, va, length < bytes ? length + 1 : length);
            return (struct hs_script_text){ text, length, va };
        }
    }
    return (struct hs_script_text){ .text = NULL };
}

static struct hs_script_text hek(struct hs_script_memory *memory, uint64_t va)
{
    uint32_t bytes = va ? hs_script_half(memory, va + HEK_LEN) : 0;
    bytes = bytes < PART_BYTES ? bytes : PART_BYTES;
    const char *text = bytes ? hs_script_at(memory, va + HEK_KEY, bytes) : NULL;
    return (struct hs_script_text){ .text = text, .bytes = text ? bytes : 0 };
}

static uint32_t type_of(struct hs_script_memory *memory, uint64_t sv_va)
{
    return hs_script_half(memory, sv_va + SV_FLAGS) & SV_TYPE_MASK;
}

/* The name of a package. */
static struct hs_script_text package(struct hs_script_memory *memory, uint64_t hv_va)
{
    uint64_t any_va = hs_script_word(memory, hv_va + SV_ANY);
    if (type_of(memory, hv_va) != SV_TYPE_HV ||
        !(hs_script_half(memory, hv_va + SV_FLAGS) & SV_OOK)) {
        return HS_SCRIPT_LITERAL("__ANON__");
    }
    uint64_t name_va = hs_script_word(memory, any_va + HV_NAME);
    if (hs_script_half(memory, any_va + HV_NAME_COUNT) != 0) {
        name_va = hs_script_word(memory, name_va); /* the first of several */
    }
    return hek(memory, name_va);
}

/* The name of a sub: PACKAGE::NAME. False: it is no sub. */
static bool name_sub(struct hs_script_memory *memory, uint64_t cv_va, char *name, uint32_t *bytes)
{
    uint32_t type = type_of(memory, cv_va);
    uint64_t body_va = hs_script_word(memory, cv_va + SV_ANY);
    if ((type != SV_TYPE_CV && type != SV_TYPE_FM) || body_va == 0) {
        return false;
    }
    uint64_t gv_va = hs_script_word(memory, body_va + CV_GV);
    uint64_t stash_va = hs_script_word(memory, body_va + CV_STASH);
    struct hs_script_text own;
    if (hs_script_half(memory, body_va + CV_FLAGS) & CV_FLAG_NAMED) {
        own = hek(memory, gv_va);
    } else if (gv_va != 0 && type_of(memory, gv_va) == SV_TYPE_GV) {
        uint64_t gp_va = hs_script_word(memory, gv_va + SV_U);
        uint64_t egv_va = gp_va ? hs_script_word(memory, gp_va + GP_EGV) : 0;
        gv_va = egv_va && type_of(memory, egv_va) == SV_TYPE_GV ? egv_va : gv_va;
        body_va = hs_script_word(memory, gv_va + SV_ANY);
        own = hek(memory, hs_script_word(memory, body_va + GV_NAME));
        stash_va = hs_script_word(memory, body_va + GV_STASH);
    } else {
        own = HS_SCRIPT_LITERAL("(unknown)");
        stash_va = 0;
    }
    if (stash_va != 0) {
        hs_script_append(name, bytes, package(memory, stash_va));
        hs_script_append(name, bytes, HS_SCRIPT_LITERAL("::"));
    }
    hs_script_append(name, bytes, own);
    return true;
}

/* --- places ----------------------------------------------------------------------------------- */

/* Is this a statement? Only then is the layout the one that we know. */
static bool is_statement(const struct hs_perl *perl, struct hs_script_memory *memory,
                         uint64_t cop_va, uint64_t compiling_va)
{
    uint64_t ppaddr_va = hs_script_word(memory, cop_va + COP_PPADDR);
    uint64_t targ = hs_script_word(memory, cop_va + COP_TARG);
    if (ppaddr_va == 0) { /* a copy of PL_compiling, while constants are folded */
        uint64_t file_va = hs_script_word(memory, cop_va + COP_FILE);
        return file_va != 0 && file_va == hs_script_word(memory, compiling_va + COP_FILE);
    }
    return ppaddr_va == perl->nextstate_va || ppaddr_va == perl->dbstate_va ||
           /* the first statement of code in a regular expression */
           (ppaddr_va == perl->null_va && (targ == OP_NEXTSTATE || targ == OP_DBSTATE));
}

bool hs_perl_describe(const void *roots, struct hs_script_memory *memory,
                      const struct hs_script_place *place, struct hs_script_frame *ret_frame)
{
    static const struct hs_script_text names[] = {
        [KIND_EVAL] = HS_SCRIPT_TEXT("(eval)"),
        [KIND_REQUIRE] = HS_SCRIPT_TEXT("(require)"),
        [KIND_MAIN] = HS_SCRIPT_TEXT("(main program)"),
    };
    uint32_t kind = place->kind % KIND_COMPILING, bytes = 0;
    if (place->kind < KIND_COMPILING &&
        !is_statement(roots, memory, place->at_va, place->root_va)) {
        return false;
    }
    ret_frame->function = names[kind];
    if (kind == KIND_SUB) {
        if (!name_sub(memory, place->code_va, ret_frame->name, &bytes)) {
            return false;
        }
        ret_frame->function = (struct hs_script_text){ .text = ret_frame->name, .bytes = bytes };
    }
    uint64_t file_va = hs_script_word(memory, place->at_va + COP_FILE);
    hs_script_change_list(memory);
    ret_frame->file = c_string(memory, file_va);
    hs_script_change_list(memory);
    ret_frame->line = hs_script_half(memory, place->at_va + COP_LINE);
    return true;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Reports a frame that runs the statement r->cop_va. */
static bool report(struct reader *r, uint64_t cv_va, uint32_t kind)
{
    const struct hs_script_place place = {
        .code_va = cv_va,
        .at_va = r->cop_va,
        .kind = kind + (r->cop_va == r->compiling_va ? KIND_COMPILING : 0),
        .root_va = r->compiling_va,
    };
    return hs_script_report(&r->walk, &place);
}

/* An entry ends: C code has called what was reported last. If that call catches no exceptions
 * itself, Perl runs its outermost eval in one more run loop (docatch). */
static void end_entry(struct reader *r, bool is_catching)
{
    if (r->catch_count != 0 && !is_catching) {
        r->walk.sink->end_entry(r->walk.sink->ctx, r->catch_count);
    }
    r->catch_count = 0;
    hs_script_end_entry(&r->walk);
}

static bool on_sub(struct reader *r, uint64_t cx_va)
{
    return report(r, hs_script_word(r->walk.memory, cx_va + CX_CV), KIND_SUB);
}

static bool on_eval(struct reader *r, uint64_t cx_va)
{
    uint64_t op_bits = 0;
    hs_script_read(r->walk.memory, cx_va + CX_OP_TYPE, 2, &op_bits);
    bool is_require = op_bits >> OP_TYPE_SHIFT == OP_TYPE_REQUIRE;
    return report(r, 0, is_require ? KIND_REQUIRE : KIND_EVAL);
}

/* Does C code call what runs in the context below this one, and catch its exceptions? */
static bool is_fake_eval(struct reader *r, uint64_t cx_va)
{
    uint32_t type = hs_script_byte(r->walk.memory, cx_va + CX_TYPE);
    return (type & CX_TYPE_MASK) == CX_EVAL && type & CX_EVAL_BLOCK &&
           hs_script_word(r->walk.memory, cx_va + CX_RETOP) == 0;
}

/* False: it is not what we know. */
static bool on_context(struct reader *r, uint64_t cx_va, bool has_outer)
{
    uint32_t type = hs_script_byte(r->walk.memory, cx_va + CX_TYPE);
    uint32_t kind = type & CX_TYPE_MASK;
    bool is_sub = kind == CX_SUB || kind == CX_FORMAT;
    if (kind == CX_NULL) {
        end_entry(r, false); /* the block of a sort */
    }
    if ((!is_sub && kind != CX_EVAL) || (kind == CX_SUB && type & CX_SUB_RE_FAKE)) {
        return true;
    }
    bool is_called_by_c = hs_script_word(r->walk.memory, cx_va + CX_RETOP) == 0;
    bool is_fake = is_fake_eval(r, cx_va);
    if (!(is_sub ? on_sub(r, cx_va) : on_eval(r, cx_va))) {
        return false;
    }
    if (kind == CX_EVAL && !is_fake && !is_called_by_c) {
        r->catch_count = r->walk.frame_count;
    }
    if (is_called_by_c && !is_fake) {
        end_entry(r, has_outer && is_fake_eval(r, cx_va - CX_BYTES));
    }
    r->cop_va = hs_script_word(r->walk.memory, cx_va + CX_OLDCOP);
    return true;
}

/* Walks the contexts of a stackinfo. False: they are not what we know. */
static bool on_stackinfo(struct reader *r, uint64_t si_va)
{
    uint64_t cxstack_va = hs_script_word(r->walk.memory, si_va + SI_CXSTACK);
    uint64_t last = 0;
    if (!hs_script_read(r->walk.memory, si_va + SI_CXIX, 4, &last)) {
        return false;
    }
    uint64_t count = (uint32_t)((uint32_t)last + 1); /* -1: there is none */
    if (count > CX_COUNT_MAX || (count != 0 && !hs_script_at(r->walk.memory, cxstack_va, 1))) {
        return false;
    }
    for (uint64_t i = count; i > 0 && !r->walk.is_full; i--) {
        if (++r->step_count > HS_SCRIPT_STEPS_MAX) {
            r->walk.is_full = true;
        } else if (!on_context(r, cxstack_va + (i - 1) * CX_BYTES, i > 1)) {
            return false;
        }
    }
    return true;
}

enum hs_script_end hs_perl_read(uint64_t interp_va, struct hs_script_memory *memory,
                                const struct hs_script_sink *sink)
{
    struct reader r = { .walk = { .memory = memory, .sink = sink },
                        .compiling_va = interp_va + INTERP_COMPILING };
    r.cop_va = hs_script_word(memory, interp_va + INTERP_CURCOP);
    uint64_t si_va = hs_script_word(memory, interp_va + INTERP_STACKINFO);
    if (r.cop_va == 0 || si_va == 0) {
        return HS_SCRIPT_NONE; /* it has not begun, or has ended */
    }
    for (uint32_t i = 0; si_va != 0 && i < STACKINFO_MAX && !r.walk.is_full; i++) {
        if (!on_stackinfo(&r, si_va)) {
            return HS_SCRIPT_UNKNOWN;
        }
        si_va = hs_script_word(memory, si_va + SI_PREV);
    }
    if (!r.walk.is_full && !report(&r, 0, KIND_MAIN)) {
        return HS_SCRIPT_UNKNOWN;
    }
    if (r.walk.is_full) {
        return HS_SCRIPT_CUT;
    }
    hs_script_end_entry(&r.walk);
    return HS_SCRIPT_WHOLE;
}
