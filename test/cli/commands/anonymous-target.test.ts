import t from 'tap'
import { type Key, keyFromText, textFromKey } from '../../../lib/base/keys.ts'
import { revision } from '../../../lib/base/revision.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { AnonymousTarget } from '../../../lib/cli/commands/recordings/anonymous-target.ts'
import type { RevisionChanges } from '../../../lib/etcd/client.ts'
import { Anonymizer } from '../../../lib/simulator/generate/anonymize.ts'
import { KeyValue } from '../../../lib/store/event.ts'
import { silentLogger } from '../../support/silent-logger.ts'

/** A pseudonym of its own for each word, which can be read in a failure. */
const digest = (text: string): Uint8Array => Buffer.from(text.padEnd(32, '.'))

function entry(name: string, value: string, [created, modified]: [number, number]): KeyValue {
  const bytes = Buffer.from(value)
  const meta = {
    createRevision: revision(created),
    modRevision: revision(modified),
    version: modified - created + 1,
    lease: 0n,
  }
  return new KeyValue(
    keyFromText(`/registry/widgets/${name}`),
    { bytes, start: 0, end: bytes.length },
    meta,
  )
}

t.test(
  'a value that cannot be renamed is left out, and nothing of its key stays behind',
  async t => {
    const base: KeyValue[] = []
    const written: RevisionChanges[] = []
    const anonymizer = new Anonymizer(schemaOf(), digest)
    const target = new AnonymousTarget(
      {
        writeBase: async (_at, entries) => void base.push(...entries),
        write: async changes => void written.push(changes),
      },
      anonymizer,
      silentLogger,
    )
    const widget = '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"x"}}'
    const nameOf = (key: Key): string => textFromKey(key)
    const renamed = (name: string): string =>
      textFromKey(anonymizer.key(keyFromText(`/registry/widgets/${name}`)))
    await target.writeBase(revision(10), [
      entry('first', widget, [5, 5]),
      entry('hidden', 'k8s:enc:x', [6, 6]),
    ])
    t.strictSame(
      base.map(({ key }) => nameOf(key)),
      [renamed('first')],
    )
    await target.write({
      revision: revision(11),
      changes: [{ type: 'put', entry: entry('hidden', widget, [6, 11]) }],
    })
    await target.write({
      revision: revision(12),
      changes: [{ type: 'put', entry: entry('first', 'k8s:enc:x', [5, 12]) }],
    })
    await target.write({
      revision: revision(13),
      changes: [{ type: 'delete', key: keyFromText('/registry/widgets/first') }],
    })
    await target.write({
      revision: revision(14),
      changes: [{ type: 'put', entry: entry('second', widget, [14, 14]) }],
    })
    t.strictSame(
      written.map(({ revision: at, changes: [change] }) => [
        at,
        change?.type,
        change?.type === 'put' ? nameOf(change.entry.key) : change && nameOf(change.key),
      ]),
      [
        [12, 'delete', renamed('first')],
        [14, 'put', renamed('second')],
      ],
    )
  },
)
