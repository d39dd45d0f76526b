/** MutatingWebhookConfigurations: webhooks that may change an object. */

import { checkFreeMeta } from '../../validation/object-meta.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { ofStaticName } from './shared/static-names.ts'
import { checkWebhooks } from './shared/webhooks.ts'

export const mutatingWebhookConfiguration: BuiltInKind = kind({
  group: 'admissionregistration.k8s.io',
  kind: 'MutatingWebhookConfiguration',
  plural: 'mutatingwebhookconfigurations',
  needsVersion: true,
  counted: ['webhooks'],
  countsEmpties: true,
  hasFreeFinalizers: true,
  hasFreeUpdate: true,
  validateCreate: object => checkWebhooks(object.in('webhooks')),
  validateUpdate: (object, old) => {
    checkFreeMeta(object, false)
    checkWebhooks(object.in('webhooks'), old.in('webhooks'))
  },
  warn: ofStaticName,
})
