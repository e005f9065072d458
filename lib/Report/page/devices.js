// The devices of a plan: a block for each stage, a row for each dp, a square for each device.

function addDevices(parent, section, id) {
  const axes = section.table('axes');
  if (!axes.length) return;
  const names = axes.column('axis').text;
  const sizes = axes.column('shown').value, strides = axes.column('stride').value;
  const links = section.table('links');
  const [pp, dp, cp, tp] = sizes;
  // A row is a node where a replica is smaller, so that many replicas are no tall column.
  const node = links.value('devices of a group', 0) || 1;
  const perRow = tp * cp < node && node % (tp * cp) === 0 && (dp * tp * cp) % node === 0
      ? node : tp * cp;
  const hidden = axes.column('devices').value[1] / dp;
  const kindOf = axis => waitKind(axes.text('link', axis), links);
  const devices = [];
  for (let p = 0; p < pp; ++p)
    for (let d = 0; d < dp; ++d)
      for (let c = 0; c < cp; ++c)
        for (let t = 0; t < tp; ++t) {
          const at = [p, d, c, t];
          devices.push({at, number: d3.sum(at, (index, axis) => index * strides[axis])});
        }
  let chosen = 0;

  /** The axis in which two devices alone differ; -1: none or several. */
  function axisBetween(a, b) {
    const differing = d3.range(4).filter(axis => a.at[axis] !== b.at[axis]);
    return differing.length === 1 ? differing[0] : -1;
  }

  function describe(device) {
    const place = names.map((name, axis) => sizes[axis] > 1 ? `${name} ${device.at[axis]}` : '')
        .filter(text => text).join(', ');
    return `device ${device.number}` + (place ? ': ' + place : '');
  }

  new Figure(parent, {
    id: id + 'devices',
    heading: section.finding('devices') || 'The devices and their links',
    note: 'A square is a device, a block a stage, a row ' +
        (perRow === tp * cp ? 'a replica' : 'a node') + '. Marked are the groups of one ' +
        'device; choose another with a pointer, or with arrows and Enter.' +
        (hidden > 1 ? ` One replica is shown, x ${hidden}.` : ''),
    tables: [['Axes of the mesh', axes], ['Links', links],
             ['What a device of the busiest stage receives in a step, GB',
              section.table('received')]],
    draw: (figure, width) => {
      const groups = names.map((name, axis) => axis).filter(axis => sizes[axis] > 1);
      figure.legend([['chosen-device', 'one device'], ...groups.map(
          axis => [kindOf(axis), `its ${names[axis]} group over ${axes.text('link', axis)}`])]);
      const columns = perRow, rows = dp * cp * tp / perRow, perReplica = tp * cp;
      const left = widest(['dp ' + (dp - 1)]) + 8, gap = 22;
      // Blocks are in lines of as many as fit with squares of 5 to 16 pixels.
      let perLine = pp, size = 0;
      for (; perLine >= 1; --perLine) {
        size = Math.floor((width - left - (perLine - 1) * gap) / perLine / columns);
        if (size >= 9 || perLine === 1) break;
      }
      size = Math.max(3, Math.min(16, size));
      const blockWidth = columns * size + gap, blockHeight = rows * size + 34;
      const list = devices.map(device => {
        const [p, d, c, t] = device.at;
        const index = d * perReplica + c * tp + t;
        return {
          device,
          x: left + (p % perLine) * blockWidth + (index % perRow) * size,
          y: 22 + Math.floor(p / perLine) * blockHeight + Math.floor(index / perRow) * size,
          width: size - 1.5, height: size - 1.5, label: describe(device),
          keys: ['device=' + device.number, 'stage=' + p],
        };
      });
      const centre = devices[chosen];
      for (const each of list) {
        const axis = axisBetween(centre, each.device);
        each.kind = each.device === centre ? 'chosen-device'
            : axis >= 0 ? kindOf(axis) : 'device';
      }
      figure.rectangles(list);
      for (let p = 0; p < pp; ++p)
        figure.svg.append('text').attr('class', 'name')
            .attr('x', left + (p % perLine) * blockWidth)
            .attr('y', 14 + Math.floor(p / perLine) * blockHeight)
            .text(textWidth('stage ' + p, 600) < blockWidth - 4 ? 'stage ' + p : String(p));
      const every = Math.max(1, Math.ceil(14 / size));
      for (let line = 0; line * perLine < pp; ++line)
        for (let row = 0; row < rows; row += every)
          figure.svg.append('text').attr('x', left - 6)
              .attr('y', 22 + line * blockHeight + row * size + Math.min(size, 12))
              .attr('text-anchor', 'end').text('dp ' + Math.floor(row * perRow / perReplica));
      const bottom = Math.ceil(pp / perLine) * blockHeight;
      figure.svg.append('text').attr('class', 'strong').attr('x', left).attr('y', bottom + 10)
          .text(fitText(describe(centre), width - left, 600));
      figure.setHeight(bottom + 20);
      figure.onSelection = key => {
        const [what, number] = key.split('=');
        const index = what !== 'device' ? -1
            : devices.findIndex(device => device.number === Number(number));
        if (index < 0 || index === chosen) return;
        chosen = index;
        const current = figure.current;
        figure.onSelection = null;
        figure.forceRedraw();
        figure.show(current);
      };
    },
  });
}
