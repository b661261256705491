/* server.c - the Python type Server: the settings, and the server core that they start.
 * Owns: the server and the names of its callees. Thread: start and close the main thread's, take
 * any worker thread's, take_async and hear the event loop's.
 * Promise: whatever waits, waits without the interpreter's lock.
 * Not here: calls (call.c), threads (hookline_runtime/host.py). */
#include "base/err.h"
#include "base/log.h"
#include "core/call.h"
#include "core/fork.h"
#include "core/server.h"
#include "object.h"

#include <stdlib.h>

#include "base/file.h"

struct py_server {
    PyObject ob_base; /* PyObject_HEAD */
    struct hl_settings settings;
    struct hl_server *server; /* NULL before start and after close */
    struct hl_callee *callees;
    size_t callee_count;
};

static struct py_server *self_of(PyObject *object)
{
    return (struct py_server *)(void *)object;
}

/* Server(host, port, socket): each a str, or None to leave it to the environment. ValueError says
 * which setting is wrong. */
static PyObject *server_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)kwargs;
    char why[HL_SETTINGS_WHY];
    struct hl_settings_options options;
    if (!PyArg_ParseTuple(args, "zzz:Server", &options.host, &options.port, &options.socket))
        return NULL;
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    PyObject *object = alloc(type, 0);
    if (!object)
        return NULL;
    struct py_server *self = self_of(object);
    if (!hl_standard_fds_fill()) {
        Py_DecRef(object);
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    if (hl_fork_watch() != HL_OK) {
        Py_DecRef(object);
        return PyErr_NoMemory();
    }
    if (hl_settings_read(&self->settings, &options, why) != HL_OK) {
        PyErr_SetString(PyExc_ValueError, why);
        Py_DecRef(object);
        return NULL;
    }
    hl_log_setup(self->settings.log_level, self->settings.log_format);
    return object;
}

static void free_callee(struct hl_callee *callee)
{
    free((char *)(uintptr_t)callee->name);
    free((char *)(uintptr_t)callee->input);
}

static void free_callees(struct py_server *self)
{
    for (size_t i = 0; i < self->callee_count; i++)
        free_callee(&self->callees[i]);
    free(self->callees);
    self->callees = NULL;
    self->callee_count = 0;
}

static void server_dealloc(PyObject *object)
{
    struct py_server *self = self_of(object);
    PyTypeObject *type = Py_TYPE(object);
    hl_server_free(self->server);
    free_callees(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DecRef((PyObject *)type);
}

/* One (name, is_raw, is_async, input) of the list. */
static int read_callee(PyObject *item, struct hl_callee *callee)
{
    const char *name, *input;
    int is_raw, is_async;
    if (!PyArg_ParseTuple(item, "sppz", &name, &is_raw, &is_async, &input))
        return -1;
    callee->name = strdup(name);
    callee->input = input ? strdup(input) : NULL;
    callee->is_raw = is_raw;
    callee->is_async = is_async;
    callee->takes_forms = !is_raw;
    if (callee->name && (callee->input || !input))
        return 0;
    free_callee(callee);
    PyErr_NoMemory();
    return -1;
}

static int read_callees(struct py_server *self, PyObject *list)
{
    Py_ssize_t count = PyList_Size(list);
    if (count < 0)
        return -1;
    self->callees = calloc((size_t)count + 1, sizeof(*self->callees));
    if (!self->callees) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (read_callee(PyList_GetItem(list, i), &self->callees[i]) < 0)
            return -1;
        self->callee_count++;
    }
    return 0;
}

/* start(callees): listens; from here on calls can be taken. OSError says why not. */
static PyObject *server_start(PyObject *object, PyObject *list)
{
    struct py_server *self = self_of(object);
    char why[HL_SETTINGS_WHY];
    enum hl_err err;
    if (self->server || self->callees) {
        PyErr_SetString(PyExc_RuntimeError, "the server was started already");
        return NULL;
    }
    if (read_callees(self, list) < 0) {
        free_callees(self);
        return NULL;
    }
    err = hl_server_start(
        &self->server, &self->settings, self->callees, self->callee_count, true, why);
    if (err != HL_OK) {
        free_callees(self);
        PyErr_SetString(PyExc_OSError, why);
        return NULL;
    }
    return hl_py_none();
}

