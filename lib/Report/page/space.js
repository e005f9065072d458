// The layouts of a space: each combination of options is a row of a table, or has an error.

class Space {
  constructor(section) {
    this.layouts = section.table('layouts');
    this.invalid = section.table('invalid');
    this.options = this.readOptions(section.table('options'));
    this.count = this.options.reduce((count, option) => count * option.values.length, 1);
    /** The row of each combination, the last option first; -1: it is invalid. */
    this.rows = new Int32Array(this.count).fill(-1);
    this.errors = new Int32Array(this.count).fill(-1);
    this.places = this.placeRows(this.layouts, this.rows);
    this.placeRows(this.invalid, this.errors);
  }

  /** The options in the order in which they were given, each with its values. */
  readOptions(table) {
    const options = new Map();
    for (let row = 0; row < table.length; ++row) {
      const name = table.text('option', row);
      if (!options.has(name))
        options.set(name, {name, meaning: table.text('meaning', row), values: [], words: [],
                           shown: 0, has: []});
      const option = options.get(name);
      if (table.text('shown', row)) option.shown = option.values.length;
      option.values.push(table.text('value', row));
      option.words.push(table.text('argument', row));
      option.has.push(false);
    }
    return [...options.values()];
  }

  placeRows(table, rows) {
    const places = new Int32Array(table.length);
    for (const option of this.options) {
      const indices = new Map(option.values.map((value, index) => [value, index]));
      const column = table.column(option.name);
      for (let row = 0; row < table.length; ++row) {
        const index = indices.get(column.at(row));
        places[row] = places[row] * option.values.length + index;
        if (rows === this.rows) option.has[index] = true;
      }
    }
    places.forEach((place, row) => { rows[place] = row; });
    return places;
  }

  /** The combination of a choice, an index into the values of each option. */
  placeOf(choice) {
    return this.options.reduce(
        (place, option, i) => place * option.values.length + choice[i], 0);
  }
  choiceOf(row) {
    let place = this.places[row];
    return this.options.map(option => option.values.length).reverse().map(length => {
      const index = place % length;
      place = (place - index) / length;
      return index;
    }).reverse();
  }

  errorOf(choice) { return this.invalid.text('error', this.errors[this.placeOf(choice)]); }

  /**
   * The layout that differs from a choice in one option alone. If that one is invalid: a valid one
   * with the fewest further options changed, the last given first; null if there is none.
   */
  change(choice, option, value) {
    const wanted = choice.slice();
    wanted[option] = value;
    if (this.rows[this.placeOf(wanted)] >= 0) return {choice: wanted, others: []};
    if (!this.options[option].has[value]) return null;
    const others = d3.range(this.options.length).filter(i => i !== option).reverse();
    for (let size = 1; size <= others.length; ++size) {
      const found = this.changeSome(wanted, others, 0, size);
      if (found)
        return {choice: found, others: others.filter(i => found[i] !== wanted[i]).reverse()};
    }
    return null;
  }

  /** A valid layout with so many of the options from `first` changed; null if there is none. */
  changeSome(choice, options, first, size) {
    for (let i = first; i + size <= options.length; ++i) {
      const option = options[i];
      for (let value = 0; value < this.options[option].values.length; ++value) {
        if (value === choice[option]) continue;
        const changed = choice.slice();
        changed[option] = value;
        if (size > 1) {
          const found = this.changeSome(changed, options, i + 1, size - 1);
          if (found) return found;
        } else if (this.rows[this.placeOf(changed)] >= 0) {
          return changed;
        }
      }
    }
    return null;
  }
}
