"""Opens pages of plan --explore in a browser and changes options. Arguments: pairs of a page and
its document. The first page is also looked at as all pages are.

Each bar must be the layout that differs from the chosen one in its option alone, or a valid one
with the fewest other options changed, all of which it names; as long as its number within half a
pixel. Each layout is chosen by keys alone. The head, the figures and the address follow."""

import itertools
import json
import os
import random
import sys

import browser
import check_page
from check_explore import Cells

TAB, ENTER, DOWN, SPACE = "\ue004", "\ue007", "\ue015", " "

STATE = """
const text = node => node.textContent;
return {
  verdict: text(document.querySelector('.choice .strong')),
  chosen: text(document.querySelector('.choice .note')),
  command: text(document.querySelector('.choice code')),
  top: document.querySelector('.choice').getBoundingClientRect().top,
  hash: location.hash,
  controls: [...document.querySelectorAll('.option')].map(option => ({
    name: text(option.querySelector('legend')),
    values: [...option.querySelectorAll('.bar-row')].map(row => ({
      value: text(row.querySelector('.name')), checked: row.querySelector('input').checked,
      disabled: row.querySelector('input').disabled,
      width: row.querySelector('.bar').getBoundingClientRect().width,
      track: row.querySelector('.track').getBoundingClientRect().width,
      isHatched: row.querySelector('.bar').classList.contains('fill-excess'),
      numbers: [...row.querySelectorAll('.number')].map(text),
      more: text(row.querySelector('.more'))}))})),
  figures: ['memory', 'time'].map(name => [...document.querySelectorAll(
      `#part-1-${name} table tbody tr`)].map(row => [...row.cells].map(text))),
  row: [...document.querySelectorAll('.chosen-row')].map(row => [...row.cells].map(text))};
"""
# Texts of the explorer that are cut, over another, or reach out of the page.
FAULTS = """
const faults = [];
for (const row of document.querySelectorAll('.bar-row')) {
  const boxes = [];
  for (const node of row.querySelectorAll('.name, .number, .more')) {
    if (!node.textContent) continue;
    if (parseFloat(getComputedStyle(node).fontSize) < 11) faults.push('small ' + node.textContent);
    if (node.scrollWidth > node.clientWidth + 1) faults.push('cut ' + node.textContent);
    const range = document.createRange();
    range.selectNodeContents(node);
    boxes.push([node.textContent, range.getBoundingClientRect()]);
  }
  boxes.push(['the bar', row.querySelector('.track').getBoundingClientRect()]);
  for (const [text, box] of boxes)
    if (box.right > innerWidth || box.left < 0) faults.push('out of the page: ' + text);
  for (let i = 0; i < boxes.length; ++i)
    for (let k = i + 1; k < boxes.length; ++k) {
      const [a, b] = [boxes[i][1], boxes[k][1]];
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 1 && down > 4) faults.push(`${boxes[i][0]} over ${boxes[k][0]}`);
    }
}
const head = document.querySelector('.choice');
scrollTo(0, document.documentElement.scrollHeight);
if (Math.abs(head.getBoundingClientRect().top) > 1) faults.push('the head is not at the top');
if (head.getBoundingClientRect().height > innerHeight / 3) faults.push('the head is high');
scrollTo(0, 0);
return faults;
"""


class Layouts:
    """The layouts of a document by their options' values."""

    def __init__(self, tables):
        self.options, self.words = {}, {}
        options = Cells(tables["options"])
        for option, value, word, shown in zip(*(options.column(name) for name in
                                                ("option", "value", "argument", "shown"))):
            self.options.setdefault(option, []).append(value)
            self.words[option, value] = word
        self.cells = Cells(tables["layouts"])
        self.columns = {column["name"]: self.cells.column(column["name"])
                        for column in self.cells.columns}
        self.units = {column["name"]: column.get("unit", "") for column in self.cells.columns}
        self.rows = {choice: row for row, choice in enumerate(
            zip(*(self.columns[option] for option in self.options)))}
        self.measure = "1e6 tokens" if "1e6 tokens" in self.columns else "step"
        self.errors = {}
        if "invalid" in tables:
            invalid = Cells(tables["invalid"])
            self.errors = dict(zip(zip(*(invalid.column(option) for option in self.options)),
                                   invalid.column("error")))

    def text(self, choice, name):
        return self.columns[name][self.rows[choice]]


