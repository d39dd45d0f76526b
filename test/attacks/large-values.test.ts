/** Large values are worked on in steps, between which others are served: each of these was a single
 *  step once, and a body of 99,000 members held the event loop for half a second. Steps are
 *  counted, not timed: none of them does more than some thousand small things. */

import { strictEqual } from 'node:assert'
import t from 'tap'
import type { Steps } from '../../lib/base/slice.ts'
import { yamlFromJson, yamlInSteps } from '../../lib/codec/output/yaml.ts'
import { compileRoot } from '../../lib/codec/served/structural/schema.ts'
import {
  defaultsInSteps,
  dropNullsInSteps,
  pruneInSteps,
} from '../../lib/codec/served/structural/apply.ts'
import {
  copyTreeInSteps,
  documentInSteps,
  type JsonObject,
  sortTree,
  sortTreeInSteps,
  textFromTree,
  textInOrder,
  textInSteps,
} from '../../lib/go/json/tree.ts'
import { goPattern } from '../../lib/go/patterns/go-pattern.ts'
import { statusBytes, statusJson } from '../../lib/kube/status.ts'
import { fieldsFromSet } from '../../lib/writes/ownership/sets/fields-v1.ts'
import { compareFields } from '../../lib/writes/ownership/typed/comparison.ts'
import { fieldsOf } from '../../lib/writes/ownership/typed/contained-fields.ts'
import { checkType } from '../../lib/writes/ownership/typed/validate.ts'
import { customType } from '../../lib/writes/ownership/types/custom-types.ts'
import { allSteps } from '../support/steps.ts'

const members = 100_000
const large = Buffer.from(
  `{"a":{${Array.from({ length: members / 2 }, (_, i) => `"k${i % 7}${i}":[${i}]`).join()}}}`,
)

/** The result of a task that gave way at least once for so many values. */
function inSteps<Result>(steps: Steps<Result>, valuesPerStep = 5_000): Result {
  for (let taken = 1; ; taken++) {
    const { done, value } = steps.next()
    if (done !== true) continue
    if (taken < members / valuesPerStep) throw new Error(`only ${taken} steps`)
    return value
  }
}

function tree(): JsonObject {
  const document = inSteps(documentInSteps(large, 0, large.length, Infinity))
  if (document === undefined || document === 'too large') throw new Error('not read')
  return document.value as JsonObject
}

t.test('a body is read, sorted, copied and written in steps', async t => {
  const value = tree()
  strictEqual(textInOrder(value), large.toString())
  const text = inSteps(textInSteps(value))
  strictEqual(text, textFromTree(value))
  strictEqual(textInOrder(inSteps(sortTreeInSteps(value))), text)
  strictEqual(textInOrder(inSteps(copyTreeInSteps(value))), large.toString())
  strictEqual(textInOrder(sortTree(value)), text)
  const refused = documentInSteps(large, 0, large.length, 1_000)
  t.equal(inSteps(refused), 'too large')
  const cut = inSteps(documentInSteps(large, 0, large.length - 1, Infinity))
  t.equal(cut, undefined, 'malformed at its end')
})

t.test('a custom resource is pruned and filled in in steps', async t => {
  const items = { type: 'array', items: { type: 'integer', nullable: true } }
  const known = compileRoot({
    type: 'object',
    properties: { a: { type: 'object', additionalProperties: items } },
  })
  const value = tree()
  inSteps(pruneInSteps(value, known))
  inSteps(dropNullsInSteps(value, known))
  t.equal(inSteps(defaultsInSteps(value, known)), undefined)
  strictEqual(textInOrder(value), large.toString())
  const removed: string[] = []
  const unknown = compileRoot({ type: 'object', properties: { a: { type: 'object' } } })
  inSteps(pruneInSteps(value, unknown, { path: '', removed }))
  t.equal(removed.length, members / 2)
  t.equal(textInOrder(value), '{"a":{}}')
})

t.test('owners of fields are compared in steps', async t => {
  const type = customType(
    { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    { metadata: {}, preservesUnknownFields: false },
  )
  const value = tree()
  inSteps(checkType(type, value, { allowsDuplicates: false }))
  const { added } = inSteps(compareFields(type, new Map(), value))
  const fields = inSteps(fieldsOf(type, value))
  t.equal(added.isEmpty, false)
  const written = inSteps(fieldsFromSet(fields))
  t.equal((written.get('f:a') as JsonObject).size, members / 2 + 1, 'with itself')
})

t.test('a refusal with many causes is written in steps', async () => {
  const causes = Array.from({ length: members }, (_, i) => ({
    reason: 'FieldValueInvalid',
    message: `<${i}>`,
    field: `a[${i}]`,
  }))
  const status = {
    code: 422,
    message: `${'x'.repeat(16_383)}😀"${'y'.repeat(100_000)}`,
    reason: 'Invalid',
    details: { name: 'a', causes },
  }
  const written = Buffer.from(inSteps(statusBytes(status))).toString()
  strictEqual(written, statusJson(status))
  const read = JSON.parse(written) as typeof status
  strictEqual(read.message, status.message)
  strictEqual(read.details.causes.length, members)
})

t.test('YAML of a large object is written in steps', async () => {
  const written = inSteps(yamlInSteps(large))
  strictEqual(Buffer.compare(written as Uint8Array, yamlFromJson(large) as Uint8Array), 0)
})

t.test('a pattern is looked for in a long text in steps', async t => {
  let states = 0
  const text = 'ab'.repeat(members)
  const pattern = goPattern('a(a|b){200}c$')
  t.equal(
    inSteps(
      pattern.testInSteps(text, more => (states += more)),
      50_000,
    ),
    false,
  )
  t.ok(states > 0)
  t.equal(allSteps(goPattern('[').testInSteps(text, () => undefined)), false, 'none')
})
