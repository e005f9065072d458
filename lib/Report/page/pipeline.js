// The pipeline: all actions of all ranks, and a window of them with numbered cells.

const actionNames = {F: 'forward', B: 'gradient of the input', W: 'gradients of parameters',
                     BW: 'backward', 'F+BW': 'forward beside a backward'};

/** The colour of an action; later chunks of a rank are paler. */
function actionKind(action, chunk) {
  const base = {F: 'forward', B: 'backward', W: 'weights', BW: 'backward', 'F+BW': 'forward'};
  return base[action] + (chunk % 2 ? '-pale' : '');
}

/** The cells of a table of actions; a pair of a forward and a backward is two halves. */
function listActions(table) {
  const column = name => table.column(name);
  const [rank, action, chunk, micro, begin, end] =
      ['rank', 'action', 'chunk', 'micro-batch', 'begin', 'end'].map(column);
  const unit = begin.unit;
  return d3.range(table.length).map(row => {
    const isPair = action.text[row] === 'F+BW';
    const other = isPair ? ` and backward of micro-batch ${table.text('backward micro-batch', row)}` +
        `, chunk ${table.text('backward chunk', row)}` : '';
    return {
      rank: rank.value[row], begin: begin.value[row], end: end.value[row],
      action: action.text[row], chunk: chunk.value[row], text: micro.text[row],
      otherChunk: isPair ? table.value('backward chunk', row) : 0,
      label: `rank ${rank.text[row]}: ${actionNames[action.text[row]]} of micro-batch ` +
          `${micro.text[row]}, chunk ${chunk.text[row]}${other}: ` +
          `${begin.text[row]} to ${end.text[row]} ${unit}`,
    };
  });
}

/** The rectangles of cells whose times a scale places. */
function actionRectangles(cells, x, topOf, height, hasTexts) {
  const list = [];
  for (const cell of cells) {
    const box = {x: x(cell.begin), y: topOf(cell.rank),
                 width: Math.max(x(cell.end) - x(cell.begin), 0.5), height,
                 kind: actionKind(cell.action, cell.chunk)};
    if (cell.action !== 'F+BW') list.push(box);
    else
      list.push({...box, height: height / 2},
                {...box, y: box.y + height / 2, height: height / 2,
                 kind: actionKind('B', cell.otherChunk)});
    if (!hasTexts) continue;
    box.text = cell.action !== 'F+BW' && box.width > textWidth(cell.text) + 4 ? cell.text : '';
    Object.assign(list[list.length - 1], {label: cell.label, keys: ['stage=' + cell.rank]});
  }
  return list;
}

/** A range input with a label; calls back with its value. */
function addRange(parent, text, most, value, change) {
  const label = add(parent, 'label', 'range', text);
  const input = add(label, 'input');
  Object.assign(input, {type: 'range', min: 0, max: most, step: 'any'});
  input.value = value;
  input.addEventListener('input', () => change(Number(input.value)));
  return input;
}

function addPipeline(parent, section, id) {
  const table = section.table('pipeline');
  if (!table.length) return;
  const cells = listActions(table);
  const ranks = d3.max(cells, cell => cell.rank) + 1;
  const longest = d3.max(cells, cell => cell.end);
  const unit = table.column('begin').unit;
  // A window of 30 cells of a rank has room for numbers; one of all cells may have too many.
  const widestShare = Math.min(1, mostElements / 2 / cells.length);
  let share = Math.min(widestShare, 30 * ranks / cells.length);
  let start = 0;
  const figure = new Figure(parent, {
    id: id + 'pipeline',
    heading: section.finding('pipeline') || 'The pipeline',
    note: 'The actions of each rank of pp. Above the whole pipeline, below a window of it: ' +
        'numbers are micro-batches, paler cells every other chunk of a rank, gaps are idle. ' +
        section.finding('pipeline note'),
    tables: [['Actions', table]],
    draw: (figure, width) => {
      const kinds = new Set(cells.map(cell => cell.action));
      const has = (...actions) => actions.some(action => kinds.has(action));
      figure.legend([
        ['forward', 'forward'],
        ...(has('BW', 'F+BW') ? [['backward', 'backward']] : []),
        ...(has('B') ? [['backward', 'gradient of the input']] : []),
        ...(has('W') ? [['weights', 'gradients of parameters']] : []),
      ]);
      const names = d3.range(ranks).map(rank => 'rank ' + rank);
      const left = widest(names, 600) + 10;
      const whole = d3.scaleLinear([0, longest], [left, width - 12]);
      const thin = Math.max(2, Math.min(8, 64 / ranks));
      const all = actionRectangles(cells, whole, rank => 2 + rank * thin, thin - 0.5, false);
      figure.paint(all);
      figure.frame = figure.svg.append('rect').attr('class', 'window').attr('y', 0)
          .attr('height', ranks * thin + 4);
      figure.whole = whole;
      figure.left = left;
      figure.windowTop = ranks * thin + 14;
      drawWindow(figure, width);
    },
  });

  function drawWindow(figure, width) {
    let window = [], shown = [];
    for (;; share *= 0.8) {
      start = Math.max(0, Math.min(start, longest * (1 - share)));
      window = [start, start + share * longest];
      shown = cells.filter(cell => cell.end > window[0] && cell.begin < window[1]);
      if (2 * shown.length <= mostElements || shown.length <= 2 * ranks) break;
    }
    const x = d3.scaleLinear(window, [figure.left, width - 12]).clamp(true);
    const height = ranks > 16 ? 18 : 22, step = height + 3;
    figure.frame.attr('x', figure.whole(window[0]))
        .attr('width', figure.whole(window[1]) - figure.whole(window[0]));
    d3.range(ranks).forEach(rank => figure.svg.append('text').attr('class', 'name')
        .attr('x', figure.left - 10).attr('y', figure.windowTop + rank * step + height - 6)
        .attr('text-anchor', 'end').text('rank ' + rank));
    const list = actionRectangles(shown, x, rank => figure.windowTop + rank * step, height, true);
    figure.rectangles(list);
    const bottom = figure.windowTop + ranks * step;
    figure.axisBelow(x, bottom, '');
    figure.svg.append('text').attr('x', width - 12).attr('y', bottom + 34)
        .attr('text-anchor', 'end').text(unit);
    figure.setHeight(bottom + 40);
  }

  addRange(figure.controls, 'from ', 1, 0, value => {
    start = value * (1 - share) * longest;
    figure.forceRedraw();
  });
  addRange(figure.controls, 'width ', widestShare, share, value => {
    share = Math.max(0.005 * widestShare, value);
    figure.forceRedraw();
  });
}
