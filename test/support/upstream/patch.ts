/** Patches of JSON values, as far as kubectl's need them: merge patches (RFC 7386), JSON patches
 *  (RFC 6902), and strategic merge patches of the common lists. */

type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

/** The value with a patch of the given media type; undefined if the type is none of them. */
export function patched(type: string, value: unknown, patch: unknown): unknown {
  switch (type.replace(/;.*/, '').trim()) {
    case 'application/merge-patch+json':
      return merged(value as Json, patch as Json, false)
    case 'application/strategic-merge-patch+json':
      return merged(value as Json, patch as Json, true)
    case 'application/json-patch+json':
      return operated(value as Json, patch as Operation[])
    default:
      return undefined
  }
}

function merged(value: Json, patch: Json, isStrategic: boolean): Json {
  if (Array.isArray(patch) && Array.isArray(value) && isStrategic) return mergedList(value, patch)
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  const out: { [name: string]: Json } = isObject ? { ...value } : {}
  for (const [name, member] of Object.entries(patch)) {
    if (isStrategic && name.startsWith('$')) continue
    if (member === null) delete out[name]
    else out[name] = merged(out[name] ?? null, member, isStrategic)
  }
  return out
}

/** Lists of things with names are merged by name, as Kubernetes does with containers, ports and the
 *  like; others are replaced. */
function mergedList(value: Json[], patch: Json[]): Json[] {
  const nameOf = (item: Json): string | undefined => {
    const named = item as { name?: string; type?: string } | null
    return named?.name ?? named?.type
  }
  if (!patch.every(item => nameOf(item) !== undefined)) return patch
  const out = [...value]
  for (const item of patch) {
    const at = out.findIndex(known => nameOf(known) === nameOf(item))
    if (at < 0) out.push(item)
    else out[at] = merged(out[at]!, item, true)
  }
  return out
}

interface Operation {
  readonly op: 'add' | 'replace' | 'remove'
  readonly path: string
  readonly value?: Json
}

function operated(value: Json, operations: readonly Operation[]): Json {
  const out = structuredClone(value)
  for (const { op, path, value: member = null } of operations) {
    const names = path
      .split('/')
      .slice(1)
      .map(name => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    const last = names.pop()!
    let at = out as { [name: string]: Json }
    for (const name of names) at = at[name] as { [name: string]: Json }
    if (Array.isArray(at) && op === 'add') {
      at.splice(last === '-' ? at.length : Number(last), 0, member)
    } else if (Array.isArray(at) && op === 'remove') at.splice(Number(last), 1)
    else if (op === 'remove') delete at[last]
    else at[last] = member
  }
  return out
}
