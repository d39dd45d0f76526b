/** Watches of config maps with a history that a test writes, on a clock that it moves. */

import { type Key, keyFromText, prefixRange } from '../../../lib/base/keys.ts'
import { createRandom } from '../../../lib/base/random.ts'
import { type Revision, revision } from '../../../lib/base/revision.ts'
import { ObjectEncoder, type OutputForm } from '../../../lib/codec/output/object-encoder.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { protobufFromJson } from '../../../lib/codec/transcode/transcode.ts'
import type { WatchSource } from '../../../lib/store/watch/watch-source.ts'
import { WatchResponse } from '../../../lib/cache/http/watch/watch-response.ts'
import { WatchFraming } from '../../../lib/cache/http/watch/watch-framing.ts'
import { type Following, OpenWatches } from '../../../lib/cache/http/watch/open-watches.ts'
import { watchEvent } from '../../../lib/kube/watch-events.ts'
import { type Change, KeyValue, noLease } from '../../../lib/store/event.ts'
import type { HistoryBounds } from '../../../lib/store/history.ts'
import { Keyspace } from '../../../lib/store/keyspace.ts'
import { Hub } from '../../../lib/store/watch/hub.ts'
import { FakeClock, settle } from '../fake-clock.ts'
import { builtIn } from '../kube/kube-builders.ts'
import { configMaps, shownAs } from '../kube/outputs.ts'
import { ScriptedRequest } from '../http/scripted-request.ts'

export const keyspaceKey: Key = keyFromText('/registry/configmaps/')
const roomy: HistoryBounds = { maxBatches: 1_000, maxAgeMs: 1e12, maxBytes: 1e9 }

export interface OpenedWatch {
  readonly request: ScriptedRequest
  readonly connection: WatchResponse
}

export class WatchWorld {
  readonly clock: FakeClock = new FakeClock(0)
  readonly store: Keyspace
  readonly hub: Hub
  readonly watches: OpenWatches
  /** For which keyspaces progress was asked, each time. */
  readonly refreshed: string[][] = []
  /** Revision that etcd has proven; the store's if it is less. */
  proven = 0
  oldEpochAbove: number = Infinity

  constructor(bounds: Partial<HistoryBounds> = {}) {
    this.store = new Keyspace({ ...roomy, ...bounds })
    const run = (): void => {
      void this.clock.yield().then(() => this.hub.run(() => false))
    }
    this.hub = new Hub({ history: this.store, onWork: run })
    const source: WatchSource = {
      hub: () => this.hub,
      proven: () => Math.max(this.proven, this.store.revision) as Revision,
      refresh: keyspaces => this.refreshed.push([...keyspaces]),
      compacted: () => 0 as Revision,
      isOfOldEpoch: (_, at) => at > this.oldEpochAbove,
    }
    this.watches = new OpenWatches({ source, clock: this.clock, random: createRandom(1) })
  }

  /** Opens a watch of everything. */
  async open(
    following: Partial<Following> = {},
    form: Partial<OutputForm> = {},
    request: ScriptedRequest = new ScriptedRequest(),
  ): Promise<OpenedWatch> {
    const encoder = new ObjectEncoder(configMaps, undefined)
    const framing = new WatchFraming(builtIn('configmaps'), encoder, shownAs(form), 'response')
    const connection = new WatchResponse(request, framing, { outbox: this.watches.outbox })
    this.watches.follow(connection, {
      keyspace: keyspaceKey,
      position: this.store.revision,
      timeoutSeconds: undefined,
      allowBookmarks: false,
      ...following,
      audience: {
        id: JSON.stringify(form),
        range: prefixRange(keyspaceKey),
        frameOf: (event, at) => {
          const told = watchEvent(event, at, undefined)
          if (told === undefined || told instanceof NotExact) return undefined
          const made = framing.event(told, 0)
          return made instanceof NotExact ? 'inexact' : made
        },
      },
    })
    await settle()
    return { request, connection }
  }

  async apply(at: number, ...changes: Change[]): Promise<void> {
    this.hub.publish(this.store.apply(revision(at), changes, this.clock.monotonicMs()))
    await settle()
  }

  /** Puts a config map with so much in it. */
  async put(at: number, name: string, bytes = 1): Promise<void> {
    await this.apply(at, put(at, name, bytes))
  }
}

/** A change that puts a config map. */
export function put(at: number, name: string, bytes = 1): Change {
  const object = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'a' },
    data: { x: 'x'.repeat(bytes) },
  }
  const value = protobufFromJson(Buffer.from(JSON.stringify(object)))
  if (value instanceof NotExact) throw new Error(value.reason)
  return putBytes(at, name, value)
}

/** A change that puts whatever is given. */
export function putBytes(at: number, name: string, bytes: Uint8Array): Change {
  const key = keyFromText(`/registry/configmaps/a/${name}`)
  const meta = {
    createRevision: revision(at),
    modRevision: revision(at),
    version: 1,
    lease: noLease,
  }
  return { type: 'put', entry: new KeyValue(key, { bytes, start: 0, end: bytes.length }, meta) }
}

export interface ToldEvent {
  readonly type: string
  readonly object: {
    readonly kind?: string
    readonly code?: number
    readonly message?: string
    readonly metadata: { readonly name?: string; readonly resourceVersion?: string }
    readonly columnDefinitions?: unknown
  }
}

/** The events of a stream of JSON. */
export function eventsOf({ text }: { readonly text: string }): ToldEvent[] {
  const lines = text.split('\n').filter(line => line !== '')
  return lines.map(line => JSON.parse(line) as ToldEvent)
}

/** `TYPE NAME@REVISION` of each event of a stream of JSON. */
export function told(stream: { readonly text: string }): string[] {
  return eventsOf(stream).map(
    ({ type, object: { metadata } }) =>
      `${type} ${metadata.name ?? ''}@${metadata.resourceVersion ?? ''}`,
  )
}
