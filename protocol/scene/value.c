/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/scene/value.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"

#include <math.h>
#include <string.h>

/* Keys of open maps that need no heap: nearly every map is smaller. */
#define KEYS_INLINE_MAX 24u

enum kind {
        KIND_BAD,
        KIND_NIL,
        KIND_BOOL,
        KIND_UINT,
        KIND_INT,
        KIND_FLOAT32,
        KIND_FLOAT64,
        KIND_STR,
        KIND_BIN,
        KIND_EXT,
        KIND_ARRAY,
        KIND_MAP,
};

/* The head of an object: all before the bytes or the elements that it announces. */
struct head {
        enum kind kind;
        uint8_t ext_type;
        uint64_t argument; /* value, its two's complement, the float's bits, byte count or element count */
};

/* Sorted by prefix first, so that few comparisons touch the bytes. */
struct key {
        uint64_t prefix; /* the first eight bytes, big-endian, filled up with zeros */
        const uint8_t *data;
        uint32_t size;
};

struct container {
        uint32_t objects_left; /* in a map: keys and values */
        uint32_t keys_before;  /* keys of the containers around this one */
        bool is_map;
};

struct walker {
        const uint8_t *at;
        const uint8_t *end;
        /* Canonical bytes go to `out`; while only checking it is NULL, and they are compared with `expected`. */
        uint8_t *out;
        const uint8_t *expected;
        uint32_t written;
        uint32_t written_max;
        uint32_t levels;
        uint32_t levels_max;
        /* Keys of all open maps, innermost last: a map's own keys are in one run when it ends. */
        struct key *keys;
        size_t keys_count;
        struct key *heap_keys;
        size_t heap_keys_capacity;
        struct key inline_keys[KEYS_INLINE_MAX];
        struct container containers[SCN_VALUE_LEVELS_MAX];
};

static uint32_t left(const struct walker *walker)
{
        return (uint32_t)(walker->end - walker->at);
}

static uint64_t read_big_endian(const uint8_t *bytes, uint32_t size)
{
        uint64_t number = 0;

        for (uint32_t i = 0; i < size; i++)
                number = number << 8 | bytes[i];
        return number;
}

/* Heads 0xc0 to 0xdf: how many bytes of argument follow. Of a fixext the argument is in the head itself. */
/* clang-format off */
static const struct {
        uint8_t kind;
        uint8_t argument_bytes;
        uint8_t argument;
} long_heads[32] = {
        {KIND_NIL, 0, 0},
        {KIND_BAD, 0, 0},
        {KIND_BOOL, 0, 0},
        {KIND_BOOL, 0, 1},
        {KIND_BIN, 1, 0},
        {KIND_BIN, 2, 0},
        {KIND_BIN, 4, 0},
        {KIND_EXT, 1, 0},
        {KIND_EXT, 2, 0},
        {KIND_EXT, 4, 0},
        {KIND_FLOAT32, 4, 0},
        {KIND_FLOAT64, 8, 0},
        {KIND_UINT, 1, 0},
        {KIND_UINT, 2, 0},
        {KIND_UINT, 4, 0},
        {KIND_UINT, 8, 0},
        {KIND_INT, 1, 0},
        {KIND_INT, 2, 0},
        {KIND_INT, 4, 0},
        {KIND_INT, 8, 0},
        {KIND_EXT, 0, 1},
        {KIND_EXT, 0, 2},
        {KIND_EXT, 0, 4},
        {KIND_EXT, 0, 8},
        {KIND_EXT, 0, 16},
        {KIND_STR, 1, 0},
        {KIND_STR, 2, 0},
        {KIND_STR, 4, 0},
        {KIND_ARRAY, 2, 0},
        {KIND_ARRAY, 4, 0},
        {KIND_MAP, 2, 0},
        {KIND_MAP, 4, 0},
};
/* clang-format on */

static struct head short_head(uint8_t byte)
{
        if (byte <= 0x7f)
                return (struct head){.kind = KIND_UINT, .argument = byte};
        if (byte <= 0x8f)
                return (struct head){.kind = KIND_MAP, .argument = byte & 0x0fu};
        if (byte <= 0x9f)
                return (struct head){.kind = KIND_ARRAY, .argument = byte & 0x0fu};
        if (byte <= 0xbf)
                return (struct head){.kind = KIND_STR, .argument = byte & 0x1fu};
        return (struct head){.kind = KIND_INT, .argument = UINT64_MAX - 0xff + byte};
}

