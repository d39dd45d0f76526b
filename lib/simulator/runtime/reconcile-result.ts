/** The answer of a reconciler: the writes that it asks for, the Events that it tells, and when it
 *  wants to look again. A reconciler sees an object and what else it needs, and has no clock, no
 *  chance and no API: its loop (`reconciler.ts`) does the writes, and looks again when they have
 *  changed something. */

import type { Key } from '@watchglass/base'
import { StatusError } from '@watchglass/kube'
import type { ApiClient, Creation, PodAddresses } from './api-client.ts'
import type { NodeFact } from './facts.ts'
import type { Note } from './event-recorder.ts'

export type Write = (
  | ({ readonly type: 'create' } & Creation)
  | {
      readonly type: 'patch'
      readonly key: Key
      /** A merge patch. */
      readonly patch: object
      readonly subresource?: string
      /** Created, if there is nothing at the key. */
      readonly orCreate?: Creation
    }
  | {
      readonly type: 'delete'
      readonly key: Key
      readonly uid: string
      readonly graceSeconds?: number
    }
  /** A pod is given its node. One that was stamped is bound by a stamp. */
  | {
      readonly type: 'bind'
      readonly key: Key
      readonly node: NodeFact
      readonly isStamped: boolean
    }
  /** A stamped pod runs. */
  | { readonly type: 'run'; readonly key: Key; readonly addresses: PodAddresses }
) & {
  /** Told once the write is done; `%` in it is the name of what was written. */
  readonly note?: Note
}

export interface ReconcileResult {
  readonly writes: readonly Write[]
  /** Told about the object once the writes are done, and again at each look that finds the same. */
  readonly notes?: readonly Note[]
  /** The time after which there is something to do, without a change of any object. */
  readonly againMs?: number | undefined
}

export const nothing: ReconcileResult = { writes: [] }

/** A write that the API has refused: those before it are done, those after it are not. */
export class RefusedWrite extends Error {
  readonly write: Write
  readonly status: StatusError['status']

  constructor(write: Write, refusal: StatusError) {
    super(refusal.message, { cause: refusal })
    this.write = write
    this.status = refusal.status
  }
}

/** A pod that was stamped has been changed by somebody else: it is to be read, and written without
 *  a stamp. */
export class StaleStamp extends Error {}

/** Does the writes in their order. One that fails ends the rest, to be tried again. */
export async function doWrites(
  api: ApiClient,
  writes: readonly Write[],
  tell?: (note: Note) => void,
): Promise<void> {
  for (const write of writes) {
    const name = await doWrite(api, write).catch((error: unknown) => {
      throw error instanceof StatusError ? new RefusedWrite(write, error) : error
    })
    if (write.note === undefined) continue
    tell?.({ ...write.note, message: write.note.message.replace('%', () => name) })
  }
}

/** The name of what was written. */
async function doWrite(api: ApiClient, write: Write): Promise<string> {
  if (write.type === 'create') return nameOf(api, await api.createNew(write))
  const { key } = write
  switch (write.type) {
    case 'patch': {
      const isThere = await api.patchAt(key, write.patch, write.subresource)
      if (!isThere && write.orCreate !== undefined) await api.createNew(write.orCreate)
      break
    }
    case 'delete':
      await api.deleteAt(key, write.uid, write.graceSeconds)
      break
    case 'bind': {
      const place = api.placeOf(key)
      if (!write.isStamped && place !== undefined) await api.bind(place, write.node.name)
      else if (!(await api.stamp(write))) throw new StaleStamp()
      break
    }
    case 'run':
      if (!(await api.stamp(write))) throw new StaleStamp()
  }
  return api.nameOf(key)
}

function nameOf(api: ApiClient, key: Key | undefined): string {
  return key === undefined ? '' : api.nameOf(key)
}

/** A status, if it says anything else than the one that there is. */
export function statusWrite(key: Key, known: object | undefined, wanted: object): Write[] {
  const before = (known ?? {}) as Readonly<Record<string, unknown>>
  const isTold = Object.entries(wanted).every(([name, value]) => isSame(before[name], value))
  return isTold ? [] : [{ type: 'patch', key, patch: { status: wanted }, subresource: 'status' }]
}

/** Whether the API shows the values as the same: zero, nothing, and an empty list are left out. */
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
