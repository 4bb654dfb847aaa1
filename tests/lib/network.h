/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_NETWORK_H
#define SCN_TESTS_LIB_NETWORK_H

/* A network of the test's own, in which all ports are free and which can be taken away. */

#include <stdbool.h>

/* For this process and those it starts from now on, its loopback down. False: it cannot be had here. */
bool network_begin(void);
void network_set_loopback(bool is_up);

#endif
