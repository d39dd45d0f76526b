/** Texts and bytes as they stand between quotes. */

import { controlEscapes } from '@watchglass/go'

/** The problem of a literal, in cel-go's words. */
export class LiteralProblem extends Error {}

/** The text between the quotes, still with its escapes. */
function inner(literal: string): { readonly text: string; readonly isRaw: boolean } {
  const isRaw = /^[rR]/.test(literal)
  const quoted = isRaw ? literal.slice(1) : literal
  const isTriple = quoted.length >= 6 && (quoted.startsWith("'''") || quoted.startsWith('"""'))
  const width = isTriple ? 3 : 1
  return { text: quoted.slice(width, -width).replaceAll(/\r\n?/g, '\n'), isRaw }
}

const escapes =
  /\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|([^]))/g

export function textOfLiteral(literal: string): string {
  const { text, isRaw } = inner(literal)
  if (isRaw || !text.includes('\\')) return text
  return text.replaceAll(escapes, (...groups) => {
    const [, x, u, long, octal, short = ''] = groups as (string | undefined)[]
    const hex = x ?? u ?? long
    if (hex === undefined && octal === undefined) return controlEscapes[short] ?? short
    const code = hex === undefined ? parseInt(octal ?? '', 8) : parseInt(hex, 16)
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
      throw new LiteralProblem('invalid unicode code point')
    }
    return String.fromCodePoint(code)
  })
}

/** Bytes: `\x` and octal escapes are bytes, other characters their UTF-8. */
export function bytesOfLiteral(literal: string): Uint8Array {
  const { text, isRaw } = inner(literal)
  if (isRaw || !text.includes('\\')) return Buffer.from(text)
  const parts: Uint8Array[] = []
  let end = 0
  for (const match of text.matchAll(escapes)) {
    const [whole, x, u, long, octal, short = ''] = match
    parts.push(Buffer.from(text.slice(end, match.index)))
    end = match.index + whole.length
    if (u !== undefined || long !== undefined) throw new LiteralProblem('unable to unescape string')
    const code = x === undefined ? parseInt(octal ?? '', 8) : parseInt(x, 16)
    const isByte = x !== undefined || octal !== undefined
    parts.push(isByte ? Uint8Array.of(code) : Buffer.from(controlEscapes[short] ?? short))
  }
  parts.push(Buffer.from(text.slice(end)))
  return Buffer.concat(parts)
}
