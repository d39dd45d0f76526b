/** RuntimeClass: a pod has the overhead, the node selector and the tolerations of its class. */

import { goQuote, itemsOf, type JsonObject, type JsonValue } from '@watchglass/go'
import { writtenMember } from '../../decode/written-empties.ts'
import { isEqual, textOf } from '../../metadata.ts'
import { partOf } from '../pod-parts.ts'
import type { AdmissionPlugin, AdmissionAttributes } from '../plugin.ts'
import { forbidden } from '../refusals.ts'

const classes = ['node.k8s.io', 'v1', 'runtimeclasses'] as const

export const runtimeClass: AdmissionPlugin = {
  name: 'RuntimeClass',
  mutate(attributes) {
    const spec = newPodSpec(attributes)
    return spec && completePod(attributes, spec)
  },
  validate(attributes) {
    const spec = newPodSpec(attributes)
    return spec && checkOverhead(attributes, spec)
  },
}

function newPodSpec({ isPod, operation, object }: AdmissionAttributes): JsonObject | undefined {
  const spec = object?.get('spec')
  if (!isPod || operation !== 'CREATE' || !(spec instanceof Map)) return undefined
  return spec.has('runtimeClassName') || spec.has('overhead') ? spec : undefined
}

async function classOf(
  attributes: AdmissionAttributes,
  spec: JsonObject,
): Promise<JsonObject | undefined> {
  const name = textOf(spec.get('runtimeClassName'))
  if (name === '') return undefined
  const { objects, session } = attributes
  const found = await objects.get(session, classes, { namespace: '', name })
  if (found === undefined) {
    throw forbidden(attributes, `pod rejected: RuntimeClass ${goQuote(name)} not found`)
  }
  return found
}

const overheadDiffers = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"

async function completePod(attributes: AdmissionAttributes, spec: JsonObject): Promise<void> {
  const found = await classOf(attributes, spec)
  const overhead = found?.get('overhead')
  if (overhead instanceof Map) {
    const fixed = partOf(overhead, 'podFixed')
    if (partOf(spec, 'overhead').size > 0 && !isEqual(fixed, spec.get('overhead'))) {
      throw forbidden(attributes, overheadDiffers)
    }
    if (fixed.size > 0) spec.set('overhead', new Map(fixed))
  }
  const scheduling = found?.get('scheduling')
  if (!(scheduling instanceof Map)) return
  const selector: JsonObject = new Map(partOf(spec, 'nodeSelector'))
  for (const [key, value] of partOf(scheduling, 'nodeSelector')) {
    const own = selector.get(key)
    if (own !== undefined && own !== value) {
      throw forbidden(
        attributes,
        `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${textOf(value)}; pod.spec.nodeSelector[${key}] = ${textOf(own)}`,
      )
    }
    selector.set(key, value)
  }
  if (selector.size > 0) spec.set('nodeSelector', selector)
  const own = itemsOf(spec.get('tolerations'))
  const tolerations = merged(own, itemsOf(scheduling.get('tolerations')))
  if (tolerations.length > 0) spec.set('tolerations', tolerations)
}

/** Tolerations that are compared with each other; of more, all are kept. */
const mergedMax = 1000

/** Both lists, but for those of which another one tolerates as much. */
function merged(first: readonly JsonValue[], second: readonly JsonValue[]): JsonValue[] {
  const all = [...first, ...second]
  if (all.length > mergedMax) return all
  const kept: JsonValue[] = []
  for (const [i, toleration] of all.entries()) {
    if (kept.some(other => covers(other, toleration))) continue
    const isCovered = all
      .slice(i + 1)
      .some(other => !isEqual(other, toleration) && covers(other, toleration))
    if (!isCovered) kept.push(toleration)
  }
  return kept
}

/** True if the first tolerates all that the second does. */
function covers(first: JsonValue, second: JsonValue): boolean {
  if (isEqual(first, second)) return true
  const member = (value: JsonValue, name: string): string =>
    value instanceof Map ? textOf(value.get(name)) : ''
  const seconds = (value: JsonValue): JsonValue | undefined =>
    value instanceof Map ? value.get('tolerationSeconds') : undefined
  if (member(first, 'key') !== member(second, 'key') && member(first, 'key') !== '') return false
  const effect = member(first, 'effect')
  if (effect !== '' && effect !== member(second, 'effect')) return false
  if (effect === 'NoExecute' && seconds(first) !== undefined) return false
  if (member(first, 'operator') === 'Exists') return true
  return (
    member(first, 'value') === member(second, 'value') && member(second, 'operator') !== 'Exists'
  )
}

async function checkOverhead(attributes: AdmissionAttributes, spec: JsonObject): Promise<void> {
  const found = await classOf(attributes, spec)
  const overhead = found?.get('overhead')
  if (overhead instanceof Map) {
    if (isEqual(overhead.get('podFixed'), spec.get('overhead'))) return
    throw forbidden(attributes, overheadDiffers)
  }
  // An empty one is set, too.
  if ((writtenMember(spec, 'overhead') ?? null) === null) return
  throw forbidden(
    attributes,
    'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
  )
}
