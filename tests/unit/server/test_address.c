/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/lib/test.h"

#include "server/address.h"

#include <stdio.h>
#include <string.h>

static struct scn_address parsed(const char *text)
{
        struct scn_address address;
        const char *fault = scn_address_parse(text, &address);

        cr_assert_null(fault, "%s: %s", text, fault);
        cr_assert_str_eq(address.text, text);
        return address;
}

SCN_TEST(address, is_read_with_its_port)
{
        static const uint8_t ip4[4] = {127, 0, 0, 1};
        static const uint8_t ip6[16] = {0xfe, 0x80, [15] = 1};
        struct scn_address address = parsed("127.0.0.1:7420");
        cr_assert_eq(address.kind, SCN_ADDRESS_IP4);
        cr_assert_eq(memcmp(address.ip, ip4, 4), 0);
        cr_assert_eq(address.port, 7420);

        address = parsed("[fe80::1]:65535");
        cr_assert_eq(address.kind, SCN_ADDRESS_IP6);
        cr_assert_eq(memcmp(address.ip, ip6, 16), 0);
        cr_assert_eq(address.port, 65535);

        address = parsed("localhost:0");
        cr_assert_eq(address.kind, SCN_ADDRESS_IP4);
        cr_assert_eq(memcmp(address.ip, ip4, 4), 0);
        cr_assert_eq(address.port, 0);

        address = parsed("unix:/run/scened/a:b");
        cr_assert_eq(address.kind, SCN_ADDRESS_UNIX);
        cr_assert_str_eq(address.path, "/run/scened/a:b");
}

SCN_TEST(address, that_is_none_is_refused_with_the_reason)
{
        static const char *const cases[][2] = {
                {"", "has no port; 127.0.0.1:7420"},
                {"127.0.0.1", "has no port; 127.0.0.1:7420"},
                {"127.0.0.1:", "has no port"},
                {"127.0.0.1:http", "has a port that is not a number"},
                {"127.0.0.1:-1", "has a port that is not a number"},
                {"127.0.0.1: 1", "has a port that is not a number"},
                {"127.0.0.1:65536", "has a port above 65535"},
                {"127.0.0.1:4294967297", "has a port above 65535"},
                {":7420", "has no address before the port"},
                {"[]:7420", "has no address before the port"},
                {"127.1:7420", "is not an IP address; names are not looked up"},
                {"example.org:7420", "is not an IP address; names are not looked up"},
                {"[127.0.0.1]:7420", "is not an IP address; names are not looked up"},
                {"::1:7420", "needs brackets"},
                {"[::1]", "needs brackets"},
                {"unix:", "has no path"},
        };
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                struct scn_address address = {.port = 1};
                const char *fault = scn_address_parse(cases[i][0], &address);
                cr_assert_not_null(fault, "%s is taken", cases[i][0]);
                cr_assert_eq(strncmp(fault, cases[i][1], strlen(cases[i][1])), 0, "%s: %s", cases[i][0], fault);
                cr_assert_eq(address.port, 1);
        }
}

SCN_TEST(address, may_be_as_long_as_a_socket_s_path_and_no_longer)
{
        char text[200] = "unix:/";
        struct scn_address address;
        while (strlen(text) < 5 + 107)
                text[strlen(text)] = 'x';
        cr_assert_null(scn_address_parse(text, &address));
        cr_assert_eq(strlen(address.path), 107);
        text[strlen(text)] = 'x';
        cr_assert_not_null(scn_address_parse(text, &address));

        /* Nor does a host or a port overrun anything. */
        for (size_t size = 1; size < sizeof text; size++) {
                memset(text, '1', size);
                text[size] = '\0';
                text[0] = ':';
                cr_assert_not_null(scn_address_parse(text, &address));
                text[0] = '1';
                text[size - 1] = ':';
                cr_assert_not_null(scn_address_parse(text, &address));
        }
        memset(text, '0', sizeof text - 1);
        text[sizeof text - 1] = '\0';
        memcpy(text, "127.0.0.1:", 10);
        cr_assert_not_null(scn_address_parse(text, &address));
}

SCN_TEST(address, is_local_only_where_nobody_else_can_come)
{
        static const char *const local[] = {
                "127.0.0.1:1", "127.255.255.254:1", "localhost:1", "[::1]:1", "[::ffff:127.0.0.1]:1", "unix:a"};
        static const char *const open[] = {"0.0.0.0:1", "128.0.0.1:1", "126.255.255.255:1", "10.0.0.1:1", "[::]:1",
                "[::2]:1", "[fe80::1]:1", "[::ffff:10.0.0.1]:1", "[1::ffff:127.0.0.1]:1"};
        for (size_t i = 0; i < sizeof local / sizeof local[0]; i++) {
                struct scn_address address = parsed(local[i]);
                cr_assert(scn_address_is_local(&address), "%s", local[i]);
        }
        for (size_t i = 0; i < sizeof open / sizeof open[0]; i++) {
                struct scn_address address = parsed(open[i]);
                cr_assert(!scn_address_is_local(&address), "%s", open[i]);
        }
}
