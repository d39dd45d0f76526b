/** One comparison of the mirror's answer with the upstream's, at the same revision: of one object,
 *  or of all objects of a small resource. */

import {
  CacheError,
  type Clock,
  inSlices,
  type Key,
  keyFromText,
  NotExact,
  prefixRange,
  type Revision,
} from '@watchglass/base'
import {
  type Gate,
  joinedInSteps,
  listBody,
  objectBody,
  type ObjectEncoder,
  type OutputPlace,
} from '@watchglass/codec'
import { areEqualButForAges } from './ages.ts'
import { firstDifference } from './difference.ts'
import { type Resource, scaleBody, warningHeader } from '@watchglass/kube'
import type { KeyValue, Snapshot } from '@watchglass/store'
import type { Upstream } from '../upstream/upstream.ts'
import type { UpstreamAnswer } from '@watchglass/cache'
import type { Form, ComparisonTask } from './form.ts'
import { acceptOf, alonePath, itemPath, nameOf, pagePath } from './question.ts'

/** The result.
 *  - `same`: the upstream wrote these objects in the same bytes
 *  - `differs`: it wrote other bytes; the place is described without any content
 *  - `moved`: the object has changed meanwhile, so the comparison means nothing
 *  - `inexact`: we cannot show the object at all
 *  - `refused`: the upstream refuses our request
 *  - `failed`: there was no answer to compare */
export type FormOutcome =
  | { readonly type: 'same'; readonly entries: readonly KeyValue[]; readonly place: OutputPlace }
  | { readonly type: 'differs'; readonly at: string }
  | { readonly type: 'moved' }
  | { readonly type: 'inexact' }
  | { readonly type: 'refused'; readonly code: number }
  | { readonly type: 'failed'; readonly reason: string }

/** The mirror's contents. */
export interface Held {
  readonly snapshot: Snapshot
  /** The revision up to which they are complete. */
  readonly proven: Revision
  /** The namespace that they are of, where each is mirrored apart; all if it is left out. */
  readonly namespace?: string | undefined
}

export interface CompareOptions {
  readonly upstream: Pick<Upstream, 'call'>
  /** Objects that do not pass it are not compared. */
  readonly gate: Gate | undefined
  readonly clock: Clock
  readonly held: Held
  readonly encoder: ObjectEncoder
  readonly onBytes: (bytes: number) => void
  readonly signal: AbortSignal
}

/** A resource with at most this many objects and bytes is compared in one request. */
export const pageMaxEntries = 20
export const pageMaxBytes: number = 128 * 1024
const answerMaxBytes = 16 * 1024 * 1024
/** Ages may differ by this much: each side reads its own clock, and the upstream's Date header has
 *  whole seconds. */
const ageToleranceSeconds = 3

export async function compare(
  options: CompareOptions,
  form: Form,
  task: ComparisonTask,
): Promise<FormOutcome> {
  switch (task.type) {
    case 'page':
      return comparePage(options, form)
    case 'item':
      if (form.isScale) return compareAlone(options, form, task.entry.key)
      return compareItem(options, form, task.entry)
    case 'alone':
      return compareAlone(options, form, task.key)
  }
}

/** All objects of a resource that is small enough, perhaps none; undefined if it is not. */
export function pageOf({ resource }: Form, { snapshot }: Held): readonly KeyValue[] | undefined {
  const range = prefixRange(keyFromText(resource.storage?.prefix ?? ''))
  if (snapshot.count(range) > pageMaxEntries) return undefined
  const entries = snapshot.range(range)
  const bytes = entries.reduce((sum, { valueLength }) => sum + valueLength, 0)
  return bytes > pageMaxBytes ? undefined : entries
}

async function comparePage(options: CompareOptions, form: Form): Promise<FormOutcome> {
  const { held } = options
  const entries = pageOf(form, held)
  if (entries === undefined) return { type: 'moved' }
  const path = pagePath(form.resource, held, pageMaxEntries + 1, form.output)
  return compareList(options, form, { path, entries, at: held.proven })
}

async function compareItem(
  options: CompareOptions,
  form: Form,
  entry: KeyValue,
): Promise<FormOutcome> {
  const { snapshot, proven } = options.held
  const { resource, output } = form
  // An object that was changed meanwhile is requested as it was.
  const at = snapshot.get(entry.key) === entry ? proven : entry.modRevision
  const name = nameOf(resource, entry.key)
  if (name === undefined) return { type: 'inexact' }
  return compareList(options, form, {
    path: itemPath(resource, at, name, output),
    entries: [entry],
    at,
  })
}

interface ComparedList {
  readonly path: string
  readonly entries: readonly KeyValue[]
  readonly at: Revision
}