/* KIND_BAD if it is cut short or no head at all. */
static struct head read_head(struct walker *walker)
{
        const struct head bad = {.kind = KIND_BAD};

        if (left(walker) == 0)
                return bad;
        uint8_t byte = *walker->at++;
        if (byte < 0xc0 || byte > 0xdf)
                return short_head(byte);
        struct head head = {.kind = long_heads[byte - 0xc0].kind, .argument = long_heads[byte - 0xc0].argument};
        uint32_t argument_bytes = long_heads[byte - 0xc0].argument_bytes;
        if (left(walker) < argument_bytes)
                return bad;
        if (argument_bytes != 0)
                head.argument = read_big_endian(walker->at, argument_bytes);
        walker->at += argument_bytes;
        if (head.kind == KIND_INT && argument_bytes < 8 && head.argument >> (8 * argument_bytes - 1) != 0)
                head.argument |= UINT64_MAX << (8 * argument_bytes);
        if (head.kind == KIND_EXT) {
                if (left(walker) == 0)
                        return bad;
                head.ext_type = *walker->at++;
        }
        return head;
}

static enum scn_error emit(struct walker *walker, const uint8_t *bytes, uint32_t size)
{
        if (size > walker->written_max - walker->written)
                return SCN_E_VALUE_TOO_LARGE;
        /* The canonical spelling is never ahead of what was read, so there are `size` bytes at both places. */
        if (size == 0)
                return SCN_OK;
        if (walker->out != NULL)
                memcpy(walker->out + walker->written, bytes, size);
        else if (memcmp(walker->expected + walker->written, bytes, size) != 0)
                return SCN_E_BAD_VALUE;
        walker->written += size;
        return SCN_OK;
}

static enum scn_error emit_head(struct walker *walker, uint8_t byte, uint64_t argument, uint32_t argument_bytes)
{
        uint8_t bytes[9] = {byte};

        for (uint32_t i = argument_bytes; i != 0; i--, argument >>= 8)
                bytes[i] = (uint8_t)argument;
        return emit(walker, bytes, 1 + argument_bytes);
}

static enum scn_error emit_uint(struct walker *walker, uint64_t number)
{
        if (number <= 0x7f)
                return emit_head(walker, (uint8_t)number, 0, 0);
        if (number <= UINT8_MAX)
                return emit_head(walker, 0xcc, number, 1);
        if (number <= UINT16_MAX)
                return emit_head(walker, 0xcd, number, 2);
        if (number <= UINT32_MAX)
                return emit_head(walker, 0xce, number, 4);
        return emit_head(walker, 0xcf, number, 8);
}

/* A negative number is given by its two's complement; `~` of that is how far it lies below -1. */
static enum scn_error emit_int(struct walker *walker, uint64_t number)
{
        if (number >> 63 == 0)
                return emit_uint(walker, number);
        if (~number <= 0x1f)
                return emit_head(walker, (uint8_t)number, 0, 0);
        if (~number <= INT8_MAX)
                return emit_head(walker, 0xd0, number, 1);
        if (~number <= INT16_MAX)
                return emit_head(walker, 0xd1, number, 2);
        if (~number <= INT32_MAX)
                return emit_head(walker, 0xd2, number, 4);
        return emit_head(walker, 0xd3, number, 8);
}

static enum scn_error emit_float32(struct walker *walker, uint64_t bits)
{
        uint32_t exponent = 0x7f800000u;

        if (((uint32_t)bits & exponent) == exponent)
                return SCN_E_NOT_FINITE;
        return emit_head(walker, 0xca, bits, 4);
}

static enum scn_error emit_float64(struct walker *walker, uint64_t bits)
{
        double number;

        memcpy(&number, &bits, sizeof number);
        if (!isfinite(number))
                return SCN_E_NOT_FINITE;
        /* Beyond float32 the narrow one is infinite and differs; -0.0 stays -0.0. */
        float narrow = (float)number;
        if ((double)narrow != number)
                return emit_head(walker, 0xcb, bits, 8);
        uint32_t narrow_bits;
        memcpy(&narrow_bits, &narrow, sizeof narrow_bits);
        return emit_head(walker, 0xca, narrow_bits, 4);
}

