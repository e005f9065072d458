"""Ends a command by each of some signals at several times after its first temporary file.

Usage: end_by_signal.py FOLDER COMMAND...

Temporary files are created in FOLDER. Prints for each signal how the command ended and which files
it left."""

import os
import shutil
import signal
import subprocess
import sys
import time


def run(folder, command, number, delay):
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    # nohup would make the command ignore the signal.
    process = subprocess.Popen(command, env={**os.environ, "TMPDIR": folder}, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL,
                               preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
    while process.poll() is None and not os.listdir(folder):
        time.sleep(0.001)
    time.sleep(delay)
    process.send_signal(number)
    status = process.wait()
    how = f"ended by {signal.Signals(-status).name}" if status < 0 else f"exit code {status}"
    return how, ", ".join(sorted(os.listdir(folder))) or "nothing"


def main():
    folder, command = sys.argv[1], sys.argv[2:]
    for number in (signal.SIGTERM, signal.SIGHUP):
        # At once, and while its child processes write.
        for delay in (0, 0.03, 0.1):
            how, left = run(folder, command, number, delay)
            print(f"{number.name} after {delay} s: {how}, left {left}")


if __name__ == "__main__":
    main()
