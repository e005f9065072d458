// Shared by all figures: the document's tables, elements, and widths of texts.

/** A column with its texts and values; packed cells are integers of their last decimal. */
class Column {
  constructor(json) {
    this.name = json.name;
    this.unit = json.unit || '';
    this.digits = json.digits;
    this.suffix = json.suffix || '';
    const scale = 10 ** json.digits;
    this.value = json.packed ? json.packed.map(cell => cell / scale)
                             : json.value || json.text.map(() => null);
    this.texts = json.packed ? null : json.text;
  }
  get length() { return this.value.length; }
  /** The text of a cell; those of packed cells are made when they are needed. */
  at(row) {
    return this.texts ? this.texts[row] : this.value[row].toFixed(this.digits) + this.suffix;
  }
  /** The column of some rows. */
  slice(rows) {
    const {name, unit, digits, suffix} = this;
    const column = new Column({name, unit, digits, suffix, text: rows.map(row => this.at(row))});
    column.value = rows.map(row => this.value[row]);
    return column;
  }
  get text() {
    if (!this.texts) this.texts = this.value.map((value, row) => this.at(row));
    return this.texts;
  }
}

/** A table of a section; a missing one is empty. */
class Table {
  constructor(json) {
    this.columns = json ? json.columns.map(column => new Column(column)) : [];
  }
  get length() { return this.columns.length ? this.columns[0].length : 0; }
  /** Replaces all rows; a cell is a text, or a text and a value. */
  setRows(rows) {
    this.columns.forEach((column, i) => {
      column.texts = rows.map(row => Array.isArray(row[i]) ? row[i][0] : row[i]);
      column.value = rows.map(row => Array.isArray(row[i]) ? row[i][1] : null);
    });
  }
  has(name) { return this.columns.some(column => column.name === name); }
  column(name) {
    return this.columns.find(column => column.name === name) || {text: [], value: [], unit: ''};
  }
  text(name, row) { return this.has(name) ? this.column(name).at(row) || '' : ''; }
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
