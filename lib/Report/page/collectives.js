// What a device receives in the collectives of a program.

function addCollectives(parent, section, id) {
  const received = section.table('received');
  if (received.length)
    addStack(parent, section, {
      id: id + 'received',
      heading: 'Bytes that a device receives',
      note: 'Exposed is what arrives while nothing is computed.',
      kinds: ['level0', 'host', 'level1'],
      tables: [['What a device receives in one call', section.table('collectives')],
               ['Exposed and hidden bytes', received]],
    }, received);
  const attention = section.table('attention');
  if (attention.length)
    new TableView(add(parent, 'section', 'figure'), 'Pairs of query and key', attention)
        .details.open = true;
}
