"""Draws a page of each topic and checks it as pages of plans are checked; moves sliders by keys.
Argument: the source tree."""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(sys.argv[1], "test", "Report", "Inputs"))
import browser
import check_page

# One topic for each kind of figure is read by keys and looked at in all widths, others in two.
WHOLE = ("memory", "ring", "pipeline", "wall", "grid", "roofline", "batch")

RIGHT, LEFT = "\ue014", "\ue012"
# The cells of a figure and the value of its slider.
SHOW = """
const slider = arguments[0];
return [[...slider.closest('.explained').querySelectorAll('.chosen td')].map(
            cell => cell.textContent),
        slider.parentElement.querySelector('output').textContent];
"""
FOCUS = "arguments[0].focus();" + SHOW

# Topics that depend on no size.
FIXED = ("terms", "exercises")

# Topics of sizes without a model.
SIZES = {"grid-of-sizes": ["grid", "--parameters", "70e9", "--tp", "8"],
         "roofline-of-sizes": ["roofline", "--hidden", "8192", "--tp", "8"]}


def check_sliders(page, topic, section):
    """Moves the first slider of each figure by a key; the figure's table then has other rows."""
    faults = []
    tables = section["tables"]
    if "chosen" not in tables:
        return [] if topic in FIXED else ["has no slider"]
    figures = list(dict.fromkeys(check_page.column(tables["chosen"], "figure")["text"]))
    sliders = page.run("return [...document.querySelectorAll('.explained > .controls')].map("
                       "node => node.querySelector('input'))")
    if len(sliders) != len(figures):
        return [f"{len(sliders)} figures have sliders, not {len(figures)}"]
    for name, slider in zip(figures, sliders):
        before, value = page.run(FOCUS, slider)
        page.press(RIGHT)
        after, moved = page.run(SHOW, slider)
        if moved == value:
            page.press(LEFT)
            after, moved = page.run(SHOW, slider)
        columns = tables[name]["columns"]
        if moved == value or moved not in columns[0]["text"]:
            faults.append(f"{name}: the slider has {moved} after {value}")
        if "packed" not in columns[0] and after == before:
            faults.append(f"{name}: a moved slider shows the same rows")
    return faults


def main():
    topics = subprocess.run(["tessera", "explain"], check=True, text=True,
                            stdout=subprocess.PIPE).stdout.splitlines()[1:]
    faults = []
    with browser.start() as page:
        topics = {topic: [topic] for topic in (line.split()[0] for line in topics)}
        for topic, arguments in {**topics, **SIZES}.items():
            subprocess.run(["tessera", "explain", *arguments, "--html", topic + ".html", "--json",
                            "-o", topic + ".json"], check=True)
            document = json.load(open(topic + ".json"))
            is_glance = topic not in WHOLE
            found = check_page.check_page(page, os.path.abspath(topic + ".html"), document,
                                          is_glance)
            found += check_sliders(page, topic, document["sections"][0])
            found += [entry["message"] for entry in page.logs("browser")]
            faults += [f"{topic}: {fault}" for fault in found]
    print("\n".join(faults[:20]) or f"{len(topics) + len(SIZES)} pages")


if __name__ == "__main__":
    main()
