// Memory of a device: a bar for each stage, by category, up to the end of the device.

const memoryKinds = ['parameters', 'gradients', 'optimizer', 'activations', 'gathered',
                     'communication', 'logits', 'workspace', 'context', 'margin'];

/** The stages of a row: "0-3" or "2". */
function stagesOf(text) {
  const [first, last] = text.split('-').map(Number);
  return d3.range(first, (last === undefined ? first : last) + 1);
}

function addMemory(parent, section, id) {
  const table = section.table('memory');
  if (!table.length) return;
  const device = section.table('device');
  const categories = section.table('categories').column('category').text;
  const columns = table.columns.slice(2, 2 + memoryKinds.length);
  const capacity = device.value('GB', device.length - 1);
  return new Figure(parent, {
    id: id + 'memory',
    heading: section.finding('memory') || 'Memory of a device at its peak',
    note: 'GB (1e9 bytes) of a device at its peak, by stage.',
    tables: [['Memory by stage, GB', table], ['Largest tensors', section.table('largest tensors')],
             ['A device, GB', device], ['Categories', section.table('categories')]],
    draw: (figure, width) => {
      const names = table.column('stage').text.map(
          text => (text.includes('-') ? 'stages ' : 'stage ') + text);
      const totals = table.column('total'), free = table.column('free');
      const notes = names.map((name, row) => free.value[row] >= 0
          ? `${free.text[row]} free` : `${free.text[row].replace('-', '')} too much`);
      const used = totals.text.map(text => text + ' used');
      const isNarrow = width < 640;
      const left = isNarrow ? 20 : widest(names, 600) + 12;
      const right = isNarrow ? 20 : widest(notes) + 14;
      const most = Math.max(capacity, d3.max(totals.value));
      const x = d3.scaleLinear([0, most], [left, width - right]);
      const height = 26, step = isNarrow ? 54 : 36, top = isNarrow ? 24 : 6;
      figure.legend(categories.map((name, i) => [memoryKinds[i], name])
          .filter((entry, i) => columns[i].value.some(value => value > 0))
          .concat(d3.max(totals.value) > capacity ? [['excess', 'does not fit']] : []));
      const rows = names.map((name, row) => ({name, row, y: top + row * step}));
      const track = figure.svg.append('g');
      const list = [];
      for (const {name, row, y} of rows) {
        track.append('rect').attr('class', 'track').attr('x', x(0)).attr('y', y)
            .attr('width', x(capacity) - x(0)).attr('height', height);
        let begin = 0;
        columns.forEach((column, i) => {
          const end = begin + column.value[row];
          const inside = end <= capacity && x(end) - x(begin) > textWidth(column.text[row]) + 6;
          if (end > begin)
            list.push({x: x(begin), y, width: x(end) - x(begin), height, kind: memoryKinds[i],
                       text: inside ? column.text[row] : '',
                       label: `${name}: ${categories[i]} ${column.text[row]} GB`,
                       keys: stagesOf(table.text('stage', row)).map(stage => 'stage=' + stage)});
          begin = end;
        });
        if (begin > capacity)
          list.push({x: x(capacity), y, width: x(begin) - x(capacity), height, kind: 'excess',
                     label: `${name}: ${notes[row]}`});
      }
      figure.rectangles(list);
      for (const {name, row, y} of rows) {
        const line = figure.svg.append('text').attr('class', 'name');
        if (isNarrow) {
          line.attr('x', 0).attr('y', y - 6)
              .text(`${name}: ${used[row]}, ${notes[row]}`);
          continue;
        }
        line.attr('x', left - 10).attr('y', y + 17).attr('text-anchor', 'end').text(name);
        const end = x(totals.value[row]) + 8;
        if (free.value[row] > 0 && end + textWidth(used[row], 600) < x(capacity * 0.75) - 6)
          figure.svg.append('text').attr('class', 'strong').attr('x', end).attr('y', y + 17)
              .text(used[row]);
        figure.svg.append('text').attr('x', width).attr('y', y + 17)
            .attr('text-anchor', 'end').text(notes[row]);
      }
      const bottom = top + rows.length * step - (step - height) + 6;
      for (let i = 0; i < device.length; ++i)
        figure.svg.append('line').attr('class', i + 1 < device.length ? 'limit' : 'end')
            .attr('x1', x(device.value('GB', i))).attr('x2', x(device.value('GB', i)))
            .attr('y1', top - 4).attr('y2', bottom);
      figure.axisBelow(x, bottom, '');
      let line = bottom + 36, before = -Infinity;
      for (let i = 0; i < device.length; ++i) {
        const text = `${device.text('mark', i)} ${device.text('GB', i)} GB`;
        const length = textWidth(text, 600);
        const from = Math.max(0, Math.min(width - length, x(device.value('GB', i)) - length / 2));
        if (from < before + 8) line += 16;
        before = from + length;
        figure.svg.append('text').attr('class', 'strong').attr('x', from).attr('y', line)
            .text(text);
      }
      figure.svg.attr('data-from', x(0)).attr('data-to', x(most)).attr('data-most', most);
      figure.setHeight(line + 8);
    },
  });
}
