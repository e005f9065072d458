// Tables below figures: the texts of the document, in pages where there are many rows.

const rowsOfPage = 500;

class TableView {
  constructor(parent, caption, table, owner) {
    this.table = table;
    this.owner = owner;
    this.details = add(parent, 'details', 'table');
    this.summary = add(this.details, 'summary', '', caption);
    this.rows = d3.range(table.length);
    this.page = 0;
    // Small tables are there at once, so that a search of the page finds their texts.
    if (table.length <= rowsOfPage) this.build();
    else this.details.addEventListener('toggle', () => this.body || this.build());
  }

  needsControls() { return this.table.length > rowsOfPage; }
  get pageSize() { return rowsOfPage; }

  open() {
    this.details.open = true;
    if (!this.body) this.build();
    this.summary.focus();
  }

  build() {
    if (this.needsControls()) this.addControls();
    const frame = add(this.details, 'div', 'frame');
    frame.tabIndex = 0;
    frame.setAttribute('role', 'group');
    frame.setAttribute('aria-label', this.summary.textContent);
    const node = add(frame, 'table');
    const head = add(add(node, 'thead'), 'tr');
    for (const column of this.table.columns) {
      const isUnitKnown = !column.unit || column.name.includes(column.unit);
      const cell = add(head, 'th', this.isNumber(column) ? 'number' : '',
                       isUnitKnown ? column.name : `${column.name}, ${column.unit}`);
      cell.scope = 'col';
    }
    this.body = add(node, 'tbody');
    this.fill();
  }

  isNumber(column) { return column.value.some(value => value !== null); }

  addControls() {
    const bar = add(this.details, 'div', 'pages');
    const label = add(bar, 'label', '', 'rows that have ');
    const filter = add(label, 'input');
    filter.type = 'search';
    filter.addEventListener('input', () => {
      this.filter(filter.value.toLowerCase().split(/\s+/).filter(word => word));
      this.page = 0;
      this.fill();
    });
    for (const [text, step] of [['previous', -1], ['next', 1]]) {
      const button = add(bar, 'button', '', text);
      button.type = 'button';
      button.addEventListener('click', () => {
        const last = Math.max(0, Math.ceil(this.rows.length / this.pageSize) - 1);
        this.page = Math.min(last, Math.max(0, this.page + step));
        this.fill();
      });
    }
    this.position = add(bar, 'span', 'position');
    this.position.setAttribute('role', 'status');
  }

  matches(row, words) {
    const text = this.table.columns.map(column => column.at(row)).join(' ').toLowerCase();
    return words.every(word => text.includes(word));
  }

  filter(words) {
    this.rows = d3.range(this.table.length).filter(row => this.matches(row, words));
  }

  /** Shows the table's rows anew. */
  refresh() {
    this.rows = d3.range(this.table.length);
    if (this.body) this.fill();
  }

  fillRow(line, row) {
    for (const column of this.table.columns)
      add(line, 'td', this.isNumber(column) ? 'number' : '', column.at(row));
  }

  fill() {
    const first = this.page * this.pageSize;
    const shown = this.rows.slice(first, first + this.pageSize);
    this.body.replaceChildren();
    for (const row of shown) this.fillRow(add(this.body, 'tr'), row);
    if (this.position)
      this.position.textContent = this.rows.length
          ? `rows ${first + 1} to ${first + shown.length} of ${this.rows.length}` : 'no row';
  }
}
