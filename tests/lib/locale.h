/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_LOCALE_H
#define SCN_TESTS_LIB_LOCALE_H

/* Puts the process into a locale (Pashto, of package locales) whose decimal point is not one byte long, for the rest
 * of the test; it is made on the spot, so none need be installed. */
void locale_enter_odd(void);
void locale_leave_odd(void);

#endif
