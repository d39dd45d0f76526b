/** The addresses and the families of a Service. The server looks at them when it gives addresses
 *  out, which is before it looks at anything else: their errors come alone. */

import { checkLegacyAddress } from '../../../validation/ip-fields.ts'
import type { Place } from '../../../validation/place.ts'
import { isHeadless } from './updates.ts'

const families = ['IPv4', 'IPv6']

/** False if something is wrong. */
export function checkServiceAddresses(object: Place, old: Place | undefined): boolean {
  const spec = object.in('spec')
  if (spec.in('type').text === 'ExternalName') return true
  const before = object.errors.length
  checkClusterIPs(spec, old?.in('spec'))
  if (object.errors.length === before) checkFamilies(spec, old?.in('spec'))
  return object.errors.length === before
}

function checkClusterIPs(spec: Place, old: Place | undefined): void {
  const [clusterIP, clusterIPs] = [spec.in('clusterIP').text, spec.in('clusterIPs')]
  const addresses = clusterIPs.texts
  if (clusterIP === '') {
    if (addresses.length > 0) clusterIPs.invalid('must be empty when `clusterIP` is not specified')
  } else if (addresses.length === 0) clusterIPs.required()
  else if (addresses[0] !== clusterIP) clusterIPs.invalid('first value must match `clusterIP`')
  const seen = new Set<string>()
  for (const family of spec.in('ipFamilies').items) {
    family.oneOf(families, 'unsupported')
    if (seen.has(family.text)) family.duplicate()
    seen.add(family.text)
  }
  const policy = spec.in('ipFamilyPolicy')
  if (policy.isSet) {
    policy.oneOf(['PreferDualStack', 'RequireDualStack', 'SingleStack'], 'unsupported')
  }
  if (!areAddressesValid(clusterIPs, old?.in('clusterIPs').texts ?? [])) return
  const areSix = addresses.map(address => address.includes(':'))
  if (addresses.length > 1 && new Set(areSix).size < 2) {
    clusterIPs.invalid('may specify no more than one IP for each IP family')
  }
  if (isHeadless(spec)) return
  const places = clusterIPs.items
  for (const [i, family] of spec.in('ipFamilies').texts.entries()) {
    const isSix = areSix[i]
    if (isSix === undefined) break
    const place = places[i]
    if (family === (isSix ? 'IPv4' : 'IPv6')) {
      place?.invalid(`expected an ${family} value as indicated by \`ipFamilies[${i}]\``)
    }
  }
}

function areAddressesValid(clusterIPs: Place, known: readonly string[]): boolean {
  const { errors, size } = clusterIPs
  let areValid = true
  for (const [i, address] of clusterIPs.items.entries()) {
    if (i === 0 && address.text === 'None') {
      if (size > 1) {
        clusterIPs.invalid("'None' must be the first and only value")
        areValid = false
      }
      continue
    }
    const before = errors.length
    checkLegacyAddress(address, known)
    areValid &&= errors.length === before
  }
  if (size > 2) clusterIPs.invalid('may only hold up to 2 values')
  return areValid
}

/** The cluster has addresses of IPv4 only. */
function checkFamilies(spec: Place, old: Place | undefined): void {
  const before = spec.errors.length
  const [policy, wanted, addresses] = [
    spec.in('ipFamilyPolicy'),
    spec.in('ipFamilies'),
    spec.in('clusterIPs'),
  ]
  const isSingle = !policy.isSet || policy.text === 'SingleStack'
  for (const [name, words] of [
    ['clusterIPs', 'cluster IP'],
    ['ipFamilies', 'IP family'],
  ] as const) {
    const size = spec.in(name).size
    if (isSingle || size === 0 || size >= (old?.in(name).size ?? 0)) continue
    policy.invalid(`must be 'SingleStack' to release the secondary ${words}`)
  }
  for (const [list, words] of [
    [addresses, 'cluster IPs'],
    [wanted, 'IP families'],
  ] as const) {
    if (isSingle && list.size === 2) {
      policy.invalid(
        `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${words} are specified`,
        'SingleStack',
      )
    }
  }
  for (const [i, { path, text }] of addresses.items.entries()) {
    if (text === 'None') break
    if (i < wanted.size || !text.includes(':')) continue
    addresses.as(path).invalid('IPv6 is not configured on this cluster')
  }
  if (spec.errors.length > before) return
  if (isHeadless(spec) && spec.in('selector').size === 0) return
  if (policy.text === 'RequireDualStack') {
    policy.invalid('this cluster is not configured for dual-stack services')
  }
  for (const family of wanted.items) {
    if (family.text === 'IPv6') family.invalid('not configured on this cluster')
  }
}
