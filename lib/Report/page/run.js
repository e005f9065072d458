// A run: what its log has of each step, as lines.

/** A figure of series {text, kind, column, steps}; what is missing interrupts a line. */
function addLines(parent, options, series) {
  const across = options.across || 'step';
  const points = series.map(({text, kind, column, steps}) => ({
    text, kind, column, steps,
    values: column.value.map((value, row) => ({value, row, step: steps.value[row]})),
  })).filter(each => each.values.some(({value}) => value !== null));
  if (!points.length) return;
  new Figure(parent, {
    ...options,
    draw: (figure, width) => {
      const top = 10, height = 180;
      const all = points.flatMap(each => each.values).filter(each => each.value !== null);
      const [low, high] = d3.extent(all, each => each.value);
      const y = d3.scaleLinear(low === high ? [low - 1, high + 1] : [low, high],
                               [top + height, top]).nice(5);
      const left = widest(y.ticks(5).map(y.tickFormat(5))) + 16;
      const [first, last] = d3.extent(all, each => each.step);
      const x = d3.scaleLinear([first, first === last ? first + 1 : last], [left, width - 24]);
      figure.legend(points.map(each => [each.kind, each.text]));
      const axis = figure.svg.append('g').attr('class', 'axis')
          .attr('transform', `translate(${left},0)`)
          .call(d3.axisLeft(y).ticks(5).tickSizeOuter(0).tickSizeInner(-(width - 24 - left)));
      axis.select('.domain').remove();
      axis.selectAll('line').attr('class', 'grid');
      for (const {values, kind, text, column, steps} of points) {
        figure.svg.append('path').attr('class', 'curve stroke-' + kind)
            .attr('d', d3.line().defined(each => each.value !== null)
                .x(each => x(each.step)).y(each => y(each.value))(values));
        for (const each of values.filter(({value}) => value !== null))
          figure.mark({x: x(each.step) - 3, y: y(each.value) - 3, width: 6, height: 6,
                       label: `${across} ${steps.text[each.row]}: ${text} ${column.text[each.row]}`});
      }
      figure.axisBelow(x, top + height, '');
      figure.svg.append('text').attr('x', width - 24).attr('y', top + height + 34)
          .attr('text-anchor', 'end').text(across);
      figure.setHeight(top + height + 40);
    },
  });
}

const runKinds = ['forward', 'backward', 'level0', 'level1'];

function addRun(parent, section, id) {
  const table = section.table('steps'), evaluations = section.table('evaluations');
  table.columns.slice(1).forEach((column, i) => {
    const series = [{text: column.name, kind: runKinds[i % runKinds.length], column,
                     steps: table.column('step')}];
    const isLoss = column.name === 'loss' && evaluations.length;
    if (isLoss)
      series.push({text: 'loss of evaluations', kind: 'level1', column: evaluations.column('loss'),
                   steps: evaluations.column('step')});
    addLines(parent, {
      id: `${id}line-${i}`,
      heading: section.finding(column.name) || column.name,
      note: column.name + (!column.unit || column.name.includes(column.unit) ? ''
          : ', ' + column.unit) + ', by step',
      tables: i ? [] : [['Steps', table], ['Evaluations', evaluations]],
    }, series);
  });
}

/** The numbers that two runs have, with a line for each run. */
function addCompareRuns(parent, section, id) {
  const names = section.names.filter(name => name === 'loss')
      .concat(section.names.filter(name => name !== 'loss'));
  names.forEach((name, i) => {
    const table = section.table(name), steps = table.columns[0];
    addLines(parent, {
      id: `${id}line-${i}`, heading: name, note: `${name} of both runs by step`,
      tables: [[name, table]],
    }, table.columns.slice(1).map((column, k) => (
        {text: 'AB'[k] + ': ' + column.name, kind: k ? 'backward' : 'forward', column, steps})));
  });
}
