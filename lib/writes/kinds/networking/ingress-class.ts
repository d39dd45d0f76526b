/** IngressClasses: their controller never changes. */

import { domainPrefixedPath } from '../../validation/domain-names.ts'
import { byteLength, dnsLabel, dnsSubdomain } from '../../validation/formats.ts'
import {
  checkFinalizerDomains,
  checkImmutable,
  checkObjectMeta,
} from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { checkReference } from './shared/references.ts'

export const ingressClass: BuiltInKind = kind({
  group: 'networking.k8s.io',
  kind: 'IngressClass',
  plural: 'ingressclasses',
  counted: ['spec'],
  validateCreate: object => checkIngressClass(object.in('spec')),
  validateUpdate: (object, old) => {
    checkImmutable(object.in('spec', 'controller'), old.in('spec', 'controller'))
    checkObjectMeta(object.in('metadata'), { isNamespaced: false, name: dnsSubdomain })
    checkFinalizerDomains(object.in('metadata'))
    checkIngressClass(object.in('spec'))
  },
})

function checkIngressClass(spec: Place): void {
  const [controller, parameters] = [spec.in('controller'), spec.in('parameters')]
  if (byteLength(controller.text) > 250) controller.tooLong(250)
  domainPrefixedPath(controller)
  if (!parameters.isSet) return
  checkReference(parameters)
  const [scope, namespace] = [parameters.in('scope'), parameters.in('namespace')]
  if (!scope.isSet) {
    scope.required()
    return
  }
  scope.oneOf(['Cluster', 'Namespace'], 'unsupported')
  if (scope.text === 'Namespace') {
    if (!namespace.isSet) {
      namespace.required("`parameters.scope` is set to 'Namespace'")
    } else namespace.mustBe(dnsLabel)
  } else if (scope.text === 'Cluster' && namespace.isSet) {
    namespace.forbidden("`parameters.scope` is set to 'Cluster'")
  }
}
