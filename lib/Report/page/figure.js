// A figure: heading, legend, drawing, the text of the mark under the pointer or the keys, tables.

/** Above so many marks of one kind a figure draws on a canvas. */
const mostElements = 2000;

const allFigures = [];

/** The headings of figures are one level below that of their section. */
let headingOfFigures = 'h2';

/** The selection that all figures mark, such as "stage=1". */
let selection = '';

/** Texts that the address keeps beside the selection, by name. */
const kept = new Map();

function decodeText(text) {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    return '';
  }
}

function keepAddress() {
  const parts = [...kept].filter(([, value]) => value).map(([name, value]) => `${name}=${value}`);
  if (selection) parts.push(encodeURIComponent(selection));
  history.replaceState(null, '', '#' + parts.join('&'));
}

/** The parts of the address by name; values are as they were kept. */
function readAddress() {
  return new Map(location.hash.slice(1).split('&').filter(part => part.includes('=')).map(part => {
    const end = part.indexOf('=');
    return [part.slice(0, end), part.slice(end + 1)];
  }));
}

/** The layout whose figures these are, of several. */
let layoutOfFigures = '';

function select(key) {
  selection = selection === key ? '' : key;
  keepAddress();
  for (const figure of allFigures) figure.showSelection();
  announce(selection ? 'selected ' + selection : 'nothing selected');
}

class Figure {
  /** `options`: id, heading, note, tables (pairs of a caption and a table), draw(figure, width). */
  constructor(parent, options) {
    this.draw = options.draw;
    this.node = add(parent, 'section', 'figure');
    this.node.id = options.id;
    this.heading = add(this.node, headingOfFigures, '', options.heading);
    this.heading.id = options.id + '-heading';
    if (options.note) add(this.node, 'p', 'note', options.note);
    if (layoutOfFigures) add(this.node, 'p', 'note', layoutOfFigures);
    this.legendNode = add(this.node, 'ul', 'legend');
    this.controls = add(this.node, 'div', 'controls');
    this.host = add(this.node, 'div', 'drawing');
    this.host.tabIndex = 0;
    this.host.setAttribute('role', 'application');
    this.host.setAttribute('aria-roledescription', 'figure');
    this.host.setAttribute('aria-labelledby', this.heading.id);
    this.readout = add(this.node, 'p', 'readout');
    this.readout.setAttribute('aria-hidden', 'true');
    this.tables = (options.tables || []).filter(([, table]) => table.length)
        .map(([caption, table]) => new TableView(this.node, caption, table));
    this.marks = [];
    this.current = -1;
    this.host.addEventListener('keydown', event => this.onKey(event));
    this.host.addEventListener('pointermove', event => this.onPointer(event));
    this.host.addEventListener('pointerleave', () => this.show(-1));
    this.host.addEventListener('click', event => this.onClick(event));
    this.host.addEventListener('blur', () => this.show(-1));
    allFigures.push(this);
  }

  redraw() {
    const width = Math.floor(this.host.clientWidth);
    if (width < 40 || width === this.width) return;
    this.forceRedraw();
  }

  forceRedraw() {
    this.width = Math.floor(this.host.clientWidth);
    this.marks = [];
    this.tree = null;
    this.current = -1;
    this.host.replaceChildren();
    this.legendNode.replaceChildren();
    this.svg = d3.select(this.host).append('svg').attr('width', this.width)
        .attr('aria-hidden', 'true').attr('focusable', 'false');
    this.draw(this, this.width);
    this.outlines = this.svg.append('g').attr('class', 'outlines');
    this.cursor = this.svg.append('rect').attr('class', 'cursor').attr('visibility', 'hidden');
    this.showSelection();
  }

  /** Draws other rows of the same tables. */
  refresh() {
    if (this.width) this.forceRedraw();
    for (const table of this.tables) table.refresh();
  }

  setHeight(height) { this.svg.attr('height', Math.ceil(height)); }

  /** Rows of [class of colour, text]. */
  legend(entries) {
    for (const [kind, text] of entries) {
      const item = add(this.legendNode, 'li');
      add(item, 'span', 'swatch fill-' + kind);
      add(item, 'span', '', text);
    }
  }

  /** A place that pointer and keys find: x, y, width, height, label, keys of the selection. */
  mark(mark) {
    this.marks.push({keys: [], ...mark});
  }

  /** Draws rectangles {x, y, width, height, kind, text}, and marks those that have a label. */
  rectangles(list) {
    if (list.length > mostElements) this.paint(list);
    else {
      const group = this.svg.append('g');
      group.selectAll('rect').data(list).enter().append('rect')
          .attr('class', each => 'mark fill-' + each.kind)
          .attr('x', each => each.x).attr('y', each => each.y)
          .attr('width', each => each.width).attr('height', each => each.height)
          .attr('fill', each => each.kind === 'excess' ? 'url(#hatch)' : null);
      group.selectAll('text').data(list.filter(each => each.text)).enter().append('text')
          .attr('class', each => 'inside on-' + each.kind)
          .attr('x', each => each.x + each.width / 2)
          .attr('y', each => each.y + each.height / 2 + 4)
          .text(each => each.text);
    }
    for (const each of list) if (each.label) this.mark(each);
  }

