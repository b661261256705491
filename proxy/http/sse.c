/* sse.c - tells where an event stream stands between two events, and which id each event has.
 * Thread: any; no allocation. */
#include "http/sse.h"

#include "base/str.h"
#include "http/byte.h"
#include "http/writer.h"

/* ---- where a stream stands between two events ---- */

enum {
    STATE_BEGIN,       /* before the first byte */
    STATE_BETWEEN,     /* after an empty line */
    STATE_BETWEEN_CR,  /* after an empty line that ended with CR: LF may follow */
    STATE_BETWEEN_CRS, /* the same behind another CR: none is waited for */
    STATE_LINE,        /* inside a line */
    STATE_LINE_CR,     /* after a line that ended with CR: LF may follow */
    STATE_LINE_START,  /* after a line of an event that has not ended */
};

void hl_sse_init(struct hl_sse *s)
{
    s->state = STATE_BEGIN;
}

static uint8_t after_byte(uint8_t state, char c)
{
    bool is_in_line = state == STATE_LINE;
    bool is_after_cr =
        state == STATE_LINE_CR || state == STATE_BETWEEN_CR || state == STATE_BETWEEN_CRS;
    if (c == '\r')
        return is_in_line ? STATE_LINE_CR : is_after_cr ? STATE_BETWEEN_CRS : STATE_BETWEEN_CR;
    if (c != '\n')
        return STATE_LINE;
    if (is_in_line || state == STATE_LINE_CR)
        return STATE_LINE_START;
    return STATE_BETWEEN;
}

void hl_sse_scan(struct hl_sse *s, const char *p, size_t n)
{
    const char *end = p + n;
    while (p < end) {
        if (s->state == STATE_LINE && (p = hl_byte_line_end(p, end)) == end)
            return;
        s->state = after_byte(s->state, *p++);
    }
}

bool hl_sse_is_between_events(const struct hl_sse *s)
{
    return s->state == STATE_BETWEEN || s->state == STATE_BETWEEN_CRS || s->state == STATE_BEGIN;
}

bool hl_sse_is_before_first_byte(const struct hl_sse *s)
{
    return s->state == STATE_BEGIN;
}

size_t hl_sse_mark_n(struct hl_str bytes)
{
    struct hl_str mark = HL_STR("\xef\xbb\xbf");
    return hl_str_starts_with(bytes, mark) ? mark.n : 0;
}

/* ---- the ids of events ---- */

enum {
    STATE_START,       /* of a line: nothing of it was read */
    STATE_MARK,        /* inside a byte order mark: name_n bytes of it */
    STATE_NAME,        /* inside a field's name: name_n bytes of it are in `name` */
    STATE_VALUE_START, /* after the colon of an `id`: a space may follow */
    STATE_VALUE,       /* of an `id` */
    STATE_REST,        /* of a line that nobody looks at */
};

enum { FIELD_OTHER, FIELD_ID, FIELD_DATA };

enum { END_LF, END_CRLF, END_CR };

static const struct hl_str ends[] = {{"\n", 1}, {"\r\n", 2}, {"\r", 1}};

static const char byte_order_mark[] = {'\xef', '\xbb', '\xbf'};

void hl_event_ids_init(struct hl_event_ids *s, uint64_t before)
{
    *s = (struct hl_event_ids){.count = before, .is_first = true};
}

static bool is_end(char c)
{
    return c == '\n' || c == '\r';
}

/* ---- a line ---- */

static void begin_id(struct hl_event_ids *s)
{
    s->id_n = s->id_at = 0;
    s->id_has_nul = false;
    s->id_is_wanted = s->wanted.n > 0;
}