def check_value(layouts, choice, index, value, shown):
    """The faults of a bar."""
    names = [option[2:] for option in layouts.options]
    target = choice[:index] + (value,) + choice[index + 1:]
    title = f"{names[index]} {value} of {choice}"
    if target not in layouts.rows:
        valid = [other for other in layouts.rows if other[index] == value]
        if not valid:
            right = shown["disabled"] and shown["numbers"] == ["–", "", ""] and \
                shown["more"] == layouts.errors[target]
            return [] if right else [f"{title}: expects its error: {shown}"]
        if not shown["more"].startswith("with "):
            return [f"{title}: names no other option: {shown}"]
        changed = list(target)
        for text in shown["more"][5:].split(", "):
            name, _, other = text.partition(" ")
            changed[names.index(name)] = other
        fewest = min(sum(a != b for a, b in zip(other, target)) for other in valid)
        if sum(a != b for a, b in zip(changed, target)) != fewest:
            return [f"{title}: fewer options than {shown['more']} need to change"]
        # The last options change first.
        last = max([i for i, (a, b) in enumerate(zip(other, target)) if a != b][::-1]
                   for other in valid
                   if sum(a != b for a, b in zip(other, target)) == fewest)
        if [i for i, (a, b) in enumerate(zip(changed, target)) if a != b][::-1] != last:
            return [f"{title}: {shown['more']} are not the last options"]
        target = tuple(changed)
    elif shown["more"]:
        return [f"{title}: names options: {shown['more']}"]
    number = layouts.text(target, layouts.measure)
    most = max(map(float, layouts.columns[layouts.measure]))
    faults = []
    if shown["numbers"][0] != number or shown["numbers"][2] != layouts.text(target, "fill"):
        faults.append(f"{title}: expects {number}: {shown}")
    difference = float(number) - float(layouts.text(choice, layouts.measure))
    text = shown["numbers"][1].replace("−", "-") or "0"
    if abs(float(text) - difference) > 1.01 * 10 ** -len(number.partition(".")[2]):
        faults.append(f"{title}: expects the difference {difference}: {shown}")
    if abs(shown["width"] - shown["track"] * float(number) / most) > 0.5:
        faults.append(f"{title}: expects a bar of {float(number) / most}: {shown}")
    if shown["isHatched"] != (layouts.text(target, "fits") == "no"):
        faults.append(f"{title}: hatching says whether it fits: {shown}")
    return faults


