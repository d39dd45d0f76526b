/** The parameters of writes: CreateOptions, UpdateOptions and PatchOptions from the query,
 *  DeleteOptions from the body or the query. Each mistake gets upstream's Status. */

import { goParseInt, JsonNumber, type JsonObject, memberOf } from '@watchglass/go'
import { badRequest, type Query } from '@watchglass/kube'
import {
  type FieldError,
  forbidden,
  invalid,
  invalidObject,
  notSupported,
  required,
  textNotSupported,
  tooLong,
} from './field-errors.ts'

/** The treatments of unknown and repeated members (KEP-2885, server-side field validation). */
export type FieldValidation = 'Strict' | 'Warn' | 'Ignore'

export interface WriteOptions {
  /** A dry run: everything but the write itself. */
  readonly isDryRun: boolean
  /** Empty: the name of the client's program is used. */
  readonly fieldManager: string
  readonly fieldValidation: FieldValidation
  /** As it was asked for; empty where nothing was said. */
  readonly givenFieldValidation?: string
  /** Server-side apply takes fields from other managers (KEP-555). */
  readonly force: boolean | undefined
}

export type WriteOptionsKind = 'CreateOptions' | 'UpdateOptions' | 'PatchOptions'

/** Reads and checks the options of a write that is not a delete. `isApply`: the body is an apply
 *  configuration. */
export function parseWriteOptions(
  query: Query,
  kind: WriteOptionsKind,
  isApply = false,
): WriteOptions {
  const dryRun = query.all('dryRun')
  const sentManager = query.text('fieldManager')
  const fieldValidation = query.text('fieldValidation')
  const force = kind === 'PatchOptions' ? query.optionalFlag('force') : undefined
  const errors: FieldError[] = []
  if (kind === 'PatchOptions') {
    if (isApply && sentManager === '') {
      errors.push(required('fieldManager', 'is required for apply patch'))
    }
    if (!isApply && force !== undefined) {
      errors.push(forbidden('force', 'may not be specified for non-apply patch'))
    }
  }
  errors.push(...managerErrors(sentManager), ...dryRunErrors(dryRun))
  if (!fieldValidations.includes(fieldValidation)) {
    errors.push(textNotSupported('fieldValidation', fieldValidation, fieldValidations))
  }
  if (errors.length > 0) throw invalidObject({ group: 'meta.k8s.io', kind }, '', errors)
  return {
    isDryRun: dryRun.length > 0,
    fieldManager: sentManager.replace(noUtf8, '\ufffd'),
    fieldValidation: fieldValidation === '' ? 'Warn' : (fieldValidation as FieldValidation),
    givenFieldValidation: fieldValidation,
    force,
  }
}

const fieldValidations = ['', 'Ignore', 'Strict', 'Warn']
const managerMaxBytes = 128

/** Bytes of a parameter that are no UTF-8, as texts have them (`lib/go/text.ts`). To Go they are
 *  characters that can be printed, a byte long. */
const noUtf8 = /[\u{dc80}-\u{dcff}]/gu

function managerErrors(manager: string): FieldError[] {
  const errors: FieldError[] = []
  if (Buffer.byteLength(manager.replace(noUtf8, '?')) > managerMaxBytes) {
    errors.push(tooLong('fieldManager', managerMaxBytes))
  }
  for (const problem of unprintableIn(manager)) {
    errors.push(invalid('fieldManager', manager, problem))
  }
  return errors
}

/** The characters of a manager's name that cannot be printed, each in words. */
export function unprintableIn(manager: string): string[] {
  const problems: string[] = []
  let at = 0
  for (const char of manager.replace(noUtf8, '?')) {
    if (!printable.test(char)) {
      const code = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
      problems.push(`invalid character U+${code} (at position ${at})`)
    }
    at += Buffer.byteLength(char)
  }
  return problems
}

/** unicode.IsPrint */
const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u

function dryRunErrors(dryRun: readonly string[]): FieldError[] {
  if (dryRun.every(value => value === 'All')) return []
  return [notSupported('dryRun', [...dryRun], ['All'])]
}

/** The manager of the fields that a request writes: the parameter, or the name of the client's
 *  program. */
