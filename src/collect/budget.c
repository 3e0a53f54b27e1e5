/*
 * Decides about intervals: see budget.h.
 */
#include "collect/budget.h"

#include "rt/check.h"

#define MILLION 1e6

/* How often the memory is read: the faster it grows, the sooner. */
#define LOOK_MIN_NS       UINT64_C(5000000)
#define LOOK_MAX_NS       UINT64_C(250000000)
#define PACE_BYTES_PER_NS 0.2
/* Overhead is judged over windows of at least this much of the process's CPU time and of real
 * time. */
#define WINDOW_CPU_NS UINT64_C(50000000)
#define WINDOW_NS     UINT64_C(100000000)
/* A calm window lasts at least this long; this many of them in a row lower the interval the first
 * time, and at most CALM_MAX later. */
#define CALM_WINDOW_NS    UINT64_C(1000000000)
#define CALM_FIRST        8U
#define CALM_MAX          (1U << 20)
#define CALM_SHARE        0.25
#define STEP_MAX          256.0
#define ROOM_FOR_LOWERING 8U
/* The changes that lowering may use: the rest is for raising, which takes 41 at most. */
#define CHANGES_FOR_LOWERING (HS_BUDGET_CHANGES_MAX - 48U)

#define MEMORY_FACTOR        4.0
/* Tables grow by this much at once, so less than this cannot be divided further. */
#define MEMORY_LAST_BYTES UINT64_C(65536)

#define RARITY_FACTOR     4U
/* This part of the limit is kept for the final dumps. */
#define CPU_LAST_SHARE 32U
/* A sum of this and a clock value does not overflow. */
#define STRETCHED_MAX_NS (UINT64_C(1) << 61)

/* The cost of a sample outside the timed part: the sampler, the registers, entry and exit. And the
 * cost of freeing a recorded block. Both were measured as in docs/PERFORMANCE.md, with the cache
 * misses of a program that does other work. */
#define SAMPLE_REST_NS 10.0
#define FREE_NS        25.0
/* The cost of a sample before any was timed. With fewer timed samples than TIMED_ENOUGH in a
 * window, the average of all samples is better than the window's. */
#define SAMPLE_UNTIMED_NS 150.0
#define TIMED_ENOUGH      32U

/* Below this interval most allocations are larger than it, and are recorded anyway. */
#define FINE_INTERVAL_BYTES UINT64_C(4096)

void hs_budget_init(struct hs_budget *budget, const struct hs_budget_limits *limits,
                    uint64_t asked_bytes, uint64_t interval_bytes)
{
    *budget = (struct hs_budget){
        .limits = *limits,
        .asked_bytes = asked_bytes,
        .interval_bytes = interval_bytes > asked_bytes ? interval_bytes : asked_bytes,
        .left_next_bytes = limits->memory_bytes / 2,
        .calm_wanted = CALM_FIRST,
    };
}

/* --- steps ------------------------------------------------------------------------------------ */

/* The difference of two counters. They come from the process and may be anything; the result is
 * never negative. */
