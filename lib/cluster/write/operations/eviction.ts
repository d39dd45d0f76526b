/** POST pods/NAME/eviction: a pod is deleted, if the disruption budgets of its namespace allow
 *  that. */

import { keyFromText, prefixRange } from '../../../base/keys.ts'
import { NotExact } from '../../../codec/not-exact.ts'
import { itemsOf, type JsonObject, memberOf } from '../../../codec/json/tree.ts'
import type { KeyValue } from '../../../store/event.ts'
import type { Resource } from '../../../kube/resources/resource.ts'
import { badRequest, objectNotFound, StatusError } from '../../../kube/status.ts'
import { completeTree } from '../decode/complete-tree.ts'
import { matchesSelector } from '../label-match.ts'
import { generationOf, metaText, number, numberOf, textOf } from '../metadata.ts'
import { type DeleteOptions, deleteOptionsFromTree } from '../write-options.ts'
import { admissionOf } from './admission.ts'
import { subresourceBody } from './binding.ts'
import { deleteObject } from './delete-object.ts'
import { owned } from './ownership.ts'
import type { WriteSession } from './session.ts'
import { treeOf, type Written } from './session.ts'
import type { WriteBody } from './write.ts'

const evictionKind = ['policy/v1', 'Eviction', 'policy/v1beta1'] as const

export async function evict(session: WriteSession, sent: WriteBody): Promise<Written> {
  const body = await subresourceBody(session, sent, evictionKind)
  const { object: eviction } = body
  if (metaText(eviction, 'name') !== session.name) {
    throw badRequest('name in URL does not match name in Eviction object')
  }
  const admission = admissionOf(session, body.options)
  await admission.mutate(eviction, undefined)
  await admission.validate(eviction, undefined)
  const entry = await session.store.get(session.keyOf(session.name), session.signal)
  if (entry === undefined) throw objectNotFound(session.resource, session.name)
  const given = eviction.get('deleteOptions')
  const asked = deleteOptionsFromTree(given instanceof Map ? given : new Map())
  const deleteOptions: DeleteOptions = {
    ...asked,
    isDryRun: body.options.isDryRun || asked.isDryRun,
  }
  await allowDisruption(session, session.treeOf(entry), deleteOptions.isDryRun)
  await deleteObject(session, deleteOptions)
  return { type: 'success', code: 201, hasCode: true, details: undefined }
}

/** Pods in these phases do not count against a budget. */
const harmlessPhases = ['Succeeded', 'Failed', 'Pending']

