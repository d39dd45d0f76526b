/** Calls the conversion webhooks of definitions. What they make of a stored object is kept with it,
 *  so that each is converted once; trees of writes are converted when they are needed. A webhook
 *  that hangs holds up who needs its objects, and nobody else. */

import {
  inSlices,
  isObject,
  type Key,
  listOf,
  memberOf,
  NotExact,
  type Reader,
  type SliceClock,
  textOf,
  type UntypedObject,
} from '@watchglass/base'
import { type ConvertedObjects, type CustomKind, customKindOf } from '@watchglass/codec'
import { type JsonObject, parseTree, textFromTree } from '@watchglass/go'
import {
  type ApiState,
  groupVersionText,
  notExactly,
  plainError,
  type Resource,
  type StatusError,
} from '@watchglass/kube'
import type { KeyValue } from '@watchglass/store'
import { textOf as treeText } from '../../metadata.ts'
import type { WriteConversions } from '../../operations/session.ts'
import { CallFailure, type HookCaller, statusProblem } from '../webhooks/caller.ts'
import type { HookClient } from '../webhooks/hooks.ts'
import { conversionReview, conversionVersionOf, convertedIn, UnusableConversion } from './review.ts'

/** The time that a webhook has, as with kube-apiserver. */
const timeoutMs = 30_000
/** Objects and bytes of one call. */
const objectsMax = 200
const bytesMax = 256 * 1024
/** An answer may be larger than what was sent, so many times and by so much: what is kept of it
 *  would otherwise be bounded by nothing. */
const growthMax = 4
const growthBytes = 64 * 1024
/** The message of a refusal. The answer of a webhook is in it, and a thousand wrong labels are a
 *  thousand complaints, which each reader would get. */
const messageMaxLength = 16 * 1024

export interface ConversionParts {
  readonly state: () => ApiState
  readonly converted: ConvertedObjects
  readonly caller: HookCaller
  readonly uid: () => string
  readonly clock: SliceClock
  /** Aborted when all calls must end. */
  readonly signal: AbortSignal
  /** Lets watches of a keyspace go on. */
  readonly resumeHeld: (keyspace: Key) => void
}

export class ObjectConversions implements WriteConversions {
  readonly #parts: ConversionParts
  readonly #definitions = new WeakMap<KeyValue, Definition>()
  /** Objects that could not be converted, by form. */
  readonly #failed = new WeakMap<KeyValue, Set<string>>()
  readonly #waiting = new WeakMap<KeyValue, Set<string>>()

  constructor(parts: ConversionParts) {
    this.#parts = parts
  }

  prepare(
    resource: Resource,
    entries: Iterable<KeyValue>,
    reader: Reader,
  ): Promise<void> | undefined {
    if (!isConverted(resource)) return undefined
    const missing = this.#missing(resource, entries)
    return missing.length === 0 ? undefined : this.#convert(resource, missing, reader.signal)
  }

