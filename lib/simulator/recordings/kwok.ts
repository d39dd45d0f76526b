/** Recordings of kwokctl: a stream of YAML with the objects that there were, and then a
 *  ResourcePatch for each change. Times are written relative to the start of the recording. A
 *  stream of objects alone is one, too: `kubectl get -o yaml`, `kwokctl snapshot save`. */

import {
  CacheError,
  isObject,
  objectOf,
  textOf,
  type UntypedObject,
  yamlValues,
} from '@watchglass/base'
import { patchTypeOf } from '@watchglass/writes'
import type { Change } from '@watchglass/store'
import { type Offsets, offsetsIn, withTimes } from './kwok-times.ts'
import { listedObjects } from './listed-objects.ts'
import { patchedObject, UnfitPatch } from './patches.ts'
import type { HistoryStep, ObjectHistory, RecordedPlace } from './object-history.ts'

export const patchApiVersion = 'action.kwok.x-k8s.io/v1alpha1'
export const patchKind = 'ResourcePatch'

const documentMaxBytes = 64 * 1024 * 1024
/** Changes may be out of order by so many, as kwok allows it. */
const waitingMax = 1_024

export interface KwokOptions {
  /** The lines of the file, from its beginning. */
  readonly lines: () => AsyncIterable<string>
  readonly history: ObjectHistory
  /** The end of the recording is now. */
  readonly nowMs: number
}

/** Throws `CacheError` where a document cannot be read. */
export async function* kwokHistory(options: KwokOptions): AsyncGenerator<HistoryStep> {
  const { history, lines, nowMs } = options
  const offsets = await offsetsIn(lines(), nowMs)
  const waiting: Patch[] = []
  let isBase = true
  for await (const object of objectsOf(lines(), offsets)) {
    if (object['kind'] !== patchKind || object['apiVersion'] !== patchApiVersion) {
      if (isBase) putObject(history, object, offsets.startMs)
      continue
    }
    if (isBase) yield* baseOf(history)
    isBase = false
    insert(waiting, patchOf(object))
    const [next] = waiting
    if (waiting.length <= waitingMax || next === undefined) continue
    waiting.shift()
    yield* played(history, next, offsets)
  }
  if (isBase) yield* baseOf(history)
  for (const patch of waiting) yield* played(history, patch, offsets)
}

function* baseOf(history: ObjectHistory): Generator<HistoryStep> {
  const base = history.base()
  if (base !== undefined) yield base
}

function putObject(history: ObjectHistory, object: UntypedObject, timeMs: number): void {
  for (const one of listedObjects(object)) {
    const place = history.placeOf(one)
    if (place !== undefined) history.put(place, one, timeMs)
  }
}

interface Patch {
  readonly nanos: number
  readonly method: string
  readonly apiVersion: string
  readonly plural: string
  readonly namespace: string
  readonly name: string
  readonly template: UntypedObject
}

function patchOf(object: UntypedObject): Patch {
  const { group, version, resource } = objectOf(object['resource'])
  const { name, namespace } = objectOf(object['target'])
  const { durationNanosecond: nanos, method } = object
  if (typeof nanos !== 'number') {
    throw new CacheError('invalid_request', `a ${patchKind} has no durationNanosecond`)
  }
  const isOfGroup = textOf(group) !== ''
  return {
    nanos,
    method: textOf(method),
    apiVersion: isOfGroup ? `${textOf(group)}/${textOf(version)}` : textOf(version),
    plural: textOf(resource),
    namespace: textOf(namespace),
    name: textOf(name),
    template: objectOf(object['template']),
  }
}

/** Puts it behind all that are not later. */
function insert(waiting: Patch[], patch: Patch): void {
  let at = waiting.length
  while (at > 0 && (waiting[at - 1]?.nanos ?? 0) > patch.nanos) at--
  waiting.splice(at, 0, patch)
}

function* played(
  history: ObjectHistory,
  patch: Patch,
  { startMs }: Offsets,
): Generator<HistoryStep> {
  const place = history.placeNamed(patch, patch.namespace, patch.name)
  if (place === undefined) return
  const timeMs = startMs + Math.round(patch.nanos / 1e6)
  const change = changeOf(history, place, { patch, timeMs })
  if (change !== undefined) yield history.step(change, timeMs)
}

function changeOf(
  history: ObjectHistory,
  place: RecordedPlace,
  { patch, timeMs }: { readonly patch: Patch; readonly timeMs: number },
): Change | undefined {
  switch (patch.method) {
    case 'create':
      return history.put(place, patch.template, timeMs)
    case 'delete':
      return history.delete(place)
    case 'patch': {
      const json = history.jsonAt(place)
      if (json === undefined) return history.leaveOut(`a patch of ${patch.plural} finds no object`)
      return history.put(place, patched(history, place, { json, patch }), timeMs)
    }
    default: {
      const said = JSON.stringify(patch.method)
      throw new CacheError('invalid_request', `a ${patchKind} has the method ${said}`)
    }
  }
}

function patched(
  history: ObjectHistory,
  place: RecordedPlace,
  { json, patch }: { readonly json: string; readonly patch: Patch },
): UntypedObject {
  const type = history.typeOf(place)
  try {
    return patchedObject(json, patch.template, type && patchTypeOf(type))
  } catch (error) {
    if (!(error instanceof UnfitPatch)) throw error
    const what = `${patch.plural} ${patch.namespace}/${patch.name}`
    throw invalid(`a patch of ${what} cannot be applied: ${error.message}`)
  }
}

/** The documents between the lines `---`. */
async function* objectsOf(
  lines: AsyncIterable<string>,
  offsets: Offsets,
): AsyncGenerator<UntypedObject> {
  let document: string[] = []
  let [size, first, number] = [0, 1, 0]
  for await (const line of lines) {
    number++
    if (!/^---(?:\s|$)/.test(line)) {
      size += line.length + 1
      if (size > documentMaxBytes) {
        throw invalid(`the document from line ${String(first)} on is too long`)
      }
      document.push(line)
      continue
    }
    yield* objectsIn(document, first, offsets)
    document = []
    ;[size, first] = [0, number + 1]
  }
  yield* objectsIn(document, first, offsets)
}

/** The objects of a document that begins in a line. */
function* objectsIn(
  document: readonly string[],
  first: number,
  offsets: Offsets,
): Generator<UntypedObject> {
  const place = `the document from line ${String(first)} on`
  for (const value of valuesIn(withTimes(document.join('\n'), offsets), place)) {
    if (value === null) continue
    if (!isObject(value)) throw invalid(`${place} is no object`)
    yield value
  }
}

function valuesIn(text: string, place: string): unknown[] {
  try {
    return yamlValues(text)
  } catch (error) {
    const { message } = CacheError.from(error, 'invalid_request')
    throw invalid(`${place} is no YAML: ${message}`)
  }
}

function invalid(message: string): CacheError {
  return new CacheError('invalid_request', message)
}
