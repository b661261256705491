/* module.c - the extension module hookline_runtime._server: the server core for Python.
 * Owns: nothing. Thread: whichever holds the interpreter's lock.
 * Promise: one server core, no policy: what a function is and what its values mean is decided in
 * Python (hookline_runtime/).
 * Not here: the types (server.c, call.c). */
#include "base/compiler.h"
#include "core/call.h"
#include "core/fork.h"
#include "core/host_log.h"
#include "object.h"

#include <signal.h>

#include "base/log_sink.h"

PyObject *hl_py_none(void)
{
    Py_IncRef(Py_None);
    return Py_None;
}

PyObject *hl_py_bool(bool value)
{
    return PyBool_FromLong(value);
}

/* is_forked(): this process was forked by one that has a Server, and is not to serve. */
static PyObject *is_forked(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return hl_py_bool(hl_fork_is_child());
}

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
static struct sigaction handlers[HL_ARRAY_LEN(crashes)]; /* of faulthandler, say */

static void on_crash(int number)
{
    hl_log_sink_put_last("", 0);
    for (size_t i = 0; i < HL_ARRAY_LEN(crashes); i++)
        if (crashes[i] == number)
            sigaction(number, &handlers[i], NULL);
    raise(number);
}

/* Whoever looks for the cause of a crash needs the lines before it. */
static void flush_at_crash(void)
{
    struct sigaction ours;
    memset(&ours, 0, sizeof(ours));
    ours.sa_handler = on_crash;
    ours.sa_flags = SA_ONSTACK;
    for (size_t i = 0; i < HL_ARRAY_LEN(crashes); i++)
        sigaction(crashes[i], &ours, &handlers[i]);
}

/* start_log(): what is logged from here on makes nobody wait. Once, after a Server was made. */
static PyObject *start_log(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    hl_host_log_start();
    flush_at_crash();
    return hl_py_none();
}

/* flush_log(): what waits in the log is written, for a process that is about to end by _exit. */
static PyObject *flush_log(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    hl_log_sink_put_last("", 0);
    return hl_py_none();
}

/* log(lines: bytes): lines of the log, each with its newline. */
static PyObject *log_lines(PyObject *module, PyObject *bytes)
{
    char *p;
    Py_ssize_t n;
    (void)module;
    if (PyBytes_AsStringAndSize(bytes, &p, &n) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS hl_log_sink_put(p, (size_t)n);
    Py_END_ALLOW_THREADS return hl_py_none();
}

static PyMethodDef functions[] = {
    {"is_forked", is_forked, METH_NOARGS, NULL},
    {"start_log", start_log, METH_NOARGS, NULL},
    {"flush_log", flush_log, METH_NOARGS, NULL},
    {"log", log_lines, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_server",
    .m_doc = "The HTTP server that hookline_runtime runs functions behind.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__server(void);

PyMODINIT_FUNC PyInit__server(void)
{
    PyObject *module = PyModule_Create(&module_def);
    if (!module)
        return NULL;
    if (hl_py_server_register(module) < 0 || hl_py_call_register(module) < 0 ||
        PyModule_AddStringConstant(module, "version", HL_VERSION) < 0 ||
        PyModule_AddIntConstant(module, "progress_max", HL_CALL_PROGRESS_MAX) < 0) {
        Py_DecRef(module);
        return NULL;
    }
    return module;
}
