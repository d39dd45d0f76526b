/** PodTopologyLabels: the zone and region of its node become labels of a pod, when it is bound or
 *  created with a node. */

import { type JsonObject, memberOf } from '@watchglass/go'
import { textOf } from '../../metadata.ts'
import { addToMeta, labelsOf } from '../pod-parts.ts'
import type { AdmissionPlugin, AdmissionAttributes } from '../plugin.ts'

const topologyLabels = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region']

export const podTopologyLabels: AdmissionPlugin = {
  name: 'PodTopologyLabels',
  mutate(attributes) {
    const { session, operation, object } = attributes
    const { kind, resource, subresource } = session
    if (operation !== 'CREATE' || object === undefined) return undefined
    if (resource.group !== '' || resource.resource !== 'pods') return undefined
    if (!kind.schema.has('podTopologyLabels')) return undefined
    const node = subresource === 'binding' ? targetOf(object) : nodeOf(object)
    return node === '' || (subresource !== '' && subresource !== 'binding')
      ? undefined
      : copyLabels(attributes, object, node)
  },
}

function nodeOf(pod: JsonObject): string {
  return textOf(memberOf(pod.get('spec'), 'nodeName'))
}

function targetOf(binding: JsonObject): string {
  const target = binding.get('target')
  const kind = textOf(memberOf(target, 'kind'))
  return kind === 'Node' || kind === '' ? textOf(memberOf(target, 'name')) : ''
}

async function copyLabels(
  { objects, session }: AdmissionAttributes,
  object: JsonObject,
  name: string,
): Promise<void> {
  const node = await objects.get(session, ['', 'v1', 'nodes'], { namespace: '', name })
  const labels = labelsOf(node)
  addToMeta(
    object,
    'labels',
    topologyLabels
      .filter(label => labels.has(label))
      .map(label => [label, textOf(labels.get(label))] as const),
  )
}
