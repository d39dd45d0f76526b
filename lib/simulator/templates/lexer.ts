/** A template as texts and actions, and an action as words. */

import { TemplateProblem } from './problem.ts'

export type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'action'; readonly words: readonly Word[] }

export interface Word {
  readonly kind: 'field' | 'variable' | 'name' | 'text' | 'number' | 'sign' | 'space'
  readonly text: string
}

/** The pieces of a template. `{{-` and `-}}` take the space before and after the action. */
export function piecesOf(template: string): readonly Piece[] {
  const pieces: Piece[] = []
  let at = 0
  let takesSpace = false
  for (;;) {
    const open = template.indexOf('{{', at)
    let text = template.slice(at, open === -1 ? undefined : open)
    if (takesSpace) text = text.trimStart()
    if (open === -1) return [...pieces, { kind: 'text', text }]
    const trimsBefore = /^\{\{-\s/.test(template.slice(open, open + 4))
    pieces.push({ kind: 'text', text: trimsBefore ? text.trimEnd() : text })
    const inside = trimsBefore ? open + 3 : open + 2
    const close = endOf(template, inside)
    takesSpace = /\s-$/.test(template.slice(inside, close))
    const action = template.slice(inside, takesSpace ? close - 1 : close)
    if (!/^\s*\/\*/.test(action)) pieces.push({ kind: 'action', words: wordsOf(action) })
    at = close + 2
  }
}

/** The place of the `}}` that ends an action: not one in a text or a comment. */
function endOf(template: string, start: number): number {
  const parts = /\/\*[^]*?\*\/|"(?:[^"\\\n]|\\.)*"|`[^`]*`|\}\}/g
  parts.lastIndex = start
  for (;;) {
    const part = parts.exec(template)
    if (part === null) throw new TemplateProblem('unclosed action')
    if (part[0] === '}}') return part.index
  }
}

const patterns: readonly (readonly [Word['kind'], RegExp])[] = [
  ['space', /\s+/y],
  ['text', /"(?:[^"\\\n]|\\.)*"|`[^`]*`/y],
  ['number', /[+-]?(?:0[xX][\dA-Fa-f]+|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)/y],
  ['variable', /\$\w*/y],
  ['field', /\.[A-Za-z_]\w*/y],
  ['name', /[A-Za-z_]\w*/y],
  ['sign', /:=|[=|(),.]/y],
]

function wordsOf(action: string): readonly Word[] {
  const words: Word[] = []
  let at = 0
  while (at < action.length) {
    const word = wordAt(action, at)
    if (word === undefined) {
      throw new TemplateProblem(`unexpected ${JSON.stringify(action[at])} in ${action.trim()}`)
    }
    words.push(word)
    at += word.text.length
  }
  return trimmed(words)
}

function wordAt(action: string, at: number): Word | undefined {
  for (const [kind, pattern] of patterns) {
    pattern.lastIndex = at
    const text = pattern.exec(action)?.[0]
    if (text !== undefined) return { kind, text }
  }
  return undefined
}

function trimmed(words: readonly Word[]): readonly Word[] {
  const isSpace = (word: Word | undefined): boolean => word?.kind === 'space'
  return words.slice(isSpace(words[0]) ? 1 : 0, isSpace(words.at(-1)) ? -1 : undefined)
}