async function compareList(
  options: CompareOptions,
  form: Form,
  { path, entries, at }: ComparedList,
): Promise<FormOutcome> {
  const { encoder, clock, gate } = options
  const ours = (now: number): Promise<Uint8Array | NotExact> => {
    const runs = [{ entries, from: 0, to: entries.length, leaf: undefined }]
    const meta = { resourceVersion: String(at) }
    const shown = { ...form.output, now, gate }
    const pieces = listBody(encoder, { form: shown, isPretty: false, meta, runs })
    return inSlices(joinedInSteps(pieces, answerMaxBytes), clock)
  }
  // An object that we cannot show does not have to be compared.
  if ((await ours(clock.wallMs())) instanceof NotExact) return { type: 'inexact' }
  const answer = await asked(options, form, path, 'item')
  if ('type' in answer) return answer
  const body = await ours(dateOf(answer, clock))
  if (body instanceof NotExact) return { type: 'inexact' }
  const difference = differenceOf(form, body, answer)
  return difference === undefined
    ? { type: 'same', entries, place: 'item' }
    : { type: 'differs', at: difference }
}

/** A get has no revision to ask for: the object may have changed. */
async function compareAlone(options: CompareOptions, form: Form, key: Key): Promise<FormOutcome> {
  const { clock, held } = options
  const { resource } = form
  const entry = held.snapshot.get(key) ?? (form.isScale ? undefined : firstOf(resource, held))
  if (entry === undefined) return { type: 'moved' }
  const name = nameOf(resource, entry.key)
  if (name === undefined) return { type: 'inexact' }
  if (aloneBody(options, form, { entry, now: clock.wallMs() }) instanceof NotExact) {
    return { type: 'inexact' }
  }
  const answer = await asked(options, form, alonePath(resource, name, form.output), 'alone')
  if ('type' in answer) {
    return answer.type === 'failed' && !form.isScale ? { type: 'moved' } : answer
  }
  const body = aloneBody(options, form, { entry, now: dateOf(answer, clock) })
  if (body instanceof NotExact) return { type: 'inexact' }
  const at = differenceOf(form, body, answer)
  if (at === undefined) return { type: 'same', entries: [entry], place: 'alone' }
  // Every encoding has the resourceVersion as text.
  const isSameVersion = Buffer.from(answer.body).includes(String(entry.modRevision))
  return isSameVersion ? { type: 'differs', at } : { type: 'moved' }
}

function aloneBody(
  { encoder, gate }: CompareOptions,
  { resource, output, isScale }: Form,
  { entry, now }: { readonly entry: KeyValue; readonly now: number },
): Uint8Array | NotExact {
  const form = { ...output, now, gate }
  if (!isScale) return objectBody(encoder, entry, { form, isPretty: false })
  try {
    return scaleBody(resource, { isPretty: false }, { encoder, form, entry })
  } catch (error) {
    // A refusal.
    if (error instanceof CacheError) return new NotExact(error.message)
    throw error
  }
}

function firstOf({ storage }: Resource, { snapshot }: Held): KeyValue | undefined {
  const [first] = snapshot.iterate(prefixRange(keyFromText(storage?.prefix ?? '')))
  return first
}

/** The upstream's answer to a question, or why there is none. */
export async function asked(
  { upstream, onBytes, signal }: Pick<CompareOptions, 'upstream' | 'onBytes' | 'signal'>,
  { output, acceptsGzip = false }: Pick<Form, 'output'> & { readonly acceptsGzip?: boolean },
  path: string,
  place: OutputPlace,
): Promise<UpstreamAnswer | Extract<FormOutcome, { type: 'refused' | 'failed' }>> {
  try {
    const accept = { accept: acceptOf(output, place) }
    const headers = acceptsGzip ? { ...accept, 'accept-encoding': 'gzip' } : accept
    const request = { method: 'GET', path, headers, maxBytes: answerMaxBytes, signal }
    const answer = await upstream.call(request, 'ourselves')
    onBytes(answer.body.length)
    const { code } = answer
    if (code === 200) return answer
    if (code === 401 || code === 403 || code === 406) return { type: 'refused', code }
    return { type: 'failed', reason: `the upstream answers ${code}` }
  } catch (error) {
    return { type: 'failed', reason: (error as CacheError).message }
  }
}

/** When the upstream answered, by its own clock. */
export function dateOf({ headers }: UpstreamAnswer, clock: Clock): number {
  const date = Date.parse(String(headers['date'] ?? ''))
  return Number.isNaN(date) ? clock.wallMs() : date
}

/** Both send them with what they answer. */
function areWarningsEqual({ warnings }: Resource, { headers }: UpstreamAnswer): boolean {
  const theirs = headers['warning'] ?? []
  const all = typeof theirs === 'string' ? theirs : theirs.join(', ')
  return all === warnings.map(warningHeader).join(', ')
}

/** Place where the upstream's answer differs from ours; undefined if they are the same. */
export function differenceOf(
  { output, resource }: Pick<Form, 'output' | 'resource'>,
  ours: Uint8Array,
  answer: UpstreamAnswer,
): string | undefined {
  const { body } = answer
  if (!areWarningsEqual(resource, answer)) return 'the header Warning'
  const difference = firstDifference(ours, body)
  if (difference === undefined || output.rendering !== 'Table') return difference
  const [a, b] = [ours, body].map(bytes => Buffer.from(bytes).toString())
  return areEqualButForAges(a ?? '', b ?? '', ageToleranceSeconds) ? undefined : difference
}
