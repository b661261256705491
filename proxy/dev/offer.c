/* offer.c - see offer.h. Thread: main.
 * Not here: what a Python file says without being asked (sketch.c). */
#include "dev/offer.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/utf8.h"
#include "dev/sketch.h"

#define PATIENCE_MS 2000L
#define ANSWER_MAX  (4 * 1024 * 1024)
#define DEPTH_MAX   6 /* of an example; what is deeper is {} */
#define ITEMS_MAX   8
#define TEXT_MAX    256
#define PARTS_MAX   100000 /* of all examples: what is larger is no call to paste */

/* ---- asking ---- */

static size_t on_bytes(char *p, size_t one, size_t n, void *self)
{
    struct hl_buf *answer = self;
    return hl_buf_append(answer, p, one * n) == HL_OK ? n : 0;
}

/* Of an answer that has no end what came in time counts. */
static long get(CURL *easy, const char *url, struct curl_slist *fields, struct hl_buf *answer)
{
    long status = 0;
    bool is_ready = curl_easy_setopt(easy, CURLOPT_URL, url) == CURLE_OK &&
                    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http") == CURLE_OK &&
                    curl_easy_setopt(easy, CURLOPT_PROXY, "") == CURLE_OK &&
                    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
                    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, PATIENCE_MS) == CURLE_OK &&
                    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fields) == CURLE_OK &&
                    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_bytes) == CURLE_OK &&
                    curl_easy_setopt(easy, CURLOPT_WRITEDATA, answer) == CURLE_OK;
    if (is_ready) {
        (void)curl_easy_perform(easy); /* the status says whether there was an answer */
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    }
    return status;
}

json_t *hl_dev_ask(uint16_t port, const char *path, int *status)
{
    char url[256];
    struct hl_buf answer;
    json_t *read = NULL;
    CURL *easy = curl_easy_init();
    struct curl_slist *fields = curl_slist_append(NULL, "Accept: application/json");
    hl_buf_init(&answer, ANSWER_MAX);
    snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", port, path);
    *status = easy && fields ? (int)get(easy, url, fields, &answer) : 0;
    if (*status == 200)
        read = json_loadb(answer.p, answer.n, JSON_DISABLE_EOF_CHECK, NULL);
    hl_buf_fini(&answer);
    curl_slist_free_all(fields);
    curl_easy_cleanup(easy);
    return read;
}

/* ---- an example of what a schema wants ---- */

static const json_t *member(const json_t *object, const char *name)
{
    return json_object_get(object, name);
}

/* What a "#/…" points to; others are not followed. */
static const json_t *follow(const json_t *root, const json_t *schema)
{
    const char *ref = json_string_value(member(schema, "$ref"));
    if (!ref)
        return schema;
    const json_t *at = root;
    char name[128];
    for (const char *p = strncmp(ref, "#/", 2) == 0 ? ref + 2 : ""; *p && at;) {
        size_t n = strcspn(p, "/");
        if (n >= sizeof(name))
            return NULL;
        memcpy(name, p, n);
        name[n] = '\0';
        at = member(at, name);
        p += n + (p[n] == '/');
    }
    return at == root ? NULL : at;
}

/* What a schema may lead to, and how many parts examples may still get. */
struct source {
    const json_t *root;
    unsigned left;
};

static json_t *example_of(struct source *from, const json_t *schema, unsigned depth);

static json_t *example_of_object(struct source *from, const json_t *schema, unsigned depth)
{
    json_t *example = json_object();
    const json_t *required = member(schema, "required");
    for (size_t i = 0; i < json_array_size(required) && from->left > 0; i++) {
        const char *name = json_string_value(json_array_get(required, i));
        if (name)
            json_object_set_new(example, name,
                example_of(from, member(member(schema, "properties"), name), depth + 1));
    }
    return example;
}

/* Of "string" or ["string", "null"]. */
static const char *type_of(const json_t *schema)
{
    const json_t *type = member(schema, "type");
    const char *name = json_string_value(json_is_array(type) ? json_array_get(type, 0) : type);
    return name ? name : member(schema, "properties") ? "object" : "";
}

