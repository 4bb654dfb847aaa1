/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* A template without a guard, for hierarchy_kernel.c alone: the arithmetic of world transforms on LANES nodes at
 * once. The text exists once so that every width does the same float operations in the same order, which is what
 * makes their bits equal.
 *
 * Parameters, undefined again at the end:
 *   LANES       1, 4 or 8
 *   FLOATS      LANES floats that can be added, subtracted and multiplied
 *   NAME(x)     the name of an instance
 *   TARGET      the attribute that allows the instructions
 * and for more than one lane what each width has its own shuffles for; a "part" is four floats, a group of four
 * nodes fills one part of FLOATS:
 *   LOAD(records, index, quad)           the quad (16 bytes) of records index and, with 8 lanes, index + 4
 *   STORE(records, index, quad, floats)  the reverse
 *   ZIP_LOW(a, b)  a0 b0 a1 b1        ZIP_HIGH(a, b)  a2 b2 a3 b3       in each part
 *   PAIR_LOW(a, b) a0 a1 b0 b1        PAIR_HIGH(a, b) a2 a3 b2 b3
 *   SPREAD(a, k)   ak ak ak ak */

#define LINEAR NAME(linear)

/* R * S. */
struct LINEAR {
        FLOATS x0, y0, z0; /* row 0: what x, y and z of the node's own space add to the parent's x */
        FLOATS x1, y1, z1;
        FLOATS x2, y2, z2;
};

/* Not one unary minus, here and below: it would turn the sign of a NaN, and then the order in which a compiler
 * takes the operands of + would show in the bits. */
static inline TARGET void NAME(turn_and_scale)(
        const FLOATS rotation[4], const FLOATS scale[3], struct LINEAR *linear_out)
{
        FLOATS x = rotation[0], y = rotation[1], z = rotation[2], w = rotation[3];
        FLOATS x2 = x + x, y2 = y + y, z2 = z + z;
        FLOATS xx = x * x2, yy = y * y2, zz = z * z2;
        FLOATS xy = x * y2, xz = x * z2, yz = y * z2;
        FLOATS wx = w * x2, wy = w * y2, wz = w * z2;

        linear_out->x0 = (1.0f - (yy + zz)) * scale[0];
        linear_out->y0 = (xy - wz) * scale[1];
        linear_out->z0 = (xz + wy) * scale[2];
        linear_out->x1 = (xy + wz) * scale[0];
        linear_out->y1 = (1.0f - (xx + zz)) * scale[1];
        linear_out->z1 = (yz - wx) * scale[2];
        linear_out->x2 = (xz - wy) * scale[0];
        linear_out->y2 = (yz + wx) * scale[1];
        linear_out->z2 = (1.0f - (xx + yy)) * scale[2];
}

/* One row of parent * local. */
static inline TARGET void NAME(multiply_row)(
        const FLOATS parent[4], const struct LINEAR *linear, const FLOATS translation[3], FLOATS row_out[4])
{
        FLOATS p0 = parent[0], p1 = parent[1], p2 = parent[2], p3 = parent[3];

        row_out[0] = p0 * linear->x0 + p1 * linear->x1 + p2 * linear->x2;
        row_out[1] = p0 * linear->y0 + p1 * linear->y1 + p2 * linear->y2;
        row_out[2] = p0 * linear->z0 + p1 * linear->z1 + p2 * linear->z2;
        row_out[3] = p0 * translation[0] + p1 * translation[1] + p2 * translation[2] + p3;
}

#if LANES > 1

/* Four registers that hold a quad of four (or twice four) nodes become one register per component. */
static inline TARGET void NAME(transpose)(FLOATS quads[4])
{
        FLOATS low01 = ZIP_LOW(quads[0], quads[1]), high01 = ZIP_HIGH(quads[0], quads[1]);
        FLOATS low23 = ZIP_LOW(quads[2], quads[3]), high23 = ZIP_HIGH(quads[2], quads[3]);

        quads[0] = PAIR_LOW(low01, low23);
        quads[1] = PAIR_HIGH(low01, low23);
        quads[2] = PAIR_LOW(high01, high23);
        quads[3] = PAIR_HIGH(high01, high23);
}

static inline TARGET void NAME(load)(const float *const records[LANES], uint32_t quad, FLOATS components_out[4])
{
        UNROLL
        for (uint32_t i = 0; i < 4; i++)
                components_out[i] = LOAD(records, i, quad);
        NAME(transpose)(components_out);
}

