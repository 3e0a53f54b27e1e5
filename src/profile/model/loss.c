/*
 * See loss.h.
 */
#include "profile/model/loss.h"

#include <string.h>

#include "profile/model/builder.h"
#include "rt/base.h"
#include "util/buf.h"
#include "util/human.h"

static const struct hs_loss_text client_losses[HS_LOSS_N] = {
    [HS_LOSS_REENTRANT] = { "reentrant",
                            "allocations not recorded (a signal handler made them while it "
                            "interrupted heapscope's library)",
                            true, false },
    [HS_LOSS_NO_MEMORY] = { "no_memory",
                            "allocations not recorded (no memory for the tables of heapscope's "
                            "library)",
                            true, false },
    [HS_LOSS_NO_THREAD_BLOCK] = { "no_thread_block",
                                  "allocations not recorded (their thread has no counters: too "
                                  "many threads, or no memory)",
                                  true, false },
    [HS_LOSS_STACK_EMPTY] = { "stack_empty",
                              "stacks without any frame (the allocations are recorded, but not "
                              "where they were made)",
                              false, false },
    [HS_LOSS_TABLE_FULL] = { "table_full",
                             "allocations not recorded (a table of heapscope's library was full, "
                             "or could not grow)",
                             true, false },
    [HS_LOSS_INHERITED] = { "inherited_blocks",
                            "blocks not recorded in a forked child (the parent had freed them "
                            "before they were copied)",
                            true, false },
    [HS_LOSS_LIMIT] = { "memory_limit",
                        "allocations not recorded (the memory of heapscope's library had reached "
                        "--max-memory)",
                        true, false },
    [HS_LOSS_UNSEEN_SYMBOLS] = { "unseen_symbols",
                                 "allocations may be missing (by libraries opened with "
                                 "RTLD_DEEPBIND, or through dlsym)",
                                 true, false },
    [HS_LOSS_UNSEEN_ALLOCATOR] = { "unseen_allocators",
                                   "allocations are missing (a library opened with RTLD_DEEPBIND "
                                   "brought a malloc of its own)",
                                   true, false },
    [HS_LOSS_UNSEEN_NAMESPACE] = { "unseen_namespaces",
                                   "allocations are missing (libraries opened with dlmopen have an "
                                   "allocator of their own)",
                                   true, false },
    [HS_LOSS_UNTRACKED] = { "lost_mappings",
                            "mappings not recorded (heapscope's library could not follow a "
                            "change in time)",
                            true, false },
    [HS_LOSS_UNMOVED] = { "unmoved_objects",
                          "objects of Python not recorded (they could not be moved out of the "
                          "interpreter's arenas)",
                          true, false },
    [HS_LOSS_DUPLICATE] = { "duplicate_address",
                            "blocks counted as freed when their address was reused (by a pool, or "
                            "after an unseen free)",
                            false, false },
};

static const struct hs_loss_text stack_ends[HS_STACK_END_N] = {
    [HS_STACK_END] = { "stack_whole", "complete stacks", false, false },
    [HS_STACK_END_NO_INFO] = { "stack_cut_no_info",
                               "stacks cut short (code without unwind information)", false, false },
    [HS_STACK_END_BAD_INFO] = { "stack_cut_bad_info",
                                "stacks cut short (unwind information that cannot be used)", false,
                                false },
    [HS_STACK_END_UNREADABLE] = { "stack_cut_unreadable",
                                  "stacks cut short (stack memory that cannot be read)", false,
                                  false },
    [HS_STACK_END_NO_ADVANCE] = { "stack_cut_no_advance",
                                  "stacks cut short (the caller's frame was not further out than "
                                  "its callee's)",
                                  false, false },
    [HS_STACK_END_NO_MODULE] = { "stack_cut_no_module",
                                 "stacks cut short (a return address that is in no code)", false,
                                 false },
    [HS_STACK_END_TOO_DEEP] = { "stack_cut_too_deep",
                                "stacks cut short (more frames than heapscope follows)", false,
                                false },
};

