import t from 'tap'
import type { FieldType } from '../../../lib/writes/ownership/types/field-type.ts'
import { builtInType } from '../../../lib/writes/ownership/types/built-in-types.ts'
import { type JsonValue, textFromTree } from '../../../lib/go/json/tree.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'

const schema = schemaOf('1.36')
const typeOf = (name: string): FieldType => builtInType(schema.messageType(name))

/** The type of a member, in a word for each of its forms. */
function shown(type: FieldType | undefined): string {
  if (type === undefined) return 'none'
  const { scalar, list, map } = type
  const forms = [
    ...(scalar === undefined ? [] : [scalar]),
    ...(list === undefined
      ? []
      : [list.isAtomic ? 'atomic list' : `list by ${list.keys.join(',') || 'value'}`]),
    ...(map === undefined
      ? []
      : [`${map.isAtomic ? 'atomic ' : ''}${map.fields === undefined ? 'map' : 'struct'}`]),
  ]
  return forms.join(' or ')
}

/** The schema that kube-apiserver publishes as OpenAPI says these with x-kubernetes-list-type,
 *  -list-map-keys, -map-type, -patch-strategy and -patch-merge-key. */
const members: readonly (readonly [message: string, member: string, type: string])[] = [
  ['core/v1.Pod', 'kind', 'string'],
  ['core/v1.Pod', 'apiVersion', 'string'],
  ['core/v1.Pod', 'spec', 'struct'],
  ['core/v1.PodSpec', 'containers', 'list by name'],
  ['core/v1.PodSpec', 'nodeSelector', 'atomic map'],
  ['core/v1.PodSpec', 'tolerations', 'atomic list'],
  ['core/v1.PodSpec', 'hostNetwork', 'boolean'],
  ['core/v1.PodSpec', 'priority', 'numeric'],
  ['core/v1.PodSpec', 'topologySpreadConstraints', 'list by topologyKey,whenUnsatisfiable'],
  ['core/v1.Container', 'ports', 'list by containerPort,protocol'],
  ['core/v1.Container', 'args', 'atomic list'],
  ['core/v1.Container', 'env', 'list by name'],
  ['core/v1.ResourceRequirements', 'limits', 'map'],
  ['core/v1.ServiceSpec', 'ports', 'list by port,protocol'],
  ['core/v1.ServicePort', 'targetPort', 'untyped or atomic list or map'],
  ['core/v1.ServiceSpec', 'selector', 'atomic map'],
  ['core/v1.Secret', 'data', 'map'],
  ['core/v1.ObjectReference', 'name', 'string'],
  ['core/v1.LocalObjectReference', 'name', 'string'],
  ['core/v1.EndpointsList', 'items', 'atomic list'],
  ['meta/v1.ObjectMeta', 'finalizers', 'list by value'],
  ['meta/v1.ObjectMeta', 'ownerReferences', 'list by uid'],
  ['meta/v1.ObjectMeta', 'creationTimestamp', 'untyped'],
  ['meta/v1.ObjectMeta', 'labels', 'map'],
  ['meta/v1.ManagedFieldsEntry', 'fieldsV1', 'map'],
  ['coordination/v1.LeaseSpec', 'renewTime', 'untyped'],
  ['certificates/v1.CertificateSigningRequestSpec', 'extra', 'map'],
  ['apps/v1.ControllerRevision', 'data', 'untyped or atomic list or atomic map'],
]

t.test('members of built-in objects have the types of the OpenAPI document', async t => {
  for (const [message, member, expected] of members) {
    const found = typeOf(message).map?.fields?.get(member)?.type
    t.equal(shown(found), expected, `${message}.${member}`)
  }
})

t.test('a list with a name of its own is a list of texts', async t => {
  const { map } = typeOf('certificates/v1.CertificateSigningRequestSpec')
  t.equal(shown(map?.fields?.get('extra')?.type.map?.element), 'atomic list')
})

t.test('some objects are atomic, and a selector is one', async t => {
  for (const name of ['core/v1.ObjectReference', 'core/v1.LocalObjectReference']) {
    t.ok(typeOf(name).map?.isAtomic, name)
  }
  t.ok(typeOf('meta/v1.LabelSelector').map?.isAtomic)
  t.notOk(typeOf('core/v1.PodSpec').map?.isAtomic)
})

t.test('members that are always written have the zero value as default', async t => {
  const defaultOf = (message: string, member: string): string => {
    const value = typeOf(message).map?.fields?.get(member)?.defaultValue as JsonValue | undefined
    return value === undefined ? 'none' : textFromTree(value)
  }
  const rows: readonly (readonly [string, string, string])[] = [
    ['core/v1.ContainerPort', 'protocol', '"TCP"'],
    ['core/v1.ServicePort', 'protocol', '"TCP"'],
    ['core/v1.LocalObjectReference', 'name', '""'],
    ['core/v1.ContainerPort', 'containerPort', '0'],
    ['core/v1.Container', 'name', '""'],
    ['core/v1.Container', 'image', 'none'],
    ['core/v1.ContainerStatus', 'ready', 'false'],
    ['core/v1.ContainerStatus', 'restartCount', '0'],
    ['core/v1.ContainerStatus', 'started', 'none'],
    ['core/v1.PodSpec', 'containers', 'none'],
    ['meta/v1.ObjectMeta', 'creationTimestamp', 'none'],
  ]
  for (const [message, member, value] of rows) {
    t.equal(defaultOf(message, member), value, `${message}.${member}`)
  }
})

t.test('an object without members takes any, and types are made once', async t => {
  const emptyDir = typeOf('core/v1.EmptyDirVolumeSource')
  t.equal(emptyDir.map?.element, undefined)
  const free = typeOf('flowcontrol/v1.ExemptPriorityLevelConfiguration')
  t.not(free, undefined)
  t.equal(typeOf('core/v1.Pod'), typeOf('core/v1.Pod'))
})
