import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { ObjectEncoder, type OutputForm } from '../../../lib/codec/output/object-encoder.ts'
import { listBody } from '../../../lib/codec/output/list-body.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { holderOfKept, type Run, type Segment } from '../../../lib/codec/output/segments.ts'
import { jsonFromProtobuf } from '../../../lib/codec/transcode/transcode.ts'
import type { KeyValue } from '../../../lib/store/event.ts'
import { SegmentCache, type SegmentHolder } from '../../../lib/store/segments.ts'
import {
  builtIn,
  configMap,
  configMaps,
  drained,
  entryOf,
  now,
  runsOf,
  shownAs,
  stored,
  widget,
  widgetEncoder,
  decodedCbor,
} from '../../support/kube/outputs.ts'

const encoder = new ObjectEncoder(configMaps, undefined)
const entries = ['a', 'b', 'c', 'd', 'e'].map((name, i) => configMap(name, {}, i + 11))
const meta = { resourceVersion: '99' }

function made(output: Partial<OutputForm>, runs: readonly Run[], of: ObjectEncoder = encoder) {
  return drained(listBody(of, { form: shownAs(output), isPretty: false, meta, runs }))
}

function named(name: string, revision: number): string {
  return `{"metadata":{"name":"${name}","namespace":"team","resourceVersion":"${revision}","creationTimestamp":"2026-01-01T00:00:00Z"},"data":{"a":"b"}}`
}

t.test('a list is a head, one piece for each leaf, and a tail', async t => {
  const { pieces, text, problem } = made({}, runsOf(entries))
  t.equal(problem, undefined)
  t.equal(pieces.length, 5)
  const items = entries.map((_, i) => named('abcde'[i] ?? '', i + 11))
  t.equal(
    text,
    `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"99"},"items":[${items.join(',')}]}\n`,
  )
})

t.test('a page says how to go on, in the order of the kind', async t => {
  const page = { resourceVersion: '99', continue: 'a<b', remainingItemCount: 3 }
  const request = { form: shownAs(), isPretty: false, meta: page, runs: [] }
  t.equal(
    drained(listBody(encoder, request)).text,
    '{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"99","continue":"a\\u003cb","remainingItemCount":3},"items":[]}\n',
  )
  t.equal(
    drained(listBody(widgetEncoder(), request)).text,
    '{"apiVersion":"example.com/v1","items":[],"kind":"WidgetList","metadata":{"continue":"a\\u003cb","remainingItemCount":3,"resourceVersion":"99"}}\n',
  )
  const protobuf = listBody(encoder, { ...request, form: shownAs({ encoding: 'protobuf' }) })
  const json = jsonFromProtobuf(drained(protobuf).bytes)
  t.match(
    json instanceof NotExact ? json.reason : Buffer.from(json).toString(),
    '"metadata":{"resourceVersion":"99","continue":"a\\u003cb","remainingItemCount":3}',
  )
})

t.test('a list of nothing is well formed in every form', async t => {
  const empty: Run[] = [{ entries, from: 2, to: 2, leaf: undefined }]
  t.equal(
    made({ encoding: 'yaml' }, empty).text,
    'apiVersion: v1\nitems: []\nkind: ConfigMapList\nmetadata:\n  resourceVersion: "99"\n',
  )
  t.match(made({ encoding: 'yaml', rendering: 'Table' }, empty).text, /\nrows: \[\]\n$/)
  t.match(made({ rendering: 'Table' }, empty).text, /,"rows":\[\]\}\n$/)
  t.match(
    made({ rendering: 'PartialObjectMetadataList', renderingVersion: 'v1beta1' }, empty).text,
    /^\{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io\/v1beta1","metadata":\{"resourceVersion":"99"\},"items":null\}\n$/,
  )
  const protobuf = jsonFromProtobuf(made({ encoding: 'protobuf' }, empty).bytes)
  t.equal(
    protobuf instanceof NotExact ? protobuf.reason : Buffer.from(protobuf).toString(),
    '{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"99"},"items":null}\n',
  )
  t.same(decodedCbor(made({ encoding: 'cbor' }, empty).bytes), {
    kind: 'ConfigMapList',
    items: [],
    metadata: { resourceVersion: '99' },
    apiVersion: 'v1',
  })
})

t.test('runs are parts of leaves, and a pretty list has the same content', async t => {
  const runs = [
    { entries, from: 1, to: 2, leaf: undefined },
    { entries, from: 3, to: 5, leaf: undefined },
  ]
  const plain = JSON.parse(made({}, runs).text) as { items: { metadata: { name: string } }[] }
  t.same(
    plain.items.map(({ metadata }) => metadata.name),
    ['b', 'd', 'e'],
  )
  const pretty = drained(listBody(encoder, { form: shownAs(), isPretty: true, meta, runs }))
  t.equal(pretty.text, JSON.stringify(plain, undefined, 2))
})

