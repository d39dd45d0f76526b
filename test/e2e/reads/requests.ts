/** Random lists and gets of the model, with every parameter that reads have. */

import { type Random, randomInt, randomItem } from '../../../lib/base/random.ts'
import {
  type ModelKind,
  type ModelSelector,
  kinds,
  namespaces,
  randomFieldSelector,
  randomLabelSelector,
  randomLimit,
  randomName,
} from './kinds.ts'

/** The part that all pages of a list share. */
export interface ListShape {
  readonly kind: ModelKind
  /** Empty: all. */
  readonly namespace: string
  readonly labels: ModelSelector | undefined
  readonly fields: ModelSelector | undefined
}

export interface ListRequest extends ListShape {
  readonly resourceVersion: string
  readonly match: string
  readonly limit: number
  /** Empty: the first page. */
  readonly continue: string
}

export interface GetRequest {
  readonly kind: ModelKind
  readonly namespace: string
  readonly name: string
  readonly resourceVersion: string
}

/** A page that can be followed. */
export interface OpenChain {
  readonly shape: ListShape
  readonly continue: string
}

export function randomShape(random: Random): ListShape {
  const kind = randomItem(random, kinds)
  const isNamespaced = kind.isNamespaced && random.next() < 0.5
  const hasLabels = random.next() < 0.35
  const hasFields = random.next() < 0.35
  return {
    kind,
    namespace: isNamespaced ? randomItem(random, namespaces) : '',
    labels: hasLabels ? randomLabelSelector(random) : undefined,
    fields: hasFields ? randomFieldSelector(random, kind) : undefined,
  }
}

/** The first page of a list. `around` is a revision that etcd has about now. */
export function randomList(random: Random, around: number): ListRequest {
  const resourceVersion = randomResourceVersion(random, around)
  const chance = random.next()
  const match =
    chance < 0.45 ? '' : chance < 0.75 ? 'Exact' : chance < 0.97 ? 'NotOlderThan' : 'exact'
  const isUnset = resourceVersion === '' && random.next() < 0.9
  return {
    ...randomShape(random),
    resourceVersion,
    match: isUnset ? '' : match,
    limit: randomLimit(random),
    continue: '',
  }
}

function randomResourceVersion(random: Random, around: number): string {
  const chance = random.next()
  if (chance < 0.3) return ''
  if (chance < 0.4) return '0'
  // A little below or above what is there, so that some of it is still to come.
  if (chance < 0.7) return String(Math.max(1, around + randomInt(random, -20, 3)))
  return String(randomInt(random, 1, around))
}

/** The page after another; at times with parameters that do not go with a token. */
export function randomContinuation(random: Random, chain: OpenChain): ListRequest {
  const chance = random.next()
  return {
    ...chain.shape,
    resourceVersion: chance < 0.85 ? '' : chance < 0.93 ? '0' : '5',
    match: random.next() < 0.05 ? 'NotOlderThan' : '',
    limit: randomLimit(random),
    continue: chain.continue,
  }
}

export function randomGet(random: Random, around: number): GetRequest {
  const kind = randomItem(random, kinds)
  return {
    kind,
    namespace: kind.isNamespaced ? randomItem(random, namespaces) : '',
    name: randomName(random),
    resourceVersion: randomResourceVersion(random, around),
  }
}

export function listPath(request: ListRequest): string {
  const { kind, namespace, labels, fields, resourceVersion, match, limit } = request
  const parameters = new URLSearchParams()
  const add = (name: string, value: string): void => {
    if (value !== '') parameters.append(name, value)
  }
  add('labelSelector', labels?.text ?? '')
  add('fieldSelector', fields?.text ?? '')
  add('resourceVersion', resourceVersion)
  add('resourceVersionMatch', match)
  add('limit', limit === 0 ? '' : String(limit))
  add('continue', request.continue)
  return `${scopePath(kind, namespace)}?${parameters.toString()}`
}

export function getPath({ kind, namespace, name, resourceVersion }: GetRequest): string {
  const query = resourceVersion === '' ? '' : `?resourceVersion=${resourceVersion}`
  return `${scopePath(kind, namespace)}/${name}${query}`
}

function scopePath({ root, resource }: ModelKind, namespace: string): string {
  return namespace === '' ? `${root}/${resource}` : `${root}/namespaces/${namespace}/${resource}`
}
