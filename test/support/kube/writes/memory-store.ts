/** Writes in memory: the transactions that writes need, on a map, with a session factory for
 *  built-in resources. */

import type { Verb } from '../../../../lib/kube/request/request.ts'
import { ConvertedObjects } from '../../../../lib/codec/served/custom/converted-objects.ts'
import type { Clock } from '../../../../lib/base/clock.ts'
import { type Key, keyFromText } from '../../../../lib/base/keys.ts'
import type { Random } from '../../../../lib/base/random.ts'
import type { Revision } from '../../../../lib/base/revision.ts'
import { perSchema, schemaOf } from '../../../../lib/codec/schema/schema.ts'
import { ApiState, type ApiStateOptions } from '../../../../lib/kube/api-state.ts'
import { builtInResources } from '../../../../lib/kube/resources/built-ins.ts'
import { customDefinition } from '../../../../lib/kube/resources/custom-resources.ts'
import { Registry } from '../../../../lib/kube/resources/registry.ts'
import {
  type Admission,
  type WriteServices,
  WriteSession,
} from '../../../../lib/writes/operations/session.ts'
import { createAdmission } from '../../../../lib/writes/admission/chain.ts'
import type { WriteStore } from '../../../../lib/writes/store.ts'
import type { Identity } from '../../../../lib/kube/access-review.ts'
import { digests } from '../../../../lib/cache/ops/digests.ts'
import { KeyValue, noLease } from '../../../../lib/store/event.ts'

export class MemoryStore implements WriteStore {
  readonly entries: Map<Key, KeyValue> = new Map()
  revision = 1

  get(key: Key): Promise<KeyValue | undefined> {
    return Promise.resolve(this.entries.get(key))
  }

  list: WriteStore['list'] = async ({ start, end }) => {
    const found = [...this.entries.values()]
      .filter(({ key }) => key >= start && (end === undefined || key < end))
      .sort((a, b) => (a.key < b.key ? -1 : 1))
    return { entries: found, revision: this.revision, more: false }
  }

  commit: WriteStore['commit'] = change => this.commitTo(change)

  async commitTo({
    key,
    expected,
    value,
  }: Parameters<WriteStore['commit']>[0]): ReturnType<WriteStore['commit']> {
    const current = this.entries.get(key)
    if ((current?.modRevision ?? 0) !== expected) return { type: 'changed', current }
    const revision = ++this.revision
    if (value === undefined) this.entries.delete(key)
    else this.put(key, value, revision)
    return { type: 'done', revision }
  }

  put(key: Key, value: Uint8Array, revision: number = ++this.revision): void {
    const meta = {
      createRevision: revision as Revision,
      modRevision: revision as Revision,
      version: 1,
      lease: noLease,
    }
    this.entries.set(key, new KeyValue(key, { bytes: value, start: 0, end: value.length }, meta))
  }
}

export interface Asking {
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly name?: string
  readonly subresource?: string
  readonly verb?: Verb
  readonly manager?: string
  /** `ns` if it is left out. */
  readonly namespace?: string
  readonly user?: Identity
}

/** Nothing takes any time. */
const idle: Pick<Clock, 'monotonicMs' | 'yield'> = {
  monotonicMs: () => 0,
  yield: () => Promise.resolve(),
}

function builtInAdmission(): Admission {
  return createAdmission({
    choice: { enabled: [], disabled: ['ServiceAccount'] },
    storeOf: () => undefined,
  })
}

/** A server of the built-in resources over a store, whose clock moves on by a second with each
 *  write. */
export function writesOver(
  store: MemoryStore,
  random: Random,
  work: Pick<Clock, 'monotonicMs' | 'yield'> = idle,
  admission: Admission = builtInAdmission(),
): (asking: Asking) => WriteSession {
  let nowMs = Date.parse('2026-01-01T00:00:00Z')
  const digit = (): string => Math.floor(random.next() * 16).toString(16)
  return sessionsOver({
    store,
    clock: {
      wallMs: () => (nowMs += 1000),
      monotonicMs: () => work.monotonicMs(),
      yield: () => work.yield(),
      setTimer: () => () => {},
    },
    admission,
    uid: () => 'xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx'.replace(/x/g, digit),
    nameSuffix: () => 'abcde',
    allocator: { address: () => '10.0.0.1', port: () => 30_000 },
    numbers: {
      hasAddress: () => false,
      hasPort: () => false,
      isInRange: () => true,
      placed: address => address,
    },
  })
}

/** The built-in kinds, which all servers share: what is compiled of a kind is kept with them. */
const builtIns = perSchema(schema => {
  const installed = builtInResources(schema)
  return { installed, state: stateOf(new Registry({ schema, installed })) }
})

function stateOf(
  registry: Registry,
  definitionOf: ApiStateOptions['definitionOf'] = () => undefined,
): ApiState {
  const converted = new ConvertedObjects()
  return new ApiState({ registry, serverAddress: '', digests, definitionOf, converted })
}

/** The kinds that are served now: those that are built in, and those of stored definitions. */
function statesOf(entriesOf: () => readonly KeyValue[]): () => ApiState {
  const schema = schemaOf()
  const { installed, state: empty } = builtIns(schema)
  let [known, state]: [readonly KeyValue[], ApiState] = [[], empty]
  return () => {
    const entries = entriesOf()
    const isSame = entries.length === known.length && entries.every((one, i) => one === known[i])
    if (isSame) return state
    const named = entries.map(entry => [customDefinition(entry, '/registry'), entry] as const)
    const definitions = named.map(([definition]) => definition)
    known = entries
    state = stateOf(
      new Registry({ schema, installed, definitions }),
      name => named.find(([definition]) => definition.name === name)?.[1],
    )
    return state
  }
}

const definitionsPrefix = keyFromText('/registry/apiextensions.k8s.io/customresourcedefinitions/')

/** Sessions of writes of built-in resources, and of what definitions in the store define. */
export function sessionsOver(
  services: WriteServices,
  entries: MemoryStore['entries'] = new Map(),
): (asking: Asking) => WriteSession {
  const stateOf = statesOf(() =>
    [...entries.values()].filter(({ key }) => key.startsWith(definitionsPrefix)),
  )
  const nobody = { user: 'u', uid: '', groups: [], extra: {} }
  const { signal } = new AbortController()
  return asking => {
    const { group, version, resource: plural, manager = 'm', user = nobody, verb } = asking
    const { namespace = 'ns', name = '', subresource = '' } = asking
    const state = stateOf()
    const resource = state.registry.find(group, version, plural)
    if (resource === undefined) throw new Error(`no ${plural}`)
    const options = { state, resource, namespace, name, subresource, verb, user, signal }
    return new WriteSession({ ...options, userAgent: manager }, services)
  }
}

/** The namespace that everything is in. */
export const namespaceKey: Key = keyFromText('/registry/namespaces/ns')
