/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "server/data_path.h"

#include "protocol/base/assert.h"
#include "server/config.h"
#include "server/problem.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 0: it is a directory, and may be used so; else errno. */
static int find_directory(const char *path, int access_mode)
{
        struct stat status;

        if (stat(path, &status) != 0)
                return errno;
        if (!S_ISDIR(status.st_mode))
                return ENOTDIR;
        return access(path, access_mode) == 0 ? 0 : errno;
}

/* Of "a/b/" "a", of "b" ".", of "/b" "/". */
static void find_parent(const char *path, char parent_out[SCN_CONFIG_PATH_BYTES])
{
        size_t size = strlen(path);

        while (size > 1 && path[size - 1] == '/')
                size--;
        while (size > 0 && path[size - 1] != '/')
                size--;
        while (size > 1 && path[size - 1] == '/')
                size--;
        memcpy(parent_out, path, size);
        parent_out[size] = '\0';
        if (size == 0)
                memcpy(parent_out, ".", 2);
}

bool scn_data_path_check(const char *path, char problem_out[SCN_PROBLEM_BYTES])
{
        char parent[SCN_CONFIG_PATH_BYTES];
        struct stat status;

        SCN_ASSERT(path[0] != '\0');
        SCN_ASSERT(strlen(path) < SCN_CONFIG_PATH_BYTES);
        int error = find_directory(path, R_OK | W_OK | X_OK);
        if (error != ENOENT) {
                if (error != 0)
                        scn_problem_set(problem_out, "--data %.*s: %s", SCN_PROBLEM_VALUE_BYTES, path, strerror(error));
                return error == 0;
        }
        /* What leads nowhere cannot be made either, for its name is taken. */
        if (lstat(path, &status) == 0) {
                scn_problem_set(problem_out, "--data %.*s: is a link to nothing", SCN_PROBLEM_VALUE_BYTES, path);
                return false;
        }
        find_parent(path, parent);
        error = find_directory(parent, W_OK | X_OK);
        if (error != 0)
                scn_problem_set(problem_out, "--data %.*s: cannot be made in %.*s: %s", SCN_PROBLEM_VALUE_BYTES / 2,
                        path, SCN_PROBLEM_VALUE_BYTES / 2, parent, strerror(error));
        return error == 0;
}
