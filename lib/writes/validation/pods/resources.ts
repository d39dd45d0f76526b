/** Names and amounts of resources: of containers, of pods, and of what limits them. */

import { quantityNanos } from '@watchglass/go'
import { dnsLabel, qualifiedName } from '../formats.ts'
import { NamedText } from '../../field-errors.ts'
import type { Place } from '../place.ts'

const whole = 1_000_000_000n

const containerResources: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage'])
/** The resources that are counted in whole numbers. */
const countedResources: ReadonlySet<string> = new Set([
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
])
/** The resources that a quota may limit by a name without a domain. */
export const quotaResources: ReadonlySet<string> = new Set([
  'cpu',
  'memory',
  'ephemeral-storage',
  'requests.cpu',
  'requests.memory',
  'requests.storage',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
  ...countedResources,
])
/** Names without a domain. */
const standardResources: ReadonlySet<string> = new Set([...quotaResources, 'storage'])

export function isHugePages(name: string): boolean {
  return name.startsWith('hugepages-')
}

/** Names without a domain, and those of kubernetes.io. */
export function isNative(name: string): boolean {
  return !name.includes('/') || name.includes('kubernetes.io/')
}

export function isExtended(name: string): boolean {
  if (isNative(name) || name.startsWith('requests.')) return false
  return qualifiedName(`requests.${name}`).length === 0
}

function isCounted(name: string): boolean {
  return countedResources.has(name) || isExtended(name)
}

/** Resources that may be overcommitted. */
function mayOvercommit(name: string): boolean {
  return isNative(name) && !isHugePages(name)
}

/** Checks the name of a resource; false if it is invalid. */
export function checkResourceName(place: Place, name: string): boolean {
  const before = place.errors.length
  place.invalidFor(qualifiedName(name), new NamedText(name))
  if (place.errors.length > before) return false
  if (name.includes('/')) return true
  if (standardResources.has(name) || isQuotaHugePages(name)) return true
  place.invalidName('must be a standard resource type or fully qualified', name)
  return false
}

function isQuotaHugePages(name: string): boolean {
  return isHugePages(name) || name.startsWith('requests.hugepages-')
}

export function checkContainerResourceName(place: Place, name: string): void {
  checkResourceName(place, name)
  if (!name.includes('/')) {
    if (!containerResources.has(name) && !isHugePages(name)) {
      place.invalidName('must be a standard resource for containers', name)
    }
  } else if (!isNative(name) && !isExtended(name)) {
    place.invalidName("doesn't follow extended resource name standard", name)
  }
}

function checkPodResourceName(place: Place, name: string): void {
  if (!checkResourceName(place, name)) return
  if (name === 'cpu' || name === 'memory' || isHugePages(name)) return
  place.notSupported(['cpu', 'hugepages-', 'memory'], name)
}

/** An amount of a resource. */
export function checkQuantity(place: Place, name: string): void {
  const nanos = quantityNanos(place.text)
  if (nanos < 0n) place.invalid('must be greater than or equal to 0')
  if (isCounted(name) && nanos % whole !== 0n) place.invalid('must be an integer')
}

/** The limits and requests of a container, or of a whole pod. */
export function checkRequirements(
  resources: Place,
  claimNames: ReadonlySet<string>,
  isOfPod = false,
): void {
  const [limits, requests] = [resources.in('limits'), resources.in('requests')]
  const checkName = isOfPod ? checkPodResourceName : checkContainerResourceName
  for (const [name, amount] of limits.entries) {
    checkName(amount, name)
    checkQuantity(amount, name)
    checkHugePages(amount, name)
  }
  for (const [name, amount] of requests.entries) {
    checkName(amount, name)
    checkQuantity(amount, name)
    checkRequest(requests.as(requests.path, amount.value), name, limits)
    checkHugePages(amount, name)
  }
  const names = [...limits.entries, ...requests.entries].map(([name]) => name)
  if (names.some(isHugePages) && !names.some(name => name === 'cpu' || name === 'memory')) {
    resources.forbidden('HugePages require cpu or memory')
  }
  checkClaims(resources.in('claims'), claimNames)
}

function checkRequest(request: Place, name: string, limits: Place): void {
  const limit = limits.in(name)
  if (!limit.isSet) {
    if (!mayOvercommit(name)) {
      limits.required('Limit must be set for non overcommitable resources')
    }
    return
  }
  const [asked, most] = [quantityNanos(request.text), quantityNanos(limit.text)]
  const words = `${name} limit of ${limit.text}`
  if (asked !== most && !mayOvercommit(name)) request.invalid(`must be equal to ${words}`)
  else if (asked > most) request.invalid(`must be less than or equal to ${words}`)
}

/** Huge pages come in pieces of the size that their name says. */
function checkHugePages(amount: Place, name: string): void {
  if (!isHugePages(name)) return
  const page = quantityNanos(name.slice('hugepages-'.length))
  const size = wholeOf(quantityNanos(amount.text))
  if (page > 0n && page % whole === 0n && size % wholeOf(page) === 0n) return
  amount.invalid(`${amount.text} is not positive integer multiple of ${name}`)
}

/** The whole units of an amount, rounded away from zero. */
function wholeOf(nanos: bigint): bigint {
  return nanos < 0n ? -wholeOf(-nanos) : (nanos + whole - 1n) / whole
}

function checkClaims(claims: Place, known: ReadonlySet<string>): void {
  const seen = new Set<string>()
  for (const claim of claims.items) {
    const [name, request] = [claim.in('name').text, claim.in('request')]
    if (name === '') {
      claim.required()
      continue
    }
    if (seen.has(name)) claim.duplicate(name)
    else {
      if (request.text !== '') request.mustBe(dnsLabel)
      const key = request.text === '' ? name : `${name}/${request.text}`
      if (seen.has(key)) claim.duplicate(key)
      else if (request.text === '') {
        // A whole claim has all its requests, some of which may have been named before.
        for (const one of seen) if (one.startsWith(`${name}/`)) claim.duplicate(name)
      }
      seen.add(key)
    }
    const names = known.size === 0 ? ' which is empty' : `: ${[...known].sort().join(', ')}`
    if (!known.has(name)) {
      claim.notFound(name, `must be one of the names in pod.spec.resourceClaims${names}`)
    }
  }
}
