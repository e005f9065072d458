"""Opens pages in a browser and checks what each must have. Arguments: pairs of a page and the
document that it shows; those after --glance are seen at two widths alone, without keys."""

import itertools
import json
import os
import re
import sys

import browser

WIDTHS = (360, 768, 1280, 1920)

# Texts of the page by its tables, and the boxes of texts in figures.
TEXTS = """
for (const details of document.querySelectorAll('details')) details.open = true;
const texts = new Set();
for (const cell of document.querySelectorAll('td, th, dd, dt, li, h1, h2, h3, p'))
  texts.add(cell.textContent);
for (const details of document.querySelectorAll('details')) details.open = false;
return [...texts];
"""
FAULTS = """
const faults = [];
const wide = document.documentElement.scrollWidth;
if (wide > innerWidth) faults.push(`the page is ${wide} pixels wide`);
for (const svg of document.querySelectorAll('.drawing svg')) {
  const id = svg.closest('.figure').id, room = Math.floor(svg.parentElement.clientWidth);
  if (Number(svg.getAttribute('width')) !== room)
    faults.push(`${id}: drawn for ${svg.getAttribute('width')} pixels of ${room}`);
  const frame = svg.getBoundingClientRect();
  const boxes = [];
  for (const text of svg.querySelectorAll('text')) {
    if (!text.textContent) continue;
    const size = parseFloat(getComputedStyle(text).fontSize);
    if (size < 11) faults.push(`${id}: a text of ${size} pixels: ${text.textContent}`);
    const box = text.getBoundingClientRect();
    if (box.left < frame.left - 1 || box.right > frame.right + 1 ||
        box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
      faults.push(`${id}: cut: ${text.textContent}`);
    if (!text.hasAttribute('transform')) boxes.push([text.textContent, box]);
  }
  for (let i = 0; i < boxes.length; ++i)
    for (let k = i + 1; k < boxes.length; ++k) {
      const [a, b] = [boxes[i][1], boxes[k][1]];
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 1 && down > 4) faults.push(`${id}: ${boxes[i][0]} over ${boxes[k][0]}`);
    }
}
for (const node of document.querySelectorAll('p, li, dd, dt, h1, h2, h3, td, th, code, button')) {
  if (!node.textContent || !node.checkVisibility()) continue;
  const size = parseFloat(getComputedStyle(node).fontSize);
  if (size < 11) faults.push(`a text of ${size} pixels: ${node.textContent}`);
  if (!node.closest('.frame') && node.scrollWidth > node.clientWidth + 1 && node.clientWidth)
    faults.push(`cut: ${node.textContent.slice(0, 80)}`);
}
return faults;
"""
# Contrasts of texts on marks, of the page's texts, and of marks without an edge.
CONTRASTS = """
const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
const channels = colour => {
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
};
const luminance = colour => {
  const [r, g, b] = channels(colour).map(value => value / 255)
      .map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (a, b) => {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
};
const probe = document.createElement('span');
document.body.append(probe);
const resolve = name => {
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
};
const names = [...new Set([...document.querySelector('style').textContent
    .matchAll(/^ *--([\\w-]+):/gm)].map(match => match[1]))];
const faults = [];
const expect = (a, b, least) => {
  const found = contrast(resolve(a), resolve(b));
  if (found < least) faults.push(`${a} on ${b}: ${found.toFixed(2)}`);
};
for (const name of names)
  if (name.startsWith('on-')) expect(name, name.slice(3), 4.5);
for (const name of ['text', 'muted'])
  for (const ground of ['page', 'panel', 'track']) expect(name, ground, 4.5);
for (const name of ['edge', 'accent', 'excess', 'zero0', 'zero1', 'zero2', 'zero3', 'ideal',
                    'traffic', 'level0', 'level1', 'level2', 'forward', 'backward'])
  expect(name, 'page', 3);
probe.remove();
return names.length > 40 ? faults : ['no colours'];
"""
BARS = """
return [...document.querySelectorAll('svg[data-most]')].map(svg => ({
  figure: svg.closest('.figure').id, from: Number(svg.dataset.from), to: Number(svg.dataset.to),
  most: Number(svg.dataset.most),
  widths: [...svg.querySelectorAll('rect.mark:not(.fill-excess)')].map(
      rect => Number(rect.getAttribute('width')))}));
"""


