// Rooflines: kernels below the ceilings of arithmetic and memory, the step below those of links.

/** Places labels beside points where none covers another; others are left to pointer and keys. */
function placeLabels(svg, points, left, width, top, bottom, others = []) {
  const taken = points.map(({x, y}) => ({x: x - 5, y: y - 5, width: 10, height: 10}))
      .concat(others);
  const meets = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width &&
      a.y < b.y + b.height && b.y < a.y + a.height;
  for (const point of points) {
    const length = textWidth(point.text);
    const places = [[8, 4, 'start'], [-8, 4, 'end'], [0, -9, 'middle'], [0, 18, 'middle']];
    for (const [dx, dy, anchor] of places) {
      const x = point.x + dx - (anchor === 'end' ? length : anchor === 'middle' ? length / 2 : 0);
      const box = {x, y: point.y + dy - 11, width: length, height: 14};
      if (x < left || x + length > width || box.y < top || box.y + 14 > bottom ||
          taken.some(other => meets(box, other))) continue;
      taken.push(box);
      svg.append('text').attr('class', 'halo').attr('x', point.x + dx).attr('y', point.y + dy)
          .attr('text-anchor', anchor).text(point.text);
      break;
    }
  }
}

function addRoofline(parent, section, id) {
  const kernels = section.table('kernels'), ceilings = section.table('ceilings');
  const steps = section.table('step points'), links = section.table('links');
  if (!kernels.length || !ceilings.length) return;
  const ceilingKind = row => ceilings.value('TFLOP/s', row) ? 'ideal'
      : ceilings.text('kind', row) === 'memory' ? 'traffic'
      : waitKind(ceilings.text('ceiling', row), links);
  const ceilingText = row => ceilings.value('TFLOP/s', row)
      ? ceilings.text('TFLOP/s', row) + ' TFLOP/s' : ceilings.text('GB/s', row) + ' GB/s';
  new Figure(parent, {
    id: id + 'roofline',
    heading: section.finding('roofline') || 'Kernels below their ceilings',
    note: 'Circles are kernels of a block by the bytes that they move in memory, diamonds the ' +
        'step by the bytes that a device receives over a link. Ceilings are those of the data ' +
        'sheet.',
    tables: [['Kernels of a block', kernels], ['The step over each link', steps],
             ['Ceilings', ceilings]],
    draw: (figure, width) => {
      const points = d3.range(kernels.length).map(row => ({
        x: kernels.value('FLOPs a byte', row), y: kernels.value('TFLOP/s', row),
        kind: ['matmul', 'attention'].includes(kernels.text('kind', row)) ? 'forward' : 'traffic',
        text: kernels.text('kernel', row),
        label: `${kernels.text('kernel', row)}, ${kernels.text('pass', row)}: ` +
            `${kernels.text('us', row)} us, ${kernels.text('TFLOP/s', row)} TFLOP/s at ` +
            `${kernels.text('FLOPs a byte', row)} FLOPs a byte, ` +
            `${kernels.text('of the peak', row)} of the peak`,
      }));
      const diamonds = d3.range(steps.length).map(row => ({
        x: steps.value('FLOPs a byte', row), y: steps.value('TFLOP/s', row), isStep: true,
        kind: waitKind(steps.text('the step over', row), links),
        text: 'step, ' + steps.text('the step over', row),
        label: `the step: ${steps.text('TFLOP/s', row)} TFLOP/s at ` +
            `${steps.text('FLOPs a byte', row)} FLOPs a byte of ${steps.text('the step over', row)}`,
      }));
      const all = points.concat(diamonds).filter(each => each.x > 0 && each.y > 0);
      const peak = d3.max(ceilings.column('TFLOP/s').value);
      const powers = (low, high) => d3.range(Math.ceil(Math.log10(low)),
                                             Math.floor(Math.log10(high)) + 1)
          .map(power => 10 ** power);
      const [least, most] = [d3.min(all, each => each.y) / 2, peak * 1.5];
      const rates = powers(least, most);
      const left = widest(rates.map(powerText)) + 14, top = 26;
      const height = Math.min(340, Math.max(240, width * 0.45));
      const x = d3.scaleLog([d3.min(all, each => each.x) / 2, d3.max(all, each => each.x) * 3],
                            [left, width - 14]);
      const y = d3.scaleLog([least, most], [top + height, top]);
      figure.legend([['forward', 'matmuls, attention'], ['traffic', 'other kernels'],
                     ...diamonds.map(each => [each.kind, each.text])]
          .concat(width < 560 ? d3.range(ceilings.length).map(row => [ceilingKind(row),
              `${ceilings.text('ceiling', row)} ${ceilingText(row)}`]) : []));
      const grid = figure.svg.append('g').attr('class', 'axis');
      for (const value of rates) {
        grid.append('line').attr('class', 'grid').attr('x1', left).attr('x2', width - 14)
            .attr('y1', y(value)).attr('y2', y(value));
        grid.append('text').attr('x', left - 6).attr('y', y(value) + 4)
            .attr('text-anchor', 'end').text(powerText(value));
      }
      const ticks = powers(...x.domain());
      const room = Math.ceil(ticks.length * 64 / (width - left));
      figure.axisBelow(x, top + height, '', ticks.filter((value, i) => i % room === 0));
      figure.svg.append('text').attr('x', 0).attr('y', 12).text('TFLOP/s');
      figure.svg.append('text').attr('x', width - 14).attr('y', top + height + 36)
          .attr('text-anchor', 'end').text('FLOPs a byte');
      const names = [];
      for (let row = 0; row < ceilings.length; ++row) {
        const name = ceilings.text('ceiling', row);
        const limit = ceilings.value('TFLOP/s', row), rate = ceilings.value('GB/s', row);
        const kind = ceilingKind(row);
        // A rate in GB/s times FLOPs a byte is GFLOP/s.
        const at = value => limit || Math.min(peak, rate * value / 1e3);
        const from = limit ? x.domain()[0]
            : Math.max(x.domain()[0], y.domain()[0] * 1e3 / rate);
        const to = limit ? x.domain()[1] : peak * 1e3 / rate;
        if (from >= x.domain()[1] || to <= from) continue;
        const last = Math.min(to, x.domain()[1]);
        figure.svg.append('line').attr('class', 'ceiling stroke-' + kind)
            .attr('x1', x(from)).attr('y1', y(at(from))).attr('x2', x(last)).attr('y2', y(at(last)));
        const text = `${name} ${ceilingText(row)}`;
        figure.mark({x: (x(from) + x(last)) / 2 - 4, y: (y(at(from)) + y(at(last))) / 2 - 4,
                     width: 8, height: 8, label: text});
        names.push([limit, text, x(from), y(at(from)), x(last), y(at(last))]);
      }
      const symbol = d3.symbol().size(60);
      for (const each of all) {
        const kind = `point fill-${each.kind}`;
        const place = `translate(${x(each.x)},${y(each.y)})`;
        figure.svg.append('path').attr('class', kind).attr('transform', place)
            .attr('d', symbol.type(each.isStep ? d3.symbolDiamond : d3.symbolCircle)());
        figure.mark({x: x(each.x) - 5, y: y(each.y) - 5, width: 10, height: 10,
                     label: each.label});
      }
      // The names of lines with a slope are along them, where there is room.
      const taken = [];
      for (const [isLevel, text, x1, y1, x2, y2] of names) {
        const long = textWidth(text), slope = Math.atan2(y2 - y1, x2 - x1);
        if (isLevel) {
          taken.push({x: width - 14 - long, y: y1 - 19, width: long, height: 16});
          figure.svg.append('text').attr('class', 'halo').attr('x', width - 14).attr('y', y1 - 7)
              .attr('text-anchor', 'end').text(text);
          continue;
        }
        if (width < 560 || Math.hypot(x2 - x1, y2 - y1) < long + 20) continue;
        const middle = [(x1 + x2) / 2, (y1 + y2) / 2];
        figure.svg.append('text').attr('class', 'halo').attr('text-anchor', 'middle')
            .attr('transform', `translate(${middle}) rotate(${slope * 180 / Math.PI})`)
            .attr('y', -5).text(text);
        for (let at = -long / 2; at <= long / 2; at += 8)
          taken.push({x: middle[0] + at * Math.cos(slope) - 9,
                      y: middle[1] + at * Math.sin(slope) - 18, width: 18, height: 20});
      }
      const seen = new Set();
      placeLabels(figure.svg, all.filter(each => !seen.has(each.text) && seen.add(each.text))
          .map(each => ({x: x(each.x), y: y(each.y), text: each.text})), left, width, top,
          top + height, taken);
      figure.setHeight(top + height + 42);
    },
  });
}