def check_choice(layouts, tables, state, choice):
    """The faults of a page that shows a layout."""
    faults = []
    text = lambda name: layouts.text(choice, name)
    fits = "Fits: " if text("fits") == "yes" else "Does not fit: "
    step = f"{text('step')} {layouts.units['step']} a step"
    if not state["verdict"].startswith(fits) or step not in state["verdict"]:
        faults.append(f"{choice}: verdict {state['verdict']}")
    for option, value in zip(layouts.options, choice):
        if f"{option[2:]} {value}" not in state["chosen"].split(" · "):
            faults.append(f"{choice}: {state['chosen']}")
    if "dp" in layouts.columns and f"dp {text('dp')}" not in state["chosen"].split(" · "):
        faults.append(f"{choice}: no dp in {state['chosen']}")
    base = tables["command"]["columns"][0]["text"][0]
    command = " ".join([base, *(layouts.words[each]
                                for each in zip(layouts.options, choice))])
    if state["command"] != command:
        faults.append(f"{choice}: command {state['command']}, expects {command}")
    memory, step = state["figures"]
    parts = Cells(tables["parts"])
    expected = [[part, text(column), resource] for part, resource, column in
                zip(*(parts.column(name) for name in ("part", "waits for", "column")))
                if float(text(column))]
    if [[row[0], row[2], row[3]] for row in step] != expected:
        faults.append(f"{choice}: the step is {step}, expects {expected}")
    categories = [text(name) for name in Cells(tables["categories"]).column("column")]
    if memory[0][2:] != categories + [text("memory"), text("free")]:
        faults.append(f"{choice}: the memory is {memory}")
    for index, (option, control) in enumerate(zip(layouts.options, state["controls"])):
        assert control["name"] == option and len(control["values"]) == len(layouts.options[option])
        for value, shown in zip(layouts.options[option], control["values"]):
            if shown["checked"] != (value == choice[index]):
                faults.append(f"{choice}: {option} {value} is checked: {shown['checked']}")
            faults += check_value(layouts, choice, index, value, shown)
    return faults


def chosen_in(state):
    return tuple(next(each["value"] for each in control["values"] if each["checked"])
                 for control in state["controls"])


def focus(page):
    return page.run("const node = document.activeElement; return node.type === 'radio' ? node.name "
                    ": node.className || node.tagName.toLowerCase() + ' ' + node.textContent")


def check_radios(page, layouts, tables):
    """Tab enters each option, and arrows change it."""
    faults, reached = [], []
    for _ in range(60):
        page.press(TAB)
        name = focus(page)
        if not name.startswith("part-1---"):
            continue
        reached.append(name[7:])
        page.press(DOWN)
        state = page.run(STATE)
        faults += check_choice(layouts, tables, state, chosen_in(state))
        if len(reached) == len(layouts.options):
            break
    if reached != list(layouts.options):
        faults.append(f"keys reach {reached} of {list(layouts.options)}")
    return faults


def tab_to(page, selector, text=""):
    """Tab goes to the first element of a selector that begins with a text; false if it does not."""
    page.run("""
        window.found = null;
        const [selector, text] = arguments;
        if (window.findFocus) document.removeEventListener('focusin', window.findFocus);
        window.findFocus = ({target}) => {
          if (!window.found && target.matches(selector) && target.textContent.startsWith(text))
            window.found = target;
        };
        document.addEventListener('focusin', window.findFocus);
    """, selector, text)
    for _ in range(20):
        page.press(*[TAB] * 10)
        # Keys beyond the element are undone.
        if page.run("if (window.found) window.found.focus(); return !!window.found"):
            return True
    return False


def check_list(page, layouts, tables, most):
    """Keys open the list of layouts, move in it, and choose rows."""
    if not tab_to(page, "summary", "Layouts that are valid"):
        return ["keys do not reach the list"]
    page.press(ENTER)
    page.settle()
    if not tab_to(page, ".choose"):
        return ["keys do not reach the rows"]
    faults, seen = [], set()
    keys = [ENTER]
    for _ in range(min(most, len(layouts.rows))):
        page.press(*keys)
        keys = [DOWN, ENTER]
        state = page.run(STATE)
        choice = chosen_in(state)
        seen.add(choice)
        faults += check_choice(layouts, tables, state, choice)
        if len(state["row"]) != 1 or tuple(state["row"][0][1:1 + len(choice)]) != choice:
            faults.append(f"{choice}: the list marks {state['row']}")
    if len(seen) != min(most, len(layouts.rows)):
        faults.append(f"keys reach {len(seen)} of {len(layouts.rows)} rows")
    return faults


