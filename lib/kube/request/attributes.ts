/** The attributes of a request that are authorized, as upstream's RequestInfo and its authorization
 *  filter determine them.
 *
 *  Any difference from upstream's reading would be a security hole or a wrong refusal, so
 *  upstream's oddities are kept: a namespace object is in the namespace of its own name; a list
 *  that selects one name has that name; the deprecated /watch/ paths have no selectors; a selector
 *  that cannot be parsed limits nothing. */

import { goParseInt } from '@watchglass/go'
import {
  type FieldRequirement,
  type FieldSelector,
  parseFieldSelector,
} from '../selectors/field-selector.ts'
import {
  type LabelOperator,
  type LabelRequirement,
  type LabelSelector,
  parseLabelSelector,
} from '../selectors/label-selector.ts'
import { schemaOf } from '@watchglass/codec'
import { isCheapSelector } from '../selectors/selector-size.ts'
import { invalidPathName, type Query, requestInfo, type RequestTarget } from './request.ts'

/** One condition of a selector, in the form that reviews take. */
export interface SelectorRequirement {
  readonly key: string
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'
  /** Empty with `Exists` and `DoesNotExist`. */
  readonly values: readonly string[]
}

/** A request for a resource. Absent texts are empty. */
export interface ResourceAttributes {
  readonly verb: string
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  readonly fields: readonly SelectorRequirement[]
  readonly labels: readonly SelectorRequirement[]
}

/** A request for any other path. */
export interface PathAttributes {
  readonly verb: string
  readonly path: string
}

export type Attributes = ResourceAttributes | PathAttributes

/** The attributes of a request. They are made from its method, path and query alone, never from its
 *  route, so that they are the ones that upstream would authorize. Never fails: a malformed query
 *  is refused later. */
export function attributesOf(
  method: string,
  { path, query }: Pick<RequestTarget, 'path' | 'query'>,
): Attributes {
  const info = requestInfo(method, path)
  if (info === undefined) return { verb: method.toLowerCase(), path }
  const { group, version, resource, subresource, namespace, name, isWatchPath } = info
  const isCollection = info.verb === 'get' && name === ''
  const verb = isCollection ? (query.flag('watch') ? 'watch' : 'list') : info.verb
  const hasSelectors = !isWatchPath && selectingVerbs.has(verb)
  const labels = hasSelectors ? labelsOf(query) : undefined
  const fields = hasSelectors ? fieldsOf(query) : undefined
  const isRead = isCollection && labels !== undefined && hasIntegers(query)
  return {
    verb,
    group,
    version,
    resource,
    subresource,
    namespace,
    name: (isRead ? selectedName(fields) : undefined) ?? name,
    fields: (fields?.requirements ?? []).map(fieldRequirement),
    labels: (labels?.requirements ?? []).flatMap(labelRequirement),
  }
}

/** The verbs whose selectors upstream authorizes. */
const selectingVerbs: ReadonlySet<string> = new Set(['list', 'watch', 'deletecollection'])

/** The name that a field selector requires, if it can be one. */
function selectedName(fields: FieldSelector | undefined): string | undefined {
  const name = fields?.exactValue('metadata.name')
  return name === undefined || invalidPathName(name) !== undefined ? undefined : name
}

/** If one parameter of a read cannot be parsed, upstream ignores all of them. These are the ones
 *  beside selectors that can be wrong. */
function hasIntegers(query: Query): boolean {
  return ['limit', 'timeoutSeconds'].every(name => {
    const text = query.first(name)
    return text === undefined || goParseInt(text).error === undefined
  })
}

/** A selector that is too long is not parsed before the caller is known. Leaving it out of the
 *  review asks for more access, which is safe. */
function fieldsOf(query: Query): FieldSelector | undefined {
  const text = query.text('fieldSelector')
  return isCheapSelector(text, 'fields') ? unlessMalformed(parseFieldSelector, text) : undefined
}

function labelsOf(query: Query): LabelSelector | undefined {
  // A selector that only some versions can parse is refused later, when it is parsed for the
  // answer.
  const parse = (text: string): LabelSelector => parseLabelSelector(text, schemaOf())
  const text = query.text('labelSelector')
  return isCheapSelector(text, 'labels') ? unlessMalformed(parse, text) : undefined
}

function unlessMalformed<T>(parse: (text: string) => T, text: string): T | undefined {
  try {
    return parse(text)
  } catch {
    return undefined
  }
}

function fieldRequirement({ label, value, isEqual }: FieldRequirement): SelectorRequirement {
  return { key: label, operator: isEqual ? 'In' : 'NotIn', values: [value] }
}

const operators: Readonly<Record<LabelOperator, SelectorRequirement['operator'] | undefined>> = {
  in: 'In',
  notin: 'NotIn',
  exists: 'Exists',
  absent: 'DoesNotExist',
  // Reviews cannot express these. Leaving them out asks for more access, which is safe.
  above: undefined,
  below: undefined,
}

function labelRequirement({ key, operator, values }: LabelRequirement): SelectorRequirement[] {
  const known = operators[operator]
  return known === undefined ? [] : [{ key, operator: known, values: [...values] }]
}
