/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "tests/lib/mock.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include "client/scenectl/edit_line.h"
#include "protocol/base/uid.h"

#include <stdio.h>
#include <string.h>

/* A client to which an edit can be handed in, and the document of its server. */
struct bench {
        struct mock mock;
        struct scn_ops ops;
        char problem[SCN_EDIT_LINE_PROBLEM_BYTES];
        uint32_t op;
};

static void set_up(struct bench *bench)
{
        const struct scn_client_options options = mock_options();
        *bench = (struct bench){.op = 0};
        mock_init(&bench->mock, &options);
        mock_open(&bench->mock);
}

static void tear_down(struct bench *bench)
{
        scn_ops_finish(&bench->ops);
        mock_finish(&bench->mock);
}

static enum scn_error read_line(struct bench *bench, const char *line, struct scn_draft **draft_out)
{
        *draft_out = scn_draft_create(bench->mock.client, NULL);
        return scn_edit_line_read(*draft_out, scene_text(line), &bench->op, bench->problem);
}

/* What the server gets of a good line. */
static const struct scn_message_edit *send_line(struct bench *bench, const char *line)
{
        struct scn_draft *draft;
        struct scn_ops_fault fault;
        const struct scn_limits limits = SCN_LIMITS_DEFAULT;
        cr_assert_eq(read_line(bench, line, &draft), SCN_OK, "%s", bench->problem);
        cr_assert_eq(scn_draft_submit(draft, NULL, NULL, NULL), SCN_OK);
        const struct scn_message_edit *edit = &mock_expect(&bench->mock, SCN_MESSAGE_edit)->as.edit;
        bench->ops.count = 0;
        bench->ops.properties_count = 0;
        cr_assert_eq(scn_ops_decode(edit->ops, &limits, &bench->ops, &fault), SCN_OK);
        return edit;
}

static void refuse(struct bench *bench, const char *line, enum scn_error error, uint32_t op, const char *problem)
{
        struct scn_draft *draft;
        cr_assert_eq(read_line(bench, line, &draft), error, "%s", line);
        cr_assert_eq(bench->op, op, "%s", line);
        cr_assert_not_null(strstr(bench->problem, problem), "%s: %s", line, bench->problem);
        scn_draft_destroy(draft);
}

SCN_TEST(edit_line, reads_each_op_with_all_it_can_have)
{
        struct bench bench;
        set_up(&bench);
        const struct scn_message_edit *edit = send_line(&bench,
                "{\"group\":7,\"base\":3,\"strict\":true,\"ops\":["
                "{\"op\":\"add\",\"parent\":\"/\",\"index\":2,\"uid\":\"00000000-0000-0000-0000-000000000005\","
                "\"name\":\"n\",\"t\":[1,2.5,-3],\"r\":[0,0,1,0],\"s\":[1,1,2],\"props\":{\"b\":[1.0,1],\"a\":\"x\"}},"
                "{\"op\":\"move\",\"node\":\"/n\",\"parent\":1,\"after\":null,\"keep\":\"world\",\"lossy\":true},"
                "{\"op\":\"transform\",\"node\":\"/n\",\"parent\":\"/\",\"s\":[2,2,2]},"
                "{\"op\":\"rename\",\"node\":\"/n\",\"name\":null},"
                "{\"op\":\"set\",\"node\":\"/n\",\"key\":\"k\",\"value\":{\"$bin\":\"AQ==\"}},"
                "{\"op\":\"set\",\"node\":\"/n\",\"key\":\"k\",\"value\":null},"
                "{\"op\":\"remove\",\"node\":\"00000000-0000-0000-0000-000000000005\"}]}");
        cr_assert_eq(edit->group, 7);
        cr_assert_eq(edit->base, 3);
        cr_assert(edit->strict);
        cr_assert_eq(bench.ops.count, 7);
        const struct scn_op *op = bench.ops.ops;
        cr_assert_eq(op[0].kind, SCN_OP_ADD);
        cr_assert_eq(op[0].place, SCN_PLACE_INDEX);
        cr_assert_eq(op[0].index, 2);
        cr_assert(scn_uid_equal(op[0].uid, scene_uid(5)));
        cr_assert_eq(op[0].fields, SCN_FIELDS_TRS);
        cr_assert_float_eq(op[0].trs.t[1], 2.5f, 0.0f);
        cr_assert_eq(op[0].properties_count, 2);
        cr_assert_eq(op[0].properties[0].key.data[0], 'b');
        cr_assert_eq(
                memcmp(op[0].properties[0].value.data, "\x92\xca\x3f\x80\x00\x00\x01", 7), 0, "a float and an integer");
        cr_assert_eq(op[1].place, SCN_PLACE_AFTER);
        cr_assert_eq(op[1].after.kind, SCN_REF_NONE);
        cr_assert_eq(op[1].parent.kind, SCN_REF_ID);
        cr_assert(op[1].keep_world && op[1].is_lossy);
        cr_assert_eq(op[2].fields, SCN_FIELDS_SCALE);
        cr_assert_eq(op[2].parent.kind, SCN_REF_PATH);
        cr_assert_null(op[3].name.data);
        cr_assert_eq(op[4].value.size, 3);
        cr_assert_null(op[5].value.data);
        cr_assert_eq(op[6].node.kind, SCN_REF_UID);
        tear_down(&bench);
}

