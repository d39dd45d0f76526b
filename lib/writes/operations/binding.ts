/** POST pods/NAME/binding: a scheduler gives a pod its node. The old way is POST bindings, where
 *  the body names the pod. */

import { itemsOf, type JsonObject, type JsonValue, memberOf } from '@watchglass/go'
import { equalBytes } from '@watchglass/base'
import { badRequest, objectNotFound, plainError } from '@watchglass/kube'
import { bodyFormOf, decodeBuiltIn } from '../decode/body.ts'
import { completeTree } from '../decode/complete-tree.ts'
import { metadataOf, metaText, textOf } from '../metadata.ts'
import { conflict } from '../refusals.ts'
import { parseWriteOptions, type WriteOptions } from '../write-options.ts'
import type { WriteKind } from '../write-kind.ts'
import { admissionOf } from './admission.ts'
import { checkNamespace } from './checks.ts'
import { owned } from './ownership.ts'
import { keyInErrors, type Written, type WriteSession } from './session.ts'
import type { WriteBody } from './write.ts'

/** The kind of the body of a subresource. */
export function subresourceKind(
  session: WriteSession,
  apiVersion: string,
  name: string,
): WriteKind & { readonly type: NonNullable<WriteKind['type']> } {
  const found = session.kind.schema.findKind(apiVersion, name)
  if (found === undefined) throw plainError(`no schema of ${apiVersion} ${name}`)
  const slash = apiVersion.indexOf('/')
  return {
    ...session.kind,
    group: slash < 0 ? '' : apiVersion.slice(0, slash),
    version: apiVersion.slice(slash + 1),
    apiVersion,
    kind: name,
    type: found.type,
    definition: undefined,
    hasInternalType: session.kind.definition === undefined,
  }
}

/** The body of a subresource that is posted, in the namespace of the request. */
export async function subresourceBody(
  session: WriteSession,
  sent: WriteBody,
  [apiVersion, name, ...otherVersions]: readonly [
    apiVersion: string,
    kind: string,
    ...otherVersions: string[],
  ],
): Promise<{ readonly object: JsonObject; readonly options: WriteOptions }> {
  const kind = { ...subresourceKind(session, apiVersion, name), otherVersions }
  const form = bodyFormOf(sent.contentType, kind)
  const options = parseWriteOptions(sent.query, 'CreateOptions')
  const { fieldValidation } = options
  const { object, warnings } = await decodeBuiltIn(
    kind,
    { body: sent.body, form, fieldValidation },
    session.slice,
  )
  session.warn(warnings)
  checkNamespace(object, session)
  return { object, options }
}

const bindingKind = ['v1', 'Binding'] as const

export async function bind(session: WriteSession, sent: WriteBody): Promise<Written> {
  const isNamed = session.subresource === 'binding'
  const { object, options } = await subresourceBody(session, sent, bindingKind)
  const own = session.as(subresourceKind(session, ...bindingKind))
  const binding = await owned(own, { live: undefined, object, options })
  const admission = admissionOf(session, options)
  await admission.mutate(binding, undefined)
  const name = metaText(binding, 'name')
  if (isNamed && name !== session.name) {
    throw badRequest('name in URL does not match name in Binding object')
  }
  checkTarget(binding)
  await admission.validate(binding, undefined)
  if (name === '') throw badRequest('Name parameter required.')
  await assign(podSession(session, name), binding, options.isDryRun)
  return { type: 'success', code: 201, hasCode: true, details: undefined }
}

function podSession(session: WriteSession, name: string): WriteSession {
  const { registry } = session.state
  const pods = registry.find('', 'v1', 'pods')
  if (pods === undefined) throw plainError('pods are not served')
  return session.to(pods, name)
}

function checkTarget(binding: JsonObject): void {
  const target = binding.get('target')
  const kind = textOf(memberOf(target, 'kind'))
  if (kind !== '' && kind !== 'Node') {
    throw plainError(
      `target.kind: Unsupported value: ${JSON.stringify(kind)}: supported values: "Node", "<empty>"`,
    )
  }
  if (textOf(memberOf(target, 'name')) === '') throw plainError('target.name: Required value')
}

