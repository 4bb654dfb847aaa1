/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What import and export say of a file. */

#include "client/scenectl/ctl.h"
#include "client/scenectl/gltf_report.h"

#include <stdio.h>

void scn_ctl_fail_gltf(struct scn_ctl *ctl, const char *path, const struct scn_gltf_report *report)
{
        char text[SCN_GLTF_MESSAGE_BYTES];
        struct scn_failure failure = {.has_op = false};
        scn_gltf_report_describe(report, text);
        (void)snprintf(failure.code, sizeof failure.code, "%s", scn_gltf_fault_word(report->fault));
        (void)snprintf(failure.text, sizeof failure.text, "%.150s: %.300s", path, text);
        scn_ctl_fail(ctl, &failure);
}

/* How many there are of a kind beyond those that were kept. */
static uint32_t count_more(const struct scn_gltf_report *report, enum scn_gltf_note_kind kind)
{
        uint32_t count = report->counts[kind];
        for (uint32_t i = 0; i < report->notes_count; i++) {
                count -= report->notes[i].kind == kind;
        }
        return count;
}

void scn_ctl_print_notes(const struct scn_gltf_report *report)
{
        char text[SCN_GLTF_MESSAGE_BYTES];
        for (uint32_t i = 0; i < report->notes_count; i++) {
                scn_gltf_note_describe(&report->notes[i], text);
                scn_ctl_print("note: %s\n", text);
        }
        for (uint32_t kind = 0; kind < SCN_GLTF_NOTE_COUNT; kind++) {
                const uint32_t count = count_more(report, (enum scn_gltf_note_kind)kind);
                if (count > 0) {
                        scn_ctl_print("note: %u more of '%s'\n", count, scn_gltf_note_word(kind));
                }
        }
}

void scn_ctl_put_notes(struct scn_ctl *ctl, const struct scn_gltf_report *report)
{
        char text[SCN_GLTF_MESSAGE_BYTES];
        scn_ctl_key(ctl, "notes");
        scn_ctl_open_bracket(ctl, "[");
        for (uint32_t i = 0; i < report->notes_count; i++) {
                const struct scn_gltf_note *note = &report->notes[i];
                scn_gltf_note_describe(note, text);
                scn_ctl_next(ctl);
                scn_ctl_open_bracket(ctl, "{");
                scn_ctl_key(ctl, "note");
                scn_json_put_cstring(&ctl->json, scn_gltf_note_word(note->kind));
                if (note->node != SCN_GLTF_NODE_NONE) {
                        scn_ctl_key(ctl, "index");
                        scn_json_put_uint(&ctl->json, note->node);
                }
                if (note->amount != 0.0) {
                        scn_ctl_key(ctl, "amount");
                        scn_json_put_float(&ctl->json, (float)note->amount);
                }
                scn_ctl_key(ctl, "message");
                scn_json_put_cstring(&ctl->json, text);
                scn_ctl_close_bracket(ctl, "}");
        }
        scn_ctl_close_bracket(ctl, "]");
}