struct bound {
    const json_t *at; /* NULL: none */
    bool is_open;     /* which itself is not allowed */
};

/* In both spellings: a number of its own, and true beside the other one (OpenAPI 3.0). */
static struct bound bound_of(const json_t *schema, const char *closed, const char *open)
{
    const json_t *own = member(schema, open), *other = member(schema, closed);
    if (json_is_number(own))
        return (struct bound){own, true};
    return (struct bound){json_is_number(other) ? other : NULL, json_is_true(own)};
}

static json_t *example_of_number(const json_t *schema)
{
    struct bound least = bound_of(schema, "minimum", "exclusiveMinimum"),
                 most = bound_of(schema, "maximum", "exclusiveMaximum");
    double low = least.at ? json_number_value(least.at) : 0,
           high = most.at ? json_number_value(most.at) : 0;
    bool is_one = (!least.at || low < 1 || (!least.is_open && low <= 1)) &&
                  (!most.at || high > 1 || (!most.is_open && high >= 1));
    if (is_one)
        return json_integer(1);
    if (least.at && !least.is_open)
        return json_deep_copy(least.at);
    if (most.at && !most.is_open)
        return json_deep_copy(most.at);
    double between = !most.at ? low + 1 : !least.at ? high - 1 : (low + high) / 2;
    bool is_whole = between > -1e15 && between < 1e15 && between == (double)(json_int_t)between;
    return is_whole ? json_integer((json_int_t)between) : json_real(between);
}

/* As many as it must have, and no more than anybody wants to read. */
static json_t *example_of_array(struct source *from, const json_t *schema, unsigned depth)
{
    json_t *example = json_array();
    json_int_t least = json_integer_value(member(schema, "minItems"));
    for (json_int_t i = 0; i < least && i < ITEMS_MAX; i++)
        json_array_append_new(example, example_of(from, member(schema, "items"), depth + 1));
    return example;
}

/* "hello", as long as it must be. */
static json_t *example_of_plain_text(const json_t *schema)
{
    char text[TEXT_MAX];
    const json_t *most = member(schema, "maxLength");
    json_int_t least = json_integer_value(member(schema, "minLength")), n = 5;
    if (least > n)
        n = least;
    if (json_is_integer(most) && json_integer_value(most) < n)
        n = json_integer_value(most);
    if (n < 0 || n > (json_int_t)sizeof(text))
        n = 5;
    for (json_int_t i = 0; i < n; i++)
        text[i] = "hello"[i % 5];
    return json_stringn(text, (size_t)n);
}

static json_t *example_of_text(const json_t *schema)
{
    static const struct {
        const char *format, *text;
    } formats[] = {{"date-time", "2026-01-31T12:00:00Z"}, {"date", "2026-01-31"},
        {"time", "12:00:00"}, {"uuid", "0193e000-0000-7000-8000-000000000000"}};
    const char *format = json_string_value(member(schema, "format"));
    for (size_t i = 0; format && i < HL_ARRAY_LEN(formats); i++)
        if (strcmp(format, formats[i].format) == 0)
            return json_string(formats[i].text);
    return member(schema, "contentEncoding") ? json_string("aGVsbG8=")
                                             : example_of_plain_text(schema);
}

static json_t *example_of(struct source *from, const json_t *schema, unsigned depth)
{
    static const char *const given[] = {"default", "example", "const"};
    static const char *const lists[] = {"examples", "enum"}, *const choices[] = {
                                                                 "anyOf", "oneOf", "allOf"};
    bool is_shown = depth < DEPTH_MAX && from->left > 0;
    from->left -= from->left > 0;
    schema = is_shown ? follow(from->root, schema) : NULL;
    for (size_t i = 0; i < HL_ARRAY_LEN(given); i++)
        if (member(schema, given[i]))
            return json_deep_copy(member(schema, given[i]));
    for (size_t i = 0; i < HL_ARRAY_LEN(lists); i++)
        if (json_array_size(member(schema, lists[i])) > 0)
            return json_deep_copy(json_array_get(member(schema, lists[i]), 0));
    for (size_t i = 0; i < HL_ARRAY_LEN(choices); i++)
        if (json_array_size(member(schema, choices[i])) > 0)
            return example_of(from, json_array_get(member(schema, choices[i]), 0), depth + 1);
    const char *type = type_of(schema);
    if (strcmp(type, "string") == 0)
        return example_of_text(schema);
    if (strcmp(type, "integer") == 0 || strcmp(type, "number") == 0)
        return example_of_number(schema);
    if (strcmp(type, "boolean") == 0)
        return json_true();
    if (strcmp(type, "array") == 0)
        return example_of_array(from, schema, depth);
    if (strcmp(type, "null") == 0)
        return json_null();
    return *type || !is_shown || depth == 0 ? example_of_object(from, schema, depth)
                                            : json_string("hello");
}

