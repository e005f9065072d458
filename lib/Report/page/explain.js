// Explanations: figures of computed rows. A slider chooses among the values of a column.

/** The rows of a table in which the columns of these names have these texts, without them; null if
    its first columns have other names. */
function chooseRows(table, names, texts) {
  if (!names.every((name, i) => table.columns[i] && table.columns[i].name === name)) return null;
  const rows = d3.range(table.length).filter(
      row => texts.every((text, i) => table.columns[i].text[row] === text));
  const chosen = new Table(null);
  chosen.columns = table.columns.slice(names.length).map(column => column.slice(rows));
  return chosen;
}

/** A slider over texts; calls back with the index of the chosen one. */
function addChoice(parent, name, texts, index, change) {
  const label = add(parent, 'label', 'range', name + ' ');
  const input = add(label, 'input');
  Object.assign(input, {type: 'range', min: 0, max: texts.length - 1, step: 1});
  input.value = index;
  const output = add(label, 'output', 'value');
  const show = at => {
    output.textContent = texts[at];
    input.setAttribute('aria-valuetext', texts[at]);
  };
  show(index);
  input.addEventListener('input', () => {
    show(Number(input.value));
    change(Number(input.value));
  });
}

/** True if a column has numbers. */
function isNumeric(column) { return column.value.some(value => value !== null); }

/** The columns that are parts of a bar: numbers of one unit, but their sum. */
function partsOf(table) {
  const numbers = table.columns.filter(isNumeric);
  const unit = numbers.length ? numbers[0].unit : '';
  return numbers.filter(column => column.unit === unit && unit &&
      !['sum', 'total'].includes(column.name));
}

/** A bar for each row, with a part for each column in the colours `options.kinds`, and the device's
    end if it is near. */
function addStack(parent, section, options, table) {
  const parts = partsOf(table);
  const kinds = options.kinds || (parts.length > 1 ? memoryKinds : ['forward']);
  const device = section.table('device');
  const sum = table.columns.find(column => ['sum', 'total'].includes(column.name)) || parts[0];
  const limits = parts[0].unit === 'GB' ? d3.range(device.length) : [];
  new Figure(parent, {
    ...options,
    draw: (figure, width) => {
      const names = table.columns[0].text.map(text => isNumeric(table.columns[0]) ? '' : text);
      const isNarrow = width < 640;
      const left = isNarrow ? 12 : Math.min(widest(names) + 14, width / 2);
      const right = widest(sum.text, 600) + 18;
      const totals = d3.range(table.length).map(row => d3.sum(parts, part => part.value[row]));
      const most = d3.max(totals) || 1;
      const x = d3.scaleLinear([0, most], [left, width - right]);
      if (parts.length > 1) figure.legend(parts.map((part, i) => [kinds[i], part.name]));
      const height = 22, step = isNarrow ? 46 : 30, top = isNarrow ? 22 : 4;
      const list = [];
      names.forEach((name, row) => {
        let begin = 0;
        parts.forEach((part, i) => {
          const end = begin + part.value[row];
          const length = x(end) - x(begin);
          if (end > begin)
            list.push({x: x(begin), y: top + row * step, width: length, height, kind: kinds[i],
                       text: parts.length > 1 && length > textWidth(part.text[row]) + 6
                           ? part.text[row] : '',
                       label: (name ? name + ': ' : '') +
                           `${part.name} ${part.text[row]} ${part.unit}`});
          begin = end;
        });
        if (!begin)
          figure.mark({x: x(0), y: top + row * step, width: 2, height,
                       label: `${name}: ${sum.text[row]}`});
      });
      figure.rectangles(list);
      names.forEach((name, row) => {
        const y = top + row * step;
        figure.svg.append('text').attr('x', isNarrow ? left : left - 10)
            .attr('y', isNarrow ? y - 5 : y + 15).attr('text-anchor', isNarrow ? 'start' : 'end')
            .text(fitText(name, isNarrow ? width - 20 : left - 12));
        figure.svg.append('text').attr('class', 'strong').attr('x', x(totals[row]) + 6)
            .attr('y', y + 15).text(sum.text[row]);
      });
      const bottom = top + table.length * step;
      for (const row of limits.filter(each => device.value('GB', each) <= most)) {
        const at = x(device.value('GB', row));
        figure.svg.append('line').attr('class', 'limit').attr('x1', at).attr('x2', at)
            .attr('y1', 0).attr('y2', bottom);
        figure.mark({x: at - 2, y: 0, width: 4, height: bottom,
                     label: `${device.text('mark', row)}: ${device.text('GB', row)} GB`});
      }
      figure.svg.attr('data-from', x(0)).attr('data-to', x(most)).attr('data-most', most);
      figure.setHeight(bottom + 6);
    },
  });
}

