/*
 * The parts of the region's header that describe the process. See process_info.h.
 */
#include "client/life/process_info.h"

#include "client/host/real.h"
#include "client/tables/modules.h"
#include "client/tables/region.h"
#include "rt/sys.h"

static uint32_t put_text(const char *text)
{
    uint64_t len = 0;
    while (text && text[len]) {
        len++;
    }
    return hs_region_put_bytes(text, len);
}

void hs_process_info_write_late(struct hs_region_header_v2 *header)
{
    char exe[1024];
    long len = hs_sys_readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    exe[len > 0 ? len : 0] = '\0';
    header->exe_off = len > 0 ? put_text(exe) : 0;
    header->real_malloc_module = hs_modules_id_at((const void *)hs_real.malloc);
}

void hs_process_info_write(struct hs_region_header_v2 *header, const struct hs_env *env)
{
    hs_process_info_write_late(header);
    if (header->exe_off == 0) {
        header->exe_off = put_text(env->exec_path);
    }
    uint64_t bytes = 0;
    if (env->argc > 0) {
        /* The arguments lie one behind the other, each with its NUL. */
        const char *last = env->argv[env->argc - 1];
        bytes = (uint64_t)(last - env->argv[0]);
        while (bytes < 65536 && env->argv[0][bytes] != '\0') {
            bytes++;
        }
        header->cmdline_off = bytes < 65536 ? hs_region_put_bytes(env->argv[0], bytes) : 0;
    }
    header->cmdline_bytes = header->cmdline_off ? (uint32_t)bytes + 1 : 0;
    header->is_from_startup = 1;
}