def check_filter(page, layouts):
    """Words and values of columns find rows; names of columns sort them."""
    option, wanted = next(iter(layouts.options)), next(iter(layouts.rows))[0]
    page.run("document.querySelector('input[type=search]').focus()")
    page.press(*f"{option[2:]}={wanted} yes")
    rows = "return [...document.querySelectorAll('.choose')].map(node => [...node.closest('tr')" \
           ".cells].map(cell => cell.textContent))"
    shown = page.run(rows)
    expected = sum(choice[0] == wanted and "yes" in [texts[row] for texts in
                                                         layouts.columns.values()]
                   for choice, row in layouts.rows.items())
    faults = []
    if len(shown) != min(expected, 100 if len(layouts.rows) > 500 else 500):
        faults.append(f"{option}={wanted} yes: {len(shown)} rows of {expected}")
    page.run("[...document.querySelectorAll('th button')].find("
             "node => node.textContent.startsWith('fill')).click()")
    place = list(layouts.columns).index("fill") + 1
    fills = [float(row[place].split()[0]) for row in page.run(rows)]
    if not fills or fills != sorted(fills):
        faults.append(f"not sorted: {fills[:5]}")
    return faults


def check_address(page, path, layouts, tables):
    """The address keeps the layout, and opens it."""
    hash = page.run("return location.hash")
    choice = chosen_in(page.run(STATE))
    if not hash.startswith("#part-1-layout="):
        return [f"the address is {hash}"]
    page.call("POST", "/url", {"url": "about:blank"})
    page.open(f"{path}{hash}")
    state = page.run(STATE)
    faults = check_choice(layouts, tables, state, choice)
    page.run("location.hash = '#part-1-layout=none&stage=1'")
    return faults + check_choice(layouts, tables, page.run(STATE), chosen_in(page.run(STATE)))


def check(page, path, document):
    tables = document["sections"][0]["tables"]
    layouts = Layouts(tables)
    faults = []
    for scheme, width in zip(itertools.cycle(("light", "dark")), check_page.WIDTHS):
        page.resize(width, scheme=scheme)
        if width == check_page.WIDTHS[0]:
            page.open(path)
        else:
            page.settle()
        faults += [f"{width}, {scheme}: {fault}" for fault in page.run(FAULTS)]
        faults += [f"{width}, {scheme}: {fault}" for fault in page.run(check_page.FAULTS)]
    page.resize(1280)
    page.open(path)
    state = page.run(STATE)
    best = chosen_in(state)
    faults += check_choice(layouts, tables, state, best)
    key = layouts.columns[layouts.measure]
    fitting = [row for row, fits in enumerate(layouts.columns["fits"]) if fits == "yes"]
    if fitting and float(layouts.text(best, layouts.measure)) > min(
            float(key[row]) for row in fitting):
        faults.append(f"{best} is not the fastest that fits")
    faults += check_radios(page, layouts, tables)
    faults += check_list(page, layouts, tables, 24)
    faults += check_address(page, path, layouts, tables)
    # Layouts drawn at random, by their address.
    for choice in random.Random(1).sample(sorted(layouts.rows), min(6, len(layouts.rows))):
        page.run("location.hash = arguments[0]; return new Promise(done => setTimeout(done, 20))",
                 "#part-1-layout=" + ",".join(choice))
        faults += check_choice(layouts, tables, page.run(STATE), choice)
    page.open(path)
    page.run("[...document.querySelectorAll('summary')].find(node => node.textContent.startsWith("
             "'Layouts that are valid')).parentElement.open = true;"
             "return new Promise(done => setTimeout(done, 50))")
    return faults + check_filter(page, layouts)


def main(arguments):
    with browser.start() as page:
        for name, report in zip(arguments[::2], arguments[1::2]):
            path = os.path.abspath(name)
            document = json.load(open(report))
            faults = []
            if name == arguments[0]:
                faults += check_page.check_page(page, path, document, is_glance=False)
            faults += check(page, path, document)
            faults += check_page.find_requests(page, path)
            for fault in faults[:8]:
                print(f"{name}: {fault}")
            if not faults:
                print(f"{name}: options, rows and figures agree")


if __name__ == "__main__":
    main(sys.argv[1:])
