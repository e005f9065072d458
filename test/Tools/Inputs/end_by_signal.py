"""Ends a command by each of some signals once it has made a temporary file.

Usage: end_by_signal.py FOLDER COMMAND...

FOLDER is where temporary files are made. Prints for each signal how the command ended
and what it left.
"""

import os
import shutil
import signal
import subprocess
import sys
import time


def run(folder, command, number):
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    process = subprocess.Popen(command, env={**os.environ, "TMPDIR": folder}, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    while process.poll() is None and not os.listdir(folder):
        time.sleep(0.001)
    # It registers the file after it has made it.
    time.sleep(0.02)
    process.send_signal(number)
    status = process.wait()
    how = f"ended by {signal.Signals(-status).name}" if status < 0 else f"exit code {status}"
    return how, ", ".join(sorted(os.listdir(folder))) or "nothing"


def main():
    folder, command = sys.argv[1], sys.argv[2:]
    for number in (signal.SIGTERM, signal.SIGHUP):
        how, left = run(folder, command, number)
        print(f"{number.name}: {how}, left {left}")


if __name__ == "__main__":
    main()
