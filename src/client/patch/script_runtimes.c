/*
 * Finding interpreters of Perl, PHP and Ruby. See script_runtimes.h.
 */
#include "client/patch/script_runtimes.h"

#include <link.h>
#include <sys/auxv.h>

#include "client/host/linkmap.h"
#include "client/host/readable_pages.h"

/* Thread-local storage of a program lies this close below the thread pointer. */
#define STATIC_TLS_BYTES (INT64_C(1) << 20)

struct hs_script_runtimes hs_script_runtimes;

static uint32_t is_busy; /* a thread is looking for interpreters */

/* One loaded object. */
struct object {
    struct link_map map;
    const void *tls;   /* this thread's, of the object; NULL: none */
    bool was_at_start; /* loaded with the program */
};

static uint64_t symbol(const struct object *object, const char *name)
{
    return (uint64_t)(uintptr_t)hs_linkmap_symbol(&object->map, name);
}

static void add_loop(const struct object *object, const char *name, uint32_t i,
                     struct hs_script_runtime *runtime)
{
    const ElfW(Sym) *entry = hs_linkmap_entry(&object->map, name);
    if (entry) {
        runtime->loops[i].start_va = object->map.l_addr + entry->st_value;
        runtime->loops[i].bytes = entry->st_size;
    }
}

/* Notes that there is an interpreter whose structures are not known. */
static bool check(uint32_t language, bool is_known)
{
    if (!is_known) {
        hs_or_relaxed(&hs_script_runtimes.unknown, 1U << language);
    }
    return is_known;
}

/* --- what an object is ------------------------------------------------------------------------ */

/* False: it is no Perl, or one whose structures are not known. */
static bool is_perl(const struct object *object, struct hs_script_runtime *runtime)
{
    const uint8_t *revision = hs_linkmap_symbol(&object->map, "PL_revision");
    const uint8_t *version = hs_linkmap_symbol(&object->map, "PL_version");
    const uint16_t *interp_bytes = hs_linkmap_symbol(&object->map, "PL_interp_size");
    if (!revision || !version || !interp_bytes) {
        return false;
    }
    const struct hs_perl_identity identity = { *revision, *version, *interp_bytes };
    runtime->language = HS_LANGUAGE_PERL;
    runtime->describe = hs_perl_describe;
    runtime->perl.roots.nextstate_va = symbol(object, "Perl_pp_nextstate");
    runtime->perl.roots.dbstate_va = symbol(object, "Perl_pp_dbstate");
    runtime->perl.roots.null_va = symbol(object, "Perl_pp_null");
    runtime->perl.key_va = symbol(object, "PL_thr_key");
    runtime->perl.get_specific =
        (void *(*)(unsigned))hs_linkmap_search(NULL, NULL, "pthread_getspecific", NULL);
    add_loop(object, "Perl_runops_standard", 0, runtime);
    add_loop(object, "Perl_runops_debug", 1, runtime);
    return check(HS_LANGUAGE_PERL, hs_perl_is_known(&identity) &&
                                       runtime->perl.roots.nextstate_va && runtime->perl.key_va &&
                                       runtime->perl.get_specific);
}

/* The version shows later: its modules are not registered yet. */
static bool is_php(const struct object *object, struct hs_script_runtime *runtime)
{
    runtime->language = HS_LANGUAGE_PHP;
    runtime->describe = hs_php_describe;
    runtime->php.globals_va = symbol(object, "executor_globals");
    runtime->php.registry_va = symbol(object, "module_registry");
    add_loop(object, "execute_ex", 0, runtime);
    return runtime->php.globals_va && runtime->php.registry_va && runtime->loops[0].start_va;
}

/* Where a thread-local variable of the object lies in its block. False: it exports none. */
static bool thread_local_off(const struct object *object, const char *name, int64_t *ret_off)
{
    const ElfW(Sym) *any = hs_linkmap_entry(&object->map, "ruby_version");
    uint32_t any_number = hs_linkmap_symbol_number(&object->map, "ruby_version");
    uint32_t number = hs_linkmap_symbol_number(&object->map, name);
    if (!any || any_number == 0 || number == 0) {
        return false;
    }
    const ElfW(Sym) *entry = any - any_number + number; /* in the same table */
    *ret_off = (int64_t)entry->st_value;
    return ELF64_ST_TYPE(entry->st_info) == STT_TLS && entry->st_shndx != SHN_UNDEF;
}

