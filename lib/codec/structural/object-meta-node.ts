/** Which metadata Go's typed ObjectMeta leaves alone. The API server decodes the metadata of custom resources into that type and
 *  writes it again: unknown fields, empty values and wrong types go, and times get their one form. */

import { KeyTable } from '../json/key-table.ts'
import { type ScalarForm, type SkimNode, plainNode } from '../json/skim-node.ts'

const text = scalar('text')
const filled = scalar('non-empty text')
const time = scalar('time')
const integer = scalar('integer')
const boolean = scalar('boolean')
const always = { ...text, isExpected: true }
const textMap: SkimNode = { ...plainNode, additional: text, container: 'object' }
const anything: SkimNode = { ...plainNode, isPreserving: true }

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
export const rootMetadataNode: SkimNode = object({
  ...members,
  generation: { ...scalar('non-zero integer'), isExpected: true },
})

/** Metadata of an embedded resource. */
export const embeddedMetadataNode: SkimNode = {
  ...object({ ...members, generation: scalar('non-zero integer') }),
  form: undefined,
}

function scalar(form: ScalarForm): SkimNode {
  return { ...plainNode, form }
}

function list(items: SkimNode): SkimNode {
  return { ...plainNode, items, container: 'list' }
}

function object(nodes: Readonly<Record<string, SkimNode>>): SkimNode {
  const entries = Object.entries(nodes)
  const expectedCount = entries.filter(([, node]) => node.isExpected).length
  return { ...plainNode, table: new KeyTable(entries), expectedCount }
}
