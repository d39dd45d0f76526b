/** ResourceQuota: what is created has room in the quotas of its namespace, whose use is noted
 *  before it is stored. What was noted in vain is put right by the controller
 *  (`controllers/quota-keeper.ts`). */

import { type JsonObject, type JsonValue, quantityNanos, sumOfQuantities } from '@watchglass/go'
import { metadataOf, metaText } from '../../metadata.ts'
import { owned } from '../../operations/ownership.ts'
import { updateObject } from '../../operations/store-object.ts'
import { StatusError } from '@watchglass/kube'
import { conflict, modifiedReason } from '../../refusals.ts'
import { partOf } from '../pod-parts.ts'
import type { AdmissionPlugin, AdmissionAttributes } from '../plugin.ts'
import { isTerminating, type ScopeSelector, selectorsOf } from '../quota/scopes.ts'
import { type Evaluator, evaluatorOf, isAbout } from '../quota/usage.ts'
import { forbidden } from '../refusals.ts'
import { masked, type ResourceList, resourceList, sumOf } from '../resource-lists.ts'

const quotas = ['', 'v1', 'resourcequotas'] as const

/** Objects that no quota counts. */
const ignored = new Set([
  '/bindings',
  '/componentstatuses',
  '/events',
  'events.k8s.io/events',
  'authentication.k8s.io/tokenreviews',
  'authentication.k8s.io/selfsubjectreviews',
  'authorization.k8s.io/subjectaccessreviews',
  'authorization.k8s.io/selfsubjectaccessreviews',
  'authorization.k8s.io/localsubjectaccessreviews',
  'authorization.k8s.io/selfsubjectrulesreviews',
])

/** Creates the plugin. Writes in one namespace that has quotas take turns. */
export function createResourceQuota(): AdmissionPlugin {
  const turns = new Map<string, Promise<void>>()
  return {
    name: 'ResourceQuota',
    validate(attributes) {
      const { namespace, kind } = attributes.session
      if (namespace === '' || !kind.isNamespaced || !isCounted(attributes)) return undefined
      return check(attributes, turns)
    },
  }
}

function isCounted({ session, operation, object, old }: AdmissionAttributes): boolean {
  const { kind, subresource } = session
  const name = `${kind.group}/${kind.resource}`
  if (operation === 'DELETE' || object === undefined || ignored.has(name)) return false
  if (subresource !== '') {
    return operation === 'UPDATE' && name === '/pods' && subresource === 'resize'
  }
  if (operation === 'CREATE') return true
  if (name === '/pods') return old !== undefined && isTerminating(old) !== isTerminating(object)
  return name === '/persistentvolumeclaims' || name === '/services'
}

async function check(
  attributes: AdmissionAttributes,
  turns: Map<string, Promise<void>>,
): Promise<void> {
  const { session, objects } = attributes
  const { namespace } = session
  const known = await objects.list(session, quotas, namespace)
  if (known.length === 0) return
  const before = turns.get(namespace)
  const turn = (async () => {
    await before?.catch(() => {})
    await charge(
      attributes,
      known.map(quota => metaText(quota, 'name')),
    )
  })()
  turns.set(namespace, turn)
  try {
    await turn
  } finally {
    if (turns.get(namespace) === turn) turns.delete(namespace)
  }
}

/** Attempts of noting the use when somebody else writes the same quota. */
const attemptsMax = 4

async function charge(attributes: AdmissionAttributes, names: readonly string[]): Promise<void> {
  let left = names
  for (let attempt = 1; left.length > 0; attempt++) {
    const current = await currentQuotas(attributes, left)
    const charges = await chargesOf(attributes, current)
    if (attributes.isDryRun) return
    const failed: string[] = []
    for (const one of charges) {
      try {
        await noteUse(attributes, one)
      } catch (error) {
        const isConflict = error instanceof StatusError && error.status.code === 409
        if (!isConflict || attempt === attemptsMax) throw error
        failed.push(one.name)
      }
    }
    left = failed
  }
}

interface Quota {
  readonly name: string
  readonly object: JsonObject
  readonly hard: ResourceList
  readonly used: ResourceList
  readonly selectors: readonly ScopeSelector[]
}

async function currentQuotas(
  { session, objects }: AdmissionAttributes,
  names: readonly string[],
): Promise<Quota[]> {
  const found: Quota[] = []
  for (const name of names) {
    const object = await objects.get(session, quotas, { namespace: session.namespace, name })
    if (object === undefined) continue
    const status = partOf(object, 'status')
    const [hard, used] = [resourceList(status.get('hard')), resourceList(status.get('used'))]
    found.push({ name, object, hard, used, selectors: selectorsOf(object) })
    await session.slice.giveWay()
  }
  return found
}

interface Charge {
  readonly name: string
  readonly object: JsonObject
  readonly used: ResourceList
}

