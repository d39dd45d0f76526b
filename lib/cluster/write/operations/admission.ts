/** The admission plugins of kube-apiserver that are on by default and need nothing but the
 *  objects themselves. Webhooks, policies and quotas do not run here. */

import { keyFromText, prefixRange } from '../../../base/keys.ts'
import {
  itemsOf,
  JsonNumber,
  type JsonObject,
  type JsonValue,
  memberOf,
} from '../../../codec/json/tree.ts'
import { copyMember, finalizersOf, metaText, numberOf, setMeta, textOf } from '../metadata.ts'
import { forbiddenWrite } from '../refusals.ts'
import { objectNotFound } from '../../../kube/status.ts'
import type { Resource } from '../../../kube/resources/resource.ts'
import { checkGrant } from './grants.ts'
import { treeOf, type WriteSession } from './session.ts'
import { NotExact } from '../../../codec/not-exact.ts'

/** Refuses or changes an object that is about to be created. */
export async function admitCreate(session: WriteSession, object: JsonObject): Promise<void> {
  const { kind, subresource } = session
  await checkNamespaceIsOpen(session, object)
  if (subresource !== '') return
  checkGrant(session, object, undefined)
  const name = `${kind.group}/${kind.resource}`
  if (name === '/pods') await admitPod(session, object)
  if (name === '/persistentvolumeclaims') addFinalizer(object, 'kubernetes.io/pvc-protection')
  if (name === '/persistentvolumes') addFinalizer(object, 'kubernetes.io/pv-protection')
  if (name === 'storage.k8s.io/volumeattributesclasses') {
    addFinalizer(object, 'kubernetes.io/vac-protection')
  }
  if (name === '/nodes') taintNode(object)
}

/** Completes an object that is about to be changed. */
export function admitUpdate(session: WriteSession, object: JsonObject, live: JsonObject): void {
  const name = `${session.kind.group}/${session.kind.resource}`
  if (session.subresource === '') checkGrant(session, object, live)
  if (session.subresource !== '' || name !== '/pods') return
  addTolerations(object)
  const [spec, known] = [object.get('spec'), live.get('spec')]
  if (!(spec instanceof Map) || !(known instanceof Map)) return
  for (const member of ['priority', 'preemptionPolicy']) {
    if ((spec.get(member) ?? null) === null) copyMember(spec, known, member)
  }
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

async function admitPod(session: WriteSession, object: JsonObject): Promise<void> {
  addTolerations(object)
  const spec = object.get('spec')
  if (spec instanceof Map) await setPriority(session, spec)
}

/** The priority of the class that the pod names, or of the one that is the default. */
async function setPriority(session: WriteSession, spec: JsonObject): Promise<void> {
  const { state, store, signal, kind } = session
  const classes = state.registry.find('scheduling.k8s.io', 'v1', 'priorityclasses')
  const encoder = classes === undefined ? undefined : state.encoderOf(classes)
  if (classes?.storage === undefined || encoder === undefined || encoder instanceof NotExact) return
  const { prefix } = classes.storage
  const name = textOf(spec.get('priorityClassName'))
  let found: JsonObject | undefined
  if (name === '') {
    const { entries } = await store.list(prefixRange(keyFromText(prefix)), { limit: 0 }, signal)
    found = entries
      .map(entry => treeOf(encoder, classes, entry))
      .filter(tree => tree.get('globalDefault') === true)
      .sort((a, b) => (numberOf(a.get('value')) ?? 0) - (numberOf(b.get('value')) ?? 0))[0]
    if (found !== undefined) spec.set('priorityClassName', metaText(found, 'name'))
  } else {
    const entry = await store.get(keyFromText(`${prefix}${name}`), signal)
    if (entry === undefined && !systemPriorities.has(name)) {
      throw forbiddenWrite(kind, '', `no PriorityClass with name ${name} was found`)
    }
    found = entry === undefined ? undefined : treeOf(encoder, classes, entry)
  }
  const value = numberOf(found?.get('value')) ?? systemPriorities.get(name) ?? 0
  spec.set('priority', new JsonNumber(String(value)))
  if ((spec.get('preemptionPolicy') ?? null) === null) {
    spec.set('preemptionPolicy', found?.get('preemptionPolicy') ?? 'PreemptLowerPriority')
  }
}

/** The classes that every cluster has. */
const systemPriorities: ReadonlyMap<string, number> = new Map([
  ['system-cluster-critical', 2_000_000_000],
  ['system-node-critical', 2_000_001_000],
])

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