/** A grid of texts: sums that are not complete have a sigma, and what is not there is empty. */
function addCells(parent, options, table) {
  const names = table.columns[0].text, columns = table.columns.slice(1);
  new Figure(parent, {
    ...options,
    draw: (figure, width) => {
      const left = Math.min(widest(names, 600) + 12, width / 2);
      const size = (width - left - 2) / columns.length, height = 26, top = 20;
      if (size > widest(columns.map(column => column.name)) + 4)
        columns.forEach((column, i) => figure.svg.append('text')
            .attr('x', left + (i + 0.5) * size).attr('y', 13).attr('text-anchor', 'middle')
            .text(column.name));
      const list = [];
      names.forEach((name, row) => {
        figure.svg.append('text').attr('class', 'name').attr('x', left - 10)
            .attr('y', top + row * (height + 2) + 17).attr('text-anchor', 'end')
            .text(fitText(name, left - 12, 600));
        columns.forEach((column, i) => {
          const text = column.text[row];
          list.push({x: left + i * size, y: top + row * (height + 2), width: size - 1, height,
                     kind: !text ? 'empty' : text.startsWith('Σ') ? 'forward-pale' : 'forward',
                     text: text && size > textWidth(text) + 6 ? text : '',
                     label: `${name}, ${column.name}: ${text || 'nothing'}`});
        });
      });
      figure.rectangles(list);
      figure.setHeight(top + names.length * (height + 2));
    },
  });
}

/** Lines of all columns of numbers over the first. */
function addCurves(parent, options, table) {
  const [first, ...others] = table.columns;
  const kinds = ['forward', 'backward', 'level0', 'weights', 'level1', 'host', 'traffic', 'fixed'];
  addLines(parent, {...options, across: first.name},
           others.map((column, i) => ({text: column.name, kind: kinds[i % kinds.length], column,
                                       steps: first})));
}

/** A section whose tables and findings can be changed. */
function copySection(section) {
  const copy = new Section({kind: section.kind, title: section.title, tables: {}});
  copy.tables = new Map(section.tables);
  copy.findings = new Map(section.findings);
  return copy;
}

/** The figures of a plan. Each reads its own table by the figure's name, and further ones. */
const planFigures = {pipeline: addPipeline, devices: addDevices, roofline: addRoofline};

function addExplained(parent, section, options, kind, table) {
  const {id, heading} = options;
  if (kind === 'stack') addStack(parent, section, options, table);
  else if (kind === 'cells') addCells(parent, options, table);
  else if (kind === 'curves') addCurves(parent, options, table);
  else if (kind === 'state') addStateCurves(parent, section, id, table, heading);
  else if (kind in planFigures) {
    const view = copySection(section);
    view.tables.set(options.tables[0][0], table);
    view.findings.set(kind, heading);
    planFigures[kind](parent, view, id + '-');
  } else {
    const node = add(parent, 'section', 'figure');
    add(node, headingOfFigures, '', heading);
    if (options.note) add(node, 'p', 'note', options.note);
    new TableView(node, options.tables[0][0], table).details.open = true;
  }
}

/** A figure with a slider for each of the first columns of its table. Tables that it reads in
    addition and that begin with the same columns have the rows of the chosen values too. */
function addWithChoices(parent, section, options, kind, table, chosen) {
  const names = chosen.map((text, i) => table.columns[i].name);
  const values = chosen.map((text, i) => [...new Set(table.columns[i].text)]);
  const indices = chosen.map((text, i) => Math.max(0, values[i].indexOf(text)));
  const host = add(parent, 'div', 'chosen');
  const controls = add(parent, 'div', 'controls');
  const draw = () => {
    for (const figure of allFigures.filter(each => host.contains(each.node)))
      allFigures.splice(allFigures.indexOf(figure), 1);
    host.replaceChildren();
    const texts = indices.map((index, i) => values[i][index]);
    const slice = chooseRows(table, names, texts);
    if (!slice.length) {
      add(host, headingOfFigures, '', options.heading);
      add(host, 'p', 'note', 'These values do not go together.');
      return;
    }
    const view = copySection(section);
    for (const [name, other] of section.tables)
      view.tables.set(name, chooseRows(other, names, texts) || other);
    addExplained(host, view, {...options, tables: [[options.tables[0][0], slice]]}, kind, slice);
    for (const figure of allFigures.filter(each => host.contains(each.node))) figure.redraw();
  };
  draw();
  chosen.forEach((text, i) => addChoice(controls, table.columns[i].name, values[i], indices[i],
                                        index => {
    indices[i] = index;
    draw();
  }));
  new TableView(parent, 'All values', table);
}

function addExplanation(parent, section, id) {
  const figures = section.table('figures'), chosen = section.table('chosen');
  for (let row = 0; row < figures.length; ++row) {
    const name = figures.text('figure', row), kind = figures.text('kind', row);
    const table = section.table(name);
    if (!table.length) continue;
    const heading = section.finding(name) || name;
    const options = {id: `${id}explained_${row}`, heading, note: figures.text('note', row),
                     tables: [[name, table]]};
    const values = d3.range(chosen.length).filter(each => chosen.text('figure', each) === name)
        .map(each => chosen.text('value', each));
    const node = add(parent, 'div', 'explained');
    if (values.length) addWithChoices(node, section, options, kind, table, values);
    else addExplained(node, section, options, kind, table);
  }
  // Tables that figures read in addition to their own.
  const own = [...figures.column('figure').text, 'figures', 'chosen', 'notes'];
  const more = section.names.filter(name => !own.includes(name));
  if (more.length) {
    const node = add(parent, 'section', 'figure');
    for (const name of more) new TableView(node, name, section.table(name));
  }
  for (const text of section.table('notes').column('note').text) add(parent, 'p', 'note', text);
}