static const struct hs_loss_text load_losses[HS_LOAD_LOSS_N] = {
    [HS_LOAD_LOSS_BAD_ELEMENTS] = { "bad_elements",
                                    "records left out (they were inconsistent in shared memory)",
                                    true, false },
    [HS_LOAD_LOSS_SCOPES] = { "lost_scopes",
                              "scopes recorded as (other) (there were too many different ones)",
                              false, false },
    [HS_LOAD_LOSS_PYTHON_UNKNOWN] = { "python_unknown",
                                      "processes without functions of Python (their interpreter is "
                                      "not CPython 3.8 to 3.13)",
                                      false, false },
    [HS_LOAD_LOSS_PYTHON_REFUSED] = { "python_refused",
                                      "processes without functions of Python (the interpreter's "
                                      "frames are not as expected)",
                                      false, false },
    [HS_LOAD_LOSS_JAVASCRIPT] = { "unread_javascript",
                                  "processes without JavaScript functions (their V8 has no "
                                  "symbols: try --perf-basic-prof)",
                                  false, false },
    [HS_LOAD_LOSS_PERL] = { "unread_perl",
                            "processes without functions of Perl (heapscope knows "
                            "those of Perl 5.36 with threads)",
                            false, false },
    [HS_LOAD_LOSS_PHP] = { "unread_php",
                           "processes without functions of PHP (heapscope knows those "
                           "of PHP 8.2 without ZTS)",
                           false, false },
    [HS_LOAD_LOSS_RUBY] = { "unread_ruby",
                            "processes without functions of Ruby (heapscope knows "
                            "those of Ruby 3.1, loaded at start)",
                            false, false },
    [HS_LOAD_LOSS_JAVA_REFUSED] = { "java_refused",
                                    "processes without Java methods (unknown JVM: "
                                    "-XX:+PreserveFramePointer and perf maps help)",
                                    false, false },
    [HS_LOAD_LOSS_OVERRUN] = { "buffer_overran",
                               "profiles that ended early (heapprofd's buffer overflowed)", true,
                               false },
    [HS_LOAD_LOSS_CORRUPTED] = { "buffer_corrupted",
                                 "profiles that ended early (heapprofd's buffer was corrupted)",
                                 true, false },
    [HS_LOAD_LOSS_GUARDRAIL] = { "hit_guardrail",
                                 "profiles that ended early (heapprofd reached its own limit of "
                                 "memory or CPU time)",
                                 true, false },
    [HS_LOAD_LOSS_REJECTED] = { "rejected_concurrent",
                                "processes not profiled (another session was profiling them)", true,
                                false },
    [HS_LOAD_LOSS_CLIENT_ERROR] = { "client_error",
                                    "profiles that ended early (an error in the profiled process)",
                                    true, false },
    [HS_LOAD_LOSS_UNWINDING] = { "unwinding_errors",
                                 "stacks cut short (heapprofd could not unwind them)", false,
                                 false },
    [HS_LOAD_LOSS_TRUNCATED] = { "file_truncated",
                                 "the file is truncated, and its last packets are missing", true,
                                 false },
    [HS_LOAD_LOSS_SKIPPED_BYTES] = { "file_skipped_bytes",
                                     "damaged bytes of the file that were skipped", true, false },
    [HS_LOAD_LOSS_BAD_PACKETS] = { "file_bad_packets",
                                   "damaged packets of the file that were left out", true, false },
    [HS_LOAD_LOSS_COMPRESSION] = { "file_compression",
                                   "some compressed data could not be decompressed completely",
                                   true, false },
    [HS_LOAD_LOSS_TOO_BIG] = { "file_too_big",
                               "the decompressed file is larger than heapscope reads, and its last "
                               "packets are missing",
                               true, false },
    [HS_LOAD_LOSS_DUMPS] = { "dumps_lost", "snapshots left out (they are incomplete in the file)",
                             true, false },
    [HS_LOAD_LOSS_INCOMPLETE_DUMPS] = { "dumps_incomplete",
                                        "incomplete snapshots, of which the figures in the file "
                                        "are shown",
                                        true, false },
    [HS_LOAD_LOSS_MISSING_PACKETS] = { "packets_missing",
                                       "packets missing (the program that wrote the file lost "
                                       "them)",
                                       true, false },
    [HS_LOAD_LOSS_FALLING] = { "falling_totals",
                               "samples left out (their totals since the start decrease from one "
                               "snapshot to the next)",
                               true, false },
    [HS_LOAD_LOSS_UNRESOLVED] = { "unresolved_stacks",
                                  "stacks or frames to which the file refers but which it does not "
                                  "contain",
                                  true, false },
    [HS_LOAD_LOSS_THINNED] = { "dumps_thinned",
                               "snapshots shown without stacks (the file has too many snapshots)",
                               false, false },
    [HS_LOAD_LOSS_BAD_RECORDS] = { "file_bad_records",
                                   "damaged records of the file that were left out", true, false },
    [HS_LOAD_LOSS_BAD_LINES] = { "file_bad_lines",
                                 "lines of the file that were left out (they are damaged, or "
                                 "heapscope does not know their form)",
                                 true, false },
    [HS_LOAD_LOSS_NO_ALLOC] = { "alloc_unknown",
                                "the file does not say what was allocated since the start: "
                                "\"allocated\" repeats the live memory",
                                false, false },
    [HS_LOAD_LOSS_NO_LIVE] = { "live_unknown",
                               "the file does not say what is live, only what was allocated", false,
                               false },
};

