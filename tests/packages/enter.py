#!/usr/bin/env python3
"""enter.py ROOT USER PROGRAM [ARGUMENT...]: becomes that program in another root file system, as that user and group.

Variables whose names begin with INSIDE_ lose that: what they say to a loader is for the program, not for this one.
"""
import os
import sys

root, user, *command = sys.argv[1:]
environment = {name.removeprefix("INSIDE_"): value for name, value in os.environ.items() if name not in ("PATH", "LC_CTYPE")}
os.chroot(root)
os.chdir("/")
os.setgroups([])
os.setresgid(int(user), int(user), int(user))
os.setresuid(int(user), int(user), int(user))
os.execve(command[0], command, environment)
