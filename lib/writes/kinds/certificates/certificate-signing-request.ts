/** CertificateSigningRequests: who asks is filled in, and approval and status are written through
 *  subresources. */

import {
  goQuote,
  itemsOf,
  type JsonObject,
  type JsonValue,
  memberOf,
  requestProblem,
} from '@watchglass/go'
import { copyMember } from '../../metadata.ts'
import { byteLength, dnsLabel, dnsSubdomain } from '../../validation/formats.ts'
import {
  checkChangedMeta,
  checkFinalizerDomains,
  checkObjectMeta,
  isSame,
} from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { certificateProblem } from '../../validation/x509.ts'
import { type BuiltInKind, kind, type StrategyContext } from '../kind.ts'

export const certificateSigningRequest: BuiltInKind = kind({
  group: 'certificates.k8s.io',
  kind: 'CertificateSigningRequest',
  plural: 'certificatesigningrequests',
  hasStatus: true,
  resets: ['spec', 'status'],
  prepareCreate: (object, { user }) => {
    const spec = object.get('spec')
    if (!(spec instanceof Map)) return
    for (const name of ['username', 'uid', 'groups', 'extra']) spec.delete(name)
    if (user.user !== '') spec.set('username', user.user)
    if (user.uid !== '') spec.set('uid', user.uid)
    if (user.groups.length > 0) spec.set('groups', [...user.groups])
    const extra = Object.entries(user.extra)
    if (extra.length > 0) {
      spec.set('extra', new Map(extra.map(([name, values]) => [name, [...values]])))
    }
  },
  prepareUpdate: (object, old) => copyMember(object, old, 'spec'),
  hasOwnMetadata: true,
  validateCreate: object => checkRequest(object),
  validateUpdate: (object, old) => checkUpdate(object, old, {}),
  subresources: {
    status: {
      resets: ['spec', 'status.conditions'],
      prepare: (object, old, context) => {
        for (const type of ['Approved', 'Denied']) keepConditions(object, old, type)
        fillTimes(object, old, context)
      },
      validate: (object, old) => checkUpdate(object, old, { certificate: true }),
    },
    approval: {
      resets: ['spec', 'status.certificate'],
      prepare: (object, old, context) => {
        fillTimes(object, old, context)
        const conditions = memberOf(object.get('status'), 'conditions')
        copyMember(object, old, 'spec')
        const known = old.get('status')
        const status: JsonObject = known instanceof Map ? new Map(known) : new Map()
        if (conditions === undefined) status.delete('conditions')
        else status.set('conditions', conditions)
        object.set('status', status)
      },
      validate: (object, old) => checkUpdate(object, old, { approval: true }),
    },
  },
})

function conditionsOf(object: JsonObject): readonly JsonValue[] {
  return itemsOf(memberOf(object.get('status'), 'conditions'))
}

/** Conditions of the type keep their values, unless their number changes. */
function keepConditions(object: JsonObject, old: JsonObject, type: string): void {
  const known = conditionsOf(old).filter(condition => memberOf(condition, 'type') === type)
  const conditions = memberOf(object.get('status'), 'conditions')
  if (!Array.isArray(conditions)) return
  const places = [...conditions.keys()].filter(i => memberOf(conditions[i], 'type') === type)
  if (places.length !== known.length) return
  for (const [i, place] of places.entries()) conditions[place] = known[i] ?? null
}

function fillTimes(object: JsonObject, old: JsonObject, { now }: StrategyContext): void {
  for (const condition of conditionsOf(object)) {
    if (!(condition instanceof Map)) continue
    if ((condition.get('lastUpdateTime') ?? null) === null) condition.set('lastUpdateTime', now)
    if ((condition.get('lastTransitionTime') ?? null) !== null) continue
    const same = conditionsOf(old).find(
      known =>
        memberOf(known, 'type') === condition.get('type') &&
        memberOf(known, 'status') === condition.get('status') &&
        (memberOf(known, 'lastTransitionTime') ?? null) !== null,
    )
    condition.set('lastTransitionTime', memberOf(same, 'lastTransitionTime') ?? now)
  }
}

/** The members of a status that an update may change. */
interface Allowed {
  readonly approval?: true
  readonly certificate?: true
}

const usages = [
  'any',
  'cert sign',
  'client auth',
  'code signing',
  'content commitment',
  'crl sign',
  'data encipherment',
  'decipher only',
  'digital signature',
  'email protection',
  'encipher only',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'key agreement',
  'key encipherment',
  'microsoft sgc',
  'netscape sgc',
  'ocsp signing',
  's/mime',
  'server auth',
  'signing',
  'timestamping',
]

const legacySigner = 'kubernetes.io/legacy-unknown'

const secondsMin = 600

const domainMaxBytes = 253

/** A domain, a slash, the name of a namespace, a dot and the name of an object. */
const signerMaxBytes = domainMaxBytes + 1 + 63 + 1 + 253