static const struct hs_loss_text refusals[HS_REFUSAL_N] = {
    [HS_REFUSAL_OTHER_USER] = { "refused_other_user",
                                "processes not profiled (they belong to other users)", true,
                                false },
    [HS_REFUSAL_POLICY] = { "refused_policy",
                            "processes not profiled (the daemon's policy does not permit it)", true,
                            false },
    [HS_REFUSAL_NOT_DUMPABLE] = { "refused_not_dumpable",
                                  "processes not profiled (they gained privileges, or they forbid "
                                  "others to read their memory)",
                                  true, false },
    [HS_REFUSAL_OPTED_OUT] = { "refused_opted_out",
                               "processes not profiled (they were started with "
                               "HEAPSCOPE_PROFILEABLE=0)",
                               true, false },
    [HS_REFUSAL_NO_CLIENT] = { "refused_no_client",
                               "processes not profiled (heapscope's library could not be loaded "
                               "into them)",
                               true, false },
    [HS_REFUSAL_GONE] = { "refused_gone", "processes not profiled (they had ended)", true, false },
};

struct hs_loss_text hs_loss_of_client(uint32_t loss)
{
    static const struct hs_loss_text unknown = {
        .name = "lost_other",
        .text = "allocations not recorded (for a reason that this version does not know)",
        .is_serious = true,
    };
    return loss < HS_COUNT_OF(client_losses) ? client_losses[loss] : unknown;
}

struct hs_loss_text hs_loss_of_stack_end(uint32_t end)
{
    static const struct hs_loss_text unknown = {
        .name = "stack_cut_other",
        .text = "stacks cut short (for a reason that this version does not know)",
        .is_serious = false,
    };
    return end < HS_COUNT_OF(stack_ends) ? stack_ends[end] : unknown;
}

struct hs_loss_text hs_loss_of_load(enum hs_load_loss loss)
{
    return load_losses[loss];
}

bool hs_loss_is_of_file(const struct hs_profile *profile, enum hs_load_loss loss)
{
    for (uint32_t i = 0; i < profile->loss_count; i++) {
        const struct hs_profile_loss *found = &profile->losses[i];
        if (found->count > 0 &&
            strcmp(hs_profile_string(profile, found->name), load_losses[loss].name) == 0) {
            return true;
        }
    }
    return false;
}

struct hs_loss_text hs_loss_of_refusal(uint32_t refusal)
{
    static const struct hs_loss_text unknown = {
        .name = "refused_other",
        .text = "processes not profiled (for a reason that this version does not know)",
        .is_serious = true,
    };
    struct hs_loss_text text = unknown;
    if (refusal == HS_REFUSAL_CONCURRENT) {
        text = load_losses[HS_LOAD_LOSS_REJECTED]; /* as in heapprofd's files */
    } else if (refusal > HS_REFUSAL_NONE && refusal < HS_REFUSAL_N) {
        text = refusals[refusal];
    }
    text.is_refusal = true;
    return text;
}

const char *hs_loss_refusal_reason(uint32_t refusal)
{
    static const char *const reasons[HS_REFUSAL_N] = {
        [HS_REFUSAL_CONCURRENT] = "another session was profiling it",
        [HS_REFUSAL_OTHER_USER] = "it belongs to another user",
        [HS_REFUSAL_POLICY] = "the daemon's policy does not permit it",
        [HS_REFUSAL_NOT_DUMPABLE] = "it gained privileges, or it forbids others to read its memory",
        [HS_REFUSAL_OPTED_OUT] = "it was started with HEAPSCOPE_PROFILEABLE=0",
        [HS_REFUSAL_NO_CLIENT] = "heapscope's library could not be loaded into it",
        [HS_REFUSAL_GONE] = "it had ended",
    };
    const char *reason = refusal < HS_REFUSAL_N ? reasons[refusal] : NULL;
    return reason ? reason : "for a reason that this version does not know";
}

