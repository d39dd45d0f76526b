/** The words, signs and quoted texts of a condition. */

export interface ConditionToken {
  readonly type: 'word' | 'quoted' | 'sign' | 'end'
  readonly text: string
  /** Index of its first character in the condition. */
  readonly at: number
}

const token =
  /\s*(?:(?<sign>&&|\|\||==|!=|<=|>=|[=<>~!(),])|(?<quoted>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(?<word>[^\s=<>~!(),"'&|]+)|(?<wrong>\S))/suy

/** All tokens, of which the last is `end`; or where a quoted text begins that does not end. A
 *  single `&` or `|` is a sign that nothing expects. */
export function scanCondition(
  text: string,
): readonly ConditionToken[] | { readonly unterminatedAt: number } {
  const tokens: ConditionToken[] = []
  token.lastIndex = 0
  for (;;) {
    const match = token.exec(text)
    if (match === null) break
    const { sign, quoted, word, wrong } = match.groups ?? {}
    const shown = sign ?? quoted ?? word ?? wrong ?? ''
    const at = token.lastIndex - shown.length
    if (wrong === '"' || wrong === "'") return { unterminatedAt: at }
    if (quoted !== undefined) {
      tokens.push({ type: 'quoted', text: quoted.slice(1, -1).replace(/\\(.)/gsu, '$1'), at })
    } else if (word !== undefined) tokens.push({ type: 'word', text: word, at })
    else tokens.push({ type: 'sign', text: shown, at })
  }
  tokens.push({ type: 'end', text: '', at: text.length })
  return tokens
}
