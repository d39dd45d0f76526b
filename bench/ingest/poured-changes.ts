/** The changes of a keyspace, as responses to a watch of etcd that are encoded before anything is
 *  measured: one response for each transaction, as etcd sends them. */

import { keyFromText } from '../../lib/base/keys.ts'
import { NotExact } from '../../lib/base/not-exact.ts'
import { createRandom } from '../../lib/base/random.ts'
import { protobufFromJson } from '../../lib/codec/transcode/transcode.ts'
import { type HeaderMessage, messagePrefix, watchResponseCodec } from '../../lib/etcd/index.ts'
import { KeyValue, noLease } from '../../lib/store/event.ts'
import { stampOf } from '../watch/orders.ts'
import { stampedPods } from '../watch/pods.ts'

export type PouredKind = 'leases' | 'pods'

export interface PouredObject {
  readonly key: string
  readonly value: Uint8Array
}

export interface PouredChange {
  /** The message with its gRPC prefix. */
  readonly bytes: Buffer
  /** The place of the stamp in it; -1 where there is none. */
  readonly stampAt: number
}

/** Objects of a kind; pods are on as many nodes. */
export function pouredObjects(kind: PouredKind, count: number, nodes: number): PouredObject[] {
  if (kind === 'pods') {
    return stampedPods(count, nodes).map(pod => ({ key: pod.key, value: pod.value(0) }))
  }
  return Array.from({ length: count }, (_, number) => lease(number))
}

function lease(number: number): PouredObject {
  const name = `node-${String(number).padStart(6, '0')}`
  const object = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name,
      namespace: 'kube-node-lease',
      uid: `5f0c1b9a-0000-4000-8000-${String(number).padStart(12, '0')}`,
      creationTimestamp: '2026-01-01T00:00:00Z',
      ownerReferences: [
        { apiVersion: 'v1', kind: 'Node', name, uid: '0d3a5b6c-0000-4000-8000-000000000000' },
      ],
    },
    spec: {
      holderIdentity: name,
      leaseDurationSeconds: 40,
      renewTime: '2026-01-01T00:00:00.000000Z',
    },
  }
  const stored = protobufFromJson(Buffer.from(JSON.stringify(object)))
  if (stored instanceof NotExact) throw new Error(stored.reason)
  return { key: `/registry/leases/kube-node-lease/${name}`, value: Buffer.from(stored) }
}

interface State {
  createRevision: number
  version: number
}

/** All objects are made; then some changes delete or make again, the others update. */
export class ChangeMaker {
  readonly #deleteShare: number
  readonly #objects: readonly PouredObject[]
  readonly #states: State[]
  readonly #random = createRandom(1)
  readonly #header: (revision: number) => HeaderMessage
  #made = 0
  revision: number

  constructor(
    objects: readonly PouredObject[],
    {
      revision,
      deleteShare,
      header,
    }: Pick<ChangeMaker, 'revision'> & {
      readonly deleteShare: number
      readonly header: (revision: number) => HeaderMessage
    },
  ) {
    this.#deleteShare = deleteShare
    this.#objects = objects
    this.#states = objects.map(() => ({ createRevision: 0, version: 0 }))
    this.#header = header
    this.revision = revision
  }

  next(watchId: bigint): PouredChange {
    const isNew = this.#made < this.#objects.length
    const number = isNew ? this.#made++ : Math.floor(this.#random.next() * this.#objects.length)
    const isDelete =
      !isNew && this.#states[number]!.version > 0 && this.#random.next() < this.#deleteShare
    return this.#change(number, watchId, isDelete)
  }

  #change(number: number, watchId: bigint, isDelete: boolean): PouredChange {
    const { key: text, value } = this.#objects[number]!
    const state = this.#states[number]!
    const revision = ++this.revision
    const key = keyFromText(text)
    if (isDelete) state.version = 0
    else {
      if (state.version === 0) state.createRevision = revision
      state.version++
    }
    const { createRevision, version } = state
    const window = { bytes: value, start: 0, end: value.length }
    const meta = { createRevision, modRevision: revision, version, lease: noLease }
    const after = isDelete ? undefined : new KeyValue(key, window, meta as never)
    const body = watchResponseCodec.encode({
      header: this.#header(revision),
      watchId,
      created: false,
      canceled: false,
      compactRevision: 0,
      cancelReason: '',
      fragment: false,
      events: [{ key, revision: revision as never, after, previous: undefined }],
    })
    const bytes = Buffer.concat([messagePrefix(body.length), body])
    return { bytes, stampAt: bytes.indexOf(stampOf(0)) }
  }
}
