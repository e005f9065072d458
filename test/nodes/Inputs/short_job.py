"""Ends as a program of several attempts does. Usage: short_job.py FOLDER

The first attempt of a host ends with 75, the second waits for SIGTERM, takes half a second for a
checkpoint and ends with 143, the third ends with 0.
"""

import os
import signal
import socket
import sys
import time

folder, host = sys.argv[1], socket.gethostname()


def say(text):
    sys.stdout.write(f"{host} {text}\n")
    sys.stdout.flush()


def end(*_):
    time.sleep(0.5)
    say("has a checkpoint")
    sys.exit(143)


def find_attempt():
    for attempt in range(3):
        try:
            os.mkdir(f"{folder}/{host}.{attempt}")
            return attempt
        except FileExistsError:
            pass


attempt = find_attempt()
if attempt == 1:
    signal.signal(signal.SIGUSR1, lambda *_: say("is asked for a checkpoint"))
    signal.signal(signal.SIGTERM, end)
say(f"begins attempt {attempt}")
if attempt == 1:
    open(f"{folder}/{host}.ready", "w").close()
    time.sleep(1000)
sys.exit(75 if attempt == 0 else 0)
