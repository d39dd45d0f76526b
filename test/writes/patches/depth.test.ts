/** Objects that patches make of parts that are not deep: none is stored that could not be read. */

import t from 'tap'
import {
  isTooDeep,
  type JsonObject,
  type JsonValue,
  parseTree,
  textFromTree,
} from '../../../lib/go/json/tree.ts'
import { applyJsonPatch, type JsonPatchOperation } from '../../../lib/writes/patches/json-patch.ts'
import { allSteps } from '../../support/steps.ts'

function tree(value: unknown): JsonValue {
  const bytes = Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))
  const parsed = parseTree(bytes, 0, bytes.length)
  if (parsed === undefined) throw new Error('no tree')
  return parsed
}

function nested(levels: number): JsonValue {
  return tree(`${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`)
}

function patched(value: JsonValue, operations: readonly object[]): JsonValue {
  const document: JsonObject = new Map([['x', value]])
  return allSteps(applyJsonPatch(document, operations.map(tree) as readonly JsonPatchOperation[]))
}

t.test('what nests too deep is what is not read again', async t => {
  const around: ((value: JsonValue) => JsonValue)[] = [
    value => [value],
    value => ['x', value, null],
    value => new Map([['a', value]]),
  ]
  for (const inner of [[], new Map(), null, 'x']) {
    for (const wrap of around) {
      let value: JsonValue = inner
      for (let levels = 1; levels <= 503; levels++) {
        value = wrap(value)
        if (levels < 498) continue
        const bytes = Buffer.from(textFromTree(value))
        const isRead = parseTree(bytes, 0, bytes.length) !== undefined
        t.equal(isTooDeep(value), !isRead, `${levels} levels around ${textFromTree(inner)}`)
      }
    }
  }
})

t.test('a patch that makes an object too deep is refused, whatever it does with it', async t => {
  const deep = (levels: number): string => '/a'.repeat(levels)
  const doubled = { op: 'copy', from: '/x', path: `/x${deep(400)}` }
  const message = /nest deeper than this server reads/
  const rows: readonly (readonly [string, readonly object[]])[] = [
    ['copied into itself', [doubled]],
    [
      'doubled again and again',
      Array.from({ length: 8 }, (_, i) => ({ ...doubled, path: `/x${deep(400 * 2 ** i)}` })),
    ],
    ['put below', [{ op: 'add', path: `/x${deep(300)}`, value: tree400 }]],
    ['replaced', [{ op: 'replace', path: `/x${deep(300)}`, value: tree400 }]],
    [
      'moved below',
      [
        { op: 'copy', from: '/x', path: '/y' },
        { op: 'move', from: '/y', path: `/x${deep(200)}` },
      ],
    ],
    ['compared', [doubled, { op: 'test', path: '/x', value: {} }]],
  ]
  for (const [what, operations] of rows) {
    t.throws(() => patched(nested(400), operations), { message, status: { code: 413 } }, what)
  }
  const fine = patched(nested(400), [{ op: 'copy', from: '/x', path: `/x${deep(90)}` }])
  t.notOk(isTooDeep(fine))
})

const tree400 = JSON.parse(`${'{"a":'.repeat(399)}{}${'}'.repeat(399)}`) as object
