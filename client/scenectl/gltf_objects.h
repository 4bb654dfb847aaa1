/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_SCENECTL_GLTF_OBJECTS_H
#define SCN_CLIENT_SCENECTL_GLTF_OBJECTS_H

/* Whether a property value is a camera or a light as glTF wants it: anybody may have set it to anything, and a file
 * with another thing in that place would be none. Judged as the specification and its validator do. */

#include <scn/types.h>

/* glTF 2.0 §5.12 to 5.14. */
bool scn_gltf_is_camera(struct scn_slice value);
/* KHR_lights_punctual. */
bool scn_gltf_is_light(struct scn_slice value);

#endif