static enum scn_error emit_str_head(struct walker *walker, uint32_t size)
{
        if (size <= 0x1f)
                return emit_head(walker, (uint8_t)(0xa0 + size), 0, 0);
        if (size <= UINT8_MAX)
                return emit_head(walker, 0xd9, size, 1);
        if (size <= UINT16_MAX)
                return emit_head(walker, 0xda, size, 2);
        return emit_head(walker, 0xdb, size, 4);
}

static enum scn_error emit_bin_head(struct walker *walker, uint32_t size)
{
        if (size <= UINT8_MAX)
                return emit_head(walker, 0xc4, size, 1);
        if (size <= UINT16_MAX)
                return emit_head(walker, 0xc5, size, 2);
        return emit_head(walker, 0xc6, size, 4);
}

static enum scn_error emit_ext_head(struct walker *walker, uint8_t type)
{
        if (type == SCN_EXT_NODE)
                return emit_head(walker, 0xd8, SCN_EXT_NODE, 1);
        return emit_head(walker, 0xc7, SCN_EXT_BLOB_BYTES << 8 | SCN_EXT_BLOB, 2);
}

static enum scn_error emit_container_head(struct walker *walker, const struct head *head)
{
        bool is_map = head->kind == KIND_MAP;

        if (head->argument <= 0x0f)
                return emit_head(walker, (uint8_t)((is_map ? 0x80 : 0x90) + head->argument), 0, 0);
        if (head->argument <= UINT16_MAX)
                return emit_head(walker, is_map ? 0xde : 0xdc, head->argument, 2);
        return emit_head(walker, is_map ? 0xdf : 0xdd, head->argument, 4);
}

/* Strings, binaries and references: a head that says how many bytes follow, and these. */
static enum scn_error walk_bytes(struct walker *walker, const struct head *head)
{
        enum scn_error error;

        if (head->argument > left(walker))
                return SCN_E_BAD_VALUE;
        uint32_t size = (uint32_t)head->argument;
        if (head->kind == KIND_STR) {
                if (!scn_utf8_is_valid(walker->at, size))
                        return SCN_E_BAD_UTF8;
                error = emit_str_head(walker, size);
        } else if (head->kind == KIND_BIN) {
                error = emit_bin_head(walker, size);
        } else if ((head->ext_type == SCN_EXT_NODE && size == SCN_EXT_NODE_BYTES) ||
                (head->ext_type == SCN_EXT_BLOB && size == SCN_EXT_BLOB_BYTES)) {
                error = emit_ext_head(walker, head->ext_type);
        } else {
                error = SCN_E_BAD_VALUE;
        }
        if (error == SCN_OK)
                error = emit(walker, walker->at, size);
        walker->at += size;
        return error;
}

static enum scn_error open_container(struct walker *walker, const struct head *head)
{
        uint64_t objects = head->kind == KIND_MAP ? 2 * head->argument : head->argument;

        /* Every object takes a byte at least: a count that promises more than there is ends here. */
        if (objects > left(walker))
                return SCN_E_BAD_VALUE;
        if (walker->levels == walker->levels_max)
                return SCN_E_VALUE_TOO_DEEP;
        enum scn_error error = emit_container_head(walker, head);
        if (error != SCN_OK)
                return error;
        walker->containers[walker->levels++] = (struct container){
                .objects_left = (uint32_t)objects,
                .keys_before = (uint32_t)walker->keys_count,
                .is_map = head->kind == KIND_MAP,
        };
        return SCN_OK;
}

static enum scn_error walk_object(struct walker *walker, const struct head *head)
{
        switch (head->kind) {
        case KIND_NIL:
                return emit_head(walker, 0xc0, 0, 0);
        case KIND_BOOL:
                return emit_head(walker, (uint8_t)(0xc2 + head->argument), 0, 0);
        case KIND_UINT:
                return emit_uint(walker, head->argument);
        case KIND_INT:
                return emit_int(walker, head->argument);
        case KIND_FLOAT32:
                return emit_float32(walker, head->argument);
        case KIND_FLOAT64:
                return emit_float64(walker, head->argument);
        case KIND_STR:
        case KIND_BIN:
        case KIND_EXT:
                return walk_bytes(walker, head);
        case KIND_ARRAY:
        case KIND_MAP:
                return open_container(walker, head);
        case KIND_BAD:
                break;
        }
        return SCN_E_BAD_VALUE;
}

