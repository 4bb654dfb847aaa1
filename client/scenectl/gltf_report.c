/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "client/scenectl/gltf_report.h"

#include "protocol/base/assert.h"
#include "protocol/base/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct phrase {
        const char *word;
        const char *text;
};

#define PHRASE(name, word, text) {word, text},
static const struct phrase faults[] = {{"ok", "nothing is wrong"}, SCN_GLTF_FAULT_LIST(PHRASE)};
static const struct phrase notes[] = {SCN_GLTF_NOTE_LIST(PHRASE)};
#undef PHRASE

void scn_gltf_report_init(struct scn_gltf_report *report)
{
        memset(report, 0, sizeof *report);
        report->node = SCN_GLTF_NODE_NONE;
        report->other = SCN_GLTF_NODE_NONE;
}

/* Copies what fits, cut between characters; control characters, which a terminal would obey, become spaces. */
static void copy_detail(char out[SCN_GLTF_DETAIL_BYTES], struct scn_slice text)
{
        size_t size = text.size < SCN_GLTF_DETAIL_BYTES - 1 ? text.size : SCN_GLTF_DETAIL_BYTES - 1;

        if (size > 0)
                memcpy(out, text.data, size);
        while (size > 0 && !scn_utf8_is_valid((const uint8_t *)out, size))
                size--;
        out[size] = '\0';
        for (size_t i = 0; i < size; i++) {
                /* U+0080 to U+009F are control characters too, C2 80 to C2 9F in UTF-8. */
                const bool is_c1 = (uint8_t)out[i] == 0xc2 && (uint8_t)out[i + 1] < 0xa0;
                if ((uint8_t)out[i] < 0x20 || out[i] == 0x7f)
                        out[i] = ' ';
                else if (is_c1)
                        out[i] = out[i + 1] = ' ';
        }
}

enum scn_gltf_fault scn_gltf_report_refuse(
        struct scn_gltf_report *report, enum scn_gltf_fault fault, uint32_t node, const char *detail)
{
        SCN_ASSERT(fault != SCN_GLTF_OK);
        if (report->fault == SCN_GLTF_OK) {
                report->fault = fault;
                report->node = node;
                copy_detail(report->detail, (struct scn_slice){(const uint8_t *)detail, (uint32_t)strlen(detail)});
        }
        return report->fault;
}

void scn_gltf_report_add(struct scn_gltf_report *report, enum scn_gltf_note_kind kind, uint32_t node, double amount,
        struct scn_slice detail)
{
        SCN_ASSERT(kind < SCN_GLTF_NOTE_COUNT);
        report->counts[kind]++;
        if (report->notes_count == SCN_GLTF_NOTES_MAX)
                return;
        struct scn_gltf_note *note = &report->notes[report->notes_count++];
        *note = (struct scn_gltf_note){.kind = kind, .node = node, .amount = amount};
        copy_detail(note->detail, detail);
}

const char *scn_gltf_fault_word(enum scn_gltf_fault fault)
{
        SCN_ASSERT(fault < sizeof faults / sizeof *faults);
        return faults[fault].word;
}

const char *scn_gltf_note_word(enum scn_gltf_note_kind kind)
{
        SCN_ASSERT(kind < SCN_GLTF_NOTE_COUNT);
        return notes[kind].word;
}

/* --- Messages --- */

struct message {
        char *text;
        size_t size;
};

__attribute__((format(printf, 2, 3))) static void say(struct message *message, const char *format, ...)
{
        va_list arguments;

        va_start(arguments, format);
        const int size =
                vsnprintf(message->text + message->size, SCN_GLTF_MESSAGE_BYTES - message->size, format, arguments);
        va_end(arguments);
        if (size > 0)
                message->size += (size_t)size;
        if (message->size >= SCN_GLTF_MESSAGE_BYTES)
                message->size = SCN_GLTF_MESSAGE_BYTES - 1;
}

void scn_gltf_report_describe(const struct scn_gltf_report *report, char text_out[SCN_GLTF_MESSAGE_BYTES])
{
        struct message message = {text_out, 0};

        if (report->line != 0)
                say(&message, "line %u: ", report->line);
        if (report->node != SCN_GLTF_NODE_NONE)
                say(&message, "node %u: ", report->node);
        SCN_ASSERT(report->fault < sizeof faults / sizeof *faults);
        say(&message, "%s", faults[report->fault].text);
        if (report->other != SCN_GLTF_NODE_NONE)
                say(&message, " (node %u)", report->other);
        if (report->detail[0] != '\0')
                say(&message, ": %s", report->detail);
}

void scn_gltf_note_describe(const struct scn_gltf_note *note, char text_out[SCN_GLTF_MESSAGE_BYTES])
{
        struct message message = {text_out, 0};

        SCN_ASSERT(note->kind < SCN_GLTF_NOTE_COUNT);
        if (note->node != SCN_GLTF_NODE_NONE)
                say(&message, "node %u", note->node);
        if (note->detail[0] != '\0')
                say(&message, "%s%s%s", message.size > 0 ? " (" : "", note->detail, message.size > 0 ? ")" : "");
        say(&message, "%s%s", message.size > 0 ? ": " : "", notes[note->kind].text);
        if (note->amount != 0.0)
                say(&message, " %.9g", note->amount);
}
