/** POST pods/NAME/eviction: a pod is deleted, if the disruption budgets of its namespace allow
 *  that. */

import { keyFromText, NotExact, prefixRange } from '@watchglass/base'
import { itemsOf, type JsonObject, type JsonValue, memberOf } from '@watchglass/go'
import type { KeyValue } from '@watchglass/store'
import { badRequest, objectNotFound, type Resource, StatusError } from '@watchglass/kube'
import { completeTree } from '../decode/complete-tree.ts'
import { invalid, invalidObject } from '../field-errors.ts'
import { matchesSelector } from '../label-match.ts'
import { generationOf, metaText, number, numberOf, textOf } from '../metadata.ts'
import { forbiddenWrite } from '../refusals.ts'
import { type DeleteOptions, deleteOptionsFromTree } from '../write-options.ts'
import { admissionOf } from './admission.ts'
import { subresourceBody } from './binding.ts'
import { checkPreconditions, deleteObject } from './delete-object.ts'
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
  const given = eviction.get('deleteOptions')
  checkReadErrors(given, session.name)
  const admission = admissionOf(session, body.options)
  await admission.mutate(eviction, undefined)
  await admission.validate(eviction, undefined)
  const entry = await session.store.get(session.keyOf(session.name), session.signal)
  if (entry === undefined) throw objectNotFound(session.resource, session.name)
  const asked = deleteOptionsFromTree(given instanceof Map ? given : new Map())
  const deleteOptions: DeleteOptions = {
    ...asked,
    isDryRun: body.options.isDryRun || asked.isDryRun,
  }
  await allowDisruption(session, session.treeOf(entry), deleteOptions.isDryRun)
  const noted = deleteOptions.isDryRun
    ? deleteOptions
    : await noteEviction(session, entry, deleteOptions)
  await deleteObject(session, noted)
  return { type: 'success', code: 201, hasCode: true, details: undefined }
}

/** A pod that cannot be read is no pod whose eviction could be allowed. */
function checkReadErrors(options: JsonValue | undefined, name: string): void {
  const member = 'ignoreStoreReadErrorWithClusterBreakingPotential'
  if (memberOf(options, member) !== true) return
  const rule = 'can not be set for pod eviction, try after removing the option'
  throw invalidObject({ group: 'policy', kind: 'Eviction' }, name, [
    invalid(`deleteOptions.${member}`, true, rule),
  ])
}

/** Notes in the pod that it is evicted. Returns the options for deleting it: a version that they
 *  ask for is then that of the noted pod. */
async function noteEviction(
  session: WriteSession,
  found: KeyValue,
  options: DeleteOptions,
): Promise<DeleteOptions> {
  let entry: KeyValue | undefined = found
  while (entry !== undefined) {
    const pod = session.treeOf(entry)
    // Empty ones are none here.
    const { uid, resourceVersion } = options
    const asked = { uid: uid || undefined, resourceVersion: resourceVersion || undefined }
    checkPreconditions(session, { ...options, ...asked }, pod)
    const { type } = session.kind
    const object = withCondition(pod, session.now)
    const value = await session.stored(type === undefined ? object : completeTree(object, type))
    const change = { key: entry.key, expected: entry.modRevision, value, ttlSeconds: 0 }
    const commit = await session.store.commit(change, session.signal)
    if (commit.type !== 'changed') {
      if (resourceVersion === undefined) return options
      return { ...options, resourceVersion: String(commit.revision) }
    }
    entry = commit.current
  }
  throw objectNotFound(session.resource, session.name)
}

/** The pod with the condition that says who disrupts it. */
function withCondition(pod: JsonObject, now: string): JsonObject {
  const status: JsonObject = new Map(pod.get('status') as JsonObject | undefined)
  const condition: JsonObject = new Map<string, JsonValue>([
    ['type', 'DisruptionTarget'],
    ['status', 'True'],
    ['lastProbeTime', null],
    ['lastTransitionTime', now],
    ['reason', 'EvictionByEvictionAPI'],
    ['message', 'Eviction API: evicting'],
  ])
  const known = itemsOf(status.get('conditions'))
  const before = known.find(one => memberOf(one, 'type') === 'DisruptionTarget')
  if (memberOf(before, 'status') === 'True') {
    condition.set('lastTransitionTime', memberOf(before, 'lastTransitionTime') ?? null)
  }
  const others = known.map(one => (one === before ? condition : one))
  status.set('conditions', before === undefined ? [...known, condition] : others)
  return new Map(pod).set('status', status)
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
  const budgets: Budget[] = []
  // A namespace may have thousands, and each eviction looks at all.
  for (const entry of entries) {
    await session.slice.giveWay()
    const tree = treeOf(encoder, resource, entry)
    if (!matchesSelector(memberOf(tree.get('spec'), 'selector'), labels)) continue
    budgets.push({ resource, entry, tree })
  }
  return budgets
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
  const disrupted = status.get('disruptedPods')
  const pods: JsonObject = disrupted instanceof Map ? new Map(disrupted) : new Map()
  if (pods.size > disruptedMax) {
    throw forbiddenWrite(
      { group: 'policy', resource: 'poddisruptionbudget' },
      name,
      'DisruptedPods map too big - too many evictions not confirmed by PDB controller',
    )
  }
  if (allowed <= 0) throw tooMany(whyNone(name, status))
  if (isDryRun) return
  status.set('disruptionsAllowed', number(allowed - 1))
  if (allowed === 1) noteExhausted(status, session.now)
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

/** Pods whose eviction a budget's controller has not confirmed yet. */
const disruptedMax = 2000

/** The cause of there being no disruption left. */
function whyNone(name: string, status: JsonObject): string {
  const [desired = 0, current = 0] = ['desiredHealthy', 'currentHealthy'].map(
    member => numberOf(status.get(member)) ?? 0,
  )
  const condition = itemsOf(status.get('conditions')).find(
    one => memberOf(one, 'type') === 'DisruptionAllowed' && memberOf(one, 'status') === 'False',
  )
  const [reason, message] = ['reason', 'message'].map(member => textOf(memberOf(condition, member)))
  const refused = `The disruption budget ${name} does not allow evicting pods currently`
  if (message !== '' && reason === 'SyncFailed') {
    return `${refused} because it failed sync: ${message}`
  }
  if (current <= desired) {
    return `The disruption budget ${name} needs ${desired} healthy pods and has ${current} currently`
  }
  return message === '' ? refused : `${refused} (${reason}): ${message}`
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