SCN_TEST(edit_line, makes_an_edit_of_nothing_where_there_are_no_ops)
{
        struct bench bench;
        set_up(&bench);
        const struct scn_message_edit *edit = send_line(&bench, "{\"ops\":[]}");
        cr_assert_eq(bench.ops.count, 0);
        cr_assert_eq(edit->group, SCN_ABSENT);
        cr_assert_eq(edit->base, SCN_ABSENT);
        tear_down(&bench);
}

SCN_TEST(edit_line, says_which_op_and_which_member_is_wrong)
{
        struct bench bench;
        set_up(&bench);
        refuse(&bench, "{\"ops\":[", SCN_E_BAD_OP, UINT32_MAX, "JSON");
        refuse(&bench, "[]", SCN_E_BAD_OP, UINT32_MAX, "ops");
        refuse(&bench, "{\"ops\":[{\"op\":\"rename\",\"node\":\"/\"},7]}", SCN_E_BAD_OP, 1, "op:");
        refuse(&bench, "{\"ops\":[{\"op\":\"frob\"}]}", SCN_E_BAD_OP, 0, "must be add");
        refuse(&bench, "{\"ops\":[{\"op\":\"remove\"}]}", SCN_E_BAD_OP, 0, "node: is missing");
        refuse(&bench, "{\"ops\":[{\"op\":\"remove\",\"node\":\"x\"}]}", SCN_E_BAD_OP, 0, "node");
        refuse(&bench, "{\"ops\":[{\"op\":\"remove\",\"node\":\"/\",\"nodes\":1}]}", SCN_E_BAD_OP, 0, "nodes");
        refuse(&bench, "{\"ops\":[{\"op\":\"transform\",\"node\":\"/\",\"t\":[1,2]}]}", SCN_E_BAD_OP, 0, "t:");
        refuse(&bench, "{\"ops\":[{\"op\":\"transform\",\"node\":\"/\",\"r\":[1,2,3,\"4\"]}]}", SCN_E_BAD_OP, 0, "r:");
        refuse(&bench, "{\"ops\":[{\"op\":\"transform\",\"node\":\"/\",\"s\":[1,2,1e39]}]}", SCN_E_RANGE, 0, "s:");
        refuse(&bench, "{\"ops\":[{\"op\":\"add\",\"parent\":\"/\",\"index\":-1}]}", SCN_E_BAD_OP, 0, "index");
        refuse(&bench, "{\"ops\":[{\"op\":\"add\",\"parent\":\"/\",\"uid\":\"5\"}]}", SCN_E_BAD_OP, 0, "uid");
        refuse(&bench, "{\"ops\":[{\"op\":\"add\",\"parent\":\"/\",\"props\":{\"k\":{\"$what\":1}}}]}", SCN_E_BAD_VALUE,
                0, "k:");
        refuse(&bench, "{\"ops\":[{\"op\":\"set\",\"node\":\"/\",\"value\":1}]}", SCN_E_BAD_OP, 0, "key");
        refuse(&bench, "{\"ops\":[{\"op\":\"set\",\"node\":\"/\",\"key\":\"k\"}]}", SCN_E_BAD_OP, 0,
                "value: is missing; null removes the property");
        refuse(&bench, "{\"ops\":[{\"op\":\"move\",\"node\":\"/\",\"parent\":\"/\",\"keep\":\"x\"}]}", SCN_E_BAD_OP, 0,
                "keep");
        refuse(&bench, "{\"ops\":[{\"op\":\"add\",\"parent\":\"/\",\"index\":0,\"after\":\"/B\"}]}", SCN_E_BAD_OP, 0,
                "index, after: both say where");
        refuse(&bench, "{\"ops\":[{\"op\":\"add\",\"parent\":\"/\",\"uid\":\"00000000-0000-0000-0000-000000000000\"}]}",
                SCN_E_BAD_OP, 0, "uid: must be a uid, and not all zeros");
        refuse(&bench, "{\"ops\":[],\"group\":-1}", SCN_E_BAD_OP, UINT32_MAX, "group: must be a whole number");
        refuse(&bench, "{\"ops\":[],\"base\":-1}", SCN_E_BAD_OP, UINT32_MAX, "base: must be a whole number");
        refuse(&bench, "{\"ops\":[],\"strict\":true}", SCN_E_BAD_OP, UINT32_MAX, "strict");
        refuse(&bench, "{\"ops\":[],\"bas\":2}", SCN_E_BAD_OP, UINT32_MAX, "bas: is not known");
        refuse(&bench, "{\"ops\":[],\"base\":2,\"strickt\":true}", SCN_E_BAD_OP, UINT32_MAX, "strickt: is not known");
        refuse(&bench, "{\"ops\":[],\"ops\":[]}", SCN_E_BAD_OP, UINT32_MAX, "JSON");
        tear_down(&bench);
}

