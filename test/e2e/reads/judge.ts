/** Whether an answer is right: a naive reading of what upstream documents about lists and gets,
 *  over what etcd itself has at the revision that the answer names. A wrong answer throws. */

import assert from 'node:assert/strict'
import type { HttpAnswer } from '../../support/http/served.ts'
import type { ModelObject } from './kinds.ts'
import type { GetRequest, ListRequest } from './requests.ts'
import type { ModelEntry, World } from './world.ts'

/** The knowledge around a request. */
export interface Moment {
  /** Written before it was sent. */
  readonly floor: number
  /** etcd's revision after the answer. */
  readonly ceiling: number
  /** Compacted, for certain, before it was sent; and perhaps before the answer came. */
  readonly compacted: number
  readonly compacting: number
  /** The server began to mirror at this revision: older states it must ask etcd for. */
  readonly mirroredSince: number
  /** The server has seen the newest compaction. */
  readonly knowsCompaction: boolean
}

/** The kind of a judged answer, for the count, and the place where the list goes on. */
export interface Verdict {
  readonly kind: string
  readonly continue: string
}

interface Metadata {
  readonly name: string
  readonly namespace?: string
  readonly resourceVersion: string
  readonly labels?: Record<string, string>
  readonly annotations?: { readonly serial?: string }
}

interface Body {
  readonly code?: number
  readonly reason?: string
  readonly items?: readonly { readonly metadata: Metadata }[] | null
  readonly metadata: Metadata & {
    readonly continue?: string
    readonly remainingItemCount?: number
  }
}

/** A token, read without our code. */
interface Token {
  readonly revision: number
  readonly start: string
}

