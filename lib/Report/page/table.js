// Tables below figures: the texts of the document, in pages where there are many rows.

const rowsOfPage = 500;

class TableView {
  constructor(parent, caption, table) {
    this.table = table;
    this.details = add(parent, 'details', 'table');
    this.summary = add(this.details, 'summary', '', caption);
    this.rows = d3.range(table.length);
    this.page = 0;
    // Small tables are there at once, so that a search of the page finds their texts.
    if (table.length <= rowsOfPage) this.build();
    else this.details.addEventListener('toggle', () => this.body || this.build());
  }

  open() {
    this.details.open = true;
    if (!this.body) this.build();
    this.summary.focus();
  }

  build() {
    if (this.table.length > rowsOfPage) this.addControls();
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
      const words = filter.value.toLowerCase().split(/\s+/).filter(word => word);
      this.rows = d3.range(this.table.length).filter(row => {
        const text = this.table.columns.map(column => column.text[row]).join(' ').toLowerCase();
        return words.every(word => text.includes(word));
      });
      this.page = 0;
      this.fill();
    });
    for (const [text, step] of [['previous', -1], ['next', 1]]) {
      const button = add(bar, 'button', '', text);
      button.type = 'button';
      button.addEventListener('click', () => {
        const last = Math.max(0, Math.ceil(this.rows.length / rowsOfPage) - 1);
        this.page = Math.min(last, Math.max(0, this.page + step));
        this.fill();
      });
    }
    this.position = add(bar, 'span', 'position');
    this.position.setAttribute('role', 'status');
  }

  fill() {
    const first = this.page * rowsOfPage;
    const shown = this.rows.slice(first, first + rowsOfPage);
    this.body.replaceChildren();
    for (const row of shown) {
      const line = add(this.body, 'tr');
      for (const column of this.table.columns)
        add(line, 'td', this.isNumber(column) ? 'number' : '', column.text[row]);
    }
    if (this.position)
      this.position.textContent = this.rows.length
          ? `rows ${first + 1} to ${first + shown.length} of ${this.rows.length}` : 'no row';
  }
}
