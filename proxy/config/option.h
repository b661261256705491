/* option.h - the one table of settings: from it come parsing, --help, `config show` and
 * the table of deploy/settings.md. */
#ifndef HL_CONFIG_OPTION_H
#define HL_CONFIG_OPTION_H

#include "base/err.h"
#include "base/str.h"

struct hl_buf;
struct hl_config;

enum hl_option_type {
    HL_OPTION_SWITCH,      /* bool */
    HL_OPTION_COUNT,       /* uint32_t */
    HL_OPTION_DURATION,    /* uint64_t, ms */
    HL_OPTION_SIZE,        /* uint64_t, bytes */
    HL_OPTION_WORD,        /* an enum: the index in `words` */
    HL_OPTION_TEXT,        /* struct hl_str */
    HL_OPTION_RANGES,      /* struct hl_cidr_list */
    HL_OPTION_ORIGINS,     /* struct hl_origin_list */
    HL_OPTION_LISTEN,      /* struct hl_listen_list */
    HL_OPTION_APP_URL,     /* struct hl_app_url */
    HL_OPTION_STORE_LIMIT, /* struct hl_store_limit */
};

struct hl_option {
    const char *name;
    enum hl_option_type type;
    size_t offset;            /* of the field in struct hl_config */
    const char *initial;      /* the default as one would write it; "": not set */
    const char *production;   /* the default with the webhook preset of that name; NULL: the same */
    const char *shown;        /* the default in words, where it depends on the machine; else NULL */
    uint64_t min, max;        /* COUNT, DURATION, SIZE */
    bool has_zero;            /* 0 is allowed too and means something else, see `help` */
    const char *const *words; /* WORD: ends with NULL */
    bool (*is_valid)(struct hl_str text); /* TEXT: NULL: anything goes */
    const char *allowed;                  /* TEXT, STORE_LIMIT: what is wanted, in words */
    /* TEXT: appends which part of it is_valid refuses, " (line 2)"; NULL: all of it. No value of a secret. */
    enum hl_err (*tell_fault)(struct hl_str text, struct hl_buf *out);
    /* Never shown; has a …_FILE variant; HOOKLINE_KEY's is a row of its own, which the store reads or makes. */
    bool is_secret;
    bool has_empty;   /* TEXT: set and empty is a value of its own, see `help` */
    const char *help; /* one line, no full stop */
};

extern const struct hl_option hl_options[];
extern const size_t hl_option_count;

/* As one writes them, in the order of enum hl_store_kind; ends with NULL. */
extern const char *const hl_store_words[];
extern const char *const hl_replica_role_words[];

/* `log_format` before hl_config_settle has decided. */
#define HL_LOG_FORMAT_AUTO 2

/* NULL when there is none of that name. */
const struct hl_option *hl_option_find(struct hl_str name);

/* What it is when nobody sets it. HOOKLINE_WEBHOOK_PRESET has been read already: its row stands before theirs. */
const char *hl_option_initial(const struct hl_option *option, const struct hl_config *config);

#endif
