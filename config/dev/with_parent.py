"""Runs a Python program that ends with the parent process.

python -m config.dev.with_parent PID PROGRAM [WORD …]
"""

import os
import runpy
import signal
import sys

from config.management.shutdown import when_parent_dies

if __name__ == "__main__":
    parent, *sys.argv = sys.argv[1:]
    when_parent_dies(int(parent), lambda: os.kill(os.getpid(), signal.SIGTERM))
    runpy.run_path(sys.argv[0], run_name="__main__")
