/* meta.h - what is kept once: the time that was last believed, the signing key. The store's
 * thread; at open, the opener's. */
#ifndef HL_STORE_SQLITE_META_H
#define HL_STORE_SQLITE_META_H

#include "base/compiler.h"
#include "base/err.h"

struct hl_database;
struct hl_driver;
struct hl_noted_time;
struct hl_str;

HL_MUST_CHECK enum hl_err hl_meta_read_time(struct hl_database *db, struct hl_noted_time *noted);
enum hl_err hl_meta_note_time(
    struct hl_driver *d, const struct hl_noted_time *now); /* see driver.h */
/* Into base.signing_key, if there is one. */
HL_MUST_CHECK enum hl_err hl_meta_read_signing_key(
    struct hl_database *db, char *why, size_t why_len);
enum hl_err hl_meta_keep_signing_key(struct hl_driver *d, struct hl_str key);

#endif
