// A run: what its log has of each step, as lines.

function addLines(parent, options, steps, series) {
  const points = series.map(({text, kind, values}) => ({text, kind, values: values.map(
      (value, row) => ({value, row, step: steps.value[row]})).filter(each => each.value !== null)}))
      .filter(each => each.values.length);
  if (!points.length) return;
  new Figure(parent, {
    ...options,
    draw: (figure, width) => {
      const left = 62, top = 10, height = 180;
      const all = points.flatMap(each => each.values);
      const x = d3.scaleLinear(d3.extent(all, each => each.step), [left, width - 16]);
      const [low, high] = d3.extent(all, each => each.value);
      const y = d3.scaleLinear(low === high ? [low - 1, high + 1] : [low, high],
                               [top + height, top]).nice(5);
      figure.legend(points.map(each => [each.kind, each.text]));
      const axis = figure.svg.append('g').attr('class', 'axis')
          .attr('transform', `translate(${left},0)`)
          .call(d3.axisLeft(y).ticks(5).tickSizeOuter(0).tickSizeInner(-(width - 16 - left)));
      axis.select('.domain').remove();
      axis.selectAll('line').attr('class', 'grid');
      for (const {values, kind, text} of points) {
        figure.svg.append('path').attr('class', 'curve stroke-' + kind)
            .attr('d', d3.line().x(each => x(each.step)).y(each => y(each.value))(values));
        for (const each of values)
          figure.mark({x: x(each.step) - 3, y: y(each.value) - 3, width: 6, height: 6,
                       label: `step ${steps.text[each.row]}: ${text} ` +
                           `${options.textOf(text, each.row)}`});
      }
      figure.axisBelow(x, top + height, '');
      figure.svg.append('text').attr('x', width - 16).attr('y', top + height + 34)
          .attr('text-anchor', 'end').text('step');
      figure.setHeight(top + height + 40);
    },
  });
}

function addRun(parent, section, id) {
  const table = section.table('steps');
  const steps = table.column('step');
  const kinds = ['forward', 'backward', 'level0', 'level1'];
  table.columns.filter(column => column.name !== 'step').forEach((column, i) => addLines(parent, {
    id: `${id}line-${i}`,
    heading: section.finding(column.name) || column.name,
    note: column.unit ? `${column.name}, ${column.unit}, by step` : `${column.name} by step`,
    tables: i ? [] : [['Steps', table]],
    textOf: (text, row) => column.text[row],
  }, steps, [{text: column.name, kind: kinds[i % kinds.length], values: column.value}]));
}
