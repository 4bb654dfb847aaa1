/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include <scn/error.h>

/* Switches, not tables: a number outside the list (an older program meets a newer code) has an answer too. */

const char *scn_error_code(enum scn_error error)
{
        switch (error) {
        case SCN_OK:
                return "ok";
#define ERROR_CODE(name, number, code, text)                                                                           \
        case SCN_E_##name:                                                                                             \
                return code;
                SCN_ERROR_LIST(ERROR_CODE)
#undef ERROR_CODE
        }
        return "unknown";
}

const char *scn_error_text(enum scn_error error)
{
        switch (error) {
        case SCN_OK:
                return "success";
#define ERROR_TEXT(name, number, code, text)                                                                           \
        case SCN_E_##name:                                                                                             \
                return text;
                SCN_ERROR_LIST(ERROR_TEXT)
#undef ERROR_TEXT
        }
        return "unknown error";
}
