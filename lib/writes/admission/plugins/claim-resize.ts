/** PersistentVolumeClaimResize: a claim grows only where its class says so. */

import { type JsonObject, memberAt, quantityNanos } from '@watchglass/go'
import { textOf } from '../../metadata.ts'
import { annotationsOf } from '../pod-parts.ts'
import type { AdmissionPlugin, AdmissionAttributes } from '../plugin.ts'
import { forbidden } from '../refusals.ts'

export const persistentVolumeClaimResize: AdmissionPlugin = {
  name: 'PersistentVolumeClaimResize',
  validate(attributes) {
    const { operation, object, old } = attributes
    if (operation !== 'UPDATE' || !attributes.isOf('', 'persistentvolumeclaims')) return undefined
    if (object === undefined || old === undefined || sizeOf(object) <= sizeOf(old)) {
      return undefined
    }
    if (memberAt(old, ['status', 'phase']) !== 'Bound') {
      throw forbidden(attributes, 'Only bound persistent volume claims can be expanded')
    }
    return checkClass(attributes, classOf(object) === classOf(old) ? classOf(object) : '')
  },
}

async function checkClass(attributes: AdmissionAttributes, name: string): Promise<void> {
  const found = await attributes.objects.get(attributes.session, classes, { namespace: '', name })
  if (found?.get('allowVolumeExpansion') === true) return
  throw forbidden(
    attributes,
    'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
  )
}

const classes = ['storage.k8s.io', 'v1', 'storageclasses'] as const

function sizeOf(claim: JsonObject): bigint {
  return quantityNanos(textOf(memberAt(claim, ['spec', 'resources', 'requests', 'storage'])))
}

function classOf(claim: JsonObject): string {
  const old = annotationsOf(claim).get('volume.beta.kubernetes.io/storage-class')
  return textOf(old) || textOf(memberAt(claim, ['spec', 'storageClassName']))
}