async function allowDisruption(
  session: WriteSession,
  pod: JsonObject,
  isDryRun: boolean,
): Promise<void> {
  const phase = textOf(memberOf(pod.get('status'), 'phase'))
  if (harmlessPhases.includes(phase) || metaText(pod, 'deletionTimestamp') !== '') return
  const budgets = await budgetsOf(session, pod)
  if (budgets.length > 1) {
    throw new StatusError('unsupported', {
      code: 500,
      message:
        'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    })
  }
  const [budget] = budgets
  if (budget === undefined) return
  const status = budget.tree.get('status')
  const [current, desired] = ['currentHealthy', 'desiredHealthy'].map(
    name => numberOf(memberOf(status, name)) ?? 0,
  )
  if (!isReady(pod)) {
    const policy = memberOf(budget.tree.get('spec'), 'unhealthyPodEvictionPolicy')
    const isHealthy = (current ?? 0) >= (desired ?? 0) && (desired ?? 0) > 0
    if (policy === 'AlwaysAllow' || isHealthy) return
  }
  await spend(session, budget, { pod, isDryRun })
}

interface Budget {
  readonly resource: Resource
  readonly entry: KeyValue
  readonly tree: JsonObject
}

async function budgetsOf(session: WriteSession, pod: JsonObject): Promise<Budget[]> {
  const { state, namespace, store, signal } = session
  const resource = state.registry.find('policy', 'v1', 'poddisruptionbudgets')
  if (resource?.storage === undefined) return []
  const encoder = state.encoderOf(resource)
  if (encoder instanceof NotExact) return []
  const range = prefixRange(keyFromText(`${resource.storage.prefix}${namespace}/`))
  const { entries } = await store.list(range, { limit: 0 }, signal)
  const labels = memberOf(pod.get('metadata'), 'labels')
  return entries
    .map(entry => ({ resource, entry, tree: treeOf(encoder, resource, entry) }))
    .filter(({ tree }) => matchesSelector(memberOf(tree.get('spec'), 'selector'), labels))
}

function isReady(pod: JsonObject): boolean {
  return itemsOf(memberOf(pod.get('status'), 'conditions')).some(
    condition =>
      memberOf(condition, 'type') === 'Ready' && memberOf(condition, 'status') === 'True',
  )
}

interface Disruption {
  readonly pod: JsonObject
  readonly isDryRun: boolean
}

/** Takes one of the disruptions that the budget allows. */
async function spend(
  session: WriteSession,
  { resource, entry, tree }: Budget,
  { pod, isDryRun }: Disruption,
): Promise<void> {
  const name = metaText(tree, 'name')
  const known = tree.get('status')
  const status: JsonObject = known instanceof Map ? new Map(known) : new Map()
  const observed = numberOf(status.get('observedGeneration')) ?? 0
  if (observed < generationOf(tree)) {
    throw tooMany(`The disruption budget ${name} is still being processed by the server.`, 10)
  }
  const allowed = numberOf(status.get('disruptionsAllowed')) ?? 0
  if (allowed <= 0) {
    const [desired, current] = ['desiredHealthy', 'currentHealthy'].map(
      member => numberOf(status.get(member)) ?? 0,
    )
    throw tooMany(
      (current ?? 0) <= (desired ?? 0)
        ? `The disruption budget ${name} needs ${desired} healthy pods and has ${current} currently`
        : `The disruption budget ${name} does not allow evicting pods currently`,
    )
  }
  if (isDryRun) return
  status.set('disruptionsAllowed', number(allowed - 1))
  if (allowed === 1) noteExhausted(status, session.now)
  const disrupted = status.get('disruptedPods')
  const pods: JsonObject = disrupted instanceof Map ? new Map(disrupted) : new Map()
  pods.set(metaText(pod, 'name'), session.now)
  status.set('disruptedPods', pods)
  const changed: JsonObject = new Map(tree).set('status', status)
  const writing = session.byServer(resource, session.namespace, name)
  const object = await owned(writing, { live: tree, object: changed, options: statusOptions })
  const { type } = writing.kind
  const value = writing.bytesOf(type === undefined ? object : completeTree(object, type))
  const change = { key: entry.key, expected: entry.modRevision, value, ttlSeconds: 0 }
  const commit = await session.store.commit(change, session.signal)
  if (commit.type === 'changed') {
    throw tooMany(`The disruption budget ${name} is still being processed by the server.`, 10)
  }
}

/** The condition that says whether a budget allows a disruption. */
function noteExhausted(status: JsonObject, now: string): void {
  const type = 'DisruptionAllowed'
  const known = itemsOf(status.get('conditions'))
  const before = known.find(condition => memberOf(condition, 'type') === type)
  const since =
    memberOf(before, 'status') === 'False' ? memberOf(before, 'lastTransitionTime') : now
  const condition: JsonObject = new Map([
    ['type', type],
    ['status', 'False'],
    ['observedGeneration', status.get('observedGeneration') ?? null],
    ['lastTransitionTime', since ?? now],
    ['reason', 'InsufficientPods'],
    ['message', ''],
  ])
  status.set(
    'conditions',
    before === undefined
      ? [...known, condition]
      : known.map(one => (one === before ? condition : one)),
  )
}

const statusOptions = {
  isDryRun: false,
  fieldManager: '',
  fieldValidation: 'Ignore',
  force: undefined,
} as const

function tooMany(message: string, retryAfterSeconds?: number): StatusError {
  return new StatusError('overloaded', {
    code: 429,
    message: "Cannot evict pod as it would violate the pod's disruption budget.",
    reason: 'TooManyRequests',
    details: { causes: [{ reason: 'DisruptionBudget', message }], retryAfterSeconds },
  })
}
