/** Paths of fields in rules: `.a.b`, `.a['b.c']`. */

import { isObject } from '@watchglass/base'
import { controlEscapes } from '@watchglass/go'

export interface FieldPath {
  /** The path as errors write it. */
  readonly path: string
  readonly schema: unknown
}

const escapes: Readonly<Record<string, string>> = {
  ...controlEscapes,
  "'": "'",
  '\\': '\\',
}

/** The path if there is such a field below the schema. */
export function fieldPath(text: string, schema: unknown): FieldPath | undefined {
  const tokens = tokensOf(text)
  let found: FieldPath = { path: '', schema }
  for (let i = 0; i < tokens.length;) {
    const token = tokens[i]
    const isQuoted = token === '['
    if (token !== '.' && !isQuoted) return undefined
    const name = tokens[i + 1]
    if (name === undefined) return undefined
    const unquoted = isQuoted ? unquote(name) : name
    if (unquoted === undefined || (isQuoted && tokens[i + 2] !== ']')) return undefined
    const next = step(found, unquoted)
    if (next === undefined) return undefined
    found = next
    i += isQuoted ? 3 : 2
  }
  return found
}

/** The dots, brackets, quoted texts and names of a path. */
export function tokensOf(text: string): readonly string[] {
  return text.match(/'(?:\\[^]|[^'\\])*'?|[.[\]]|[^.[\]]+/g) ?? []
}

function unquote(text: string): string | undefined {
  if (text.length < 2 || !text.startsWith("'") || !text.endsWith("'")) return undefined
  let isRight = true
  const unquoted = text.slice(1, -1).replaceAll(/\\([^])/g, (_, char: string) => {
    const found = escapes[char]
    if (found === undefined) isRight = false
    return found ?? ''
  })
  return isRight ? unquoted : undefined
}

function step({ path, schema }: FieldPath, name: string): FieldPath | undefined {
  if (!isObject(schema)) return undefined
  const { properties, additionalProperties } = schema
  if (isObject(properties)) {
    if (!Object.hasOwn(properties, name)) return undefined
    return { path: path === '' ? name : `${path}.${name}`, schema: properties[name] }
  }
  if (!isObject(additionalProperties)) return undefined
  return { path: `${path}[${name}]`, schema: additionalProperties }
}