static enum scn_error push_key(struct walker *walker, const uint8_t *data, uint32_t size)
{
        if (walker->keys_count >= KEYS_INLINE_MAX) {
                if (!scn_grow((void **)&walker->heap_keys, &walker->heap_keys_capacity, sizeof(struct key),
                            walker->keys_count + 1, UINT32_MAX))
                        return SCN_E_NO_MEMORY;
                if (walker->keys == walker->inline_keys)
                        memcpy(walker->heap_keys, walker->inline_keys, sizeof walker->inline_keys);
                walker->keys = walker->heap_keys;
        }
        uint8_t prefix[8] = {0};
        memcpy(prefix, data, size < sizeof prefix ? size : sizeof prefix);
        walker->keys[walker->keys_count++] = (struct key){
                .prefix = read_big_endian(prefix, sizeof prefix),
                .data = data,
                .size = size,
        };
        return SCN_OK;
}

static enum scn_error walk_key(struct walker *walker, const struct head *head)
{
        const uint8_t *data = walker->at;

        if (head->kind != KIND_STR)
                return SCN_E_BAD_VALUE;
        enum scn_error error = walk_bytes(walker, head);
        if (error != SCN_OK)
                return error;
        return push_key(walker, data, (uint32_t)head->argument);
}

/* Below, at or above zero, by a total order in which equal keys meet. */
static int compare_keys(const struct key *a, const struct key *b)
{
        if (a->prefix != b->prefix)
                return a->prefix < b->prefix ? -1 : 1;
        if (a->size != b->size)
                return a->size < b->size ? -1 : 1;
        return memcmp(a->data, b->data, a->size);
}

static void sift_down(struct key *keys, size_t root, size_t count)
{
        struct key sinking = keys[root];

        for (size_t child; (child = 2 * root + 1) < count; root = child) {
                if (child + 1 < count && compare_keys(&keys[child], &keys[child + 1]) < 0)
                        child++;
                if (compare_keys(&sinking, &keys[child]) >= 0)
                        break;
                keys[root] = keys[child];
        }
        keys[root] = sinking;
}

/* Heapsort: n log n whatever a peer sends, in place. The C library's qsort promises neither. */
static void sort_keys(struct key *keys, size_t count)
{
        for (size_t i = count / 2; i-- != 0;)
                sift_down(keys, i, count);
        for (size_t last = count; last-- > 1;) {
                struct key largest = keys[0];
                keys[0] = keys[last];
                keys[last] = largest;
                sift_down(keys, 0, last);
        }
}

/* Sorts the keys. */
static bool has_duplicate(struct key *keys, size_t count)
{
        bool is_rising = true;

        /* Many encoders write keys in rising order; then there is nothing to sort. */
        for (size_t i = 1; i < count && is_rising; i++)
                is_rising = compare_keys(&keys[i - 1], &keys[i]) < 0;
        if (is_rising)
                return false;
        sort_keys(keys, count);
        for (size_t i = 1; i < count; i++)
                if (compare_keys(&keys[i - 1], &keys[i]) == 0)
                        return true;
        return false;
}

static enum scn_error close_complete(struct walker *walker)
{
        while (walker->levels != 0 && walker->containers[walker->levels - 1].objects_left == 0) {
                const struct container *container = &walker->containers[--walker->levels];
                size_t count = walker->keys_count - container->keys_before;
                if (has_duplicate(walker->keys + container->keys_before, count))
                        return SCN_E_DUPLICATE_KEY;
                walker->keys_count = container->keys_before;
        }
        return SCN_OK;
}

static enum scn_error walk_next(struct walker *walker)
{
        struct container *container = walker->levels != 0 ? &walker->containers[walker->levels - 1] : NULL;
        bool is_key = container != NULL && container->is_map && container->objects_left % 2 == 0;

        if (container != NULL)
                container->objects_left--;
        struct head head = read_head(walker);
        if (head.kind == KIND_NIL && container == NULL)
                return SCN_E_BAD_VALUE;
        enum scn_error error = is_key ? walk_key(walker, &head) : walk_object(walker, &head);
        if (error != SCN_OK)
                return error;
        return close_complete(walker);
}

static enum scn_error walk(struct walker *walker, struct scn_slice input, const struct scn_limits *limits)
{
        enum scn_error error;

