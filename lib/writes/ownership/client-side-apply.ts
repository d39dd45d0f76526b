/** Objects that kubectl has applied by itself: it wrote what it applied into an annotation. When
 *  it goes over to server-side apply, it may take what the annotation says that it applied, and
 *  the annotation is kept up to date. */

import type { Steps } from '@watchglass/base'
import { type JsonObject, type JsonValue, memberOf, parseTree, textFromTree } from '@watchglass/go'
import type { WriteKind } from '../write-kind.ts'
import { ApplyConflicts } from './conflicts.ts'
import type { Managers } from './managers.ts'
import { typedObject } from './ownership-context.ts'
import type { FieldSet } from './sets/field-set.ts'
import { compareFields } from './typed/comparison.ts'
import { fieldsOf } from './typed/contained-fields.ts'
import { TypeProblems } from './typed/problems.ts'

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration'

/** All annotations together, names and values. */
const annotationsMaxBytes = 256 * 1024

interface ApplyResult {
  readonly object: JsonObject | undefined
  readonly managers: Managers
}

/** Applies; if that conflicts only with fields that the annotation lists as kubectl's own,
 *  applies by force. */
export function* applyOverClientSide(
  {
    isKubectl,
    live,
    kind,
  }: { readonly isKubectl: boolean; readonly live: JsonObject; readonly kind: WriteKind },
  apply: (force: boolean) => Steps<ApplyResult>,
): Steps<ApplyResult> {
  try {
    return yield* apply(false)
  } catch (error) {
    if (!isKubectl || !(error instanceof ApplyConflicts)) throw error
    const own = yield* fieldsOfAnnotation(kind, live)
    if (own === undefined) throw error
    const others = error.conflicts.filter(({ path }) => !own.has(path))
    if (others.length > 0) throw new ApplyConflicts(others)
    return yield* apply(true)
  }
}

/** The object with the annotation brought up to date, if it has one. */
export function withLastApplied(object: JsonObject, applied: JsonObject): JsonObject {
  const metadata = object.get('metadata')
  const annotations = memberOf(metadata, 'annotations')
  const before = memberOf(annotations, lastApplied)
  if (!(metadata instanceof Map) || !(annotations instanceof Map)) return object
  if (typeof before !== 'string' || before === '') return object
  const updated = new Map(annotations)
  updated.set(lastApplied, `${textFromTree(withoutAnnotation(applied))}\n`)
  if (sizeOf(updated) > annotationsMaxBytes) updated.delete(lastApplied)
  return new Map(object).set('metadata', new Map(metadata).set('annotations', updated))
}

function withoutAnnotation(applied: JsonObject): JsonObject {
  const metadata = applied.get('metadata')
  const annotations = memberOf(metadata, 'annotations')
  if (!(metadata instanceof Map) || !(annotations instanceof Map)) return applied
  const left = new Map(annotations)
  left.delete(lastApplied)
  return new Map(applied).set('metadata', new Map(metadata).set('annotations', left))
}

/** Fields that the annotation lists and whose values are still the same; undefined if there is
 *  no annotation, or it is of another version. */
function* fieldsOfAnnotation(kind: WriteKind, live: JsonObject): Steps<FieldSet | undefined> {
  const text = memberOf(memberOf(live.get('metadata'), 'annotations'), lastApplied)
  if (typeof text !== 'string' || text === '') return undefined
  const bytes = Buffer.from(text)
  const applied: JsonValue | undefined = parseTree(bytes, 0, bytes.length)
  if (!(applied instanceof Map) || applied.get('apiVersion') !== kind.apiVersion) return undefined
  try {
    const { type } = yield* typedObject(kind, live, { allowsDuplicates: false })
    yield* typedObject(kind, applied, { allowsDuplicates: false })
    const { removed, modified, added } = yield* compareFields(type, applied, live)
    const fields = yield* fieldsOf(type, applied)
    return fields.difference(modified).difference(added).difference(removed)
  } catch (error) {
    if (error instanceof TypeProblems) return undefined
    throw error
  }
}

function sizeOf(annotations: JsonObject): number {
  let size = 0
  for (const [key, value] of annotations) {
    size += Buffer.byteLength(key) + Buffer.byteLength(typeof value === 'string' ? value : '')
  }
  return size
}
