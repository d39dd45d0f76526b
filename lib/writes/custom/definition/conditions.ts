/** The status that kube-apiserver's own controllers give a definition: its names are accepted
 *  unless others have them, then it is established; when it is deleted, its objects go first. */

import {
  goQuote,
  itemsOf,
  type JsonObject,
  type JsonValue,
  memberOf,
  textFromTree,
} from '@watchglass/go'

export interface DefinitionCondition {
  readonly type: string
  readonly status: 'True' | 'False'
  readonly reason: string
  readonly message: string
}

/** Names that other definitions of the group have. */
export interface TakenNames {
  readonly resources: ReadonlySet<string>
  readonly kinds: ReadonlySet<string>
}

/** The status with a condition set: its time changes with its status. */
export function withCondition(
  status: JsonObject,
  condition: DefinitionCondition,
  now: string,
): JsonObject {
  const known = itemsOf(status.get('conditions'))
  const old = known.find(item => memberOf(item, 'type') === condition.type)
  const isSame = memberOf(old, 'status') === condition.status
  const time = isSame ? (memberOf(old, 'lastTransitionTime') ?? now) : now
  const made = new Map<string, JsonValue>([
    ['type', condition.type],
    ['status', condition.status],
    ['lastTransitionTime', time],
    ['reason', condition.reason],
    ['message', condition.message],
  ])
  const conditions =
    old === undefined ? [...known, made] : known.map(item => (item === old ? made : item))
  return new Map([...status, ['conditions', conditions]])
}

export function hasCondition(definition: JsonObject, type: string): boolean {
  return itemsOf(memberOf(definition.get('status'), 'conditions')).some(
    item => memberOf(item, 'type') === type && memberOf(item, 'status') === 'True',
  )
}

/** True if all names that a definition wants are those that it has. */
export function areNamesSettled(definition: JsonObject): boolean {
  const [wanted, accepted] = namesOf(definition)
  return textFromTree(bare(wanted)) === textFromTree(bare(accepted))
}

function namesOf(definition: JsonObject): readonly [JsonObject, JsonObject] {
  const mapOf = (value: JsonValue | undefined): JsonObject =>
    value instanceof Map ? value : new Map()
  return [
    mapOf(memberOf(definition.get('spec'), 'names')),
    mapOf(memberOf(definition.get('status'), 'acceptedNames')),
  ]
}

/** The names without the empty ones. */
function bare(names: JsonObject): JsonObject {
  return new Map([...names].filter(([, value]) => value !== '' && !isEmptyList(value)))
}

function isEmptyList(value: JsonValue): boolean {
  return value === null || (Array.isArray(value) && value.length === 0)
}

const singleNames = [
  ['plural', 'PluralConflict', 'resources'],
  ['singular', 'SingularConflict', 'resources'],
  ['kind', 'KindConflict', 'kinds'],
  ['listKind', 'ListKindConflict', 'kinds'],
] as const

/** The status after names were looked at. */
export function withNames(definition: JsonObject, taken: TakenNames, now: string): JsonObject {
  const [wanted, accepted] = namesOf(definition)
  const names: JsonObject = new Map(accepted)
  let problem: { readonly reason: string; readonly message: string } | undefined
  for (const [name, reason, pool] of singleNames) {
    const value = wanted.get(name)
    const isFree = value === accepted.get(name) || !taken[pool].has(textOf(value))
    if (isFree) {
      if (value !== undefined) names.set(name, value)
    } else problem = { reason, message: inUse(value) }
    if (name === 'singular') problem = acceptShortNames(names, wanted, taken) ?? problem
  }
  const categories = wanted.get('categories')
  if (categories === undefined) names.delete('categories')
  else names.set('categories', categories)
  const known = definition.get('status')
  const status: JsonObject = new Map(known instanceof Map ? known : [])
  status.set('acceptedNames', names)
  const namesAccepted: DefinitionCondition = {
    type: 'NamesAccepted',
    status: problem === undefined ? 'True' : 'False',
    reason: problem?.reason ?? 'NoConflicts',
    message: problem?.message ?? 'no conflicts found',
  }
  const named = withCondition(status, namesAccepted, now)
  if (hasCondition(definition, 'Established')) return named
  const installing = problem === undefined
  return withCondition(
    named,
    {
      type: 'Established',
      status: 'False',
      reason: installing ? 'Installing' : 'NotAccepted',
      message: installing ? 'the initial names have been accepted' : 'not all names are accepted',
    },
    now,
  )
}

function acceptShortNames(
  names: JsonObject,
  wanted: JsonObject,
  { resources }: TakenNames,
): { readonly reason: string; readonly message: string } | undefined {
  const own = itemsOf(names.get('shortNames'))
  const conflicts = itemsOf(wanted.get('shortNames')).filter(
    name => !own.includes(name) && resources.has(textOf(name)),
  )
  if (conflicts.length === 0) {
    const value = wanted.get('shortNames')
    if (value === undefined) names.delete('shortNames')
    else names.set('shortNames', value)
    return undefined
  }
  const texts = conflicts.map(inUse)
  return {
    reason: 'ShortNamesConflict',
    message: texts.length === 1 ? texts.join() : `[${texts.join(', ')}]`,
  }
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}

function inUse(name: JsonValue | undefined): string {
  return `${goQuote(textOf(name))} is already in use`
}
