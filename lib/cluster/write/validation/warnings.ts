/** Warnings of built-in kinds about what works and should not be used any more. */

import { itemsOf, type JsonObject, memberAt } from '../../../codec/json/tree.ts'
import { goQuote } from '../../../go/text.ts'
import { textOf } from '../metadata.ts'

const ingressClass = 'kubernetes.io/ingress.class'
const mountableSecrets = 'kubernetes.io/enforce-mountable-secrets'

/** The warnings about an object that is created, or changed where there is an `old` one. */
export function oldWays(
  group: string,
  kind: string,
  object: JsonObject,
  old: JsonObject | undefined,
): string[] {
  const isAdded = (name: string): boolean =>
    hasAnnotation(object, name) && (old === undefined || !hasAnnotation(old, name))
  if (group === 'networking.k8s.io' && kind === 'Ingress' && old === undefined) {
    const hasClass = (memberAt(object, ['spec', 'ingressClassName']) ?? null) !== null
    return isAdded(ingressClass) && !hasClass
      ? [`annotation "${ingressClass}" is deprecated, please use 'spec.ingressClassName' instead`]
      : []
  }
  if (group === '' && kind === 'ServiceAccount' && isAdded(mountableSecrets)) {
    return [
      `metadata.annotations[${mountableSecrets}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`,
    ]
  }
  if (group === 'resource.k8s.io' && kind === 'ResourceSlice') return ofDriver(object)
  return group === '' && kind === 'Service' ? ofService(object) : []
}

function ofDriver(slice: JsonObject): string[] {
  const driver = textOf(memberAt(slice, ['spec', 'driver']))
  return driver === driver.toLowerCase()
    ? []
    : [
        `spec.driver: driver names should be lowercase; ${goQuote(driver)} contains uppercase characters`,
      ]
}

const topologyHints = 'service.kubernetes.io/topology-aware-hints'

/** Members of a Service that are ignored, or should not be used any more. */
function ofService(service: JsonObject): string[] {
  const text = (name: string): string => textOf(memberAt(service, ['spec', name]))
  const isNamed = text('type') === 'ExternalName'
  const isHeadless = text('type') === 'ClusterIP' && text('clusterIP') === 'None'
  const hasExternal = itemsOf(memberAt(service, ['spec', 'externalIPs'])).length > 0
  const said: readonly (readonly [boolean, string])[] = [
    [
      hasAnnotation(service, topologyHints),
      `annotation ${topologyHints} is deprecated, please use service.kubernetes.io/topology-mode instead`,
    ],
    [
      isHeadless && text('loadBalancerIP') !== '',
      'spec.loadBalancerIP is ignored for headless services',
    ],
    [isHeadless && hasExternal, 'spec.externalIPs is ignored for headless services'],
    [
      isHeadless && text('sessionAffinity') !== 'None',
      'spec.SessionAffinity is ignored for headless services',
    ],
    [
      hasExternal && !isHeadless && !isNamed,
      'spec.externalIPs is deprecated and may no longer be implemented in some clusters',
    ],
    [isNamed && hasExternal, 'spec.externalIPs is ignored when spec.type is "ExternalName"'],
    [
      !isNamed && text('externalName') !== '',
      'spec.externalName is ignored when spec.type is not "ExternalName"',
    ],
    [
      text('trafficDistribution') === 'PreferClose',
      'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
    ],
  ]
  return said.flatMap(([isSo, warning]) => (isSo ? [warning] : []))
}

function hasAnnotation(object: JsonObject, name: string): boolean {
  const annotations = memberAt(object, ['metadata', 'annotations'])
  return annotations instanceof Map && annotations.has(name)
}