/* JSON as a terminal may have it: what drives one, or turns the reading direction, is escaped; it is inside a string
 * there. Bytes that are no UTF-8 become U+FFFD. False: it is too long. */
static bool write_body(struct hl_dev_offer *offer, const char *text)
{
    struct hl_str rest = hl_str_from(text);
    size_t n = 0;
    while (rest.n > 0 && n < sizeof(offer->body) - 6) {
        uint32_t code;
        size_t length = hl_utf8_decode(rest.p, rest.n, &code);
        if (length > 0 && !hl_utf8_is_unsafe(code)) {
            memcpy(offer->body + n, rest.p, length);
            n += length;
        } else {
            n += (size_t)snprintf(offer->body + n, sizeof(offer->body) - n, "\\u%04x",
                length > 0 ? (unsigned)(code & 0xffff) : 0xfffdu);
        }
        length = length > 0 ? length : 1;
        rest = (struct hl_str){rest.p + length, rest.n - length};
    }
    offer->body[n] = '\0';
    return rest.n == 0;
}

static bool put(struct hl_dev_offer *offer, const char *method, const char *path, json_t *body)
{
    char *text = body ? json_dumps(body, 0) : NULL;
    bool fits =
        strlen(path) < sizeof(offer->path) && write_body(offer, text ? text : "") &&
        path[strspn(path,
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/_.-~%?=&")] == '\0';
    if (fits) {
        offer->method = method;
        snprintf(offer->path, sizeof(offer->path), "%s", path);
    } else {
        offer->body[0] = '\0';
    }
    free(text);
    json_decref(body);
    return fits;
}

/* ---- what is offered ---- */

void hl_dev_offer_of_function(const struct hl_dev_function *function, struct hl_dev_offer *offer)
{
    offer->method = "POST";
    snprintf(offer->path, sizeof(offer->path), "%s", function->name);
    if (!write_body(offer, function->json))
        offer->body[0] = '\0';
}

bool hl_dev_offer_of_functions(const json_t *list, struct hl_dev_offer *offer)
{
    const json_t *functions = member(list, "functions"), *picked = json_array_get(functions, 0);
    for (size_t i = 0; i < json_array_size(functions); i++) {
        const json_t *one = json_array_get(functions, i);
        const char *name = json_string_value(member(one, "name"));
        if (name && strcmp(name, "run") == 0)
            picked = one;
    }
    const char *name = json_string_value(member(picked, "name"));
    const json_t *input = member(picked, "input");
    struct source from = {input, PARTS_MAX};
    json_t *body = json_is_object(input) ? example_of(&from, input, 0) : json_object();
    if (name)
        return put(offer, "POST", name, body);
    json_decref(body);
    return false;
}

static const json_t *body_schema(const json_t *root, const json_t *operation)
{
    const json_t *body = follow(root, member(operation, "requestBody"));
    return member(member(member(body, "content"), "application/json"), "schema");
}

/* ---- a path, and what it needs in it and behind it ---- */

/* The operation's parameter number `*i`, or the path's that it does not repeat; NULL: there are no more. */
static const json_t *next_parameter(
    const json_t *root, const json_t *item, const json_t *operation, size_t *i)
{
    const json_t *own = member(operation, "parameters"), *all = member(item, "parameters");
    size_t n = json_array_size(own);
    if (*i < n)
        return follow(root, json_array_get(own, (*i)++));
    return *i < n + json_array_size(all) ? follow(root, json_array_get(all, (*i)++ - n)) : NULL;
}

static bool is_parameter(const json_t *parameter, const char *place)
{
    const char *in = json_string_value(member(parameter, "in"));
    return in && strcmp(in, place) == 0 && json_is_string(member(parameter, "name"));
}

static bool append_escaped(struct hl_buf *out, const char *text)
{
    char *escaped = curl_easy_escape(NULL, text, 0);
    bool is = escaped && hl_buf_append(out, escaped, strlen(escaped)) == HL_OK;
    curl_free(escaped);
    return is;
}

static bool append_example(struct hl_buf *out, struct source *from, const json_t *parameter)
{
    const json_t *given = member(parameter, "example");
    json_t *example =
        given ? json_deep_copy(given) : example_of(from, member(parameter, "schema"), 1);
    char *text = json_is_string(example) ? NULL : json_dumps(example, JSON_ENCODE_ANY);
    const char *shown = text ? text : json_string_value(example);
    bool is = shown && append_escaped(out, shown);
    free(text);
    json_decref(example);
    return is;
}

/* "/items/{id}" with a value in place of each name. False: a name that is not described. */
static bool fill_path(struct hl_buf *out, struct source *from, const json_t *item,
    const json_t *operation, const char *path)
{
    const char *open;
    for (; (open = strchr(path, '{')) != NULL; path = strchr(open, '}') + 1) {
        const json_t *parameter;
        bool is_filled = false;
        size_t n = strcspn(open + 1, "}");
        if (open[n + 1] != '}' || hl_buf_append(out, path, (size_t)(open - path)) != HL_OK)
            return false;
        for (size_t i = 0;
             !is_filled && (parameter = next_parameter(from->root, item, operation, &i)) != NULL;) {
            const char *name = json_string_value(member(parameter, "name"));
            is_filled = is_parameter(parameter, "path") && strlen(name) == n &&
                        memcmp(name, open + 1, n) == 0 && append_example(out, from, parameter);
        }
        if (!is_filled)
            return false;
    }
    return hl_buf_append(out, path, strlen(path)) == HL_OK;
}

static bool add_query(
    struct hl_buf *out, struct source *from, const json_t *item, const json_t *operation)
{
    const json_t *parameter;
    const char *mark = "?";
    for (size_t i = 0; (parameter = next_parameter(from->root, item, operation, &i)) != NULL;) {
        if (!is_parameter(parameter, "query") || !json_is_true(member(parameter, "required")))
            continue;
        if (hl_buf_append(out, mark, 1) != HL_OK ||
            !append_escaped(out, json_string_value(member(parameter, "name"))) ||
            hl_buf_append(out, "=", 1) != HL_OK || !append_example(out, from, parameter))
            return false;
        mark = "&";
    }
    return true;
}

/* One operation of a description as a call. */
static bool put_operation(struct hl_dev_offer *offer, struct source *from, const char *method,
    const char *path, const json_t *item, const json_t *operation)
{
    struct hl_buf target;
    hl_buf_init(&target, sizeof(offer->path));
    const json_t *schema = body_schema(from->root, operation);
    bool is = fill_path(&target, from, item, operation, path + 1) &&
              add_query(&target, from, item, operation) && hl_buf_append(&target, "", 1) == HL_OK &&
              (!schema || from->left > 0) &&
              put(offer, method, target.p, schema ? example_of(from, schema, 0) : NULL);
    hl_buf_fini(&target);
    return is;
}

/* In the order of the description: a POST with a JSON body, any POST, a GET. */
bool hl_dev_offer_of_openapi(const json_t *description, struct hl_dev_offer *offer)
{
    struct source from = {description, PARTS_MAX};
    for (unsigned pass = 0; pass < 3; pass++) {
        const char *path;
        json_t *item;
        json_object_foreach((json_t *)(uintptr_t)member(description, "paths"), path, item)
        {
            const json_t *operation = member(item, pass < 2 ? "post" : "get");
            if (!operation || path[0] != '/' || (pass == 0 && !body_schema(description, operation)))
                continue;
            if (put_operation(offer, &from, pass < 2 ? "POST" : "GET", path, item, operation))
                return true;
        }
    }
    return false;
}