/** @param old what is stored; what is wrong with it already is no error */
function checkRequest(object: Place, old?: Place): void {
  checkObjectMeta(object.in('metadata'), { isNamespaced: false, name: () => [] })
  checkFinalizerDomains(object.in('metadata'))
  const spec = object.in('spec')
  const request = spec.in('request')
  const wrong = requestProblem(request.text)
  if (wrong !== undefined) request.invalid(wrong, request.shown)
  checkUsages(spec.in('usages'), old?.in('spec', 'usages').texts ?? [])
  const signer = spec.in('signerName')
  if (signer.text === legacySigner && old === undefined) {
    signer.invalid('the legacy signerName is not allowed via this API version')
  } else checkSigner(signer)
  const seconds = spec.in('expirationSeconds')
  if (seconds.isNumber && seconds.number < secondsMin) {
    seconds.invalid('may not specify a duration less than 600 seconds (10 minutes)')
  }
  checkConditions(object.in('status', 'conditions'), old?.in('status', 'conditions'))
  const certificate = object.in('status', 'certificate')
  if (old !== undefined && certificate.text === old.in('status', 'certificate').text) return
  const problem = certificateProblem(certificate.text)
  if (problem !== undefined) certificate.invalid(problem, '<certificate data>')
}

function checkUsages(place: Place, known: readonly string[]): void {
  if (place.items.length === 0) place.required()
  if (known.every(usage => usages.includes(usage))) {
    for (const usage of place.items) usage.oneOf(usages, 'unsupported')
  }
  if (new Set(known).size < known.length) return
  const seen = new Set<string>()
  for (const usage of place.items) {
    if (seen.has(usage.text)) usage.duplicate()
    seen.add(usage.text)
  }
}

function checkSigner(place: Place): void {
  const { text } = place
  if (text === '') {
    place.required()
    return
  }
  const segments = text.split('/')
  const [domain = '', path = ''] = segments
  if (segments.length !== 2) {
    place.invalid("must be a fully qualified domain and path of the form 'example.com/signer-name'")
    return
  }
  if (byteLength(domain) > domainMaxBytes) place.tooLong(domainMaxBytes)
  const labels = domain.split('.')
  const wrong = labels.find(label => dnsLabel(label).length > 0)
  if (wrong !== undefined) {
    for (const problem of dnsLabel(wrong)) {
      place.invalid(`validating label ${goQuote(wrong)}: ${problem}`, domain)
    }
  }
  if (labels.length < 2) {
    place.invalid('should be a domain with at least two segments separated by dots', domain)
  }
  const part = path.split('.').find(label => dnsSubdomain(label).length > 0)
  for (const problem of part === undefined ? [] : dnsSubdomain(part)) {
    place.invalid(`validating label ${goQuote(part ?? '')}: ${problem}`, path)
  }
  if (byteLength(text) > signerMaxBytes) place.tooLong(signerMaxBytes)
}

/** Types of conditions whose status can only be True. */
const trueTypes = ['Approved', 'Denied', 'Failed']

const decisions = ['Approved', 'Denied']

function checkConditions(place: Place, old?: Place): void {
  const known = old === undefined ? [] : typesIn(old)
  const hasBoth = decisions.every(type => known.includes(type))
  const hasRepeated = new Set(known).size < known.length
  const seen = new Set<string>()
  for (const condition of place.items) {
    const type = condition.in('type')
    if (type.text === '' && !known.includes('')) type.required()
    const allowed = trueTypes.includes(type.text) ? ['True'] : ['False', 'True', 'Unknown']
    condition.in('status').oneOf(allowed, 'required')
    const other = decisions.find(decision => decision !== type.text)
    const isDecision = decisions.includes(type.text)
    if (isDecision && !hasBoth && other !== undefined && seen.has(other)) {
      place.invalid('Approved and Denied conditions are mutually exclusive', type.text)
    }
    if (seen.has(type.text) && !hasRepeated) type.duplicate()
    seen.add(type.text)
  }
}

function typesIn(conditions: Place): string[] {
  return conditions.items.map(condition => condition.in('type').text)
}

function checkUpdate(object: Place, old: Place, allowed: Allowed): void {
  checkRequest(object, old)
  const [conditions, before] = [object, old].map(one => one.in('status', 'conditions'))
  if (conditions === undefined || before === undefined) return
  const of = (place: Place, type: string): Place[] =>
    place.items.filter(condition => condition.in('type').text === type)
  for (const type of trueTypes) {
    if (of(conditions, type).length < of(before, type).length) {
      conditions.forbidden(`updates may not remove a condition of type ${goQuote(type)}`)
    }
  }
  for (const type of allowed.approval ? [] : decisions) {
    const [now, then] = [of(conditions, type), of(before, type)]
    if (now.length > then.length) {
      conditions.forbidden(`updates may not add a condition of type ${goQuote(type)}`)
    } else if (
      now.length === then.length &&
      now.some((one, i) => !isSame(one.value, then[i]?.value))
    ) {
      conditions.forbidden(`updates may not modify a condition of type ${goQuote(type)}`)
    }
  }
  const [certificate, known] = [object, old].map(one => one.in('status', 'certificate'))
  if (certificate !== undefined && known !== undefined && certificate.text !== known.text) {
    if (allowed.certificate === undefined) {
      certificate.forbidden('updates may not set certificate content')
    } else if (known.text !== '') {
      certificate.forbidden('updates may not modify existing certificate content')
    }
  }
  checkChangedMeta(object, old)
}
