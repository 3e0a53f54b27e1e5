/* Fuzz target: inspecting an executable file that is the input. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/inspect/exe_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_exe_file file;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
        abort();
    }
    if (hs_exe_file_inspect(fd, &file) == 0 &&
        (strnlen(file.interpreter, sizeof(file.interpreter)) == sizeof(file.interpreter) ||
         strnlen(file.argument, sizeof(file.argument)) == sizeof(file.argument))) {
        abort();
    }
    close(fd);
    return 0;
}
