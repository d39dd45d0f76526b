/** The defaults of a schema (`Schema.readDefaults`) as views, trees and checks are made of them: by
 *  the type that they are in, with their paths taken apart. Who applies a rule is decided here and
 *  nowhere else, so that each rule is applied or checked by everybody. */

import {
  type DefaultApplier,
  type MessageField,
  type FieldState,
  type MessageType,
  type ReadDefault,
  type Schema,
  perSchema,
} from '../schema/schema.ts'

/** A default with its paths taken apart. */
export interface DefaultRule extends ReadDefault {
  /** Empty for a computation on the whole message. */
  readonly fieldPath: readonly string[]
  readonly fromPath: readonly string[]
  readonly keysPath: readonly string[]
  readonly conditions: readonly DefaultCondition[]
  /** A condition is on the field itself, which stands for the field being zero. */
  readonly hasOwnCondition: boolean
}

/** The state that a stored sibling must have. */
export interface DefaultCondition {
  /** `*` for all fields of the message together. */
  readonly path: readonly string[]
  /** The path begins in the object, which compiled functions do not see: checks take it for
   *  true. */
  readonly isOfObject: boolean
  readonly state: FieldState
}

/** The rules of a type, in the order in which they are applied. */
export function rulesOf({ name, schema }: MessageType): readonly DefaultRule[] {
  return rulesByType(schema).get(name) ?? noRules
}

const noRules: readonly DefaultRule[] = []

const rulesByType = perSchema(schema => {
  const rules = new Map<string, DefaultRule[]>()
  for (const row of schema.readDefaults) {
    const known = rules.get(row.type)
    if (known === undefined) rules.set(row.type, [ruleFromRow(row)])
    else known.push(ruleFromRow(row))
  }
  return rules
})

function ruleFromRow(row: ReadDefault): DefaultRule {
  const { field, from, keysFrom, when = {} } = row
  const conditions = Object.entries(when).map(([path, state]): DefaultCondition => {
    const isOfObject = path.startsWith('/')
    return { path: (isOfObject ? path.slice(1) : path).split('.'), isOfObject, state }
  })
  const fieldPath = field?.split('.') ?? []
  return {
    ...row,
    fieldPath,
    fromPath: from?.split('.') ?? [],
    keysPath: keysFrom?.split('.') ?? [],
    conditions,
    hasOwnCondition:
      fieldPath.length > 0 &&
      conditions.some(({ path }) => fieldPath.every((name, i) => path[i] === name)),
  }
}

/** True if the rule applies in objects of the kind, in a message that is in the member. */
export function isHere(rule: DefaultRule, root: string, member: string): boolean {
  return (
    (rule.root === undefined || root.endsWith(` ${rule.root}`)) &&
    (rule.path === undefined || rule.path.endsWith(`.${member}`))
  )
}

/** True if the rule is applied there; a view checks what it does not apply. */
export function isAppliedBy(rule: DefaultRule, applier: DefaultApplier): boolean {
  if (rule.by !== undefined && !rule.by.includes(applier)) return false
  return applier !== 'view' || isPreset(rule) || isLabelsRule(rule)
}

/** True if the rule gives a zero field a value that is known beforehand. */
function isPreset({ value, fieldPath, hasOwnCondition }: DefaultRule): boolean {
  return value !== undefined && value !== null && fieldPath.length === 1 && !hasOwnCondition
}

function isLabelsRule({ field, from }: DefaultRule): boolean {
  return field === 'metadata.labels' && from !== undefined
}

/** The rule by which a view gives objects of the type the labels of another message. */
export function labelsRuleOf(type: MessageType): DefaultRule | undefined {
  return rulesOf(type).find(rule => isLabelsRule(rule) && isAppliedBy(rule, 'view'))
}

/** The name of a rule whose computation is asked whether it would change a message. */
export function computationKey({ type, compute = '' }: DefaultRule): string {
  return `${type} ${compute}`
}

/** The text that an absent field of the type has by default, or none. */
export function defaultTextOf(type: MessageType, fieldName: string | undefined): string {
  const rule = rulesOf(type).find(
    ({ field, value, when }) =>
      field === fieldName && when === undefined && typeof value === 'string',
  )
  return typeof rule?.value === 'string' ? rule.value : ''
}

/** Amounts by names of resources: SetDefaults_ResourceList rounds each up to thousandths. */
export function isRounded({ container, type }: MessageField, { name }: MessageType): boolean {
  return container === 'map' && type === 'quantity' && name.startsWith('core/v1.')
}

/** True if trees of what is stored have defaults of the version that the type is of. */
export function isVersionDescribed({ name, schema }: MessageType): boolean {
  const version = name.slice(0, name.indexOf('.') + 1)
  return versionsDescribed(schema).has(version)
}

const versionsDescribed: (schema: Schema) => ReadonlySet<string> = perSchema(schema => {
  const rules = [...rulesByType(schema).values()].flat()
  const stored = rules.filter(rule => isAppliedBy(rule, 'stored'))
  return new Set(stored.map(({ type }) => type.slice(0, type.indexOf('.') + 1)))
})
