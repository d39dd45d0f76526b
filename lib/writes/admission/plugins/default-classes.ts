/** DefaultStorageClass and DefaultIngressClass: whoever names no class gets the newest of those
 *  that are marked as the default. */

import type { JsonObject } from '@watchglass/go'
import { metaText } from '../../metadata.ts'
import { annotationsOf, isSet } from '../pod-parts.ts'
import type { AdmissionPlugin, AdmissionAttributes } from '../plugin.ts'
import type { ResourceName } from '../stored-objects.ts'

interface Defaulted {
  readonly name: string
  /** The resource that has a class. */
  readonly group: string
  readonly resource: string
  /** The member of the spec that names it, and the annotation that did so before. */
  readonly member: string
  readonly oldAnnotation: string
  readonly classes: ResourceName
  /** The annotations of a class that is the default. */
  readonly marks: readonly string[]
}

export const defaultStorageClass: AdmissionPlugin = defaultClass({
  name: 'DefaultStorageClass',
  group: '',
  resource: 'persistentvolumeclaims',
  member: 'storageClassName',
  oldAnnotation: 'volume.beta.kubernetes.io/storage-class',
  classes: ['storage.k8s.io', 'v1', 'storageclasses'],
  marks: [
    'storageclass.kubernetes.io/is-default-class',
    'storageclass.beta.kubernetes.io/is-default-class',
  ],
})

export const defaultIngressClass: AdmissionPlugin = defaultClass({
  name: 'DefaultIngressClass',
  group: 'networking.k8s.io',
  resource: 'ingresses',
  member: 'ingressClassName',
  oldAnnotation: 'kubernetes.io/ingress.class',
  classes: ['networking.k8s.io', 'v1', 'ingressclasses'],
  marks: ['ingressclass.kubernetes.io/is-default-class'],
})

function defaultClass(row: Defaulted): AdmissionPlugin {
  return {
    name: row.name,
    mutate(attributes) {
      const { operation, object } = attributes
      const spec = object?.get('spec')
      const isMeant = operation === 'CREATE' && attributes.isOf(row.group, row.resource)
      if (!isMeant || object === undefined || !(spec instanceof Map)) return undefined
      if (isSet(spec.get(row.member)) || annotationsOf(object).has(row.oldAnnotation)) {
        return undefined
      }
      return setClass(attributes, row, spec)
    },
  }
}

async function setClass(
  attributes: AdmissionAttributes,
  row: Defaulted,
  spec: JsonObject,
): Promise<void> {
  const classes = await attributes.objects.list(attributes.session, row.classes)
  const [found] = classes
    .filter(one => row.marks.some(mark => annotationsOf(one).get(mark) === 'true'))
    .sort(newestFirst)
  if (found !== undefined) spec.set(row.member, metaText(found, 'name'))
}

function newestFirst(a: JsonObject, b: JsonObject): number {
  const [at, bt] = [metaText(a, 'creationTimestamp'), metaText(b, 'creationTimestamp')]
  if (at !== bt) return at > bt ? -1 : 1
  return metaText(a, 'name') < metaText(b, 'name') ? -1 : 1
}
