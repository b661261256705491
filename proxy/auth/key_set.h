/* key_set.h - the keys that are valid at one time, from all their sources. Immutable; threads hold
 * references. */
#ifndef HL_AUTH_KEY_SET_H
#define HL_AUTH_KEY_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_jwt;

/* Where keys come from: each is replaced as a whole. */
enum hl_key_source { HL_KEYS_OWN, HL_KEYS_SECRET, HL_KEYS_FILE, HL_KEYS_URL, HL_KEYS_SOURCE_COUNT };

#define HL_KEYS_MAX       64 /* of one source */
#define HL_KEYS_TRIED_MAX 8  /* for one token: its signature is looked at that often */

struct hl_key_list {
    struct hl_verify_key *items[HL_KEYS_MAX]; /* a reference each */
    size_t n;
};

/* Releases them; leaves it empty. */
void hl_key_list_fini(struct hl_key_list *list);

struct hl_key_set {
    _Atomic uint32_t references;
    struct hl_key_list sources[HL_KEYS_SOURCE_COUNT];
};

/* With one reference. NULL: out of memory. */
struct hl_key_set *hl_key_set_new(void);
struct hl_key_set *hl_key_set_hold(struct hl_key_set *set);
void hl_key_set_release(struct hl_key_set *set); /* NULL-safe */

/* A copy of `set` in which `source` has the keys of `list`, which is taken and left empty. A key that
 * was there before stays the same object; one that is no longer there is retired in
 * hl_key_set_retire. NULL: out of memory; `list` is released. */
struct hl_key_set *hl_key_set_with(
    const struct hl_key_set *set, enum hl_key_source source, struct hl_key_list *list);
/* `after` has taken `before`'s place: the keys that it lacks are retired. Whether there was one. */
bool hl_key_set_retire(const struct hl_key_set *before, const struct hl_key_set *after);

/* Whether a key of this serial is among them. */
bool hl_key_set_has(const struct hl_key_set *set, uint64_t serial);

/* The keys that may have signed the token (RFC 7515 4.1.4: a `kid` is a hint, and need not be the only
 * one): those that its `kid` names; without a `kid`, and for HS256, those from outside; of its
 * algorithm, each once, the first HL_KEYS_TRIED_MAX. They are all our own or all from outside. If the
 * `kid` names none of that algorithm, `out` has one that it names: that one did not sign it. How many;
 * borrowed from `set`. */
size_t hl_key_set_find(const struct hl_key_set *set, const struct hl_jwt *jwt,
    struct hl_verify_key *out[HL_KEYS_TRIED_MAX]);

#endif
