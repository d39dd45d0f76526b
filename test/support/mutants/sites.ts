/** Places in a built module where a rule can be turned into another one: a comparison, a bound, a
 *  text. Found without a parser: the modules are ours, and formatted. */

export interface Site {
  readonly start: number
  readonly end: number
  readonly replacement: string
  /** As `validation/place.js:31: === becomes !==`. */
  readonly name: string
  /** The same wherever the line has moved to: the file, the line's text, and the change. */
  readonly key: string
}

const opposites: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '>': '>=',
  '<=': '<',
  '>=': '>',
  '&&': '||',
  '||': '&&',
}

/** The last letter of a text, written as itself or escaped. */
const lastLetter = /(?:\\u[\da-f]{4}|\\x[\da-f]{2}|\\.|[^\\])'$/i

/** Code whose mutants do the same, so that none says anything: comparators of names that differ,
 *  since only which is the first counts; the larger or the smaller of two, which at a tie are one;
 *  the price of a step in a budget, which is tuned; the room that a writer begins with or asks for,
 *  since it takes more by itself; and -1 for what is not there or comes before, which is asked for
 *  by its sign. */
const sameAnyway = [
  /\([^()]* [<>] [^()]*\? -1 : 1\)/g,
  /(?<==== [\w.]+ \? 0 : )[\w.]+ [<>] [\w.]+ \? -1 : 1/g,
  /(?<![\w.])([\w.]+) [<>] ([\w.]+) \? (?:\1 : \2|\2 : \1)(?![\w.])/g,
  /\bspend\([^()]*\)/g,
  /\bnew ByteWriter\([^()]*\)/g,
  /\.reserve\([^()]*\)/g,
  /(?<=return |\? | : )-1\b/g,
]

/** All sites of a module, in their order. */
export function sitesOf(file: string, source: string): Site[] {
  const { code: whole, texts } = withoutTexts(source)
  const code = sameAnyway.reduce(
    (rest, pattern) => rest.replace(pattern, text => text.replaceAll(/[^\n]/g, ' ')),
    whole,
  )
  const seen = new Map<string, number>()
  const site = (start: number, end: number, replacement: string): Site => {
    const line = source.slice(0, start).split('\n').length
    const shown = `${source.slice(start, end)} becomes ${replacement}`
    const [text = ''] = source.slice(source.lastIndexOf('\n', start) + 1).split('\n', 1)
    const change = `${file}: ${text.trim()}: ${shown}`
    const before = seen.get(change) ?? 0
    seen.set(change, before + 1)
    return {
      start,
      end,
      replacement,
      name: `${file}:${line}: ${shown}`,
      key: `${change} ${before}`,
    }
  }
  const found: Site[] = []
  for (const { 0: text, index } of code.matchAll(/(?<= )(?:[!=]==|[<>]=?|&&|\|\|)(?= )/g)) {
    found.push(site(index, index + text.length, opposites[text]!))
  }
  for (const { 0: text, index } of code.matchAll(/(?<![\w.$])\d+(?:_\d+)*(?![\w.])/g)) {
    found.push(site(index, index + text.length, String(Number(text.replaceAll('_', '')) + 1)))
  }
  for (const { 1: text = '', index } of code.matchAll(/return (true|false)\b/g)) {
    const start = index + 'return '.length
    found.push(site(start, start + text.length, String(text === 'false')))
  }
  // The last letter becomes another: a longer text would match the same pattern.
  for (const { start, end } of texts) {
    const text = source.slice(start, end)
    if (text.length > 4) found.push(site(start, end, text.replace(lastLetter, "~'")))
  }
  return found.sort((a, b) => a.start - b.start)
}

interface Window {
  readonly start: number
  readonly end: number
}

/** The code with blanks where texts, comments and patterns are, and where plain texts are that are
 *  no names of modules. */
function withoutTexts(source: string): { readonly code: string; readonly texts: Window[] } {
  const texts: Window[] = []
  const tokens =
    /\/\*[^]*?\*\/|\/\/.*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|(?<=[(=,:!&|?[]\s*|return )\/(?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/g
  const code = source.replace(tokens, (token, offset: number) => {
    const line = source.slice(source.lastIndexOf('\n', offset) + 1, offset)
    const isModule = /^(?:import|export)\b.* from |^import /.test(line)
    if (token.startsWith("'") && !isModule) {
      texts.push({ start: offset, end: offset + token.length })
    }
    return token.replaceAll(/[^\n]/g, ' ')
  })
  return { code, texts }
}
