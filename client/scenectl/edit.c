/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* add, move, rm, transform, rename-node, set, unset: edits of one op. */

#include "client/scenectl/ctl.h"
#include "protocol/base/uid.h"

#include <string.h>

/* Bytes of a value that one may type; the server's limit is lower. */
#define VALUE_BYTES_MAX (4u << 20)

static int submit(struct scn_ctl *ctl, struct scn_draft *draft, enum scn_error error)
{
        if (error == SCN_OK) {
                error = scn_draft_submit(draft, scn_ctl_on_edited, ctl, NULL);
        }
        return error == SCN_OK ? scn_ctl_wait(ctl) : scn_ctl_refuse(ctl, error);
}

/* Opens the document and begins a draft; NULL: that was printed. */
static struct scn_draft *begin(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        if (!scn_ctl_open(ctl, arguments->values[0])) {
                return NULL;
        }
        struct scn_draft *draft = scn_draft_create(ctl->client, NULL);
        if (draft == NULL) {
                (void)scn_ctl_refuse(ctl, SCN_E_NO_MEMORY);
        }
        return draft;
}

static bool read_position(
        struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments, struct scn_position *position_out)
{
        const char *index = arguments->options[SCN_CTL_OPTION_index];
        const char *after = arguments->options[SCN_CTL_OPTION_after];
        uint64_t number = 0;
        *position_out = (struct scn_position){.kind = SCN_POSITION_UNSAID};
        if (index != NULL && after != NULL) {
                (void)scn_ctl_misuse(ctl, "--index and --after both say where: give one of them");
                return false;
        }
        if (index != NULL) {
                position_out->kind = SCN_POSITION_INDEX;
                if (!scn_ctl_read_number(ctl, "--index", index, UINT32_MAX, &number)) {
                        return false;
                }
                position_out->index = (uint32_t)number;
        } else if (after != NULL) {
                position_out->kind = SCN_POSITION_AFTER;
                return scn_ctl_read_node(ctl, "--after", after, &position_out->after);
        }
        return true;
}

struct trs {
        struct scn_trs values;
        const float *t; /* NULL: not given */
        const float *r;
        const float *s;
};

static bool read_trs(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments, struct trs *trs)
{
        const char *t = arguments->options[SCN_CTL_OPTION_translation];
        const char *r = arguments->options[SCN_CTL_OPTION_rotation];
        const char *s = arguments->options[SCN_CTL_OPTION_scale];
        trs->t = t != NULL ? trs->values.t : NULL;
        trs->r = r != NULL ? trs->values.r : NULL;
        trs->s = s != NULL ? trs->values.s : NULL;
        return (t == NULL || scn_ctl_read_floats(ctl, "--translation", t, 3, trs->values.t)) &&
                (r == NULL || scn_ctl_read_floats(ctl, "--rotation", r, 4, trs->values.r)) &&
                (s == NULL || scn_ctl_read_floats(ctl, "--scale", s, 3, trs->values.s));
}

/* --- add --- */

/* KEY=JSON. The key is everything before the first =. */
static enum scn_error add_property(struct scn_ctl *ctl, struct scn_draft *draft, struct scn_uid uid, const char *set)
{
        char key[256];
        const char *equals = strchr(set, '=');
        struct scn_buffer value;
        if (equals == NULL || equals == set || (size_t)(equals - set) >= sizeof key) {
                (void)scn_ctl_misuse(ctl, "--set: '%s' is not KEY=JSON", set);
                return SCN_E_BAD_OP;
        }
        memcpy(key, set, (size_t)(equals - set));
        key[equals - set] = '\0';
        scn_buffer_init(&value, VALUE_BYTES_MAX);
        enum scn_error error = scn_ctl_read_value(ctl, "--set", equals + 1, &value) ? SCN_OK : SCN_E_BAD_OP;
        if (error == SCN_OK && value.size > 0) {
                error = scn_draft_set(
                        draft, SCN_BY_UID(uid), key, (struct scn_slice){value.data, (uint32_t)value.size});
        }
        scn_buffer_finish(&value);
        return error;
}

/* The uid is what one needs of a new node, and nobody else knows it. */
struct addition {
        struct scn_ctl *ctl;
        struct scn_uid uid;
        bool is_chosen; /* the uid stood on the command line */
};

static void on_added(struct scn_client *client, const struct scn_result *result, void *data)
{
        const struct addition *addition = data;
        struct scn_ctl *ctl = addition->ctl;
        (void)client;
        if (result->failure != NULL) {
                /* Of a node that was not made nobody knows the uid, unless he chose it. */
                const bool is_unknown = !addition->is_chosen && scn_uid_equal(result->failure->node, addition->uid);
                (is_unknown ? scn_ctl_fail_nameless : scn_ctl_fail)(ctl, result->failure);
                return;
        }
        if (ctl->is_json) {
                scn_ctl_begin_line(ctl);
                scn_ctl_key(ctl, "rev");
                scn_json_put_uint(&ctl->json, result->rev);
                scn_ctl_key(ctl, "uid");
                scn_ctl_put_uid(ctl, addition->uid);
                scn_ctl_put_otherwise(ctl, result->results);
                scn_ctl_end_line(ctl);
        } else {
                scn_ctl_print("revision %llu  ", (unsigned long long)result->rev);
                scn_ctl_print_uid(addition->uid);
                scn_ctl_print("\n");
                scn_ctl_print_otherwise(result->results);
        }
        scn_ctl_done(ctl);
}

