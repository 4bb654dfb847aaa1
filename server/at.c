/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/at.h"

#include "protocol/wire/pack.h"

static bool read_digits(const uint8_t **at, const uint8_t *end, int count, int64_t *number_out)
{
        *number_out = 0;
        for (int i = 0; i < count; i++) {
                if (*at == end || **at < '0' || **at > '9') {
                        return false;
                }
                *number_out = *number_out * 10 + (*(*at)++ - '0');
        }
        return true;
}

static bool read_mark(const uint8_t **at, const uint8_t *end, char mark)
{
        if (*at == end || **at != (uint8_t)mark) {
                return false;
        }
        ++*at;
        return true;
}

/* Days since 1970-01-01 in the Gregorian calendar. */
static int64_t days_since_epoch(int64_t year, int64_t month, int64_t day)
{
        const int64_t shifted = month <= 2 ? year - 1 : year;
        const int64_t era = shifted / 400;
        const int64_t year_of_era = shifted - era * 400;
        const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
        return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

static int64_t days_of_month(int64_t year, int64_t month)
{
        const int64_t next = month == 12 ? days_since_epoch(year + 1, 1, 1) : days_since_epoch(year, month + 1, 1);
        return next - days_since_epoch(year, month, 1);
}

/* YYYY-MM-DDTHH:MM:SS[.fraction]Z (RFC 3339, UTC only), in microseconds. */
static bool read_time(struct scn_slice text, int64_t *time_us_out)
{
        const uint8_t *at = text.data;
        const uint8_t *end = text.data + text.size;
        int64_t year, month, day, hour, minute, second;
        if (!read_digits(&at, end, 4, &year) || !read_mark(&at, end, '-') || !read_digits(&at, end, 2, &month) ||
                !read_mark(&at, end, '-') || !read_digits(&at, end, 2, &day) || !read_mark(&at, end, 'T') ||
                !read_digits(&at, end, 2, &hour) || !read_mark(&at, end, ':') || !read_digits(&at, end, 2, &minute) ||
                !read_mark(&at, end, ':') || !read_digits(&at, end, 2, &second) || month < 1 || month > 12 || day < 1 ||
                day > days_of_month(year, month) || hour > 23 || minute > 59 || second > 60) {
                return false;
        }
        int64_t us = 0;
        if (read_mark(&at, end, '.')) {
                for (int64_t weight = 100000; at != end && *at >= '0' && *at <= '9'; weight /= 10) {
                        us += (*at++ - '0') * weight;
                }
        }
        *time_us_out =
                ((days_since_epoch(year, month, day) * 24 + hour) * 60 + minute) * 60000000 + second * 1000000 + us;
        return read_mark(&at, end, 'Z') && at == end;
}

bool scn_at_is_time(struct scn_slice text)
{
        static const char form[] = "0000-00-00T";
        for (uint32_t i = 0; i < sizeof form - 1; i++) {
                const bool is_digit = i < text.size && text.data[i] >= '0' && text.data[i] <= '9';
                if (i >= text.size || (form[i] == '0' ? !is_digit : text.data[i] != (uint8_t)form[i])) {
                        return false;
                }
        }
        return true;
}

static bool has_form_of_revision(struct scn_slice text)
{
        uint32_t digits = 0;
        while (digits < text.size && text.data[digits] >= '0' && text.data[digits] <= '9') {
                digits++;
        }
        return digits == text.size;
}

bool scn_at_may_be_tag(struct scn_slice name)
{
        return name.size > 0 && name.size <= SCN_JOURNAL_TAG_BYTES_MAX && !scn_at_is_time(name) &&
                !has_form_of_revision(name);
}

scn_revision scn_at_revision(struct scn_slice at)
{
        struct scn_unpacker unpacker = scn_unpacker_from(at);
        const scn_revision revision =
                scn_unpack_kind(&unpacker) == SCN_PACK_TEXT ? 0 : scn_unpack_uint(&unpacker, SCN_REVISION_MAX);
        return unpacker.error == SCN_OK && scn_unpack_is_done(&unpacker) ? revision : SCN_ABSENT;
}

enum scn_error scn_at_find(
        struct scn_journal *journal, struct scn_slice at, scn_revision *revision_out, struct scn_storage_fault *fault)
{
        struct scn_unpacker unpacker = scn_unpacker_from(at);
        if (scn_unpack_kind(&unpacker) != SCN_PACK_TEXT) {
                *revision_out = scn_unpack_uint(&unpacker, SCN_REVISION_MAX);
                if (unpacker.error != SCN_OK) {
                        return unpacker.error;
                }
                return scn_unpack_is_done(&unpacker) ? SCN_OK : SCN_E_BAD_MESSAGE;
        }
        const struct scn_slice text = scn_unpack_text(&unpacker, SCN_JOURNAL_TAG_BYTES_MAX);
        if (!scn_unpack_is_done(&unpacker)) {
                return unpacker.error == SCN_E_BAD_UTF8 ? SCN_E_BAD_UTF8 : SCN_E_NO_TAG;
        }
        int64_t time_us;
        if (!scn_at_is_time(text)) {
                return scn_journal_find_tag(journal, text, revision_out, NULL);
        }
        return read_time(text, &time_us) ? scn_journal_find_time(journal, time_us, revision_out, fault)
                                         : SCN_E_BAD_TIME;
}

enum scn_error scn_at_find_until(struct scn_journal *journal, struct scn_slice at, scn_revision last,
        scn_revision *revision_out, struct scn_storage_fault *fault)
{
        const enum scn_error error = scn_at_find(journal, at, revision_out, fault);
        return error == SCN_OK && *revision_out > last ? scn_storage_fail_future(fault, *revision_out, last) : error;
}
