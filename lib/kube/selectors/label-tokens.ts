/** The words and signs of a label selector. */

/** The type of a sign is the sign itself; `in` and `notin` are words that may be operators; `end`
 *  is the end of the text. */
export type LabelTokenType =
  | 'identifier'
  | 'in'
  | 'notin'
  | ','
  | '!'
  | '='
  | '=='
  | '!='
  | '>'
  | '<'
  | '('
  | ')'
  | 'end'

export interface LabelToken {
  readonly type: LabelTokenType
  readonly text: string
}

const signs = new Set<string>(['=', '!', '(', ')', ',', '>', '<'])
const spaces = new Set<string>([' ', '\t', '\r', '\n'])
const longSigns: readonly LabelTokenType[] = ['==', '!=']

/** All tokens; the last is `end`. A zero byte ends the text where a token would begin, and is
 *  skipped after one, as upstream does. O(length). */
export function scanLabelSelector(text: string): LabelToken[] {
  const tokens: LabelToken[] = []
  let at = 0
  while (at < text.length) {
    const char = text.charAt(at)
    if (char === '\0') break
    if (spaces.has(char)) {
      at++
      continue
    }
    const token = signs.has(char) ? signAt(text, at) : wordAt(text, at)
    tokens.push(token)
    at += token.text.length
    if (text.charAt(at) === '\0') at++
  }
  tokens.push({ type: 'end', text: '' })
  return tokens
}

function signAt(text: string, at: number): LabelToken {
  const two = text.slice(at, at + 2) as LabelTokenType
  const sign = longSigns.includes(two) ? two : (text.charAt(at) as LabelTokenType)
  return { type: sign, text: sign }
}

function wordAt(text: string, at: number): LabelToken {
  let end = at
  while (end < text.length && !endsWord(text.charAt(end))) end++
  const word = text.slice(at, end)
  return { type: word === 'in' || word === 'notin' ? word : 'identifier', text: word }
}

function endsWord(char: string): boolean {
  return signs.has(char) || spaces.has(char) || char === '\0'
}
