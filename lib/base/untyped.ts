/** Reading values of unknown shape, such as parsed JSON that somebody else has stored: what is not
 *  there or of another type reads as empty. */

export type UntypedObject = Readonly<Record<string, unknown>>

const noMembers: UntypedObject = {}

export function objectOf(value: unknown): UntypedObject {
  return isObject(value) ? value : noMembers
}

export function isObject(value: unknown): value is UntypedObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : []
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}

export function textsOf(value: unknown): readonly string[] {
  return listOf(value).filter(item => typeof item === 'string')
}

/** The own member of that name: never what every object inherits. */
export function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

/** The value at a path of names: own members all the way. */
export function memberAt(value: unknown, path: readonly string[]): unknown {
  let found = value
  for (const name of path) found = memberOf(found, name)
  return found
}