  paint(list) {
    const height = Math.ceil(d3.max(list, each => each.y + each.height));
    const ratio = window.devicePixelRatio || 1;
    const canvas = document.createElement('canvas');
    canvas.width = this.width * ratio;
    canvas.height = height * ratio;
    canvas.className = 'painted';
    canvas.style.width = this.width + 'px';
    canvas.style.height = height + 'px';
    canvas.setAttribute('aria-hidden', 'true');
    this.host.prepend(canvas);
    const context = canvas.getContext('2d');
    context.scale(ratio, ratio);
    const colours = new Map();
    for (const each of list) {
      if (!colours.has(each.kind)) colours.set(each.kind, colourOf(each.kind));
      context.fillStyle = colours.get(each.kind);
      context.fillRect(each.x, each.y, each.width, each.height);
    }
  }

  boxAt(x, y) {
    if (!this.tree) {
      this.tree = d3.quadtree().x(each => each.x + each.width / 2)
          .y(each => each.y + each.height / 2).addAll(this.marks);
      this.reach = d3.max(this.marks, each => Math.max(each.width, each.height)) || 0;
    }
    let best = null;
    const reach = this.reach / 2 + 1;
    this.tree.visit((node, x0, y0, x1, y1) => {
      if (x0 > x + reach || x1 < x - reach || y0 > y + reach || y1 < y - reach) return true;
      for (let leaf = node; leaf && !leaf.length; leaf = leaf.next) {
        const box = leaf.data;
        if (x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height &&
            (!best || box.width * box.height < best.width * best.height)) best = box;
      }
      return false;
    });
    return best ? this.marks.indexOf(best) : -1;
  }

  show(index, isKey) {
    this.current = index;
    const box = this.marks[index];
    this.readout.textContent = box ? box.label : '';
    this.cursor.attr('visibility', box ? 'visible' : 'hidden');
    if (!box) return;
    this.cursor.attr('x', box.x - 1).attr('y', box.y - 1)
        .attr('width', box.width + 2).attr('height', box.height + 2);
    if (isKey) announce(box.label);
  }

  showSelection() {
    if (!this.outlines) return;
    const chosen = selection ? this.marks.filter(each => each.keys.includes(selection)) : [];
    const boxes = this.outlines.selectAll('rect').data(chosen);
    boxes.exit().remove();
    boxes.enter().append('rect').attr('class', 'chosen').merge(boxes)
        .attr('x', each => each.x).attr('y', each => each.y)
        .attr('width', each => each.width).attr('height', each => each.height);
    if (this.onSelection) this.onSelection(selection);
  }

  onPointer(event) {
    const [x, y] = d3.clientPoint(this.svg.node(), event);
    this.show(this.boxAt(x, y));
  }

  onClick(event) {
    const [x, y] = d3.clientPoint(this.svg.node(), event);
    const box = this.marks[this.boxAt(x, y)];
    if (box && box.keys.length) select(box.keys[0]);
  }

  /** The nearest mark in a direction. */
  neighbour(dx, dy) {
    const from = this.marks[this.current];
    if (!from) return 0;
    const centre = box => [box.x + box.width / 2, box.y + box.height / 2];
    const [x, y] = centre(from);
    let best = this.current, least = Infinity;
    this.marks.forEach((box, index) => {
      const [bx, by] = centre(box);
      const along = (bx - x) * dx + (by - y) * dy;
      const beside = Math.abs((bx - x) * dy) + Math.abs((by - y) * dx);
      if (along > 0.5 && along + 3 * beside < least) {
        least = along + 3 * beside;
        best = index;
      }
    });
    return best;
  }

  onKey(event) {
    const last = this.marks.length - 1;
    const moves = {
      ArrowRight: () => this.neighbour(1, 0), ArrowLeft: () => this.neighbour(-1, 0),
      ArrowDown: () => this.neighbour(0, 1), ArrowUp: () => this.neighbour(0, -1),
      Home: () => 0, End: () => last,
      PageDown: () => Math.min(this.current + 10, last),
      PageUp: () => Math.max(this.current - 10, 0),
    };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (moves[event.key] && last >= 0) {
      event.preventDefault();
      this.show(moves[event.key](), true);
    } else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      const box = this.marks[this.current];
      if (box && box.keys.length) select(box.keys[0]);
    } else if (event.key === 'Escape') {
      this.host.blur();
    } else if (event.key === 't' && this.tables.length) {
      event.preventDefault();
      this.tables[0].open();
    }
  }

  /** An axis below a figure with round ticks. */
  axisBelow(scale, y, unit, values) {
    const [from, to] = scale.range();
    const axis = d3.axisBottom(scale).tickSizeOuter(0);
    if (values) axis.tickValues(values).tickFormat(powerText);
    else axis.ticks(Math.max(2, Math.floor((to - from) / 90)));
    const group = this.svg.append('g').attr('class', 'axis')
        .attr('transform', `translate(0,${y})`).call(axis);
    // A label at an end of the scale stays in the figure.
    const most = this.width;
    group.selectAll('.tick').each(function(value) {
      const text = d3.select(this).select('text'), half = textWidth(text.text()) / 2 + 1;
      const at = scale(value);
      text.attr('dx', Math.max(half - at, 0) + Math.min(most - at - half, 0));
    });
    if (unit)
      group.append('text').attr('class', 'unit').attr('x', from - 10).attr('y', 18).text(unit);
    return group;
  }
}
