// The page: reads the document, draws its sections, keeps the selection and the colours.

const drawers = {
  plan: drawPlan,
  search: addSearch,
  compare: addCompare,
  explain: addExplanation,
  run: addRun,
  explore: addExplorer,
  'compare-runs': addCompareRuns,
  'compare-tables': addTablePairs,
  collectives: addCollectives,
  'minimum-memory': drawMinimum,
};

function drawFacts(parent, section) {
  const facts = section.table('facts');
  if (!facts.length) return;
  const list = add(parent, 'dl', 'facts');
  for (let row = 0; row < facts.length; ++row) {
    const item = add(list, 'div');
    add(item, 'dt', '', facts.text('fact', row));
    add(item, 'dd', 'value', facts.text('value', row));
    add(item, 'dd', 'note', facts.text('note', row));
  }
}

function drawPlan(parent, section, id) {
  const chips = add(parent, 'ul', 'chips');
  for (const text of section.table('settings').column('setting').text)
    add(chips, 'li', '', text);
  drawFacts(parent, section);
  const caveats = section.table('caveats').column('caveat').text;
  const list = add(parent, 'ul', 'caveats');
  if (section.finding('fit')) add(list, 'li', '', section.finding('fit'));
  for (const text of caveats) add(list, 'li', '', text);
  addMemory(parent, section, id);
  addWaterfall(parent, section, id);
  addPipeline(parent, section, id);
  addDevices(parent, section, id);
  addRoofline(parent, section, id);
  addStateCurves(parent, section, id, section.table('state'),
                 section.finding('state') || 'State on a device');
  addMinimumMemory(parent, section, id);
}

function drawMinimum(parent, section, id) {
  addMinimumMemory(parent, section, id);
  addStateCurves(parent, section, id, section.table('zero'), 'State on a device');
}

/** The tables of a section of an unknown kind. */
function drawTables(parent, section) {
  for (const name of section.names)
    new TableView(add(parent, 'section', 'figure'), name, section.table(name)).details.open = true;
}

function drawSection(parent, json, index, count) {
  const section = new Section(json);
  const node = add(parent, 'section', 'part');
  const verdict = section.finding('verdict');
  const heading = verdict || section.title;
  if (section.finding('subject')) add(node, 'p', 'subject', section.finding('subject'));
  if (heading) add(node, index ? 'h2' : 'h1', 'verdict', heading);
  headingOfFigures = index ? 'h3' : 'h2';
  layoutOfFigures = section.finding('layout');
  const id = count > 1 ? `part-${index + 1}-` : '';
  const draw = Object.prototype.hasOwnProperty.call(drawers, section.kind)
      ? drawers[section.kind] : drawTables;
  try {
    draw(node, section, id);
  } catch (error) {
    // Tables of another form than this page knows are shown as they are.
    for (const figure of node.querySelectorAll('.figure')) figure.remove();
    drawTables(node, section);
  }
}

function drawHeader(parent, report) {
  const header = add(parent, 'header');
  add(header, 'p', 'brand', 'tessera' + (report.title ? ' · ' + report.title : ''));
  const button = add(header, 'button', 'theme', 'Dark or light');
  button.type = 'button';
  button.addEventListener('click', () => {
    const root = document.documentElement;
    const isDark = root.dataset.theme ? root.dataset.theme === 'dark'
        : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = isDark ? 'light' : 'dark';
    for (const figure of allFigures) figure.forceRedraw();
  });
}

function drawFooter(parent, report) {
  const footer = add(parent, 'footer');
  if (report.command) add(add(footer, 'p'), 'code', '', report.command);
  add(footer, 'p', 'note', 'Tab enters a figure, arrows move between its marks, Enter selects, ' +
      't opens its table, Escape leaves. Drawn with D3, whose licence is in this file.');
}

function redrawAll() {
  for (const figure of allFigures) figure.redraw();
}

function readSelection() {
  const parts = location.hash.slice(1).split('&').filter(part => !kept.has(part.split('=')[0]));
  const key = decodeText(parts[0] || '');
  selection = key.includes('=') ? key : '';
  for (const figure of allFigures) figure.showSelection();
}

/** The document, which may be compressed. */
async function readReport() {
  const data = JSON.parse(document.getElementById('data').textContent);
  if (typeof data !== 'string') return data;
  const bytes = Uint8Array.from(atob(data), letter => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return JSON.parse(await new Response(stream).text());
}

/** Hatching, which means "does not fit" alone. */
function addHatching() {
  const pattern = d3.select(document.body).append('svg').attr('class', 'hatch').attr('width', 0)
      .attr('height', 0).attr('aria-hidden', 'true').append('pattern').attr('id', 'hatch')
      .attr('width', 5).attr('height', 5).attr('patternUnits', 'userSpaceOnUse');
  pattern.append('path').attr('d', 'M-1,1 l2,-2 M0,5 l5,-5 M4,6 l2,-2');
}

async function start() {
  const report = await readReport();
  addHatching();
  const page = document.getElementById('page');
  drawHeader(page, report);
  report.sections.forEach((json, index) => drawSection(page, json, index, report.sections.length));
  if (!page.querySelector('h1')) {
    const heading = document.createElement('h1');
    heading.textContent = report.title || 'A report of tessera';
    page.querySelector('header').after(heading);
  }
  drawFooter(page, report);
  redrawAll();
  readSelection();
  window.addEventListener('hashchange', readSelection);
  new ResizeObserver(redrawAll).observe(page);
  // Figures are drawn anew for the width of a sheet.
  for (const [event, width] of [['beforeprint', '680px'], ['afterprint', '']])
    window.addEventListener(event, () => {
      page.style.width = width;
      redrawAll();
    });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    for (const figure of allFigures) figure.forceRedraw();
  });
  document.documentElement.setAttribute('data-ready', '');
}

start();
