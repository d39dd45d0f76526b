import { deepStrictEqual, strictEqual } from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import { JsonMembers, valueEnd } from '../../../lib/codec/json/members.ts'
import { inputOf } from '../../../lib/go/json/strings.ts'

/** Names and values of the object or list at the beginning of a text. */
function membersOf(text: string): { readonly list: string[]; readonly isMalformed: boolean } {
  const bytes = Buffer.from(text)
  const members = new JsonMembers()
  members.reset(bytes, 0, bytes.length)
  const list: string[] = []
  while (members.next()) {
    list.push(bytes.toString('utf8', members.nameStart, members.nameEnd))
    list.push(bytes.toString('utf8', members.start, members.end))
  }
  return { list, isMalformed: members.isMalformed }
}

t.test('members are found with their text, whatever is in them', async () => {
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.string().filter(name => !/["\\]|[^ -~]/.test(name)),
        fc.jsonValue(),
      ),
      fc.constantFrom(undefined, 2),
      (object, indent) => {
        const text = JSON.stringify(object, undefined, indent)
        const { list, isMalformed } = membersOf(text)
        strictEqual(isMalformed, false)
        const found = list.map((part, i) => (i % 2 === 0 ? part : (JSON.parse(part) as unknown)))
        const expected: unknown[] = []
        for (const member of Object.entries(JSON.parse(text) as object)) expected.push(...member)
        deepStrictEqual(found, expected)
      },
    ),
  )
})

t.test('items of a list have no names', async t => {
  t.same(membersOf('[1, {"a":"]"}, []]'), {
    list: ['', '1', '', '{"a":"]"}', '', '[]'],
    isMalformed: false,
  })
  t.same(membersOf('"text"'), { list: [], isMalformed: false })
  t.same(membersOf('{}'), { list: [], isMalformed: false })
})

t.test('what is not JSON ends the walk', async t => {
  for (const text of [
    '',
    '{"a"}',
    '{"a":}',
    '{"a":1 "b":2}',
    '{a:1}',
    '{"a":"b',
    '{"a":{"b":1}',
    '{"a',
    '[1 2]',
    '[,1]',
  ]) {
    t.ok(membersOf(text).isMalformed, text)
  }
})

t.test('a value ends where it ends, or not before the limit', async t => {
  const skip = (text: string): number => valueEnd(inputOf(Buffer.from(text)), 0, text.length)
  t.equal(skip('"a\\"b",'), 6)
  t.equal(skip('[[{}],"]"]x'), 10)
  t.equal(skip('12,'), 2)
  t.equal(skip('"a\\'), -1)
  t.equal(skip('[1'), -1)
})

t.test('names are compared byte by byte', async t => {
  const members = new JsonMembers()
  const bytes = Buffer.from('{"name":1}')
  members.reset(bytes, 0, bytes.length)
  members.next()
  t.ok(members.isNamed('name'))
  t.notOk(members.isNamed('nam'))
  t.notOk(members.isNamed('names'))
  t.notOk(members.isNamed('nama'))
})

t.test('an object inside another one is walked once', async t => {
  const bytes = Buffer.from('{"a":{"b":[1,2]},"c":3}')
  const [members, inner] = [new JsonMembers(), new JsonMembers()]
  members.reset(bytes, 0, bytes.length)
  t.ok(members.nextName())
  inner.enter(members)
  t.ok(inner.isObject)
  t.ok(inner.next())
  t.ok(inner.isNamed('b'))
  t.notOk(inner.next())
  t.ok(members.leave(inner))
  t.equal(bytes.toString('utf8', members.start, members.end), '{"b":[1,2]}')
  t.ok(members.next())
  t.ok(members.isNamed('c'))
  t.notOk(members.next())
  t.notOk(members.isMalformed)
})