int scn_ctl_run_add(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        struct scn_addition params = SCN_ADDITION_INIT;
        struct addition addition = {.ctl = ctl};
        struct trs trs;
        const char *uid = arguments->options[SCN_CTL_OPTION_uid];
        if (!scn_ctl_read_node(ctl, "PARENT", arguments->values[1], &params.parent) ||
                !read_position(ctl, arguments, &params.position) || !read_trs(ctl, arguments, &trs) ||
                (uid != NULL && !scn_ctl_read_uid(ctl, "--uid", uid, &params.uid))) {
                return SCN_CTL_USAGE;
        }
        addition.is_chosen = uid != NULL;
        params.name = arguments->values[2];
        params.t = trs.t;
        params.r = trs.r;
        params.s = trs.s;
        struct scn_draft *draft = begin(ctl, arguments);
        if (draft == NULL) {
                return ctl->code;
        }
        enum scn_error error = scn_draft_add(draft, &params, &addition.uid);
        for (unsigned i = 0; i < arguments->sets_count && error == SCN_OK; i++) {
                error = add_property(ctl, draft, addition.uid, arguments->sets[i]);
                if (ctl->code == SCN_CTL_USAGE) {
                        return SCN_CTL_USAGE;
                }
        }
        if (error == SCN_OK) {
                error = scn_draft_submit(draft, on_added, &addition, NULL);
        }
        return error == SCN_OK ? scn_ctl_wait(ctl) : scn_ctl_refuse(ctl, error);
}

/* --- move, rm, transform --- */

int scn_ctl_run_move(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        struct scn_target node;
        struct scn_target parent;
        struct scn_position position;
        const char *keep = arguments->options[SCN_CTL_OPTION_keep];
        if (!scn_ctl_read_node(ctl, "NODE", arguments->values[1], &node) ||
                !scn_ctl_read_node(ctl, "PARENT", arguments->values[2], &parent) ||
                !read_position(ctl, arguments, &position)) {
                return SCN_CTL_USAGE;
        }
        const bool keeps_world = keep != NULL && strcmp(keep, "world") == 0;
        if (keep != NULL && !keeps_world && strcmp(keep, "local") != 0) {
                return scn_ctl_misuse(ctl, "--keep: '%s' is neither local nor world", keep);
        }
        struct scn_draft *draft = begin(ctl, arguments);
        if (draft == NULL) {
                return ctl->code;
        }
        const uint32_t flags = (keeps_world ? SCN_MOVE_KEEP_WORLD : 0) |
                (arguments->options[SCN_CTL_OPTION_lossy] != NULL ? SCN_MOVE_LOSSY : 0);
        return submit(ctl, draft, scn_draft_move(draft, node, parent, position, flags));
}

int scn_ctl_run_rm(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        struct scn_target node;
        if (!scn_ctl_read_node(ctl, "NODE", arguments->values[1], &node)) {
                return SCN_CTL_USAGE;
        }
        struct scn_draft *draft = begin(ctl, arguments);
        return draft == NULL ? ctl->code : submit(ctl, draft, scn_draft_remove(draft, node));
}

int scn_ctl_run_transform(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        struct scn_target node;
        struct trs trs;
        if (!scn_ctl_read_node(ctl, "NODE", arguments->values[1], &node) || !read_trs(ctl, arguments, &trs)) {
                return SCN_CTL_USAGE;
        }
        if (trs.t == NULL && trs.r == NULL && trs.s == NULL) {
                return scn_ctl_misuse(
                        ctl, "transform: nothing is to be set: give --translation, --rotation or --scale");
        }
        struct scn_draft *draft = begin(ctl, arguments);
        return draft == NULL ? ctl->code : submit(ctl, draft, scn_draft_transform(draft, node, trs.t, trs.r, trs.s));
}

/* --- rename-node, set, unset --- */

int scn_ctl_run_rename_node(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        struct scn_target node;
        if (!scn_ctl_read_node(ctl, "NODE", arguments->values[1], &node)) {
                return SCN_CTL_USAGE;
        }
        struct scn_draft *draft = begin(ctl, arguments);
        return draft == NULL ? ctl->code : submit(ctl, draft, scn_draft_rename(draft, node, arguments->values[2]));
}

static int set(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments, struct scn_slice value)
{
        struct scn_target node;
        if (!scn_ctl_read_node(ctl, "NODE", arguments->values[1], &node)) {
                return SCN_CTL_USAGE;
        }
        struct scn_draft *draft = begin(ctl, arguments);
        return draft == NULL ? ctl->code : submit(ctl, draft, scn_draft_set(draft, node, arguments->values[2], value));
}

int scn_ctl_run_set(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        struct scn_buffer value;
        scn_buffer_init(&value, VALUE_BYTES_MAX);
        int code = SCN_CTL_USAGE;
        if (scn_ctl_read_value(ctl, "JSON", arguments->values[3], &value)) {
                code = set(
                        ctl, arguments, (struct scn_slice){value.size > 0 ? value.data : NULL, (uint32_t)value.size});
        }
        scn_buffer_finish(&value);
        return code;
}

int scn_ctl_run_unset(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        return set(ctl, arguments, (struct scn_slice){NULL, 0});
}
