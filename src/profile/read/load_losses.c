/*
 * Reads what heapscope's dumps say is missing. It is kept from the last dump of a process, and
 * added to the profile when all dumps are read.
 *
 * See       load_state.h, loss.h
 */
#include <string.h>

#include "profile/model/loss.h"
#include "profile/read/load_state.h"
#include "rt/base.h"
#include "util/buf.h"

static void set_counts(uint64_t counts[16], const uint64_t *from, size_t from_count)
{
    for (size_t i = 0; i < 16; i++) {
        counts[i] = i < from_count ? from[i] : 0;
    }
}

static void set_weights(struct hs_load_weight weights[16], const uint64_t *bytes,
                        size_t bytes_count, const uint64_t *alloc_fx, size_t alloc_count)
{
    for (size_t i = 0; i < 16; i++) {
        weights[i] = (struct hs_load_weight){
            .bytes = i < bytes_count ? (double)bytes[i] : 0,
            .alloc_count = i < alloc_count ? (double)alloc_fx[i] / (1U << HS_COUNT_SHIFT) : 0,
        };
    }
}

static void set_guesses(struct hs_load *load, struct hs_load_losses *losses,
                        const Hs__Pb__HsDump *dump)
{
    struct hs_buf text = HS_BUF_INIT;
    losses->guess_count = 0;
    for (size_t i = 0; i < dump->n_guessed && losses->guess_count < HS_COUNT_OF(losses->guesses);
         i++) {
        const Hs__Pb__HsGuessed *from = dump->guessed[i];
        struct hs_load_guess *guess = &losses->guesses[losses->guess_count++];
        hs_buf_clear(&text);
        hs_loss_write_guess(from->is_jit, from->module ? from->module : "?", &text);
        *guess = (struct hs_load_guess){
            .text = hs_builder_string(load->builder, hs_buf_text(&text)),
            .is_jit = from->is_jit,
            .stack_count = from->stack_count,
            .weight = { (double)from->bytes, (double)from->alloc_fx / (1U << HS_COUNT_SHIFT) },
        };
    }
    hs_buf_deinit(&text);
}

static void set_cuts(struct hs_load *load, struct hs_load_losses *losses,
                     const Hs__Pb__HsDump *dump)
{
    losses->cut_count = 0;
    for (size_t i = 0; i < dump->n_cut && losses->cut_count < HS_COUNT_OF(losses->cuts); i++) {
        const Hs__Pb__HsCut *from = dump->cut[i];
        losses->cuts[losses->cut_count++] = (struct hs_profile_cut_module){
            .module = hs_builder_string(load->builder, from->module ? from->module : "?"),
            .reason = (uint8_t)(from->reason < UINT8_MAX ? from->reason : UINT8_MAX),
            .stack_count = from->stack_count,
            .alloc_bytes = (double)from->bytes,
            .alloc_count = (double)from->alloc_fx / (1U << HS_COUNT_SHIFT),
            .live_bytes = (double)from->live_bytes,
        };
    }
}

/* Adds it in the order of beginnings, in which they are in a file of ours. */
static void add_time(struct hs_load_losses *losses, const struct hs_snap_loss_time *time)
{
    uint32_t at = losses->time_count++;
    for (; at > 0 && losses->times[at - 1].from_mono_ns > time->from_mono_ns; at--) {
        losses->times[at] = losses->times[at - 1];
    }
    losses->times[at] = *time;
}

/* A dump without times has those of the dump before it. */
static void set_times(struct hs_load_losses *losses, const Hs__Pb__HsDump *dump)
{
    if (dump->n_loss_times > 0) {
        losses->time_count = 0;
    }
    for (size_t i = 0; i < dump->n_loss_times && losses->time_count < HS_SNAP_LOSS_TIMES_MAX; i++) {
        const Hs__Pb__HsLossTime *from = dump->loss_times[i];
        if (from->count > 0 && from->from_ns <= from->to_ns) {
            add_time(losses, &(struct hs_snap_loss_time){ .from_mono_ns = from->from_ns,
                                                          .to_mono_ns = from->to_ns,
                                                          .count = from->count,
                                                          .loss = from->loss });
        }
    }
}

void hs_load_losses_set(struct hs_load *load, struct hs_load_losses *losses,
                        const Hs__Pb__HsDump *dump, uint8_t refusal)
{
    set_guesses(load, losses, dump);
    set_cuts(load, losses, dump);
    set_times(losses, dump);
    set_counts(losses->lost_count, dump->lost_count, dump->n_lost_count);
    set_counts(losses->stack_end_count, dump->stack_end_count, dump->n_stack_end_count);
    set_weights(losses->lost, dump->lost_bytes, dump->n_lost_bytes, dump->lost_alloc_fx,
                dump->n_lost_alloc_fx);
    set_weights(losses->stack_end, dump->stack_end_bytes, dump->n_stack_end_bytes,
                dump->stack_end_alloc_fx, dump->n_stack_end_alloc_fx);
    losses->bad_count = dump->bad_count;
    losses->lost_scope_count = dump->lost_scope_count;
    losses->unread_interpreters = dump->unread_interpreters;
    losses->refusal = refusal;
    losses->python_state = dump->python_state;
    losses->java_refusal = dump->java_refusal;
}