function tokenOf(text: string): Token {
  const { rv, start } = JSON.parse(Buffer.from(text, 'base64url').toString()) as {
    rv: number
    start: string
  }
  return { revision: rv, start: start.replace(/^\//, '') }
}

/** Which revisions an answer may be of. */
interface Allowed {
  readonly first: number
  readonly last: number
  readonly isExact: boolean
}

function refusalOf({ match, resourceVersion, ...request }: ListRequest): number | undefined {
  const hasToken = request.continue !== ''
  if (match !== '') {
    const isKnown = match === 'Exact' || match === 'NotOlderThan'
    const isExactOfAny = match === 'Exact' && resourceVersion === '0'
    if (resourceVersion === '' || hasToken || !isKnown || isExactOfAny) return 422
  }
  return hasToken && resourceVersion !== '' && resourceVersion !== '0' ? 400 : undefined
}

/** The name, if the selector leaves one, in terms of what upstream looks at: a single key. */
function isSingle({ kind, namespace, fields }: ListRequest): boolean {
  const isNamed = fields?.text.split(',').some(one => /^metadata\.name==?/.test(one)) === true
  return isNamed && (!kind.isNamespaced || namespace !== '')
}

function allowedOf(request: ListRequest, { floor, ceiling }: Moment): Allowed {
  const { resourceVersion, match, limit } = request
  if (request.continue !== '') {
    const { revision } = tokenOf(request.continue)
    if (revision < 0) return { first: floor, last: ceiling, isExact: false }
    return { first: revision, last: revision, isExact: true }
  }
  if (resourceVersion === '') return { first: floor, last: ceiling, isExact: false }
  const wanted = Number(resourceVersion)
  if (wanted === 0) return { first: 0, last: ceiling, isExact: false }
  const isExact = match === 'Exact' || (match === '' && limit > 0 && !isSingle(request))
  return { first: wanted, last: isExact ? wanted : ceiling, isExact }
}

/** Judges the answer to a list. */
export async function judgeList(
  world: World,
  request: ListRequest,
  answer: HttpAnswer,
  moment: Moment,
): Promise<Verdict> {
  const body = JSON.parse(answer.body.toString()) as Body
  const refusal = refusalOf(request)
  if (refusal !== undefined) {
    assert.equal(answer.status, refusal)
    return { kind: `refused ${refusal}`, continue: '' }
  }
  const allowed = allowedOf(request, moment)
  if (answer.status !== 200) return judgeFailure(request, { answer, body, allowed, moment })
  const revision = Number(body.metadata.resourceVersion)
  assert.ok(revision >= allowed.first, `revision ${revision} is below ${allowed.first}`)
  assert.ok(revision <= allowed.last, `revision ${revision} is above ${allowed.last}`)
  if (allowed.isExact && moment.knowsCompaction) {
    assert.ok(revision >= moment.compacted, `${revision} is compacted`)
  }
  await judgePage(world, request, body)
  const isOld = revision < moment.mirroredSince
  const way = request.continue !== '' ? 'continued' : allowed.isExact ? 'exact' : 'list'
  return { kind: isOld ? `${way}, from etcd` : way, continue: body.metadata.continue ?? '' }
}

interface Failure {
  readonly answer: HttpAnswer
  readonly body: Body
  readonly allowed: Allowed
  readonly moment: Moment
}

/** The verdict on an answer instead of a list: which may be given, and when. */
function judgeFailure(request: ListRequest, failure: Failure): Verdict {
  const { answer, body, allowed, moment } = failure
  assert.equal(body.code, answer.status)
  switch (answer.status) {
    case 410: {
      assert.ok(allowed.isExact && allowed.first < moment.compacting, 'nothing is compacted')
      assert.equal(body.reason, 'Expired')
      if (request.continue === '') return { kind: 'expired', continue: '' }
      const [given, sent] = [tokenOf(body.metadata.continue ?? ''), tokenOf(request.continue)]
      assert.deepEqual(given, { revision: -1, start: sent.start })
      return { kind: 'expired, to go on', continue: body.metadata.continue ?? '' }
    }
    case 429:
      // At most two lists of etcd's own at once.
      assert.ok(allowed.isExact && allowed.first < moment.mirroredSince, 'the mirror has that')
      assert.ok(answer.headers['retry-after'] !== undefined)
      return { kind: 'busy', continue: '' }
    case 504:
      assert.ok(allowed.first > moment.floor, 'that revision was there')
      return { kind: 'too large', continue: '' }
    default:
      return assert.fail(`status ${answer.status}: ${answer.body.toString().slice(0, 300)}`)
  }
}

/** The page against a walk over everything that etcd has. */
async function judgePage(world: World, request: ListRequest, body: Body): Promise<void> {
  const { kind, namespace, labels, fields } = request
  const { metadata } = body
  // Go writes an empty list of metadata as null.
  const items = body.items ?? []
  const prefix = namespace === '' ? kind.prefix : `${kind.prefix}${namespace}/`
  const entries = await world.entriesAt(prefix, Number(metadata.resourceVersion))
  const start = request.continue === '' ? '' : tokenOf(request.continue).start
  const selects = (object: ModelObject): boolean =>
    labels?.selects(object) !== false && fields?.selects(object) !== false
  const after = entries.filter(({ key }) => key.slice(prefix.length) >= start)
  const isLimited = request.limit > 0 && !(request.resourceVersion === '0' && kind.isWatchCached)
  const isSelecting = labels !== undefined || fields !== undefined
  if (metadata.continue === undefined || metadata.continue === '') {
    const expected = after.filter(({ object }) => selects(object))
    assert.deepEqual(items.map(shownText), expected.map(textOf))
    if (isLimited) assert.ok(items.length <= request.limit)
    assert.equal(metadata.remainingItemCount, undefined)
    return
  }
  const next = tokenOf(metadata.continue)
  assert.equal(next.revision, Number(metadata.resourceVersion))
  assert.ok(next.start > start, 'a token that does not lead on')
  assert.ok(isLimited, 'a token without a limit')
  const page = after.filter(({ key }) => key.slice(prefix.length) < next.start)
  const expected = page.filter(({ object }) => selects(object))
  assert.deepEqual(items.map(shownText), expected.map(textOf))
  assert.ok(items.length <= request.limit)
  assert.ok(after.length > page.length, 'a token with nothing after it')
  if (isSelecting) assert.equal(metadata.remainingItemCount, undefined)
  else {
    assert.equal(items.length, request.limit)
    assert.equal(metadata.remainingItemCount, after.length - page.length)
  }
}

function textOf({ object, revision }: ModelEntry): string {
  const { namespace, name, serial, labels } = object
  return `${namespace}/${name} ${serial} ${revision} ${labelText(labels)}`
}

function shownText({ metadata }: { readonly metadata: Metadata }): string {
  const { namespace = '', name, annotations, resourceVersion, labels = {} } = metadata
  return `${namespace}/${name} ${annotations?.serial} ${resourceVersion} ${labelText(labels)}`
}

function labelText(labels: Readonly<Record<string, string>>): string {
  return Object.keys(labels)
    .sort()
    .map(name => `${name}=${labels[name]}`)
    .join()
}

/** Judges the answer to a get: it must be a state that the object had at some revision that is
 *  fresh enough. */
export async function judgeGet(
  world: World,
  request: GetRequest,
  answer: HttpAnswer,
  { floor, ceiling }: Moment,
): Promise<Verdict> {
  const { kind, namespace, name, resourceVersion } = request
  const wanted = resourceVersion === '' ? floor : Number(resourceVersion)
  if (answer.status === 504) {
    assert.ok(wanted > floor, 'that revision was there')
    return { kind: 'too large', continue: '' }
  }
  const key = `${kind.prefix}${namespace === '' ? '' : `${namespace}/`}${name}`
  const states = await world.statesBetween(key, wanted, ceiling)
  const possible = states.map(entry => (entry === undefined ? 'not found' : textOf(entry)))
  const shown =
    answer.status === 404
      ? 'not found'
      : shownText(JSON.parse(answer.body.toString()) as { metadata: Metadata })
  assert.ok(possible.includes(shown), `${shown} is none of ${possible.join('; ')}`)
  return { kind: answer.status === 404 ? 'get, not found' : 'get', continue: '' }
}
