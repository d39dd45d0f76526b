/** LimitRanger: pods get the requests and limits that their namespace's limit ranges give, and pods
 *  and claims are within what these allow. */

import { type JsonObject, memberOf, objectIn, quantityNanos } from '@watchglass/go'
import { metaText, textOf } from '../../metadata.ts'
import { tooLarge } from '../../refusals.ts'
import { addToMeta, nameIn, partOf, partsOf } from '../pod-parts.ts'
import type { AdmissionPlugin, AdmissionAttributes } from '../plugin.ts'
import { aggregated, forbidden } from '../refusals.ts'
import { podResources, type ResourceList, resourceList } from '../resource-lists.ts'

const limitRanges = ['', 'v1', 'limitranges'] as const
const annotation = 'kubernetes.io/limit-ranger'

export const limitRanger: AdmissionPlugin = {
  name: 'LimitRanger',
  mutate(attributes) {
    const { object } = attributes
    const isPod = attributes.session.kind.resource === 'pods'
    return isLimited(attributes) && isPod && object !== undefined
      ? giveDefaults(attributes, object)
      : undefined
  },
  validate(attributes) {
    const { object } = attributes
    return isLimited(attributes) && object !== undefined
      ? checkLimits(attributes, object)
      : undefined
  },
}

function isLimited({ session, operation, old }: AdmissionAttributes): boolean {
  const { kind, subresource } = session
  if (kind.group !== '' || operation === 'DELETE') return false
  if (old !== undefined && metaText(old, 'deletionTimestamp') !== '') return false
  if (subresource === 'resize') return kind.resource === 'pods' && operation === 'UPDATE'
  if (subresource !== '') return false
  if (kind.resource === 'pods') return operation === 'CREATE'
  return kind.resource === 'persistentvolumeclaims'
}

async function limitsFor({
  objects,
  session,
}: AdmissionAttributes): Promise<readonly JsonObject[][]> {
  const ranges = await objects.list(session, limitRanges, session.namespace)
  return ranges.map(range => partsOf(range.get('spec'), 'limits'))
}

async function giveDefaults(attributes: AdmissionAttributes, pod: JsonObject): Promise<void> {
  const spec = pod.get('spec')
  for (const limits of await limitsFor(attributes)) {
    const defaults = { requests: new Map<string, string>(), limits: new Map<string, string>() }
    for (const limit of limits.filter(one => one.get('type') === 'Container')) {
      for (const [name, quantity] of resourceList(limit.get('defaultRequest'))) {
        defaults.requests.set(name, quantity)
      }
      for (const [name, quantity] of resourceList(limit.get('default'))) {
        defaults.limits.set(name, quantity)
      }
    }
    const notes: string[] = []
    for (const container of partsOf(spec, 'containers')) {
      notes.push(...completed(container, defaults, 'container'))
    }
    for (const container of partsOf(spec, 'initContainers')) {
      notes.push(...completed(container, defaults, 'init container'))
    }
    if (notes.length > 0) {
      addToMeta(pod, 'annotations', [[annotation, `LimitRanger plugin set: ${notes.join('; ')}`]])
    }
  }
}

type Defaults = Readonly<Record<'requests' | 'limits', ResourceList>>

/** Gives a container what it lacks; returns the notes about that. */
function completed(container: JsonObject, defaults: Defaults, what: string): string[] {
  const notes: string[] = []
  for (const side of ['requests', 'limits'] as const) {
    const known = partOf(partOf(container, 'resources'), side)
    const added = [...defaults[side]].filter(([name]) => !known.has(name))
    if (added.length === 0) continue
    objectIn(container, 'resources').set(side, new Map([...known, ...added]))
    const names = added.map(([name]) => name).sort()
    const word = side === 'requests' ? 'request' : 'limit'
    notes.push(`${names.join(', ')} ${word} for ${what} ${nameIn(container)}`)
  }
  return notes
}

/** Limits times containers: nobody means more, and each may have an error. */
const checksMax = 100_000

