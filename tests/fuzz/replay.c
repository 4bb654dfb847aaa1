/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* usage: replay_NAME FILE...
 *
 * Gives files to a fuzz target as a fuzzer would, with any compiler: so the corpus is looked at in every test run. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FILE_BYTES_MAX ((size_t)1 << 20)

int main(int argc, char **argv)
{
        for (int i = 1; i < argc; i++) {
                FILE *file = fopen(argv[i], "rb");
                uint8_t *bytes = malloc(FILE_BYTES_MAX);
                if (file == NULL || bytes == NULL) {
                        (void)fprintf(stderr, "%s: cannot be read\n", argv[i]);
                        return 1;
                }
                const size_t size = fread(bytes, 1, FILE_BYTES_MAX, file);
                (void)fclose(file);
                /* Of the size it has, so that AddressSanitizer sees its end. */
                bytes = realloc(bytes, size > 0 ? size : 1);
                (void)LLVMFuzzerTestOneInput(bytes, size);
                free(bytes);
        }
        (void)printf("%d files\n", argc - 1);
        return argc > 1 ? 0 : 1;
}
