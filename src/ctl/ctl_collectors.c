/*
 * Lists and connects to the sockets of collectors: see ctl_collectors.h.
 */
#include "ctl/ctl_collectors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/ctl_socket.h"

#define HS_NAME_DIGITS  "0123456789abcdef"
#define HS_ACCEPTS_FLAG 0x10000U /* __SO_ACCEPTCON */

/* Takes the next word of a line, as a hexadecimal number; 0 when it is not a number. */
static unsigned long take_word(const char **line)
{
    char *end;
    unsigned long value = strtoul(*line, &end, 16);
    const char *word_end = *line + strspn(*line, " ");
    word_end += strcspn(word_end, " \n");
    *line = word_end;
    return end == word_end ? value : 0;
}

bool hs_ctl_collector_parse(const char *line, char ret_name[HS_CTL_NAME_MAX + 1])
{
    static const char prefix[] = "@" HS_CTL_COLLECTOR_PREFIX;
    const char *rest = line;
    /* Num: RefCount Protocol Flags Type St Inode Path */
    take_word(&rest);
    take_word(&rest);
    take_word(&rest);
    unsigned long flags = take_word(&rest);
    unsigned long type = take_word(&rest);
    take_word(&rest);
    take_word(&rest);
    const char *name = rest + strspn(rest, " ");
    size_t bytes = strcspn(name, "\n");
    if (!(flags & HS_ACCEPTS_FLAG) || type != SOCK_SEQPACKET ||
        strncmp(name, prefix, sizeof(prefix) - 1) != 0 || bytes - 1 > HS_CTL_NAME_MAX ||
        strspn(name + sizeof(prefix) - 1, HS_NAME_DIGITS) != bytes - (sizeof(prefix) - 1)) {
        return false;
    }
    memcpy(ret_name, name + 1, bytes - 1);
    ret_name[bytes - 1] = '\0';
    return true;
}

int hs_ctl_collectors_find(char (*ret_names)[HS_CTL_NAME_MAX + 1])
{
    FILE *list = fopen("/proc/self/net/unix", "re");
    char *line = NULL;
    size_t line_bytes = 0;
    int count = 0;
    if (!list) {
        return -errno;
    }
    while (count < HS_CTL_COLLECTORS_MAX && getline(&line, &line_bytes, list) > 0) {
        count += hs_ctl_collector_parse(line, ret_names[count]);
    }
    free(line);
    fclose(list);
    return count;
}

int hs_ctl_collector_connect(const char *name)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    size_t bytes = strlen(name);
    if (bytes > HS_CTL_NAME_MAX) {
        return -ENAMETOOLONG;
    }
    memcpy(addr.sun_path + 1, name, bytes);
    socklen_t addr_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + bytes);
    return hs_ctl_socket_connect_to(&addr, addr_bytes);
}
