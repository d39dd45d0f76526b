/** Priority: a pod has the priority of the class that it names, or of the one that is the
 *  default; there is one default. */

import { JsonNumber, type JsonObject } from '@watchglass/go'
import { copyMember, metaText, numberOf, textOf } from '../../metadata.ts'
import { isSet } from '../pod-parts.ts'
import type { AdmissionPlugin, AdmissionAttributes } from '../plugin.ts'
import { forbidden } from '../refusals.ts'

const classes = ['scheduling.k8s.io', 'v1', 'priorityclasses'] as const

export const priority: AdmissionPlugin = {
  name: 'Priority',
  mutate(attributes) {
    const { operation, object, old, isPod } = attributes
    const spec = object?.get('spec')
    if (!isPod || !(spec instanceof Map)) return undefined
    if (operation === 'CREATE') return setPriority(attributes, spec)
    const known = old?.get('spec')
    if (!(known instanceof Map)) return undefined
    for (const member of ['priority', 'preemptionPolicy']) {
      if (!isSet(spec.get(member))) copyMember(spec, known, member)
    }
    return undefined
  },
  validate(attributes) {
    const { operation, object } = attributes
    if (operation === 'DELETE' || object?.get('globalDefault') !== true) return undefined
    if (!attributes.isOf('scheduling.k8s.io', 'priorityclasses')) return undefined
    return checkOnlyDefault(attributes, object)
  },
}

async function checkOnlyDefault(
  attributes: AdmissionAttributes,
  object: JsonObject,
): Promise<void> {
  const known = await defaultClass(attributes)
  if (known === undefined) return
  const name = metaText(known, 'name')
  if (attributes.operation === 'UPDATE' && name === metaText(object, 'name')) return
  throw forbidden(
    attributes,
    `PriorityClass ${name} is already marked as default. Only one default can exist`,
  )
}

async function setPriority(attributes: AdmissionAttributes, spec: JsonObject): Promise<void> {
  const { objects, session } = attributes
  const name = textOf(spec.get('priorityClassName'))
  const found =
    name === ''
      ? await defaultClass(attributes)
      : await objects.get(session, classes, { namespace: '', name })
  if (name !== '' && found === undefined && !systemPriorities.has(name)) {
    throw forbidden(attributes, `no PriorityClass with name ${name} was found`)
  }
  if (name === '' && found !== undefined) spec.set('priorityClassName', metaText(found, 'name'))
  const value = numberOf(found?.get('value')) ?? systemPriorities.get(name) ?? 0
  const given = numberOf(spec.get('priority'))
  if (given !== undefined && given !== value) {
    throw forbidden(
      attributes,
      `the integer value of priority (${given}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`,
    )
  }
  spec.set('priority', new JsonNumber(String(value)))
  const policy = textOf(found?.get('preemptionPolicy')) || 'PreemptLowerPriority'
  const givenPolicy = textOf(spec.get('preemptionPolicy'))
  if (givenPolicy !== '' && givenPolicy !== policy) {
    throw forbidden(
      attributes,
      `the string value of PreemptionPolicy (${givenPolicy}) must not be provided in pod spec; priority admission controller computed ${policy} from the given PriorityClass name`,
    )
  }
  spec.set('preemptionPolicy', policy)
}

/** The one of lowest value, if there are several. */
async function defaultClass({
  objects,
  session,
}: AdmissionAttributes): Promise<JsonObject | undefined> {
  const all = await objects.list(session, classes)
  return all
    .filter(one => one.get('globalDefault') === true)
    .sort((a, b) => (numberOf(a.get('value')) ?? 0) - (numberOf(b.get('value')) ?? 0))[0]
}

/** The classes that every cluster has, also a store that is not complete. */
const systemPriorities: ReadonlyMap<string, number> = new Map([
  ['system-cluster-critical', 2_000_000_000],
  ['system-node-critical', 2_000_001_000],
])