t.test('what is exact is sent before an object that is not, and the reason comes last', async t => {
  const broken = entryOf('x', Buffer.from('k8s\0broken'))
  const runs = runsOf([...entries, broken])
  for (const encoding of ['json', 'yaml', 'cbor'] as const) {
    const { pieces, problem } = made({ encoding }, runs)
    t.ok(pieces.length >= 3, encoding)
    t.type(problem, 'string', encoding)
  }
  // Its length would stand before everything else.
  const { pieces, problem } = made({ encoding: 'protobuf' }, runs)
  t.equal(pieces.length, 0)
  t.type(problem, 'string')
  const pretty = drained(listBody(encoder, { form: shownAs(), isPretty: true, meta, runs }))
  t.type(pretty.problem, 'string')
})

t.test('custom resources have no protobuf form but their metadata', async t => {
  const of = widgetEncoder()
  const runs = runsOf([widget('w')])
  t.match(made({ encoding: 'protobuf' }, runs, of).problem, 'protobuf')
  const rendering = 'PartialObjectMetadataList'
  const json = jsonFromProtobuf(made({ encoding: 'protobuf', rendering }, runs, of).bytes)
  t.equal(
    json instanceof NotExact ? json.reason : Buffer.from(json).toString(),
    '{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"99"},"items":[{"metadata":{"name":"w","namespace":"team","resourceVersion":"7","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z"}}]}\n',
  )
})

t.test('a CBOR list holds the same as a JSON list', async t => {
  const runs = runsOf(entries)
  for (const rendering of ['object', 'PartialObjectMetadataList'] as const) {
    t.same(
      decodedCbor(made({ encoding: 'cbor', rendering }, runs).bytes),
      JSON.parse(made({ rendering }, runs).text),
    )
  }
  const binary = [
    configMap('binary', { binaryData: { blob: Buffer.from('bytes').toString('base64') } }),
  ]
  const list = decodedCbor(made({ encoding: 'cbor' }, runsOf(binary)).bytes) as {
    items: { binaryData: { blob: unknown } }[]
  }
  t.equal(list.items[0]?.binaryData.blob, 'bytes')
  const table = decodedCbor(made({ encoding: 'cbor', rendering: 'Table' }, runs).bytes)
  t.same(table, JSON.parse(made({ rendering: 'Table' }, runs).text))
})

t.test('segments are made once and shared by all lists of one form', async t => {
  const segments = new SegmentCache<Segment>(1_000_000)
  const runs = runsOf(entries)
  const body = (output: Partial<OutputForm>, of: readonly Run[]) =>
    drained(listBody(encoder, { form: shownAs(output), isPretty: false, meta, runs: of, segments }))
  const first = body({}, runs)
  t.equal(segments.count, 3)
  const second = body({}, runs)
  t.equal(second.text, first.text)
  t.equal(second.pieces[2], first.pieces[2], 'the very same bytes')
  // A page that begins and ends inside of leaves gets parts of what is kept.
  const part: Run[] = [
    { ...(runs[0] as Run), from: 1 },
    { ...(runs[1] as Run), to: 1 },
  ]
  t.equal(
    body({}, part).text,
    `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"99"},"items":[${named('b', 12)},${named('c', 13)}]}\n`,
  )
  t.equal(segments.count, 3)
  body({ rendering: 'PartialObjectMetadataList' }, runs)
  body({ encoding: 'yaml' }, runs)
  t.equal(segments.count, 9)
})

t.test(
  'of a list that is larger than what may be kept, the same part is found every time',
  async t => {
    const runs = runsOf(Array.from({ length: 200 }, (_, i) => configMap(`n${i}`, {}, i + 1)))
    const [whole] = [drained(listBody(encoder, { form: shownAs(), isPretty: false, meta, runs }))]
    const segments = new SegmentCache<Segment>(Math.floor(whole.text.length * 0.9))
    const request = { form: shownAs(), isPretty: false, meta, runs, segments }
    const name = encoder.segmentName(shownAs())
    const kept = (): number => runs.filter(({ leaf }) => segments.get(leaf!, name)).length
    const listed = (items: number): number => {
      t.equal(drained(listBody(encoder, { ...request, items })).text, whole.text)
      return kept()
    }
    const first = listed(200)
    t.ok(first > 0 && first < runs.length, `${first} of ${runs.length}`)
    const before = runs.map(({ leaf }) => segments.get(leaf!, name))
    listed(200)
    const after = runs.map(({ leaf }) => segments.get(leaf!, name))
    const same = after.filter((segment, i) => segment !== undefined && segment === before[i]).length
    t.ok(same >= first - 1, `${same} of ${first} were found again`)
  },
)

