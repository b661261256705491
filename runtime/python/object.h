/* object.h - the Python types of the extension module hookline_runtime._server.
 *
 * The limited API is that of Python 3.9, so one file serves every later interpreter, debug builds
 * too. References are counted by Py_IncRef and Py_DecRef, the functions: the macros of that API
 * change the count in place, unseen by a debug build's total (sys.gettotalrefcount). */
#ifndef HL_RUNTIME_PYTHON_OBJECT_H
#define HL_RUNTIME_PYTHON_OBJECT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

struct hl_call;

/* Make the types and put them into the module: Server under its name, Call unseen. -1 with an
 * exception set. Once, when the module is imported. */
int hl_py_server_register(PyObject *module);
int hl_py_call_register(PyObject *module);

/* A new Call for `call`, which it releases when it goes, or before that by release(). Takes `call`,
 * also when it fails: NULL with an exception set. */
PyObject *hl_py_call_new(struct hl_call *call);

/* A new reference to None, True or False. */
PyObject *hl_py_none(void);
PyObject *hl_py_bool(bool value);

#endif
