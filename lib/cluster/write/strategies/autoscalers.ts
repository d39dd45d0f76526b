/** Autoscalers: Kubernetes stores them with metrics, and one of autoscaling/v1 without any gets the
 *  target of 80 % CPU utilization. What v1 has no fields for travels in annotations, which are
 *  fields of the server's own type: they go where they say nothing. */

import {
  itemsOf,
  JsonNumber,
  type JsonObject,
  type JsonValue,
  memberOf,
  parseTree,
} from '../../../codec/json/tree.ts'
import { ownAnnotations, prefix } from '../../../codec/served/convert/autoscalers.ts'
import { textOf } from '../metadata.ts'

/** An autoscaler as it was decoded. */
export function completeAutoscaler(object: JsonObject, apiVersion: string): void {
  const metadata = object.get('metadata')
  const annotations = memberOf(metadata, 'annotations')
  const isOld = apiVersion === 'autoscaling/v1'
  if (annotations instanceof Map && metadata instanceof Map) {
    const kept = new Map(annotations)
    for (const name of ownAnnotations) {
      if (!isOld || !saysSomething(name, kept.get(name))) kept.delete(name)
    }
    if (kept.size < annotations.size) metadata.set('annotations', kept)
  }
  if (isOld) addTarget(object)
}

/** The annotation is in the form of its field: lists of objects, but for the behavior. */
function saysSomething(name: string, value: JsonValue | undefined): boolean {
  const bytes = Buffer.from(textOf(value))
  const noted = parseTree(bytes, 0, bytes.length)
  switch (name.slice(prefix.length)) {
    case 'behavior':
      return noted instanceof Map && noted.size > 0
    case 'metrics':
    case 'current-metrics':
    case 'conditions': {
      const items = itemsOf(noted)
      return items.length > 0 && items.every(item => item instanceof Map)
    }
    default:
      return false
  }
}

/** Its target, unless it has one, or other metrics in an annotation. */
function addTarget(object: JsonObject): void {
  const spec = object.get('spec') ?? new Map()
  if (!(spec instanceof Map)) return
  if ((spec.get('targetCPUUtilizationPercentage') ?? null) !== null) return
  const annotations = memberOf(object.get('metadata'), 'annotations')
  if (memberOf(annotations, `${prefix}metrics`) !== undefined) return
  object.set('spec', spec)
  spec.set('targetCPUUtilizationPercentage', new JsonNumber('80'))
}