async function assign(
  session: WriteSession,
  binding: JsonObject,
  isDryRun: boolean,
): Promise<void> {
  const { store, signal, name, resource } = session
  const key = session.keyOf(name)
  let entry = await store.get(key, signal)
  for (;;) {
    if (entry === undefined) throw objectNotFound(resource, name)
    const pod = session.treeOf(entry)
    checkBinding(session, { binding, isDryRun }, pod)
    place(session, binding, pod)
    const { type } = session.kind
    const value = session.bytesOf(type === undefined ? pod : completeTree(pod, type))
    if (isDryRun || equalBytes(entry.value, 0, entry.valueLength, value)) return
    const change = { key, expected: entry.modRevision, value, ttlSeconds: 0 }
    const commit = await store.commit(change, signal)
    if (commit.type === 'done') return
    entry = commit.current
  }
}

/** The metadata of a binding that its pod has to have, and their names in Go. */
const preconditions = [
  ['uid', 'UID'],
  ['resourceVersion', 'ResourceVersion'],
] as const

function checkBinding(
  session: WriteSession,
  { binding, isDryRun }: { readonly binding: JsonObject; readonly isDryRun: boolean },
  pod: JsonObject,
): void {
  const { name } = session
  const node = textOf(memberOf(pod.get('spec'), 'nodeName'))
  const refuse = (reason: string): never => {
    throw conflict({ group: '', resource: 'pods/binding' }, name, reason)
  }
  for (const [member, word] of preconditions) {
    const [asked, known] = [metaText(binding, member), metaText(pod, member)]
    if (asked === '' || asked === known) continue
    throw conflict(
      { group: '', resource: 'pods' },
      name,
      `StorageError: invalid object, Code: 4, Key: ${keyInErrors(session, isDryRun)}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ${word} in precondition: ${asked}, ${word} in object meta: ${known}`,
    )
  }
  if (metaText(pod, 'deletionTimestamp') !== '') {
    refuse(`pod ${name} is being deleted, cannot be assigned to a host`)
  }
  if (node !== '') refuse(`pod ${name} is already assigned to node ${JSON.stringify(node)}`)
  if (itemsOf(memberOf(pod.get('spec'), 'schedulingGates')).length > 0) {
    refuse(`pod ${name} has non-empty .spec.schedulingGates`)
  }
}

function place(session: WriteSession, binding: JsonObject, pod: JsonObject): void {
  const spec = pod.get('spec')
  if (spec instanceof Map) spec.set('nodeName', memberOf(binding.get('target'), 'name') ?? '')
  for (const name of ['annotations', 'labels']) {
    const given = metadataOf(binding).get(name)
    if (!(given instanceof Map) || given.size === 0) continue
    const known = metadataOf(pod).get(name)
    metadataOf(pod).set(name, new Map([...(known instanceof Map ? known : []), ...given]))
  }
  const known = pod.get('status')
  const status: JsonObject = known instanceof Map ? known : new Map()
  pod.set('status', status)
  status.delete('nominatedNodeName')
  setCondition(status, 'PodScheduled', session.now)
}

/** The condition, true from now on; if it was true before, it keeps its time. */
function setCondition(status: JsonObject, type: string, now: string): void {
  const conditions = [...itemsOf(status.get('conditions'))]
  const at = conditions.findIndex(condition => memberOf(condition, 'type') === type)
  const before = at < 0 ? undefined : conditions[at]
  const isSame = memberOf(before, 'status') === 'True'
  const since = isSame ? (memberOf(before, 'lastTransitionTime') ?? now) : now
  const condition: JsonObject = new Map<string, JsonValue>([
    ['type', type],
    ['status', 'True'],
    ['lastTransitionTime', since],
  ])
  if (at < 0) conditions.push(condition)
  else conditions[at] = condition
  status.set('conditions', conditions)
}
