import fc from 'fast-check'
import t from 'tap'
import { keyFromText, prefixRange } from '../../../lib/base/keys.ts'
import { revision } from '../../../lib/base/revision.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { FieldSelector } from '../../../lib/kube/selectors/field-selector.ts'
import { compileFilter, type Selection } from '../../../lib/kube/selectors/filter.ts'
import { parseLabelSelector } from '../../../lib/kube/selectors/label-selector.ts'
import { entriesToRead } from '../../../lib/kube/selectors/leaf-labels.ts'
import { KeyValue } from '../../../lib/store/event.ts'
import { Keyspace } from '../../../lib/store/keyspace.ts'
import type { Snapshot } from '../../../lib/store/snapshot.ts'
import { builtIn, labelled } from '../../support/kube/kube-builders.ts'
import { countingReader, slowReader } from '../../support/kube/slow-selectable.ts'

const keyspace = keyFromText('/registry/pods/')
const range = prefixRange(keyspace)

function selectionOf(labels: string): Selection {
  return {
    resource: builtIn('pods'),
    keyspace,
    labels: parseLabelSelector(labels, schemaOf()),
    fields: new FieldSelector([]),
  }
}

function snapshotOf(entries: readonly KeyValue[]): Snapshot {
  const store = new Keyspace({ maxBatches: 100, maxAgeMs: Infinity, maxBytes: Infinity })
  store.restore(
    [...entries].sort((a, b) => (a.key < b.key ? -1 : 1)),
    revision(50),
  )
  return store.latest()
}

function pod(i: number, labels: Record<string, string>): KeyValue {
  return labelled(`/registry/pods/a/p${1_000 + i}`, labels)
}

/** The selected objects, and the number of those that were read for it. */
function select(snapshot: Snapshot, labels: string): { names: string[]; reads: number } {
  const selection = selectionOf(labels)
  const { makeReader, reads } = countingReader()
  const filter = compileFilter(selection, makeReader)
  const names: string[] = []
  for (const entry of entriesToRead(snapshot, range, selection, makeReader)) {
    const isSelected = entry !== undefined && (filter?.(entry) ?? true)
    if (isSelected instanceof NotExact) names.push(`unreadable ${entry?.key}`)
    else if (isSelected && entry !== undefined) names.push(entry.key)
  }
  return { names, reads: reads() }
}

t.test('what a selector selects is the same however often leaves were looked at', async () => {
  const labels = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('1', '2'))
  const selector = fc.constantFrom(
    'a',
    '!a',
    'a=1',
    'a!=1',
    'a in (1,2),b',
    'b notin (1)',
    'd',
    'c>1',
  )
  const pods = fc.array(labels, { maxLength: 90 })
  fc.assert(
    fc.property(pods, fc.array(selector, { minLength: 3, maxLength: 6 }), (all, asked) => {
      const entries = all.map((one, i) => pod(i, one))
      const snapshot = snapshotOf(entries)
      for (const one of asked) {
        const filter = compileFilter(selectionOf(one), slowReader)
        const expected = entries.filter(entry => filter?.(entry) === true).map(({ key }) => key)
        const { names } = select(snapshot, one)
        if (names.join() !== expected.join()) throw new Error(`${one}: ${names.join()}`)
      }
    }),
  )
})

t.test('objects are not read again for labels that their leaf lacks', async t => {
  const some = Array.from({ length: 500 }, (_, i) =>
    pod(i, i === 250 ? { rare: 'x' } : { app: 'web' }),
  )
  const snapshot = snapshotOf(some)
  t.equal(select(snapshot, 'made-up=1').reads, 500)
  t.equal(
    select(snapshot, 'made-up=2').reads,
    500,
    'names are noted when a leaf is looked at again',
  )
  t.equal(select(snapshot, 'other=3').reads, 0)
  const rare = select(snapshot, 'rare')
  t.strictSame(rare.names, ['/registry/pods/a/p1250'])
  t.ok(rare.reads <= 24, 'one leaf')
})

t.test('what cannot be read is never left out', async t => {
  const bytes = Buffer.from('k8s\0broken')
  const { createRevision, modRevision, version, lease } = pod(0, {})
  const unreadable = new KeyValue(
    keyFromText('/registry/pods/a/p2000'),
    { bytes, start: 0, end: bytes.length },
    { createRevision, modRevision, version, lease },
  )
  const snapshot = snapshotOf([...Array.from({ length: 100 }, (_, i) => pod(i, {})), unreadable])
  for (let i = 0; i < 4; i++) {
    t.strictSame(select(snapshot, `made-up=${i}`).names, ['unreadable /registry/pods/a/p2000'])
  }
})
