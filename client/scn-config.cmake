# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the scened authors
include(${CMAKE_CURRENT_LIST_DIR}/scn-targets.cmake)
