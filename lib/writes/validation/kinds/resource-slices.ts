/** ResourceSlices: the devices that a driver offers on a node, or on several. */

import { JsonNumber, type JsonObject, type JsonValue } from '@watchglass/go'
import {
  byteLength,
  cIdentifier,
  dnsLabel,
  dnsSubdomain,
  labelValue,
  qualifiedName,
} from '../formats.ts'
import { internalValue } from '../internal-types.ts'
import type { KindRules } from '../kind-rules.ts'
import { checkImmutable, isSame } from '../object-meta.ts'
import type { Place, Rule } from '../place.ts'
import { checkNodeSelector } from '../pods/scheduling.ts'
import { checkDriverName } from '../pods/volumes.ts'
import { checkRequestPolicy } from './capacity-policies.ts'

export const resourceSliceRules: Readonly<Record<string, KindRules>> = {
  'ResourceSlice.resource.k8s.io': {
    create: object => checkSlice(object.in('spec'), undefined),
    update: (object, old) => checkSlice(object.in('spec'), old.in('spec')),
  },
}

function checkSlice(spec: Place, old: Place | undefined): void {
  checkDriverName(spec.in('driver'))
  checkPool(spec.in('pool'))
  if (old !== undefined) {
    for (const names of [['pool', 'name'], ['driver']]) {
      checkImmutable(spec.in(...names), old.in(...names))
    }
    const node = spec.in('nodeName')
    if (!isSame(node.value, old.in('nodeName').value)) {
      node.invalid('field is immutable', node.value ?? null)
    }
  }
  checkNodesOfSlice(spec)
  const [devices, counters] = [spec.in('devices'), spec.in('sharedCounters')]
  if (devices.isWritten && counters.isWritten) {
    spec.invalid('only one of `sharedCounters` or `devices` is allowed', '')
  }
  const known = new Map(old?.in('devices').items.map(device => [device.in('name').text, device]))
  checkSet(devices, hasAdvancedDevices(devices) ? 64 : 128, {
    key: 'name',
    check: device =>
      checkDevice(device, {
        old: known.get(device.in('name').text),
        choosesNodes: spec.in('perDeviceNodeSelection').isTrue,
      }),
  })
  checkSet(counters, 8, { key: 'name', check: set => checkCounters(set, 'name') })
}

/** Devices with taints or counters cost more to allocate: there may be fewer. */
function hasAdvancedDevices(devices: Place): boolean {
  return devices.items.some(
    device => device.in('taints').size > 0 || device.in('consumesCounters').size > 0,
  )
}

function checkPool(pool: Place): void {
  const [name, count, generation] = [
    pool.in('name'),
    pool.in('resourceSliceCount'),
    pool.in('generation'),
  ]
  checkPoolName(name)
  if (count.number <= 0) count.invalid('must be greater than zero', count.value ?? zero)
  if (generation.number < 0) generation.invalid('must be greater than or equal to zero')
}

export function checkPoolName(name: Place): void {
  if (name.text === '') {
    name.required()
    return
  }
  if (byteLength(name.text) > 253) name.tooLong(253)
  for (const part of name.text.split('/')) name.invalidFor(dnsSubdomain(part), part)
}

const zero: JsonValue = new JsonNumber('0')

function checkNodesOfSlice(spec: Place): void {
  const unset = 'must be either unset or set to '
  const set: string[] = []
  checkNodeName(spec.in('nodeName'), set, `${unset}a non-empty string`)
  const selector = spec.in('nodeSelector')
  checkNodesSelected(selector, set)
  const terms = selector.in('nodeSelectorTerms')
  if (selector.isSet && terms.size !== 1) {
    const value = internalValue('[]NodeSelectorTerm', terms.written)
    terms.invalid('must have exactly one node selector term', value)
  }
  for (const name of ['allNodes', 'perDeviceNodeSelection']) {
    checkSwitch(spec.in(name), name, set)
  }
  const one =
    'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required'
  if (set.length === 0) spec.required(one)
  if (set.length > 1) spec.invalid(`${one}, but multiple fields are set`, `{${set.join(', ')}}`)
}

/** Notes in `set` that it says something. */
function checkNodeName(name: Place, set: string[], detail: string): void {
  if (!name.isSet) return
  if (name.text === '') {
    name.invalid(detail, '')
    return
  }
  set.push('`nodeName`')
  name.mustBe(dnsSubdomain)
}

function checkNodesSelected(selector: Place, set: string[]): void {
  if (!selector.isSet) return
  set.push('`nodeSelector`')
  checkNodeSelector(selector)
}

function checkSwitch(place: Place, name: string, set: string[]): void {
  if (place.isTrue) set.push(`\`${name}\``)
  else if (place.isSet) place.invalid('must be either unset or set to true')
}

interface DeviceContext {
  readonly old: Place | undefined
  readonly choosesNodes: boolean
}

