/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SCENE_OBSERVER_H
#define SCN_SCENE_OBSERVER_H

/* One observable per event: observers in an array, told synchronously in order (DESIGN §3, Observers).
 *
 * Used by the document to announce changes (mask = channels changed) and by a room to publish. Rules: an
 * observer hears an event if (observer.mask & event.mask) is not 0. Removal during a notification takes effect
 * at once for calls and physically afterwards; nobody is skipped or called twice, also when the order is
 * changed meanwhile; one added during a notification is first called at the next. A once-observer is used up
 * only by a call that its mask lets through, and is marked before that call. Notifying allocates nothing. */

#include <scn/error.h>
#include <scn/types.h>

/* Notifications of one observable inside each other; more is a mistake of ours (asserts). */
#define SCN_OBSERVER_NESTING_MAX 64

struct scn_observable;
struct scn_observer;

/* Valid only inside the call; one per observable, reused, saved around nested notifications. */
struct scn_event {
        uint32_t mask;
        const void *data;        /* the event itself, borrowed */
        const void *last_return; /* what the previous observer returned; the first reads `data` */
        bool skip_next;          /* set it, and the observers after this one hear nothing */
};

/* `data` is the pointer given at registration (the source design's scope). *return_out, NULL unless set, is what
 * the next observer reads as last_return. An error ends the notification. */
typedef enum scn_error (*scn_observer_fn)(struct scn_event *event, const void **return_out, void *data);

struct scn_observer_options {
        uint32_t mask; /* 0 hears nothing; SCN_MASK_ALL (-1) hears all */
        bool is_first; /* goes to the front */
        bool is_once;  /* removed by the first call it gets */
        scn_observer_fn callback;
        void *data;
};

/* NULL: out of memory. Destroy asserts that nobody is registered and no notification is running. */
struct scn_observable *scn_observable_create(void);
void scn_observable_destroy(struct scn_observable *observable);

/* *observer_out is a handle owned by the observable: valid until removed; a once-observer counts as removed from
 * the moment it is called. SCN_E_NO_MEMORY. */
SCN_NODISCARD enum scn_error scn_observable_add(struct scn_observable *observable,
        const struct scn_observer_options *options, struct scn_observer **observer_out);

/* True if it was registered; twice is harmless (a handle is only compared, never followed). NULL is allowed. */
bool scn_observable_remove(struct scn_observable *observable, const struct scn_observer *observer);

/* Moves it to the front or the back; false if it is not registered. */
bool scn_observable_make_first(struct scn_observable *observable, const struct scn_observer *observer);
bool scn_observable_make_last(struct scn_observable *observable, const struct scn_observer *observer);

/* How many would be called by an event with mask -1. */
uint32_t scn_observable_count(const struct scn_observable *observable);

/* Tells everybody concerned. *was_completed_out: false if an observer said skip_next or failed, else true, also
 * with no observers; NULL is allowed. Returns the error of the observer that ended it. */
SCN_NODISCARD enum scn_error scn_observable_notify(
        struct scn_observable *observable, uint32_t mask, const void *data, bool *was_completed_out);

#endif
