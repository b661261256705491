/* method.c - the names of request methods. Any thread. */
#include "api/method.h"

static const char *const method_texts[] = {
    [HL_METHOD_OTHER] = "other",
    [HL_METHOD_GET] = "GET",
    [HL_METHOD_HEAD] = "HEAD",
    [HL_METHOD_POST] = "POST",
    [HL_METHOD_PUT] = "PUT",
    [HL_METHOD_DELETE] = "DELETE",
    [HL_METHOD_OPTIONS] = "OPTIONS",
    [HL_METHOD_PATCH] = "PATCH",
    [HL_METHOD_CONNECT] = "CONNECT",
    [HL_METHOD_TRACE] = "TRACE",
};

const char *hl_api_method_text(enum hl_method method)
{
    return method_texts[method];
}
