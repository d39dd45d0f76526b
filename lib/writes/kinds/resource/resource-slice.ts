/** ResourceSlices: the devices that a driver offers (KEP 4381). What is behind gates that are
 *  closed by default is left out, unless the object had it before. */

import {
  goQuote,
  itemsOf,
  JsonNumber,
  type JsonObject,
  type JsonValue,
  memberAt,
} from '@watchglass/go'
import {
  byteLength,
  dnsLabel,
  dnsSubdomain,
  labelValue,
  qualifiedName,
} from '../../validation/formats.ts'
import { internalValue } from '../../validation/internal-types.ts'
import { checkImmutable, isSame } from '../../validation/object-meta.ts'
import type { Place, PlaceRule } from '../../validation/place.ts'
import { checkNodeSelector } from '../../validation/pods/scheduling.ts'
import { checkDriverName } from '../../validation/pods/volumes.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { checkRequestPolicy } from './resource-slice/capacity-policies.ts'
import { checkBindings, checkMemberName, checkPoolName, checkSet } from './shared/device-sets.ts'

export const resourceSlice: BuiltInKind = kind({
  group: 'resource.k8s.io',
  kind: 'ResourceSlice',
  plural: 'resourceslices',
  returnsDeleted: true,
  counted: ['spec'],
  countsDropped: true,
  prepareCreate: object => dropGated(object, undefined),
  prepareUpdate: dropGated,
  validateCreate: object => checkSlice(object.in('spec'), undefined),
  validateUpdate: (object, old) => checkSlice(object.in('spec'), old.in('spec')),
  warn: ofSlice,
})

const lists = ['ints', 'bools', 'strings', 'versions']

const mappings = 'nodeAllocatableResourceMappings'

function dropGated(object: JsonObject, old: JsonObject | undefined): void {
  const [devices, known] = [devicesOf(object), old === undefined ? [] : devicesOf(old)]
  if (!known.some(device => device.has(mappings))) {
    for (const device of devices) device.delete(mappings)
  }
  const hadLists = known
    .flatMap(attributesOf)
    .some(attribute => lists.some(name => attribute.has(name)))
  if (hadLists) return
  for (const attribute of devices.flatMap(attributesOf)) {
    for (const name of lists) attribute.delete(name)
  }
}

function devicesOf(slice: JsonObject): JsonObject[] {
  return itemsOf(memberAt(slice, ['spec', 'devices'])).filter(isObject)
}

function attributesOf(device: JsonObject): JsonObject[] {
  const attributes = device.get('attributes')
  return attributes instanceof Map ? [...attributes.values()].filter(isObject) : []
}

function isObject(value: JsonValue): value is JsonObject {
  return value instanceof Map
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

/** Checks a name of a node, and notes its place in `set`. */
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

/** Attributes of one value: lists of values are behind a feature gate that is off. */
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

/** Names of attributes and capacities are said to be wrong at the map, their values at their
 *  key, of which a long one is shown in part. */
function checkNamed(map: Place, check: PlaceRule): void {
  for (const [key, value] of map.entries) {
    checkMemberName(map, key)
    check(value.as(`${map.path}[${shortened(key, 96)}]`))
  }
}

function shortened(text: string, max: number): string {
  if (text.length <= max) return text
  const kept = max - 3
  return `${text.slice(0, (kept + 1) >> 1)}...${text.slice(text.length - (kept >> 1))}`
}

function ofSlice(object: Place): string[] {
  const driver = object.in('spec', 'driver').text
  return driver === driver.toLowerCase()
    ? []
    : [
        `spec.driver: driver names should be lowercase; ${goQuote(driver)} contains uppercase characters`,
      ]
}
