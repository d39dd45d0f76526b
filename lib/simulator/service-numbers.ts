/** The addresses and ports that Services have, so that none is given out twice: neither after a
 *  restart, nor beside another writer. Follows the mirror, and is told of writes of this process
 *  at once. */

import { isIPv4 } from 'node:net'
import { type Clock, type Key, keyFromText, NotExact, Slice } from '@watchglass/base'
import { itemsOf, memberOf, parseTree } from '@watchglass/go'
import { hasEnvelope, readEnvelope } from '@watchglass/codec'
import type { Batch, KeyValue } from '@watchglass/store'
import {
  numberOf,
  type NumbersInUse,
  type PortRange,
  textOf,
  type WriteStore,
} from '@watchglass/writes'
import type { Follower } from '@watchglass/cache'
import { ServiceRanges } from './service-ranges.ts'
import { eachField, type StoredWindow } from './stored-fields.ts'

/** The numbers of one Service; none once it is deleted. */
interface Numbers {
  readonly revision: number
  readonly addresses: readonly string[]
  readonly ports: readonly number[]
}

/** As kube-apiserver has it. */
const usualNodePorts: PortRange = { first: 30_000, last: 32_767 }

/** The ranges that a server was told; those of kube-apiserver where they are left out. */
export interface ServiceRangeOptions {
  /** A CIDR of IPv4. */
  readonly clusterIpRange?: string | undefined
  readonly nodePorts?: PortRange | undefined
}

export class ServiceNumbers implements NumbersInUse, Follower {
  readonly #services: Key
  readonly #clock: Pick<Clock, 'monotonicMs' | 'yield'>
  readonly #contentsOf: (keyspace: Key) => Iterable<KeyValue> | undefined
  readonly #known = new Map<Key, Numbers>()
  readonly #addresses = new Map<string, Key>()
  readonly #ports = new Map<number, Key>()
  #hasContents = false

  readonly #ranges: ServiceRanges
  readonly nodePorts: PortRange

  /** @param prefix of all keys, without a slash at its end */
  constructor(
    prefix: string,
    contentsOf: (keyspace: Key) => Iterable<KeyValue> | undefined,
    clock: Pick<Clock, 'monotonicMs' | 'yield'>,
    { clusterIpRange, nodePorts }: ServiceRangeOptions = {},
  ) {
    this.#services = keyFromText(`${prefix}/services/specs/`)
    const cidrs = keyFromText(`${prefix}/servicecidrs/`)
    this.#ranges = new ServiceRanges(cidrs, contentsOf, clusterIpRange)
    this.nodePorts = nodePorts ?? usualNodePorts
    this.#contentsOf = contentsOf
    this.#clock = clock
  }

  hasAddress(address: string): boolean {
    return this.#addresses.has(address)
  }

  hasPort(port: number): boolean {
    return this.#ports.has(port)
  }

  isInRange(address: string): boolean {
    return this.#ranges.contains(address)
  }

  placed(address: string): string {
    return this.#ranges.placed(address)
  }

  /** The store, which tells of what it has written. */
  notedIn(store: WriteStore): WriteStore {
    return {
      ...store,
      commit: async (change, signal) => {
        const commit = await store.commit(change, signal)
        const { key, value } = change
        if (commit.type === 'done' && key.startsWith(this.#services)) {
          this.#note(key, commit.revision, value && { bytes: value, start: 0, end: value.length })
        }
        return commit
      },
    }
  }

  applied(keyspace: Key, { revision, events }: Batch): void {
    if (keyspace !== this.#services) return
    for (const { key, after } of events) {
      this.#note(key, revision, after)
      // Nothing older than the mirror comes any more.
      if (after === undefined && this.#known.get(key)?.revision === revision) {
        this.#known.delete(key)
      }
    }
  }

  reset(keyspace: Key): void {
    if (keyspace !== this.#services) return
    for (const map of [this.#known, this.#addresses, this.#ports]) map.clear()
    this.#hasContents = false
    this.stateChanged(keyspace)
  }

  /** Contents come without events. */
  stateChanged(keyspace: Key): void {
    if (keyspace !== this.#services || this.#hasContents) return
    const contents = this.#contentsOf(keyspace)
    if (contents === undefined) return
    this.#hasContents = true
    void this.#lookThrough(contents)
  }

  async #lookThrough(contents: Iterable<KeyValue>): Promise<void> {
    const slice = new Slice(this.#clock)
    for (const entry of contents) {
      this.#note(entry.key, entry.modRevision, entry)
      if (slice.isOver) await slice.next()
    }
  }

  #note(key: Key, revision: number, value: StoredWindow | undefined): void {
    const known = this.#known.get(key)
    if (known !== undefined && known.revision >= revision) return
    for (const address of known?.addresses ?? []) release(this.#addresses, address, key)
    for (const port of known?.ports ?? []) release(this.#ports, port, key)
    const numbers = value === undefined ? { addresses: [], ports: [] } : numbersIn(value)
    this.#known.set(key, { revision, ...numbers })
    for (const address of numbers.addresses) this.#addresses.set(address, key)
    for (const port of numbers.ports) this.#ports.set(port, key)
  }
}

function release<T>(holders: Map<T, Key>, number: T, holder: Key): void {
  if (holders.get(number) === holder) holders.delete(number)
}

/** Numbers of fields: of a Service, of its spec and of its ports. */
const specField = 2
const specFields = { ports: 1, clusterIP: 3, healthCheckNodePort: 12, clusterIPs: 18 }
const nodePortField = 5

/** A stored value that cannot be read has none. */
function numbersIn({ bytes, start, end }: StoredWindow): Omit<Numbers, 'revision'> {
  const addresses: string[] = []
  const ports: number[] = []
  if (hasEnvelope(bytes, start, end)) {
    const envelope = readEnvelope(bytes, start, end)
    if (!(envelope instanceof NotExact)) {
      readService({ bytes, start: envelope.rawStart, end: envelope.rawEnd }, addresses, ports)
    }
  } else {
    const spec = memberOf(parseTree(bytes, start, end), 'spec')
    addresses.push(textOf(memberOf(spec, 'clusterIP')))
    addresses.push(...itemsOf(memberOf(spec, 'clusterIPs')).map(textOf))
    ports.push(numberOf(memberOf(spec, 'healthCheckNodePort')) ?? 0)
    for (const port of itemsOf(memberOf(spec, 'ports'))) {
      ports.push(numberOf(memberOf(port, 'nodePort')) ?? 0)
    }
  }
  return {
    addresses: addresses.filter(address => isIPv4(address) || address.includes(':')),
    ports: ports.filter(port => port > 0),
  }
}

function readService(service: StoredWindow, addresses: string[], ports: number[]): void {
  eachField(service, (field, spec) => {
    if (field !== specField || typeof spec === 'number') return
    eachField(spec, (name, value) => {
      if (typeof value === 'number') {
        if (name === specFields.healthCheckNodePort) ports.push(value)
      } else if (name === specFields.clusterIP || name === specFields.clusterIPs) {
        addresses.push(Buffer.from(value.bytes.subarray(value.start, value.end)).toString())
      } else if (name === specFields.ports) {
        eachField(value, (member, port) => {
          if (member === nodePortField && typeof port === 'number') ports.push(port)
        })
      }
    })
  })
}
