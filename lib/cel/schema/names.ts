/** The names of fields in expressions: what is no identifier is escaped. */

const reserved: ReadonlySet<string> = new Set([
  'true',
  'false',
  'null',
  'in',
  'as',
  'break',
  'const',
  'continue',
  'else',
  'for',
  'function',
  'if',
  'import',
  'let',
  'loop',
  'package',
  'namespace',
  'return',
  'var',
  'void',
  'while',
])

/** True for a name that a variable may have. */
export function isIdentifier(name: string): boolean {
  return /^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) && !reserved.has(name)
}

/** The name of a field in a type: reserved words are names, too, wherever a dot is before them. */
export function fieldNamed<Field>(
  fields: ReadonlyMap<string, Field>,
  name: string,
): Field | undefined {
  return fields.get(name) ?? (reserved.has(name) ? fields.get(`__${name}__`) : undefined)
}

const replaced: Readonly<Record<string, string>> = {
  __: '__underscores__',
  '.': '__dot__',
  '-': '__dash__',
  '/': '__slash__',
}

/** The name of a field in expressions; undefined if it has none. */
export function escapedName(name: string): string | undefined {
  if (!/^[A-Za-z_.\-/][A-Za-z0-9_.\-/]*$/.test(name)) return undefined
  if (reserved.has(name)) return `__${name}__`
  return name.replaceAll(/__|[-./]/g, part => replaced[part] ?? part)
}
