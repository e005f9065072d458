// The explorer: each option is a control that is a bar chart, and figures show the chosen layout.

/** Columns that follow from the options of a layout. */
const following = ['dp', 'ranks', 'micro-batches', 'global-batch', 'cp-method'];

/** All layouts, from the least time, each with a button that chooses it. */
class LayoutList extends TableView {
  needsControls() { return true; }
  get pageSize() { return this.table.length > rowsOfPage ? 100 : rowsOfPage; }

  build() {
    this.sortBy(this.table.column(this.owner.measure.name), 1);
    super.build();
    const head = this.body.parentNode.tHead.rows[0];
    this.table.columns.forEach((column, i) => {
      const cell = head.cells[i], name = cell.textContent;
      cell.replaceChildren();
      const button = add(cell, 'button', '', name);
      button.type = 'button';
      button.addEventListener('click', () => {
        this.sortBy(column, this.sorted === column ? -this.direction : 1);
        for (const other of head.cells) other.removeAttribute('aria-sort');
        cell.setAttribute('aria-sort', this.direction > 0 ? 'ascending' : 'descending');
        this.page = 0;
        this.fill();
      });
    });
    const first = document.createElement('th');
    first.scope = 'col';
    first.textContent = 'layout';
    head.prepend(first);
    this.body.addEventListener('keydown', event => this.onKey(event));
  }

  sortBy(column, direction) {
    this.sorted = column;
    this.direction = direction;
    const isNumber = this.isNumber(column);
    const key = isNumber ? row => column.value[row] : row => column.at(row);
    this.rows.sort((a, b) => direction * d3.ascending(key(a), key(b)) || a - b);
  }

  /** `tp=4` is a cell's text, other words are in the texts of the row. */
  matches(row, words) {
    return words.every(word => {
      const [name, value] = word.split('=');
      if (value === undefined) return super.matches(row, [word]);
      return this.table.columns.some(
          column => [name, '--' + name].includes(column.name.toLowerCase()) &&
              column.at(row).toLowerCase() === value);
    });
  }

  filter(words) {
    super.filter(words);
    this.sortBy(this.sorted, this.direction);
  }

  fillRow(line, row) {
    const button = add(add(line, 'td'), 'button', 'choose', 'choose');
    button.type = 'button';
    button.tabIndex = line.rowIndex === 1 ? 0 : -1;
    button.addEventListener('click', () => this.owner.choose(this.owner.space.choiceOf(row)));
    super.fillRow(line, row);
    line.classList.toggle('chosen-row', row === this.owner.row);
  }

  /** Arrows move between the buttons of a page. */
  onKey(event) {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    const line = event.target.closest('tr');
    const next = step > 0 ? line.nextSibling : line.previousSibling;
    if (!step || !next || !event.target.matches('.choose')) return;
    event.preventDefault();
    event.target.tabIndex = -1;
    const button = next.querySelector('.choose');
    button.tabIndex = 0;
    button.focus();
  }

  mark() {
    if (!this.body) return;
    const first = this.page * this.pageSize;
    [...this.body.rows].forEach((line, i) =>
        line.classList.toggle('chosen-row', this.rows[first + i] === this.owner.row));
  }
}

/** A table of the explorer's own, whose cells change with the choice. */
function makeTable(columns) {
  return {columns: columns.map(([name, unit, digits]) => ({name, unit, digits, text: []}))};
}

class Explorer {
  constructor(parent, section, id) {
    this.space = new Space(section);
    this.id = id;
    const layouts = this.layouts = this.space.layouts;
    this.measure = layouts.column(layouts.has('1e6 tokens') ? '1e6 tokens' : 'step');
    this.most = d3.max(this.measure.value);
    this.command = section.table('command').text('command', 0);
    this.capacity = section.table('device');
    this.addHead(parent);
    this.addControls(parent);
    this.addFigures(parent, section);
    const tables = add(parent, 'section', 'figure');
    add(tables, headingOfFigures, '', 'All layouts');
    add(tables, 'p', 'note', 'Arrows move between rows, names of columns sort; tp=4 in the filter ' +
        'is a value of a column.');
    this.list = new LayoutList(tables, 'Layouts that are valid', layouts, this);
    new TableView(tables, 'Layouts that are invalid', this.space.invalid);
    new TableView(tables, 'Options', section.table('options'));
    new TableView(tables, 'Parts of the step', section.table('parts'));
    new TableView(tables, 'Categories of memory', section.table('categories'));
    new TableView(tables, 'Links', section.table('links'));
    new TableView(tables, 'The command without these options', section.table('command'));
    kept.set(id + 'layout', '');
    this.readAddress();
    window.addEventListener('hashchange', () => this.readAddress());
  }

