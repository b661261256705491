/* offer.c - see offer.h. Thread: main.
 * Not here: what a Python file says without being asked (sketch.c). */
#include "dev/offer.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "dev/sketch.h"

#define PATIENCE_MS 2000L
#define ANSWER_MAX  (4 * 1024 * 1024)
#define DEPTH_MAX   6 /* of an example; what is deeper is {} */

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

static json_t *example_of(const json_t *root, const json_t *schema, unsigned depth);

static json_t *example_of_object(const json_t *root, const json_t *schema, unsigned depth)
{
    json_t *example = json_object();
    const json_t *required = member(schema, "required");
    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *name = json_string_value(json_array_get(required, i));
        if (name)
            json_object_set_new(example, name,
                example_of(root, member(member(schema, "properties"), name), depth + 1));
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

static json_t *example_of_number(const json_t *schema)
{
    const json_t *least = member(schema, "minimum"), *most = member(schema, "maximum");
    if (json_is_number(least) && json_number_value(least) > 1)
        return json_deep_copy(least);
    if (json_is_number(most) && json_number_value(most) < 1)
        return json_deep_copy(most);
    return json_integer(1);
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
    return json_string(member(schema, "contentEncoding") ? "aGVsbG8=" : "hello");
}

static json_t *example_of(const json_t *root, const json_t *schema, unsigned depth)
{
    static const char *const given[] = {"default", "example", "const"};
    static const char *const lists[] = {"examples", "enum"}, *const choices[] = {
                                                                 "anyOf", "oneOf", "allOf"};
    schema = depth < DEPTH_MAX ? follow(root, schema) : NULL;
    for (size_t i = 0; i < HL_ARRAY_LEN(given); i++)
        if (member(schema, given[i]))
            return json_deep_copy(member(schema, given[i]));
    for (size_t i = 0; i < HL_ARRAY_LEN(lists); i++)
        if (json_array_size(member(schema, lists[i])) > 0)
            return json_deep_copy(json_array_get(member(schema, lists[i]), 0));
    for (size_t i = 0; i < HL_ARRAY_LEN(choices); i++)
        if (json_array_size(member(schema, choices[i])) > 0)
            return example_of(root, json_array_get(member(schema, choices[i]), 0), depth + 1);
    const char *type = type_of(schema);
    if (strcmp(type, "string") == 0)
        return example_of_text(schema);
    if (strcmp(type, "integer") == 0 || strcmp(type, "number") == 0)
        return example_of_number(schema);
    if (strcmp(type, "boolean") == 0)
        return json_true();
    if (strcmp(type, "array") == 0)
        return json_array();
    if (strcmp(type, "null") == 0)
        return json_null();
    return *type || depth >= DEPTH_MAX || depth == 0 ? example_of_object(root, schema, depth)
                                                     : json_string("hello");
}

static bool put(struct hl_dev_offer *offer, const char *method, const char *path, json_t *body)
{
    char *text = body ? json_dumps(body, 0) : NULL;
    bool fits =
        strlen(path) < sizeof(offer->path) && (!text || strlen(text) < sizeof(offer->body)) &&
        path[strspn(path, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/_.-")] ==
            '\0';
    if (fits) {
        offer->method = method;
        snprintf(offer->path, sizeof(offer->path), "%s", path);
        snprintf(offer->body, sizeof(offer->body), "%s", text ? text : "");
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
    snprintf(offer->body, sizeof(offer->body), "%s", function->json);
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
    json_t *body = json_is_object(input) ? example_of(input, input, 0) : json_object();
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

/* In the order of the description: a POST with a JSON body, any POST, a GET. */
bool hl_dev_offer_of_openapi(const json_t *description, struct hl_dev_offer *offer)
{
    for (unsigned pass = 0; pass < 3; pass++) {
        const char *path;
        json_t *item;
        json_object_foreach((json_t *)(uintptr_t)member(description, "paths"), path, item)
        {
            const json_t *operation = member(item, pass < 2 ? "post" : "get");
            const json_t *schema = body_schema(description, operation);
            if (!operation || path[0] != '/' || (pass == 0 && !schema))
                continue;
            json_t *body = schema ? example_of(description, schema, 0) : NULL;
            if (put(offer, pass < 2 ? "POST" : "GET", path + 1, body))
                return true;
        }
    }
    return false;
}