/* take(): the next Call; None when the server has stopped. */
static PyObject *server_take(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct py_server *self = self_of(object);
    struct hl_call *call;
    Py_BEGIN_ALLOW_THREADS call = hl_call_take(self->server);
    Py_END_ALLOW_THREADS return call ? hl_py_call_new(call) : hl_py_none();
}

/* take_async(): the next Call of an async callee, None when there is none now. */
static PyObject *server_take_async(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct hl_call *call = hl_call_take_async(self_of(object)->server);
    return call ? hl_py_call_new(call) : hl_py_none();
}

/* hear(): silences the bell; True when the calls that were taken should be looked at. */
static PyObject *server_hear(PyObject *object, PyObject *unused)
{
    (void)unused;
    return hl_py_bool(hl_server_hear(self_of(object)->server));
}

/* close(): waits until every caller has its answer. */
static PyObject *server_close(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct py_server *self = self_of(object);
    struct hl_server *server = self->server;
    self->server = NULL;
    Py_BEGIN_ALLOW_THREADS hl_server_free(server);
    Py_END_ALLOW_THREADS return hl_py_none();
}

/* The descriptor that can be read when there is an async call to take, or news of one. */
static PyObject *get_bell(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromLong(hl_server_bell(self_of(object)->server));
}

/* Where it listens: "127.0.0.1:8000" or "unix:/run/app.sock". */
static PyObject *get_address(PyObject *object, void *closure)
{
    (void)closure;
    const struct py_server *self = self_of(object);
    const struct hl_settings *s = &self->settings;
    if (s->socket[0])
        return PyUnicode_FromFormat("unix:%s", s->socket);
    bool is_v6 = strchr(s->host, ':') != NULL;
    unsigned port = self->server ? hl_server_port(self->server) : s->port;
    return PyUnicode_FromFormat(is_v6 ? "[%s]:%u" : "%s:%u", s->host, port);
}

static PyObject *get_concurrency(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLong(self_of(object)->settings.concurrency);
}

/* Milliseconds that setup() may take; 0: any. */
static PyObject *get_setup_timeout_ms(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong(self_of(object)->settings.setup_timeout_ms);
}

static PyObject *get_log_level(PyObject *object, void *closure)
{
    static const char *const names[] = {[HL_LOG_DEBUG] = "debug",
        [HL_LOG_INFO] = "info",
        [HL_LOG_WARN] = "warn",
        [HL_LOG_ERROR] = "error"};
    (void)closure;
    return PyUnicode_FromString(names[self_of(object)->settings.log_level]);
}

static PyObject *get_log_format(PyObject *object, void *closure)
{
    (void)closure;
    bool is_json = self_of(object)->settings.log_format == HL_LOG_JSON;
    return PyUnicode_FromString(is_json ? "json" : "text");
}

static PyMethodDef methods[] = {
    {"start", server_start, METH_O, NULL},
    {"take", server_take, METH_NOARGS, NULL},
    {"take_async", server_take_async, METH_NOARGS, NULL},
    {"hear", server_hear, METH_NOARGS, NULL},
    {"close", server_close, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef members[] = {
    {"bell", get_bell, NULL, NULL, NULL},
    {"address", get_address, NULL, NULL, NULL},
    {"concurrency", get_concurrency, NULL, NULL, NULL},
    {"setup_timeout_ms", get_setup_timeout_ms, NULL, NULL, NULL},
    {"log_level", get_log_level, NULL, NULL, NULL},
    {"log_format", get_log_format, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, server_new},
    {Py_tp_dealloc, server_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "hookline_runtime._server.Server",
    .basicsize = sizeof(struct py_server),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

int hl_py_server_register(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&spec);
    if (!type)
        return -1;
    if (PyModule_AddObject(module, "Server", type) < 0) { /* takes the reference when it succeeds */
        Py_DecRef(type);
        return -1;
    }
    return 0;
}
