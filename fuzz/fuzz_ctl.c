/*
 * Fuzz target: datagrams of commands, as a daemon receives them: head, body, and how the daemon
 * parses `start`. The patterns in it are matched against a command line that is also part of the
 * input.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/ctl.pb-c.h"
#include "ctl/ctl_message.h"
#include "daemon/recording_file.h"
#include "daemon/start_settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void match(const struct hs_session_settings *settings, const uint8_t *data, size_t size)
{
    const struct hs_match_facts facts = { .pid = 1,
                                          .cmdline = (const char *)data,
                                          .cmdline_bytes = size < 256 ? size : 256,
                                          .comm = "python3" };
    const struct hs_match means = { .pids = settings->pids,
                                    .pid_count = settings->pid_count,
                                    .names = (const char *const *)settings->names,
                                    .name_count = settings->name_count,
                                    .is_all = settings->is_all };
    char name[64];
    hs_match_running(&means, &facts);
    hs_match_display(&facts, name, sizeof(name));
}

static void take_start(const Hs__Ctl__Start *request, const uint8_t *data, size_t size)
{
    struct hs_session_settings settings;
    const char *why;
    if (hs_start_settings(request, &settings, &why) == 0) {
        if (hs_session_settings_check(&settings)) {
            abort();
        }
        match(&settings, data, size);
        hs_session_settings_deinit(&settings);
    }
    if (hs_recording_file_is_name(request->final_name) && strchr(request->final_name, '/')) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const ProtobufCMessageDescriptor *const descriptors[HS_CTL_KIND_N] = {
        [HS_CTL_ERROR] = &hs__ctl__error__descriptor,
        [HS_CTL_START] = &hs__ctl__start__descriptor,
        [HS_CTL_STARTED] = &hs__ctl__started__descriptor,
        [HS_CTL_STOP] = &hs__ctl__stop__descriptor,
        [HS_CTL_STOPPED] = &hs__ctl__stopped__descriptor,
        [HS_CTL_LIST] = &hs__ctl__list__descriptor,
        [HS_CTL_LISTED] = &hs__ctl__listed__descriptor,
        [HS_CTL_SNAPSHOT] = &hs__ctl__snapshot__descriptor,
        [HS_CTL_SNAPPED] = &hs__ctl__snapped__descriptor,
        [HS_CTL_DUMP] = &hs__ctl__dump__descriptor,
        [HS_CTL_DUMPED] = &hs__ctl__dumped__descriptor,
        [HS_CTL_WATCH] = &hs__ctl__watch__descriptor,
        [HS_CTL_WATCHED] = &hs__ctl__watched__descriptor,
        [HS_CTL_NEXT] = &hs__ctl__next__descriptor,
        [HS_CTL_UPDATE] = &hs__ctl__update__descriptor,
    };
    struct hs_ctl_head_v1 head;
    if (hs_ctl_parse(data, size, &head) != 0 || (head.flags & HS_CTL_IN_FILE)) {
        return 0;
    }
    const struct hs_ctl_message message = { .kind = head.kind,
                                            .body = (uint8_t *)(uintptr_t)data + sizeof(head),
                                            .body_bytes = head.body_bytes };
    ProtobufCMessage *body = hs_ctl_unpack(&message, descriptors[head.kind]);
    if (body) {
        if (head.kind == HS_CTL_START) {
            take_start((const Hs__Ctl__Start *)(const void *)body, data, size);
        }
        protobuf_c_message_free_unpacked(body, NULL);
    }
    return 0;
}