static enum hs_loss_unit unit_of(uint32_t loss)
{
    switch (loss) {
    case HS_LOSS_DUPLICATE:
        return HS_LOSS_UNIT_ANY;
    case HS_LOSS_UNSEEN_SYMBOLS:
    case HS_LOSS_UNSEEN_ALLOCATOR:
    case HS_LOSS_UNSEEN_NAMESPACE:
        return HS_LOSS_UNIT_PROCESSES; /* a flag of each process */
    case HS_LOSS_STACK_EMPTY:
        return HS_LOSS_UNIT_WALKS;
    default:
        return HS_LOSS_UNIT_SAMPLES;
    }
}

static const struct {
    enum hs_code_language language;
    enum hs_load_loss loss;
} interpreters[] = {
    { HS_LANGUAGE_JAVASCRIPT, HS_LOAD_LOSS_JAVASCRIPT },
    { HS_LANGUAGE_PERL, HS_LOAD_LOSS_PERL },
    { HS_LANGUAGE_PHP, HS_LOAD_LOSS_PHP },
    { HS_LANGUAGE_RUBY, HS_LOAD_LOSS_RUBY },
};

static void add_times(struct hs_load *load, uint32_t process, const struct hs_load_losses *losses)
{
    for (uint32_t i = 0; i < losses->time_count; i++) {
        const struct hs_snap_loss_time *from = &losses->times[i];
        uint32_t loss = from->loss < UINT32_MAX ? (uint32_t)from->loss : UINT32_MAX;
        struct hs_loss_text text = hs_loss_of_client(loss);
        hs_builder_loss_time(
            load->builder, text.name, text.text,
            &(struct hs_profile_loss_time){ .loss = { .process = process,
                                                      .count = from->count,
                                                      .unit = (uint8_t)unit_of(loss),
                                                      .is_serious = text.is_serious,
                                                      .is_refusal = text.is_refusal },
                                            .from_ns = from->from_mono_ns,
                                            .to_ns = from->to_mono_ns });
    }
}

void hs_load_losses_add(struct hs_load *load, uint32_t process, const struct hs_load_losses *losses)
{
    add_times(load, process, losses);
    for (uint32_t i = 0; i < 16; i++) {
        const struct hs_load_weight *lost = &losses->lost[i];
        hs_loss_add_weighed(load->builder, process, hs_loss_of_client(i), unit_of(i),
                            losses->lost_count[i], lost->bytes, lost->alloc_count);
    }
    for (uint32_t i = HS_STACK_END + 1; i < 16; i++) {
        const struct hs_load_weight *cut = &losses->stack_end[i];
        uint64_t walk_count = losses->stack_end_count[i];
        /* A forked child inherits such stacks, even if it has not walked one itself. */
        walk_count = walk_count ? walk_count : cut->alloc_count > 0;
        hs_loss_add_weighed(load->builder, process, hs_loss_of_stack_end(i), HS_LOSS_UNIT_WALKS,
                            walk_count, cut->bytes, cut->alloc_count);
    }
    for (uint32_t i = 0; i < losses->guess_count; i++) {
        const struct hs_load_guess *guess = &losses->guesses[i];
        struct hs_loss_text text = hs_loss_of_guess(guess->is_jit);
        text.text = hs_builder_text(load->builder, guess->text);
        hs_loss_add_weighed(load->builder, process, text, HS_LOSS_UNIT_STACKS, guess->stack_count,
                            guess->weight.bytes, guess->weight.alloc_count);
    }
    for (uint32_t i = 0; i < losses->cut_count; i++) {
        struct hs_profile_cut_module cut = losses->cuts[i];
        cut.process = process;
        hs_builder_cut_module(load->builder, &cut);
    }
    hs_loss_add(load->builder, process, hs_loss_of_load(HS_LOAD_LOSS_BAD_ELEMENTS),
                losses->bad_count);
    hs_loss_add(load->builder, process, hs_loss_of_load(HS_LOAD_LOSS_SCOPES),
                losses->lost_scope_count);
    hs_loss_add(load->builder, process, hs_loss_of_load(HS_LOAD_LOSS_PYTHON_UNKNOWN),
                losses->python_state == HS_PYTHON_STATE_UNKNOWN);
    hs_loss_add(load->builder, process, hs_loss_of_load(HS_LOAD_LOSS_PYTHON_REFUSED),
                losses->python_state == HS_PYTHON_STATE_REFUSED);
    for (unsigned i = 0; i < HS_COUNT_OF(interpreters); i++) {
        hs_loss_add(load->builder, process, hs_loss_of_load(interpreters[i].loss),
                    losses->unread_interpreters >> interpreters[i].language & 1);
    }
    hs_loss_add(load->builder, process, hs_loss_of_load(HS_LOAD_LOSS_JAVA_REFUSED),
                losses->java_refusal != 0);
    hs_loss_add(load->builder, process, hs_loss_of_refusal(losses->refusal),
                losses->refusal != HS_REFUSAL_NONE);
}
