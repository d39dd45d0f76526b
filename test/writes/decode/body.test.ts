import t from 'tap'
import { Slice } from '../../../lib/base/slice.ts'
import { textFromTree } from '../../../lib/go/json/tree.ts'
import { bodyFormOf, decodeBuiltIn, parseBody } from '../../../lib/writes/decode/body.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { SlowClock } from '../../support/fake-clock.ts'

t.test(
  'YAML is parsed in steps, and refused beyond what the package reads in its time',
  async t => {
    const items = Array.from({ length: 10_000 }, (_, i) => ({ name: `n${i}` }))
    const json = JSON.stringify({ items })
    const yaml = `items:\n${items.map(({ name }) => `- name: ${name}\n`).join('')}`
    const clock = new SlowClock()
    const parse = (body: string, form: 'json' | 'yaml'): ReturnType<typeof parseBody> =>
      parseBody(Buffer.from(body), form, new Slice(clock))
    const { document } = await parse(yaml, 'yaml')
    t.equal(textFromTree(document.value), json)
    t.ok(clock.yields >= 500, `${clock.yields} turns for others`)
    for (const large of [`a: ${'x'.repeat(1 << 20)}`, `a: [${'1,'.repeat(130_000)}]`]) {
      await t.rejects(parse(large, 'yaml'), { message: /send it as JSON/ })
    }
    const asJson = `{"a":[${'1,'.repeat(130_000)}1]}`
    t.equal(textFromTree((await parse(asJson, 'json')).document.value), asJson)
    const bomb = `a: &a ${'x'.repeat(500_000)}\nb: [${'*a,'.repeat(50)}]`
    await t.rejects(parse(bomb, 'yaml'), { message: /excessive aliasing/ })
  },
)

t.test('what is wrong with a YAML body is said with its line, of the first document', async t => {
  const parse = async (text: string): Promise<string> => {
    try {
      const slice = new Slice(new SlowClock())
      return textFromTree((await parseBody(Buffer.from(text), 'yaml', slice)).document.value)
    } catch (error) {
      return (error as Error).message
    }
  }
  const wrong = 'error converting YAML to JSON: yaml:'
  t.equal(await parse('a: b\nc: "d'), `${wrong} line 2: Missing closing "quote`)
  t.match(await parse('a: b\nc: [d'), `${wrong} line 2: Flow sequence in block collection`)
  t.match(await parse('a: b: c'), `${wrong} line 1: Nested mappings are not allowed`)
  t.equal(await parse('a: b\n---\nc: [d'), '{"a":"b"}')
})

t.test(
  'YAML that nests deep is refused before it is composed, which would end the process',
  async t => {
    const parse = (body: string): ReturnType<typeof parseBody> =>
      parseBody(Buffer.from(body), 'yaml', new Slice(new SlowClock()))
    // With little stack left, the package compiles an expression for a text over two lines.
    const tail = '"a\n b"'
    for (const opening of ['[', '{a: ', '- ', '? ', 'a: [', '[? ']) {
      for (const levels of [600, 1_000, 1_700, 1_800, 2_500, 50_000]) {
        const text = `${opening.repeat(levels)}${tail}`
        const what = `${levels} times ${opening}`
        await t.rejects(parse(text), { message: /exceeded max depth$/ }, what)
      }
    }
    const { document } = await parse(`${'['.repeat(400)}${tail}${']'.repeat(400)}`)
    t.equal(textFromTree(document.value), `${'['.repeat(400)}"a b"${']'.repeat(400)}`)
  },
)

t.test('whole numbers of YAML are those of 64 bits, and others floats', async t => {
  const numbers = async (text: string): Promise<string> => {
    const slice = new Slice(new SlowClock())
    return textFromTree(
      (await parseBody(Buffer.from(`a: ${text}\n`), 'yaml', slice)).document.value,
    )
  }
  const rows = [
    ['9223372036854775807', '9223372036854775807'],
    ['18446744073709551615', '18446744073709552000'],
    ['-9223372036854775808', '-9223372036854775808'],
    ['18446744073709551616', '18446744073709552000'],
    ['-9223372036854775809', '-9223372036854776000'],
    ['0x10', '16'],
    ['0b101', '5'],
    ['010', '8'],
    ['1_000', '1000'],
  ] as const
  for (const [text, json] of rows) t.equal(await numbers(text), `{"a":${json}}`, text)
})

t.test('a Content-Type names the form of a body, and JSON is the form without one', async t => {
  const { type } = schemaOf().findKind('v1', 'ConfigMap')!
  const rows: readonly (readonly [string | undefined, string])[] = [
    [undefined, 'json'],
    ['', 'json'],
    ['application/json', 'json'],
    ['application/json; charset=utf-8', 'json'],
    ['APPLICATION/JSON', 'json'],
    [' application/yaml ', 'yaml'],
    ['application/vnd.kubernetes.protobuf', 'protobuf'],
  ]
  for (const [contentType, form] of rows) t.equal(bodyFormOf(contentType, { type }), form)
  t.throws(() => bodyFormOf('text/plain', { type }))
  const protobuf = 'application/vnd.kubernetes.protobuf'
  t.throws(() => bodyFormOf(protobuf, { type: undefined }))
  t.equal(bodyFormOf('application/yaml', { type: undefined }), 'yaml')
})

t.test('words of YAML 1.1 that are no texts', async t => {
  const rows: readonly (readonly [unknown, readonly string[]])[] = [
    [null, ['', '~', 'null', 'Null', 'NULL']],
    [true, ['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON']],
    [false, ['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF']],
  ]
  for (const [value, words] of rows) {
    for (const word of words) {
      const slice = new Slice(new SlowClock())
      const { document } = await parseBody(Buffer.from(`a: ${word}\nb: '${word}'`), 'yaml', slice)
      t.equal(textFromTree(document.value), JSON.stringify({ a: value, b: word }))
    }
  }
})

t.test('a list of managers that is empty stays, since it asks to forget them', async t => {
  const { type } = schemaOf().findKind('v1', 'ConfigMap')!
  const decoded = async (metadata: object): Promise<string> => {
    const body = Buffer.from(JSON.stringify({ metadata }))
    const kind = {
      schema: schemaOf(),
      group: '',
      version: 'v1',
      apiVersion: 'v1',
      kind: 'ConfigMap',
      resource: 'configmaps',
      isNamespaced: true,
      definition: undefined,
      type,
    }
    const sent = { body, form: 'json', fieldValidation: 'Ignore' } as const
    const slice = new Slice(new SlowClock())
    return textFromTree((await decodeBuiltIn(kind, sent, slice)).object)
  }
  t.match(await decoded({ name: 'a', managedFields: [] }), '"managedFields":[]')
  t.notMatch(await decoded({ name: 'a' }), 'managedFields')
})
