"""A browser for tests: chromedriver speaks HTTP and JSON, and drives one Chromium."""

import base64
import contextlib
import json
import os
import subprocess
import tempfile
import time
import urllib.error
import urllib.request


class Browser:
    def __init__(self, base):
        self.base = base
        arguments = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                     "--hide-scrollbars"]
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}}})
        self.base += "/session/" + answer["sessionId"]
        self.process = answer["capabilities"]["goog:processID"]
        self.scheme = None

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()[:400]) from None

    def open(self, path):
        self.call("POST", "/url", {"url": "file://" + str(path)})
        self.run("const done = arguments[0]; const wait = () => "
                 "document.documentElement.hasAttribute('data-ready') ? done() : "
                 "setTimeout(wait, 5); wait();", kind="async")

    def run(self, script, *arguments, kind="sync"):
        return self.call("POST", "/execute/" + kind, {"script": script, "args": arguments})

    def logs(self, kind):
        return self.call("POST", "/se/log", {"type": kind})

    def cdp(self, command, **parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def resize(self, width, height=900, scheme="light"):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=False)
        if scheme != self.scheme:
            self.cdp("Emulation.setEmulatedMedia",
                     features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.scheme = scheme

    def settle(self):
        """Waits until a page has drawn itself for another width or other colours."""
        # Sizes are observed after the callbacks of a frame.
        self.run("const done = arguments[0]; "
                 "requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)));",
                 kind="async")

    def press(self, *keys):
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "k",
                                                    "actions": actions}]})

    def picture(self, path, width, height=None):
        height = height or self.run("return document.documentElement.scrollHeight")
        picture = self.cdp("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                           clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1})
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))


def is_running(process):
    try:
        with open(f"/proc/{process}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def start():
    """A browser that ends with the block, and its temporary files with it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as files:
        driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True,
                                  env={**os.environ, "TMPDIR": files})
        browser = None
        try:
            for line in driver.stdout:
                if "started successfully on port" in line:
                    port = line.split("port")[1].strip(" .\n")
                    break
            browser = Browser(f"http://127.0.0.1:{port}")
            yield browser
        finally:
            if browser:
                browser.call("DELETE", "")
            driver.terminate()
            driver.wait()
            # A closed browser goes on writing its files for a while.
            while browser and is_running(browser.process):
                time.sleep(0.01)