  /** The verdict, the chosen options and their command, which stay at the top. */
  addHead(parent) {
    this.head = document.createElement('section');
    this.head.className = 'choice';
    this.head.setAttribute('aria-label', 'the chosen layout');
    parent.before(this.head);
    this.verdict = add(this.head, 'p', 'strong');
    this.chosen = add(this.head, 'p', 'note');
    const frame = add(this.head, 'div', 'frame');
    frame.tabIndex = 0;
    frame.setAttribute('role', 'group');
    frame.setAttribute('aria-label', 'command');
    this.line = add(frame, 'code');
    // Controls that Tab enters scroll to below the head.
    new ResizeObserver(() => {
      document.documentElement.style.scrollPaddingTop = this.head.offsetHeight + 8 + 'px';
    }).observe(this.head);
  }

  addControls(parent) {
    const unit = this.measure.unit + (this.measure.name === 'step' ? ' a step' : ' for 1e6 tokens');
    const figure = add(parent, 'section', 'figure');
    add(figure, headingOfFigures, '', 'Options');
    add(figure, 'p', 'note', `A bar is the layout that differs from the chosen one in this option: ` +
        `${unit}, the difference, and how full the fullest stage is.`);
    const legend = add(figure, 'ul', 'legend');
    for (const [kind, text] of [['forward', 'fits'], ['forward-pale', 'with other options changed'],
                                ['excess', 'does not fit']]) {
      const item = add(legend, 'li');
      add(item, 'span', 'swatch fill-' + kind);
      add(item, 'span', '', text);
    }
    const grid = add(figure, 'div', 'options');
    const digits = column => d3.max(d3.range(this.layouts.length), row => column.at(row).length);
    grid.style.setProperty('--number', digits(this.measure) + 1 + 'ch');
    grid.style.setProperty('--fill', digits(this.layouts.column('fill')) + 1 + 'ch');
    this.controls = this.space.options.map((option, index) => {
      const control = add(grid, 'fieldset', 'option');
      add(control, 'legend', '', option.name);
      add(control, 'p', 'note', option.meaning);
      control.style.setProperty('--name', d3.max(option.values, value => value.length) + 1 + 'ch');
      return option.values.map((value, i) => this.addValue(control, index, i));
    });
  }

  addValue(control, option, value) {
    const row = add(control, 'label', 'bar-row');
    const input = add(row, 'input');
    input.type = 'radio';
    input.name = this.id + this.space.options[option].name;
    input.addEventListener('change', () => this.choose(this.targets[option][value].choice));
    add(row, 'span', 'name', this.space.options[option].values[value]);
    const bar = add(add(row, 'span', 'track'), 'span', 'bar');
    const [measure, difference, fill, note] = ['number', 'number', 'number', 'more'].map(
        kind => add(row, 'span', kind));
    return {row, input, bar, measure, difference, fill, note};
  }

  addFigures(parent, section) {
    const categories = section.table('categories');
    const names = categories.column('category').text;
    const memory = this.layouts.column('memory');
    const numbers = ['total', 'free'].map(name => [name, memory.unit, memory.digits]);
    const waits = ['part', 'begin', 'seconds', 'waits for'].map((name, i) =>
        i % 3 ? [name, this.layouts.column('step').unit, this.layouts.column('step').digits]
              : [name]);
    this.shown = new Section({
      kind: 'plan',
      tables: {
        memory: makeTable([['stage'], ['fits with'],
                           ...names.map(name => [name, memory.unit, memory.digits]), ...numbers]),
        categories: makeTable([['category']]),
        waterfall: makeTable(waits),
        links: makeTable([['link']]),
      },
      findings: [{figure: 'memory', text: 'The fullest stage of the chosen layout'},
                 {figure: 'waterfall', text: 'The step of the chosen layout'}],
    });
    this.shown.table('categories').setRows(names.map(name => [name]));
    this.shown.table('links').setRows(section.table('links').column('link').text.map(
        name => [name]));
    this.shown.tables.set('device', this.capacity);
    this.names = categories.column('column').text;
    this.parts = d3.range(section.table('parts').length).map(row => ({
      part: section.table('parts').text('part', row),
      waits: section.table('parts').text('waits for', row),
      column: this.layouts.column(section.table('parts').text('column', row)),
    }));
    this.fillTables(0);
    this.figures = [addMemory(parent, this.shown, this.id), addWaterfall(parent, this.shown, this.id)];
  }