/** The quotas that the write uses something of, and what is used then. */
async function chargesOf(
  attributes: AdmissionAttributes,
  known: readonly Quota[],
): Promise<Charge[]> {
  const { session, object, old } = attributes
  if (object === undefined) return []
  const { slice } = session
  const { kind, services } = session
  const evaluator = evaluatorOf(kind.group, kind.resource)
  const about: Quota[] = []
  for (const quota of known) {
    if (isAboutObject(quota, evaluator, object)) about.push(quota)
    await slice.giveWay()
  }
  for (const quota of about) {
    checkStated(attributes, quota, evaluator)
    await slice.giveWay()
  }
  const nowMs = services.clock.wallMs()
  const usage = evaluator.usage(object, nowMs)
  const before = old === undefined ? undefined : evaluator.usage(old, nowMs)
  const charges: Charge[] = []
  for (const quota of about) {
    const counted =
      before !== undefined && old !== undefined && isAboutObject(quota, evaluator, old)
    const added = withoutZeros(counted ? difference(usage, before) : usage)
    const requested = masked(added, quota.hard.keys())
    await slice.giveWay()
    if (requested.size === 0) continue
    const used = sumOf(quota.used, requested)
    checkRoom(attributes, quota, { requested, used })
    charges.push({ name: quota.name, object: quota.object, used })
  }
  return charges
}

function isAboutObject(quota: Quota, evaluator: Evaluator, object: JsonObject): boolean {
  return isAbout(quota, evaluator, object)
}

function checkStated(attributes: AdmissionAttributes, quota: Quota, evaluator: Evaluator): void {
  const { object } = attributes
  const counted = [...quota.hard.keys()].filter(name => evaluator.counts(name))
  const complaint = object && evaluator.complaint?.(object, counted)
  if (complaint !== undefined) {
    throw forbidden(attributes, `failed quota: ${quota.name}: ${complaint}`)
  }
  if (counted.every(name => quota.used.has(name))) return
  throw forbidden(
    attributes,
    `status unknown for quota: ${quota.name}, resources: ${[...counted].sort().join(',')}`,
  )
}

interface Use {
  readonly requested: ResourceList
  /** With what is requested. */
  readonly used: ResourceList
}

function checkRoom(attributes: AdmissionAttributes, quota: Quota, { requested, used }: Use): void {
  const exceeded = [...requested.keys()].filter(name => {
    const [most, now] = [quota.hard.get(name), used.get(name)]
    return most !== undefined && quantityNanos(now ?? '0') > quantityNanos(most)
  })
  if (exceeded.length === 0) return
  const [asked, before, most] = [requested, quota.used, quota.hard].map(list =>
    listText(masked(list, exceeded)),
  )
  throw forbidden(
    attributes,
    `exceeded quota: ${quota.name}, requested: ${asked}, used: ${before}, limited: ${most}`,
  )
}

function listText(list: ResourceList): string {
  return [...list]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, quantity]) => `${name}=${quantity}`)
    .join(',')
}

function withoutZeros(list: ResourceList): ResourceList {
  return new Map([...list].filter(([, quantity]) => quantityNanos(quantity) !== 0n))
}

/** The first without the second, and never less than nothing. */
function difference(a: ResourceList, b: ResourceList): ResourceList {
  const left = new Map<string, string>()
  for (const [name, quantity] of a) {
    const rest = sumOfQuantities([quantity, negated(b.get(name) ?? '0')])
    left.set(name, rest.startsWith('-') ? '0' : rest)
  }
  return left
}

function negated(quantity: string): string {
  return quantity.startsWith('-') ? quantity.slice(1) : `-${quantity}`
}

/** Writes the use into the status of the quota, as it was read. */
async function noteUse({ session }: AdmissionAttributes, charge: Charge): Promise<void> {
  const resource = session.state.registry.find(...quotas)
  if (resource === undefined) return
  const { name } = charge
  const writing = session.byServer(resource, session.namespace, name)
  const version = metaText(charge.object, 'resourceVersion')
  await updateObject(writing, {
    uid: '',
    mayCreate: false,
    admission: { isDryRun: false },
    make: async live => {
      const known: JsonObject = live ?? new Map()
      if (metaText(known, 'resourceVersion') !== version) {
        throw conflict(resource, name, modifiedReason)
      }
      const object: JsonObject = new Map(known)
      object.set('metadata', new Map(metadataOf(known)))
      const status: JsonObject = new Map(partOf(known, 'status'))
      status.set('used', new Map<string, JsonValue>(charge.used))
      object.set('status', status)
      return owned(writing, { live, object, options: statusOptions })
    },
  })
}

const statusOptions = {
  isDryRun: false,
  fieldManager: '',
  fieldValidation: 'Ignore',
  force: undefined,
} as const
