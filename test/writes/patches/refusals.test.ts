import t from 'tap'
import { StrategicFailure } from '../../../lib/writes/patches/strategic/failures.ts'
import { patchTypeOf } from '../../../lib/writes/patches/strategic/patch-schema.ts'
import { strategicMerge } from '../../../lib/writes/patches/strategic/strategic-merge.ts'
import { type Patch, applyPatch } from '../../../lib/writes/patches/apply-patch.ts'
import { applyJsonPatch, PatchFailure } from '../../../lib/writes/patches/json-patch.ts'
import type { WriteKind } from '../../../lib/writes/write-kind.ts'
import { type JsonObject, textFromTree } from '../../../lib/go/json/tree.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import type { StatusError } from '../../../lib/kube/status.ts'
import { treeOf } from '../recorded/load.ts'
import { allSteps } from '../../support/steps.ts'

const schema = schemaOf('1.36')
const configMaps = {
  schema,
  group: '',
  version: 'v1',
  apiVersion: 'v1',
  kind: 'ConfigMap',
  resource: 'configmaps',
  isNamespaced: true,
  type: schema.messageType('core/v1.ConfigMap'),
  definition: undefined,
} satisfies WriteKind
const live = { data: { a: '1', b: '2' }, list: ['x', 'y', 'z'] }

/** The patched object, or the code and message of the refusal. */
function patched(
  type: Patch['type'],
  body: string,
  isChecked = true,
  kind: WriteKind = configMaps,
) {
  try {
    const patch = { type, body: Buffer.from(body), isChecked }
    return textFromTree(allSteps(applyPatch(kind, treeOf(live), patch)).patched)
  } catch (error) {
    const { status, code } = error as StatusError
    if (status === undefined) throw error
    return `${code} ${status.code} ${status.reason}: ${status.message}`
  }
}

const invalid =
  'invalid_request 422 Invalid: the server rejected our request due to an error in our request'
const bad = 'invalid_request 400 BadRequest: '

/** The texts of endpoints/handlers/patch.go and of the libraries that it calls. */
t.test('what is no patch is refused with the texts of the server', async t => {
  const rows: readonly (readonly [Patch['type'], string, string, string])[] = [
    [
      'json',
      '{}',
      `${bad}error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp`,
      `${bad}json: cannot unmarshal object into Go value of type jsonpatch.Patch`,
    ],
    [
      'json',
      '[1]',
      `${bad}error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp`,
      `${bad}json: cannot unmarshal number into Go value of type jsonpatch.Operation`,
    ],
    [
      'json',
      '[{"op":1}]',
      `${bad}error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string`,
      invalid,
    ],
    ['json', '[{"op":"grow","path":"/a"}]', invalid, invalid],
    ['json', '[{"op":"remove","path":"/nope"}]', invalid, invalid],
    ['json', '[{"op":"test","path":"/data/a","value":"2"}]', invalid, invalid],
    ['json', '[{"op":"replace","path":"/list/3","value":"q"}]', invalid, invalid],
    [
      'merge',
      '"x"',
      `${bad}error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}`,
      `${bad}Invalid JSON Patch`,
    ],
    ['merge', 'null', `${bad}Invalid JSON Patch`, `${bad}Invalid JSON Patch`],
    [
      'strategic',
      'true',
      `${bad}json: cannot unmarshal bool into Go value of type map[string]interface {}`,
      `${bad}json: cannot unmarshal bool into Go value of type map[string]interface {}`,
    ],
  ]
  for (const [type, body, checked, unchecked] of rows) {
    t.equal(patched(type, body, true), checked, `${type} ${body}`)
    t.equal(patched(type, body, false), unchecked, `${type} ${body}, not checked`)
  }
  const custom = { ...configMaps, type: undefined }
  t.equal(
    patched('strategic', '{}', true, custom),
    `${bad}strategic merge patch format is not supported`,
  )
})

t.test(
  'a patch of too many operations is refused, and one of as many as may be is not',
  async t => {
    const test = '{"op":"test","path":"/data/a","value":"1"}'
    const most = `[${Array.from({ length: 10_000 }, () => test).join()}]`
    t.equal(patched('json', most), textFromTree(treeOf(live)))
    t.equal(
      patched('json', `[${test},${most.slice(1)}`),
      'overloaded 413 RequestEntityTooLarge: Request entity is too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
    )
  },
)

