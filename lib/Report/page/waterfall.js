// A step from the model's FLOPs at the peak to its end, by what it waits for.

/** The colour of what a part waits for; links have a colour by their level. */
function waitKind(resource, links) {
  const known = {'MFU': 'ideal', 'compute': 'lost', 'memory bandwidth': 'traffic',
                 'bubble': 'empty', 'host': 'host', 'host link': 'host', 'fixed': 'fixed',
                 'stragglers': 'fixed'};
  const level = links.column('link').text.indexOf(resource);
  return level >= 0 ? 'level' + Math.min(level, 2) : known[resource] || 'fixed';
}

function addWaterfall(parent, section, id) {
  const table = section.table('waterfall');
  if (!table.length) return;
  const links = section.table('links');
  const unit = table.column('seconds').unit;
  return new Figure(parent, {
    id: id + 'time',
    heading: section.finding('waterfall') || 'The step',
    note: 'The time of a step, from the model\'s FLOPs at the peak of the device to its end.',
    tables: [['The step', section.table('step')], ['The parts of the figure', table]],
    draw: (figure, width) => {
      const parts = table.column('part').text;
      const columns = ['seconds', 'share', 'waits for'].filter(name => table.has(name))
          .map(name => table.column(name));
      const isNarrow = width < 720;
      const left = isNarrow ? 20 : widest(parts) + 14;
      const widths = columns.map(column => widest(column.text, 600) + 18);
      const right = isNarrow ? 20 : d3.sum(widths);
      const begins = table.column('begin').value, seconds = table.column('seconds').value;
      const most = d3.max(begins, (begin, row) => Math.max(begin, begin + seconds[row]));
      const x = d3.scaleLinear([0, most], [left, width - right]);
      const height = 18, step = isNarrow ? 44 : 26, top = isNarrow ? 20 : 4;
      const list = parts.map((part, row) => {
        const end = begins[row] + seconds[row];
        return {x: x(Math.min(begins[row], end)), y: top + row * step,
                width: Math.abs(x(end) - x(begins[row])), height,
                kind: waitKind(table.text('waits for', row), links),
                label: `${part}: ` + columns.map((column, i) =>
                    column.text[row] + (i ? '' : ' ' + unit)).join(', '),
                keys: ['wait=' + table.text('waits for', row)]};
      });
      const bottom = top + parts.length * step;
      for (const each of list.slice(1))
        figure.svg.append('line').attr('class', 'step').attr('x1', each.x).attr('x2', each.x)
            .attr('y1', each.y - step + height).attr('y2', each.y);
      figure.rectangles(list);
      parts.forEach((part, row) => {
        const y = top + row * step;
        if (isNarrow) {
          const numbers = columns.slice(0, -1).map((column, i) =>
              column.text[row] + (i ? '' : ' ' + unit)).join(', ');
          figure.svg.append('text').attr('x', 0).attr('y', y - 5)
              .text(fitText(`${part}: ${numbers}`, width));
          return;
        }
        figure.svg.append('text').attr('x', left - 10).attr('y', y + 13)
            .attr('text-anchor', 'end').text(part);
        let at = width - right;
        columns.forEach((column, i) => {
          const isText = i === columns.length - 1;
          figure.svg.append('text').attr('class', i ? '' : 'strong')
              .attr('x', isText ? at + 18 : at + widths[i]).attr('y', y + 13)
              .attr('text-anchor', isText ? 'start' : 'end').text(column.text[row]);
          at += widths[i];
        });
      });
      figure.axisBelow(x, bottom, '');
      figure.svg.append('text').attr('x', x(most)).attr('y', bottom + 34)
          .attr('text-anchor', 'end').text(unit === 's' ? 'seconds' : unit);
      figure.svg.attr('data-from', x(0)).attr('data-to', x(most)).attr('data-most', most);
      figure.setHeight(bottom + 40);
    },
  });
}
