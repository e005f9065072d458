// Two reports of one kind: pairs of bars, the largest difference first.

function addPairs(parent, options, table, ends) {
  if (!table.length) return;
  const [name, first, second, difference] = table.columns;
  new Figure(parent, {
    ...options,
    draw: (figure, width) => {
      const rows = d3.range(table.length);
      const isNarrow = width < 640;
      const left = isNarrow ? 12 : widest(name.text) + 14;
      const space = Math.max(widest(first.text), widest(second.text)) + 10;
      const right = space + (isNarrow ? 0 : widest(difference.text, 600) + 14);
      const most = d3.max(first.value.concat(second.value)) || 1;
      const x = d3.scaleLinear([0, most], [left, width - right]);
      figure.legend([['forward', 'A: ' + first.name], ['backward', 'B: ' + second.name]]);
      const height = 12, step = isNarrow ? 52 : 36, top = isNarrow ? 20 : 4;
      figure.rectangles(rows.flatMap(row => [first, second].map((column, i) => ({
        x: x(0), y: top + row * step + i * (height + 2),
        width: x(column.value[row]) - x(0), height, kind: i ? 'backward' : 'forward',
        label: `${name.text[row]}, ${'AB'[i]}: ${column.text[row]} ${column.unit}, difference ` +
            difference.text[row],
      }))));
      rows.forEach(row => {
        const y = top + row * step;
        figure.svg.append('text').attr('x', isNarrow ? left : left - 10)
            .attr('y', isNarrow ? y - 5 : y + 17).attr('text-anchor', isNarrow ? 'start' : 'end')
            .text(isNarrow ? `${name.text[row]}: ${difference.text[row]}` : name.text[row]);
        [first, second].forEach((column, i) => figure.svg.append('text')
            .attr('x', x(column.value[row]) + 6).attr('y', y + 11 + i * (height + 2))
            .text(column.text[row]));
        if (!isNarrow)
          figure.svg.append('text').attr('class', 'strong').attr('x', width).attr('y', y + 17)
              .attr('text-anchor', 'end').text(difference.text[row]);
      });
      figure.svg.attr('data-from', x(0)).attr('data-to', x(most)).attr('data-most', most);
      figure.setHeight(top + rows.length * step);
    },
  });
}

function addCompare(parent, section, id) {
  for (const name of ['fit of A', 'fit of B'])
    if (section.finding(name)) add(parent, 'p', 'note', section.finding(name));
  const plan = section.table('plan');
  if (plan.length) new TableView(add(parent, 'section', 'figure'), 'Settings that differ', plan)
      .details.open = true;
  const times = section.table('step'), memory = section.table('memory');
  addPairs(parent, {id: id + 'time', heading: section.finding('step') || 'The step',
                    note: 'Seconds of a step, the largest difference first.',
                    tables: [['The step', times]]}, times);
  addPairs(parent, {id: id + 'memory', heading: section.finding('memory') || 'The fullest stage',
                    note: 'GB (1e9 bytes) of the fullest stage, the largest difference first.',
                    tables: [['The fullest stage', memory]]}, memory);
}

/** Tables of two reports: a figure for each column that differs. */
function addTablePairs(parent, section, id) {
  section.names.forEach((name, i) => {
    const table = section.table(name), unit = table.columns[1].unit;
    addPairs(parent, {
      id: `${id}pairs_${i}`,
      heading: name.includes(unit) ? name : `${name}, ${unit}`,
      note: 'The largest difference first.',
      tables: [[name, table]],
    }, table);
  });
}
