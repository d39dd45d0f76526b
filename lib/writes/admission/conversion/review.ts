/** ConversionReviews: what a conversion webhook is asked, and what its answer means. */

import type { Steps } from '@watchglass/base'
import {
  copyTree,
  goQuote,
  itemsOf,
  type JsonObject,
  type JsonValue,
  memberAt,
  memberOf,
  documentInSteps,
  textInOrder,
} from '@watchglass/go'
import { valuesMax } from '../../decode/documents.ts'
import { metaText, textOf } from '../../metadata.ts'
import type { FieldError } from '../../field-errors.ts'
import { checkAnnotations, checkLabels } from '../../validation/object-meta.ts'
import { Place } from '../../validation/place.ts'
import { aggregated } from '../refusals.ts'

const group = 'apiextensions.k8s.io'

/** The complaint about an answer, in the words of kube-apiserver. */
export class UnusableConversion extends Error {}

/** The version of reviews that is sent; undefined if none that is known is wanted. */
export function conversionVersionOf(wanted: readonly string[]): string | undefined {
  const version = wanted.find(one => one === 'v1' || one === 'v1beta1')
  return version === undefined ? undefined : `${group}/${version}`
}

export interface ConversionRequest {
  readonly uid: string
  readonly apiVersion: string
  /** The version that is wanted. */
  readonly to: string
  readonly objects: readonly JsonObject[]
}

/** A review as it is sent. */
export function conversionReview({ uid, apiVersion, to, objects }: ConversionRequest): Buffer {
  const tree = (members: readonly (readonly [string, JsonValue])[]): JsonObject => new Map(members)
  const review = tree([
    ['kind', 'ConversionReview'],
    ['apiVersion', apiVersion],
    [
      'request',
      tree([
        ['uid', uid],
        ['desiredAPIVersion', to],
        ['objects', [...objects]],
      ]),
    ],
    [
      'response',
      tree([
        ['uid', ''],
        ['convertedObjects', null],
        ['result', tree([['metadata', tree([])]])],
      ]),
    ],
  ])
  return Buffer.from(`${textInOrder(review)}\n`)
}

/** The kind of an object as Go prints it: `example.com/v1, Kind=Server`. */
export function kindText(object: JsonObject): string {
  return `${textOf(object.get('apiVersion'))}, Kind=${textOf(object.get('kind'))}`
}

/** Reads an answer: the converted objects, with the metadata of those that were sent. Throws an
 *  `UnusableConversion`. An answer of many megabytes takes many steps. */
export function* convertedIn(body: Buffer, request: ConversionRequest): Steps<JsonObject[]> {
  const { objects } = request
  const [first = new Map<string, JsonValue>()] = objects
  const words = `conversion webhook for ${kindText(first)}`
  const found = yield* objectsIn(body, request, `${words} failed: `)
  if (found.length !== objects.length) {
    throw new UnusableConversion(
      `${words} returned ${found.length} objects, expected ${objects.length}`,
    )
  }
  const made: JsonObject[] = []
  for (const [i, object] of objects.entries()) {
    yield
    made.push(checked(object, found[i] ?? null, { to: request.to, words, i }))
  }
  return made
}

function* objectsIn(
  body: Buffer,
  { uid, apiVersion }: ConversionRequest,
  failed: string,
): Steps<readonly JsonValue[]> {
  const fail = (problem: string): UnusableConversion => new UnusableConversion(failed + problem)
  const document = yield* documentInSteps(body, 0, body.length, valuesMax)
  if (document === 'too large') throw fail(`the answer has more than ${valuesMax} names and values`)
  const review = document?.value
  if (!(review instanceof Map)) {
    throw fail(
      `couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
    )
  }
  const given = [textOf(review.get('apiVersion')), textOf(review.get('kind'))]
  if (given[0] !== apiVersion || given[1] !== 'ConversionReview') {
    throw fail(
      `expected webhook response of ${apiVersion}, Kind=ConversionReview, got ${given[0]}, Kind=${given[1]}`,
    )
  }
  const response = review.get('response')
  if (!(response instanceof Map)) throw fail('no response provided')
  const answered = textOf(response.get('uid'))
  if (answered !== uid) {
    throw fail(`expected response.uid=${goQuote(uid)}, got ${goQuote(answered)}`)
  }
  const status = textOf(memberAt(response, ['result', 'status']))
  if (status !== 'Success') {
    const message = textOf(memberAt(response, ['result', 'message']))
    throw fail(message || `response.result.status was '${status}', not 'Success'`)
  }
  return itemsOf(response.get('convertedObjects'))
}

interface Checking {
  readonly to: string
  readonly words: string
  readonly i: number
}

/** An object of an answer, which may change everything but what the object is, and of its metadata
 *  labels and annotations only. */
function checked(object: JsonObject, converted: JsonValue, { to, words, i }: Checking): JsonObject {
  const at = `${words} returned invalid object at index ${i}: `
  if (!(converted instanceof Map)) throw new UnusableConversion(`${at}it is no object`)
  const version = textOf(converted.get('apiVersion'))
  if (version !== to) {
    throw new UnusableConversion(`${at}invalid groupVersion (expected ${to}, received ${version})`)
  }
  const [kind, madeKind] = [object, converted].map(one => textOf(one.get('kind')))
  if (kind !== madeKind) {
    throw new UnusableConversion(`${at}invalid kind (expected ${kind}, received ${madeKind})`)
  }
  for (const [name, member] of [
    ['name', 'name'],
    ['namespace', 'namespace'],
    ['UID', 'uid'],
  ] as const) {
    const [own, made] = [object, converted].map(one => metaText(one, member))
    if (own === made) continue
    throw new UnusableConversion(
      `${words} returned invalid object: must have the same ${name}: ${own} != ${made}`,
    )
  }
  const result: JsonObject = new Map(converted)
  result.set('metadata', metadataOf(object, converted, `${words} returned invalid metadata: `))
  return result
}

function metadataOf(object: JsonObject, converted: JsonObject, at: string): JsonObject {
  const given = converted.get('metadata')
  if (!(given instanceof Map)) {
    throw new UnusableConversion(`${at}missing metadata in converted object`)
  }
  const own = object.get('metadata')
  const metadata = own instanceof Map ? (copyTree(own) as JsonObject) : new Map<string, JsonValue>()
  for (const name of ['labels', 'annotations'] as const) {
    const changed = given.get(name) ?? null
    if (changed === null) {
      metadata.delete(name)
      continue
    }
    const problem = problemOf(name, changed, memberOf(own, name))
    if (problem !== undefined) throw new UnusableConversion(at + problem)
    metadata.set(name, changed)
  }
  return metadata
}

function problemOf(
  name: 'labels' | 'annotations',
  changed: JsonValue,
  own: JsonValue | undefined,
): string | undefined {
  if (!(changed instanceof Map)) return `invalid metadata.${name} in converted object`
  const wrong = [...changed].find(([, value]) => typeof value !== 'string')
  if (wrong !== undefined) return `metadata.${name}[${wrong[0]}] must be a string`
  const isSame =
    own instanceof Map &&
    own.size === changed.size &&
    [...changed].every(([key, value]) => own.get(key) === value)
  if (isSame) return undefined
  const errors: FieldError[] = []
  const place = new Place(changed, `metadata.${name}`, errors)
  if (name === 'labels') checkLabels(place)
  else checkAnnotations(place)
  if (errors.length === 0) return undefined
  return aggregated(errors.map(({ field, message }) => `${field}: ${message}`))
}