        if (input.size == 0)
                return SCN_E_BAD_VALUE;
        walker->at = input.data;
        walker->end = input.data + input.size;
        walker->expected = input.data;
        walker->written_max = limits->value_bytes_max;
        walker->levels_max = limits->value_levels_max;
        if (walker->levels_max > SCN_VALUE_LEVELS_MAX)
                walker->levels_max = SCN_VALUE_LEVELS_MAX;
        walker->keys = walker->inline_keys;
        do
                error = walk_next(walker);
        while (error == SCN_OK && walker->levels != 0);
        if (error == SCN_OK && left(walker) != 0)
                error = SCN_E_BAD_VALUE;
        scn_free(walker->heap_keys);
        return error;
}

/* Not zeroed as a whole: most values are a few bytes, and the arrays are more than a thousand. */
static void init_walker(struct walker *walker)
{
        walker->out = NULL;
        walker->written = 0;
        walker->levels = 0;
        walker->keys_count = 0;
        walker->heap_keys = NULL;
        walker->heap_keys_capacity = 0;
}

enum scn_error scn_value_canonicalise(
        struct scn_slice input, const struct scn_limits *limits, struct scn_buffer *canonical)
{
        struct walker walker;
        uint32_t size_max = limits->value_bytes_max;

        SCN_ASSERT(input.size == 0 || input.data != NULL);
        enum scn_error error = scn_buffer_reserve(canonical, input.size < size_max ? input.size : size_max);
        if (error != SCN_OK)
                return error;
        init_walker(&walker);
        /* A buffer without memory has a limit of nothing here, and nothing is then written. */
        walker.out = canonical->data != NULL ? canonical->data + canonical->size : NULL;
        error = walk(&walker, input, limits);
        if (error == SCN_OK)
                canonical->size += walker.written;
        return error;
}

enum scn_error scn_value_check(struct scn_slice input, const struct scn_limits *limits)
{
        struct walker walker;

        SCN_ASSERT(input.size == 0 || input.data != NULL);
        init_walker(&walker);
        enum scn_error error = walk(&walker, input, limits);
        /* A head spelled otherwise differs in its first byte, so whatever was read has also been written. */
        SCN_ASSERT(error != SCN_OK || walker.written == input.size);
        return error;
}

bool scn_value_is_canonical(struct scn_slice input, const struct scn_limits *limits)
{
        return scn_value_check(input, limits) == SCN_OK;
}

enum scn_error scn_number_to_float(const struct scn_number *number, float *float_out)
{
        float rounded = 0.0f;

        switch (number->kind) {
        /* Rounded once, from the integer: by way of a double it would be rounded twice. */
        case SCN_NUMBER_INT:
                rounded = (float)number->value.i;
                break;
        case SCN_NUMBER_UINT:
                rounded = (float)number->value.u;
                break;
        case SCN_NUMBER_FLOAT:
                if (!isfinite(number->value.f))
                        return SCN_E_NOT_FINITE;
                rounded = (float)number->value.f;
                break;
        }
        if (!isfinite(rounded))
                return SCN_E_RANGE;
        *float_out = rounded;
        return SCN_OK;
}

static enum scn_error whole_number(double number, uint64_t *integer_out)
{
        if (!isfinite(number))
                return SCN_E_NOT_FINITE;
        if (number != trunc(number))
                return SCN_E_NOT_INTEGER;
        /* 2^64 itself is the first that does not fit; -0.0 does. */
        if (number < 0.0 || number >= 18446744073709551616.0)
                return SCN_E_RANGE;
        *integer_out = (uint64_t)number;
        return SCN_OK;
}

enum scn_error scn_number_to_integer(const struct scn_number *number, uint64_t max, uint64_t *integer_out)
{
        uint64_t integer = 0;
        enum scn_error error = SCN_OK;

        switch (number->kind) {
        case SCN_NUMBER_INT:
                integer = (uint64_t)number->value.i;
                error = number->value.i < 0 ? SCN_E_RANGE : SCN_OK;
                break;
        case SCN_NUMBER_UINT:
                integer = number->value.u;
                break;
        case SCN_NUMBER_FLOAT:
                error = whole_number(number->value.f, &integer);
                break;
        }
        if (error == SCN_OK && integer > max)
                error = SCN_E_RANGE;
        if (error == SCN_OK)
                *integer_out = integer;
        return error;
}
