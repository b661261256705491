/* module.c - the extension module hookline_runtime._server: the server core for Python.
 * Owns: nothing. Thread: whichever holds the interpreter's lock.
 * Promise: one server core, no policy: what a function is and what its values mean is decided in
 * Python (hookline_runtime/).
 * Not here: the types (server.c, call.c). */
#include "object.h"

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

static PyMethodDef functions[] = {
    {"is_forked", is_forked, METH_NOARGS, NULL},
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
        PyModule_AddStringConstant(module, "version", HL_VERSION) < 0) {
        Py_DecRef(module);
        return NULL;
    }
    return module;
}
