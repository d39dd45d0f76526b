/** Which metadata Go's typed ObjectMeta leaves alone. The API server decodes the metadata of custom
 *  resources into that type and writes it again: unknown fields, empty values and wrong types go,
 *  and times get their one form. */

import { type ScalarForm, VerifyNode } from '../../json/verify-node.ts'

const text = scalar('text')
const filled = scalar('non-empty text')
const time = scalar('time')
const integer = scalar('integer')
const boolean = scalar('boolean')
const always = new VerifyNode({ form: 'text', isExpected: true })
const textMap = new VerifyNode({ additional: text, container: 'object' })
const anything = new VerifyNode({ isPreserving: true })

const ownerReference = object({
  apiVersion: always,
  kind: always,
  name: always,
  uid: always,
  controller: boolean,
  blockOwnerDeletion: boolean,
})

const managedFields = object({
  manager: filled,
  operation: filled,
  apiVersion: filled,
  time,
  fieldsType: filled,
  fieldsV1: anything,
  subresource: filled,
})

const members = {
  name: filled,
  generateName: filled,
  namespace: filled,
  selfLink: filled,
  uid: filled,
  resourceVersion: text,
  creationTimestamp: time,
  deletionTimestamp: time,
  deletionGracePeriodSeconds: integer,
  labels: textMap,
  annotations: textMap,
  ownerReferences: list(ownerReference),
  finalizers: list(text),
  managedFields: list(managedFields),
}

/** Metadata of a stored object. One without a generation gets one. */
export const rootMetadataNode: VerifyNode = object({
  ...members,
  generation: new VerifyNode({ form: 'non-zero integer', isExpected: true }),
})

/** Metadata of an embedded resource. */
export const embeddedMetadataNode: VerifyNode = object({
  ...members,
  generation: scalar('non-zero integer'),
})

function scalar(form: ScalarForm): VerifyNode {
  return new VerifyNode({ form })
}

function list(items: VerifyNode): VerifyNode {
  return new VerifyNode({ items, container: 'list' })
}

function object(members: Readonly<Record<string, VerifyNode>>): VerifyNode {
  return new VerifyNode({ members })
}