struct hs_loss_text hs_loss_of_guess(bool is_jit)
{
    return is_jit ? (struct hs_loss_text){ "stack_guessed_jit",
                                           "frames may be missing (frame pointers were followed "
                                           "through code made at run time)",
                                           false, false }
                  : (struct hs_loss_text){ "stack_guessed",
                                           "frames may be missing (frame pointers were followed "
                                           "through code without unwind information)",
                                           false, false };
}

void hs_loss_write_guess(bool is_jit, const char *module, struct hs_buf *buf)
{
    const char *name = strrchr(module, '/');
    if (is_jit) {
        hs_buf_str(buf,
                   "frames may be missing (frame pointers were followed through code made at run "
                   "time, which has no unwind information; V8 always keeps frame pointers, the "
                   "JVM keeps them with -XX:+PreserveFramePointer)");
    } else {
        hs_buf_printf(buf,
                      "frames may be missing (frame pointers were followed through %s, which has "
                      "no unwind information there)",
                      name ? name + 1 : module);
    }
}

struct hs_loss_text hs_loss_of_cut_stacks(void)
{
    return (struct hs_loss_text){
        "stack_cut_middle",
        "stacks without their middle (of over 255 frames, the inner 191 and the outer 64 are kept)",
        false, false
    };
}

void hs_loss_add(struct hs_builder *builder, uint32_t process, struct hs_loss_text text,
                 uint64_t count)
{
    hs_loss_add_weighed(builder, process, text, HS_LOSS_UNIT_ANY, count, 0, 0);
}

void hs_loss_add_weighed(struct hs_builder *builder, uint32_t process, struct hs_loss_text text,
                         enum hs_loss_unit unit, uint64_t count, double bytes, double allocs)
{
    const struct hs_profile_loss loss = {
        .process = process,
        .count = count,
        .bytes = bytes,
        .alloc_count = allocs,
        .unit = (uint8_t)unit,
        .is_serious = text.is_serious,
        .is_refusal = text.is_refusal,
    };
    hs_builder_weighed_loss(builder, text.name, text.text, &loss);
}

static const char *unit_of(const struct hs_profile_loss *loss)
{
    static const char *const units[][2] = {
        [HS_LOSS_UNIT_ANY] = { "", "" },
        [HS_LOSS_UNIT_SAMPLES] = { " sample", " samples" },
        [HS_LOSS_UNIT_STACKS] = { " stack", " stacks" },
        [HS_LOSS_UNIT_WALKS] = { " walk", " walks" },
        [HS_LOSS_UNIT_PROCESSES] = { " process", " processes" },
    };
    return loss->unit < HS_COUNT_OF(units) ? units[loss->unit][loss->count != 1] : "";
}

void hs_loss_describe(const struct hs_profile *profile, const struct hs_profile_loss *loss,
                      const struct hs_amount *alloc, struct hs_buf *buf)
{
    char number[HS_HUMAN_BYTES];
    char size[HS_HUMAN_BYTES];
    const char *text = hs_profile_string(profile, loss->text);
    hs_buf_str(buf, text[0] ? text : hs_profile_string(profile, loss->name));
    if (loss->unit == HS_LOSS_UNIT_FLAG) {
        return;
    }
    hs_buf_str(buf, ": ");
    if (!(loss->alloc_count > 0)) {
        hs_buf_printf(buf, "%s%s", hs_human_exact(number, loss->count), unit_of(loss));
        return;
    }
    double allocs = loss->alloc_count < 1e18 ? loss->alloc_count + 0.5 : 1e18;
    hs_buf_printf(buf, "%s", hs_human_exact(number, (uint64_t)allocs));
    if (alloc && !loss->is_serious && alloc->count > loss->alloc_count * 0.999) {
        allocs = alloc->count < 1e18 ? alloc->count + 0.5 : 1e18; /* counts are rounded in files */
        hs_buf_printf(buf, " of %s", hs_human_exact(number, (uint64_t)allocs));
    }
    hs_buf_printf(buf, " allocations, %s", hs_human_bytes(size, loss->bytes));
    if (alloc && !loss->is_serious && alloc->bytes > 0) {
        hs_buf_printf(buf, " (%s)", hs_human_share(number, loss->bytes, alloc->bytes));
    }
    if (loss->is_serious) {
        hs_buf_printf(buf, " (%s%s)", hs_human_exact(number, loss->count), unit_of(loss));
    }
}
