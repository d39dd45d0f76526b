/** The defaults that depend on the type of a Service. The others are among the schema's. */

import { itemsOf, type JsonObject, type JsonValue, memberOf } from '@watchglass/go'
import { number, numberOf, textOf } from '../../../metadata.ts'
import { isExternal, specOf, typeOf } from './spec.ts'

const affinitySeconds = 10_800

/** The defaults that depend on the type of a Service. The others are among the schema's. */
export function completeService(object: JsonObject): void {
  const spec = specOf(object)
  if (spec === undefined) return
  if (textOf(spec.get('sessionAffinity')) === '') spec.set('sessionAffinity', 'None')
  if (spec.get('sessionAffinity') === 'None') spec.delete('sessionAffinityConfig')
  else if (spec.get('sessionAffinity') === 'ClientIP') setAffinity(spec)
  if (typeOf(spec) === '') spec.set('type', 'ClusterIP')
  for (const port of itemsOf(spec.get('ports'))) completePort(port)
  const type = typeOf(spec)
  if (isExternal(spec) && textOf(spec.get('externalTrafficPolicy')) === '') {
    spec.set('externalTrafficPolicy', 'Cluster')
  }
  if (type !== 'ExternalName' && (spec.get('internalTrafficPolicy') ?? null) === null) {
    spec.set('internalTrafficPolicy', 'Cluster')
  }
  if (type !== 'LoadBalancer') return
  if ((spec.get('allocateLoadBalancerNodePorts') ?? null) === null) {
    spec.set('allocateLoadBalancerNodePorts', true)
  }
  const ingresses = memberOf(memberOf(object.get('status'), 'loadBalancer'), 'ingress')
  for (const ingress of itemsOf(ingresses)) {
    if (!(ingress instanceof Map) || textOf(ingress.get('ip')) === '') continue
    if ((ingress.get('ipMode') ?? null) === null) ingress.set('ipMode', 'VIP')
  }
}

function setAffinity(spec: JsonObject): void {
  const seconds = memberOf(
    memberOf(spec.get('sessionAffinityConfig'), 'clientIP'),
    'timeoutSeconds',
  )
  if ((seconds ?? null) !== null) return
  const clientIP: JsonObject = new Map([['timeoutSeconds', number(affinitySeconds)]])
  spec.set('sessionAffinityConfig', new Map([['clientIP', clientIP]]))
}

function completePort(port: JsonValue): void {
  if (!(port instanceof Map)) return
  if (textOf(port.get('protocol')) === '') port.set('protocol', 'TCP')
  const target = port.get('targetPort') ?? null
  if (target === null || target === '' || numberOf(target) === 0) {
    port.set('targetPort', port.get('port') ?? number(0))
  }
}