def column(table, name):
    return next(each for each in table["columns"] if each["name"] == name)


def texts_of(document):
    """The texts of all tables that are in the page as it opens, and the findings."""
    for section in document["sections"]:
        yield from (finding["text"] for finding in section.get("findings", []))
        for name, table in section["tables"].items():
            # These say how the others are drawn.
            if section["kind"] == "explain" and name in ("figures", "chosen"):
                continue
            if "packed" in table["columns"][0] or len(table["columns"][0]["text"]) > 500:
                continue
            for each in table["columns"]:
                yield from each["text"]


def explored_values(tables, figure):
    """The numbers of the layout that an explorer begins with."""
    options = tables["options"]
    shown = {option: value for option, value, word in
             zip(*(column(options, name)["text"] for name in ("option", "value", "shown"))) if word}
    layouts = tables["layouts"]
    row = next(row for row in range(len(layouts["columns"][0]["text"]))
               if all(column(layouts, name)["text"][row] == value
                      for name, value in shown.items()))
    names = column(tables["categories" if figure == "memory" else "parts"], "column")["text"]
    values = [column(layouts, name)["value"][row] for name in names]
    return [abs(value) for value in values if value]


def explained_values(section, row):
    """The lengths of the bars of an explanation's figure: the rows of the chosen values."""
    tables = section["tables"]
    name = column(tables["figures"], "figure")["text"][row]
    chosen = [value for figure, value in zip(*(column(tables["chosen"], each)["text"]
                                               for each in ("figure", "value")))
              if figure == name] if "chosen" in tables else []
    columns = tables[name]["columns"]
    by, others = columns[:len(chosen)], columns[len(chosen):]
    chosen = [value or each["text"][0] for value, each in zip(chosen, by)]
    rows = [i for i in range(len(columns[0]["text"]))
            if all(each["text"][i] == value for each, value in zip(by, chosen))]
    numbers = [each for each in others if any(value is not None for value in each.get("value", []))]
    parts = [each for each in numbers if each.get("unit") == numbers[0].get("unit")
             and each["name"] not in ("sum", "total")]
    return [each["value"][i] for i in rows for each in parts if each["value"][i] > 0]


def values_of(section, figure):
    """The lengths that the bars of a figure have, in order."""
    if section["kind"] == "explore":
        return explored_values(section["tables"], figure)
    if section["kind"] == "explain":
        return explained_values(section, int(figure.split("_")[1]))
    if section["kind"] == "compare-tables":
        table = list(section["tables"].values())[int(figure.split("_")[1])]
        return list(itertools.chain(*zip(*(each["value"] for each in table["columns"][1:3]))))
    if section["kind"] == "collectives":
        parts = section["tables"]["received"]["columns"][1:-1]
        return [value for row in zip(*(each["value"] for each in parts)) for value in row if value]
    if section["kind"] == "compare":
        table = section["tables"][{"time": "step", "memory": "memory"}[figure]]
        return list(itertools.chain(*zip(*(each["value"] for each in table["columns"][1:3]))))
    if figure == "time":
        return [abs(value) for value in column(section["tables"]["waterfall"], "seconds")["value"]]
    rows = zip(*(each["value"] for each in section["tables"]["memory"]["columns"][2:12]))
    return [value for row in rows for value in row if value > 0]


def check_bars(page, document, width):
    faults = []
    count = len(document["sections"])
    for bars in page.run(BARS):
        match = re.fullmatch(r"(?:part-(\d+)-)?(\w+)", bars["figure"])
        section = document["sections"][int(match[1] or 1) - 1]
        assert count == 1 or match[1], bars["figure"]
        scale = (bars["to"] - bars["from"]) / bars["most"]
        lengths = [value * scale for value in values_of(section, match[2])]
        if len(lengths) != len(bars["widths"]) or any(
                abs(a - b) > 0.5 for a, b in zip(lengths, bars["widths"])):
            faults.append(f"{width}: bars of {bars['figure']}: {bars['widths']} for {lengths}")
    return faults


