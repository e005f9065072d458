// State on a device by the number of devices and the stage of ZeRO; the minimum memory.

const zeroColumns = ['zero=0', 'zero=1', 'zero=2', 'zero=3'];

function addStateCurves(parent, section, id, table, heading) {
  if (!table.length) return;
  const device = section.table('device');
  const capacity = device.value('GB', device.length - 1);
  const counts = table.columns[0].value;
  new Figure(parent, {
    id: id + 'state',
    heading,
    note: 'Parameters, gradients and optimizer state on a device, GB, by the number of devices ' +
        'that share them. Both axes are logarithmic.',
    tables: [['State on a device, GB', table]],
    draw: (figure, width) => {
      const columns = zeroColumns.map(name => table.column(name));
      const names = ['no ZeRO', 'ZeRO-1', 'ZeRO-2', 'ZeRO-3'];
      const values = columns.flatMap(column => column.value).concat(capacity);
      const powers = d3.range(Math.ceil(Math.log10(d3.min(values) / 1.5)),
                              Math.floor(Math.log10(d3.max(values) * 1.5)) + 1)
          .map(power => 10 ** power);
      const left = widest(powers.map(powerText)) + 14, right = widest(names, 600) + 18;
      const top = 14, height = 240;
      const x = d3.scaleLog([1, d3.max(counts)], [left, width - right]);
      const y = d3.scaleLog([d3.min(values) / 1.5, d3.max(values) * 1.5], [top + height, top]);
      const grid = figure.svg.append('g').attr('class', 'axis');
      const apart = Math.ceil(powers.length * 18 / height);
      for (const power of powers.filter((each, i) => i % apart === 0)) {
        const at = y(power);
        grid.append('line').attr('class', 'grid').attr('x1', left).attr('x2', width - right)
            .attr('y1', at).attr('y2', at);
        grid.append('text').attr('x', left - 6).attr('y', at + 4).attr('text-anchor', 'end')
            .text(powerText(power));
      }
      const ticks = d3.range(0, Math.floor(Math.log2(d3.max(counts))) + 1)
          .map(power => 2 ** power);
      const every = Math.ceil(ticks.length * 48 / (width - left - right));
      figure.axisBelow(x, top + height, '', ticks.filter((tick, i) => i % every === 0));
      figure.svg.append('text').attr('x', width - right).attr('y', top + height + 36)
          .attr('text-anchor', 'end').text('devices');
      figure.svg.append('line').attr('class', 'end').attr('x1', left).attr('x2', width - right)
          .attr('y1', y(capacity)).attr('y2', y(capacity));
      figure.svg.append('text').attr('class', 'halo strong').attr('x', left + 4)
          .attr('y', y(capacity) - 6)
          .text(`a device, ${device.text('GB', device.length - 1)} GB`);
      const line = d3.line().x((value, row) => x(counts[row])).y(value => y(value));
      const ends = columns.map((column, zero) => y(column.value[column.value.length - 1]) + 4);
      for (let zero = 1; zero < ends.length; ++zero)
        ends[zero] = Math.max(ends[zero], ends[zero - 1] + 15);
      columns.forEach((column, zero) => {
        figure.svg.append('path').attr('class', 'curve stroke-zero' + zero)
            .attr('d', line(column.value));
        figure.svg.append('text').attr('class', 'strong').attr('x', width - right + 8)
            .attr('y', ends[zero]).text(names[zero]);
        column.value.forEach((value, row) => {
          figure.svg.append('circle').attr('class', 'point fill-zero' + zero).attr('r', 3)
              .attr('cx', x(counts[row])).attr('cy', y(value));
          const fits = value <= capacity ? '' : ', more than a device has';
          figure.mark({x: x(counts[row]) - 5, y: y(value) - 5, width: 10, height: 10,
                       label: `${names[zero]} over ${table.columns[0].text[row]}: ` +
                           `${column.text[row].replace('*', '').trim()} GB of state${fits}`});
        });
      });
      figure.setHeight(top + height + 42);
    },
  });
}

/** Bytes of the whole model by category. */
function addMinimumMemory(parent, section, id) {
  const table = section.table('minimum memory');
  if (!table.length) return;
  const device = section.table('device');
  const capacity = device.value('GB', device.length - 1);
  const kinds = ['parameters', 'gradients', 'optimizer', 'activations'];
  new Figure(parent, {
    id: id + 'minimum',
    heading: section.finding('minimum memory') || 'The whole model',
    note: 'Bytes of the whole model before any layout; activations by the rule of thumb ' +
        '12 L B S d, without recomputation. Marks are devices.',
    tables: [['The whole model', table], ['A device, GB of memory', device]],
    draw: (figure, width) => {
      const names = table.columns[0].text, column = table.column('GB (1e9)');
      const last = table.length - 1;
      const x = d3.scaleLinear([0, Math.max(column.value[last], capacity)], [12, width - 12]);
      figure.legend(kinds.map((kind, row) => [kind, `${names[row]} ${column.text[row]} GB`]));
      let begin = 0;
      figure.rectangles(kinds.map((kind, row) => {
        const end = begin + column.value[row];
        const box = {x: x(begin), y: 6, width: x(end) - x(begin), height: 30, kind,
                     text: x(end) - x(begin) > textWidth(column.text[row]) + 6
                         ? column.text[row] : '',
                     label: `${names[row]}: ${column.text[row]} GB`};
        begin = end;
        return box;
      }));
      if (x(capacity) - x(0) > 6)
        for (let at = capacity; at <= column.value[last]; at += capacity)
          figure.svg.append('line').attr('class', 'limit').attr('x1', x(at)).attr('x2', x(at))
              .attr('y1', 2).attr('y2', 42);
      figure.axisBelow(x, 46, '');
      figure.svg.append('text').attr('x', width - 12).attr('y', 82).attr('text-anchor', 'end')
          .text('GB');
      figure.setHeight(88);
    },
  });
}