t.test('rows are kept, but for those that have aged', async t => {
  const segments = new SegmentCache<Segment>(1_000_000)
  const old = Array.from({ length: 4 }, (_, i) => configMap(`old-${i}`))
  const young = configMap('young', {
    metadata: { name: 'young', creationTimestamp: '2026-01-01T23:59:00Z' },
  })
  const runs = runsOf([...old, young], 5)
  const table = (at: number, includeObject: OutputForm['includeObject'] = 'Metadata') =>
    drained(
      listBody(encoder, {
        form: shownAs({ rendering: 'Table', includeObject, now: at }),
        isPretty: false,
        meta,
        runs,
        segments,
      }),
    )
  const first = table(now)
  t.match(first.text, /"cells":\["old-0",1,"24h"\].*"cells":\["young",1,"60s"\]/)
  t.equal(table(now + 999).pieces[1]?.buffer, first.pieces[1]?.buffer, 'the very same bytes')
  t.match(table(now + 1000).text, /"cells":\["old-0",1,"24h"\].*"cells":\["young",1,"61s"\]/)
  t.match(table(now).text, /"young",1,"60s"/, 'also when the clock is put back')
  t.equal(segments.count, 1)
  t.match(table(now, 'None').text, /"young",1,"60s"\],"object":null/)
  t.equal(segments.count, 2, 'what rows carry makes them others')
})

t.test('a Table out of what is kept is the Table that would be made', async () => {
  const ages = fc.array(fc.oneof(fc.nat(600), fc.nat(40_000), fc.nat(5_000_000)), {
    minLength: 1,
    maxLength: 12,
  })
  const requests = fc.array(
    fc.record({ atSeconds: fc.nat(200_000), from: fc.nat(4), isPicked: fc.boolean() }),
    { maxLength: 12 },
  )
  fc.assert(
    fc.property(ages, requests, fc.nat(20_000), (seconds, asked, budget) => {
      const all = seconds.map((age, i) => {
        const creationTimestamp = new Date(now - age * 1000).toISOString().replace('.000', '')
        return configMap(`c${i}`, { metadata: { name: `c${i}`, creationTimestamp } })
      })
      const runs = runsOf(all, 4)
      const segments = new SegmentCache<Segment>(budget)
      for (const { atSeconds, from, isPicked } of asked) {
        const output = shownAs({ rendering: 'Table', now: now + atSeconds * 1000 })
        const part = isPicked
          ? [{ entries: all, from: 0, to: all.length, leaf: undefined, isKept: true }]
          : runs.map(run => ({ ...run, from: Math.min(from, run.to) }))
        const request = { form: output, isPretty: false, meta, runs: part }
        const kept = drained(listBody(encoder, { ...request, segments }))
        assert.equal(kept.text, drained(listBody(encoder, request)).text)
      }
    }),
  )
})

t.test('entries that are picked again come in one piece, while they are the same', async t => {
  const segments = new SegmentCache<Segment>(1_000_000)
  const body = (picked: readonly KeyValue[]) => {
    const runs = [{ entries: picked, from: 0, to: picked.length, leaf: undefined, isKept: true }]
    const request = { form: shownAs(), isPretty: false, meta, runs }
    const made = drained(listBody(encoder, { ...request, segments }))
    t.equal(made.text, drained(listBody(encoder, request)).text)
    return made.pieces.length
  }
  t.equal(body(entries), 7)
  t.equal(body(entries), 3)
  const [first, second, ...rest] = entries as [KeyValue, KeyValue, ...KeyValue[]]
  t.equal(body([first, ...rest]), 6, 'fewer')
  t.equal(body([first, configMap('b', {}, 50), ...rest]), 7, 'one has changed')
  t.equal(body([first, second, ...rest]), 7, 'the same as at first, but not as before')
  t.equal(body([first, second, ...rest]), 3)
})

t.test('of a part of a leaf the whole leaf is kept, unless the part is small', async t => {
  const segments = new SegmentCache<Segment>(1_000_000)
  const body = (runs: readonly Run[]) =>
    drained(listBody(encoder, { form: shownAs(), isPretty: false, meta, runs, segments }))
  const [run] = runsOf(entries, 5) as [Run]
  t.equal(namesIn(body([{ ...run, to: 2 }]).text), 'a b')
  t.equal(segments.count, 0)
  t.equal(namesIn(body([{ ...run, from: 1 }]).text), 'b c d e')
  t.equal(segments.count, 1)
  const page = [{ ...run, to: 2 }]
  t.equal(body(page).pieces[1], body(page).pieces[1], 'the same array each time')
  const long = runsOf(
    Array.from({ length: 50 }, (_, i) => configMap(`n${i}`, {}, i + 1)),
    5,
  )
  const last = long.at(-1) as Run
  body([...long.slice(0, -1), { ...last, to: 1 }])
  t.equal(segments.count, 11, 'a long list keeps its last leaf')
})