static double since(uint64_t now, uint64_t before)
{
    return now > before ? (double)(now - before) : 0;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* The interval that takes `factor` times fewer samples. Raising a very fine interval has no effect
 * on the many allocations that are larger. Then the new interval starts from the mean weight of the
 * latest samples. */
static uint64_t raised(const struct hs_budget *budget, const struct hs_budget_reading *reading,
                       double factor)
{
    uint64_t base = budget->interval_bytes, to = budget->interval_bytes;
    if (base < FINE_INTERVAL_BYTES && reading->sample_count > 0) {
        double samples = since(reading->sample_count, budget->window.sample_count);
        /* In a window without samples, the mean of all samples so far. */
        double mean = samples > 0
                          ? since(reading->weight_bytes, budget->window.weight_bytes) / samples
                          : (double)reading->weight_bytes / (double)reading->sample_count;
        uint64_t mean_bytes = mean < FINE_INTERVAL_BYTES ? (uint64_t)mean : FINE_INTERVAL_BYTES;
        base = mean_bytes > base ? mean_bytes : base;
    }
    while ((double)to < (double)base * factor && to <= HS_INTERVAL_BYTES_MAX / 2) {
        to *= 2;
    }
    return to;
}

static bool change(struct hs_budget *budget, const struct hs_budget_reading *reading, uint64_t to,
                   struct hs_snap_change *ret_change)
{
    if (to == budget->interval_bytes || reading->interval_room == 0 ||
        budget->change_count >= HS_BUDGET_CHANGES_MAX) {
        return false;
    }
    HS_ASSERT(to >= budget->asked_bytes && to <= HS_INTERVAL_BYTES_MAX);
    ret_change->time_mono_ns = reading->time_ns;
    ret_change->from_bytes = budget->interval_bytes;
    ret_change->to_bytes = to;
    ret_change->rarity = 1;
    budget->change_count++;
    budget->interval_bytes = to;
    budget->calm_count = 0;
    budget->window = *reading;
    return true;
}

/* --- memory ----------------------------------------------------------------------------------- */

/* The interval that the memory limit demands. */
static uint64_t judge_memory(struct hs_budget *budget, const struct hs_budget_reading *reading)
{
    uint64_t limit = budget->limits.memory_bytes;
    uint64_t left = reading->region_bytes < limit ? limit - reading->region_bytes : 0;
    if (limit == 0 || left > budget->left_next_bytes ||
        budget->left_next_bytes < MEMORY_LAST_BYTES) {
        return budget->interval_bytes;
    }
    budget->left_next_bytes = left / 2;
    return raised(budget, reading, MEMORY_FACTOR);
}

/* --- overhead --------------------------------------------------------------------------------- */

static double sample_ns(const struct hs_budget *budget, const struct hs_budget_reading *reading)
{
    double count = since(reading->timed_count, budget->window.timed_count);
    double ns = since(reading->timed_ns, budget->window.timed_ns);
    if (count < TIMED_ENOUGH) {
        count = (double)reading->timed_count;
        ns = (double)reading->timed_ns;
    }
    return SAMPLE_REST_NS + (count >= 1 ? ns / count : SAMPLE_UNTIMED_NS);
}

uint64_t hs_budget_cost_ns(uint64_t timed_count, uint64_t timed_ns, uint64_t sample_count,
                           uint64_t free_count)
{
    if (timed_count < TIMED_ENOUGH) {
        return 0;
    }
    double each_ns = SAMPLE_REST_NS + (double)timed_ns / (double)timed_count;
    double cost_ns = (double)sample_count * each_ns + (double)free_count * FREE_NS;
    return cost_ns < 1e18 ? (uint64_t)cost_ns : UINT64_C(1000000000000000000);
}

/* The interval that the cost of recording demands; it may be a higher or a lower one. */
static uint64_t judge_overhead(struct hs_budget *budget, const struct hs_budget_reading *reading)
{
    uint64_t to = budget->interval_bytes;
    double limit = (double)budget->limits.overhead_ppm / MILLION;
    double cpu_ns = since(reading->cpu_ns, budget->window.cpu_ns);
    uint64_t took_ns = reading->time_ns - budget->window.time_ns;
    if (budget->limits.overhead_ppm == 0 || reading->cpu_ns == 0) {
        return to;
    }
    double cost_ns =
        since(reading->sample_count, budget->window.sample_count) * sample_ns(budget, reading) +
        since(reading->free_count, budget->window.free_count) * FREE_NS;
    bool is_whole = took_ns >= WINDOW_NS && cpu_ns >= (double)WINDOW_CPU_NS;
    if (is_whole && cost_ns > limit * cpu_ns) {
        double excess = cost_ns / (limit * cpu_ns);
        return raised(budget, reading, excess < STEP_MAX ? excess : STEP_MAX);
    }
    if (took_ns < CALM_WINDOW_NS || cost_ns > limit * cpu_ns) {
        /* The window is still too short, or the cost is above the limit of very little CPU time: a
         * process that sleeps most of the time takes longer to be judged. */
        return to;
    }
    /* A process that only slept is calm as well. */
    bool is_calm = cost_ns <= CALM_SHARE * limit * cpu_ns;
    budget->calm_count = is_calm ? budget->calm_count + 1 : 0;
    budget->window = *reading;
    if (budget->calm_count >= budget->calm_wanted && to >= 2 * budget->asked_bytes &&
        reading->interval_room >= ROOM_FOR_LOWERING &&
        budget->left_next_bytes == budget->limits.memory_bytes / 2 &&
        budget->change_count < CHANGES_FOR_LOWERING) {
        budget->calm_wanted = budget->calm_wanted < CALM_MAX ? 2 * budget->calm_wanted : CALM_MAX;
        to /= 2;
    }
    return to;
}

/* How long to wait until the next reading: until half of the memory up to the next step is used up,
 * at the latest pace; or, because the pace may change at any time, all of it at a pace that few
 * programs have. A new process is read sooner. */
static uint64_t pause_ns(const struct hs_budget *budget, const struct hs_budget_reading *reading)
{
    uint64_t limit = budget->limits.memory_bytes;
    double grown = since(reading->region_bytes, budget->last.region_bytes);
    double took_ns = since(reading->time_ns, budget->last.time_ns);
    double away = since(limit, reading->region_bytes + budget->left_next_bytes);
    double pause = (double)LOOK_MAX_NS;
    if (limit == 0) {
        return LOOK_MAX_NS;
    }
    pause = least(pause, away / PACE_BYTES_PER_NS);
    pause = least(pause, since(reading->time_ns, budget->begin_ns) / 2);
    pause = grown > 0 ? least(pause, away / 2 / grown * took_ns) : pause;
    return pause < (double)LOOK_MIN_NS ? LOOK_MIN_NS : (uint64_t)pause;
}

bool hs_budget_decide(struct hs_budget *budget, const struct hs_budget_reading *reading,
                      struct hs_snap_change *ret_change)
{
    if (!budget->has_begun) {
        budget->has_begun = true;
        budget->begin_ns = reading->time_ns;
        budget->window = *reading;
        budget->last = (struct hs_budget_reading){ .time_ns = reading->time_ns };
    }
    uint64_t for_memory = judge_memory(budget, reading);
    uint64_t for_overhead = judge_overhead(budget, reading);
    bool is_memory = for_memory > budget->interval_bytes && for_memory >= for_overhead;
    bool is_down = !is_memory && for_overhead < budget->interval_bytes;
    struct hs_snap_change it = {
        .reason = is_memory ? HS_CHANGE_MEMORY
                  : is_down ? HS_CHANGE_EASED
                            : HS_CHANGE_OVERHEAD,
        .limit = is_memory ? budget->limits.memory_bytes : budget->limits.overhead_ppm,
    };
    uint64_t to = is_memory ? for_memory : for_overhead;
    bool is_changed = change(budget, reading, to, &it);
    if (is_changed) {
        *ret_change = it;
    }
    budget->next_ns = reading->time_ns + pause_ns(budget, reading);
    budget->last = *reading;
    return is_changed;
}

bool hs_budget_raise(struct hs_budget *budget, unsigned factor, uint32_t interval_room)
{
    if (interval_room == 0 || budget->change_count >= HS_BUDGET_CHANGES_MAX ||
        budget->interval_bytes > HS_INTERVAL_BYTES_MAX / factor) {
        return false;
    }
    budget->interval_bytes *= factor;
    HS_ASSERT(budget->interval_bytes <= HS_INTERVAL_BYTES_MAX);
    budget->change_count++;
    budget->calm_count = 0;
    /* The window belongs to the old interval; a new window begins with the latest reading. */
    budget->window = budget->last;
    return true;
}

/* --- the collector's CPU time ----------------------------------------------------------------- */

void hs_cpu_budget_init(struct hs_cpu_budget *budget, uint64_t limit_ns)
{
    *budget =
        (struct hs_cpu_budget){ .limit_ns = limit_ns, .left_next_ns = limit_ns / 2, .rarity = 1 };
}

bool hs_cpu_budget_decide(struct hs_cpu_budget *budget, uint64_t used_ns)
{
    uint64_t left = used_ns < budget->limit_ns ? budget->limit_ns - used_ns : 0;
    if (budget->limit_ns == 0 || budget->rarity == 0 || left > budget->left_next_ns) {
        return false;
    }
    bool is_over = left < budget->limit_ns / CPU_LAST_SHARE;
    budget->rarity = is_over ? 0 : RARITY_FACTOR * budget->rarity;
    budget->left_next_ns = left / 2;
    return true;
}

uint64_t hs_cpu_budget_stretch_ns(const struct hs_cpu_budget *budget, uint64_t every_ns)
{
    uint64_t stretched_ns;
    bool is_endless = __builtin_mul_overflow(every_ns, (uint64_t)budget->rarity, &stretched_ns) ||
                      stretched_ns > STRETCHED_MAX_NS;
    return is_endless ? STRETCHED_MAX_NS : stretched_ns;
}
