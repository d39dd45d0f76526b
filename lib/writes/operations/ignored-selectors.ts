/** The selectors of an access review that could not be read: they are ignored, which the review
 *  says. An authorizer may ignore any, because a selector only makes the question narrower. */

import { CacheError } from '@watchglass/base'
import { itemsOf, type JsonValue, memberOf } from '@watchglass/go'
import type { Schema } from '@watchglass/codec'
import { parseFieldSelector, parseLabelSelector } from '@watchglass/kube'
import { textOf } from '../metadata.ts'

/** In kube-apiserver's words; empty if both were read.
 *  @param attributes spec.resourceAttributes */
export function ignoredSelectors(attributes: JsonValue | undefined, schema: Schema): string {
  const fields = ignored(memberOf(attributes, 'fieldSelector'), {
    parse: parseFieldSelector,
    isRead: ({ operator, values }) =>
      (operator === 'In' || operator === 'NotIn') && values.length === 1,
  })
  const labels = ignored(memberOf(attributes, 'labelSelector'), {
    parse: text => parseLabelSelector(text, schema),
    isRead: ({ operator }) => ['In', 'NotIn', 'Exists', 'DoesNotExist'].includes(operator),
  })
  return [
    ...(fields === '' ? [] : [`spec.resourceAttributes.fieldSelector ${fields}`]),
    ...(labels === '' ? [] : [`spec.resourceAttributes.labelSelector ${labels}`]),
  ].join('; ')
}

interface Requirement {
  readonly operator: string
  readonly values: readonly JsonValue[]
}

interface Reading {
  readonly parse: (text: string) => unknown
  readonly isRead: (requirement: Requirement) => boolean
}

function ignored(selector: JsonValue | undefined, { parse, isRead }: Reading): string {
  const raw = textOf(memberOf(selector, 'rawSelector'))
  const requirements = itemsOf(memberOf(selector, 'requirements'))
  if (requirements.length === 0) {
    return raw === '' || isParsed(raw, parse) ? '' : 'ignored due to parse error'
  }
  const read = requirements.filter(one =>
    isRead({
      operator: textOf(memberOf(one, 'operator')),
      values: itemsOf(memberOf(one, 'values')),
    }),
  )
  if (read.length === requirements.length) return ''
  return `${read.length === 0 ? '' : 'partially '}ignored due to parse error`
}

function isParsed(text: string, parse: (text: string) => unknown): boolean {
  try {
    parse(text)
    return true
  } catch (error) {
    if (error instanceof CacheError) return false
    throw error
  }
}
