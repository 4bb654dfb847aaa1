/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* digest, verify, ping: is all as it should be. */

#include "client/scenectl/verify_file.h"
#include "protocol/wire/pack.h"

#include <string.h>

/* --- digest --- */

static void on_digest(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        struct scn_ctl *ctl = data;
        uint8_t digest[16];
        if (answer->failure == NULL && scn_answer_digest(answer, digest)) {
                const struct scn_slice bytes = {digest, sizeof digest};
                scn_ctl_begin_line(ctl);
                scn_ctl_key(ctl, "rev");
                scn_json_put_uint(&ctl->json, answer->rev);
                scn_ctl_key(ctl, "digest");
                scn_ctl_put_hex(ctl, bytes);
                if (ctl->is_json) {
                        scn_ctl_end_line(ctl);
                } else {
                        for (size_t i = 0; i < sizeof digest; i++) {
                                scn_ctl_print("%02x", digest[i]);
                        }
                        scn_ctl_print("  revision %llu\n", (unsigned long long)answer->rev);
                }
        }
        scn_ctl_on_done(client, answer, data);
}

int scn_ctl_run_digest(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        struct scn_request request = SCN_REQUEST_INIT;
        request.at = arguments->options[SCN_CTL_OPTION_at];
        if ((arguments->values_count > 1 && !scn_ctl_read_node(ctl, "NODE", arguments->values[1], &request.node)) ||
                !scn_ctl_open(ctl, arguments->values[0])) {
                return ctl->code;
        }
        const enum scn_error error = scn_client_digest(ctl->client, &request, on_digest, ctl);
        return error == SCN_OK ? scn_ctl_wait(ctl) : scn_ctl_refuse(ctl, error);
}

/* --- verify --- */

struct verification {
        struct scn_ctl *ctl;
        const char *document;
};

/* Whether the map says {"ok": true}. */
static bool is_ok(struct scn_slice map)
{
        struct scn_unpacker unpacker = scn_unpacker_from(map);
        const uint32_t count = scn_unpack_map(&unpacker);
        for (uint32_t i = 0; i < count && unpacker.error == SCN_OK; i++) {
                const struct scn_slice key = scn_unpack_text(&unpacker, UINT32_MAX);
                if (key.size == 2 && memcmp(key.data, "ok", 2) == 0) {
                        return scn_unpack_bool(&unpacker);
                }
                (void)scn_unpack_raw(&unpacker);
        }
        return false;
}

static void on_verified(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        const struct verification *verification = data;
        struct scn_ctl *ctl = verification->ctl;
        if (answer->failure == NULL && ctl->is_json) {
                scn_ctl_begin_line(ctl);
                scn_ctl_key(ctl, "doc");
                scn_json_put_cstring(&ctl->json, verification->document);
                scn_ctl_put_members(ctl, answer->body);
                scn_ctl_end_line(ctl);
        } else if (answer->failure == NULL) {
                scn_ctl_print_cstring(verification->document);
                scn_ctl_print(": ");
                scn_ctl_print_members(answer->body, ", ");
                scn_ctl_print("\n");
        }
        if (answer->failure == NULL && !is_ok(answer->body)) {
                ctl->code = SCN_CTL_REFUSED;
        }
        scn_ctl_on_done(client, answer, ctl);
}

int scn_ctl_run_verify(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        for (unsigned i = 0; i < arguments->values_count; i++) {
                struct verification verification = {ctl, arguments->values[i]};
                ctl->hint = scn_ctl_is_file(arguments->values[i]) ? "" : NULL;
                if (scn_ctl_is_file(arguments->values[i])) {
                        scn_ctl_verify_file(ctl, arguments->values[i]);
                        continue;
                }
                if (!scn_ctl_open(ctl, arguments->values[i])) {
                        if (ctl->code == SCN_CTL_NO_CONNECTION) {
                                return ctl->code;
                        }
                        continue;
                }
                const enum scn_error error = scn_client_verify(ctl->client, on_verified, &verification);
                if (error != SCN_OK) {
                        return scn_ctl_refuse(ctl, error);
                }
                (void)scn_ctl_wait(ctl);
        }
        return ctl->code;
}

/* --- ping --- */

struct ping {
        struct scn_ctl *ctl;
        uint64_t sent_ms;
};

static void on_ping(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        const struct ping *ping = data;
        struct scn_ctl *ctl = ping->ctl;
        const uint64_t took_ms = scn_ctl_now_ms() - ping->sent_ms;
        if (answer->failure == NULL && ctl->is_json) {
                scn_ctl_begin_line(ctl);
                scn_ctl_key(ctl, "ms");
                scn_json_put_uint(&ctl->json, took_ms);
                scn_ctl_end_line(ctl);
        } else if (answer->failure == NULL) {
                scn_ctl_print("the server answered after %llu ms\n", (unsigned long long)took_ms);
        }
        scn_ctl_on_done(client, answer, ctl);
}

int scn_ctl_run_ping(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        struct ping ping = {.ctl = ctl};
        (void)arguments;
        if (!scn_ctl_open(ctl, NULL)) {
                return ctl->code;
        }
        ping.sent_ms = scn_ctl_now_ms();
        const enum scn_error error = scn_client_ping(ctl->client, on_ping, &ping);
        return error == SCN_OK ? scn_ctl_wait(ctl) : scn_ctl_refuse(ctl, error);
}