  waitsFor(resource: Resource, keyspace: Key, entries: readonly (KeyValue | undefined)[]): boolean {
    const form = formOf(resource)
    const known = entries.filter(entry => entry !== undefined)
    // It has just been tried. Whoever watches next has it tried again.
    if (known.some(entry => this.#failed.get(entry)?.delete(form) === true)) return false
    const missing = this.#missing(resource, known)
    const [first] = missing
    if (first === undefined) return false
    if (this.#waiting.get(first)?.has(form) === true) return true
    note(this.#waiting, first, form)
    const { signal, resumeHeld } = this.#parts
    const done = (): void => {
      this.#waiting.get(first)?.delete(form)
      resumeHeld(keyspace)
    }
    this.#convert(resource, missing, signal).then(done, () => {
      for (const entry of missing) note(this.#failed, entry, form)
      done()
    })
    return true
  }

  /** The objects in the version `to`, in their order. Rejects with the Status of what went
   *  wrong. */
  async trees(
    resource: Resource,
    trees: readonly JsonObject[],
    to: string,
  ): Promise<readonly JsonObject[]> {
    const [first] = trees
    if (first === undefined || treeText(first.get('apiVersion')) === to) return trees
    const { uid, caller, signal } = this.#parts
    const { client, reviewVersions } = this.#definitionOf(resource)
    const apiVersion = conversionVersionOf(reviewVersions)
    const words = `conversion webhook for ${treeText(first.get('apiVersion'))}, Kind=${treeText(first.get('kind'))}`
    if (apiVersion === undefined || client === undefined) {
      throw plainError(`${words} failed: the definition names no webhook that can be asked`)
    }
    const request = { uid: uid(), apiVersion, to, objects: trees }
    const body = conversionReview(request)
    const answerMaxBytes = body.length * growthMax + growthBytes * trees.length
    try {
      const call = { client, query: 'timeout=30s', body: [body], timeoutMs, answerMaxBytes }
      const reply = await caller.post(call, signal)
      const problem = statusProblem(reply.status)
      if (problem !== undefined) throw new UnusableConversion(`${words} failed: ${problem}`)
      return await inSlices(convertedIn(reply.body, request), this.#parts.clock)
    } catch (error) {
      if (error instanceof UnusableConversion) throw refused(error.message)
      if (!(error instanceof CallFailure)) throw error
      const reason = error.message.replace(/^failed to call webhook: /, '')
      throw refused(`${words} failed: ${reason}`)
    }
  }

  /** The objects that are stored in another version, and not converted yet. */
  #missing(resource: Resource, entries: Iterable<KeyValue>): KeyValue[] {
    const { converted } = this.#parts
    const form = convertedForm(resource)
    const missing: KeyValue[] = []
    for (const entry of entries) {
      if (converted.find(entry, form) !== undefined) continue
      if (storedVersion(entry) !== form.apiVersion) missing.push(entry)
    }
    return missing
  }

  async #convert(
    resource: Resource,
    entries: readonly KeyValue[],
    signal: AbortSignal,
  ): Promise<void> {
    const { kind } = this.#definitionOf(resource)
    for (const batch of batchesOf(entries)) {
      // Whoever has left is not waited for.
      if (signal.aborted) return
      await this.#convertBatch(resource, kind, batch)
    }
  }

  async #convertBatch(
    resource: Resource,
    kind: CustomKind,
    batch: readonly KeyValue[],
  ): Promise<void> {
    const form = convertedForm(resource)
    const trees = batch.map(entry => {
      const version = storedVersion(entry).replace(/^.*\//, '')
      const tree = kind.tree(entry, version)
      if (tree instanceof NotExact) throw notExactly(resource, tree)
      return tree
    })
    const made = await this.trees(resource, trees, form.apiVersion)
    for (const [i, entry] of batch.entries()) {
      const text = textFromTree(made[i] ?? new Map())
      this.#parts.converted.keep(entry, form, Buffer.from(text))
    }
  }

  #definitionOf(resource: Resource): Definition {
    const entry = this.#parts.state().definitionOf(resource)
    if (entry === undefined) throw notExactly(resource, new NotExact('it is not defined'))
    let known = this.#definitions.get(entry)
    if (known === undefined) {
      const kind = customKindOf(entry)
      if (kind instanceof NotExact) throw notExactly(resource, kind)
      known = { kind, ...webhookIn(entry) }
      this.#definitions.set(entry, known)
    }
    return known
  }
}

/** True if objects of the resource may have to be converted by a webhook. */
export function isConverted({ storage, custom }: Resource): boolean {
  return storage?.conversion === 'webhook' && custom?.definition !== undefined
}

function refused(message: string): StatusError {
  const isLong = message.length > messageMaxLength
  return plainError(isLong ? `${message.slice(0, messageMaxLength)} ...` : message)
}

interface Definition {
  /** The kind that reads objects of the definition as they are stored. */
  readonly kind: CustomKind
  readonly client: HookClient | undefined
  readonly reviewVersions: readonly string[]
}

function convertedForm({ custom, group, version }: Resource): {
  readonly definedAt: number
  readonly apiVersion: string
} {
  return { definedAt: custom?.definedAt ?? 0, apiVersion: groupVersionText(group, version) }
}

function formOf(resource: Resource): string {
  const { definedAt, apiVersion } = convertedForm(resource)
  return `${definedAt} ${apiVersion}`
}

function note(notes: WeakMap<KeyValue, Set<string>>, entry: KeyValue, form: string): void {
  const known = notes.get(entry)
  if (known === undefined) notes.set(entry, new Set([form]))
  else known.add(form)
}

/** The apiVersion in a stored custom resource, which begins with it. */
function storedVersion({ bytes, start, end }: KeyValue): string {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset + start, Math.min(end - start, 512))
  const found = /^\{"apiVersion":"([^"\\]*)"/.exec(head.toString('latin1'))?.[1]
  if (found !== undefined) return found
  const tree = parseTree(bytes, start, end)
  return tree instanceof Map ? treeText(tree.get('apiVersion')) : ''
}

/** Calls of a few objects each, of one stored version. */
function* batchesOf(entries: readonly KeyValue[]): Generator<readonly KeyValue[]> {
  let batch: KeyValue[] = []
  let bytes = 0
  let version = ''
  for (const entry of entries) {
    const own = storedVersion(entry)
    bytes += entry.valueLength
    const isFull = batch.length >= objectsMax || bytes > bytesMax || own !== version
    if (isFull && batch.length > 0) {
      yield batch
      batch = []
      bytes = entry.valueLength
    }
    version = own
    batch.push(entry)
  }
  if (batch.length > 0) yield batch
}

/** The webhook of a stored definition, which has the form of v1beta1 or that of v1. */
function webhookIn(entry: KeyValue): Pick<Definition, 'client' | 'reviewVersions'> {
  const definition: unknown = JSON.parse(Buffer.from(entry.value).toString())
  const conversion = memberOf(memberOf(definition, 'spec'), 'conversion')
  const webhook = memberOf(conversion, 'webhook')
  const config = memberOf(webhook, 'clientConfig') ?? memberOf(conversion, 'webhookClientConfig')
  const versions =
    memberOf(webhook, 'conversionReviewVersions') ??
    memberOf(conversion, 'conversionReviewVersions')
  return {
    client: isObject(config) ? clientIn(config) : undefined,
    reviewVersions: listOf(versions).map(textOf),
  }
}

function clientIn(config: UntypedObject): HookClient {
  const service = config['service']
  return {
    url: textOf(config['url']),
    authority: textOf(config['caBundle']),
    service: isObject(service)
      ? {
          namespace: textOf(service['namespace']),
          name: textOf(service['name']),
          path: textOf(service['path']),
          port: typeof service['port'] === 'number' ? service['port'] : 443,
        }
      : undefined,
  }
}