  /** Puts a layout into the tables of the figures. */
  fillTables(row) {
    const cell = name => [this.layouts.text(name, row), this.layouts.value(name, row)];
    this.shown.table('memory').setRows(
        [[cell('fullest stage')[0], cell('fits with'), ...this.names.map(cell), cell('memory'),
          cell('free')]]);
    let begin = 0;
    const parts = [];
    for (const {part, waits, column} of this.parts) {
      const seconds = column.value[row];
      if (!seconds) continue;
      parts.push([part, ['', begin], [column.at(row), seconds], waits]);
      begin += seconds;
    }
    this.shown.table('waterfall').setRows(parts);
  }

  /** Shows a layout. */
  show(choice) {
    this.choice = choice;
    this.row = this.space.rows[this.space.placeOf(choice)];
    this.showHead();
    this.showControls();
    this.fillTables(this.row);
    for (const figure of this.figures) figure.refresh();
    this.list.mark();
  }

  choose(choice) {
    this.show(choice);
    kept.set(this.id + 'layout', choice.map(
        (value, i) => encodeURIComponent(this.space.options[i].values[value])).join(','));
    keepAddress();
    announce(this.verdict.textContent);
  }

  showHead() {
    const text = name => this.layouts.text(name, this.row);
    const unit = name => this.layouts.column(name).unit;
    this.verdict.textContent = (text('fits') === 'yes'
        ? `Fits: ${text('step')} ${unit('step')} a step`
        : `Does not fit: stage ${text('fullest stage')} needs ${text('memory')} ` +
            `${unit('memory')}, a device has ${this.capacity.text('GB', this.capacity.length - 1)} ` +
            `GB; ${text('step')} ${unit('step')} a step`) +
        `, ${text('tokens a second')} tokens a second, MFU ${text('MFU')}; it waits most for `;
    add(this.verdict, 'span', '', text('waits for'));
    const words = this.space.options.map(
        (option, i) => `${option.name.slice(2)} ${option.values[this.choice[i]]}`);
    for (const name of following)
      if (this.layouts.has(name)) words.push(`${name} ${text(name)}`);
    this.chosen.textContent = words.join(' · ');
    this.line.textContent = [this.command, ...this.space.options.map(
        (option, i) => option.words[this.choice[i]])].join(' ');
  }

  showControls() {
    this.targets = this.controls.map((values, option) => values.map((parts, value) => {
      const target = this.space.change(this.choice, option, value);
      this.showValue(parts, target, option, value);
      return target;
    }));
  }

  showValue(parts, target, option, value) {
    const {space, layouts, measure} = this;
    parts.input.checked = this.choice[option] === value;
    parts.input.disabled = !target;
    parts.row.classList.toggle('chosen', parts.input.checked);
    const row = target ? space.rows[space.placeOf(target.choice)] : -1;
    const others = target ? target.others : [];
    parts.bar.className = 'bar fill-' + (row < 0 || layouts.text('fits', row) === 'yes'
        ? others.length ? 'forward-pale' : 'forward' : 'excess');
    parts.bar.style.width = row < 0 ? '0' : 100 * measure.value[row] / this.most + '%';
    parts.measure.textContent = row < 0 ? '–' : measure.at(row);
    const difference = row < 0 ? 0 : measure.value[row] - measure.value[this.row];
    parts.difference.textContent = row < 0 || row === this.row ? ''
        : (difference < 0 ? '−' : '+') + Math.abs(difference).toFixed(measure.digits);
    parts.fill.textContent = row < 0 ? '' : layouts.text('fill', row);
    if (row < 0) {
      const wanted = this.choice.slice();
      wanted[option] = value;
      parts.note.textContent = space.errorOf(wanted);
    } else {
      parts.note.textContent = others.length ? 'with ' + others.map(
          i => `${space.options[i].name.slice(2)} ${space.options[i].values[target.choice[i]]}`)
          .join(', ') : '';
    }
  }

  /** The layout of the address, or the one that the page has all figures of. */
  readAddress() {
    const values = (readAddress().get(this.id + 'layout') || '').split(',').map(decodeText);
    const choice = this.space.options.map((option, i) => option.values.indexOf(values[i]));
    const isLayout = values.length === choice.length && !choice.includes(-1) &&
        this.space.rows[this.space.placeOf(choice)] >= 0;
    this.show(isLayout ? choice : this.space.options.map(option => option.shown));
  }
}

function addExplorer(parent, section, id) {
  new Explorer(parent, section, id);
}
