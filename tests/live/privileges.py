"""Gives up root: the redirect distinguishes the application from the proxy by user id.

As a program it runs another one:  privileges.py UID PROGRAM ARGUMENT...
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def drop_to(uid: int) -> None:
    """Changes to this user. The process then ends with its parent process, even if that is killed."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    # After the change of user, which clears the setting.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def main() -> None:
    uid, program, *arguments = sys.argv[1:]
    # By descriptor, because the user may not have access to the folder of the program.
    descriptor = os.open(program, os.O_RDONLY)
    drop_to(int(uid))
    os.execve(descriptor, [program, *arguments], os.environ)


if __name__ == "__main__":
    main()
