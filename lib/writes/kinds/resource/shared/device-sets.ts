/** Lists of devices, and what is named in them. */

import {
  byteLength,
  cIdentifier,
  dnsSubdomain,
  qualifiedName,
} from '../../../validation/formats.ts'
import type { Place, PlaceRule } from '../../../validation/place.ts'
import { checkDriverName } from '../../../validation/pods/volumes.ts'

export function checkPoolName(name: Place): void {
  if (name.text === '') {
    name.required()
    return
  }
  if (byteLength(name.text) > 253) name.tooLong(253)
  for (const part of name.text.split('/')) name.invalidFor(dnsSubdomain(part), part)
}

export function checkBindings(device: Place): void {
  const [conditions, failures] = [
    device.in('bindingConditions'),
    device.in('bindingFailureConditions'),
  ]
  for (const list of [conditions, failures]) {
    if (list.size > 4) list.tooMany(4)
    else for (const item of list.items) item.mustBe(qualifiedName)
  }
  checkUnique(conditions, new Set())
  const other = new Set(conditions.texts)
  checkUnique(failures, other)
  const [both, needed] = ['bindingConditions', 'bindingFailureConditions']
  if (conditions.size === 0 && failures.size > 0) {
    conditions.invalid(`${both} are required to use ${needed}`, conditions.shown)
  }
  if (failures.size === 0 && conditions.size > 0) {
    failures.invalid(`${needed} are required to use ${both}`, failures.shown)
  }
}

function checkUnique(list: Place, other: ReadonlySet<string>): void {
  const seen = new Set<string>()
  for (const item of list.items) {
    if (seen.has(item.text)) item.duplicate(item.text)
    seen.add(item.text)
    if (other.has(item.text)) {
      item.invalid('bindingFailureConditions must not overlap with bindingConditions', item.text)
    }
  }
}

/** An identifier of C, and a domain before it. More slashes are let through, as upstream does. */
export function checkMemberName(map: Place, key: string): void {
  const parts = key.split('/')
  const [domain = '', id = ''] = parts.length === 1 ? ['', key] : parts
  if (parts.length > 2) return
  if (parts.length === 2) {
    if (domain === '') map.invalid('the domain must not be empty', '')
    else checkDriverName(map.as(map.path, domain))
    if (id === '') {
      map.invalid('the name must not be empty', '')
      return
    }
  }
  if (byteLength(id) > 32) map.tooLong(32)
  map.invalidFor(cIdentifier(id), id)
}

interface SetRules {
  /** The member by which items are told apart. */
  readonly key: string
  readonly check: PlaceRule
}

export function checkSet(set: Place, max: number, { key, check }: SetRules): void {
  if (set.size > max) {
    set.tooMany(max)
    return
  }
  const { items } = set
  for (const item of items) check(item)
  const seen = new Set<string>()
  for (const item of items) {
    const name = item.in(key).text
    if (seen.has(name)) item.duplicate(name)
    seen.add(name)
  }
}
