/** Autoscalers of autoscaling/v1: Kubernetes stores them with metrics, and one without any gets
 *  the target of 80 % CPU utilization. */

import { JsonNumber, type JsonObject, memberOf } from '../../../codec/json/tree.ts'

const metricsAnnotation = 'autoscaling.alpha.kubernetes.io/metrics'

/** Its target, unless it has one, or other metrics in an annotation. */
export function completeAutoscaler(object: JsonObject): void {
  const spec = object.get('spec') ?? new Map()
  if (!(spec instanceof Map)) return
  if ((spec.get('targetCPUUtilizationPercentage') ?? null) !== null) return
  const annotations = memberOf(object.get('metadata'), 'annotations')
  if (memberOf(annotations, metricsAnnotation) !== undefined) return
  object.set('spec', spec)
  spec.set('targetCPUUtilizationPercentage', new JsonNumber('80'))
}