t.test('copies that double an object again and again end', async t => {
  const large = treeOf({ data: { a: 'x'.repeat(1_000_000) } })
  const copies = ['b', 'c', 'd'].map(name =>
    treeOf({ op: 'copy', from: '/data/a', path: `/data/${name}` }),
  )
  const copied = allSteps(applyJsonPatch(large, copies)) as JsonObject
  t.equal((copied.get('data') as JsonObject).size, 4)
  const again = treeOf({ op: 'copy', from: '/data/a', path: '/data/e' })
  t.throws(
    () => allSteps(applyJsonPatch(large, [...copies, again])),
    new PatchFailure('the copies are too large'),
  )
})

t.test('directives of a strategic patch that do not fit are refused', async t => {
  const type = patchTypeOf(schema.messageType('core/v1.Pod'))
  const pod = { spec: { containers: [{ name: 'a', image: 'i' }], nodeName: 'n' } }
  const of = (spec: object): string => {
    try {
      return textFromTree(strategicMerge(treeOf(pod), treeOf({ spec }), type))
    } catch (error) {
      if (error instanceof StrategicFailure) return `${error.kind}: ${error.message}`
      throw error
    }
  }
  const order = '$setElementOrder/containers'
  const rows: readonly (readonly [string, object, RegExp])[] = [
    [
      'an order that is no list',
      { [order]: 1 },
      /^internal: expected a \[\]interface \{\}, but received a int64$/,
    ],
    [
      'a list that is none',
      { [order]: [{ name: 'a' }], containers: 1 },
      /^internal: expected a \[\]interface \{\}, but received a int64$/,
    ],
    [
      'an order without the key',
      { [order]: [{ image: 'a' }], containers: [{ name: 'a' }] },
      /^\w+: /,
    ],
    [
      'an order that lacks an item',
      { [order]: [{ name: 'b' }], containers: [{ name: 'a' }] },
      /^\w+: /,
    ],
    ['an unknown directive', { containers: [{ $patch: 'grow', name: 'a' }] }, /^\w+: /],
    ['an item without its key', { containers: [{ image: 'a' }] }, /^\w+: .*name/],
    ['an order of what is there', { [order]: [{ name: 'a' }] }, /^{"spec":/],
  ]
  for (const [what, spec, answer] of rows) t.match(of(spec), answer, what)
})

t.test('a test of a JSON patch compares whole values', async t => {
  const holds = (path: string, value: unknown): boolean => {
    const body = JSON.stringify([{ op: 'test', path, value }])
    return patched('json', body) === textFromTree(treeOf(live))
  }
  t.ok(holds('/list', ['x', 'y', 'z']))
  for (const other of [['x'], ['x', 'y', 'q'], ['x', 'y', 'z', 'z'], [], {}, 'x', null]) {
    t.notOk(holds('/list', other), JSON.stringify(other))
  }
  t.ok(holds('/data', { b: '2', a: '1' }))
  for (const other of [{ a: '1' }, { a: '1', c: '2' }, { a: '1', b: '3' }, {}, [], '1', null]) {
    t.notOk(holds('/data', other), JSON.stringify(other))
  }
  t.ok(holds('/data/a', '1'))
  for (const other of [1, '2', true, null]) t.notOk(holds('/data/a', other), String(other))
})

t.test('members of operations that mean nothing are told of, a hundred at most', async t => {
  const errorsOf = (operations: string): readonly string[] => {
    const patch = { type: 'json', body: Buffer.from(operations), isChecked: true } as const
    return allSteps(applyPatch(configMaps, treeOf(live), patch)).strictErrors
  }
  const set = '"op":"add","path":"/data/c"'
  t.strictSame(errorsOf(`[{${set},"value":"1"}]`), [])
  t.strictSame(errorsOf(`[{${set},"value":"1","x":2}]`), ['json patch unknown field "[0].x"'])
  t.strictSame(errorsOf(`[{${set},"value":"1"},{${set},"value":"1","value":"2"}]`), [
    'json patch duplicate field "[1].value"',
  ])
  t.strictSame(errorsOf(`[{${set},"value":{"a":"1","a":"2"}}]`), [
    'json patch duplicate field "[0].value.a"',
  ])
  const unknown = Array.from({ length: 120 }, (_, i) => `"x${i}":1`).join()
  const many = errorsOf(`[{${set},"value":"1",${unknown}}]`)
  t.equal(many.length, 100)
  t.equal(many[0], 'json patch unknown field "[0].x0"')
})
