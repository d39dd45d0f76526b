/** Nodes: kubelets register themselves with their status, so a create keeps it. */

import { goQuote, parsePrefix } from '@watchglass/go'
import { byteLength, labelValue, qualifiedName } from '../../validation/formats.ts'
import { checkLegacyPrefix } from '../../validation/ip-fields.ts'
import { checkChangedMeta, checkNewMeta, textOfSame } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { checkQuantity } from '../../validation/pods/resources.ts'
import { taintEffects } from '../../validation/pods/scheduling.ts'
import { ofPrefix } from '../../warnings/addresses.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { checkNodeAnnotations } from './node/annotations.ts'

export const node: BuiltInKind = kind({
  group: '',
  kind: 'Node',
  plural: 'nodes',
  hasStatus: true,
  keepsStatus: true,
  // Configuration of kubelets through the API was removed.
  gated: [
    ['spec', 'configSource'],
    ['status', 'config'],
  ],
  hasOwnMetadata: true,
  validateCreate: checkNode,
  validateUpdate: (object, old) => {
    checkNode(object)
    checkNodeUpdate(object, old)
  },
  warn: object => [
    ...(object.in('spec', 'externalID').text === ''
      ? []
      : ['spec.externalID: this field is deprecated, and is unused by Kubernetes']),
    ...object.in('spec', 'podCIDRs').items.flatMap(ofPrefix),
  ],
  subresources: {
    status: {
      validate: checkNodeUpdate,
    },
  },
})

function checkNode(object: Place): void {
  checkNewMeta(object, false)
  checkNodeAnnotations(object, checkTaintList)
  checkTaints(object)
  checkNodeAmounts(object)
  checkSwap(object)
  checkFeatures(object.in('status', 'declaredFeatures'))
  checkPodRanges(object.in('spec', 'podCIDRs'))
}

/** The error names a field of the metadata. */
function checkSwap(object: Place): void {
  const capacity = object.in('status', 'nodeInfo', 'swap', 'capacity')
  if (!capacity.isSet || capacity.number > 0) return
  capacity.as('metadata.nodeSwapStatus.capacity').invalid('must be greater than zero')
}

const featureWords =
  "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"

const featurePattern = /^[A-Z][a-zA-Z0-9]*(?:\/[a-zA-Z][a-zA-Z0-9]*)*$/

/** Features that the node says it has, in alphabetical order. */
function checkFeatures(features: Place): void {
  let before: string | undefined
  for (const feature of features.items) {
    const { text } = feature
    if (before === text) feature.duplicate()
    else if (before !== undefined && before > text) {
      feature.invalid('list must be sorted alphabetically')
    }
    checkFeature(feature)
    before = text
  }
}

/** Errors about taints name a field of the metadata, though taints are in the spec. */
function checkTaints(object: Place): void {
  checkTaintList(object.in('spec', 'taints').as('metadata.taints'))
}

function checkTaintList(list: Place): void {
  const seen = new Set<string>()
  for (const taint of list.items) {
    const [key, value, effect] = [taint.in('key'), taint.in('value'), taint.in('effect')]
    key.mustBe(qualifiedName)
    const problems = labelValue(value.text)
    if (problems.length > 0) value.invalid(problems.join(';'))
    if (effect.text === '') effect.required()
    else effect.oneOf(taintEffects, 'unsupported')
    const name = `${effect.text} ${key.text}`
    if (seen.has(name)) {
      taint.duplicateOf('taints must be unique by key and effect pair', shown(taint))
    }
    seen.add(name)
  }
}

function shown(taint: Place): Map<string, string | null> {
  return new Map([
    ['Key', taint.in('key').text],
    ['Value', taint.in('value').text],
    ['Effect', taint.in('effect').text],
    ['TimeAdded', taint.in('timeAdded').text || null],
  ])
}

function checkNodeAmounts(object: Place): void {
  for (const name of ['capacity', 'allocatable']) {
    const amounts = object.in('status', name)
    for (const [key, amount] of amounts.entries) {
      checkQuantity(amount.as(`${amounts.path}.${key}`), key)
    }
  }
}

function checkFeature(feature: Place): void {
  const named = `invalid feature name ${goQuote(feature.text)}`
  const isLong = byteLength(feature.text) > 253
  if (isLong) feature.invalid(`${named}: must be no more than 253 characters`)
  else if (!featurePattern.test(feature.text)) feature.invalid(`${named}: ${featureWords}`)
}

function checkPodRanges(ranges: Place): void {
  for (const range of ranges.items) checkLegacyPrefix(range)
  if (ranges.size < 2) return
  const wrong = ranges.texts.findIndex(text => parsePrefix(text) === undefined)
  if (wrong >= 0) {
    const text = ranges.texts[wrong] ?? ''
    ranges.failed(
      `invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[${wrong}]: <nil> (invalid CIDR address: ${text})`,
    )
  }
  const families = ranges.texts.map(text => parsePrefix(text)?.address.isV4)
  const areTwo = families.includes(true) && families.includes(false)
  if (!areTwo || wrong >= 0 || ranges.size > 2) {
    ranges.invalid('may specify no more than one CIDR for each IP family')
  }
}

function checkNodeUpdate(object: Place, old: Place): void {
  checkChangedMeta(object, old)
  checkNodeAnnotations(object, checkTaintList)
  checkNodeAmounts(object)
  checkFeatures(object.in('status', 'declaredFeatures'))
  const seen = new Set<string>()
  for (const address of object.in('status', 'addresses').items) {
    const text = textOfSame(address.value)
    if (seen.has(text)) {
      const members = ['type', 'address'] as const
      const names = members.map((name): [string, string] => [
        name.replace(/^./, first => first.toUpperCase()),
        address.in(name).text,
      ])
      address.duplicate(new Map(names))
    }
    seen.add(text)
  }
  const [ranges, before] = [object.in('spec', 'podCIDRs'), old.in('spec', 'podCIDRs')]
  const words = 'except from "" to valid'
  if (before.size > 0) {
    const { texts } = ranges
    const changed = before.texts.filter((text, i) => texts[i] !== text).length
    const errors = ranges.size === before.size ? changed : 1
    for (let i = 0; i < errors; i++) {
      ranges.forbidden(`node updates may not change podCIDR ${words}`)
    }
  }
  const [id, oldId] = [object.in('spec', 'providerID'), old.in('spec', 'providerID')]
  if (oldId.text !== '' && id.text !== oldId.text) {
    id.forbidden(`node updates may not change providerID ${words}`)
  }
  checkTaints(object)
  if (object.in('spec', 'externalID').text !== old.in('spec', 'externalID').text) {
    object.in('spec', 'externalID').forbidden('may not be updated')
  }
}
