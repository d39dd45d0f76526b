/** The list of one object as a server with a later feature answers it, and as one without it does:
 *  of an object for which the two differ. */

import { keyFromText, notedEffort, NotExact, prefixRange } from '@watchglass/base'
import { joined, listBody, objectBody, type ObjectEncoder } from '@watchglass/codec'
import { type LaterFeature, type Resource, shardHash } from '@watchglass/kube'
import type { KeyValue } from '@watchglass/store'
import type { Held } from './compare.ts'
import type { ComparedForm } from './form.ts'
import { itemPath, nameOf } from './question.ts'

export interface BothWaysOptions {
  readonly feature: LaterFeature
  readonly resource: Resource
  readonly form: ComparedForm
  readonly encoder: ObjectEncoder
  readonly held: Held
  /** The wall clock in milliseconds. */
  readonly now: number
}

/** The most objects that are looked at: nearly all have managed fields. Fewer of those that take
 *  long: about 20 ms together. */
const lookedAtMax = 50
const effortMax = 20_000

export class BothWays {
  /** The question, but for the Accept header; undefined if there is no such object. */
  readonly path: string | undefined
  readonly #options: BothWaysOptions
  readonly #entry: KeyValue | undefined
  /** A selector of all shards but the object's own, as servers repeat it. */
  readonly #shards: string | undefined

  constructor(options: BothWaysOptions) {
    this.#options = options
    const { feature, resource, form, held, now } = options
    const range = prefixRange(keyFromText(resource.storage?.prefix ?? ''))
    const begunAt = notedEffort()
    let lookedAt = 0
    for (const entry of held.snapshot.iterate(range)) {
      if (lookedAt++ === lookedAtMax || notedEffort() - begunAt > effortMax) return
      const name = nameOf(resource, entry.key)
      if (name === undefined) continue
      this.#entry = entry
      this.#shards = feature === 'shards' ? this.#shardsWithout(entry) : undefined
      const [without, withIt] = [this.body(false, now), this.body(true, now)]
      if (without instanceof NotExact || withIt instanceof NotExact) continue
      if (Buffer.compare(without, withIt) === 0) continue
      const path = itemPath(resource, held.proven, name, form)
      const selector = encodeURIComponent(this.#shards ?? '')
      this.path = selector === '' ? path : `${path}&shardSelector=${selector}`
      return
    }
  }

  body(isObeyed: boolean, now: number): Uint8Array | NotExact {
    const { feature, form, encoder, held } = this.#options
    const isEmpty = feature === 'shards' && isObeyed
    const entries = this.#entry === undefined || isEmpty ? [] : [this.#entry]
    const shown = {
      ...form,
      now,
      drops: feature === 'drop' && isObeyed ? (true as const) : undefined,
    }
    return joined(
      listBody(encoder, {
        form: shown,
        isPretty: false,
        meta: {
          resourceVersion: String(held.proven),
          shardSelector: isEmpty ? this.#shards : undefined,
        },
        runs: [{ entries, from: 0, to: entries.length, leaf: undefined }],
      }),
    )
  }

  #shardsWithout(entry: KeyValue): string | undefined {
    const { encoder, now } = this.#options
    const body = objectBody(encoder, entry, {
      form: {
        encoding: 'json',
        rendering: 'object',
        renderingVersion: 'v1',
        includeObject: 'Metadata',
        now,
      },
      isPretty: false,
    })
    if (body instanceof NotExact) return undefined
    const { metadata } = JSON.parse(Buffer.from(body).toString()) as {
      readonly metadata?: { readonly uid?: string }
    }
    const [all, half, end] = ['0x0000000000000000', '0x8000000000000000', '0x10000000000000000']
    const isLower = shardHash(metadata?.uid ?? '').high < 0x8000_0000
    const bounds = isLower ? [half, end] : [all, half]
    return `shardRange(object.metadata.uid, '${bounds[0]}', '${bounds[1]}')`
  }
}