function checkDevice(device: Place, { old, choosesNodes }: DeviceContext): void {
  device.in('name').mustBe(dnsLabel)
  const [attributes, capacity, taints] = [
    device.in('attributes'),
    device.in('capacity'),
    device.in('taints'),
  ]
  const size = attributes.size + capacity.size
  if (size > 32) {
    const detail = 'the total number of attributes and capacities must not exceed 32'
    device.invalid(detail, numberOf(size))
  }
  if (attributes.size > 48) {
    const detail = 'the total number of attribute values must not exceed 48'
    device.invalid(detail, numberOf(attributes.size))
  }
  checkNamed(attributes, checkAttribute)
  const isShared = device.in('allowMultipleAllocations').isTrue
  checkNamed(capacity, amount => checkCapacity(amount, isShared))
  if (old === undefined || !isSame(taints.value, old.in('taints').value)) {
    if (taints.size > 16) taints.tooMany(16)
    else for (const taint of taints.items) checkTaint(taint)
  }
  checkSet(device.in('consumesCounters'), 2, {
    key: 'counterSet',
    check: counters => checkCounters(counters, 'counterSet'),
  })
  checkNodesOfDevice(device, choosesNodes)
  checkBindings(device)
}

function numberOf(number: number): JsonNumber {
  return new JsonNumber(String(number))
}

function checkNodesOfDevice(device: Place, choosesNodes: boolean): void {
  const flag = '`perDeviceNodeSelection` is set to true in the ResourceSlice spec'
  if (!choosesNodes) {
    if (!['nodeName', 'nodeSelector', 'allNodes'].some(name => device.in(name).isSet)) return
    device.invalid(
      `\`nodeName\`, \`nodeSelector\` and \`allNodes\` can only be set if ${flag}`,
      null,
    )
    return
  }
  const set: string[] = []
  checkNodeName(device.in('nodeName'), set, 'must not be empty')
  checkNodesSelected(device.in('nodeSelector'), set)
  checkSwitch(device.in('allNodes'), 'allNodes', set)
  const one = `exactly one of \`nodeName\`, \`nodeSelector\`, or \`allNodes\` is required when ${flag}`
  if (set.length === 0) device.required(one)
  if (set.length > 1) device.invalid(one, `{${set.join(', ')}}`)
}

function checkAttribute(attribute: Place): void {
  const [text, version] = [attribute.in('string'), attribute.in('version')]
  if (byteLength(text.text) > 64) text.tooLong(64)
  if (version.isSet) {
    if (!semanticVersion.test(version.text)) {
      version.invalid('must be a string compatible with semver.org spec 2.0.0', version.text)
    }
    if (byteLength(version.text) > 64) version.tooLong(64)
  }
  const set = attributeKinds.filter(([name]) => attribute.in(name).isSet)
  const detail = 'exactly one value must be specified'
  if (set.length === 0) attribute.invalid(detail, '')
  if (set.length > 1) attribute.invalid(detail, shownAttribute(attribute))
}

/** Those of one value: lists of values are behind a gate that is closed. */
const attributeKinds = [
  ['int', 'IntValue'],
  ['bool', 'BoolValue'],
  ['string', 'StringValue'],
  ['version', 'VersionValue'],
] as const

function shownAttribute(attribute: Place): JsonObject {
  const shown: JsonObject = new Map()
  for (const [name, own] of attributeKinds) shown.set(own, attribute.in(name).value ?? null)
  for (const [, own] of attributeKinds) shown.set(`${own}s`, null)
  return shown
}

const semanticVersion =
  /^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?$/

function checkCapacity(capacity: Place, isShared: boolean): void {
  const policy = capacity.in('requestPolicy')
  if (!policy.isSet) return
  if (isShared) checkRequestPolicy(policy, capacity.in('value').text)
  else policy.forbidden('allowMultipleAllocations must be true')
}

/** A set of counters, or what a device takes of one. */
function checkCounters(set: Place, nameMember: string): void {
  const [name, counters] = [set.in(nameMember), set.in('counters')]
  if (name.text === '') name.required()
  else name.mustBe(dnsLabel)
  if (counters.size === 0) counters.required()
  else if (counters.size > 32) counters.tooMany(32)
  else for (const [key] of counters.entries) counters.invalidFor(dnsLabel(key), key)
}

function checkTaint(taint: Place): void {
  taint.in('key').mustBe(qualifiedName)
  if (taint.in('value').text !== '') taint.in('value').mustBe(labelValue)
  taint.in('effect').oneOf(['NoExecute', 'NoSchedule', 'None'], 'required')
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

/** Names of attributes and capacities are said to be wrong at the map, their values at their
 *  key, of which a long one is shown in part. */
function checkNamed(map: Place, check: Rule): void {
  for (const [key, value] of map.entries) {
    checkMemberName(map, key)
    check(value.as(`${map.path}[${shortened(key, 96)}]`))
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

function shortened(text: string, max: number): string {
  if (text.length <= max) return text
  const kept = max - 3
  return `${text.slice(0, (kept + 1) >> 1)}...${text.slice(text.length - (kept >> 1))}`
}

interface SetRules {
  /** The member by which items are told apart. */
  readonly key: string
  readonly check: Rule
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