static void take_name(struct hl_event_ids *s)
{
    struct hl_str name = {s->name, s->name_n};
    s->field = FIELD_OTHER;
    if (hl_str_eq(name, HL_STR("id"))) {
        s->field = FIELD_ID;
        begin_id(s);
    } else if (hl_str_eq(name, HL_STR("data"))) {
        s->field = FIELD_DATA;
    }
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

struct hl_str hl_event_id_wanted(struct hl_str id)
{
    while (id.n > 0 && is_blank(id.p[0]))
        id = (struct hl_str){id.p + 1, id.n - 1};
    while (id.n > 0 && is_blank(id.p[id.n - 1]))
        id.n--;
    return id;
}

/* Blanks before it and behind it are no part of it. */
static bool compare(struct hl_event_ids *s, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool is_at_end = s->id_at == s->wanted.n;
        if (!is_at_end && p[i] == s->wanted.p[s->id_at])
            s->id_at++;
        else if (!is_blank(p[i]) || (s->id_at > 0 && !is_at_end))
            return false;
    }
    return true;
}

static void take_value(struct hl_event_ids *s, const char *p, size_t n)
{
    if (s->id_is_wanted)
        s->id_is_wanted = compare(s, p, n);
    s->id_has_nul = s->id_has_nul || memchr(p, '\0', n);
    s->id_n = n > UINT32_MAX - s->id_n ? UINT32_MAX : s->id_n + (uint32_t)n;
}

/* The last one of a block counts; one that clients ignore leaves the one before. */
static void end_id(struct hl_event_ids *s)
{
    if (s->id_has_nul)
        return;
    s->has_id = s->id_n > 0;
    s->is_wanted = s->has_id && s->id_is_wanted && s->id_at == s->wanted.n;
}

static void end_line(struct hl_event_ids *s, char c)
{
    if (s->state == STATE_NAME)
        take_name(s);
    if (s->field == FIELD_DATA)
        s->has_data = true;
    else if (s->field == FIELD_ID)
        end_id(s);
    s->field = FIELD_OTHER;
    s->name_n = 0;
    s->state = STATE_START;
    s->is_after_cr = c == '\r';
    s->end = c == '\r' ? END_CR : END_LF;
}

static const char *read_name(struct hl_event_ids *s, const char *p, const char *end)
{
    while (p < end && *p != ':' && !is_end(*p) && s->name_n < sizeof(s->name))
        s->name[s->name_n++] = *p++;
    if (p == end || is_end(*p))
        return p;
    if (*p == ':') {
        take_name(s);
        s->state = s->field == FIELD_ID ? STATE_VALUE_START : STATE_REST;
    } else {
        s->name_n = 0;
        s->field = FIELD_OTHER;
        s->state = STATE_REST;
    }
    return p + 1;
}

/* Inside a line, not at its end. Returns where it stands next. */
static const char *read_line(struct hl_event_ids *s, const char *p, const char *end)
{
    const char *stop;
    switch (s->state) {
    case STATE_NAME:
        return read_name(s, p, end);
    case STATE_VALUE_START:
        s->state = STATE_VALUE;
        return *p == ' ' ? p + 1 : p;
    case STATE_VALUE:
        stop = hl_byte_line_end(p, end);
        take_value(s, p, (size_t)(stop - p));
        return stop;
    default:
        return hl_byte_line_end(p, end);
    }
}

/* At the start of a line, which is not empty. */
static const char *begin_line(struct hl_event_ids *s, const char *p)
{
    bool may_be_mark = s->is_first && s->name_n < sizeof(byte_order_mark);
    if (may_be_mark && *p == byte_order_mark[s->name_n]) {
        s->name_n++;
        s->state = s->name_n < sizeof(byte_order_mark) ? STATE_MARK : STATE_START;
        return p + 1;
    }
    /* A part of a mark is the beginning of a name that nobody knows. */
    bool is_other = s->state == STATE_MARK;
    s->state = is_other ? STATE_REST : STATE_NAME;
    s->name_n = 0;
    s->is_first = false;
    s->has_lines = true;
    return p;
}

static void end_block(struct hl_event_ids *s, char c)
{
    s->count += s->has_data;
    s->is_first = s->has_lines = s->has_data = s->has_id = s->is_wanted = false;
    s->name_n = 0;
    s->is_after_cr = c == '\r';
}

