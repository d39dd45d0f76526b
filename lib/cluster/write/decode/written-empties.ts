/** Empty lists and maps that a client wrote. A complete object is without them, as a stored one
 *  is, but a kube-apiserver compares some kinds before they are gone: to it each write of them is
 *  a change. */

import type { JsonObject, JsonValue } from '../../../codec/json/tree.ts'

const members: Readonly<Record<string, string>> = {
  MutatingWebhookConfiguration: 'webhooks',
  NetworkPolicy: 'spec',
  ValidatingWebhookConfiguration: 'webhooks',
}
/** The complete members, which copies of the object have too. */
const noted = new WeakSet<object>()

/** Remembers of a `complete` object that the `written` one had some. */
export function noteEmpties(kind: string, written: JsonObject, complete: JsonObject): void {
  const name = Object.hasOwn(members, kind) ? members[kind] : undefined
  if (name === undefined || !hasEmpty(written.get(name))) return
  const value = complete.get(name)
  if (typeof value === 'object' && value !== null) noted.add(value)
}

export function hadEmpties(complete: JsonObject): boolean {
  return ['spec', 'webhooks'].some(name => {
    const value = complete.get(name)
    return typeof value === 'object' && value !== null && noted.has(value)
  })
}

function hasEmpty(value: JsonValue | undefined): boolean {
  if (Array.isArray(value)) return value.length === 0 || value.some(hasEmpty)
  if (!(value instanceof Map)) return false
  return [...value].some(([name, member]) => {
    return hasEmpty(member) || (name === 'matchLabels' && (member as JsonObject | null)?.size === 0)
  })
}
