/** A server of writes in memory with the controllers around it, and a clock that stands still: what
 *  they do is seen object by object, without a socket or a process. */

import { type Key, prefixRange } from '../../../../lib/base/keys.ts'
import type { Revision } from '../../../../lib/base/revision.ts'
import { ApiClient } from '../../../../lib/simulator/runtime/api-client.ts'
import { Controllers } from '../../../../lib/simulator/housekeeping/controllers.ts'
import { NamespaceBasics } from '../../../../lib/simulator/housekeeping/namespace-basics.ts'
import type { ApiPlace } from '../../../../lib/simulator/runtime/cluster-api.ts'
import { followedBelow } from '../../../../lib/simulator/write-side.ts'
import type { WriteSession } from '../../../../lib/writes/operations/session.ts'
import { textFromTree } from '../../../../lib/go/json/tree.ts'
import type { Event, KeyValue } from '../../../../lib/store/event.ts'
import type { Logger } from '../../../../lib/base/logger.ts'
import { FakeClock } from '../../fake-clock.ts'
import { AskedWorld } from './asked-world.ts'
import { MemoryStore } from './memory-store.ts'

const followed = followedBelow('/registry')

/** Tells of each change, before the write that makes it is answered. */
class ToldStore extends MemoryStore {
  onChange: (event: Event) => void = () => {}

  override commit: MemoryStore['commit'] = async change => {
    const before = this.entries.get(change.key)
    const commit = await this.commitTo(change)
    if (commit.type === 'done') {
      this.onChange({ key: change.key, before, after: this.entries.get(change.key) })
    }
    return commit
  }
}

class Logged implements Logger {
  readonly #lines: string[]

  constructor(lines: string[]) {
    this.#lines = lines
  }

  debug(): void {}
  info(): void {}

  warn(message: string, fields: object = {}): void {
    this.#lines.push(`${message} ${JSON.stringify(fields)}`)
  }

  error(message: string, fields: object = {}): void {
    this.warn(message, fields)
  }
}

export interface ControlledOptions {
  readonly authorities?: { readonly rootAuthority: string; readonly isMadeUp?: boolean }
  /** False: the contents are looked through when `start` is called. */
  readonly isStarted?: boolean
}

export class ControlledWorld extends AskedWorld {
  readonly cluster: ApiClient
  /** Lines of the log. */
  readonly logged: string[] = []
  readonly #controllers: Controllers
  readonly #clock: FakeClock
  readonly #abort = new AbortController()

  constructor({ authorities, isStarted = true }: ControlledOptions = {}) {
    const store = new ToldStore()
    const clock = new FakeClock(Date.parse('2026-01-01T00:00:00Z'))
    super({ store, clock })
    this.#clock = clock
    const session = (): WriteSession =>
      this.open({ group: '', version: 'v1', resource: 'namespaces' })
    this.cluster = new ApiClient({
      state: () => session().state,
      // Controllers write past authorization.
      writes: { ...session().services, access: undefined },
      signal: this.#abort.signal,
    })
    const { cluster } = this
    this.#controllers = new Controllers({
      ...followed,
      cluster,
      basics: authorities && new NamespaceBasics({ cluster, ...authorities }),
      contentsOf: keyspace => this.#contents(keyspace),
      objectOf: place => cluster.objectOf(place),
      treeOf: ({ resource }, entry) => cluster.treeOf(resource, entry),
      plainOf: ({ resource }, entry) => cluster.plainOf(resource, entry),
      registry: () => cluster.registry,
      clock,
      logger: new Logged(this.logged),
    })
    store.onChange = event => this.#tell(event)
    if (isStarted) this.start()
  }

  /** The controllers look at what is there, and begin. */
  start(): void {
    for (const keyspace of Object.values(followed) as Key[]) {
      this.#controllers.stateChanged(keyspace)
    }
    this.#controllers.start()
  }

  /** All work is done that is to be done by then. */
  async pass(ms = 0): Promise<void> {
    for (let i = 0; i < 40; i++) await this.#clock.advance(0)
    if (ms === 0) return
    await this.#clock.advance(ms)
    for (let i = 0; i < 40; i++) await this.#clock.advance(0)
  }

  end(): void {
    this.#controllers.stop()
    this.#abort.abort()
  }

  /** The object as it is now; undefined if there is none. */
  async stored(group: string, version: string, resource: string, at: string): Promise<unknown> {
    const object = await this.cluster.objectOf(this.place(group, version, resource, at))
    return object === undefined ? undefined : JSON.parse(textFromTree(object))
  }

  place(group: string, version: string, resource: string, at: string): ApiPlace {
    const [name = '', namespace = ''] = at.split('/').reverse()
    const found = this.cluster.resourceOf(group, version, resource)
    if (found === undefined) throw new Error(`no ${resource}`)
    return { resource: found, namespace, name }
  }

  #contents(keyspace: Key): Iterable<KeyValue> {
    const { start, end } = prefixRange(keyspace)
    return [...this.store.entries.values()].filter(
      ({ key }) => key >= start && (end === undefined || key < end),
    )
  }

  #tell(event: Event): void {
    const keyspace = this.cluster.registry.keyspaceOf(event.key)
    if (keyspace === undefined) return
    this.#controllers.applied(keyspace, {
      revision: this.store.revision as Revision,
      events: [event],
      appliedAtMs: this.#clock.wallMs(),
    })
  }
}
