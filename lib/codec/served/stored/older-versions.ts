/** Versions that were storage versions once, and that say the same as the present one in the same
 *  shape: field for field, with the same defaults, and nothing that Go converts. Objects that
 *  nobody has written since may still be stored in them.
 *
 *  Known, and not here, because Go converts something: policy/v1beta1 (an empty selector means
 *  nothing there), certificates.k8s.io/v1beta1, discovery.k8s.io/v1beta1,
 *  networking.k8s.io/v1beta1, flowcontrol priority levels, resource.k8s.io/v1beta1 claims and
 *  slices, webhooks of admissionregistration.k8s.io/v1beta1, and what apps/v1 was before. Rules of
 *  rbac.authorization.k8s.io/v1alpha1 have other field numbers. IngressClasses of v1beta1 and alpha
 *  versions of bindings and attachments have other defaults. */

import { type MessageField, type MessageType, type Schema, perSchema } from '../../schema/schema.ts'

/** By `group Kind`. */
const olderVersions: Readonly<Record<string, readonly string[]>> = {
  'admissionregistration.k8s.io MutatingAdmissionPolicy': ['v1alpha1', 'v1beta1'],
  'admissionregistration.k8s.io MutatingAdmissionPolicyBinding': ['v1beta1'],
  'admissionregistration.k8s.io ValidatingAdmissionPolicy': ['v1alpha1', 'v1beta1'],
  'admissionregistration.k8s.io ValidatingAdmissionPolicyBinding': ['v1beta1'],
  'apps ControllerRevision': ['v1beta1', 'v1beta2'],
  'batch CronJob': ['v1beta1'],
  'coordination.k8s.io Lease': ['v1beta1'],
  'events.k8s.io Event': ['v1beta1'],
  'flowcontrol.apiserver.k8s.io FlowSchema': ['v1beta1', 'v1beta2', 'v1beta3'],
  'networking.k8s.io IPAddress': ['v1beta1'],
  'networking.k8s.io ServiceCIDR': ['v1beta1'],
  'node.k8s.io RuntimeClass': ['v1beta1'],
  'rbac.authorization.k8s.io ClusterRole': ['v1beta1'],
  'rbac.authorization.k8s.io ClusterRoleBinding': ['v1beta1'],
  'rbac.authorization.k8s.io Role': ['v1beta1'],
  'rbac.authorization.k8s.io RoleBinding': ['v1beta1'],
  'resource.k8s.io DeviceClass': ['v1beta1', 'v1beta2'],
  'resource.k8s.io ResourceClaim': ['v1beta2'],
  'resource.k8s.io ResourceClaimTemplate': ['v1beta2'],
  'resource.k8s.io ResourceSlice': ['v1beta2'],
  'scheduling.k8s.io PriorityClass': ['v1beta1'],
  'storage.k8s.io CSIDriver': ['v1beta1'],
  'storage.k8s.io CSINode': ['v1beta1'],
  'storage.k8s.io CSIStorageCapacity': ['v1alpha1', 'v1beta1'],
  'storage.k8s.io StorageClass': ['v1beta1'],
  'storage.k8s.io VolumeAttachment': ['v1beta1'],
  'storage.k8s.io VolumeAttributesClass': ['v1alpha1', 'v1beta1'],
}

/** True if an object of the kind that is stored as `from` is one of `to` under another name. */
export function isSameUnderOtherName(
  schema: Schema,
  kind: string,
  { from, to }: { readonly from: string; readonly to: string },
): boolean {
  const [group = '', version = ''] = from.split('/')
  const [otherGroup, otherVersion = ''] = to.split('/')
  if (otherGroup !== group) return false
  const alike = ['v1', ...(olderVersions[`${group} ${kind}`] ?? [])]
  if (!alike.includes(version) || !alike.includes(otherVersion)) return false
  const [old, present] = [schema.findKind(from, kind), schema.findKind(to, kind)]
  return old !== undefined && present !== undefined && hasSameShape(old.type, present.type)
}

const shapes = perSchema(() => new Map<string, boolean>())

/** True if messages of both types have the same fields, at any depth: numbers, names, and when they
 *  are left out. */
export function hasSameShape(a: MessageType, b: MessageType): boolean {
  const known = shapes(a.schema)
  const key = `${a.name} ${b.name}`
  const found = known.get(key)
  if (found !== undefined) return found
  // While types that contain themselves are compared, they are taken for the same.
  known.set(key, true)
  const isSame = a.form === b.form && sameFields(a, b)
  known.set(key, isSame)
  return isSame
}

/** The shape of a field, as it shows in bytes. How lists are merged does not. */
function shapeOf(field: MessageField): string {
  const { jsonName, number, container, isPointer, isInline } = field
  const { isOmittedWhenEmpty, isOmittedWhenZero } = field
  const flags = [isPointer, isInline, isOmittedWhenEmpty, isOmittedWhenZero]
  return [jsonName, number, container, ...flags].join()
}

function sameFields(a: MessageType, b: MessageType): boolean {
  return (
    a.fields.length === b.fields.length &&
    a.fields.every((field, i) => {
      const other = b.fields[i]
      if (other === undefined) return false
      const { type } = field
      const { type: otherType } = other
      if (shapeOf(field) !== shapeOf(other)) return false
      if (type === otherType) return true
      const [inner, otherInner] = [
        a.schema.findMessageType(type),
        b.schema.findMessageType(otherType),
      ]
      return inner !== undefined && otherInner !== undefined && hasSameShape(inner, otherInner)
    })
  )
}
