// Texts about the names and values that a caller passes.

/** The type of a value that an argument has, with its article. */
export function described(value) {
  if (value === undefined || value === null || typeof value === 'boolean') return String(value)
  if (Number.isNaN(value)) return 'NaN'
  if (Array.isArray(value)) return 'an array'
  const isObject = typeof value === 'object'
  const name = isObject ? value.constructor?.name ?? 'Object' : typeof value
  if (isObject && name === 'Object') return 'an object'
  return `${/^[aeio]/i.test(name) ? 'an' : 'a'} ${name}`
}

/** Returns the name that a misspelt one is near to. */
export function nearest(name, names) {
  const plain = (text) => text.toLowerCase().replace(/[^a-z0-9]/g, '')
  const distances = names.map((known) => distance(plain(name), plain(known)))
  const least = Math.min(...distances)
  // A third of a name that differs is another name.
  return least <= Math.min(2, Math.floor(name.length / 3)) ? names[distances.indexOf(least)] : undefined
}

/** The number of letters to insert, delete or replace. */
function distance(one, other) {
  // A name from outside can have any length.
  if (Math.abs(one.length - other.length) > 2) return Infinity
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let i = 0; i < one.length; i++) {
    const next = [i + 1]
    for (let j = 0; j < other.length; j++) {
      next.push(Math.min(next[j] + 1, row[j + 1] + 1, row[j] + (one[i] === other[j] ? 0 : 1)))
    }
    row = next
  }
  return row[other.length]
}