t.test('what cannot be shown outside of a part does not matter', async t => {
  const segments = new SegmentCache<Segment>(1_000_000)
  const broken = entryOf('x', Buffer.from('k8s\0broken'))
  const [run] = runsOf([...entries, broken], 6) as [Run]
  const runs = [{ ...run, to: 5 }]
  const request = { form: shownAs(), isPretty: false, meta, runs, segments }
  const { text, problem } = drained(listBody(encoder, request))
  t.equal(problem, undefined)
  t.equal(namesIn(text), 'a b c d e')
  t.type(drained(listBody(encoder, { ...request, runs: [run] })).problem, 'string')
})

t.test(
  'all items of a page that is asked for again have a place for what is made of them',
  async t => {
    const segments = new SegmentCache<Segment>(1_000_000)
    const runs = runsOf(entries, 2).map((run, i) => (i === 0 ? { ...run, from: 1 } : run))
    const request = { form: shownAs(), isPretty: false, meta, runs, segments, isZipped: true }
    const holders = (): (SegmentHolder | undefined)[] =>
      drained(listBody(encoder, request)).pieces.slice(1, -1).map(holderOfKept)
    const first = holders()
    t.equal(first.length, 3)
    t.notOk(first.includes(undefined))
    holders().forEach((holder, i) => t.equal(holder, first[i]))
  },
)

function namesIn(text: string): string {
  const { items } = JSON.parse(text) as { items: { metadata: { name: string } }[] }
  return items.map(({ metadata }) => metadata.name).join(' ')
}

t.test('whatever changes the bytes of items changes their name', async t => {
  const names = [
    encoder.segmentName(shownAs()),
    encoder.segmentName(shownAs({ encoding: 'yaml' })),
    encoder.segmentName(shownAs({ rendering: 'PartialObjectMetadataList' })),
    encoder.segmentName(
      shownAs({ rendering: 'PartialObjectMetadataList', renderingVersion: 'v1beta1' }),
    ),
    widgetEncoder().segmentName(shownAs()),
    new ObjectEncoder(builtIn({ group: 'apps', kind: 'ConfigMap' }), undefined).segmentName(
      shownAs(),
    ),
  ]
  t.equal(new Set(names).size, names.length)
})

t.test('a protobuf list that is too large to be held is the same as a small one', async t => {
  const data = { large: 'x'.repeat(900_000) }
  const large = Array.from({ length: 6 }, (_, i) => configMap(`large-${i}`, { data }))
  const whole = made({ encoding: 'protobuf' }, runsOf(large, 1))
  t.equal(whole.problem, undefined)
  t.equal(whole.pieces.length, 8)
  const json = jsonFromProtobuf(whole.bytes)
  if (json instanceof NotExact) throw new Error(json.reason)
  const { items } = JSON.parse(Buffer.from(json).toString()) as { items: unknown[] }
  t.equal(items.length, 6)
  const kept = new SegmentCache<Segment>(100_000_000)
  const request = {
    form: shownAs({ encoding: 'protobuf' }),
    isPretty: false,
    meta,
    runs: runsOf(large, 1),
    segments: kept,
  }
  t.ok(drained(listBody(encoder, request)).bytes.equals(whole.bytes))
  t.equal(kept.count, 6)
})

t.test('flow schemas are shown in the order in which they match', async t => {
  const group = 'flowcontrol.apiserver.k8s.io'
  const schema = (name: string, matchingPrecedence: number): KeyValue =>
    entryOf(
      name,
      stored({
        kind: 'FlowSchema',
        apiVersion: `${group}/v1`,
        metadata: { name },
        spec: { matchingPrecedence, priorityLevelConfiguration: { name: 'x' } },
      }),
    )
  const of = new ObjectEncoder(
    { ...builtIn({ group, kind: 'FlowSchema' }), resource: 'flowschemas' },
    undefined,
  )
  const runs = runsOf([schema('a', 900), schema('b', 100), schema('c', 900)])
  const table = JSON.parse(made({ rendering: 'Table', includeObject: 'None' }, runs, of).text) as {
    rows: { cells: string[]; object: null }[]
  }
  t.same(
    table.rows.map(({ cells }) => cells[0]),
    ['b', 'a', 'c'],
  )
})
