/** PodResizeValidator: a pod that is placed may ask for no more than its node has, and is resized
 *  on Linux only. */

import { goQuote, type JsonObject, memberOf, quantityNanos } from '@watchglass/go'
import { generationOf, textOf } from '../../metadata.ts'
import { labelsOf, partOf } from '../pod-parts.ts'
import type { AdmissionPlugin, AdmissionAttributes } from '../plugin.ts'
import { forbidden } from '../refusals.ts'
import { podResources, resourceList, sumOf } from '../resource-lists.ts'

export const podResizeValidator: AdmissionPlugin = {
  name: 'PodResizeValidator',
  validate(attributes) {
    const { session, operation, object, old } = attributes
    const { kind, subresource } = session
    if (subresource !== 'resize' || operation !== 'UPDATE' || kind.resource !== 'pods') {
      return undefined
    }
    if (!kind.schema.has('podResizeFits') || object === undefined || old === undefined) {
      return undefined
    }
    const node = textOf(memberOf(object.get('spec'), 'nodeName'))
    if (node === '' || generationOf(object) === generationOf(old)) return undefined
    return checkNode(attributes, object, node)
  },
}

async function checkNode(
  attributes: AdmissionAttributes,
  pod: JsonObject,
  name: string,
): Promise<void> {
  const { objects, session } = attributes
  const node = await objects.get(session, ['', 'v1', 'nodes'], { namespace: '', name })
  if (node === undefined) throw forbidden(attributes, `node ${goQuote(name)} not found`)
  const system = textOf(labelsOf(node).get('kubernetes.io/os'))
  if (labelsOf(node).has('kubernetes.io/os') && system !== 'linux') {
    throw forbidden(
      attributes,
      `pod resize is only supported on linux nodes, node ${goQuote(name)} is ${goQuote(system)}`,
      [{ reason: 'UnsupportedPlatform' }],
    )
  }
  const lacking = whatIsLacking(pod, node)
  if (lacking.length === 0) return
  throw forbidden(
    attributes,
    `node didn't have enough allocatable resources: ${lacking.join('; ')}`,
    [{ reason: 'NodeCapacity' }],
  )
}

/** Resources by the billionths of the unit in which they are told. */
const units = { cpu: 1_000_000n, memory: 1_000_000_000n }

function whatIsLacking(pod: JsonObject, node: JsonObject): string[] {
  const overhead = resourceList(partOf(pod, 'spec').get('overhead'))
  const requests = sumOf(podResources(pod, 'requests'), overhead)
  const allocatable = resourceList(memberOf(node.get('status'), 'allocatable'))
  return Object.entries(units).flatMap(([name, unit]) => {
    const [asked, has] = [requests, allocatable].map(list => quantityNanos(list.get(name) ?? '0'))
    if (asked === undefined || has === undefined || asked <= has) return []
    const told = (nanos: bigint): bigint => (nanos + unit - 1n) / unit
    return [`${name}, requested: ${told(asked)}, allocatable: ${told(has)}`]
  })
}
