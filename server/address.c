/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "server/address.h"

#include <arpa/inet.h>
#include <string.h>

#define PREFIX "unix:"

static const char *parse_path(const char *path, struct scn_address *address)
{
        size_t size = strlen(path);

        if (size == 0)
                return "has no path behind unix:";
        if (size >= sizeof address->path)
                return "has a path longer than the 107 bytes that a socket's may have";
        address->kind = SCN_ADDRESS_UNIX;
        memcpy(address->path, path, size + 1);
        return NULL;
}

static const char *parse_port(const char *text, uint16_t *port)
{
        uint32_t number = 0;

        if (*text == '\0')
                return "has no port";
        for (; *text != '\0'; text++) {
                if (*text < '0' || *text > '9')
                        return "has a port that is not a number";
                number = 10 * number + (uint32_t)(*text - '0');
                if (number > UINT16_MAX)
                        return "has a port above 65535";
        }
        *port = (uint16_t)number;
        return NULL;
}

/* The part before the last colon. IPv6 has colons of its own and so stands in brackets. */
static const char *parse_host(const char *text, size_t size, struct scn_address *address)
{
        char host[INET6_ADDRSTRLEN];
        bool is_ip6 = size >= 2 && text[0] == '[' && text[size - 1] == ']';

        if (is_ip6) {
                text++;
                size -= 2;
        }
        if (size == 0)
                return "has no address before the port";
        if (size >= sizeof host)
                return "is not an IP address";
        memcpy(host, text, size);
        host[size] = '\0';
        address->kind = is_ip6 ? SCN_ADDRESS_IP6 : SCN_ADDRESS_IP4;
        if (!is_ip6 && strcmp(host, "localhost") == 0)
                memcpy(host, "127.0.0.1", sizeof "127.0.0.1");
        if (inet_pton(is_ip6 ? AF_INET6 : AF_INET, host, address->ip) != 1)
                return strchr(host, ':') != NULL && !is_ip6 ? "needs brackets round an IPv6 address, as in [::1]:7420"
                                                            : "is not an IP address; names are not looked up";
        return NULL;
}

const char *scn_address_parse(const char *text, struct scn_address *address_out)
{
        struct scn_address address = {0};
        const char *fault;

        if (strncmp(text, PREFIX, strlen(PREFIX)) == 0) {
                fault = parse_path(text + strlen(PREFIX), &address);
        } else {
                const char *colon = strrchr(text, ':');
                if (colon == NULL)
                        return "has no port; 127.0.0.1:7420, [::1]:7420 and unix:PATH are addresses";
                fault = parse_host(text, (size_t)(colon - text), &address);
                if (fault == NULL)
                        fault = parse_port(colon + 1, &address.port);
        }
        if (fault != NULL)
                return fault;
        size_t size = strlen(text);
        if (size >= sizeof address.text)
                return "has a port that is not a number"; /* more zeros than anybody means */
        memcpy(address.text, text, size + 1);
        *address_out = address;
        return NULL;
}

bool scn_address_is_local(const struct scn_address *address)
{
        static const uint8_t ip6_loopback[16] = {[15] = 1};
        static const uint8_t ip4_in_ip6[12] = {[10] = 0xff, [11] = 0xff};

        switch (address->kind) {
        case SCN_ADDRESS_IP4:
                return address->ip[0] == 127;
        case SCN_ADDRESS_IP6:
                return memcmp(address->ip, ip6_loopback, 16) == 0 ||
                        (memcmp(address->ip, ip4_in_ip6, 12) == 0 && address->ip[12] == 127);
        case SCN_ADDRESS_UNIX:
                return true;
        }
        return false;
}
