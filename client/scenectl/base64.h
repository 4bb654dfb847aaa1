/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_SCENECTL_BASE64_H
#define SCN_CLIENT_SCENECTL_BASE64_H

/* Base64 (RFC 4648 §4), strict: whole groups of four, padded, no other characters, no loose bits. */

#include <scn/types.h>

#define SCN_BASE64_BAD UINT32_MAX

/* One group: 1 to 3 bytes become four characters and a zero. */
void scn_base64_encode(const uint8_t *bytes, uint32_t count, char text_out[5]);
/* How many bytes a text stands for, or SCN_BASE64_BAD if it is not base64. */
uint32_t scn_base64_count(const char *text, size_t size);
/* The caller has counted: the text is right, and there is room. */
void scn_base64_decode(const char *text, size_t size, uint8_t *bytes_out);

#endif
