/* call.c - the Python type Call: a call of a function, and the answer to it.
 * Owns: the core's call until release(). Thread: the one that took it; is_gone any.
 * Promise: after release() nothing of the core's is touched; what was cheap to keep (the run's id,
 * attempt, deadline) still can be read. What waits does so without the interpreter's lock.
 * Not here: which values may be sent and as what (hookline_runtime/host.py, answer.py). */
#include "base/err.h"
#include "base/id.h"
#include "base/str.h"
#include "core/call.h"
#include "object.h"

struct py_call {
    PyObject ob_base;
    struct hl_call *call; /* NULL once released */
    struct hl_id run_id;
    int64_t deadline_ms;
    uint32_t attempt;
};

static PyTypeObject *call_type;

static struct py_call *self_of(PyObject *object)
{
    return (struct py_call *)(void *)object;
}

PyObject *hl_py_call_new(struct hl_call *call)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(call_type, Py_tp_alloc);
    PyObject *object = alloc(call_type, 0);
    if (!object) {
        hl_call_release(call);
        return NULL;
    }
    struct py_call *self = self_of(object);
    self->call = call;
    self->run_id = *hl_call_run_id(call);
    self->deadline_ms = hl_call_deadline_ms(call);
    self->attempt = hl_call_attempt(call);
    return object;
}

static void release(struct py_call *self)
{
    struct hl_call *call = self->call;
    self->call = NULL;
    if (call)
        hl_call_release(call);
}

static void call_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    release(self_of(object));
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);
    free_object(object);
    Py_DecRef((PyObject *)type);
}

static PyObject *call_release(PyObject *object, PyObject *unused)
{
    (void)unused;
    release(self_of(object));
    return hl_py_none();
}

/* The core's call, or NULL with an exception set. */
static struct hl_call *live_call(PyObject *object)
{
    struct hl_call *call = self_of(object)->call;
    if (!call)
        PyErr_SetString(PyExc_RuntimeError, "the call is over");
    return call;
}

/* ---- what was asked ---- */

static PyObject *get_callee(PyObject *object, void *closure)
{
    (void)closure;
    struct hl_call *call = live_call(object);
    return call ? PyLong_FromSize_t(hl_call_callee(call)) : NULL;
}

/* A part of the request as text; bytes that are not UTF-8 become lone surrogates, as in file names. */
static PyObject *text_of(struct hl_str s)
{
    return PyUnicode_DecodeUTF8(s.p ? s.p : "", (Py_ssize_t)s.n, "surrogateescape");
}

static PyObject *get_method(PyObject *object, void *closure)
{
    (void)closure;
    struct hl_call *call = live_call(object);
    return call ? text_of(hl_call_method(call)) : NULL;
}

static PyObject *get_path(PyObject *object, void *closure)
{
    (void)closure;
    struct hl_call *call = live_call(object);
    return call ? text_of(hl_call_path(call)) : NULL;
}

static PyObject *get_query(PyObject *object, void *closure)
{
    (void)closure;
    struct hl_call *call = live_call(object);
    return call ? text_of(hl_call_query(call)) : NULL;
}

static PyObject *get_text(PyObject *object, void *closure)
{
    (void)closure;
    struct hl_call *call = live_call(object);
    return call ? text_of(hl_call_body(call)) : NULL;
}

static PyObject *get_body(PyObject *object, void *closure)
{
    (void)closure;
    struct hl_call *call = live_call(object);
    if (!call)
        return NULL;
    struct hl_str body = hl_call_body(call);
    return PyBytes_FromStringAndSize(body.p, (Py_ssize_t)body.n);
}

/* The descriptor of a form's body, which is the call's; -1: it is none. */
static PyObject *get_upload(PyObject *object, void *closure)
{
    (void)closure;
    struct hl_call *call = live_call(object);
    return call ? PyLong_FromLong(hl_call_upload(call)) : NULL;
}

static PyObject *field_at(const struct hl_call *call, size_t i)
{
    struct hl_str name, value;
    hl_call_field_at(call, i, &name, &value);
    PyObject *name_text = text_of(name), *value_text = text_of(value), *pair = NULL;
    if (name_text && value_text)
        pair = PyTuple_Pack(2, name_text, value_text);
    Py_DecRef(name_text);
    Py_DecRef(value_text);
    return pair;
}

/* fields(): a list of (name, value), in order. */
static PyObject *call_fields(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct hl_call *call = live_call(object);
    if (!call)
        return NULL;
    size_t count = hl_call_field_count(call);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *pair = field_at(call, i);
        if (!pair || PyList_Append(list, pair) < 0) {
            Py_DecRef(list);
            list = NULL;
        }
        Py_DecRef(pair);
    }
    return list;
}

static PyObject *get_run_id(PyObject *object, void *closure)
{
    char text[HL_ID_TEXT];
    (void)closure;
    hl_id_format(&self_of(object)->run_id, text);
    return PyUnicode_FromStringAndSize(text, sizeof(text));
}

static PyObject *get_attempt(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLong(self_of(object)->attempt);
}

static PyObject *get_wants_events(PyObject *object, void *closure)
{
    (void)closure;
    struct hl_call *call = live_call(object);
    return call ? hl_py_bool(hl_call_wants_events(call)) : NULL;
}

static PyObject *get_deadline_ms(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromLongLong(self_of(object)->deadline_ms);
}

/* ---- whether anybody still waits ---- */

/* Also true of a call that is over. */
static PyObject *get_is_gone(PyObject *object, void *closure)
{
    (void)closure;
    struct hl_call *call = self_of(object)->call;
    return hl_py_bool(!call || hl_call_is_gone(call));
}

