/** Expressions that are compiled, or run, because somebody writes what has them: a body of three
 *  megabytes holds hundreds, and a definition can have a default on each of its levels. */

import t from 'tap'
import { errorsOf } from '../support/rules/validated.ts'

/** A claim whose requests choose devices by expressions that have so many characters together. */
function claimOf(characters: number): { path: string; object: { kind: string } } {
  const texts: string[] = []
  for (let left = characters; left > 0; left -= 10_000) {
    texts.push(`'${'x'.repeat(Math.min(left, 10_000) - 6)}'==''`)
  }
  const selectors = texts.map(expression => ({ cel: { expression } }))
  const requests = [selectors.slice(0, 20), selectors.slice(20)].map((some, i) => ({
    name: `r${i}`,
    exactly: { deviceClassName: 'c', selectors: some },
  }))
  return {
    path: '/apis/resource.k8s.io/v1/namespaces/t/resourceclaims',
    object: {
      apiVersion: 'resource.k8s.io/v1',
      kind: 'ResourceClaim',
      metadata: { name: 'c' },
      spec: { devices: { requests } },
    } as { kind: string },
  }
}

t.test('expressions that choose devices have a bound together', async t => {
  t.same(await errorsOf(claimOf(300_000)), [])
  await t.rejects(errorsOf(claimOf(300_010)), { message: /are too long/ })
})

interface Level {
  type: 'object'
  default: object
  properties?: Record<string, unknown>
  'x-kubernetes-validations'?: { rule: string }[]
}

/** A definition with a default on each of so many levels, each with a rule of its own. */
function definitionOf(levels: number, rule: string): { path: string; object: { kind: string } } {
  const level = (left: number, value: object): Level => ({
    type: 'object',
    default: value,
    'x-kubernetes-validations': [{ rule }],
    ...(left > 0 ? { properties: { a: level(left - 1, {}) } } : {}),
  })
  return {
    path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    object: {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'ks.g.io' },
      spec: {
        group: 'g.io',
        scope: 'Namespaced',
        names: { plural: 'ks', kind: 'K' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: { type: 'object', properties: { a: level(levels, {}) } },
            },
          },
        ],
      },
    } as { kind: string },
  }
}

t.test('rules that run on defaults have a budget together', async t => {
  t.same(await errorsOf(definitionOf(3, 'true')), [])
  const costly = 'lists.range(300).all(i, lists.range(100).all(j, i + j >= 0))'
  const began = process.cpuUsage().user
  const errors = await errorsOf(definitionOf(40, costly))
  t.ok(process.cpuUsage().user - began < 20_000_000)
  t.ok(errors.length > 0)
})

t.test('rules that are compiled for defaults have a bound together', async t => {
  const long = (count: number): string => `'${'x'.repeat(count)}' != ''`
  await t.rejects(errorsOf(definitionOf(60, long(9_000))), { message: /are too long/ })
  t.same(await errorsOf(definitionOf(5, long(9_000))), [])
})