def tab_through(page):
    """The figures that Tab reaches, from the first element of the page to the last."""
    page.run("""
        window.reached = [];
        document.addEventListener('focusin', event => window.reached.push(event.target));
    """)
    ids = """
        const again = window.reached.findIndex((node, i) => window.reached.indexOf(node) < i);
        const once = window.reached.slice(0, again < 0 ? undefined : again);
        return [again >= 0, once.filter(node => node.className === 'drawing')
            .map(node => node.closest('.figure').id)];
    """
    for _ in range(20):
        page.press(*["\ue004"] * 20)
        isWhole, figures = page.run(ids)
        if isWhole:
            break
    return figures


def check_keys(page):
    """Each figure is entered by Tab, moved in by arrows, and its table opened by t."""
    figures = page.run("return [...document.querySelectorAll('.drawing')].map("
                       "each => each.closest('.figure').id)")
    reached = tab_through(page)
    faults = [] if reached == figures else [f"keys reach {reached} of {figures}"]
    page.run("""
        const live = document.getElementById('live');
        new MutationObserver(() => window.said.push(live.textContent))
            .observe(live, {childList: true, characterData: true, subtree: true});
    """)
    for id in figures:
        page.run("""
            window.said = [];
            document.getElementById(arguments[0]).querySelector('.drawing').focus();
        """, id)
        page.press("\ue014", "\ue010", "t")
        said, has_table, is_open = page.run("""
            return [window.said, !!document.getElementById(arguments[0]).querySelector('details'),
                    !!document.activeElement.parentElement.open];
        """, id)
        if len(said) < 2 or not all(said):
            faults.append(f"{id}: no mark is read by keys")
        if has_table and not is_open:
            faults.append(f"{id}: t opens no table")
    return faults


def check_print(page):
    """Figures fit a sheet while the page is printed, and the window afterwards."""
    widest = ("return Math.max(0, ...[...document.querySelectorAll('.drawing svg')]"
              ".map(svg => svg.getBoundingClientRect().width))")
    before = page.run(widest)
    page.run("dispatchEvent(new Event('beforeprint'))")
    printed = page.run(widest)
    faults = [f"in print: {fault}" for fault in page.run(FAULTS)]
    page.run("dispatchEvent(new Event('afterprint'))")
    if before and not (0 < printed <= 680 and page.run(widest) == before):
        faults.append(f"in print figures are {printed} pixels wide, before {before}")
    return faults


def check_page(page, path, document, is_glance):
    faults = []
    ways = list(itertools.product(("light", "dark"), WIDTHS))
    if is_glance:
        ways = [("light", 360), ("dark", 1280)]
    for scheme, width in ways:
        page.resize(width, scheme=scheme)
        if (scheme, width) == ways[0]:
            page.open(path)
        else:
            page.settle()
        faults += [f"{width}, {scheme}: {fault}" for fault in page.run(FAULTS)]
        if scheme == "light":
            faults += check_bars(page, document, width)
        if width == 1280:
            faults += [f"{scheme}: {fault}" for fault in page.run(CONTRASTS)]
    shown = {"", *(" ".join(text.split()) for text in page.run(TEXTS))}
    missing = [text for text in texts_of(document) if " ".join(text.split()) not in shown]
    if missing:
        faults.append(f"has no text {missing[:3]}")
    if is_glance:
        return faults
    page.resize(1280)
    page.open(path)
    faults += check_print(page)
    faults += check_keys(page)
    return faults


def find_requests(page, path):
    """Messages of the console, and requests for anything but the page."""
    faults = [entry["message"] for entry in page.logs("browser")]
    for entry in page.logs("performance"):
        event = json.loads(entry["message"])["message"]
        if event["method"] == "Network.requestWillBeSent":
            url = event["params"]["request"]["url"]
            if not url.startswith(("file://" + path, "data:")):
                faults.append(f"asks for {url}")
    return faults


def main(arguments):
    is_glance = False
    with browser.start() as page:
        while arguments:
            if arguments[0] == "--glance":
                is_glance = True
                arguments = arguments[1:]
            name, report, *arguments = arguments
            path = os.path.abspath(name)
            faults = check_page(page, path, json.load(open(report)), is_glance)
            faults += find_requests(page, path)
            for fault in faults[:12]:
                print(f"{name}: {fault}")
            if not faults:
                print(f"{name}: {2 if is_glance else len(WIDTHS)} widths, light and dark")


if __name__ == "__main__":
    main(sys.argv[1:])