bool hl_event_ids_is_between(const struct hl_event_ids *s)
{
    bool may_be_half = s->is_after_cr && s->end != END_CR;
    return hl_event_ids_is_whole(s) && !may_be_half;
}

/* ---- a stream ---- */

/* One byte at least, an empty line that ends a block only where the last call stopped at it. */
static const char *step(struct hl_event_ids *s, const char *p, const char *end)
{
    bool was_after_cr = s->is_after_cr;
    s->is_after_cr = false;
    if (was_after_cr && *p == '\n') {
        s->end = END_CRLF;
        return p + 1;
    }
    if (s->state == STATE_START && is_end(*p)) {
        if (*p == '\n' || was_after_cr) /* that CR was no half of CRLF */
            s->end = *p == '\n' ? END_LF : END_CR;
        end_block(s, *p);
        return p + 1;
    }
    if (is_end(*p)) {
        s->is_first = false;
        s->has_lines = true;
        end_line(s, *p);
        return p + 1;
    }
    bool is_beginning = s->state == STATE_START || s->state == STATE_MARK;
    return is_beginning ? begin_line(s, p) : read_line(s, p, end);
}

static bool is_at_empty_line(const struct hl_event_ids *s, char c)
{
    return s->state == STATE_START && is_end(c) && !(s->is_after_cr && c == '\n');
}

size_t hl_event_ids_scan(struct hl_event_ids *s, struct hl_str bytes, bool *at_end)
{
    const char *p = bytes.p, *end = bytes.p + bytes.n;
    *at_end = false;
    while (p < end) {
        if (!s->is_at_end && is_at_empty_line(s, *p)) {
            s->is_at_end = *at_end = true;
            break;
        }
        s->is_at_end = false;
        p = step(s, p, end);
    }
    return (size_t)(p - bytes.p);
}

enum hl_event_kind hl_event_ids_kind(const struct hl_event_ids *s)
{
    if (!s->has_data)
        return HL_EVENT_NONE;
    return s->has_id ? HL_EVENT_NAMED : HL_EVENT_COUNTED;
}

bool hl_event_ids_is_wanted(const struct hl_event_ids *s)
{
    char text[24];
    if (s->has_id || !s->has_data)
        return s->is_wanted;
    struct hl_writer ordinal = hl_writer_on(text, sizeof(text));
    hl_write_u64(&ordinal, s->count + 1);
    return hl_str_eq(s->wanted, (struct hl_str){text, hl_writer_end(&ordinal)});
}

/* The line of the event that ends here. */
static size_t write_line(const struct hl_event_ids *s, char *out)
{
    struct hl_writer line = hl_writer_on(out, HL_EVENT_ID_LINE_MAX);
    HL_WRITE(&line, "id: ");
    hl_write_u64(&line, s->count + 1);
    hl_write_str(&line, ends[s->end]);
    return hl_writer_end(&line);
}

size_t hl_event_ids_put(struct hl_event_ids *s, struct hl_str *bytes, char *out, size_t cap)
{
    size_t used = 0;
    bool at_end;
    while (bytes->n > 0 && cap - used > HL_EVENT_ID_LINE_MAX) {
        size_t room = cap - used - HL_EVENT_ID_LINE_MAX;
        size_t n = hl_event_ids_scan(
            s, (struct hl_str){bytes->p, bytes->n < room ? bytes->n : room}, &at_end);
        memcpy(out + used, bytes->p, n);
        used += n;
        *bytes = (struct hl_str){bytes->p + n, bytes->n - n};
        if (at_end && hl_event_ids_kind(s) == HL_EVENT_COUNTED)
            used += write_line(s, out + used);
    }
    return used;
}

void hl_event_ids_pass(struct hl_event_ids *s, struct hl_str bytes)
{
    bool at_end;
    while (bytes.n > 0) {
        size_t n = hl_event_ids_scan(s, bytes, &at_end);
        bytes = (struct hl_str){bytes.p + n, bytes.n - n};
    }
}