/* A node with so many properties of 60,000 bytes. */
static enum scn_error add_with_values(struct bench *bench, uint32_t count)
{
        static char line[71 * 61000];
        struct scn_draft *draft = scn_draft_create(bench->mock.client, NULL);
        size_t size = (size_t)snprintf(line, sizeof line, "{\"ops\":[{\"op\":\"add\",\"parent\":\"/\",\"props\":{");
        for (uint32_t i = 0; i < count; i++) {
                size += (size_t)snprintf(line + size, sizeof line - size, "%s\"%u\":\"", i > 0 ? "," : "", i);
                memset(line + size, 'v', 60000);
                size += 60000;
                line[size++] = '"';
        }
        (void)snprintf(line + size, sizeof line - size, "}}]}");
        const enum scn_error error = scn_edit_line_read(draft, scene_text(line), &bench->op, bench->problem);
        scn_draft_destroy(draft);
        return error;
}

/* An op goes in one message. */
SCN_TEST(edit_line, has_so_many_bytes_of_values_in_one_op_at_the_most)
{
        struct bench bench;
        set_up(&bench);
        cr_assert_eq(add_with_values(&bench, 69), SCN_OK, "%s", bench.problem);
        cr_assert_eq(add_with_values(&bench, 70), SCN_E_TOO_LARGE);
        cr_assert_eq(bench.op, 0);
        cr_assert_not_null(strstr(bench.problem, "69"), "%s", bench.problem);
        tear_down(&bench);
}

static enum scn_error read_and_drop(void *data)
{
        struct bench *bench = data;
        struct scn_draft *draft = scn_draft_create(bench->mock.client, NULL);
        const enum scn_error error = draft == NULL
                ? SCN_E_NO_MEMORY
                : scn_edit_line_read(draft,
                          scene_text("{\"ops\":[{\"op\":\"add\",\"parent\":\"/\",\"props\":{\"a\":\"x\",\"b\":[1]}},"
                                     "{\"op\":\"set\",\"node\":\"/\",\"key\":\"k\",\"value\":3}]}"),
                          &bench->op, bench->problem);
        scn_draft_destroy(draft);
        return error;
}

SCN_TEST(edit_line, survives_each_allocation_failing)
{
        struct bench bench;
        set_up(&bench);
        cr_assert_gt(scn_test_fail_each_allocation(read_and_drop, &bench), 10);
        tear_down(&bench);
}
