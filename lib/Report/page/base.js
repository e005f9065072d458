// Shared by all figures: the document's tables, elements, and widths of texts.

/** A column with its texts and values; packed cells are integers of their last decimal. */
function readColumn(column) {
  if (!column.packed) {
    return {name: column.name, unit: column.unit || '', digits: column.digits,
            text: column.text, value: column.value || column.text.map(() => null)};
  }
  const scale = 10 ** column.digits;
  const value = column.packed.map(cell => cell / scale);
  return {name: column.name, unit: column.unit || '', digits: column.digits, value,
          text: value.map(each => each.toFixed(column.digits) + (column.suffix || ''))};
}

/** A table of a section; a missing one is empty. */
class Table {
  constructor(json) {
    this.columns = json ? json.columns.map(readColumn) : [];
    this.length = this.columns.length ? this.columns[0].text.length : 0;
  }
  has(name) { return this.columns.some(column => column.name === name); }
  column(name) {
    return this.columns.find(column => column.name === name) || {text: [], value: [], unit: ''};
  }
  text(name, row) { return this.column(name).text[row] || ''; }
  value(name, row) {
    const value = this.column(name).value[row];
    return value === undefined ? null : value;
  }
}

/** A section with its tables and findings by name. */
class Section {
  constructor(json) {
    this.kind = json.kind;
    this.title = json.title || '';
    this.names = Object.keys(json.tables);
    this.tables = new Map(this.names.map(name => [name, new Table(json.tables[name])]));
    this.findings = new Map((json.findings || []).map(each => [each.figure, each.text]));
  }
  table(name) { return this.tables.get(name) || new Table(null); }
  finding(name) { return this.findings.get(name) || ''; }
}

/** Appends an element with a class and a text, which may be a name from outside. */
function add(parent, tag, kind, text) {
  const node = document.createElement(tag);
  if (kind) node.className = kind;
  if (text !== undefined) {
    const inner = document.createElement('bdi');
    inner.textContent = text;
    node.append(inner);
  }
  parent.append(node);
  return node;
}

const ruler = document.createElement('canvas').getContext('2d');

/** The width of a text of a figure in pixels. */
function textWidth(text, weight = 400, size = 12) {
  const family = getComputedStyle(document.body).fontFamily;
  ruler.font = `${weight} ${size}px ${family}`;
  return ruler.measureText(text).width;
}

/** The longest beginning of a text that fits, with an ellipsis. */
function fitText(text, width, weight) {
  if (textWidth(text, weight) <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (textWidth(text.slice(0, middle) + '…', weight) <= width) low = middle;
    else high = middle - 1;
  }
  return low ? text.slice(0, low) + '…' : '';
}

/** A power of ten as a tick: 0.1, 1,000. */
function powerText(value) {
  return value < 1 ? String(value) : d3.format(',')(value);
}

/** The width that the longest of some texts takes. */
function widest(texts, weight) {
  return Math.ceil(d3.max(texts, text => textWidth(text, weight)) || 0);
}

/** The colour of a kind of marks, for canvases. */
function colourOf(kind) {
  const probe = add(document.body, 'span', 'fill-' + kind);
  const colour = getComputedStyle(probe).backgroundColor;
  probe.remove();
  return colour;
}

/** Announces a text to who does not see the page. */
function announce(text) {
  document.getElementById('live').textContent = text;
}
