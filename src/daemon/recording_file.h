/*
 * The file of a recording. The command opens it under a temporary name in the folder of the final
 * file, and sends the descriptors of the file and of the folder: the daemon opens no path.
 *
 * It must be a regular file that is open for writing, on a file system that answers. The machine's
 * daemon takes no file on FUSE, where another user's process would decide how long a write takes.
 *
 * Threads   none.
 * Fails     see each function.
 */
#pragma once

#include <stdbool.h>

struct hs_recording_file {
    int file_fd, folder_fd;       /* -1: none */
    char *temp_name, *final_name; /* of the file in its folder */
    char *path;                   /* of the final file, for messages only */
};

#define HS_RECORDING_FILE_NONE ((struct hs_recording_file){ .file_fd = -1, .folder_fd = -1 })

/* Is this text valid as the name of a file in a folder? */
bool hs_recording_file_is_name(const char *name);

/* Copies the names. Returns false if a name is missing or invalid, or if there is no memory. */
bool hs_recording_file_set_names(struct hs_recording_file *file, const char *temp_name,
                                 const char *final_name, const char *path);

/* Checks the descriptors of a request. `is_system`: for the machine's daemon. Returns NULL, or why
 * the file cannot be used. */
const char *hs_recording_file_check(const struct hs_recording_file *file, bool is_system);

/* Does the temporary name still belong to the file that is open? */
bool hs_recording_file_is_in_place(const struct hs_recording_file *file);

/* Closes the descriptors. The names stay, for messages. */
void hs_recording_file_close(struct hs_recording_file *file);
/* Closes the descriptors, and frees the names. */
void hs_recording_file_deinit(struct hs_recording_file *file);
