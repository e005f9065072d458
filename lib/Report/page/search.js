// A search: plans by time and memory, the best plan with one option changed, other hardware.

function addPlans(parent, section, id) {
  const tables = ['top', 'meshes', 'front', 'near misses'].map(name => [name, section.table(name)])
      .filter(([, table]) => table.length);
  if (!tables.length) return;
  const kinds = {top: 'forward', meshes: 'gathered', front: 'level1', 'near misses': 'backward'};
  const names = {top: 'best plans', meshes: 'best of each mesh', front: 'less memory or cost',
                 'near misses': 'faster, but lacks memory'};
  new Figure(parent, {
    id: id + 'plans',
    heading: section.finding('plans') || 'Plans of the search',
    note: 'Plans by the memory of the fullest stage and the seconds of a step.',
    tables: tables.map(([name, table]) => [names[name], table]),
    draw: (figure, width) => {
      const points = tables.flatMap(([name, table]) => d3.range(table.length).map(row => ({
        x: table.value('GB', row), y: table.value('seconds', row), kind: kinds[name],
        text: table.text('plan', row),
        label: `${table.text('plan', row)}: ${table.text('seconds', row)} s, ` +
            `${table.text('GB', row)} GB, ${table.text('free', row)} GB free (${names[name]})`,
      })));
      const left = 58, top = 22, height = 240;
      const pad = ([low, high]) => low === high ? [low * 0.9, high * 1.1 || 1]
          : [low - (high - low) * 0.08, high + (high - low) * 0.08];
      const x = d3.scaleLinear(pad(d3.extent(points, each => each.x)), [left, width - 16]);
      const y = d3.scaleLinear(pad(d3.extent(points, each => each.y)), [top + height, top]);
      figure.legend(tables.map(([name]) => [kinds[name], names[name]]));
      const axis = figure.svg.append('g').attr('class', 'axis')
          .attr('transform', `translate(${left},0)`)
          .call(d3.axisLeft(y).ticks(5).tickSizeOuter(0));
      axis.select('.domain').remove();
      figure.svg.append('text').attr('x', 0).attr('y', 12).text('seconds of a step');
      figure.axisBelow(x, top + height, '');
      figure.svg.append('text').attr('x', width - 16).attr('y', top + height + 34)
          .attr('text-anchor', 'end').text('GB of the fullest stage');
      const symbol = d3.symbol().size(70);
      for (const each of points) {
        figure.svg.append('path').attr('class', 'point fill-' + each.kind)
            .attr('transform', `translate(${x(each.x)},${y(each.y)})`).attr('d', symbol());
        figure.mark({x: x(each.x) - 5, y: y(each.y) - 5, width: 10, height: 10,
                     label: each.label});
      }
      placeLabels(figure.svg, points.map(each => ({x: x(each.x), y: y(each.y), text: each.text})),
                  left, width, top, top + height);
      figure.setHeight(top + height + 40);
    },
  });
}

/** Bars of differences in percent to the left and right of none. */
function addDifferences(parent, options, table, nameOf) {
  if (!table.length) return;
  new Figure(parent, {
    ...options,
    draw: (figure, width) => {
      const rows = d3.range(table.length), names = rows.map(nameOf);
      const column = table.column(options.column);
      const isNarrow = width < 640;
      const left = isNarrow ? 12 : Math.min(widest(names) + 14, width / 2);
      const space = widest(column.text) + 10;
      const bound = Math.max(d3.max(column.value, Math.abs), 1e-12);
      const [low, high] = d3.extent(column.value.concat(0));
      const x = d3.scaleLinear([low, high === low ? bound : high],
                               [left + space, width - space - 2]);
      const height = 16, step = isNarrow ? 40 : 24, top = isNarrow ? 20 : 4;
      figure.rectangles(rows.map(row => ({
        x: Math.min(x(0), x(column.value[row])), y: top + row * step,
        width: Math.abs(x(column.value[row]) - x(0)), height,
        kind: column.value[row] > 0 ? 'backward' : 'forward',
        label: table.columns.map(each => each.text[row]).filter(text => text).join(', '),
      })));
      rows.forEach(row => {
        const y = top + row * step, value = column.value[row];
        figure.svg.append('text').attr('x', isNarrow ? left : left - 10)
            .attr('y', isNarrow ? y - 4 : y + 12).attr('text-anchor', isNarrow ? 'start' : 'end')
            .text(fitText(names[row], isNarrow ? width - left : left - 12));
        figure.svg.append('text').attr('x', x(value) + (value < 0 ? -6 : 6)).attr('y', y + 12)
            .attr('text-anchor', value < 0 ? 'end' : 'start').text(column.text[row]);
      });
      figure.svg.append('line').attr('class', 'end').attr('x1', x(0)).attr('x2', x(0))
          .attr('y1', 0).attr('y2', top + rows.length * step);
      figure.setHeight(top + rows.length * step + 4);
    },
  });
}

function addSearch(parent, section, id) {
  addPlans(parent, section, id);
  const neighbours = section.table('neighbours');
  addDifferences(parent, {
    id: id + 'neighbours', column: 'time',
    heading: section.finding('neighbours') || 'The best plan with one option changed',
    note: 'Time of a step relative to the best plan.',
    tables: [['One option changed', neighbours]],
  }, neighbours, row => `${neighbours.text('option', row)} ${neighbours.text('best', row)} ` +
      neighbours.text('changed', row));
  const others = section.table('what-ifs');
  addDifferences(parent, {
    id: id + 'what-ifs', column: 'time',
    heading: section.finding('what-ifs') || 'What other hardware would give',
    note: 'Time of a token relative to the best plan.',
    tables: [['Other hardware', others]],
  }, others, row => others.text('hardware', row));
}
