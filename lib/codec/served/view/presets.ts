/** Defaults that the API server applies on every read, as data for the compiler: what a zero field
 *  becomes, and on what condition. For values that a kube-apiserver wrote they hardly ever matter,
 *  as it has filled them in before; other programs that write into etcd may not have. */

import { type Field, type MessageType, type Schema, perSchema } from '../../schema/schema.ts'
import type { PresetValue, Scope } from '../../transcode/decode/decoders.ts'

/** The values of a field that is zero: the first whose condition holds. */
export function presetsOf(type: MessageType, field: Field, scope: Scope): readonly PresetValue[] {
  const found: PresetValue[] = [
    ...(codedPresets[`${type.name}.${field.jsonName}`]?.(type, scope) ?? []),
  ]
  for (const rule of rulesOf(type.schema).get(type.name) ?? []) {
    const isHere =
      rule.field === field.jsonName &&
      (rule.root === undefined || scope.root.endsWith(` ${rule.root}`)) &&
      (rule.path === undefined || rule.path.endsWith(`.${scope.place}`))
    if (isHere) found.push({ condition: conditionOf(type, rule), value: rule.value })
  }
  for (const { type: name, field: fieldName, whenEmpty } of type.schema.readFixups) {
    if (name === type.name && fieldName === field.jsonName && whenEmpty !== undefined) {
      found.push({ condition: 'true', value: whenEmpty })
    }
  }
  return found
}

/** True if defaults of the type depend on the field that it is in. */
export function dependsOnPlace(schema: Schema, typeName: string): boolean {
  return (rulesOf(schema).get(typeName) ?? []).some(({ path }) => path !== undefined)
}

/** True if defaults of the type itself depend on the kind of the object. */
export function dependsOnRoot(schema: Schema, typeName: string, root: string): boolean {
  return (
    (rulesOf(schema).get(typeName) ?? []).some(
      rule => rule.root !== undefined && root.endsWith(` ${rule.root}`),
    ) ||
    (typeName === 'batch/v1.JobSpec' && root === job)
  )
}

/** JSON members that the API server adds to the elements of a list. */
export function prefixOf(type: MessageType, field: Field): string {
  const fixup = type.schema.readFixups.find(
    ({ type: name, field: fieldName, kind }) =>
      name === type.name && fieldName === field.jsonName && kind !== undefined,
  )
  return fixup === undefined
    ? ''
    : `,"kind":"${fixup.kind ?? ''}","apiVersion":"${fixup.apiVersion ?? ''}"`
}

/** Source that is true if the field is zero: for a pointer, a list, a map: absent. */
export function zeroSource(type: MessageType, jsonName: string): string {
  const field = fieldOf(type, jsonName)
  const { number } = field
  return field.type === 'string' && field.container === 'single' && !field.isPointer
    ? `z${number} === a${number}`
    : `a${number} === -1`
}

/** Source that is true if the text field says exactly this. */
export function textSource(type: MessageType, jsonName: string, text: string): string {
  const { number } = fieldOf(type, jsonName)
  return `isText(O, a${number}, z${number}, ${JSON.stringify(text)})`
}

export function fieldOf(type: MessageType, jsonName: string): Field {
  const field = type.fields.find(candidate => candidate.jsonName === jsonName)
  if (field === undefined) throw new RangeError(`${type.name} has no field ${jsonName}`)
  return field
}

interface Rule {
  readonly field: string
  readonly value: unknown
  readonly when?: readonly [field: string, value: unknown]
  readonly root?: string
  readonly path?: string
}

const rulesOf = perSchema(schema => {
  const rules = new Map<string, Rule[]>()
  for (const { type, ...rule } of schema.readDefaults) {
    const known = rules.get(type)
    if (known === undefined) rules.set(type, [rule])
    else known.push(rule)
  }
  return rules
})

/** A rule's condition is on a sibling, which may have its value by default itself. */
function conditionOf(type: MessageType, { when }: Rule): string {
  if (when === undefined) return 'true'
  const [name, value] = when
  const text = String(value)
  const isDefault = (rulesOf(type.schema).get(type.name) ?? []).some(
    rule => rule.field === name && rule.value === text,
  )
  const stored = textSource(type, name, text)
  return isDefault ? `(${zeroSource(type, name)} || ${stored})` : stored
}

const job = 'batch/v1 Job'

/** Rules that read-defaults.json has in words (`jobSpec`, `networkPolicyTypes`,
 *  `rbacSubjectApiGroup`), and that are no more than a choice by siblings. */
const codedPresets: Readonly<Record<string, CodedPreset>> = {
  'batch/v1.JobSpec.completions': jobPreset([{ when: ['parallelism', 'absent'], value: 1 }]),
  'batch/v1.JobSpec.backoffLimit': jobPreset([
    { when: ['backoffLimitPerIndex', 'absent'], value: 6 },
    { value: 2_147_483_647 },
  ]),
  'batch/v1.JobSpec.podReplacementPolicy': jobPreset([
    { when: ['podFailurePolicy', 'absent'], value: 'TerminatingOrFailed' },
    { value: 'Failed' },
  ]),
  'networking/v1.NetworkPolicySpec.policyTypes': type => [
    {
      condition: zeroSource(type, 'egress'),
      value: ['Ingress'],
    },
    { condition: 'true', value: ['Ingress', 'Egress'] },
  ],
  'rbac/v1.Subject.apiGroup': type =>
    ['User', 'Group'].map(kind => ({
      condition: textSource(type, 'kind', kind),
      value: 'rbac.authorization.k8s.io',
    })),
}

type CodedPreset = (type: MessageType, scope: Scope) => readonly PresetValue[]

interface JobChoice {
  readonly when?: readonly [field: string, state: 'absent']
  readonly value: unknown
}

/** Only in jobs, not in the templates of cron jobs. */
function jobPreset(choices: readonly JobChoice[]): CodedPreset {
  return (type, { root }) =>
    root !== job
      ? []
      : choices.map(({ when, value }) => ({
          condition: when === undefined ? 'true' : zeroSource(type, when[0]),
          value,
        }))
}

/** Source that calls a predicate on a field's window, if the field is there. */
export function onField(type: MessageType, field: string, predicate: string): string {
  const { number } = fieldOf(type, field)
  return `${predicate}(O, a${number}, z${number})`
}

/** Source that calls a predicate on a field's number, if the field is there. */
export function onNumber(type: MessageType, field: string, predicate: string): string {
  const a = `a${fieldOf(type, field).number}`
  return `${a} !== -1 && ${predicate}(O, ${a})`
}
