/** Subresources whose GET is the whole object. */

import type { Resource } from './resource.ts'

/** Beside `status`, which every resource may have. */
const wholeObjects: ReadonlySet<string> = new Set([
  'pods/ephemeralcontainers',
  'pods/resize',
  'certificatesigningrequests/approval',
])

/** Subresources without Tables in kube-apiserver, where each needs a converter of its own: seen
 *  from 1.33 to 1.36. */
const withoutTables: ReadonlySet<string> = new Set([
  ...wholeObjects,
  'apiservices/status',
  'customresourcedefinitions/status',
  'resourceclaims/status',
  // Answers that are stored nowhere.
  'bindings/',
  'localsubjectaccessreviews/',
  'selfsubjectaccessreviews/',
  'selfsubjectreviews/',
  'selfsubjectrulesreviews/',
  'subjectaccessreviews/',
  'tokenreviews/',
  'namespaces/finalize',
  'pods/eviction',
  'pods/binding',
  'serviceaccounts/token',
])

/** Whether the subresource reads as the object does. */
export function readsAsObject(resource: Resource, subresource: string): boolean {
  return subresource === 'status' || isAmong(wholeObjects, resource, subresource)
}

/** Whether what is read can be had as a Table. */
export function hasTables(resource: Resource, subresource: string): boolean {
  return !isAmong(withoutTables, resource, subresource)
}

function isAmong(names: ReadonlySet<string>, resource: Resource, subresource: string): boolean {
  return resource.custom === undefined && names.has(`${resource.resource}/${subresource}`)
}