static bool is_ruby(const struct object *object, struct hs_script_runtime *runtime)
{
    const char *version = hs_linkmap_symbol(&object->map, "ruby_version");
    int64_t context_off;
    uint64_t id2str_va = symbol(object, "rb_id2str");
    if (!version || !id2str_va ||
        !check(HS_LANGUAGE_RUBY,
               object->tls && thread_local_off(object, "ruby_current_ec", &context_off))) {
        return false;
    }
    static struct hs_readable_pages pages; /* too large for a stack; one thread is here */
    struct hs_script_memory memory;
    hs_readable_pages_forget(&pages);
    hs_script_memory_init(&memory, &pages);
    runtime->language = HS_LANGUAGE_RUBY;
    runtime->describe = hs_ruby_describe;
    runtime->ruby.roots.symbols_va = hs_ruby_find_symbols(id2str_va, &memory);
    runtime->ruby.context_off =
        (const char *)object->tls + context_off - (const char *)__builtin_thread_pointer();
    add_loop(object, "rb_vm_exec", 0, runtime);
    return check(HS_LANGUAGE_RUBY, hs_ruby_is_known(version) && object->was_at_start &&
                                       runtime->loops[0].start_va &&
                                       runtime->ruby.context_off < 0 &&
                                       runtime->ruby.context_off > -STATIC_TLS_BYTES);
}

static bool describe(const struct object *object, struct hs_script_runtime *ret_runtime)
{
    static bool (*const kinds[])(const struct object *, struct hs_script_runtime *) = {
        is_perl,
        is_php,
        is_ruby,
    };
    for (unsigned i = 0; i < HS_COUNT_OF(kinds); i++) {
        *ret_runtime = (struct hs_script_runtime){ .dynamic = object->map.l_ld,
                                                   .bias_va = object->map.l_addr };
        if (kinds[i](object, ret_runtime)) {
            return true;
        }
    }
    return false;
}

/* --- finding ---------------------------------------------------------------------------------- */

static bool is_known(const struct object *object)
{
    for (uint32_t i = 0; i < hs_script_runtimes.count; i++) {
        const struct hs_script_runtime *one = &hs_script_runtimes.list[i];
        if (one->dynamic == object->map.l_ld && one->bias_va == object->map.l_addr) {
            return true;
        }
    }
    return false;
}

static int on_object(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
    uint32_t *object_count = ctx, count = hs_script_runtimes.count;
    struct object object = { .map.l_addr = info->dlpi_addr, .tls = info->dlpi_tls_data };
    (void)bytes;
    object.was_at_start = (*object_count)++ < hs_linkmap_lasting_count();
    if (info->dlpi_addr != 0 &&
        (info->dlpi_addr == getauxval(AT_BASE) || info->dlpi_addr == getauxval(AT_SYSINFO_EHDR))) {
        return 0;
    }
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            object.map.l_ld = (ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        }
    }
    if (object.map.l_ld && count < HS_SCRIPT_RUNTIMES_MAX && !is_known(&object) &&
        describe(&object, &hs_script_runtimes.list[count])) {
        /* ORDER script-runtime: all that is known of the interpreter. */
        hs_store_release(&hs_script_runtimes.count, count + 1);
    }
    return 0;
}

void hs_script_runtimes_find(void)
{
    uint32_t is_free = 0, object_count = 0;
    /* ORDER script-runtimes: what the last thread found. */
    if (hs_cas_acq_rel(&is_busy, &is_free, 1)) {
        dl_iterate_phdr(on_object, &object_count);
        if (hs_script_runtimes.count > 0 || hs_python_interpreters.known > 0) {
            hs_store_relaxed(&hs_script_runtimes.is_any, 1);
        }
        /* ORDER script-runtimes: as above. */
        hs_store_release(&is_busy, 0);
    }
}

void hs_script_runtimes_follow_fork(void)
{
    is_busy = 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

static enum hs_script_end read_perl(const struct hs_script_runtime *runtime,
                                    struct hs_script_memory *memory,
                                    const struct hs_script_sink *sink)
{
    uint64_t key = 0;
    uint64_t interp_va = hs_script_read(memory, runtime->perl.key_va, 4, &key)
                             ? (uint64_t)(uintptr_t)runtime->perl.get_specific((unsigned)key)
                             : 0;
    return interp_va ? hs_perl_read(interp_va, memory, sink) : HS_SCRIPT_NONE;
}

enum hs_script_end hs_script_runtime_read(const struct hs_script_runtime *runtime,
                                          struct hs_script_memory *memory,
                                          const struct hs_script_sink *sink)
{
    uint64_t context_va;
    switch (runtime->language) {
    case HS_LANGUAGE_PERL:
        return read_perl(runtime, memory, sink);
    case HS_LANGUAGE_PHP:
        return hs_php_read(&runtime->php, memory, sink);
    default:
        context_va =
            (uint64_t)(uintptr_t)__builtin_thread_pointer() + (uint64_t)runtime->ruby.context_off;
        return hs_ruby_read(&runtime->ruby.roots, hs_script_word(memory, context_va), memory, sink);
    }
}
