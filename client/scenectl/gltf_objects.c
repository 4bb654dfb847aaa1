/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "client/scenectl/gltf_objects.h"

#include "client/scenectl/json_value.h"
#include "protocol/base/assert.h"
#include "protocol/wire/pack.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define HALF_PI 1.5707963267948966
#define QUARTER_PI 0.7853981633974483

/* --- Maps by key --- */

static bool is_word(struct scn_slice text, const char *word)
{
        return text.size == strlen(word) && memcmp(text.data, word, text.size) == 0;
}

/* The members that a map may have; what is absent has data == NULL. */
struct members {
        const char *const *keys;
        size_t count;
        struct scn_slice *values;
};

/* False for another kind, and for any other key: it would mean nothing there. */
static bool take_members(struct scn_slice value, const struct members *members)
{
        struct scn_unpacker in = scn_unpacker_from(value);

        for (uint32_t left = scn_unpack_map(&in); left > 0 && in.error == SCN_OK; left--) {
                const struct scn_slice key = scn_unpack_text(&in, UINT32_MAX);
                const struct scn_slice member = scn_unpack_raw(&in);
                size_t i = 0;
                while (in.error == SCN_OK && i < members->count && !is_word(key, members->keys[i]))
                        i++;
                if (i == members->count)
                        return false;
                members->values[i] = member;
        }
        return scn_unpack_is_done(&in);
}

static bool is_text(struct scn_slice value)
{
        struct scn_unpacker in = scn_unpacker_from(value);
        return scn_unpack_kind(&in) == SCN_PACK_TEXT;
}

/* The text of a value; empty for another kind. */
static struct scn_slice text_of(struct scn_slice value)
{
        struct scn_unpacker in = scn_unpacker_from(value);
        return scn_unpack_text(&in, UINT32_MAX);
}

/* NaN, which no comparison lets pass, for another kind. */
static double number_of(struct scn_unpacker *in)
{
        const struct scn_number number = scn_unpack_number(in);

        if (in->error != SCN_OK)
                return NAN;
        switch (number.kind) {
        case SCN_NUMBER_INT:
                return (double)number.value.i;
        case SCN_NUMBER_UINT:
                return (double)number.value.u;
        case SCN_NUMBER_FLOAT:
                return fabs(number.value.f) <= (double)FLT_MAX ? number.value.f : NAN;
        }
        return NAN;
}

/* A member, or what stands for it when it is absent. */
static double number_or(struct scn_slice value, double otherwise)
{
        if (value.data == NULL)
                return otherwise;
        struct scn_unpacker in = scn_unpacker_from(value);
        return number_of(&in);
}

/* --- Cameras --- */

static bool is_perspective(struct scn_slice value)
{
        enum {
                ASPECT,
                YFOV,
                ZFAR,
                ZNEAR,
                EXTRAS,
                COUNT
        };
        static const char *const keys[COUNT] = {"aspectRatio", "yfov", "zfar", "znear", "extras"};
        struct scn_slice v[COUNT] = {{NULL, 0}};

        return take_members(value, &(struct members){keys, COUNT, v}) && number_or(v[ASPECT], 1.0) > 0.0 &&
                number_or(v[YFOV], NAN) > 0.0 && number_or(v[ZNEAR], NAN) > 0.0 &&
                number_or(v[ZFAR], HUGE_VAL) > number_or(v[ZNEAR], NAN);
}

static bool is_orthographic(struct scn_slice value)
{
        enum {
                XMAG,
                YMAG,
                ZFAR,
                ZNEAR,
                EXTRAS,
                COUNT
        };
        static const char *const keys[COUNT] = {"xmag", "ymag", "zfar", "znear", "extras"};
        struct scn_slice v[COUNT] = {{NULL, 0}};

        return take_members(value, &(struct members){keys, COUNT, v}) && fabs(number_or(v[XMAG], NAN)) > 0.0 &&
                fabs(number_or(v[YMAG], NAN)) > 0.0 && number_or(v[ZNEAR], NAN) >= 0.0 &&
                number_or(v[ZFAR], NAN) > number_or(v[ZNEAR], NAN);
}

bool scn_gltf_is_camera(struct scn_slice value)
{
        enum {
                TYPE,
                NAME,
                PERSPECTIVE,
                ORTHOGRAPHIC,
                EXTRAS,
                COUNT
        };
        static const char *const keys[COUNT] = {"type", "name", "perspective", "orthographic", "extras"};
        struct scn_slice v[COUNT] = {{NULL, 0}};

        SCN_ASSERT(value.data != NULL);
        if (!scn_json_value_is_plain(value) || !take_members(value, &(struct members){keys, COUNT, v}) ||
                v[TYPE].data == NULL || (v[NAME].data != NULL && !is_text(v[NAME])))
                return false;
        const struct scn_slice type = text_of(v[TYPE]);
        if (is_word(type, "perspective"))
                return v[ORTHOGRAPHIC].data == NULL && v[PERSPECTIVE].data != NULL && is_perspective(v[PERSPECTIVE]);
        if (is_word(type, "orthographic"))
                return v[PERSPECTIVE].data == NULL && v[ORTHOGRAPHIC].data != NULL && is_orthographic(v[ORTHOGRAPHIC]);
        return false;
}

/* --- Lights --- */

static bool is_colour(struct scn_slice value)
{
        struct scn_unpacker in = scn_unpacker_from(value);

        if (scn_unpack_array(&in) != 3)
                return false;
        for (uint32_t i = 0; i < 3; i++) {
                const double part = number_of(&in);
                if (!(part >= 0.0 && part <= 1.0))
                        return false;
        }
        return true;
}

static bool is_spot(struct scn_slice value)
{
        enum {
                INNER,
                OUTER,
                EXTRAS,
                COUNT
        };
        static const char *const keys[COUNT] = {"innerConeAngle", "outerConeAngle", "extras"};
        struct scn_slice v[COUNT] = {{NULL, 0}};

        if (!take_members(value, &(struct members){keys, COUNT, v}))
                return false;
        const double inner = number_or(v[INNER], 0.0);
        const double outer = number_or(v[OUTER], QUARTER_PI);
        return inner >= 0.0 && inner < outer && outer <= HALF_PI;
}

bool scn_gltf_is_light(struct scn_slice value)
{
        enum {
                TYPE,
                NAME,
                COLOUR,
                INTENSITY,
                RANGE,
                SPOT,
                EXTRAS,
                COUNT
        };
        static const char *const keys[COUNT] = {"type", "name", "color", "intensity", "range", "spot", "extras"};
        struct scn_slice v[COUNT] = {{NULL, 0}};

        SCN_ASSERT(value.data != NULL);
        if (!scn_json_value_is_plain(value) || !take_members(value, &(struct members){keys, COUNT, v}) ||
                v[TYPE].data == NULL || (v[NAME].data != NULL && !is_text(v[NAME])) ||
                (v[COLOUR].data != NULL && !is_colour(v[COLOUR])) || !(number_or(v[INTENSITY], 1.0) >= 0.0) ||
                !(number_or(v[RANGE], 1.0) > 0.0))
                return false;
        const struct scn_slice type = text_of(v[TYPE]);
        if (is_word(type, "spot"))
                return v[SPOT].data != NULL && is_spot(v[SPOT]);
        return v[SPOT].data == NULL && (is_word(type, "point") || is_word(type, "directional"));
}
