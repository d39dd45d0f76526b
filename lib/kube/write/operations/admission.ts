/** What kube-apiserver's admission plugins do of what is written: those that are on by default and need nothing but the objects
 *  themselves. Webhooks, policies and quotas do not run here. */

import { keyFromText } from '../../../base/keys.ts'
import {
  itemsOf,
  JsonNumber,
  type JsonObject,
  type JsonValue,
  memberOf,
} from '../../../codec/json/tree.ts'
import { finalizersOf, metaText, numberOf, setMeta, textOf } from '../metadata.ts'
import { forbiddenWrite } from '../refusals.ts'
import { objectNotFound } from '../../status.ts'
import type { Resource } from '../../resources/resource.ts'
import { treeOf, type WriteSession } from './session.ts'
import { NotExact } from '../../../codec/not-exact.ts'

/** Refuses or changes an object that is about to be created. */
export async function admitCreate(session: WriteSession, object: JsonObject): Promise<void> {
  const { kind, subresource } = session
  await checkNamespaceIsOpen(session, object)
  if (subresource !== '') return
  const name = `${kind.group}/${kind.resource}`
  if (name === '/pods') admitPod(object)
  if (name === '/persistentvolumeclaims') addFinalizer(object, 'kubernetes.io/pvc-protection')
  if (name === '/persistentvolumes') addFinalizer(object, 'kubernetes.io/pv-protection')
  if (name === '/nodes') taintNode(object)
}

/** Refuses an update in a namespace that is not there. */
export async function admitUpdate(session: WriteSession, object: JsonObject): Promise<void> {
  const name = `${session.kind.group}/${session.kind.resource}`
  if (session.subresource === '' && name === '/pods') addTolerations(object)
}

const immortalNamespaces = ['default', 'kube-system', 'kube-public']

/** Refuses a delete. */
export function admitDelete({ kind, name }: WriteSession): void {
  if (kind.group === '' && kind.resource === 'namespaces' && immortalNamespaces.includes(name)) {
    throw forbiddenWrite(kind, name, 'this namespace may not be deleted')
  }
}

const accessReviews = ['localsubjectaccessreviews']

async function checkNamespaceIsOpen(session: WriteSession, object: JsonObject): Promise<void> {
  const { kind, namespace, state, store, signal } = session
  if (!kind.isNamespaced || accessReviews.includes(kind.resource)) return
  const namespaces = state.registry.find('', 'v1', 'namespaces')
  if (namespaces?.storage === undefined) return
  const entry = await store.get(keyFromText(`${namespaces.storage.prefix}${namespace}`), signal)
  if (entry === undefined) throw objectNotFound(namespaces, namespace)
  if (!isTerminating(session, namespaces, entry)) return
  const name = session.name === '' ? metaText(object, 'name') : session.name
  throw forbiddenWrite(
    kind,
    name,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
    [
      {
        reason: 'NamespaceTerminating',
        message: `namespace ${namespace} is being terminated`,
        field: 'metadata.namespace',
      },
    ],
  )
}

function isTerminating(
  { state }: WriteSession,
  namespaces: Resource,
  entry: Parameters<typeof treeOf>[2],
): boolean {
  const encoder = state.encoderOf(namespaces)
  if (encoder instanceof NotExact) return false
  return memberOf(treeOf(encoder, namespaces, entry).get('status'), 'phase') === 'Terminating'
}

function addFinalizer(object: JsonObject, finalizer: string): void {
  const known = finalizersOf(object)
  if (!known.includes(finalizer)) setMeta(object, 'finalizers', [...known, finalizer])
}

/** The priorities that every cluster has. */
const priorities: ReadonlyMap<string, number> = new Map([
  ['system-cluster-critical', 2_000_000_000],
  ['system-node-critical', 2_000_001_000],
])

function admitPod(object: JsonObject): void {
  addTolerations(object)
  const spec = object.get('spec')
  if (!(spec instanceof Map)) return
  const priority = priorities.get(textOf(spec.get('priorityClassName'))) ?? 0
  if (numberOf(spec.get('priority')) === undefined) {
    spec.set('priority', new JsonNumber(String(priority)))
  }
  if ((spec.get('preemptionPolicy') ?? null) === null) {
    spec.set('preemptionPolicy', 'PreemptLowerPriority')
  }
}

const toleratedTaints = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']
const toleratedSeconds = 300

/** A pod stays for a while on a node that is not ready or not reached. */
function addTolerations(object: JsonObject): void {
  const spec = object.get('spec')
  if (!(spec instanceof Map)) return
  const known = [...itemsOf(spec.get('tolerations'))]
  const added = toleratedTaints.filter(taint => !known.some(item => tolerates(item, taint)))
  if (added.length === 0) return
  const tolerations = added.map(
    (taint): JsonValue =>
      new Map<string, JsonValue>([
        ['key', taint],
        ['operator', 'Exists'],
        ['effect', 'NoExecute'],
        ['tolerationSeconds', new JsonNumber(String(toleratedSeconds))],
      ]),
  )
  spec.set('tolerations', [...known, ...tolerations])
}

function tolerates(toleration: JsonValue, taint: string): boolean {
  const key = textOf(memberOf(toleration, 'key'))
  const effect = textOf(memberOf(toleration, 'effect'))
  return (key === taint || key === '') && (effect === 'NoExecute' || effect === '')
}

/** A new node is not ready. */
function taintNode(object: JsonObject): void {
  const known = object.get('spec')
  const spec: JsonObject = known instanceof Map ? known : new Map()
  object.set('spec', spec)
  const taints = [...itemsOf(spec.get('taints'))]
  const isTainted = taints.some(
    taint =>
      memberOf(taint, 'key') === 'node.kubernetes.io/not-ready' &&
      memberOf(taint, 'effect') === 'NoSchedule',
  )
  if (isTainted) return
  const taint: JsonObject = new Map([
    ['key', 'node.kubernetes.io/not-ready'],
    ['effect', 'NoSchedule'],
  ])
  spec.set('taints', [...taints, taint])
}