/* The same where all nodes of a part have one parent, as most siblings have. */
static inline TARGET void NAME(load_shared)(const float *const records[LANES], uint32_t quad, FLOATS components_out[4])
{
        FLOATS shared = LOAD(records, 0, quad);

        components_out[0] = SPREAD(shared, 0);
        components_out[1] = SPREAD(shared, 1);
        components_out[2] = SPREAD(shared, 2);
        components_out[3] = SPREAD(shared, 3);
}

static inline TARGET void NAME(store)(float *const records[LANES], uint32_t quad, FLOATS components[4])
{
        NAME(transpose)(components);
        UNROLL
        for (uint32_t i = 0; i < 4; i++)
                STORE(records, i, quad, components[i]);
}

static inline TARGET void NAME(load_locals)(
        const float *const locals[LANES], FLOATS translation_out[3], struct LINEAR *linear_out)
{
        FLOATS quads[3][4];

        UNROLL
        for (uint32_t quad = 0; quad < 3; quad++)
                NAME(load)(locals, quad, quads[quad]);
        FLOATS rotation[4] = {quads[0][3], quads[1][0], quads[1][1], quads[1][2]};
        FLOATS scale[3] = {quads[1][3], quads[2][0], quads[2][1]};
        NAME(turn_and_scale)(rotation, scale, linear_out);
        UNROLL
        for (uint32_t i = 0; i < 3; i++)
                translation_out[i] = quads[0][i];
}

/* The world transforms of LANES nodes, none of which is another's parent; only the first may start a level. */
static inline TARGET void NAME(compute)(
        const struct scn_hierarchy_local *locals, struct scn_affine *worlds, const uint32_t slots[LANES])
{
        const float *nodes[LANES];
        const float *parents[LANES];
        float *results[LANES];
        uint32_t strangers = 0; /* bits in which the parents of a group of four differ */
        uint32_t first_parent = 0;

        UNROLL
        for (uint32_t i = 0; i < LANES; i++) {
                uint32_t slot = i == 0 ? slots[i] & ~SCN_HIERARCHY_LEVEL : slots[i];
                uint32_t parent = locals[slot].parent;
                first_parent = i % 4 == 0 ? parent : first_parent;
                strangers |= parent ^ first_parent;
                nodes[i] = locals[slot].trs.t;
                results[i] = worlds[slot].m;
                parents[i] = worlds[parent].m;
        }

        FLOATS translation[3];
        struct LINEAR linear;
        NAME(load_locals)(nodes, translation, &linear);
        UNROLL
        for (uint32_t row = 0; row < 3; row++) {
                FLOATS parent[4];
                FLOATS world[4];
                if (strangers == 0)
                        NAME(load_shared)(parents, row, parent);
                else
                        NAME(load)(parents, row, parent);
                NAME(multiply_row)(parent, &linear, translation, world);
                NAME(store)(results, row, world);
        }
}

/* How many of the first entries belong to one level and so may be computed together: LANES or fewer. */
static inline TARGET uint32_t NAME(count_together)(const uint32_t *slots, uint32_t count)
{
        uint32_t starts = 0;
        uint32_t together = 1;

        if (count >= LANES) {
                UNROLL
                for (uint32_t i = 1; i < LANES; i++)
                        starts |= slots[i];
                if ((starts & SCN_HIERARCHY_LEVEL) == 0)
                        return LANES;
                count = LANES;
        }
        while (together < count && (slots[together] & SCN_HIERARCHY_LEVEL) == 0)
                together++;
        return together;
}

static TARGET void NAME(run)(
        const struct scn_hierarchy_local *locals, struct scn_affine *worlds, const uint32_t *slots, uint32_t count)
{
        uint32_t padded[LANES];
        bool is_long = count > CACHED_SLOTS_MAX;

        for (uint32_t done = 0; done < count;) {
                const uint32_t *together = slots + done;
                uint32_t together_count = NAME(count_together)(together, count - done);
                done += together_count;
                if (is_long && count - done >= SLOTS_AHEAD + LANES) {
                        UNROLL
                        for (uint32_t i = 0; i < LANES; i++)
                                ask_for(locals, worlds, slots[done + SLOTS_AHEAD + i]);
                }
                if (together_count == 1) {
                        run_one(locals, worlds, together, 1);
                        continue;
                }
                /* The last node fills the lanes left over: it is computed several times, alike. */
                if (together_count < LANES) {
                        for (uint32_t i = 0; i < LANES; i++)
                                padded[i] = together[i < together_count ? i : together_count - 1];
                        together = padded;
                }
                NAME(compute)(locals, worlds, together);
        }
}

#endif

#undef LINEAR
#undef LANES
#undef FLOATS
#undef NAME
#undef TARGET
#undef LOAD
#undef STORE
#undef ZIP_LOW
#undef ZIP_HIGH
#undef PAIR_LOW
#undef PAIR_HIGH
#undef SPREAD
