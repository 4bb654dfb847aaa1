/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_EDITS_H
#define SCN_TESTS_LIB_EDITS_H

/* Random edits for tests against the model: plausible ones mostly, and every kind of wrong ones. */

#include "tests/lib/model.h"
#include "tests/lib/random.h"

/* What a run is made of. Weights are relative, chances in percent. */
struct edits_profile {
        const char *name;
        struct scn_limits limits;
        uint32_t seeds_count; /* of the short form */
        uint32_t bouts_count;
        uint32_t nodes_wanted; /* below: adds are more likely; above: removes */
        uint32_t ops_count_max;
        uint32_t first_adds; /* ops of the first edits, all adds */
        uint32_t uids_count; /* how many uids there are to choose from: few mean many rebirths */
        uint32_t weights[SCN_OP_COUNT];
        uint32_t wrong_chance; /* of something wrong in an op */
        uint32_t deep_chance;  /* that a parent is the newest node */
        uint32_t flat_chance;  /* that a parent is the root */
        uint32_t keep_world_chance;
        uint32_t odd_scale_chance; /* of scales that are not uniform, negative or zero */
};

extern const struct edits_profile edits_profile_mixed;
extern const struct edits_profile edits_profile_deep;
extern const struct edits_profile edits_profile_flat;
extern const struct edits_profile edits_profile_limits;
extern const struct edits_profile edits_profile_horizon;
extern const struct edits_profile edits_profile_worlds;

struct edits_generator {
        const struct edits_profile *profile;
        struct scn_random *random;
        struct model *model; /* the edit lives in its memory */
        scn_node_id next_id; /* of the node that the next add of this edit makes */
};

/* An edit for the model's present state. */
const struct scn_edit *edits_generate(struct edits_generator *generator);

/* Any reference, also to what is not there. */
struct scn_node_ref edits_any_ref(struct edits_generator *generator);

/* The uid of number 0, 1, … of those that are chosen from; 0 is the root's. */
struct scn_uid edits_uid(uint32_t number);
/* One of those living, or of those that may come. */
struct scn_uid edits_any_uid(struct scn_random *random, const struct model *model);

#endif
