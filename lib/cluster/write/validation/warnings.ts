/** Warnings of built-in kinds about what works and should not be used any more. */

import { type JsonObject, memberAt } from '../../../codec/json/tree.ts'

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
  return []
}

function hasAnnotation(object: JsonObject, name: string): boolean {
  const annotations = memberAt(object, ['metadata', 'annotations'])
  return annotations instanceof Map && annotations.has(name)
}