/* What is emitted next will not wait. Also true of a call that is over. */
static PyObject *get_has_room(PyObject *object, void *closure)
{
    (void)closure;
    struct hl_call *call = self_of(object)->call;
    return hl_py_bool(!call || hl_call_has_room(call));
}

/* ---- how far it is ---- */

/* progress(json: bytes), of at most progress_max bytes: one that nobody will see is dropped, that of a
 * call that is over too. Any thread: the interpreter's lock keeps it apart from release(). */
static PyObject *call_progress(PyObject *object, PyObject *json)
{
    struct hl_call *call = self_of(object)->call;
    char *p;
    Py_ssize_t n;
    if (PyBytes_AsStringAndSize(json, &p, &n) < 0)
        return NULL;
    if (call && hl_call_progress(call, (struct hl_str){p, (size_t)n}) == HL_ERR_NOMEM)
        return PyErr_NoMemory();
    return hl_py_none();
}

/* ---- answers: True, or False when the caller has gone ---- */

static PyObject *outcome(enum hl_err err)
{
    switch (err) {
    case HL_OK:
        return hl_py_bool(true);
    case HL_ERR_CANCELLED:
        return hl_py_bool(false);
    case HL_ERR_NOMEM:
        return PyErr_NoMemory();
    case HL_ERR_TOO_LARGE:
        PyErr_SetString(PyExc_ValueError,
            "the function's values are together longer than HOOKLINE_FUNCTION_MAX_BODY allows");
        return NULL;
    case HL_ERR_INVALID:
        PyErr_SetString(
            PyExc_ValueError, "this cannot be sent as an answer, or the call has been answered");
        return NULL;
    default:
        PyErr_SetString(PyExc_RuntimeError, hl_err_text(err));
        return NULL;
    }
}

static struct hl_str str_of(const char *p, Py_ssize_t n)
{
    return (struct hl_str){p, (size_t)n};
}

/* answer_json(status, json: bytes) */
static PyObject *call_answer_json(PyObject *object, PyObject *args)
{
    struct hl_call *call = live_call(object);
    unsigned short status;
    const char *json;
    Py_ssize_t n;
    if (!call || !PyArg_ParseTuple(args, "Hy#", &status, &json, &n))
        return NULL;
    return outcome(hl_call_answer_json(call, status, str_of(json, n)));
}

/* answer_bytes(status, type: str, body: bytes) */
static PyObject *call_answer_bytes(PyObject *object, PyObject *args)
{
    struct hl_call *call = live_call(object);
    unsigned short status;
    const char *type, *body;
    Py_ssize_t type_n, body_n;
    if (!call || !PyArg_ParseTuple(args, "Hs#y#", &status, &type, &type_n, &body, &body_n))
        return NULL;
    return outcome(hl_call_answer_bytes(call, status, str_of(type, type_n), str_of(body, body_n)));
}

/* fail(status, detail: bytes) */
static PyObject *call_fail(PyObject *object, PyObject *args)
{
    struct hl_call *call = live_call(object);
    unsigned short status;
    const char *detail;
    Py_ssize_t n;
    if (!call || !PyArg_ParseTuple(args, "Hy#", &status, &detail, &n))
        return NULL;
    return outcome(hl_call_fail(call, status, str_of(detail, n)));
}

static PyObject *emit(PyObject *object, PyObject *bytes,
    enum hl_err (*function)(struct hl_call *call, struct hl_str value))
{
    struct hl_call *call = live_call(object);
    char *p;
    Py_ssize_t n;
    enum hl_err err;
    if (!call || PyBytes_AsStringAndSize(bytes, &p, &n) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS err = function(call, str_of(p, n));
    Py_END_ALLOW_THREADS return outcome(err);
}

/* emit_json(json: bytes), emit_text(text: bytes) */
static PyObject *call_emit_json(PyObject *object, PyObject *json)
{
    return emit(object, json, hl_call_emit_json);
}

static PyObject *call_emit_text(PyObject *object, PyObject *text)
{
    return emit(object, text, hl_call_emit_text);
}

/* end() */
static PyObject *call_end(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct hl_call *call = live_call(object);
    return call ? outcome(hl_call_end(call)) : NULL;
}

static PyMethodDef methods[] = {
    {"release", call_release, METH_NOARGS, NULL},
    {"fields", call_fields, METH_NOARGS, NULL},
    {"progress", call_progress, METH_O, NULL},
    {"answer_json", call_answer_json, METH_VARARGS, NULL},
    {"answer_bytes", call_answer_bytes, METH_VARARGS, NULL},
    {"fail", call_fail, METH_VARARGS, NULL},
    {"emit_json", call_emit_json, METH_O, NULL},
    {"emit_text", call_emit_text, METH_O, NULL},
    {"end", call_end, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef members[] = {
    {"callee", get_callee, NULL, NULL, NULL},
    {"method", get_method, NULL, NULL, NULL},
    {"path", get_path, NULL, NULL, NULL},
    {"query", get_query, NULL, NULL, NULL},
    {"text", get_text, NULL, NULL, NULL},
    {"body", get_body, NULL, NULL, NULL},
    {"upload", get_upload, NULL, NULL, NULL},
    {"run_id", get_run_id, NULL, NULL, NULL},
    {"attempt", get_attempt, NULL, NULL, NULL},
    {"wants_events", get_wants_events, NULL, NULL, NULL},
    {"deadline_ms", get_deadline_ms, NULL, NULL, NULL},
    {"is_gone", get_is_gone, NULL, NULL, NULL},
    {"has_room", get_has_room, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, call_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "hookline_runtime._server.Call",
    .basicsize = sizeof(struct py_call),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

int hl_py_call_register(PyObject *module)
{
    (void)module; /* made by Server.take alone */
    call_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return call_type ? 0 : -1;
}