async function checkLimits(attributes: AdmissionAttributes, object: JsonObject): Promise<void> {
  const spec = object.get('spec')
  const parts = partsOf(spec, 'containers').length + partsOf(spec, 'initContainers').length
  const isPod = attributes.session.kind.resource === 'pods'
  for (const limits of await limitsFor(attributes)) {
    const bounds = limits.flatMap(limit => rules.map(([member]) => partOf(limit, member).size))
    if (bounds.reduce((sum, count) => sum + count, 0) * Math.max(1, parts) > checksMax) {
      throw tooLarge('the namespace has too many limits for so many containers')
    }
    await attributes.session.slice.giveWay()
    const errors = limits.flatMap(limit =>
      isPod ? podErrors(limit, object) : claimErrors(limit, object),
    )
    if (errors.length > 0) throw forbidden(attributes, aggregated(errors))
  }
}

function podErrors(limit: JsonObject, pod: JsonObject): string[] {
  const type = textOf(limit.get('type'))
  const spec = pod.get('spec')
  if (type === 'Container') {
    return [...partsOf(spec, 'containers'), ...partsOf(spec, 'initContainers')].flatMap(one => {
      const resources = partOf(one, 'resources')
      const requests = resourceList(resources.get('requests'))
      return errorsOf(limit, { requests, limits: resourceList(resources.get('limits')) })
    })
  }
  if (type !== 'Pod') return []
  const requests = podResources(pod, 'requests')
  return errorsOf(limit, { requests, limits: podResources(pod, 'limits') })
}

function claimErrors(limit: JsonObject, claim: JsonObject): string[] {
  if (limit.get('type') !== 'PersistentVolumeClaim') return []
  const requests = resourceList(memberOf(partOf(claim.get('spec'), 'resources'), 'requests'))
  const bounds = new Map([...limit].filter(([name]) => name !== 'maxLimitRequestRatio'))
  return errorsOf(bounds, { requests, limits: undefined })
}

interface Asked {
  readonly requests: ResourceList
  /** Undefined where there are none: claims. */
  readonly limits: ResourceList | undefined
}

function errorsOf(limit: JsonObject, asked: Asked): string[] {
  const type = textOf(limit.get('type'))
  return rules.flatMap(([member, rule]) => {
    const bounds = [...resourceList(limit.get(member))].sort(([a], [b]) => (a < b ? -1 : 1))
    return bounds.flatMap(([name, bound]) => rule({ type, name, bound, ...asked }) ?? [])
  })
}

interface Bounded extends Asked {
  /** Container, Pod or PersistentVolumeClaim. */
  readonly type: string
  /** The resource. */
  readonly name: string
  readonly bound: string
}

type Rule = (bounded: Bounded) => string | undefined

const rules: readonly (readonly [member: string, rule: Rule])[] = [
  ['min', belowMinimum],
  ['max', aboveMaximum],
  ['maxLimitRequestRatio', aboveRatio],
]

function belowMinimum({ type, name, bound, requests, limits }: Bounded): string | undefined {
  const [request, limit] = [requests.get(name), limits?.get(name)]
  const words = `minimum ${name} usage per ${type} is ${bound}`
  if (request === undefined) return `${words}.  No request is specified`
  const least = quantityNanos(bound)
  if (quantityNanos(request) < least) return `${words}, but request is ${request}`
  return limit !== undefined && quantityNanos(limit) < least
    ? `${words}, but limit is ${limit}`
    : undefined
}

function aboveMaximum({ type, name, bound, requests, limits }: Bounded): string | undefined {
  const [request, limit] = [requests.get(name), limits?.get(name)]
  const words = `maximum ${name} usage per ${type} is ${bound}`
  const most = quantityNanos(bound)
  if (limits === undefined && request === undefined) return `${words}.  No request is specified`
  if (limits !== undefined && limit === undefined) return `${words}.  No limit is specified`
  if (limit !== undefined && quantityNanos(limit) > most) return `${words}, but limit is ${limit}`
  return request !== undefined && quantityNanos(request) > most
    ? `${words}, but request is ${request}`
    : undefined
}

function aboveRatio({ type, name, bound, requests, limits }: Bounded): string | undefined {
  const request = quantityNanos(requests.get(name) ?? '0')
  const limit = quantityNanos(limits?.get(name) ?? '0')
  const words = `${name} max limit to request ratio per ${type} is ${bound}`
  if (request === 0n) return `${words}, but no request is specified or request is 0`
  if (limit === 0n) return `${words}, but no limit is specified or limit is 0`
  const ratio = Number(limit) / Number(request)
  return ratio > Number(quantityNanos(bound)) / 1e9
    ? `${words}, but provided ratio is ${ratio.toFixed(6)}`
    : undefined
}
