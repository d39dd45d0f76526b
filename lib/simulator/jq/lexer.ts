/** The words of a jq expression. */

import { JqProblem } from './problem.ts'

export interface JqToken {
  readonly kind: 'field' | 'name' | 'variable' | 'text' | 'number' | 'sign' | 'end'
  readonly text: string
  readonly at: number
}

const patterns: readonly (readonly [JqToken['kind'] | 'space', RegExp])[] = [
  ['space', /(?:\s+|#[^\n]*)/y],
  ['field', /\.[A-Za-z_]\w*/y],
  ['variable', /\$[A-Za-z_]\w*/y],
  ['name', /[A-Za-z_]\w*/y],
  ['number', /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y],
  ['text', /"(?:[^"\\]|\\["\\/bfnrt]|\\u[\dA-Fa-f]{4})*"/y],
  ['sign', /\/\/|==|!=|<=|>=|\.\.|[.[\]{}()|,:;?<>+\-*/%]/y],
]

export function tokensOf(source: string): readonly JqToken[] {
  const tokens: JqToken[] = []
  let at = 0
  while (at < source.length) {
    const token = tokenAt(source, at)
    if (token === undefined) throw new JqProblem(`unexpected token at ${String(at + 1)}`, source)
    if (token.kind !== 'space') tokens.push({ kind: token.kind, text: token.text, at })
    at += token.text.length
  }
  return [...tokens, { kind: 'end', text: '', at }]
}

function tokenAt(
  source: string,
  at: number,
): { readonly kind: JqToken['kind'] | 'space'; readonly text: string } | undefined {
  for (const [kind, pattern] of patterns) {
    pattern.lastIndex = at
    const text = pattern.exec(source)?.[0]
    if (text !== undefined) return { kind, text }
  }
  return undefined
}
