/** APIServices: one that no other server serves is available from the beginning. */

import { goQuote, type JsonObject, memberOf } from '@watchglass/go'
import { copyMember, metadataOf } from '../../metadata.ts'
import { dns1035Label, dnsSubdomain, pathSegment, portNumber } from '../../validation/formats.ts'
import {
  checkFinalizerDomains,
  checkObjectMeta,
  checkObjectMetaUpdate,
} from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { type BuiltInKind, kind, type StrategyContext } from '../kind.ts'

export const apiService: BuiltInKind = kind({
  group: 'apiregistration.k8s.io',
  kind: 'APIService',
  plural: 'apiservices',
  hasStatus: true,
  needsVersion: true,
  prepareCreate: availableHere,
  hasOwnMetadata: true,
  validateCreate: checkService,
  validateUpdate: checkService,
  subresources: {
    status: {
      resets: ['metadata', 'spec'],
      prepare: (object, old) => {
        for (const name of ['labels', 'annotations', 'finalizers', 'ownerReferences']) {
          copyMember(metadataOf(object), metadataOf(old), name)
        }
      },
      validate: checkAvailability,
    },
  },
})

/** Marks an APIService available that no other server serves: it is served here, and needs no
 *  look. */
function availableHere(object: JsonObject, { now }: StrategyContext): void {
  if ((memberOf(object.get('spec'), 'service') ?? null) !== null) return
  const condition = new Map([
    ['type', 'Available'],
    ['status', 'True'],
    ['lastTransitionTime', now],
    ['reason', 'Local'],
    ['message', 'Local APIServices are always available'],
  ])
  object.set('status', new Map([['conditions', [condition]]]))
}

/** Whether another server answers. */
function checkAvailability(object: Place, old: Place): void {
  checkObjectMetaUpdate(object.in('metadata'), old.in('metadata'))
  for (const condition of object.in('status', 'conditions').items) {
    condition.in('status').oneOf(['True', 'False', 'Unknown'], 'unsupported')
  }
}

/** A service is named after what it serves. */
function serviceName(text: string, spec: Place): readonly string[] {
  const problems = pathSegment(text)
  if (problems.length > 0) return problems
  const name = `${spec.in('version').text}.${spec.in('group').text}`
  return text === name ? [] : [`must be \`spec.version+"."+spec.group\`: ${goQuote(name)}`]
}

function checkService(object: Place): void {
  checkObjectMeta(object.in('metadata'), {
    isNamespaced: false,
    name: text => serviceName(text, object.in('spec')),
  })
  checkFinalizerDomains(object.in('metadata'))
  const spec = object.in('spec')
  const [group, version, service] = [spec.in('group'), spec.in('version'), spec.in('service')]
  if (group.text === '' && version.text !== 'v1') {
    group.required('only v1 may have an empty group and it better be legacy kube')
  }
  if (group.text !== '') group.mustBe(dnsSubdomain)
  version.mustBe(dns1035Label)
  for (const [name, max] of [
    ['groupPriorityMinimum', 20000],
    ['versionPriority', 1000],
  ] as const) {
    const { number } = spec.in(name)
    if (number > 0 && number <= max) continue
    spec.in(name).invalid(`must be positive and less than ${max}`, number)
  }
  const [bundle, isInsecure] = [spec.in('caBundle'), spec.in('insecureSkipTLSVerify')]
  if (!service.isSet) {
    if (bundle.text !== '') {
      const bytes = Buffer.from(bundle.text, 'base64').length
      bundle.invalid('local APIServices may not have a caBundle', `${bytes} bytes`)
    }
    if (isInsecure.isTrue) {
      isInsecure.invalid('local APIServices may not have insecureSkipTLSVerify')
    }
    return
  }
  for (const name of ['namespace', 'name']) {
    if (service.in(name).text === '') service.in(name).required()
  }
  const port = service.in('port')
  const errors = portNumber(port.number)
  if (errors.length > 0) port.invalid(`port is not valid: ${errors.join(', ')}`, port.number)
  if (isInsecure.isTrue && bundle.text !== '') {
    isInsecure.invalid('may not be true if caBundle is present')
  }
}
