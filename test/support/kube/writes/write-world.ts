/** A server of writes in memory, with a namespace `ns`: tests put objects into it, ask, and see
 *  what is answered and what is stored. */

import type { Key } from '../../../../lib/base/keys.ts'
import { runWrite } from '../../../../lib/writes/operations/run-write.ts'
import type { WriteAccess } from '../../../../lib/writes/write-access.ts'
import { textFromTree } from '../../../../lib/go/json/tree.ts'
import { jsonFromStored, protobufFromJson } from '../../../../lib/codec/transcode/transcode.ts'
import { type Verb, parseQuery } from '../../../../lib/kube/request/request.ts'
import type { StatusError } from '../../../../lib/kube/status.ts'
import { type Asking, MemoryStore, namespaceKey, writesOver } from './memory-store.ts'

export type Shown = Readonly<Record<string, unknown>>

/** Beside the object: how it is sent, and the query. */
export interface Sending {
  readonly contentType?: string
  readonly query?: string
}

export class WriteWorld {
  readonly store: MemoryStore = new MemoryStore()
  readonly #access: WriteAccess | undefined
  readonly #open: ReturnType<typeof writesOver>

  constructor(access?: WriteAccess) {
    this.#access = access
    this.#open = writesOver(this.store, { next: () => 0.5 })
    this.put(namespaceKey, {
      kind: 'Namespace',
      apiVersion: 'v1',
      metadata: { name: 'ns' },
      status: { phase: 'Active' },
    })
  }

  put(key: Key, object: object): void {
    const stored = protobufFromJson(Buffer.from(JSON.stringify(object)))
    this.store.put(key, stored as Uint8Array)
  }

  /** The object that is answered, or the code and message of the refusal. A body may be empty. */
  async ask(
    verb: Verb,
    asking: Asking,
    body: object | '' = {},
    { contentType = 'application/json', query = '' }: Sending = {},
  ): Promise<Shown | string> {
    const opened = this.#open(asking)
    const services = { ...opened.services, access: this.#access }
    const session = Object.assign(opened, { services })
    const readBody = async (): Promise<Buffer> =>
      Buffer.from(body === '' ? '' : JSON.stringify(body))
    try {
      const request = { verb, query: parseQuery(query), contentType, readBody }
      const written = await runWrite(session, request)
      if (written.type === 'tree') return JSON.parse(textFromTree(written.object)) as Shown
      if (written.type === 'success') return { type: written.type }
      // Of a Scale: the object that it is of.
      return JSON.parse(textFromTree(session.treeOf(written.entry))) as Shown
    } catch (error) {
      const { status } = error as StatusError
      if (status === undefined) throw error
      return `${status.code}: ${status.message}`
    }
  }

  has(key: Key): boolean {
    return this.store.entries.has(key)
  }

  /** The stored object; undefined if there is none. */
  stored(key: Key): Shown | undefined {
    const entry = this.store.entries.get(key)
    if (entry === undefined) return undefined
    return JSON.parse(Buffer.from(jsonFromStored(entry.value) as Uint8Array).toString()) as Shown
  }
}
