/** Keeps in each namespace what each has: made for new ones, and made again when it is deleted or
 *  changed. */

import { type Key, keyFromText, textFromKey } from '@watchglass/base'
import type { Event } from '@watchglass/store'
import type { ClusterApi } from '../runtime/cluster-api.ts'
import { account, authorities, type NamespaceBasics } from './namespace-basics.ts'
import { factsOf } from './object-facts.ts'

export interface NamespaceKeeperOptions {
  readonly cluster: ClusterApi
  readonly basics: NamespaceBasics
  /** Prefixes of keys. */
  readonly namespaces: Key
  readonly accounts: Key
  readonly configMaps: Key
  /** The namespace is to be passed to `work` soon. */
  readonly lookAt: (namespace: Key) => void
}

export class NamespaceKeeper {
  readonly #options: NamespaceKeeperOptions

  constructor(options: NamespaceKeeperOptions) {
    this.#options = options
  }

  /** A namespace that was there before. */
  found(namespace: Key): void {
    this.#options.lookAt(namespace)
  }

  changed(keyspace: Key, { key, before, after }: Event): void {
    const { namespaces, accounts, configMaps, lookAt } = this.#options
    if (keyspace === namespaces) {
      if (before === undefined) lookAt(key)
    } else if (keyspace === accounts) {
      if (after === undefined && key.endsWith(`/${account}`)) lookAt(this.#namespaceOf(key))
    } else if (keyspace === configMaps && key.endsWith(`/${authorities}`)) {
      lookAt(this.#namespaceOf(key))
    }
  }

  async work(key: Key): Promise<void> {
    const { cluster, basics } = this.#options
    const entry = await cluster.read(key)
    const facts = entry && factsOf(entry)
    if (facts === undefined || facts.deletedAtMs !== undefined) return
    await basics.makeIn(nameAt(key, -1))
  }

  /** The namespace in which an object lies. */
  #namespaceOf(key: Key): Key {
    return keyFromText(`${textFromKey(this.#options.namespaces)}${nameAt(key, -2)}`)
  }
}

function nameAt(key: Key, place: number): string {
  return textFromKey(key).split('/').at(place) ?? ''
}
