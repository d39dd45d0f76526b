/** The order of a table's cells: figures and ages by what they amount to, words as people count. */

/** A cell of a Table, which is no object and no list. */
export type ShownCell = string | number | boolean | null | undefined

const secondsOf: Readonly<Record<string, number>> = {
  y: 31_536_000,
  d: 86_400,
  h: 3600,
  m: 60,
  s: 1,
}
const words = new Intl.Collator('en', { numeric: true })

/** Figures before words; equal cells keep their order. */
export function compareCells(a: ShownCell, b: ShownCell): number {
  const [x, y] = [amountOf(a), amountOf(b)]
  if (typeof x === 'number' && typeof y === 'number') return x - y
  if (typeof x === 'number') return -1
  if (typeof y === 'number') return 1
  return words.compare(x, y)
}

/** The amount of a figure or of an age such as 5d3h in seconds, or the text itself. */
function amountOf(cell: ShownCell): number | string {
  if (typeof cell === 'number') return cell
  const text = String(cell ?? '')
  if (/^-?\d+(?:\.\d+)?$/.test(text)) return Number(text)
  if (!/^(?:\d+[ydhms])+$/.test(text)) return text
  let sum = 0
  for (const [, figure, unit] of text.matchAll(/(\d+)([ydhms])/g)) {
    sum += Number(figure) * (secondsOf[unit ?? ''] ?? 0)
  }
  return sum
}
