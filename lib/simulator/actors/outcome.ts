/** The writes that a controller asks for: each looks at what there is, says what is to be written,
 *  and looks again when that has changed something. It has no clock and draws nothing. */

import type { Key } from '@watchglass/base'
import type { ActorApi, Creation } from './actor-api.ts'
import type { Note } from './event-recorder.ts'

export type Write = (
  | ({ readonly type: 'create' } & Creation)
  | {
      readonly type: 'patch'
      readonly key: Key
      /** A merge patch. */
      readonly patch: object
      readonly subresource?: string
    }
  | {
      readonly type: 'delete'
      readonly key: Key
      readonly uid: string
      readonly graceSeconds?: number
    }
) & {
  /** To be told once it is done; `%` in it is the name of what was written. */
  readonly note?: Note
}

export interface Outcome {
  readonly writes: readonly Write[]
  /** To be told about the object, again at each look that finds the same. */
  readonly notes?: readonly Note[]
  /** Something will be to be done then, without a change of any object. */
  readonly againMs?: number | undefined
}

export const nothing: Outcome = { writes: [] }

/** Does them in their order. One that is refused ends the rest, to be tried again. */
export async function doWrites(
  api: ActorApi,
  writes: readonly Write[],
  tell?: (note: Note) => void,
): Promise<void> {
  for (const write of writes) {
    const name = await doWrite(api, write)
    if (write.note === undefined) continue
    tell?.({ ...write.note, message: write.note.message.replace('%', () => name) })
  }
}

/** The name of what was written. */
async function doWrite(api: ActorApi, write: Write): Promise<string> {
  if (write.type === 'create') return api.create(write)
  if (write.type === 'patch') await api.patch(write.key, write.patch, write.subresource)
  else await api.delete(write.key, write.uid, write.graceSeconds)
  return api.nameOf(write.key)
}

/** A status, if it says anything else than the one that there is. */
export function statusWrite(key: Key, known: object | undefined, wanted: object): Write[] {
  const before = (known ?? {}) as Readonly<Record<string, unknown>>
  const isTold = Object.entries(wanted).every(([name, value]) => isSame(before[name], value))
  return isTold ? [] : [{ type: 'patch', key, patch: { status: wanted }, subresource: 'status' }]
}

/** As the API shows values: zero, nothing, and an empty list are left out. */
export function isSame(known: unknown, wanted: unknown): boolean {
  return JSON.stringify(shown(known)) === JSON.stringify(shown(wanted))
}

function shown(value: unknown): unknown {
  if (value === 0 || value === null || value === '' || value === false) return undefined
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(shown)
  if (typeof value !== 'object') return value
  const members = Object.entries(value)
    .map(([name, inner]) => [name, shown(inner)] as const)
    .filter(([, inner]) => inner !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return members.length === 0 ? undefined : Object.fromEntries(members)
}
