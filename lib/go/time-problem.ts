/** The problem of a text that is no time, in the words of Go's `time.Parse`. Only texts that it
 *  refuses get here, so speed does not matter. */

/** The parts of both layouts in order: what Go calls each, and how it reads it. */
type Part = readonly [element: string, read: (rest: string) => string | Problem]

/** The end of the text that a part begins with cannot be read, or its number is out of range. */
type Problem = { readonly outOfRange: string | undefined; readonly rest: string }

/** The message of the error for a text that is no `Time`, or no `MicroTime`, of Kubernetes. */
export function timeProblem(text: string, isMicro: boolean): string {
  const layout = `2006-01-02T15:04:05${isMicro ? '.000000' : ''}Z07:00`
  let rest = text
  for (const [element, read] of partsOf(isMicro)) {
    const next = read(rest)
    if (typeof next === 'string') {
      rest = next
      continue
    }
    if (next.outOfRange !== undefined) {
      return `parsing time ${quoted(text)}: ${next.outOfRange} out of range`
    }
    const what = `cannot parse ${quoted(next.rest)} as ${quoted(element)}`
    return `parsing time ${quoted(text)} as ${quoted(layout)}: ${what}`
  }
  if (rest !== '') return `parsing time ${quoted(text)}: extra text: ${quoted(rest)}`
  // Nothing else is left.
  return `parsing time ${quoted(text)}: day out of range`
}

function partsOf(isMicro: boolean): readonly Part[] {
  return [
    ['2006', readYear],
    ['-', readMark('-')],
    ['01', readNumber({ name: 'month', from: 1, to: 12, digits: 2 })],
    ['-', readMark('-')],
    ['02', readNumber({ name: 'day', from: 0, to: 99, digits: 2 })],
    ['T', readMark('T')],
    ['15', readNumber({ name: 'hour', from: 0, to: 23, digits: 1 })],
    [':', readMark(':')],
    ['04', readNumber({ name: 'minute', from: 0, to: 59, digits: 2 })],
    [':', readMark(':')],
    ['05', readNumber({ name: 'second', from: 0, to: 59, digits: 2 })],
    isMicro ? ['.000000', readMicros] : ['', (rest: string) => rest.replace(/^[.,]\d+/, '')],
    ['Z07:00', readZone],
  ]
}

function bad(rest: string): Problem {
  return { outOfRange: undefined, rest }
}

function readYear(rest: string): string | Problem {
  if (!/^\d{4}/.test(rest)) return bad(rest)
  return rest.slice(4)
}

function readMark(mark: string): (rest: string) => string | Problem {
  return rest => (rest.startsWith(mark) ? rest.slice(1) : bad(rest))
}

interface NumberPart {
  readonly name: string
  readonly from: number
  readonly to: number
  /** Least number of digits; Go takes two where there are two. */
  readonly digits: 1 | 2
}

function readNumber({ name, from, to, digits }: NumberPart): Part[1] {
  return rest => {
    const found = /^\d\d?/.exec(rest)?.[0] ?? ''
    if (found.length < digits) return bad(rest)
    const value = Number(found)
    if (value < from || value > to) return { outOfRange: name, rest }
    return rest.slice(found.length)
  }
}

function readMicros(rest: string): string | Problem {
  return /^[.,]\d{6}/.test(rest) ? rest.slice(7) : bad(rest)
}

function readZone(rest: string): string | Problem {
  if (rest.startsWith('Z')) return rest.slice(1)
  if (rest.length < 6 || rest[3] !== ':') return bad(rest)
  const [hours, minutes] = [rest.slice(1, 3), rest.slice(4, 6)]
  // Of what is no number, neither comparison is true.
  if (numberOf(hours) > 24) return { outOfRange: 'time zone offset hour', rest }
  const areNumbers = !Number.isNaN(numberOf(hours) + numberOf(minutes))
  if (areNumbers && numberOf(minutes) > 60) {
    return { outOfRange: 'time zone offset minute', rest }
  }
  return areNumbers && /^[+-]/.test(rest) ? rest.slice(6) : bad(rest)
}

function numberOf(digits: string): number {
  return /^\d\d$/.test(digits) ? Number(digits) : NaN
}

/** As the package `time` quotes: each byte beyond ASCII by its number. */
function quoted(text: string): string {
  const bytes = [...Buffer.from(text)].map(byte => {
    if (byte === 0x22 || byte === 0x5c) return `\\${String.fromCharCode(byte)}`
    if (byte >= 0x20 && byte < 0x80) return String.fromCharCode(byte)
    return `\\x${byte.toString(16).padStart(2, '0')}`
  })
  return `"${bytes.join('')}"`
}