export function managerOf(fieldManager: string, userAgent: string): string {
  if (fieldManager !== '') return fieldManager
  let name = ''
  for (const char of userAgent.split('/')[0] ?? '') {
    if (!printable.test(char)) continue
    if (Buffer.byteLength(name) + Buffer.byteLength(char) > managerMaxBytes) break
    name += char
  }
  return name
}

export type PropagationPolicy = 'Foreground' | 'Background' | 'Orphan'

export interface DeleteOptions {
  readonly isDryRun: boolean
  readonly gracePeriodSeconds: number | undefined
  readonly propagationPolicy: PropagationPolicy | undefined
  readonly orphanDependents: boolean | undefined
  readonly uid: string | undefined
  readonly resourceVersion: string | undefined
  /** The members of the options, as they were sent. */
  readonly tree?: JsonObject
}

/** The options of a delete without a body. A version or uid is a precondition, also of each object
 *  of a collection, whose list it is meant for as well. */
export function deleteOptionsFromQuery(query: Query): DeleteOptions {
  const grace = query.first('gracePeriodSeconds')
  const parsed = grace === undefined ? undefined : goParseInt(grace)
  if (parsed?.error !== undefined) throw badRequest(parsed.error)
  const policy = query.first('propagationPolicy')
  return checked({
    dryRun: query.all('dryRun'),
    gracePeriodSeconds: parsed === undefined ? undefined : Number(parsed.value),
    propagationPolicy: policy,
    orphanDependents: query.optionalFlag('orphanDependents'),
    uid: query.text('uid') || undefined,
    resourceVersion: query.text('resourceVersion') || undefined,
    tree: treeFromQuery(query),
  })
}

/** The options of a query as a body would have them. */
function treeFromQuery(query: Query): JsonObject {
  const tree: JsonObject = new Map()
  const grace = query.first('gracePeriodSeconds')
  if (grace !== undefined) tree.set('gracePeriodSeconds', new JsonNumber(grace))
  const orphan = query.optionalFlag('orphanDependents')
  if (orphan !== undefined) tree.set('orphanDependents', orphan)
  const policy = query.first('propagationPolicy')
  if (policy !== undefined) tree.set('propagationPolicy', policy)
  const dryRun = query.all('dryRun')
  if (dryRun.length > 0) tree.set('dryRun', [...dryRun])
  return tree
}

/** The options in the body of a delete, which has been decoded as `DeleteOptions`. */
export function deleteOptionsFromTree(tree: JsonObject): DeleteOptions {
  const grace = tree.get('gracePeriodSeconds')
  const preconditions = tree.get('preconditions')
  const dryRun = tree.get('dryRun')
  const text = (value: unknown): string | undefined =>
    typeof value === 'string' ? value : undefined
  const orphan = tree.get('orphanDependents')
  return checked({
    dryRun: Array.isArray(dryRun) ? dryRun.map(value => text(value) ?? '') : [],
    gracePeriodSeconds: grace instanceof JsonNumber ? Number(grace.text) : undefined,
    propagationPolicy: text(tree.get('propagationPolicy')),
    orphanDependents: typeof orphan === 'boolean' ? orphan : undefined,
    uid: text(memberOf(preconditions, 'uid')),
    resourceVersion: text(memberOf(preconditions, 'resourceVersion')),
    tree,
  })
}

type UncheckedDeleteOptions = Omit<DeleteOptions, 'isDryRun' | 'propagationPolicy'> & {
  readonly dryRun: readonly string[]
  readonly propagationPolicy: string | undefined
}

const policies = ['Foreground', 'Background', 'Orphan']

function checked({ dryRun, propagationPolicy, ...rest }: UncheckedDeleteOptions): DeleteOptions {
  const errors: FieldError[] = []
  const path = 'propagationPolicy'
  if (propagationPolicy !== undefined && rest.orphanDependents !== undefined) {
    const rule = 'orphanDependents and deletionPropagation cannot be both set'
    errors.push(invalid(path, propagationPolicy, rule))
  }
  if (propagationPolicy !== undefined && !policies.includes(propagationPolicy)) {
    errors.push(notSupported(path, propagationPolicy, [...policies, 'nil']))
  }
  errors.push(...dryRunErrors(dryRun))
  if (errors.length > 0) {
    throw invalidObject({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', errors)
  }
  return {
    ...rest,
    isDryRun: dryRun.length > 0,
    propagationPolicy: propagationPolicy as PropagationPolicy | undefined,
  }
}
